//! What overlays, namespaces and file systems are known to get wrong: each once.

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use jukebox::sandbox::{Backend, Change, Guarantee, Sandbox, Status};

use super::changes::lines;
use super::who::{self, as_root_and_as_user};
use super::world::{World, run, say, shell, write_files};

as_root_and_as_user!(
    a_directory_of_the_base_can_be_removed_and_made_anew,
    a_directory_of_the_base_is_moved_by_copying,
    a_mount_inside_the_workspace_is_named,
    names_with_anything_in_them_work,
    a_very_deep_workspace_works,
    sockets_of_the_host_are_out_of_reach,
    sockets_of_ones_own_work,
    nothing_comes_in_by_the_environment,
    a_changed_file_is_copied_whole,
    one_name_of_a_hard_link_is_split_off,
    a_workspace_at_home_can_be_walked_wherever_its_layers_lie,
    a_layer_is_never_mounted_twice,
    what_is_hidden_leaves_nothing_in_the_real_tree,
    what_others_write_shows_through_until_it_is_changed,
    nobody_goes_on_writing_into_an_old_layer,
    the_state_directory_is_not_there_and_changes_nothing,
    who_may_give_files_away_is_said,
    replacing_deleting_and_renaming_end_as_they_look,
);

fn a_directory_of_the_base_can_be_removed_and_made_anew() {
    let world = World::new(&[("d/a/b/c", "1"), ("d/e", "2")]);
    let mut sandbox = world.start();
    assert_eq!(say(&mut sandbox, "rm -r d && mkdir d && ls d"), "");
    assert_eq!(lines(&sandbox.change_set().unwrap()), ["D d"]);
    assert_eq!(say(&mut sandbox, "rm -r d; ls"), "");
    assert_eq!(lines(&sandbox.change_set().unwrap()), ["- d"]);
}

fn a_directory_of_the_base_is_moved_by_copying() {
    let world = World::new(&[("r/k/x", "K"), ("r/l", "L")]);
    let mut sandbox = world.start();
    let said = say(
        &mut sandbox,
        "perl -e 'rename(q(r), q(s)) or print $!{EXDEV} ? q(EXDEV) : $!'",
    );
    assert_eq!(said, "EXDEV");
    assert_eq!(say(&mut sandbox, "mv r s; cat s/k/x s/l; ls"), "KLs\n");
    let expected = ["- r", "d s", "d s/k", "f s/k/x \"K\"", "f s/l \"L\""];
    assert_eq!(lines(&sandbox.change_set().unwrap()), expected);
}

fn a_mount_inside_the_workspace_is_named() {
    let world = World::new(&[]);
    let mut config = world.config(Backend::Overlay);
    // There are mounts below it on every machine.
    config.workspace = "/dev".into();
    let missing = Sandbox::start(&config).unwrap_err();
    assert_eq!(missing.what, Guarantee::Workspace);
    assert!(missing.cause.contains("`/dev/"), "{missing}");
    assert!(!Path::new("/dev/.jukebox").exists());
}

fn names_with_anything_in_them_work() {
    let names: [&[u8]; 5] = [
        b"a,b:c\\d",
        b" blank\ttab\nline",
        b"lowerdir=x,upperdir=y",
        b"\xff\xfe",
        b"-rf",
    ];
    for name in names {
        let world = World::new(&[]);
        let name = PathBuf::from(std::ffi::OsString::from_vec(name.to_vec()));
        let workspace = world.workspace().join(name);
        write_files(&workspace, &[("d/old", "o")]);
        let mut config = world.config(Backend::Overlay);
        config.workspace = workspace;
        let mut sandbox = Sandbox::start(&config).unwrap();
        say(&mut sandbox, "rm -r d; mkdir d; echo n > d/new");
        let expected = ["D d", "f d/new \"n\\n\""];
        assert_eq!(lines(&sandbox.change_set().unwrap()), expected);
    }
}

