//! Notes: written to steps, seen wherever their steps are, found again.

use std::fs;

use jukebox::tui::app::{AppOptions, Keeping};
use jukebox::tui::event::Event;
use jukebox::tui::theme::ColorChoice;

use crate::marks::World;
use crate::{SIZES, Screen};

#[test]
fn a_note_is_written_seen_and_taken_away() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys(": 4 4 Enter a");
        screen.shows("what to know of this");
        screen.send(Event::Paste("here it broke".into()));
        screen.keys("Enter");
        screen.shows("a note to step 44");
        assert!(screen.frame()[1].contains('┃') && !screen.frame()[1].contains('¶'));
        screen.keys("3");
        screen.shows("¶ here it broke");
        screen.keys("Tab 9 l");
        screen.hides("here it broke");
        assert!(screen.frame()[1].contains('¶'), "{}", screen.text());
        screen.keys("9 h");
        let noted = |row: &String| row.contains("▸ 44 ") && row.contains('¶');
        assert!(screen.frame().iter().any(noted), "{}", screen.text());
        // The prompt begins with what is there.
        screen.keys("a");
        screen.shows("note here it broke");
        screen.keys("Ctrl-u Enter");
        screen.shows("the note of step 44 is gone");
        screen.keys("l");
        screen.hides("¶");
    }
}

#[test]
fn a_prompt_that_is_given_up_changes_nothing() {
    let mut screen = Screen::new(100, 30, 212);
    screen.keys(": 4 4 Enter a x Enter a y Esc 3");
    screen.shows("¶ x");
    screen.hides("xy");
    screen.keys(": 0 Enter a");
    screen.shows("no step is here");
}

#[test]
fn the_next_note_is_one_key_away_around_the_end() {
    let mut screen = Screen::new(100, 30, 212);
    screen.keys(";");
    screen.shows("no step has a note");
    screen.keys(": 4 4 Enter a x Enter ;");
    screen.shows("no other step has a note");
    screen.keys(": 9 Enter a y Enter ;");
    assert_eq!(screen.step(), 44);
    screen.keys(";");
    assert_eq!(screen.step(), 9);
    screen.shows("from the start again");
    screen.keys("u");
    assert_eq!(screen.step(), 44);
    screen.keys(": n e x t - n o t e Enter");
    assert_eq!(screen.step(), 9);
}

#[test]
fn a_long_note_leaves_room_for_what_the_step_did() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys(": 4 4 Enter a");
        screen.send(Event::Paste("word ".repeat(400)));
        screen.keys("Enter 3");
        let lines = screen.frame();
        let noted = lines.iter().filter(|line| line.contains("word")).count();
        assert!(noted <= usize::from(rows) / 3 + 1, "{}", screen.text());
        if rows > 8 {
            // The last word is cut where the row ends.
            let text = screen.text();
            assert!(text.contains("word…") || text.contains("wor…"), "{text}");
            screen.shows("src/");
        }
    }
}

#[test]
fn a_note_fools_no_terminal_and_needs_no_colour() {
    let evil = "\u{1b}]0;title\u{7}\u{202e}evil\u{200b}";
    let options = AppOptions {
        colors: ColorChoice::Never,
        ..AppOptions::default()
    };
    for (columns, rows) in SIZES {
        let mut screen = Screen::with(options.clone(), columns, rows, 212);
        screen.keys(": 4 4 Enter a");
        screen.send(Event::Paste(evil.into()));
        screen.keys("Enter 3");
        screen.hides("\u{202e}");
        screen.hides("\u{200b}");
        screen.shows("¶ ");
    }
}

#[test]
fn notes_are_there_the_next_time_and_when_the_run_has_grown() {
    let world = World::new();
    let mut screen = world.open(Keeping::Kept, (160, 45));
    screen.keys(": 1 2 Enter a");
    screen.send(Event::Paste("look here".into()));
    screen.keys("Enter : 3 Enter a o n c e Enter a Ctrl-u Enter");
    drop(screen);
    let mut tape = fs::read_to_string(&world.tape).unwrap();
    let last: serde_json::Value = serde_json::from_str(tape.lines().last().unwrap()).unwrap();
    let seq = last["seq"].as_u64().unwrap() + 1;
    let more = serde_json::json!({"seq": seq, "t": 99_000_000, "kind": "prompt", "text": "more"});
    tape += &more.to_string();
    tape.push('\n');
    fs::write(&world.tape, tape).unwrap();
    let mut screen = world.open(Keeping::Kept, (160, 45));
    screen.keys("G");
    assert_eq!(screen.step(), 30);
    screen.keys(";");
    assert_eq!(screen.step(), 12);
    screen.shows("¶ look here");
    screen.keys(";");
    screen.shows("no other step has a note");
}

#[test]
fn a_note_of_several_lines_stays_so_unless_it_is_changed() {
    let world = World::new();
    let mut screen = world.open(Keeping::Kept, (160, 45));
    screen.keys(": 1 2 Enter a x Enter");
    let kept = fs::read_to_string(world.kept()).unwrap();
    fs::write(world.kept(), kept.replace("\"x\"", "\"one\\ntwo\"")).unwrap();
    let mut screen = world.open(Keeping::Kept, (160, 45));
    screen.shows("¶ one");
    screen.shows("  two");
    screen.keys("a Enter");
    screen.send(Event::Closing);
    assert!(
        fs::read_to_string(world.kept())
            .unwrap()
            .contains("one\\ntwo")
    );
    screen.keys("a ! Enter");
    assert!(
        fs::read_to_string(world.kept())
            .unwrap()
            .contains("one two!")
    );
}

#[test]
fn a_note_that_cannot_be_kept_is_said() {
    let world = World::new();
    fs::write(world.state(), "a file stands in the way").unwrap();
    let mut screen = world.open(Keeping::Kept, (100, 30));
    screen.hides("not kept");
    screen.keys("a x Enter");
    screen.shows("✗ marks and notes are not kept:");
    screen.keys("3");
    screen.shows("¶ x");
}
