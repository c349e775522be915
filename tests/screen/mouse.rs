//! The mouse: it focuses and chooses what it points at, and scrolls what is under it.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use jukebox::tui::app::AppOptions;
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::{Mouse, action::ACTIONS};

use crate::{Run, SIZES, Screen};

const DOWN: MouseEventKind = MouseEventKind::Down(MouseButton::Left);
const DRAG: MouseEventKind = MouseEventKind::Drag(MouseButton::Left);
const UP: MouseEventKind = MouseEventKind::Up(MouseButton::Left);

impl<R: Run> Screen<R> {
    pub(crate) fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) {
        let effects = self.send(Event::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        }));
        assert!(effects.is_empty(), "{effects:?}");
    }

    pub(crate) fn click(&mut self, column: u16, row: u16) {
        self.mouse(DOWN, column, row);
        self.mouse(UP, column, row);
    }

    /// Where these words stand.
    #[track_caller]
    pub(crate) fn find(&self, words: &str) -> (u16, u16) {
        let frame = self.frame();
        let lines = frame.iter().enumerate();
        let mut places = lines.filter_map(|(row, line)| {
            let (before, _) = line.split_once(words)?;
            Some((before.chars().count() as u16, row as u16))
        });
        places.next().unwrap()
    }

    #[track_caller]
    pub(crate) fn click_on(&mut self, words: &str) {
        let (column, row) = self.find(words);
        self.click(column, row);
    }
}

#[test]
fn a_click_focuses_and_chooses() {
    for (columns, rows) in [(160, 45), (100, 30)] {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys(": 4 4 Enter");
        screen.click_on(" 2 State");
        screen.shows("▸2 State");
        screen.click_on("main.rs ");
        screen.shows("▸    main.rs");
        // The second click opens.
        screen.click_on("main.rs ");
        screen.shows("▸2 File @44");
        screen.click_on(" 3 Diff");
        screen.shows("▸3 Diff");
        screen.click_on(" 47  $ ");
        assert_eq!(screen.step(), 47);
        screen.shows("▸1 Timeline");
        screen.keys("u");
        assert_eq!(screen.step(), 44);
    }
}

#[test]
fn a_click_folds_a_directory_and_chooses_a_changed_file() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys(": 8 8 Enter D 0 Enter");
    screen.click_on("▾ src/");
    screen.click_on("▾ src/");
    screen.shows("▹ src/");
    screen.shows("file 3/5");
    let (column, row) = screen.find("▸M src/lexer.rs");
    screen.click(column, row + 1);
    screen.shows("file 4/5");
    screen.click(column, row - 2);
    screen.shows("file 1/5");
}

#[test]
fn the_tabs_of_a_narrow_screen_are_clicked() {
    let mut screen = Screen::new(60, 20, 212);
    screen.click_on("2 State");
    screen.shows("▸2 State @212");
    screen.click_on("3 Diff");
    screen.shows("▸3 ");
    screen.click_on("1 Timeline");
    screen.shows("▸1 Timeline");
    screen.resize(30, 8);
    screen.keys("2");
    screen.click_on(" 3");
    screen.shows("▸3 ");
}

#[test]
fn the_wheel_scrolls_what_is_under_it_and_leaves_the_focus() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys(": 4 4 Enter");
    let (column, row) = screen.find("▸ 44");
    screen.mouse(MouseEventKind::ScrollDown, column, row);
    assert_eq!(screen.step(), 45);
    screen.mouse(MouseEventKind::ScrollUp, column, row);
    assert_eq!(screen.step(), 44);
    let (column, row) = screen.find("▾ src/");
    let before = screen.text();
    screen.mouse(MouseEventKind::ScrollDown, column, row);
    assert_ne!(screen.text(), before);
    screen.shows("▸1 Timeline");
    let (column, row) = screen.find(" 3 Diff");
    screen.mouse(MouseEventKind::ScrollRight, column, row + 9);
    screen.hides("fn next_0(&mut self)");
    screen.mouse(MouseEventKind::ScrollLeft, column, row + 9);
    screen.shows("fn next_0(&mut self)");
    assert_eq!(screen.step(), 44);
}