fn a_very_deep_workspace_works() {
    let name = "deep/".repeat(100);
    let world = World::new(&[(&name, "")]);
    let mut config = world.config(Backend::Overlay);
    config.workspace = world.workspace().join(name);
    let mut sandbox = Sandbox::start(&config).unwrap();
    say(&mut sandbox, "echo x > f");
    sandbox.savepoint("one").unwrap();
    say(&mut sandbox, "echo y >> f");
    assert_eq!(lines(&sandbox.change_set().unwrap()), ["f f \"x\\ny\\n\""]);
}

/// A script that connects to a socket with a path and says whether it could.
fn connect(path: &Path) -> String {
    format!(
        "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); \
         print connect(S, sockaddr_un(q({}))) ? q(in) : q(out)'",
        path.display()
    )
}

fn sockets_of_the_host_are_out_of_reach() {
    let world = World::new(&[("a", "A")]);
    let outside = who::outside();
    let outside = outside.path();
    let places = [
        world.workspace().join("socket"),
        world.home().join("socket"),
        outside.join("socket"),
    ];
    let listeners = places.clone().map(|path| UnixListener::bind(path).unwrap());
    let mut sandbox = world.start();
    for path in &places {
        assert!(std::os::unix::net::UnixStream::connect(path).is_ok());
        assert_eq!(
            say(&mut sandbox, &connect(path)),
            "out",
            "{}",
            path.display()
        );
    }
    // The place outside is there for all to see: it is the socket that is covered.
    assert_eq!(
        say(&mut sandbox, &format!("ls {}", outside.display())),
        "socket\n"
    );
    // Nor is one without a path.
    let name = format!("jukebox-{}", std::process::id());
    let address =
        <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(
            &name,
        )
        .unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    let script = connect(Path::new(&name)).replace("q(jukebox", "qq(\\0jukebox");
    assert_eq!(say(&mut sandbox, &script), "out");
    drop((listeners, listener));
}

fn sockets_of_ones_own_work() {
    let world = World::new(&[]);
    let mut sandbox = world.start();
    for place in ["/tmp/socket", "socket"] {
        let script = format!(
            "perl -MSocket -e 'socket(L, PF_UNIX, SOCK_STREAM, 0); bind(L, sockaddr_un(q({place}))); \
             listen(L, 1); socket(S, PF_UNIX, SOCK_STREAM, 0); \
             print connect(S, sockaddr_un(q({place}))) ? q(in) : $!'"
        );
        assert_eq!(say(&mut sandbox, &script), "in", "{place}");
    }
    assert_eq!(lines(&sandbox.change_set().unwrap()), ["! socket socket"]);
}

fn nothing_comes_in_by_the_environment() {
    let world = World::new(&[]);
    let mut sandbox = world.start();
    let said = say(&mut sandbox, "env -u PWD -u OLDPWD -u SHLVL -u _");
    assert_eq!(said, "PATH=/usr/local/bin:/usr/bin:/bin\n");
    // Nor by that of the helper, which is the first process there.
    assert_eq!(say(&mut sandbox, "cat /proc/1/environ 2>&- | wc -c"), "0\n");
}

fn a_changed_file_is_copied_whole() {
    let long = "x".repeat(1 << 20);
    let world = World::new(&[("big", &long)]);
    let mut sandbox = world.start();
    say(&mut sandbox, "printf + >> big");
    let set = sandbox.change_set().unwrap();
    let [(_, Change::File { len, content, .. })] = set.changes.as_slice() else {
        panic!("{set:?}");
    };
    assert_eq!(*len, (1 << 20) + 1);
    assert!(fs::metadata(content).unwrap().blocks() * 512 > 1 << 20);
    assert_eq!(
        fs::metadata(world.workspace().join("big")).unwrap().len(),
        1 << 20
    );
}

fn a_workspace_at_home_can_be_walked_wherever_its_layers_lie() {
    let world = World::new(&[]);
    let home = world.home();
    write_files(
        &home,
        &[("project/a", "A"), (".local/state/", ""), ("z", "Z")],
    );
    for layers in [None, Some(home.join(".local/state"))] {
        let mut config = world.config(Backend::Overlay);
        config.workspace = home.join("project");
        config.layers = layers;
        let mut sandbox = Sandbox::start(&config).unwrap();
        let walk = format!(
            "cd {}; find . -type f -exec cat {{}} + ; echo 1 > project/b",
            home.display()
        );
        for name in ["one", "two"] {
            let seen = say(&mut sandbox, &walk);
            let mut letters: Vec<char> = seen.chars().filter(|c| c.is_alphabetic()).collect();
            letters.sort_unstable();
            assert_eq!(letters, ['A', 'Z'], "{seen}");
            sandbox.savepoint(name).unwrap();
        }
        assert_eq!(lines(&sandbox.change_set().unwrap()), ["f b \"1\\n\""]);
    }
}

