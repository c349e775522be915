//! Commands in a transaction: what they get, what comes through, and how they end.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::who::{self, as_root_and_as_user};
use super::world::{Ran, World};

as_root_and_as_user!(
    a_call_ends_with_the_code_of_its_command,
    a_call_passes_its_streams_through,
    a_command_that_is_not_wanted_any_more_ends,
    whoever_asks_while_a_command_runs_is_told_so,
    a_command_sees_neither_its_holder_nor_a_secret,
    a_secret_that_a_call_brings_is_on_no_tape,
    an_id_may_be_shortened_as_long_as_it_is_one,
);

fn a_call_ends_with_the_code_of_its_command() {
    let world = World::new(&[]);
    let id = world.begin("");
    let run = |words: &[&str]| {
        let mut command = world.command(who::program());
        Ran::of(command.args(["txn", "exec", &id]).args(words))
    };
    assert_eq!(run(&["--", "sh", "-c", "exit 42"]).code, 42);
    assert_eq!(run(&["--", "sh", "-c", "kill -9 $$"]).code, 128 + 9);
    let missing = run(&["--", "no-such-program"]);
    assert_eq!(missing.code, 127, "{}", missing.err);
    assert!(
        missing.err.contains("could not be started"),
        "{}",
        missing.err
    );
    assert_eq!(run(&["--", "/etc/passwd"]).code, 126);
    let late = run(&["--timeout", "1", "--", "sleep", "600"]);
    assert_eq!(late.code, 128 + 15);
    assert!(late.err.contains("its time was up"), "{}", late.err);
    assert_eq!(world.txn(&format!("rollback {id}")).code, 0);
    assert_eq!(run(&["--", "true"]).code, 125);
}

