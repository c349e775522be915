//! The ways in which a transaction ends, and what each leaves: nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::who::{self, as_root_and_as_user};
use super::world::{World, tree};

as_root_and_as_user!(
    what_is_rolled_back_never_was,
    what_is_committed_is_all_there_with_its_modes,
    an_abandoned_transaction_can_be_salvaged_and_dropped,
    what_was_written_before_the_sandbox_was_killed_can_be_salvaged,
    what_an_abandoned_copy_had_written_can_be_salvaged,
    a_copy_that_was_being_rolled_back_can_only_be_dropped,
    a_transaction_whose_holder_was_killed_is_taken_up_by_nobody,
    what_is_no_file_refuses_the_commit_by_its_name,
    what_cannot_be_kept_refuses_the_commit_by_its_name,
    a_commit_of_more_files_than_can_be_open_at_once,
    what_was_changed_in_a_mount_is_said_to_lie_there,
    a_workspace_that_is_somewhere_else_is_not_taken_for_an_untouched_one,
    who_cannot_begin_leaves_nothing,
    a_transaction_whose_id_nobody_hears_of_is_none,
    a_commit_is_undone_by_its_id_while_it_is_the_last,
);

fn what_is_rolled_back_never_was() {
    let world = World::new(&[
        ("a", "A"),
        ("d/x", "X"),
        ("d/e/y", "Y"),
        ("run", "#!/bin/sh\n"),
    ]);
    let workspace = world.workspace();
    let mode = |name: &str, mode| {
        fs::set_permissions(workspace.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("a", 0o400);
    mode("run", 0o755);
    mode("d/e", 0o711);
    let before = world.tree();
    let id = world.begin("");
    // Somebody stays who would go on writing.
    world.say(
        &id,
        "echo b > b; rm -rf d; chmod 777 run; mv run walk; ln -s / a2; chmod 600 a; echo c >> a
         setsid nohup sh -c 'while :; do date >> log; done' > /dev/null 2>&1 &",
    );
    assert_eq!(world.tree(), before);
    assert_eq!(world.txn(&format!("rollback {id}")).code, 0);
    world.nothing_is_left();
    assert_eq!(world.tree(), before);
}

fn what_is_committed_is_all_there_with_its_modes() {
    let world = World::new(&[("d/old", "o"), ("x", "file"), ("p/q/z", "z"), ("r/k", "K")]);
    let id = world.begin("");
    world.say(
        &id,
        "umask 0
         rm -r d; mkdir d; echo n > d/new
         rm x; mkdir x; echo y > x/y
         rm -r p/q; echo f > p/q
         mv r s
         echo key > key; chmod 600 key; echo run > run; chmod 755 run; echo ro > ro; chmod 444 ro
         mkdir priv; chmod 700 priv; : > empty; ln -s ../nowhere link",
    );
    let seen = world.say(
        &id,
        "find . -mindepth 1 ! -path './.jukebox*' -printf '%P %y %m %l\\n' | sort",
    );
    assert_eq!(world.txn(&format!("commit {id} --yes")).code, 0);
    let mut find = world.command("sh");
    let script = "find . -mindepth 1 ! -path './.jukebox*' -printf '%P %y %m %l\\n' | sort";
    let now = find
        .args(["-c", script])
        .current_dir(world.workspace())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&now.stdout), seen);
    assert_eq!(world.read("p/q"), "f\n");
    assert_eq!(world.read("s/k"), "K");
    world.nothing_is_left();
}

