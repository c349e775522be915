//! What leaves the screen: text for the clipboard and for the editor.

use crate::debugger::FileView;
use crate::model::TapePath;
use crate::text::{Row, RowKind, SafeText};
use crate::tui::app::{App, Tone};
use crate::tui::difference::{DiffRow, OpenDiff};
use crate::tui::document::content_bytes;
use crate::tui::effect::Effect;
use crate::tui::job::{Answered, Job};
use crate::tui::layout::Pane;
use crate::tui::panes::{StateView, View};
use crate::tui::reading::ReadingRow;

/// More lines are not copied: no clipboard takes them.
const MAX_LINES: usize = 10_000;

impl App {
    /// Opens in the editor what the focused pane shows: the text of a step or an event, else
    /// the chosen file.
    pub(super) fn open_in_editor(&mut self, effects: &mut Vec<Effect>) {
        let view = self.diff.effective_view();
        if self.focus == Pane::Diff && view != View::Files {
            let mut text = String::new();
            for line in self.read_lines() {
                text.push_str(line.as_str());
                text.push('\n');
            }
            effects.push(Effect::OpenEditor {
                bytes: text.into_bytes(),
                name: match view {
                    View::Event => "event.json".into(),
                    View::Request => "request.txt".into(),
                    View::Files | View::Both | View::Step => "step.txt".into(),
                },
                line: 1,
            });
            return;
        }
        let Some((spot, path)) = self.travel.spot().zip(self.chosen_file().cloned()) else {
            self.say(Tone::Plain, "no file is chosen; 2 and Enter choose one");
            return;
        };
        let at = spot.cursor;
        self.fetch = Some(self.desk.ask(Job::Fetch { at, path }));
    }

    pub(super) fn take_fetched(
        &mut self,
        answer: Answered<Box<FileView>>,
        effects: &mut Vec<Effect>,
    ) {
        match answer {
            Err(why) => self.say(Tone::Error, &why.to_string()),
            Ok(view) => {
                if let crate::debugger::FileContent::Nothing(why) = &view.content {
                    self.say(Tone::Error, &format!("nothing to edit: {why}"));
                    return;
                }
                effects.push(Effect::OpenEditor {
                    bytes: content_bytes(&view.content),
                    name: file_name(&view.path),
                    line: self.line_in_view(&view.path),
                });
            }
        }
    }

    /// The line of a file that is looked at, from 1.
    pub(super) fn line_in_view(&self, path: &TapePath) -> usize {
        if let Some(file) = self.state.file.as_ref().filter(|file| file.path == *path) {
            return file.first_row(self.height_of(Pane::State)) + 1;
        }
        let form = self.diff_form();
        let first = self.diff.first_row(self.height_of(Pane::Diff), form);
        let is_shown = |open: &&OpenDiff| open.view.change.path == *path;
        let Some(open) = self.diff.open().filter(is_shown) else {
            return 1;
        };
        let mut lines = open.rows(form, first).flat_map(DiffRow::lines);
        let line = lines.find_map(|line| match line.row.kind {
            RowKind::Context => None,
            RowKind::Added | RowKind::Removed => line.row.new,
        });
        line.unwrap_or(1)
    }

    /// Copies what the focused pane shows.
    pub(super) fn copy(&mut self, effects: &mut Vec<Effect>) {
        let (what, lines) = match self.focus {
            Pane::Timeline => ("the step's title", self.title_lines()),
            Pane::State if self.state.file.is_some() => ("the file", self.file_lines()),
            Pane::State => match self.state.view {
                StateView::Files => ("the path", self.path_lines()),
                StateView::Conversation => ("the turn", self.turn_lines()),
                StateView::Context => ("the context", texts(self.state.context_rows())),
                StateView::Environment => {
                    let rows = self.state.environment.get();
                    ("the environment", texts(rows.into_iter().flatten()))
                }
                StateView::Transaction => {
                    let rows = self.state.transaction.get();
                    ("the transaction", texts(rows.into_iter().flatten()))
                }
                StateView::Effects => {
                    let rows = self.state.effects.get();
                    ("the effects", texts(rows.into_iter().flatten()))
                }
                StateView::Numbers => {
                    let statistics = self.state.statistics.get();
                    let words = statistics.map_or(Vec::new(), |statistics| statistics.in_words());
                    (
                        "the numbers",
                        words.into_iter().map(|(_, words)| words).collect(),
                    )
                }
            },
            Pane::Diff => match self.diff.effective_view() {
                View::Files if self.diff.paths().is_some() => ("the difference", self.read_lines()),
                View::Files | View::Both => ("the difference", self.difference_lines()),
                View::Step => ("the step", self.read_lines()),
                View::Request => ("the request", self.read_lines()),
                View::Event => ("the event", self.read_lines()),
            },
        };
        if lines.is_empty() {
            self.say(Tone::Plain, "nothing to copy here");
            return;
        }
        let words = match lines.len() {
            1 => format!("copied {what}"),
            MAX_LINES => format!("copied {what}: the first {MAX_LINES} lines"),
            count => format!("copied {what}: {count} lines"),
        };
        self.say(Tone::Plain, &words);
        effects.push(Effect::Copy(lines));
    }

