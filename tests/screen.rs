//! The screen as people see it: keys in, frames out, at every size, with and without colour.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed"
)]

#[path = "screen/against.rs"]
mod against;
#[path = "screen/bisects.rs"]
mod bisects;
#[path = "screen/blames.rs"]
mod blames;
#[path = "screen/command.rs"]
mod command;
#[path = "screen/differences.rs"]
mod differences;
#[path = "screen/effects.rs"]
mod effects;
#[path = "screen/errands.rs"]
mod errands;
#[path = "screen/exports.rs"]
mod exports;
#[path = "screen/fake.rs"]
mod fake;
#[path = "../demo-tapes/gallery/forks.rs"]
mod family;
#[path = "screen/files.rs"]
mod files;
#[path = "screen/folds.rs"]
mod folds;
#[path = "screen/follow.rs"]
mod follow;
#[path = "screen/fork_tree.rs"]
mod fork_tree;
#[path = "screen/forks.rs"]
mod forks;
#[path = "support/frames.rs"]
mod frames;
#[path = "screen/hostile.rs"]
mod hostile;
#[path = "support/hostile_tape.rs"]
mod hostile_tape;
#[path = "screen/keys.rs"]
mod keys;
#[path = "screen/layout.rs"]
mod layout;
#[path = "screen/left.rs"]
mod left;
#[path = "screen/many_files.rs"]
mod many_files;
#[path = "screen/marks.rs"]
mod marks;
#[path = "screen/mouse.rs"]
mod mouse;
#[path = "screen/narrow.rs"]
mod narrow;
#[path = "screen/nested.rs"]
mod nested;
#[path = "screen/notes.rs"]
mod notes;
#[path = "screen/numbers.rs"]
mod numbers;
#[path = "screen/opening.rs"]
mod opening;
#[path = "screen/palette.rs"]
mod palette;
#[path = "screen/paths.rs"]
mod paths;
#[path = "screen/picker.rs"]
mod picker;
#[path = "screen/play.rs"]
mod play;
#[path = "support/queries.rs"]
mod queries;
#[path = "screen/raw.rs"]
mod raw;
#[path = "screen/said.rs"]
mod said;
#[path = "screen/scrollbars.rs"]
mod scrollbars;
#[path = "screen/scrub.rs"]
mod scrub;
#[path = "screen/searches.rs"]
mod searches;
#[path = "screen/smallest.rs"]
mod smallest;
#[path = "screen/transaction.rs"]
mod transaction;
#[path = "screen/travel.rs"]
mod travel;
#[path = "screen/walks.rs"]
mod walks;
#[path = "screen/wide.rs"]
mod wide;

use std::path::Path;
use std::sync::{Arc, RwLock};

use fake::Fake;
use jukebox::debugger::{Debugger, OpenOptions, Source};
use jukebox::tui::app::{App, AppOptions};
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::job::{Reply, Request};
use jukebox::tui::key::Key;
use jukebox::tui::view;
use jukebox::tui::worker::InlineWorker;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

/// What answers the screen.
trait Run {
    /// Gives the event to the screen and answers all it asks.
    fn settle(&mut self, app: &mut App, event: Event) -> Vec<Effect>;
}

impl Run for Fake {
    fn settle(&mut self, app: &mut App, event: Event) -> Vec<Effect> {
        Fake::settle(self, app, event)
    }
}

impl Run for InlineWorker {
    fn settle(&mut self, app: &mut App, event: Event) -> Vec<Effect> {
        InlineWorker::settle(self, app, event)
    }
}

/// A screen with a run behind it.
struct Screen<R = Fake> {
    app: App,
    run: R,
    columns: u16,
    rows: u16,
}

impl Screen {
    fn new(columns: u16, rows: u16, steps: u32) -> Self {
        Self::with(AppOptions::default(), columns, rows, steps)
    }

    fn with(options: AppOptions, columns: u16, rows: u16, steps: u32) -> Self {
        Self::on(Fake::new(steps), options, columns, rows)
    }
}

impl Screen {
    /// Answers what was asked, the newest request first.
    fn answer(&mut self, mut asked: Vec<Effect>) {
        while let Some(effect) = asked.pop() {
            let Effect::Request(Request { generation, job }) = effect else {
                continue;
            };
            let mut replies = Vec::new();
            self.run.answer(&job, &mut |answer| {
                replies.push(Reply { generation, answer });
            });
            for reply in replies {
                asked.extend(self.app.update(Event::Reply(reply)));
            }
        }
    }
}

impl Screen<InlineWorker> {
    /// The screen on a tape.
    fn open(tape: &Path, columns: u16, rows: u16) -> Self {
        let source = Source::Path(tape.to_owned());
        let debugger = Debugger::open(source, &OpenOptions::default()).unwrap();
        let run = InlineWorker::new(Arc::new(RwLock::new(debugger)));
        Self::on(run, AppOptions::default(), columns, rows)
    }
}

impl<R: Run> Screen<R> {
    fn on(run: R, options: AppOptions, columns: u16, rows: u16) -> Self {
        let mut screen = Self {
            app: App::new(options),
            run,
            columns,
            rows,
        };
        screen.resize(columns, rows);
        screen
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        (self.columns, self.rows) = (columns, rows);
        self.send(Event::Resize { columns, rows });
    }

    fn send(&mut self, event: Event) -> Vec<Effect> {
        self.run.settle(&mut self.app, event)
    }

    /// Types keys, written with spaces between them.
    fn keys(&mut self, keys: &str) -> Vec<Effect> {
        let keys = keys.split(' ').filter(|key| !key.is_empty());
        keys.map(|key| key.parse::<Key>().unwrap())
            .flat_map(|key| self.send(Event::Key(key.press())))
            .collect()
    }

    fn buffer(&self) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(self.columns, self.rows)).unwrap();
        terminal.draw(|frame| view::draw(&self.app, frame)).unwrap();
        terminal.backend().buffer().clone()
    }

    /// The frame as text, without spaces at the ends of lines.
    fn text(&self) -> String {
        let lines: Vec<String> = self
            .frame()
            .iter()
            .map(|line| line.trim_end().into())
            .collect();
        lines.join("\n")
    }

    /// The number behind `step` in the header.
    fn step(&self) -> u32 {
        let frame = self.frame();
        let (_, rest) = frame[0].split_once("step ").unwrap();
        rest.split('/').next().unwrap().parse().unwrap()
    }

    #[track_caller]
    fn shows(&self, words: &str) {
        let text = self.text();
        assert!(text.contains(words), "`{words}` is not in\n{text}");
    }

    #[track_caller]
    fn hides(&self, words: &str) {
        let text = self.text();
        assert!(!text.contains(words), "`{words}` is in\n{text}");
    }

    fn frame(&self) -> Vec<String> {
        let buffer = self.buffer();
        let rows = buffer.content().chunks(usize::from(self.columns.max(1)));
        rows.map(|row| {
            let mut line = String::new();
            let mut skip = 0;
            for cell in row {
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                line.push_str(cell.symbol());
                skip = unicode_width::UnicodeWidthStr::width(cell.symbol()).saturating_sub(1);
            }
            line
        })
        .collect()
    }
}

/// The sizes the screen is looked at.
const SIZES: [(u16, u16); 4] = [(160, 45), (100, 30), (60, 20), (30, 8)];

/// The path of a demo tape.
fn demo(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("demo-tapes/{name}.jsonl"))
}
