//! The real program in a real (pseudo-)terminal: every way out leaves the terminal as it
//! was, nothing of a tape reaches it unseen, and no size of it is too odd.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed, also in what its tests share"
)]

#[path = "support/pty.rs"]
mod pty;
#[path = "support/tapes.rs"]
mod tapes;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use pty::Pty;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jukebox");
const SIZE: (u16, u16) = (120, 40);
/// Much longer than anything here takes, also on a machine with other work.
const PATIENCE: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(100);

/// The modes that the screen switches on, each as it is switched off.
const MODES: [&str; 3] = ["1004", "2004", "1049"];
/// Modes of the mouse: never switched on, and switched off for those who left them on.
const MOUSE: [&str; 5] = ["1000", "1002", "1003", "1006", "1015"];

/// A world of its own, with one tape in it.
struct World {
    directory: TempDir,
    tape: PathBuf,
}

impl World {
    fn new(tape: impl AsRef<[u8]>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.jsonl");
        fs::write(&path, tape).unwrap();
        Self {
            directory,
            tape: path,
        }
    }

    /// The program on the tape, once it shows it.
    fn open(&self, environment: &[(&str, &str)]) -> Pty {
        let mut pty = self.start(environment);
        let shown = pty.wait_for(PATIENCE, |screen| {
            screen.contents().contains(tapes::LAST_STEP)
        });
        assert!(shown.unwrap(), "{}", pty.screen().contents());
        pty.settle(QUIET).unwrap();
        pty
    }

    fn start(&self, environment: &[(&str, &str)]) -> Pty {
        self.start_as(&[], environment)
    }

    /// The program as another one's arguments.
    fn start_as(&self, before: &[&str], environment: &[(&str, &str)]) -> Pty {
        let home = self.directory.path().to_str().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut all = vec![("HOME", home), ("PATH", &path), ("TERM", "xterm-256color")];
        all.extend(environment);
        let program = [PROGRAM, "open", self.tape.to_str().unwrap()];
        Pty::spawn(SIZE, before.iter().copied().chain(program), &all).unwrap()
    }
}

fn count(bytes: &[u8], what: &str) -> usize {
    memchr::memmem::find_iter(bytes, what).count()
}

/// Everything was switched on and off so many times, in the order that terminals need, and
/// the terminal's modes are the ones from before.
fn check_left_clean(pty: &Pty, times: usize) {
    let bytes = pty.bytes();
    let text = bytes.escape_ascii().to_string();
    for mode in MODES {
        assert_eq!(
            count(bytes, &format!("\x1b[?{mode}h")),
            times,
            "{mode} on: {text}"
        );
        assert_eq!(
            count(bytes, &format!("\x1b[?{mode}l")),
            times,
            "{mode} off: {text}"
        );
    }
    for mode in MOUSE {
        assert_eq!(count(bytes, &format!("\x1b[?{mode}h")), 0, "{text}");
        assert_eq!(count(bytes, &format!("\x1b[?{mode}l")), times, "{text}");
    }
    let last = |what: &str| memchr::memmem::rfind(bytes, what.as_bytes()).unwrap();
    let order = [
        "\x1b[?1000l",
        "\x1b[?2004l",
        "\x1b[0m",
        "\x1b[?25h",
        "\x1b[?1049l",
    ];
    let places = order.map(last);
    assert!(places.is_sorted(), "{places:?}: {text}");
    assert!(last("\x1b[?25l") < last("\x1b[?25h"), "{text}");
    assert!(!pty.screen().hide_cursor() && !pty.screen().alternate_screen());
    assert!(pty.is_as_before().unwrap());
}

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
    let before = pty.screen().contents();
    pty.signal(Signal::TSTP).unwrap();
    assert!(
        pty.wait_for(PATIENCE, |screen| !screen.alternate_screen())
            .unwrap()
    );
    pty.settle(QUIET).unwrap();
    check_left_clean(&pty, 1);
    assert_eq!(state_of(pty.id()), 'T');
    pty.signal(Signal::CONT).unwrap();
    assert!(
        pty.wait_for(PATIENCE, |screen| screen.contents() == before)
            .unwrap()
    );
    pty.settle(QUIET).unwrap();
    assert!(!pty.is_as_before().unwrap());
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
    let mut pty = world.start_as(&["sh", "-c", script], &[]);
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
    pty.send(b"2G").unwrap();
    pty.settle(QUIET).unwrap();
    let before = pty.screen().contents();
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
    let is_back = |screen: &vt100::Screen| screen.contents() == before;
    assert!(
        pty.wait_for(PATIENCE, is_back).unwrap(),
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
    let status = pty.wait(Duration::from_secs(1)).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(129));
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

