//! `jukebox record --open`: the screen follows the tape of a command that runs, and what becomes
//! of both.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use super::pty::Pty;
use super::{PATIENCE, PROGRAM, World, after_the_screen, check_left_clean, tapes};

/// The file that a command of these tests waits for to say `now`. It is there from the start:
/// what is not there may be remembered as such.
const GO: &str = "w/go";

/// A world in which sandboxes can be had.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn world() -> Option<World> {
    let world = World::new(tapes::small());
    fs::create_dir(path(&world, "w")).unwrap();
    fs::write(path(&world, GO), "wait").unwrap();
    let doctor = Command::new(PROGRAM).arg("doctor").output().unwrap();
    if doctor.status.code() == Some(4) {
        eprintln!("skipped: this machine allows no sandbox");
        return None;
    }
    Some(world)
}

/// Records a script, with the screen.
fn record(world: &World, flags: &[&str], script: &str) -> Pty {
    let workspace = path(world, "w");
    let tape = path(world, "recorded.jsonl");
    let mut words = vec![
        PROGRAM,
        "record",
        "--open",
        "--dir",
        workspace.to_str().unwrap(),
    ];
    words.extend(["-o", tape.to_str().unwrap()]);
    words.extend(flags);
    words.extend(["--", "/bin/sh", "-c", script]);
    world.run(&words, &[])
}

fn path(world: &World, name: &str) -> PathBuf {
    world.directory.path().join(name)
}

#[track_caller]
fn shows(pty: &mut Pty, words: &str) {
    let is_shown = pty.wait_for(PATIENCE, |screen| screen.contents().contains(words));
    assert!(is_shown.unwrap(), "`{words}`:\n{}", pty.screen().contents());
}

#[track_caller]
fn ends(pty: &mut Pty, code: i32) {
    let status = pty.wait(PATIENCE).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(code), "{}", pty.screen().contents());
}

/// How the tape says that it ended.
fn outcome(world: &World) -> Value {
    let tape = fs::read_to_string(path(world, "recorded.jsonl")).unwrap();
    let last: Value = serde_json::from_str(tape.lines().last().unwrap()).unwrap();
    assert_eq!(last["kind"], "end", "{last}");
    last["outcome"].clone()
}

/// A script that goes on once it is told to.
fn waits(then: &str) -> String {
    format!("echo started; until grep -q now go; do sleep 0.05; done; {then}")
}

fn go_on(world: &World) {
    fs::write(path(world, GO), "now").unwrap();
}

#[test]
fn the_screen_follows_the_command_and_its_end_is_asked_about_afterwards() {
    let Some(world) = world() else { return };
    let script = waits("echo made > made; echo said >&2; exit 3");
    let mut pty = record(&world, &[], &script);
    shows(&mut pty, "▶ command runs");
    shows(&mut pty, "● live");
    pty.send(b"3v").unwrap();
    shows(&mut pty, "started");
    go_on(&world);
    shows(
        &mut pty,
        "the command ended with 3; q closes the screen, then its changes are shown",
    );
    shows(&mut pty, "■ ended with 3");
    assert!(!path(&world, "w/made").exists());
    pty.send(b"q").unwrap();
    shows(&mut pty, "A made");
    shows(&mut pty, "[y/N]");
    assert!(!pty.screen().alternate_screen());
    assert_eq!(pty.modes().unwrap(), pty.modes_before());
    pty.send(b"y\n").unwrap();
    ends(&mut pty, 3);
    assert_eq!(
        fs::read_to_string(path(&world, "w/made")).unwrap(),
        "made\n"
    );
    let after = after_the_screen(pty.bytes());
    assert!(
        !after.contains("said"),
        "it went to the tape alone: {after}"
    );
    assert_eq!(outcome(&world), "failed");
}

