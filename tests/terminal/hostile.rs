//! Nothing of a tape reaches the terminal but as text that is seen.

use std::fs;
use std::time::Duration;

use super::frames::broken_side;
use super::hostile_tape::{PAYLOADS, is_hostile, tape};
use super::pty::Pty;
use super::{MODES, MOUSE, PATIENCE, PROGRAM, QUIET, SIZE, World, check_left_clean};

/// Three rounds of events, each with a third of what there is in every field.
fn thirds() -> Vec<u8> {
    let thirds: Vec<String> = PAYLOADS.chunks(12).map(|some| some.join(" ")).collect();
    tape(&thirds)
}

/// Terminals do not agree how wide some characters are. Drawn anew, all else stands where it
/// belongs whatever this one thinks.
#[track_caller]
fn check_frames(pty: &mut Pty, (columns, rows): (u16, u16)) {
    pty.send(b"\x0c").unwrap();
    pty.settle(QUIET).unwrap();
    let broken = |screen: &vt100::Screen| {
        let cell = |column, row| screen.cell(row, column).map_or("", vt100::Cell::contents);
        broken_side(columns, rows, cell)
    };
    // Who is quiet may have been stopped in the middle of a frame.
    let is_whole = pty.wait_for(PATIENCE, |screen| broken(screen).is_none());
    let screen = pty.screen();
    assert!(
        is_whole.unwrap(),
        "{:?}\n{}",
        broken(screen),
        screen.contents()
    );
}

#[test]
fn nothing_of_a_tape_reaches_the_terminal_unseen() {
    let world = World::new(thirds());
    let mut pty = world.open(&[]);
    // It is there, to be seen.
    pty.send(b":1\r").unwrap();
    let is_seen = |screen: &vt100::Screen| screen.contents().contains("^[]52;c;aGVsbG8=^G");
    assert!(
        pty.wait_for(PATIENCE, is_seen).unwrap(),
        "{}",
        pty.screen().contents()
    );
    // Every step, in every pane, then all that opens over them.
    for (pane, size) in [
        ("1", SIZE),
        ("2", (80, 24)),
        ("3", (160, 45)),
        ("3", (60, 20)),
    ] {
        pty.resize(size.0, size.1).unwrap();
        pty.send(pane.as_bytes()).unwrap();
        for _ in 0..4 {
            pty.send(b"gllllllllllllllllllllllllllllllllll").unwrap();
            pty.settle(QUIET).unwrap();
            pty.send(b"10h3vJ1").unwrap();
            check_frames(&mut pty, size);
        }
        pty.send(pane.as_bytes()).unwrap();
        for key in ["\r", "j", "j", "\r", "\r", "\x1b"] {
            pty.send(key.as_bytes()).unwrap();
            pty.settle(Duration::from_millis(60)).unwrap();
        }
    }
    pty.resize(SIZE.0, SIZE.1).unwrap();
    // But the keys that quit, copy, open an editor or another run, and give the mouse away.
    let keys = (b'!'..=b'~').filter(|key| !b"qyoMR".contains(key));
    for key in keys {
        pty.send(&[key, b' ', b'\r', 0x1b, 0x1b]).unwrap();
        pty.settle(Duration::from_millis(25)).unwrap();
    }
    pty.send(b"/owned\r").unwrap();
    pty.settle(QUIET).unwrap();
    pty.send(b"nnN").unwrap();
    pty.send(b"\x1b").unwrap();
    // What is pasted is a stranger's, too; a note of it stays.
    for prompt in ["/", ":", "D", "A", "a"] {
        let pasted = "\u{202e}\u{9b}31m \x07 \u{200b} \x1b]0;owned\x07 漢字\te\u{301}\u{302}";
        let typed = format!("{prompt}\x1b[200~{pasted}\x1b[201~\r");
        pty.send(typed.as_bytes()).unwrap();
        check_frames(&mut pty, SIZE);
    }
    pty.send(b"\x03").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 1);
    check_only_our_own(pty.bytes());
}

#[test]
fn what_is_copied_is_one_sequence_of_ours_with_text_in_it() {
    let world = World::new(thirds());
    let mut pty = world.open(&[]);
    pty.send(b"g2l3y").unwrap();
    let is_copied = pty.wait_for(PATIENCE, |screen| screen.contents().contains("copied"));
    assert!(is_copied.unwrap(), "{}", pty.screen().contents());
    pty.send(b"q").unwrap();
    pty.wait(PATIENCE).unwrap().unwrap();
    let text = String::from_utf8(pty.bytes().to_vec()).unwrap();
    let (before, after) = text.split_once("\x1b]52;c;").unwrap();
    let end = after.find(|char: char| !char.is_ascii_alphanumeric() && !"+/=".contains(char));
    let (copied, after) = after.split_at(end.unwrap());
    let after = after.strip_prefix('\x07').or(after.strip_prefix("\x1b\\"));
    assert!(
        copied.len() > 20 && !copied.contains("aGVsbG8="),
        "{copied}"
    );
    check_only_our_own(before.as_bytes());
    check_only_our_own(after.unwrap().as_bytes());
}

