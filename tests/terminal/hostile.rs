//! Nothing of a tape reaches the terminal but as text that is seen.

use std::time::Duration;

use super::{MODES, MOUSE, PATIENCE, QUIET, World, check_left_clean, tapes};

#[test]
fn nothing_of_a_tape_reaches_the_terminal_unseen() {
    let world = World::new(tapes::hostile());
    let mut pty = world.open(&[]);
    // It is there, to be seen.
    pty.send(b":2\r").unwrap();
    let is_seen = |screen: &vt100::Screen| screen.contents().contains("^[]52;c;aGVsbG8=^G");
    assert!(
        pty.wait_for(PATIENCE, is_seen).unwrap(),
        "{}",
        pty.screen().contents()
    );
    // Every step, in every pane, then all that opens over them.
    for pane in ["1", "2", "3"] {
        pty.send(pane.as_bytes()).unwrap();
        pty.send(b"gllllllllllGhhhhhhhhhh").unwrap();
        pty.settle(QUIET).unwrap();
        for key in ["\r", "j", "j", "\r", "\r", "\x1b"] {
            pty.send(key.as_bytes()).unwrap();
            pty.settle(Duration::from_millis(60)).unwrap();
        }
    }
    // But the keys that quit, copy, open an editor, and give the mouse away.
    let keys = (b'!'..=b'~').filter(|key| !b"qyoM".contains(key));
    for key in keys {
        pty.send(&[key, b' ', b'\r', 0x1b, 0x1b]).unwrap();
        pty.settle(Duration::from_millis(25)).unwrap();
    }
    pty.send(b"/evil\r").unwrap();
    pty.settle(QUIET).unwrap();
    pty.send(b"nnN").unwrap();
    pty.send(b"\x1b").unwrap();
    pty.settle(QUIET).unwrap();
    pty.send(b"\x03").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 1);
    check_only_our_own(pty.bytes());
}

/// Without the sequences that the screen uses itself there is nothing but visible text.
fn check_only_our_own(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).expect("UTF-8, so no C1 control as a byte");
    let mut rest = text;
    while let Some(at) = rest.find(|char: char| char.is_control()) {
        let from = rest.get(at..).unwrap();
        let own = from.strip_prefix("\x1b[").and_then(own_sequence);
        match own {
            Some(after) => rest = after,
            // After the screen, lines are printed.
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
