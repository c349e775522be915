//! Every way out, and every pause, leaves the terminal as it was.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::pty::Pty;
use super::{
    PATIENCE, PROGRAM, QUIET, SIZE, World, after_the_screen, check_left_clean, state_of, tapes,
    without_ends,
};

/// The way out ends the program with this code, and cleanly.
fn check_way_out(code: i32, way: impl FnOnce(&World, &mut Pty)) {
    let world = World::new(tapes::small());
    let mut pty = world.open(&[]);
    way(&world, &mut pty);
    let status = pty.wait(PATIENCE).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(code), "{}", pty.screen().contents());
    check_left_clean(&pty, 1);
}

#[test]
fn keys_end_it() {
    check_way_out(0, |_, pty| pty.send(b"q").unwrap());
    check_way_out(0, |_, pty| pty.send(b"\x03").unwrap());
}

#[test]
fn signals_end_it() {
    check_way_out(143, |_, pty| pty.signal(Signal::TERM).unwrap());
    check_way_out(129, |_, pty| pty.signal(Signal::HUP).unwrap());
    check_way_out(130, |_, pty| pty.signal(Signal::INT).unwrap());
    check_way_out(131, |_, pty| pty.signal(Signal::QUIT).unwrap());
}

#[test]
fn a_tape_that_is_removed_stays_readable_or_says_why_not() {
    check_way_out(0, |world, pty| {
        fs::remove_file(&world.tape).unwrap();
        pty.send(b"khjl1\t\te").unwrap();
        pty.settle(QUIET).unwrap();
        pty.send(b"q").unwrap();
    });
}

#[test]
fn a_panic_is_told_after_the_terminal_is_given_back() {
    if !cfg!(debug_assertions) {
        return;
    }
    for drill in ["draw", "worker"] {
        let world = World::new(tapes::small());
        let mut pty = world.start(&[("JUKEBOX_DRILL", drill), ("RUST_BACKTRACE", "0")]);
        let status = pty.wait(PATIENCE).unwrap().expect("it ends");
        assert_eq!(status.code(), Some(101), "{}", pty.screen().contents());
        check_left_clean(&pty, 1);
        let after = after_the_screen(pty.bytes());
        assert!(after.contains("a drill ^[]0;in the"), "{after}");
        assert!(
            !after.contains('\x1b') && !after.contains('\x07'),
            "{after}"
        );
    }
}

#[test]
fn killed_it_leaves_nothing_that_the_next_start_needs() {
    let world = World::new(tapes::small());
    let mut pty = world.open(&[]);
    pty.signal(Signal::KILL).unwrap();
    assert_eq!(pty.wait(PATIENCE).unwrap().unwrap().signal(), Some(9));
    let mut pty = world.open(&[]);
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 1);
}

#[test]
fn stopped_it_leaves_the_terminal_and_comes_back_whole() {
    let world = World::new(tapes::small());
    let mut pty = world.open(&[]);
    let whole = world.frame("");
    let is_whole = |screen: &vt100::Screen| without_ends(&screen.contents()) == whole;
    assert!(pty.wait_for(PATIENCE, is_whole).unwrap(), "{whole}");
    pty.signal(Signal::TSTP).unwrap();
    assert!(
        pty.wait_for(PATIENCE, |screen| !screen.alternate_screen())
            .unwrap()
    );
    pty.settle(QUIET).unwrap();
    check_left_clean(&pty, 1);
    assert_eq!(state_of(pty.id()), 'T');
    pty.signal(Signal::CONT).unwrap();
    assert!(pty.wait_for(PATIENCE, is_whole).unwrap(), "{whole}");
    pty.settle(QUIET).unwrap();
    assert_ne!(pty.modes().unwrap(), pty.modes_before());
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 2);
}

/// Ctrl-Z means something only where a shell can continue the program.
#[test]
fn the_key_that_stops_it_needs_a_shell() {
    let world = World::new(tapes::small());
    let mut pty = world.open(&[]);
    pty.send(b"\x1a").unwrap();
    let refused = pty.wait_for(PATIENCE, |screen| screen.contents().contains("no shell"));
    assert!(refused.unwrap(), "{}", pty.screen().contents());
    assert_ne!(state_of(pty.id()), 'T');

    let script = r#""$0" "$@"; echo "ended with $?""#;
    let mut pty = world.start_as(&["sh", "-c", script], &[], &[]);
    let is_shown = |screen: &vt100::Screen| screen.contents().contains(tapes::LAST_STEP);
    assert!(pty.wait_for(PATIENCE, is_shown).unwrap());
    pty.send(b"\x1a").unwrap();
    assert!(
        pty.wait_for(PATIENCE, |screen| !screen.alternate_screen())
            .unwrap()
    );
    let child = child_of(pty.id());
    while state_of(child) != 'T' {
        pty.settle(Duration::from_millis(5)).unwrap();
    }
    check_left_clean(&pty, 1);
    rustix::process::kill_process(child, Signal::CONT).unwrap();
    assert!(pty.wait_for(PATIENCE, is_shown).unwrap());
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 2);
    assert!(after_the_screen(pty.bytes()).contains("ended with 0"));
}