    fn title_lines(&self) -> Vec<SafeText> {
        let row = self.current_row();
        row.map(|row| row.title.clone()).into_iter().collect()
    }

    fn turn_lines(&self) -> Vec<SafeText> {
        let here = self.travel.spot().map_or(0, |spot| spot.step.0);
        let conversation = &self.state.conversation;
        let turn = conversation.turn(conversation.chosen(here));
        turn.map_or(Vec::new(), |turn| {
            turn.lines.iter().map(|line| line.text.clone()).collect()
        })
    }

    fn path_lines(&self) -> Vec<SafeText> {
        let row = self.state.selected_row();
        row.map(|row| SafeText::from_bytes(row.path.as_bytes()))
            .into_iter()
            .collect()
    }

    fn file_lines(&self) -> Vec<SafeText> {
        let file = self
            .state
            .file
            .as_ref()
            .and_then(crate::tui::panes::FilePane::file);
        let Some(file) = file else {
            return Vec::new();
        };
        (0..file.document.len().min(MAX_LINES))
            .filter_map(|index| file.document.line(index).map(SafeText::from_bytes))
            .collect()
    }

    fn difference_lines(&self) -> Vec<SafeText> {
        let Some(open) = self.diff.open() else {
            return Vec::new();
        };
        let of_row = |row: Row<'_>| {
            let mut text = SafeText::literal(match row.kind {
                RowKind::Context => " ",
                RowKind::Removed => "-",
                RowKind::Added => "+",
            });
            text.push(&SafeText::from_bytes(row.content()));
            text
        };
        let hunks = open.view.diff.iter().flat_map(|diff| diff.hunks.iter());
        let lines = hunks.flat_map(|hunk| {
            let head = std::iter::once_with(|| SafeText::line(&hunk.header()));
            head.chain(hunk.rows().map(of_row))
        });
        lines.take(MAX_LINES).collect()
    }

    /// The lines of the step or the event that is shown.
    fn read_lines(&self) -> Vec<SafeText> {
        let rows = match self.diff.effective_view() {
            View::Files => self.diff.step().map(|step| &step.rows[..]),
            _ => None,
        };
        let rows = self.diff.reading().or(rows);
        texts(rows.into_iter().flatten())
    }
}

/// The text of rows to be read.
fn texts<'a>(rows: impl Iterator<Item = &'a ReadingRow>) -> Vec<SafeText> {
    let line = |row: &ReadingRow| match row {
        ReadingRow::Heading { name, .. } => SafeText::line(&format!("# {name}")),
        ReadingRow::Line(line) | ReadingRow::Lead(_, line) | ReadingRow::Remark(line) => {
            line.clone()
        }
        ReadingRow::Change(line) => {
            let mut text = SafeText::literal(line.sign());
            text.push(&line.text);
            text
        }
        ReadingRow::Blank => SafeText::default(),
    };
    rows.take(MAX_LINES).map(line).collect()
}

/// A name for a file on disk that no shell and no file system minds.
fn file_name(path: &TapePath) -> String {
    let name = String::from_utf8_lossy(path.name());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let plain: String = name
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    match plain.trim_start_matches(['.', '-']) {
        "" => "file".into(),
        plain => plain.chars().take(100).collect(),
    }
}