fn one_name_of_a_hard_link_is_split_off() {
    let world = World::new(&[("a", "A")]);
    fs::hard_link(world.workspace().join("a"), world.workspace().join("b")).unwrap();
    let mut sandbox = world.start();
    assert_eq!(say(&mut sandbox, "printf + >> a; cat a b"), "A+A");
    assert_eq!(lines(&sandbox.change_set().unwrap()), ["f a \"A+\""]);
}

fn a_layer_is_never_mounted_twice() {
    let world = World::new(&[("f", "0")]);
    let mut sandbox = world.start();
    for number in 1..=20 {
        say(
            &mut sandbox,
            &format!("printf {number} > f; touch only-{number}"),
        );
        sandbox.savepoint(&format!("s{number}")).unwrap();
    }
    assert_eq!(say(&mut sandbox, "cat f; ls | wc -l"), "2021\n");
    sandbox.roll_back_to("s7").unwrap();
    assert_eq!(say(&mut sandbox, "cat f; ls | wc -l; rm f only-3"), "78\n");
    sandbox.roll_back_to("s7").unwrap();
    assert_eq!(say(&mut sandbox, "cat f; rm only-3"), "7");
    assert_eq!(sandbox.savepoints().count(), 7);
    assert!(sandbox.roll_back_to("s8").is_err());
    assert!(sandbox.savepoint("s7").is_err());
    let left = lines(&sandbox.change_set().unwrap());
    let expected = [
        "f f \"7\"",
        "f only-1 \"\"",
        "f only-2 \"\"",
        "f only-4 \"\"",
        "f only-5 \"\"",
        "f only-6 \"\"",
        "f only-7 \"\"",
    ];
    assert_eq!(left, expected);
}

fn what_is_hidden_leaves_nothing_in_the_real_tree() {
    let world = World::new(&[("keys/id", "secret"), ("token", "secret"), ("a", "A")]);
    write_files(
        &world.home(),
        &[(".ssh/id", "secret"), (".netrc", "secret"), ("seen", "s")],
    );
    let mut config = world.config(Backend::Overlay);
    let hidden = ["keys", "token", "missing", "missing/below"];
    config
        .policy
        .hidden
        .extend(hidden.map(|name| world.workspace().join(name)));
    let mut sandbox = Sandbox::start(&config).unwrap();
    let home = world.home();
    let home = home.display();
    let look =
        format!("ls -A keys; cat token; cat {home}/seen; ls -A {home}/.ssh; cat {home}/.netrc");
    assert_eq!(say(&mut sandbox, &look), "s");
    // Neither a new layer, nor one that is gone back to, shows them.
    sandbox.savepoint("one").unwrap();
    assert_eq!(say(&mut sandbox, &look), "s");
    sandbox.roll_back_to("one").unwrap();
    assert_eq!(say(&mut sandbox, &look), "s");
    assert!(sandbox.change_set().unwrap().is_empty());
    drop(sandbox);
    let names = |path: PathBuf| {
        let mut names: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(world.home()), [".netrc", ".ssh", "seen"]);
    assert_eq!(names(world.workspace()), [".jukebox", "a", "keys", "token"]);
}

fn what_others_write_shows_through_until_it_is_changed() {
    let world = World::new(&[("seen", "1"), ("ours", "1")]);
    let mut sandbox = world.start();
    say(&mut sandbox, "printf 2 > ours");
    fs::write(world.workspace().join("seen"), "3").unwrap();
    fs::write(world.workspace().join("ours"), "3").unwrap();
    assert_eq!(say(&mut sandbox, "cat seen ours"), "32");
}

