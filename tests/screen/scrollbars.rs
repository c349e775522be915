//! Scrollbars: there where something is cut, drawn by a shape of their own, and dragged.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use jukebox::tui::app::AppOptions;
use jukebox::tui::event::Event;
use jukebox::tui::theme::ColorChoice;

use crate::folds::{numbered, two_steps, write};
use crate::{Run, SIZES, Screen};

/// Where the thumb of the bar in this column stands, and how long it is.
fn thumb<R: Run>(screen: &Screen<R>, column: usize) -> Option<(usize, usize)> {
    let is_thumb = |line: &String| line.chars().nth(column) == Some('█');
    // The header and the strip are above all panes.
    let frame = screen.frame().split_off(2);
    let first = frame.iter().position(is_thumb)?;
    Some((
        first + 2,
        frame.iter().filter(|line| is_thumb(line)).count(),
    ))
}

fn mouse<R: Run>(screen: &mut Screen<R>, kind: MouseEventKind, (column, row): (usize, usize)) {
    screen.send(Event::Mouse(MouseEvent {
        kind,
        column: column as u16,
        row: row as u16,
        modifiers: KeyModifiers::NONE,
    }));
}

const DOWN: MouseEventKind = MouseEventKind::Down(MouseButton::Left);
const DRAG: MouseEventKind = MouseEventKind::Drag(MouseButton::Left);

#[test]
fn the_bar_of_the_timeline_says_where_one_is_with_and_without_colour() {
    for colors in [ColorChoice::default(), ColorChoice::Never] {
        for (columns, rows) in SIZES {
            let options = AppOptions {
                colors,
                ..AppOptions::default()
            };
            let mut screen = Screen::with(options, columns, rows, 5000);
            screen.keys("z");
            let column = usize::from(columns) - 1;
            let (end, length) = thumb(&screen, column).unwrap();
            assert!(length >= 1);
            screen.keys("g");
            let (start, _) = thumb(&screen, column).unwrap();
            assert!(start < end, "{columns}×{rows}");
        }
    }
}

#[test]
fn what_is_wholly_in_view_has_no_bar() {
    let screen = Screen::new(160, 45, 3);
    for column in 0..160 {
        assert_eq!(thumb(&screen, column), None);
    }
}

#[test]
fn a_bar_is_dragged_to_the_end_and_back() {
    let old = numbered("line ", 0..500, "");
    let new = old.replace("line", "LINE");
    for size in [(130, 30), (60, 20)] {
        let (_tape, mut screen) = two_steps(&[write("a", &old)], &[write("a", &new)], size);
        let column = usize::from(size.0) - 1;
        let (start, _) = thumb(&screen, column).unwrap();
        let first = screen.text();
        mouse(&mut screen, DOWN, (column, start));
        assert_eq!(screen.text(), first, "taken hold of, nothing moves");
        mouse(&mut screen, DRAG, (3, 100));
        screen.shows("499");
        mouse(&mut screen, DRAG, (column, 0));
        assert_eq!(screen.text(), first);
        // Beside the thumb, it comes where the mouse is.
        mouse(&mut screen, DOWN, (column, usize::from(size.1) - 5));
        assert_ne!(thumb(&screen, column).unwrap().0, start);
    }
}

#[test]
fn dragging_the_bar_of_the_timeline_travels_the_whole_run_and_can_be_taken_back() {
    let mut screen = Screen::new(60, 20, 5000);
    screen.keys(": 4 1 Enter");
    let (start, _) = thumb(&screen, 59).unwrap();
    mouse(&mut screen, DOWN, (59, start));
    mouse(&mut screen, DRAG, (59, 19));
    assert_eq!(screen.step(), 5000);
    mouse(&mut screen, DRAG, (59, 0));
    assert_eq!(screen.step(), 0);
    screen.keys("u");
    assert_eq!(screen.step(), 41);
}