#[test]
fn the_strip_is_clicked_and_dragged_also_beyond_its_row() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys(": 4 4 Enter");
        screen.mouse(DOWN, 0, 1);
        assert_eq!(screen.step(), 1);
        screen.mouse(DRAG, columns / 2, 5);
        assert!(screen.step().abs_diff(106) < 10, "{}", screen.step());
        screen.mouse(DRAG, columns + 7, 0);
        assert_eq!(screen.step(), 212);
        screen.mouse(UP, columns, 0);
        screen.mouse(DRAG, 0, 1);
        assert_eq!(screen.step(), 212);
        screen.keys("u");
        assert_eq!(screen.step(), 44);
    }
}

#[test]
fn an_overlay_has_the_mouse_for_itself_and_a_prompt_wants_none() {
    let mut screen = Screen::new(60, 20, 212);
    screen.keys("?");
    let before = screen.text();
    screen.mouse(MouseEventKind::ScrollDown, 30, 9);
    assert_ne!(screen.text(), before);
    screen.click(0, 19);
    screen.hides("Keys and signs");
    screen.keys("/ a");
    screen.click(0, 1);
    assert_eq!(screen.step(), 212);
    screen.shows("search /a");
}

#[test]
fn what_the_palette_offers_is_clicked() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys(": n e x t - f a i l");
        screen.click_on("next-failure");
        screen.hides("Actions");
        screen.shows("no later failure");
        // A place alone is in no list, and there is nothing to click.
        screen.keys(": 4 4");
        screen.click(3, rows - 3);
        screen.shows(":44");
        screen.keys("Enter");
        assert_eq!(screen.step(), 44);
    }
}

#[test]
fn a_mark_is_clicked_in_the_list_behind_its_key() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys(": 4 4 Enter m a : 9 Enter m b G '");
        screen.click_on("step 44");
        assert_eq!(screen.step(), 44);
        screen.hides("step 9 of main");
        // Where a new mark is set, the list only says which letters are taken.
        screen.keys("m");
        screen.click_on("step 9");
        screen.keys("Esc");
        assert_eq!(screen.step(), 44);
    }
}

#[test]
fn a_version_is_clicked_in_the_strip_of_the_open_file() {
    for (columns, rows) in [(160, 45), (100, 30), (60, 20)] {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys(": 8 8 Enter 3 Enter");
        let frame = screen.frame();
        let row = frame
            .iter()
            .position(|line| line.contains(" versions"))
            .unwrap();
        let before = frame[row].clone();
        let (start, _) = before.split_once('▸').unwrap();
        let column = start.chars().count();
        let shown: String = before
            .chars()
            .skip(column + 2)
            .take_while(char::is_ascii_digit)
            .collect();
        let next: String = before
            .chars()
            .skip(column + 3 + shown.len())
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        screen.click_on(&format!("M{next}"));
        assert_eq!(screen.step().to_string(), next, "{before}");
        screen.keys("u");
        assert_eq!(screen.step(), 88);
        // Right of the last of them stands no version.
        screen.click_on(" versions");
        assert_eq!(screen.step(), 88);
    }
}

#[test]
fn the_mouse_is_given_away_and_taken_back() {
    let mut screen = Screen::with(
        AppOptions {
            mouse: Mouse::Off,
            ..AppOptions::default()
        },
        100,
        30,
        212,
    );
    assert!(matches!(screen.keys("M")[..], [Effect::Mouse(Mouse::On)]));
    let off = screen.keys(": m o u s e Enter");
    assert!(matches!(off[..], [Effect::Mouse(Mouse::Off)]));
    screen.shows("the mouse is the terminal's");
    assert!(ACTIONS.iter().any(|action| action.name == "mouse"));
}

#[test]
fn a_mouse_anywhere_at_any_size_does_no_harm() {
    let kinds = [DOWN, DRAG, MouseEventKind::ScrollDown, UP];
    for steps in [0, 1, 212] {
        let mut screen = Screen::new(80, 24, steps);
        for (columns, rows) in SIZES.into_iter().chain([(1, 1), (300, 9)]) {
            screen.resize(columns, rows);
            for column in (0..columns + 3).step_by(7) {
                for row in 0..rows + 2 {
                    let kind = kinds[usize::from(column / 7 + row) % kinds.len()];
                    screen.mouse(kind, column, row);
                }
            }
            screen.buffer();
        }
    }
}