fn nobody_goes_on_writing_into_an_old_layer() {
    let world = World::new(&[]);
    let mut sandbox = world.start();
    let script = "(while :; do echo x >> f; done) >/dev/null 2>&1 & while ! test -s f; do :; done";
    say(&mut sandbox, script);
    sandbox.savepoint("one").unwrap();
    let before = say(&mut sandbox, "wc -c < f");
    assert_eq!(say(&mut sandbox, "sleep 0.1; wc -c < f"), before);
    assert_eq!(say(&mut sandbox, "ls -d /proc/[0-9]* | wc -l"), "4\n");
}

fn the_state_directory_is_not_there_and_changes_nothing() {
    let world = World::new(&[("a", "A")]);
    let mut sandbox = world.start();
    assert_eq!(say(&mut sandbox, "ls -A; find . | wc -l"), "a\n2\n");
    say(&mut sandbox, "mkdir .jukebox; echo x > .jukebox/x");
    assert!(sandbox.change_set().unwrap().is_empty());
    let ignore = fs::read_to_string(world.workspace().join(".jukebox/.gitignore")).unwrap();
    assert_eq!(ignore, "*\n");
    assert_eq!(say(&mut sandbox, "rm -r .jukebox; ls -A"), "a\n");
}

fn who_may_give_files_away_is_said() {
    let world = World::new(&[("a", "A")]);
    let mut sandbox = world.start();
    let ran = run(&mut sandbox, &shell("chown 12345:12345 a; stat -c %u a")).unwrap();
    let owner = String::from_utf8(ran.output).unwrap();
    if who::is_root() {
        assert_eq!(owner, "12345\n");
    } else {
        assert_eq!(owner, format!("{}\n", rustix::process::geteuid().as_raw()));
        assert!(!ran.error.is_empty());
    }
    assert_eq!(ran.exit.status, Status::Code(0));
    let real = fs::metadata(world.workspace().join("a")).unwrap().uid();
    assert_eq!(real, rustix::process::geteuid().as_raw());
}

fn replacing_deleting_and_renaming_end_as_they_look() {
    let world = World::new(&[
        ("d/old", "o"),
        ("x", "file"),
        ("p/q/z", "z"),
        ("a", "A"),
        ("b", "B"),
        ("test", "T"),
        ("t/test", "TT"),
        ("c", "C"),
        ("r/k", "K"),
        ("one/m", "m"),
        ("two/n", "n"),
    ]);
    let mut sandbox = world.start();
    // A step, what is looked at, and what is seen.
    let steps = [
        ("rm -r d", "ls"),
        ("mkdir d", "ls d"),
        ("printf n > d/new", "ls d"),
        ("rm x; mkdir x; printf y > x/y", "ls x"),
        ("rm -r p/q; printf f > p/q", "cat p/q"),
        ("perl -e 'rename q(a), q(b) or exit 1'", "cat b; ls a 2>&-"),
        (": > a", "cat a"),
        ("rm test", "cat t/test; ls test 2>&-"),
        ("printf + >> c; rm c", "ls c 2>&-"),
        ("! perl -e 'rename q(one), q(two) or exit 1'", "ls one two"),
        ("mv r s", "ls s; ls r 2>&-"),
    ];
    let seen = [
        "a\nb\nc\none\np\nr\nt\ntest\ntwo\nx\n",
        "",
        "new\n",
        "y\n",
        "f",
        "A",
        "",
        "TT",
        "",
        "one:\nm\n\ntwo:\nn\n",
        "k\n",
    ];
    for (number, ((step, look), seen)) in steps.into_iter().zip(seen).enumerate() {
        say(&mut sandbox, step);
        assert_eq!(say(&mut sandbox, &format!("{look}; :")), seen, "{step}");
        // Wherever a layer ends, the whole is the same.
        if number % 3 == 1 {
            sandbox.savepoint(step).unwrap();
        }
    }
    let expected = [
        "f a \"\"",
        "f b \"A\"",
        "- c",
        "D d",
        "f d/new \"n\"",
        "d p",
        "f p/q \"f\"",
        "- r",
        "d s",
        "f s/k \"K\"",
        "- test",
        "D x",
        "f x/y \"y\"",
    ];
    assert_eq!(lines(&sandbox.change_set().unwrap()), expected);
}
