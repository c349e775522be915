//! Drawing a whole frame, beside a frame of the same size with the same letter everywhere.

use std::sync::{Arc, RwLock};

use jukebox::debugger::{Debugger, OpenOptions, Source};
use jukebox::tui::app::{App, AppOptions};
use jukebox::tui::event::Event;
use jukebox::tui::key::Key;
use jukebox::tui::view;
use jukebox::tui::worker::InlineWorker;
use ratatui::backend::TestBackend;
use ratatui::{Frame, Terminal};

use crate::beside::beside;
use crate::tapes::Shape;
use crate::{Result, Scratch};

const SIZES: [(u16, u16); 3] = [(80, 24), (200, 60), (500, 200)];

/// The main views, by the keys that lead to each.
const VIEWS: [(&str, &str); 6] = [
    ("files", "200 G"),
    ("step", "200 G v"),
    ("event", "200 G v v"),
    ("open file", "200 G 2 G Enter"),
    ("numbers", "200 G V"),
    ("help", "?"),
];

pub(crate) fn run() -> Result {
    let scratch = Scratch::new("drawn");
    Shape::Big.write(&scratch.0, 0.005, 1)?;
    for (columns, rows) in SIZES {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows))?;
        for (view, keys) in VIEWS {
            let source = Source::Path(scratch.0.clone());
            let debugger = Debugger::open(source, &OpenOptions::default())?;
            let mut worker = InlineWorker::new(Arc::new(RwLock::new(debugger)));
            let mut app = App::new(AppOptions::default());
            worker.settle(&mut app, Event::Resize { columns, rows });
            for key in keys_of(keys)? {
                worker.settle(&mut app, Event::Key(key.press()));
            }
            let what = format!("{view}, {columns}×{rows}");
            let mut other = Terminal::new(TestBackend::new(columns, rows))?;
            let draw = || whole(&mut terminal, |frame| view::draw(&app, frame));
            let fill = || whole(&mut other, fill);
            beside(&what, (1, "a frame"), draw, "a frame of one letter", fill);
        }
    }
    Ok(())
}

/// Keys by name, with digits that count written as one word.
fn keys_of(keys: &str) -> Result<Vec<Key>> {
    let mut parsed = Vec::new();
    for word in keys.split(' ') {
        if word.bytes().all(|byte| byte.is_ascii_digit()) && word.len() > 1 {
            for digit in word.chars() {
                parsed.push(digit.to_string().parse::<Key>()?);
            }
        } else {
            parsed.push(word.parse::<Key>()?);
        }
    }
    Ok(parsed)
}

/// Draws all of a frame, as if nothing of it stood there.
fn whole(terminal: &mut Terminal<TestBackend>, draw: impl FnOnce(&mut Frame<'_>)) -> Result {
    terminal.clear()?;
    terminal.draw(draw)?;
    Ok(())
}

fn fill(frame: &mut Frame<'_>) {
    for cell in &mut frame.buffer_mut().content {
        cell.set_symbol("x");
    }
}