#[test]
fn a_press_and_a_repeat_move_and_a_release_does_not() {
    let world = World::new(tapes::prompts(20));
    for keys in [
        &b"kkkk"[..],
        b"\x1b[107;1:1u\x1b[107;1:3u\x1b[107;1:1u\x1b[107;1:2u\x1b[107;1:2u\x1b[107;1:3u",
        b"\x1b[A\x1b[A\x1bOA\x1b[1;1:2A\x1b[1;1:3A",
    ] {
        let mut pty = world.open(&[]);
        pty.send(keys).unwrap();
        let moved = pty.wait_for(PATIENCE, |screen| screen.contents().contains("16/20"));
        assert!(moved.unwrap(), "{}", pty.screen().contents());
        pty.settle(QUIET).unwrap();
        assert!(
            pty.screen().contents().contains("16/20"),
            "{}",
            pty.screen().contents()
        );
    }
}

#[test]
fn a_paste_types_and_does_not_press() {
    let world = World::new(tapes::small());
    let mut pty = world.open(&[]);
    pty.send(b"/\x1b[200~qqqq\x1b[201~").unwrap();
    let typed = pty.wait_for(PATIENCE, |screen| screen.contents().contains("qqqq"));
    assert!(typed.unwrap(), "{}", pty.screen().contents());
    pty.send(b"\x1b").unwrap();
    pty.settle(QUIET).unwrap();
    // Outside of a field there is nothing to paste into.
    pty.send(b"\x1b[200~qqqq\x1b[201~").unwrap();
    pty.settle(QUIET).unwrap();
    assert_ne!(state_of(pty.id()), 'Z');
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
}

#[test]
fn a_storm_of_sizes_ends_where_it_began() {
    let world = World::new(tapes::prompts(200));
    let mut pty = world.open(&[]);
    pty.send(b"100k").unwrap();
    pty.settle(QUIET).unwrap();
    let before = pty.screen().contents();
    assert!(before.contains("100/200"), "{before}");
    let odd = [
        (0, 0),
        (1, 1),
        (2, 1),
        (1, 300),
        (400, 1),
        (29, 7),
        (30, 8),
        (79, 24),
        (400, 300),
    ];
    for (columns, rows) in odd.into_iter().chain(random_sizes(150)) {
        pty.resize(columns, rows).unwrap();
        pty.read(Duration::from_millis(12)).unwrap();
    }
    pty.resize(SIZE.0, SIZE.1).unwrap();
    pty.settle(QUIET).unwrap();
    assert_eq!(pty.screen().contents(), before);
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 1);
}

#[test]
fn the_mouse_and_keys_at_any_size_are_no_fault() {
    let world = World::new(tapes::prompts(200));
    let mut pty = world.open(&[]);
    for (columns, rows) in random_sizes(40) {
        pty.resize(columns, rows).unwrap();
        let outside = (u32::from(columns) + 1, u32::from(rows) + 1);
        for (column, row) in [(u32::from(columns), u32::from(rows)), outside] {
            let click = format!("\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m");
            pty.send(click.as_bytes()).unwrap();
        }
        pty.send(b"jkhl\t3Gg z?\x1b").unwrap();
        pty.read(Duration::from_millis(12)).unwrap();
    }
    pty.settle(QUIET).unwrap();
    pty.send(b"\x03").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 1);
}

/// Sizes up to 400 × 300, the same every time.
fn random_sizes(count: usize) -> impl Iterator<Item = (u16, u16)> {
    let mut random = 1_u64;
    let mut below = move |end: u64| {
        random = random
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        u16::try_from((random >> 33) % end).unwrap()
    };
    std::iter::repeat_with(move || (below(401), below(301))).take(count)
}

#[test]
fn nothing_of_a_tape_reaches_the_terminal_unseen() {
    let world = World::new(tapes::hostile());
    let mut pty = world.open(&[]);
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
    // But the keys that quit, copy, and open an editor.
    let keys = (b'!'..=b'~').filter(|key| !b"qyo".contains(key));
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
        'l' if mode => MOUSE.contains(&numbers),
        'H' | 'J' | 'K' | 'm' => !mode,
        _ => false,
    };
    is_ours.then(|| after.strip_prefix(letter)).flatten()
}

fn after_the_screen(bytes: &[u8]) -> String {
    let leave = "\x1b[?1049l";
    let at = memchr::memmem::rfind(bytes, leave.as_bytes()).unwrap();
    String::from_utf8_lossy(&bytes[at + leave.len()..]).into_owned()
}

/// The letter by which the system calls the state of a process.
fn state_of(process: Pid) -> char {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, after) = stat.rsplit_once(") ").unwrap();
    after.chars().next().unwrap()
}

/// The only child of a process.
fn child_of(process: Pid) -> Pid {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    Pid::from_raw(children.unwrap().trim().parse().unwrap()).unwrap()
}
