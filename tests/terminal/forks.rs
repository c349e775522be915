//! A fork from the key that begins it to the way back to the run that it left.

use std::fs;

use super::pty::Pty;
use super::{PATIENCE, World, check_left_clean};

#[track_caller]
fn shows(pty: &mut Pty, words: &str) {
    let is_shown = pty.wait_for(PATIENCE, |screen| screen.contents().contains(words));
    assert!(is_shown.unwrap(), "{words}: {}", pty.screen().contents());
}

#[test]
fn a_fork_is_made_looked_at_and_left_again() {
    let world = World::new(include_bytes!("../../demo-tapes/bug-hunt.jsonl"));
    let before = fs::read(&world.tape).unwrap();
    let mut pty = world.start(&[]);
    shows(&mut pty, "step 29/29");
    pty.send(b":10\rf").unwrap();
    shows(&mut pty, "Another prompt");
    pty.send(b"\x1b[1;5F Say why, too.").unwrap();
    shows(&mut pty, "Say why, too.");
    pty.send(b"\x13").unwrap();
    shows(&mut pty, "Fork the run with another prompt?");
    let fork = world.directory.path().join("run.fork-1.jsonl");
    assert!(!fork.exists());
    pty.send(b"Y").unwrap();
    shows(&mut pty, "stopped: the model must speak here");
    assert!(fork.exists());
    pty.send(b"q").unwrap();
    shows(&mut pty, "run.jsonl → run.fork-1.jsonl");
    shows(&mut pty, "edited");

    pty.send(b"T").unwrap();
    shows(&mut pty, "⑂ step 10, prompt");
    shows(&mut pty, "1 edited, 1 not known, then stop");
    pty.send(b"j\r").unwrap();
    let is_opened = pty.wait_for(PATIENCE, |screen| {
        // The tree of before says this, too, of another run.
        let said = screen.contents();
        said.contains("fork of run.jsonl@10") && !said.contains("this run")
    });
    assert!(is_opened.unwrap(), "{}", pty.screen().contents());
    pty.send(b"T").unwrap();
    shows(&mut pty, "this run");
    pty.send(b"\r").unwrap();
    shows(&mut pty, "⑂ 1 fork ");
    shows(&mut pty, "step 10/29");
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 1);
    assert_eq!(fs::read(&world.tape).unwrap(), before);
}

#[test]
fn a_command_of_a_fork_is_broken_off_and_what_the_fork_holds_stays() {
    let world = World::new(include_bytes!("../../demo-tapes/bug-hunt.jsonl"));
    let answer = world.directory.path().join("answer.txt");
    fs::write(&answer, "== call Bash\n{\"command\": \"sleep 600\"}\n").unwrap();
    let editor = format!("cp {}", answer.display());
    let mut pty = world.start(&[("EDITOR", &editor)]);
    shows(&mut pty, "step 29/29");
    pty.send(b":16\rf").unwrap();
    shows(&mut pty, "Another response");
    pty.send(b"\x0f").unwrap();
    shows(&mut pty, "sleep 600");
    pty.send(b"\x13").unwrap();
    shows(&mut pty, "in the sandbox Bash");
    pty.send(b"Y").unwrap();
    let begun = pty.wait_for(PATIENCE, |screen| {
        let said = screen.contents();
        said.contains("1 edited") || said.contains("stopped:")
    });
    assert!(begun.unwrap(), "{}", pty.screen().contents());
    pty.send(b"\x1b").unwrap();
    if pty.screen().contents().contains("stopped:") {
        // This machine allows no sandbox: the screen says so.
        shows(&mut pty, "not known");
        return;
    }
    shows(&mut pty, "stopped: it was broken off");
    shows(&mut pty, "What it holds by then stays");
    assert!(world.directory.path().join("run.fork-1.jsonl").exists());
    pty.send(b"qq").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 2);
}
