//! Every view of the screen at every size, with and without colour: what holds for all of them,
//! and how a handful look.
//!
//! `UPDATE=1 cargo test --test gallery` writes the few that stand in `tests/gallery` anew.
//! What a view shows is for other tests; here it is how it is set.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../demo-tapes/gallery/views.rs"]
mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use jukebox::tui::app::App;
use jukebox::tui::frame::FrameSize;
use jukebox::tui::theme::ColorChoice;
use jukebox::tui::view;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Color;
use unicode_width::UnicodeWidthStr as _;
use views::{Stages, VIEWS, View};

/// The views where there is room for everything that could be cut elsewhere.
static ROOMY: LazyLock<BTreeMap<&str, String>> = LazyLock::new(|| {
    let stages = Stages::build().unwrap();
    let size = "300x60".parse().unwrap();
    let text = |view| Frame::drawn(draw(&app(&stages, view, size), size), view, size).text;
    VIEWS.iter().map(|view| (view.name, text(view))).collect()
});

/// A view, drawn.
struct Frame<'a> {
    view: &'a View,
    size: FrameSize,
    cells: Buffer,
    /// A symbol for each column; nothing where a wide one before it reaches.
    rows: Vec<Vec<String>>,
    lines: Vec<String>,
    text: String,
}

impl<'a> Frame<'a> {
    /// The view as the screen is drawn, which changes nothing.
    fn of(app: &App, view: &'a View, size: FrameSize) -> Self {
        let cells = draw(app, size);
        assert!(cells == draw(app, size), "{}: drawn twice", view.name);
        Self::drawn(cells, view, size)
    }

    fn drawn(cells: Buffer, view: &'a View, size: FrameSize) -> Self {
        let mut rows = Vec::new();
        for row in cells.content().chunks(usize::from(size.columns)) {
            let mut symbols: Vec<String> = Vec::new();
            for cell in row {
                let reach = symbols
                    .iter()
                    .rev()
                    .take(1)
                    .all(|symbol| symbol.width() < 2);
                symbols.push(if reach { cell.symbol() } else { "" }.into());
            }
            rows.push(symbols);
        }
        let lines: Vec<String> = rows.iter().map(|row| row.concat()).collect();
        Self {
            view,
            size,
            cells,
            rows,
            text: lines.join("\n"),
            lines,
        }
    }

    fn line(&self, row: usize) -> &str {
        &self.lines[row]
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn at(&self, column: usize, row: usize) -> &str {
        &self.rows[row][column]
    }

    /// Whether something lies over the panes.
    fn is_covered(&self) -> bool {
        self.text().contains('╔')
    }

    #[track_caller]
    fn hold(&self, holds: bool, rule: &str) {
        let FrameSize { columns, rows } = self.size;
        let name = self.view.name;
        assert!(holds, "{name} at {columns}x{rows}: {rule}\n{}", self.text());
    }

    /// Every row is as wide as the screen, and nothing in it could move a cursor.
    fn every_row_is_whole(&self) {
        for row in 0..self.rows.len() {
            let columns = self.line(row).width();
            self.hold(
                columns == usize::from(self.size.columns),
                "a row is not as wide as the screen",
            );
        }
        let has_control = self
            .text()
            .chars()
            .any(|char| char.is_control() && char != '\n');
        self.hold(!has_control, "there is a control character");
    }

    /// Each frame comes back to its corner, and each has a title.
    fn every_frame_closes(&self) {
        let sorts = [
            ("╔", "╗", "╚", "╝"),
            ("┌", "┐", "└", "┘"),
            ("┏", "┓", "┗", "┛"),
        ];
        for (top_left, top_right, bottom_left, bottom_right) in sorts {
            if top_left != "╔" && self.is_covered() {
                continue;
            }
            for top in 0..self.rows.len() {
                for left in 0..self.rows[top].len() {
                    if self.at(left, top) != top_left {
                        continue;
                    }
                    let right = (left..self.rows[top].len())
                        .find(|column| self.at(*column, top) == top_right);
                    self.hold(right.is_some(), "a frame has no right corner");
                    let right = right.unwrap();
                    let title: String = self.rows[top][left..right].concat();
                    self.hold(
                        title.chars().any(char::is_alphabetic),
                        "a frame has no title",
                    );
                    let is_side = |row: &usize| {
                        ["│", "┃", "║", "█"].contains(&self.at(left, *row))
                            && ["│", "┃", "║", "█"].contains(&self.at(right, *row))
                    };
                    let bottom = (top + 1..self.rows.len()).find(|row| !is_side(row));
                    self.hold(bottom.is_some(), "a frame has no end");
                    let bottom = bottom.unwrap();
                    self.hold(
                        self.at(left, bottom) == bottom_left
                            && self.at(right, bottom) == bottom_right,
                        "a frame does not close",
                    );
                }
            }
        }
    }

    /// One pane has the focus, and a sign says so.
    fn the_focus_is_seen(&self) {
        if self.is_covered() || self.size.rows < 8 {
            return;
        }
        let is_tabbed = self.size.columns < 80;
        let titles: Vec<String> = if is_tabbed && !self.text().contains("▸Open a run") {
            vec![self.line(2).to_owned()]
        } else {
            let has_corner = |line: &&String| line.contains(['┏', '┌']);
            self.lines.iter().filter(has_corner).cloned().collect()
        };
        // A number, or the list of runs.
        let marks = ["▸1 ", "▸2 ", "▸3 ", "▸Open "];
        let titles = titles.concat();
        let marked: usize = marks.iter().map(|mark| titles.matches(mark).count()).sum();
        let has_panes = !titles.is_empty();
        self.hold(!has_panes || marked == 1, "not one title is marked");
        self.hold(
            self.text().matches('┏').count() <= 1,
            "two frames are thick",
        );
    }

    /// Where the steps are listed, so is the one that the first row names.
    fn the_playhead_is_in_view(&self) {
        let text = self.text();
        let title = text.lines().find(|line| line.contains("1 Timeline"));
        let is_listed = title.is_some_and(|line| self.size.columns >= 80 || line.contains("▸1 "));
        let step = self
            .line(0)
            .split("step ")
            .nth(1)
            .map(|rest| rest.split('/').next().unwrap().to_owned());
        let (true, Some(step), false) = (is_listed, step, self.is_covered()) else {
            return;
        };
        let is_here = |line: &str| {
            let rest = line
                .split('▸')
                .skip(1)
                .any(|rest| rest.trim_start().split(' ').next() == Some(&step));
            rest || line.contains(&format!("@{step}"))
        };
        let is_empty = self.line(0).contains("0/0");
        self.hold(
            is_empty || text.lines().skip(3).any(is_here),
            "the playhead is out of view",
        );
    }

    /// A word of the first row, the last one or a title stands there whole, or says that it
    /// goes on.
    fn nothing_is_cut_unsaid(&self, roomy: &str) {
        let last = self.rows.len() - 1;
        for row in [0, last] {
            if self.line(row).contains(['╔', '╚']) {
                continue;
            }
            for word in self.line(row).split_whitespace() {
                // Of paths, each test has its own.
                let is_whole = word.contains(['…', '/']) || roomy.contains(word);
                self.hold(is_whole, &format!("`{word}` is a part of a word"));
            }
        }
    }
}

/// The screen in a view.
fn app(stages: &Stages, view: &View, size: FrameSize) -> App {
    stages.app(view, size, ColorChoice::default()).unwrap()
}

fn draw(app: &App, size: FrameSize) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.columns, size.rows)).unwrap();
    terminal.draw(|frame| view::draw(app, frame)).unwrap();
    terminal.backend().buffer().clone()
}