fn an_abandoned_transaction_can_be_salvaged_and_dropped() {
    let world = World::new(&[("a", "A"), ("gone", "g"), ("d/kept", "k")]);
    let before = world.tree();
    let id = world.begin("");
    world.say(&id, "echo more >> a; rm gone; mkdir new; echo n > new/n");
    assert_eq!(world.txn(&format!("savepoint {id} one")).code, 0);
    world.say(&id, "chmod 700 new/n; ln -s a link; echo d > d/made");
    let open = world.txn(&format!("recover {id} --drop"));
    assert_eq!(open.code, 2, "{}", open.err);
    world.kill_holder(&id);
    assert_eq!(world.tree(), before);
    let status = world.txn("status --dir W --json");
    assert_eq!(status.code, 1);
    let status: serde_json::Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!(status["transactions"][0]["state"], "abandoned");
    let listed = world.txn("recover --dir W");
    assert!(listed.out.contains(&id), "{}", listed.out);
    let salvaged = world.txn(&format!("recover {id} --salvage out"));
    assert_eq!(salvaged.code, 0, "{}", salvaged.err);
    assert!(salvaged.out.starts_with("D gone\n"), "{}", salvaged.out);
    let found: Vec<_> = tree(&world.path("out"))
        .into_iter()
        .map(|(path, (mode, _, bytes))| {
            let text = String::from_utf8(bytes).unwrap();
            (path.to_str().unwrap().to_owned(), mode & 0o777, text)
        })
        .collect();
    let row = |path: &str, mode, text: &str| (path.to_owned(), mode, text.to_owned());
    assert!(
        found.contains(&row("a", found[0].1, "Amore\n")),
        "{found:?}"
    );
    assert!(found.contains(&row("d/made", 0o644, "d\n")), "{found:?}");
    assert!(found.contains(&row("new/n", 0o700, "n\n")), "{found:?}");
    assert!(found.contains(&row("link", 0o777, "a")), "{found:?}");
    let full = world.txn(&format!("recover {id} --salvage out"));
    assert_eq!(full.code, 3, "{}", full.err);
    assert_eq!(world.txn(&format!("recover {id} --drop")).code, 0);
    assert_eq!(world.tree(), before);
    let tape = world.workspace().join(format!(".jukebox/tapes/{id}.jsonl"));
    let mut verify = world.command(who::program());
    let verified = verify.arg("verify").arg(tape).output().unwrap();
    assert!(
        verified.status.success(),
        "{}",
        String::from_utf8_lossy(&verified.stdout)
    );
    world.nothing_is_left();
}

fn what_was_written_before_the_sandbox_was_killed_can_be_salvaged() {
    let world = World::new(&[("a", "A")]);
    let id = world.begin("");
    world.say(&id, "echo b > b");
    let helper = world.helper(&id);
    rustix::process::kill_process(helper, rustix::process::Signal::KILL).unwrap();
    let ran = world.exec(&id, "true");
    assert_eq!(ran.code, 125);
    assert!(ran.err.contains("txn recover"), "{}", ran.err);
    let status = world.txn(&format!("status {id}"));
    assert_eq!(status.code, 1);
    assert!(status.out.contains("abandoned"), "{}", status.out);
    let salvaged = world.txn(&format!("recover {id} --salvage out"));
    assert_eq!(salvaged.code, 0, "{}", salvaged.err);
    assert_eq!(fs::read_to_string(world.path("out/b")).unwrap(), "b\n");
    assert_eq!(world.txn(&format!("recover {id} --drop")).code, 0);
    world.nothing_is_left();
}

fn what_an_abandoned_copy_had_written_can_be_salvaged() {
    let world = World::new(&[
        ("a", "A"),
        ("gone", "g"),
        ("d/kept", "k"),
        ("d/e/x", "X"),
        ("old/y", "Y"),
    ]);
    let before = world.tree();
    let id = world.begin("--backend copy");
    world.say(&id, "echo more >> a; rm gone; echo z > d/e/z; mkdir new");
    assert_eq!(world.txn(&format!("savepoint {id} one")).code, 0);
    world.say(&id, "rm -r d; echo lost > lost");
    assert_eq!(world.txn(&format!("rollback {id} --to one")).code, 0);
    world.say(&id, "rm -r old; ln -s a link; chmod 700 new");
    world.kill_holder(&id);
    let listed = world.txn("recover --dir W");
    assert!(listed.out.contains(&id), "{}", listed.out);
    let salvaged = world.txn(&format!("recover {id} --salvage out --json"));
    assert_eq!(salvaged.code, 0, "{}", salvaged.err);
    let salvaged: serde_json::Value = serde_json::from_str(&salvaged.out).unwrap();
    let deleted = salvaged["deleted"].as_array().unwrap().iter();
    let deleted: Vec<_> = deleted.map(|row| row["path"].as_str().unwrap()).collect();
    assert_eq!(deleted, ["gone", "old"]);
    let found: Vec<_> = tree(&world.path("out"))
        .into_iter()
        .map(|(path, (_, _, bytes))| {
            let text = String::from_utf8(bytes).unwrap();
            (path.to_str().unwrap().to_owned(), text)
        })
        .collect();
    let rows = [
        ("a", "Amore\n"),
        ("d", ""),
        ("d/e", ""),
        ("d/e/z", "z\n"),
        ("link", "a"),
        ("new", ""),
    ];
    let rows = rows.map(|(path, text)| (path.to_owned(), text.to_owned()));
    assert_eq!(found, rows);
    assert_eq!(world.txn(&format!("recover {id} --drop")).code, 0);
    assert_eq!(world.tree(), before);
    world.nothing_is_left();
}