#[test]
fn no_command_says_to_a_terminal_what_it_obeys() {
    let world = World::new(thirds());
    let directory = world.directory.path().to_str().unwrap();
    let other = format!("{directory}/\u{202e}\x1b]0;other\x07");
    fs::write(&other, tape(&PAYLOADS[..9])).unwrap();
    let tape = world.tape.to_str().unwrap();
    let commands = [
        "log TAPE",
        "log TAPE --all",
        "log TAPE --json",
        "show TAPE@1",
        "show TAPE@2",
        "show TAPE@3",
        "show TAPE@fail",
        "show TAPE@4 --json",
        "tree TAPE",
        "tree OTHER",
        "diff TAPE@0 @-1",
        "diff TAPE@0 OTHER",
        "diff TAPE@0 @-1 --json",
        "diff TAPE@1 @-1 --response",
        "compare TAPE OTHER",
        "compare TAPE OTHER --json",
        "search TAPE owned",
        "search TAPE line --json",
        "stats TAPE",
        "stats OTHER --json",
        "verify TAPE",
        "verify OTHER --json",
        "cat TAPE package.json",
        "cat TAPE EVIL",
        "checkout TAPE DIR/out",
        "checkout OTHER DIR/new --json",
        "checkout OTHER DIR/new",
        "import OTHER -o DIR/imported",
        "compact OTHER -o DIR/compacted",
        "note TAPE@1 EVIL",
        "note TAPE",
        "recent",
        "log EVIL",
        "log TAPE@EVIL",
        "log TAPE --branch EVIL",
        "EVIL --help",
        "--EVIL",
        "search TAPE EVIL",
        "show TAPE@EVIL:1",
        "open TAPE --keys EVIL",
    ];
    for words in commands {
        let mut command = vec![PROGRAM.to_owned()];
        command.extend(words.split(' ').map(|word| {
            let word = word.replace("TAPE", tape).replace("OTHER", &other);
            let evil = "\u{202e}\x1b[2J\x07\u{9b}31m\r漢\u{200b}";
            word.replace("DIR", directory).replace("EVIL", evil)
        }));
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let mut pty = world.run(&command, &[]);
        let status = pty.wait(PATIENCE).unwrap();
        assert!(status.unwrap().code().is_some(), "{words}");
        // Of what says nothing, nothing is proven.
        assert!(
            !pty.bytes().is_empty() || words == "recent" || words.contains("out"),
            "{words}"
        );
        check_only_our_own(pty.bytes());
    }
}

/// Without the sequences that the screen uses itself there is nothing but visible text.
fn check_only_our_own(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).expect("UTF-8, so no C1 control as a byte");
    let mut rest = text;
    while let Some(at) = rest.find(is_hostile) {
        let from = rest.get(at..).unwrap();
        let own = from.strip_prefix("\x1b[").and_then(own_sequence);
        match own {
            Some(after) => rest = after,
            // Outside of the screen, lines are printed.
            None if from.starts_with("\r\n") => rest = from.strip_prefix("\r\n").unwrap(),
            None => panic!("not ours: {:?}", from.chars().take(40).collect::<String>()),
        }
    }
}

/// What follows a sequence of ours: moves, clears, styles, and the modes we set.
fn own_sequence(body: &str) -> Option<&str> {
    let (mode, parameters) = match body.strip_prefix('?') {
        Some(parameters) => (true, parameters),
        None => (false, body),
    };
    let end = parameters.find(|char: char| !char.is_ascii_digit() && !";:".contains(char))?;
    let (numbers, after) = parameters.split_at(end);
    let letter = after.chars().next()?;
    let is_ours = match letter {
        'h' | 'l' if mode && (MODES.contains(&numbers) || numbers == "25") => true,
        'h' if mode => MOUSE.contains(&(numbers, true)),
        'l' if mode => MOUSE.iter().any(|(mode, _)| *mode == numbers),
        'H' | 'J' | 'K' | 'm' => !mode,
        _ => false,
    };
    is_ours.then(|| after.strip_prefix(letter)).flatten()
}