#[test]
fn an_editor_gets_the_terminal_and_gives_it_back() {
    let world = World::new(tapes::small());
    let path = |name: &str| world.directory.path().join(name);
    fs::write(
        path("editor"),
        r#"echo "$1" > "$HOME/file"; stat -c %a "$1" "${1%/*}" > "$HOME/modes"
           printf 'editing '; cat "$1"; read line; echo "$line" > "$HOME/typed""#,
    )
    .unwrap();
    let command = format!("sh {}", path("editor").display());
    let mut pty = world.open(&[("EDITOR", &command)]);
    // The last row of the tree is src/lib.rs.
    let whole = world.frame("2G");
    let is_whole = |screen: &vt100::Screen| without_ends(&screen.contents()) == whole;
    pty.send(b"2G").unwrap();
    assert!(pty.wait_for(PATIENCE, is_whole).unwrap(), "{whole}");
    pty.send(b"o").unwrap();
    let is_editing = |screen: &vt100::Screen| screen.contents().contains("editing pub fn works");
    assert!(
        pty.wait_for(PATIENCE, is_editing).unwrap(),
        "{}",
        pty.screen().contents()
    );
    check_left_clean(&pty, 1);
    // These keys are the editor's, the interrupt among them.
    pty.signal(Signal::INT).unwrap();
    pty.send(b"qqq\n").unwrap();
    assert!(
        pty.wait_for(PATIENCE, is_whole).unwrap(),
        "{}",
        pty.screen().contents()
    );
    assert_eq!(fs::read_to_string(path("typed")).unwrap(), "qqq\n");
    assert_eq!(fs::read_to_string(path("modes")).unwrap(), "400\n700\n");
    let file = fs::read_to_string(path("file")).unwrap();
    assert!(file.trim_end().ends_with("lib.rs") && !fs::exists(file.trim_end()).unwrap());
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 2);
}

#[test]
fn an_editor_that_does_not_start_is_told() {
    let world = World::new(tapes::small());
    let mut pty = world.open(&[("EDITOR", "/nowhere/editor")]);
    pty.send(b"2Go").unwrap();
    let told = pty.wait_for(PATIENCE, |screen| {
        screen
            .contents()
            .contains("the editor ended with exit status: 127")
    });
    assert!(told.unwrap(), "{}", pty.screen().contents());
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 2);
}

#[test]
fn without_a_terminal_it_refuses_and_names_another_way() {
    let world = World::new(tapes::small());
    for arguments in [
        &["-c", r#""$0" open "$1" < /dev/null"#],
        &["-c", r#""$0" open "$1" < /dev/null >&-"#],
    ] {
        let output = Command::new("sh")
            .args(arguments)
            .args([PROGRAM, world.tape.to_str().unwrap()])
            .env_clear()
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(words.contains("jukebox log"), "{words}");
    }
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    let world = World::new(tapes::small());
    let mut pty = world.open(&[]);
    pty.hang_up();
    let status = pty.wait(PATIENCE).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(129));
}

/// A program that no signal tells of it finds out by reading and writing.
#[test]
fn a_terminal_that_goes_away_without_a_signal_ends_it() {
    let world = World::new(tapes::prompts(200));
    let ignore = r#"trap '' HUP; exec "$0" "$@""#;
    for behind in [&[][..], &["--follow"]] {
        let mut pty = world.start_as(&["sh", "-c", ignore], behind, &[]);
        let is_shown = |screen: &vt100::Screen| screen.contents().contains(tapes::LAST_STEP);
        assert!(pty.wait_for(PATIENCE, is_shown).unwrap());
        pty.settle(QUIET).unwrap();
        pty.hang_up();
        let status = pty
            .wait(PATIENCE)
            .unwrap()
            .expect("it ends, and does not spin");
        assert_eq!(status.code(), Some(129));
    }
}

/// What is printed while the screen is open would spoil it; that nobody reads it is no matter.
#[test]
fn a_standard_output_that_is_closed_or_full_is_no_way_for_the_screen() {
    let world = World::new(tapes::small());
    for redirected in [r#"exec "$0" "$@" >&-"#, r#"exec "$0" "$@" >/dev/full"#] {
        let mut pty = world.start_as(&["sh", "-c", redirected], &[], &[]);
        let status = pty.wait(PATIENCE).unwrap().expect("it ends");
        assert_eq!(status.code(), Some(2), "{}", pty.screen().contents());
        assert!(pty.screen().contents().contains("jukebox log"));
        assert_eq!(pty.modes().unwrap(), pty.modes_before());
    }
}

/// The bug: a terminal that takes no more bytes stops the drawing thread in a write.
#[test]
fn a_terminal_that_is_stuck_does_not_keep_it() {
    let world = World::new(tapes::small());
    let mut pty = world.open(&[]);
    // Nobody reads what these draw.
    for turn in 0..60 {
        pty.resize(SIZE.0 - turn % 2, SIZE.1).unwrap();
        std::thread::sleep(Duration::from_millis(12));
    }
    pty.signal(Signal::TERM).unwrap();
    let status = pty.wait_unread(PATIENCE).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(143));
}

/// The only child of a process.
fn child_of(process: Pid) -> Pid {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    Pid::from_raw(children.unwrap().trim().parse().unwrap()).unwrap()
}
