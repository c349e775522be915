//! What strangers wrote, in every field, through every view, at every size: it is seen, it is
//! never obeyed, and it takes the columns that it was given.

use std::collections::BTreeSet;
use std::fs;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jukebox::tui::app::Keeping;
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::worker::InlineWorker;
use serde_json::json;
use tempfile::TempDir;
use unicode_width::UnicodeWidthStr as _;

use crate::folds::{two_steps, write};
use crate::frames::broken_side;
use crate::hostile_tape::{LAST_STEP, PAYLOADS, is_hostile, tape};
use crate::marks::World;
use crate::walks::walk;
use crate::{Run, SIZES, Screen};

/// Sizes with three panes, two, and one, and some in between.
const WIDTHS: [(u16, u16); 6] = [(160, 45), (121, 24), (119, 30), (81, 17), (47, 20), (30, 8)];

/// The screen on a tape on which these stand in every field.
fn open<S: AsRef<str>>(
    payloads: &[S],
    (columns, rows): (u16, u16),
) -> (TempDir, Screen<InlineWorker>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory
        .path()
        .join("run \u{202e}\u{1b}[2J\u{200b}漢.jsonl");
    fs::write(&path, tape(payloads)).unwrap();
    let screen = Screen::open(&path, columns, rows);
    (directory, screen)
}

/// The payloads as text; of half characters there is none.
fn texts() -> impl Iterator<Item = String> {
    let payloads = PAYLOADS.iter();
    payloads.filter_map(|payload| serde_json::from_str(&format!("\"{payload}\"")).ok())
}

#[track_caller]
fn check<R: Run>(screen: &Screen<R>, what: &str) {
    let buffer = screen.buffer();
    let (columns, rows) = (buffer.area.width, buffer.area.height);
    let cell = |column: u16, row: u16| buffer[(column, row)].symbol();
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let symbol = cell(column, row);
            let place = format!("{what}: {symbol:?} in column {column}, row {row}");
            assert!(!symbol.chars().any(is_hostile), "{place}");
            let width = symbol.width() as u16;
            assert!(width > 0 && column + width <= columns, "{place}");
            for covered in column + 1..column + width {
                assert_eq!(cell(covered, row), " ", "{place}");
            }
            column += width;
        }
    }
    assert_eq!(
        broken_side(columns, rows, cell),
        None,
        "{what}\n{}",
        screen.text()
    );
}

#[test]
fn every_view_of_every_step_shows_what_it_holds_and_obeys_nothing() {
    // Four to a field, so that each stands beside others.
    let fields: Vec<String> = PAYLOADS.chunks(4).map(|some| some.join(" ")).collect();
    let tour = "l 3 v v v v J w c | ) p Enter 2 j Enter > Esc V V 1";
    for (number, size) in WIDTHS.into_iter().enumerate() {
        let (_directory, mut screen) = open(&fields, size);
        screen.keys("g");
        // The views of each step at one size; every sort of step at all of them.
        screen.keys(&format!("{} l", number + 1));
        for _ in 0..8 {
            for key in tour.split(' ') {
                screen.keys(key);
                check(&screen, &format!("{key} at {size:?}"));
            }
            screen.keys("2 1 l");
        }
    }
}

#[test]
fn what_opens_over_the_panes_obeys_nothing() {
    let fields: Vec<String> = PAYLOADS.chunks(12).map(|some| some.join(" ")).collect();
    for size in WIDTHS {
        let (_directory, mut screen) = open(&fields, size);
        let keys = "! j G Esc ? G Esc b b d 4 h D 2 Enter Esc z 2 z 3 z m a ' Esc : Esc / e v i l Enter n & n & N Esc";
        for key in keys.split(' ') {
            screen.keys(key);
            check(&screen, &format!("{key} at {size:?}"));
        }
    }
}

#[test]
fn what_is_pasted_and_typed_is_text() {
    let (_directory, mut screen) = open(&["plain"], (60, 20));
    for text in texts() {
        for prompt in ["a", "/", ":", "D", "A"] {
            screen.keys(prompt);
            screen.send(Event::Paste(text.clone()));
            check(&screen, &format!("{prompt}{text:?}"));
            screen.keys("Left Home End Enter");
            check(&screen, &format!("{prompt}{text:?} Enter"));
            screen.keys("Esc Esc Esc Esc");
        }
    }
    // Marks are letters, and whoever sends keys may send any.
    let letters: BTreeSet<char> = texts()
        .flat_map(|text| text.chars().collect::<Vec<_>>())
        .collect();
    for letter in letters
        .into_iter()
        .filter(|letter| !letter.is_ascii_graphic())
    {
        let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
        screen.keys("m");
        screen.send(Event::Key(key));
        check(&screen, &format!("m{letter:?}"));
        screen.keys("'");
        check(&screen, &format!("the marks with {letter:?}"));
        screen.send(Event::Key(key));
        screen.send(Event::Key(key));
        check(&screen, &format!("{letter:?}"));
    }
}

