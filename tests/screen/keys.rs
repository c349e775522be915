//! Keys, pastes, the help, and what leaves the screen.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use jukebox::tui::action::ACTIONS;
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;

use crate::{SIZES, Screen};

#[test]
fn a_press_and_a_repeat_move_and_a_release_does_not() {
    let mut screen = Screen::new(100, 30, 212);
    screen.keys("g");
    let kinds = [
        KeyEventKind::Press,
        KeyEventKind::Release,
        KeyEventKind::Press,
        KeyEventKind::Repeat,
        KeyEventKind::Repeat,
        KeyEventKind::Release,
    ];
    for kind in kinds {
        let key = KeyEvent::new_with_kind(KeyCode::Char('j'), KeyModifiers::NONE, kind);
        screen.send(Event::Key(key));
    }
    assert_eq!(screen.step(), 5);
}

#[test]
fn a_paste_is_text_and_never_a_command() {
    let mut screen = Screen::new(100, 30, 212);
    let is_quit = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::Quit));
    assert!(!is_quit(&screen.send(Event::Paste("qqqq".into()))));
    assert_eq!(screen.step(), 212);
    screen.keys("/");
    assert!(!is_quit(&screen.send(Event::Paste("qqqq\x1b[2J\n".into()))));
    screen.shows("search /qqqq[2J");
    assert!(!is_quit(&screen.keys("q q")));
    screen.shows("search /qqqq[2J qq");
}

#[test]
fn escape_never_quits_and_q_closes_what_is_open_first() {
    let mut screen = Screen::new(120, 30, 212);
    screen.keys(": 4 4 Enter 2 j Enter z ?");
    screen.shows("Keys and signs");
    assert!(screen.keys("Esc").is_empty());
    screen.hides("Keys and signs");
    screen.shows("▸2 File @44");
    for _ in 0..10 {
        assert!(screen.keys("Esc Esc").is_empty());
    }
    screen.shows(" 1 Timeline");
    screen.keys("Enter z ?");
    assert!(screen.keys("q q q").is_empty());
    assert!(matches!(screen.keys("q")[..], [Effect::Quit]));
    assert!(matches!(screen.keys("? Ctrl-c")[..], [Effect::Quit]));
    assert!(matches!(screen.keys("/ Ctrl-c")[..], [Effect::Quit]));
    assert!(matches!(screen.keys("Ctrl-z")[..], [Effect::Suspend]));
}

#[test]
fn text_leaves_by_the_clipboard_and_the_editor() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys(": 4 4 Enter");
    let copied = |effects: Vec<Effect>| match effects.into_iter().next() {
        Some(Effect::Copy(lines)) => lines.iter().map(ToString::to_string).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(copied(screen.keys("y")), ["src/lexer.rs  +12 −3"]);
    screen.shows("copied the step's title");
    assert_eq!(copied(screen.keys("2 y")), ["src/lexer.rs"]);
    let diff = copied(screen.keys("3 y"));
    assert_eq!(diff[0], "@@ -4,7 +4,7 @@");
    assert!(diff.contains(&"+    let c = self.peek(7)?; // src/lexer.rs".to_owned()));
    let effects = screen.keys("o");
    let [Effect::OpenEditor { bytes, name, line }] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!((name.as_str(), *line), ("lexer.rs", 7));
    assert!(bytes.starts_with(b"//! Reads tokens."));
    let effects = screen.keys("3 v o");
    assert!(
        matches!(&effects[..], [Effect::OpenEditor { name, .. }] if name == "step.txt"),
        "{effects:?}"
    );
}

#[test]
fn the_help_lists_every_action_and_scrolls() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys("?");
        let (mut page, mut seen) = (screen.text(), String::new());
        // Page by page, until there is no further one.
        loop {
            seen.push_str(&page);
            screen.keys("PgDn");
            let next = screen.text();
            if next == page {
                break;
            }
            page = next;
        }
        screen.shows("^[ <U+202E>");
        // The end was reached, and one key up moves at once.
        let before = screen.text();
        screen.keys("k");
        assert!(screen.text() != before || columns == 160);
        for action in ACTIONS {
            for key in action.shown_keys() {
                assert!(seen.contains(&key), "{key} at {columns} columns");
            }
        }
    }
}

#[test]
fn what_opens_over_the_panes_has_the_keys_for_itself() {
    let mut screen = Screen::new(120, 30, 212);
    screen.keys(": 4 4 Enter m a G 3");
    let before = screen.text();
    for over in ["?", "!"] {
        screen.keys(over);
        let opened = screen.text();
        // A key that waits for a letter does not wait here, and a count chooses no pane.
        screen.keys("'");
        assert_eq!(screen.text(), opened);
        screen.keys("a 1 2 l");
        screen.keys("Esc");
        assert_eq!(screen.text(), before);
    }
}