#[test]
fn a_screen_that_is_left_lets_the_command_go_on() {
    let Some(world) = world() else { return };
    let script = waits("echo later; echo made > made");
    let mut pty = record(&world, &["--commit"], &script);
    shows(&mut pty, "▶ command runs");
    pty.send(b"q").unwrap();
    shows(&mut pty, "the command still runs: q again");
    pty.send(b"q").unwrap();
    shows(
        &mut pty,
        "the screen is closed, and the command goes on; Ctrl-C ends it",
    );
    check_left_clean(&pty, 1);
    go_on(&world);
    ends(&mut pty, 0);
    let after = after_the_screen(pty.bytes());
    assert!(
        after.contains("later") && !after.contains("started"),
        "{after}"
    );
    assert_eq!(
        fs::read_to_string(path(&world, "w/made")).unwrap(),
        "made\n"
    );
    assert_eq!(outcome(&world), "ok");
}

#[test]
fn the_interrupt_key_ends_the_command_and_keeps_the_screen() {
    let Some(world) = world() else { return };
    let script = waits("");
    let mut pty = record(
        &world,
        &["--commit"],
        &format!("echo made > made; {script}"),
    );
    shows(&mut pty, "▶ command runs");
    pty.send(b"\x03").unwrap();
    shows(&mut pty, "■ ended by signal 15");
    shows(&mut pty, "its changes are rolled back");
    pty.send(b"q").unwrap();
    ends(&mut pty, 130);
    check_left_clean(&pty, 1);
    assert!(!path(&world, "w/made").exists());
    assert_eq!(outcome(&world), "interrupted");
}

/// After the screen the terminal makes a signal of the same key.
#[test]
fn the_interrupt_key_ends_the_command_once_the_screen_is_closed() {
    let Some(world) = world() else { return };
    let mut pty = record(&world, &["--commit"], &waits(""));
    shows(&mut pty, "▶ command runs");
    pty.send(b"q").unwrap();
    shows(&mut pty, "still runs");
    pty.send(b"q").unwrap();
    shows(&mut pty, "the command goes on");
    pty.send(b"\x03").unwrap();
    ends(&mut pty, 130);
    assert_eq!(outcome(&world), "interrupted");
}

#[test]
fn a_signal_or_a_terminal_that_goes_away_ends_both() {
    for (code, end) in [
        (
            143,
            (|pty| pty.signal(Signal::TERM).unwrap()) as fn(&mut Pty),
        ),
        (129, Pty::hang_up),
    ] {
        let Some(world) = world() else { return };
        let mut pty = record(&world, &["--commit"], &waits(""));
        shows(&mut pty, "▶ command runs");
        end(&mut pty);
        ends(&mut pty, code);
        assert_eq!(outcome(&world), "interrupted");
    }
}

/// What is said of a call that cannot be done like this, where there is no terminal.
fn refused_without_a_terminal(world: &World, options: &[&str]) -> String {
    let output = Command::new(PROGRAM)
        .arg("record")
        .args(options)
        .arg("--dir")
        .arg(path(world, "w"))
        .args(["--", "touch", "made"])
        .env("HOME", world.directory.path())
        .output()
        .unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words}");
    words
}

#[test]
fn without_a_terminal_nothing_is_run() {
    let Some(world) = world() else { return };
    let made = path(&world, "w/made");
    let words = refused_without_a_terminal(&world, &["--open", "--commit"]);
    assert!(words.contains("nothing was run"), "{words}");
    assert!(!made.exists() && !path(&world, "w/.jukebox").exists());
}

#[test]
fn the_screen_looks_as_it_was_told_to() {
    let Some(world) = world() else { return };
    let theme = "no-such-theme";
    let mut pty = record(&world, &["--rollback", "--theme", theme], "touch made");
    shows(&mut pty, theme);
    ends(&mut pty, 2);
    // The command was not run, and there is no tape of it.
    assert!(!path(&world, "recorded.jsonl").exists());
    let words = refused_without_a_terminal(&world, &["--mouse", "off", "--rollback"]);
    assert!(words.contains("--open shows it"), "{words}");
    let mut pty = record(
        &world,
        &["--rollback", "--theme", "light", "--mouse", "off"],
        "true",
    );
    shows(&mut pty, "the command ended with 0");
    pty.send(b"q").unwrap();
    ends(&mut pty, 0);
}