fn a_copy_that_was_being_rolled_back_can_only_be_dropped() {
    let world = World::new(&[("a", "A")]);
    let id = world.begin("--backend copy");
    world.say(&id, "echo b > b");
    world.kill_holder(&id);
    // What the holder removes first when it rolls back, and writes anew at the end.
    let sandboxes = fs::read_dir(world.path("W/.jukebox/sandboxes")).unwrap();
    for sandbox in sandboxes {
        fs::remove_file(sandbox.unwrap().path().join("origin")).unwrap();
    }
    let salvaged = world.txn(&format!("recover {id} --salvage out"));
    assert_eq!((salvaged.code, &*salvaged.out), (4, ""));
    assert!(salvaged.err.contains("rolled back"), "{}", salvaged.err);
    assert_eq!(world.txn(&format!("recover {id} --drop")).code, 0);
    world.nothing_is_left();
}

fn a_transaction_whose_holder_was_killed_is_taken_up_by_nobody() {
    let world = World::new(&[("a", "A")]);
    let id = world.begin("");
    world.say(&id, "echo b > a");
    world.kill_holder(&id);
    for verb in ["commit --yes", "rollback", "diff"] {
        let ran = world.txn(&format!("{verb} {id}"));
        assert_eq!(ran.code, 2, "{verb}: {}", ran.err);
        assert!(ran.err.contains("abandoned"), "{}", ran.err);
    }
    assert_eq!(world.exec(&id, "true").code, 125);
    assert_eq!(world.read("a"), "A");
    // Another one is not disturbed by it.
    let other = world.begin("");
    world.say(&other, "cat a; echo c > c");
    assert_eq!(world.txn(&format!("commit {other} --yes")).code, 0);
    assert_eq!(world.txn(&format!("recover {id} --drop --json")).code, 0);
    world.nothing_is_left();
}

fn what_is_no_file_refuses_the_commit_by_its_name() {
    let world = World::new(&[("a", "A")]);
    let before = world.tree();
    let id = world.begin("");
    world.say(&id, "echo b > a; mkdir d; mkfifo d/pipe");
    let refused = world.txn(&format!("commit {id} --yes"));
    assert_eq!(refused.code, 2);
    assert!(
        refused
            .err
            .contains("d/pipe cannot be committed: it is a FIFO"),
        "{}",
        refused.err
    );
    assert_eq!(world.tree(), before);
    world.say(&id, "rm d/pipe");
    assert_eq!(world.txn(&format!("commit {id} --yes")).code, 0);
    assert_eq!(world.read("a"), "b\n");
    world.nothing_is_left();
}

fn what_cannot_be_kept_refuses_the_commit_by_its_name() {
    let world = World::new(&[("a", "A"), ("closed", "C")]);
    let workspace = world.workspace();
    let mode = |mode| fs::Permissions::from_mode(mode);
    fs::set_permissions(workspace.join("closed"), mode(0)).unwrap();
    let mut command = world.command("mkfifo");
    assert!(
        command
            .arg(workspace.join("pipe"))
            .status()
            .unwrap()
            .success()
    );
    for (path, refusal) in [("pipe", "a FIFO, a socket"), ("closed", "cannot be read")] {
        if path == "closed" && who::is_root() {
            println!("skipped: nothing is closed to root");
            continue;
        }
        let id = world.begin("");
        world.say(&id, &format!("echo b > a; rm -f {path}; test ! -e {path}"));
        let refused = world.txn(&format!("commit {id} --yes"));
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains(path), "{}", refused.err);
        assert!(refused.err.contains(refusal), "{}", refused.err);
        assert_eq!(world.read("a"), "A");
        let preview = world.txn(&format!("diff {id} --json"));
        assert_eq!(preview.code, 0, "{}", preview.err);
        let preview: serde_json::Value = serde_json::from_str(&preview.out).unwrap();
        let why = preview["refused"].as_str().unwrap();
        assert!(why.contains(refusal), "{why}");
        assert_eq!(preview["changes"][0]["path"], "a");
        assert_eq!(world.txn(&format!("rollback {id}")).code, 0);
    }
    fs::remove_file(workspace.join("pipe")).unwrap();
    fs::set_permissions(workspace.join("closed"), mode(0o600)).unwrap();
    world.nothing_is_left();
}