#[test]
fn a_hostile_run_is_held_against_another() {
    let fields: Vec<String> = PAYLOADS.chunks(12).map(|some| some.join(" ")).collect();
    for size in [(160, 45), (100, 30), (47, 20)] {
        let (directory, mut screen) = open(&fields, size);
        let other = directory.path().join("other");
        fs::write(&other, tape(&PAYLOADS[20..23])).unwrap();
        screen.keys("A");
        screen.send(Event::Paste(other.to_str().unwrap().into()));
        screen.keys("Enter");
        screen.shows("differ in");
        for key in "g s s s 3 v v J s 2 j Enter Esc V 1 S s s s A".split(' ') {
            screen.keys(key);
            check(&screen, &format!("{key} at {size:?}"));
        }
    }
}

#[test]
fn a_walk_through_a_hostile_run_breaks_nothing() {
    let fields: Vec<String> = PAYLOADS.chunks(6).map(|some| some.join("")).collect();
    for (seed, size) in SIZES.into_iter().enumerate() {
        let (_directory, mut screen) = open(&fields, size);
        for part in 0..4 {
            walk(&mut screen, seed as u64 * 100 + part, 8);
            check(&screen, &format!("part {part} at {size:?}"));
        }
    }
}

#[test]
fn what_is_copied_is_what_is_seen() {
    let (_directory, mut screen) = open(&PAYLOADS, (120, 40));
    let mut copied = 0;
    for _ in 0..30 {
        for key in ["1 y", "2 y", "3 v y"] {
            for effect in screen.keys(key) {
                let Effect::Copy(lines) = effect else {
                    continue;
                };
                copied += lines.len();
                for line in lines {
                    assert!(!line.as_str().chars().any(is_hostile), "{line:?}");
                }
            }
        }
        screen.keys("1 1 7 l");
    }
    assert!(copied > 100, "{copied}");
}

#[test]
fn a_very_long_line_is_one_row() {
    let long = r"\u001b]0;x\u0007\u202e\u6f22".repeat(1000);
    for size in [(160, 45), (47, 20)] {
        let (_directory, mut screen) = open(&[&long], size);
        screen.keys("g");
        for key in "l l l l 3 v v v 2 j Enter > > Esc ! Esc 1 l l l l l".split(' ') {
            screen.keys(key);
            check(&screen, &format!("{key} at {size:?}"));
        }
    }
}

#[test]
fn it_is_all_there_to_be_seen() {
    let (_directory, mut screen) = open(&PAYLOADS, (160, 45));
    screen.shows(LAST_STEP);
    screen.shows("run <U+202E>^[[2J<U+200B>漢.jsonl");
    screen.keys("g l");
    screen.shows("^[]52;c;aGVsbG8=^G");
}

/// Transcripts that were never opened are listed by their names and first words.
#[test]
fn a_list_of_hostile_runs_is_only_a_list() {
    let world = World::new();
    let project = world.directory.path().join("claude/projects/p");
    fs::create_dir_all(&project).unwrap();
    for (number, text) in texts().enumerate() {
        let name: String = text
            .chars()
            .filter(|c| !"/\0".contains(*c))
            .take(40)
            .collect();
        let line = serde_json::json!({"type": "user", "uuid": "u", "sessionId": text, "cwd": text,
            "version": text, "timestamp": "2026-01-01T10:00:00Z",
            "message": {"role": "user", "content": text}});
        fs::write(
            project.join(format!("{number}{name}.jsonl")),
            format!("{line}\n"),
        )
        .unwrap();
    }
    for size in WIDTHS {
        let mut screen = world.open(Keeping::Kept, size);
        screen.keys("R");
        check(&screen, "R");
        for _ in 0..PAYLOADS.len() {
            screen.keys("j");
            check(&screen, &format!("the list at {size:?}"));
        }
    }
}

#[test]
fn a_character_that_is_not_seen_is_named_where_it_came_in() {
    let old = "if level != 'user':\n    pass\n";
    let new = "if level != 'user\u{200b}\u{202e} \u{2066}# check\u{2069} \u{2066}':\n    pass\n";
    let tagged: String = "obey"
        .bytes()
        .filter_map(|byte| char::from_u32(0xe_0000 + u32::from(byte)))
        .collect();
    let result = json!({"kind": "tool.result", "call": "c", "outcome": "ok", "output": format!("read{tagged}\n")});
    let call = json!({"kind": "tool.call", "call": "c", "name": "Read", "args": {"path": "a.py"}});
    for size in [(160, 45), (100, 30), (60, 20)] {
        let (_file, mut screen) = two_steps(
            &[write("a.py", old)],
            &[write("a.py", new), call.clone(), result.clone()],
            size,
        );
        let named = "'user<U+200B><U+202E> <U+2066># ";
        // The step that changed the file, then the file.
        screen.shows(named);
        screen.shows("+1 −1");
        screen.keys("Enter");
        screen.shows("File @2");
        screen.shows(named);
        // The step that read what hides words from people.
        screen.keys("Esc Esc 3 l");
        screen.shows("! hidden characters, made visible");
        screen.shows("read<U+E006F><U+E0062><U+E0065><U+E0079>");
        screen.keys("v v");
        screen.shows("read<tags: obey>");
    }
}

#[test]
fn emoji_and_spelling_are_no_alarm() {
    let words = "👨\u{200d}👩\u{200d}👧 ⚠\u{fe0f} می\u{200c}خواهم";
    let (_file, mut screen) = two_steps(&[], &[write(words, words)], (160, 45));
    screen.keys("z 3 v");
    screen.shows(words);
    screen.hides("<U+");
    screen.hides("hidden");
}