fn a_call_passes_its_streams_through() {
    let world = World::new(&[]);
    let id = world.begin("");
    let mut command = world.command(who::program());
    command.args(["txn", "exec", &id, "--", "sh", "-c", "cat; echo err >&2"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    let (mut input, sent) = (child.stdin.take().unwrap(), bytes.clone());
    let writer = std::thread::spawn(move || input.write_all(&sent));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(
        output.stdout == bytes,
        "{} bytes came back",
        output.stdout.len()
    );
    assert_eq!(output.stderr, b"err\n");
    // What is longer than a tape keeps comes through all the same.
    let long = world.say(&id, "head -c 20000000 /dev/zero | tr '\\0' x");
    assert_eq!(long.len(), 20_000_000);
    // A reader that has enough is no reason to hang.
    let script = format!("$JUKEBOX txn exec {id} -- yes | head -n 1");
    let ran = Ran::of(world.command("sh").args(["-c", &script]));
    assert_eq!((ran.code, &*ran.out, &*ran.err), (0, "y\n", ""));
    assert_eq!(world.say(&id, "echo next"), "next\n");
}

fn a_command_that_is_not_wanted_any_more_ends() {
    let world = World::new(&[]);
    let id = world.begin("");
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut command = world.command(who::program());
        let script = "trap 'echo asked > asked; exit 1' TERM; echo ready; sleep 600 & wait";
        command.args(["txn", "exec", &id, "--", "sh", "-c", script]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = [0; 6];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut ready)
            .unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(world.say(&id, "cat asked; rm asked"), "asked\n");
    }
    // One whose caller is killed ends as well.
    let mut command = world.command(who::program());
    command.args([
        "txn",
        "exec",
        &id,
        "--",
        "sh",
        "-c",
        "echo ready; exec sleep 600",
    ]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut [0; 6])
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut ran = world.exec(&id, "echo free");
    while ran.code == 125 && ran.err.contains("a command runs") {
        ran = world.exec(&id, "echo free");
    }
    assert_eq!(ran.out, "free\n", "{}", ran.err);
}

fn whoever_asks_while_a_command_runs_is_told_so() {
    let world = World::new(&[]);
    let id = world.begin("");
    let mut command = world.command(who::program());
    command.args([
        "txn",
        "exec",
        &id,
        "--",
        "sh",
        "-c",
        "echo ready; read line; echo $line",
    ]);
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = streams.spawn().unwrap();
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut [0; 6])
        .unwrap();
    for verb in ["commit --yes", "rollback", "savepoint name", "diff"] {
        let (verb, more) = verb.split_once(' ').unwrap_or((verb, ""));
        let (before, after) = if verb == "savepoint" {
            ("", more)
        } else {
            (more, "")
        };
        let busy = world.txn(&format!("{verb} {before} {id} {after}"));
        assert_eq!(busy.code, 3, "{verb}: {}", busy.err);
        assert!(
            busy.err.contains("a command runs in the transaction"),
            "{}",
            busy.err
        );
    }
    assert_eq!(world.exec(&id, "true").code, 125);
    let status = world.txn(&format!("status {id}"));
    assert!(status.out.contains("open"), "{}", status.out);
    child.stdin.take().unwrap().write_all(b"on\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"on\n");
}

fn a_secret_that_a_call_brings_is_on_no_tape() {
    let world = World::new(&[]);
    let id = world.begin("");
    let exec = |more: &[&str], script: &str| {
        let mut command = world.command(who::program());
        command.env("OUR_TOKEN", "open-sesame-1");
        command.args(["txn", "exec", &id]).args(more);
        Ran::of(command.args(["--", "sh", "-c", script]))
    };
    // Neither looks like a secret where it stands alone.
    let given = ["--env", "DB_PASSWORD=swordfish22", "--env", "OUR_TOKEN"];
    let said = exec(&given, "echo $DB_PASSWORD; echo and $OUR_TOKEN > f");
    assert_eq!(
        (said.code, &*said.out),
        (0, "swordfish22\n"),
        "{}",
        said.err
    );
    let later = exec(&[], "echo swordfish22 once more; echo $OUR_TOKEN");
    assert_eq!(later.out, "swordfish22 once more\n\n");
    assert_eq!(world.txn(&format!("commit {id} --yes")).code, 0);
    assert_eq!(world.read("f"), "and open-sesame-1\n");
    let tape = world.read(&format!(".jukebox/tapes/{id}.jsonl"));
    for secret in ["swordfish22", "open-sesame-1"] {
        assert!(!tape.contains(secret), "{tape}");
    }
    for said in ["[REDACTED:1] once more", "and [REDACTED:2]"] {
        assert!(tape.contains(said), "{said}: {tape}");
    }
}

fn a_command_sees_neither_its_holder_nor_a_secret() {
    let world = World::new(&[]);
    let id = world.begin("");
    assert_eq!(world.say(&id, "env | grep -c SECRET || true"), "0\n");
    let run = world.path("run/jukebox");
    assert!(run.join(&id).exists());
    let seen = world.say(&id, &format!("ls -A {} 2>/dev/null | wc -l", run.display()));
    assert_eq!(seen.trim(), "0");
    assert_eq!(
        world.say(&id, "ls -A; ls -A .jukebox 2>/dev/null || echo hidden"),
        "hidden\n"
    );
    // Nothing that the command which began it had open is open in its holder.
    let files = format!("/proc/{}/fd", world.holder(&id).as_raw_nonzero());
    let names: Vec<_> = std::fs::read_dir(files)
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .map(|path| path.to_string_lossy().into_owned())
        .filter(|name| name.starts_with("pipe:"))
        .collect();
    assert!(names.is_empty(), "{names:?}");
}

fn an_id_may_be_shortened_as_long_as_it_is_one() {
    let world = World::new(&[]);
    let id = world.begin("");
    assert_eq!(world.say(id.get(..5).unwrap(), "echo found"), "found\n");
    for unknown in ["zzzz", "-"] {
        let ran = world.txn(&format!("diff {unknown}"));
        assert_eq!(ran.code, 2, "{}", ran.err);
    }
    let mut first = std::collections::BTreeSet::from([id.get(..1).unwrap().to_owned()]);
    loop {
        let other = world.begin("");
        if !first.insert(other.get(..1).unwrap().to_owned()) {
            let ran = world.txn(&format!("diff {}", other.get(..1).unwrap()));
            assert_eq!(ran.code, 2);
            assert!(ran.err.contains("could be any of 2"), "{}", ran.err);
            break;
        }
    }
}