fn what_was_changed_in_a_mount_is_said_to_lie_there() {
    let Some(place) = who::mounted() else {
        let test = concat!(
            module_path!(),
            "::as_user::what_was_changed_in_a_mount_is_said_to_lie_there"
        );
        let script = r#"mkdir -p "$1/W/in"; mount -t tmpfs none "$1/W/in"; echo a > "$1/W/in/f""#;
        return who::among_mounts(test, script);
    };
    let world = World::new(&[]);
    let workspace = place.join("W");
    let begun = world.txn(&format!(
        "begin --dir {} --backend copy",
        workspace.display()
    ));
    assert_eq!(begun.code, 0, "{}", begun.err);
    let id = begun.out.trim();
    let ran = world.exec(id, "echo x >> in/f");
    assert!(
        ran.err.contains("lies in a mount inside of it"),
        "{}",
        ran.err
    );
    let commit = world.txn(&format!("commit {id} --yes"));
    assert_eq!(commit.code, 4, "{}", commit.err);
    assert!(
        commit.err.contains("a mount inside of it"),
        "{}",
        commit.err
    );
    assert_eq!(world.txn(&format!("rollback {id}")).code, 0);
    assert_eq!(fs::read_to_string(workspace.join("in/f")).unwrap(), "a\n");
}

fn a_commit_of_more_files_than_can_be_open_at_once() {
    let world = World::new(&[]);
    let id = world.begin("");
    world.say(
        &id,
        "i=0; while [ $i -lt 1500 ]; do echo $i > f$i; i=$((i+1)); done",
    );
    let committed = world.txn(&format!("commit {id} --yes"));
    assert_eq!(committed.code, 0, "{}", committed.err);
    assert!(
        committed.out.contains("1500 paths changed in"),
        "{}",
        committed.out
    );
    assert_eq!(world.read("f1499"), "1499\n");
    world.nothing_is_left();
}

fn who_cannot_begin_leaves_nothing() {
    let world = World::new(&[("a", "A")]);
    let missing = world.txn("begin --dir nowhere");
    assert_eq!((missing.code, &*missing.out), (2, ""));
    // The socket must be nobody else's.
    fs::create_dir(world.path("run/jukebox")).unwrap();
    fs::set_permissions(world.path("run/jukebox"), fs::Permissions::from_mode(0o755)).unwrap();
    let refused = world.txn("begin --dir W");
    assert_eq!((refused.code, &*refused.out), (4, ""), "{}", refused.err);
    assert!(
        refused.err.contains("only you can enter"),
        "{}",
        refused.err
    );
    fs::set_permissions(world.path("run/jukebox"), fs::Permissions::from_mode(0o700)).unwrap();
    world.nothing_is_left();
    assert_eq!(world.begin("").len(), 12);
}

fn a_workspace_that_is_somewhere_else_is_not_taken_for_an_untouched_one() {
    let world = World::new(&[("a", "A")]);
    for backend in ["overlay", "copy"] {
        let id = world.begin(&format!("--backend {backend}"));
        world.say(&id, &format!("echo > {backend}"));
        fs::rename(world.workspace(), world.path("moved")).unwrap();
        fs::create_dir(world.workspace()).unwrap();
        let refused = world.txn(&format!("commit {id} --yes"));
        assert_eq!((refused.code, &*refused.out), (4, ""), "{}", refused.err);
        let status = world.txn(&format!("status {id}"));
        assert!(status.out.contains("open"), "{status:?}");
        fs::remove_dir_all(world.workspace()).unwrap();
        fs::rename(world.path("moved"), world.workspace()).unwrap();
        assert_eq!(world.txn(&format!("commit {id} --yes")).code, 0);
        assert_eq!(world.read(backend), "\n");
    }
    world.nothing_is_left();
}

fn a_transaction_whose_id_nobody_hears_of_is_none() {
    let world = World::new(&[("a", "A")]);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = world.command(who::program());
    command.args(["txn", "begin", "--dir", "W"]).stdout(full);
    assert_eq!(command.status().unwrap().code(), Some(4));
    world.nothing_is_left();
}

fn a_commit_is_undone_by_its_id_while_it_is_the_last() {
    let world = World::new(&[("a", "0")]);
    let before = world.tree();
    let ids = ["1", "2"].map(|text| {
        let id = world.begin("");
        world.say(&id, &format!("printf {text} > a"));
        assert_eq!(world.txn(&format!("commit {id} --yes")).code, 0);
        id
    });
    let early = world.txn(&format!("undo {} --yes", ids[0]));
    assert_eq!(early.code, 1, "{}", early.err);
    assert_eq!(world.read("a"), "2");
    for id in ids.iter().rev() {
        assert_eq!(world.txn(&format!("undo {id} --yes")).code, 0);
    }
    let again = world.txn(&format!("undo {} --yes", ids[0]));
    assert_eq!(again.code, 1);
    let line = "commit 1 was taken back already, by commit 4";
    assert!(again.err.contains(line), "{}", again.err);
    assert_eq!(world.tree(), before);
    world.nothing_is_left();
}