/// Holds every view to the rules at a size.
fn check(size: &str) {
    let size: FrameSize = size.parse().unwrap();
    let stages = Stages::build().unwrap();
    for view in VIEWS {
        let mut app = app(&stages, view, size);
        let frame = Frame::of(&app, view, size);
        frame.every_row_is_whole();
        frame.every_frame_closes();
        frame.the_focus_is_seen();
        frame.the_playhead_is_in_view();
        frame.nothing_is_cut_unsaid(&ROOMY[view.name]);
        app.set_colors(ColorChoice::Never);
        let plain = Frame::drawn(draw(&app, size), view, size);
        plain.hold(
            plain.text() == frame.text(),
            "without colours, something else is said",
        );
        let is_plain =
            |cell: &ratatui::buffer::Cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset);
        plain.hold(
            plain.cells.content().iter().all(is_plain),
            "there are colours",
        );
    }
}

#[test]
fn on_a_wide_screen() {
    check("160x45");
}

#[test]
fn on_half_a_screen() {
    check("100x30");
}

#[test]
fn on_a_narrow_screen() {
    check("60x20");
}

#[test]
fn on_the_smallest_screen() {
    check("30x8");
}

#[test]
fn every_view_has_a_name_of_its_own() {
    let names: BTreeSet<&str> = VIEWS.iter().map(|view| view.name).collect();
    assert_eq!(names.len(), VIEWS.len());
}

/// Views that stand for the others, at the sizes at which they are hardest to set.
const GOLDEN: [(&str, &str); 9] = [
    ("step", "100x30"),
    ("step", "30x8"),
    ("diff-since", "160x45"),
    ("conversation-agents", "100x30"),
    ("against", "100x30"),
    ("file-uncertain", "60x20"),
    ("palette-words", "60x20"),
    ("notices", "60x20"),
    ("empty", "60x20"),
];

#[test]
fn a_handful_look_as_they_did() {
    let stages = Stages::build().unwrap();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gallery");
    let mut expected = BTreeSet::new();
    for (name, size) in GOLDEN {
        let view = VIEWS.iter().find(|view| view.name == name).unwrap();
        let cells = size.parse().unwrap();
        let frame = Frame::of(&app(&stages, view, cells), view, cells);
        let lines = (0..frame.rows.len()).map(|row| frame.line(row).trim_end().to_owned() + "\n");
        let text: String = lines.collect();
        let file = format!("{name}.{size}.txt");
        let path = directory.join(&file);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let golden = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            golden == text,
            "{file} looked so:\n{golden}\nand looks so now:\n{text}\nUPDATE=1 takes it over"
        );
        expected.insert(file);
    }
    for entry in fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            expected.contains(&name),
            "nothing draws tests/gallery/{name}"
        );
    }
}
