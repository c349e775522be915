//! The screen without a terminal: keys in, a picture out. For tests, documents and reports.
//!
//! The same state and the same drawing as on a terminal, with a worker that answers on the
//! spot, so that the same tape and the same keys give the same picture. Nothing is written
//! here: the picture is given back as text.

mod script;
mod svg;

use std::fmt;
use std::str::FromStr;

use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr as _;

use super::app::{App, AppOptions};
use super::effect::Effect;
use super::event::Event;
use super::job::{
    Answer, ExportAnswer, ExportJob, ForkAnswer, ForkJob, ForkTreeAnswer, ForkTreeJob, ForkUnmade,
    Job, TransactionAnswer, TransactionJob,
};
use super::theme::Role;
use super::view;
use super::worker::{InlineWorker, Runs};
use crate::text::SafeText;

pub use script::{KeyScript, KeyScriptError};

/// What to draw.
#[derive(Clone, Debug, Default)]
pub struct FrameOptions {
    /// What the screen shows first.
    pub app: AppOptions,
    /// How large it is.
    pub size: FrameSize,
    /// What is typed before the picture is taken.
    pub keys: KeyScript,
}

/// A size in cells, written `120x40`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSize {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

impl Default for FrameSize {
    fn default() -> Self {
        Self {
            columns: 120,
            rows: 40,
        }
    }
}

/// A text is no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a size is COLUMNSxROWS, such as 120x40, with at most 1000 of each")]
pub struct FrameSizeError;

impl FromStr for FrameSize {
    type Err = FrameSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (columns, rows) = text.split_once(['x', 'X', '×']).ok_or(FrameSizeError)?;
        let side = |digits: &str| match digits.trim().parse() {
            Ok(side) if side <= 1000 => Ok(side),
            _ => Err(FrameSizeError),
        };
        Ok(Self {
            columns: side(columns)?,
            rows: side(rows)?,
        })
    }
}

/// Why there is no picture: what the screen said when it gave up, made safe.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct FrameError(pub SafeText);

/// What the screen shows after these keys. A script that quits ends there.
pub fn frame(runs: impl Into<Runs>, options: FrameOptions) -> Result<Picture, FrameError> {
    let mut worker = InlineWorker::new(runs);
    let mut app = App::new(options.app);
    let FrameSize { columns, rows } = options.size;
    let resize = Event::Resize { columns, rows };
    let keys = options.keys.keys().iter().map(|key| Event::Key(*key));
    'keys: for event in std::iter::once(resize).chain(keys) {
        for effect in worker.settle_but(&mut app, event, &mut only_look) {
            match effect {
                Effect::Quit => break 'keys,
                Effect::Fail(reason) => return Err(FrameError(reason)),
                // There is no terminal to lend, to copy to or to stop in.
                _ => {}
            }
        }
    }
    Ok(Picture::of(&app, options.size))
}

/// Whatever is typed for a picture, it ends no transaction, makes no fork, changes none and writes
/// no test case.
fn only_look(job: &Job, reply: &mut dyn FnMut(Answer)) -> bool {
    if let Job::Fork(ForkJob::Make { .. }) = job {
        let unmade = ForkUnmade {
            what: "No fork was made, and the run is untouched.",
            why: SafeText::literal("a picture makes no fork; nothing was run"),
            next: "",
        };
        reply(Answer::Fork(ForkAnswer::Made(Err(unmade))));
        return true;
    }
    let refused = || {
        Err(SafeText::literal(
            "a picture changes no fork; nothing was done",
        ))
    };
    let changed = match job {
        Job::ForkTree(ForkTreeJob::Rename { .. }) => Some(ForkTreeAnswer::Renamed(refused())),
        Job::ForkTree(ForkTreeJob::Delete { .. }) => Some(ForkTreeAnswer::Deleted(refused())),
        _ => None,
    };
    if let Some(changed) = changed {
        reply(Answer::ForkTree(changed));
        return true;
    }
    if let Job::Export(ExportJob::Write { .. }) = job {
        let words = SafeText::literal("a picture writes no test case");
        reply(Answer::Export(ExportAnswer::Written(Err(words))));
        return true;
    }
    let is_end = matches!(job, Job::Transaction(TransactionJob::End(_)));
    if is_end {
        let words = "a picture ends no transaction; nothing was done";
        let refused = TransactionAnswer::Ended(Err(SafeText::literal(words)));
        reply(Answer::Transaction(refused));
    }
    is_end
}

/// A frame, drawn.
#[derive(Clone, Debug)]
pub struct Picture {
    cells: Buffer,
    /// How the screen looks where nothing stands.
    ground: Style,
}

impl Picture {
    /// What the screen shows in this state.
    pub fn of(app: &App, size: FrameSize) -> Self {
        let Ok(mut canvas) = ratatui::Terminal::new(TestBackend::new(size.columns, size.rows));
        let Ok(_drawn) = canvas.draw(|frame| view::draw(app, frame));
        let backend = canvas.backend();
        let mut cells = backend.buffer().clone();
        if backend.cursor_visible()
            && let Some(cell) = cells.cell_mut(backend.cursor_position())
        {
            cell.modifier.toggle(Modifier::REVERSED);
        }
        let ground = app.theme.style(Role::Text);
        Self { cells, ground }
    }

    /// The picture as an image: a self-contained SVG document.
    pub fn to_svg(&self) -> String {
        svg::document(&self.cells, self.ground)
    }
}

/// The characters alone, a line for each row, without the blanks at its end.
impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in rows(&self.cells) {
            let line: String = row.iter().map(|cell| cell.symbol).collect();
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// What stands at one place of the picture, one or more columns wide.
#[derive(Clone, Copy, Debug)]
struct Glyph<'a> {
    column: u16,
    columns: u16,
    symbol: &'a str,
    cell: &'a ratatui::buffer::Cell,
}

/// The rows, glyph by glyph: the columns that a wide one covers have none of their own.
fn rows(cells: &Buffer) -> impl Iterator<Item = Vec<Glyph<'_>>> {
    let area = cells.area;
    (0..area.height).map(move |row| {
        let mut glyphs = Vec::with_capacity(usize::from(area.width));
        let mut column = 0;
        while let Some(cell) = cells.cell(Position::new(column, row)) {
            let columns = u16::try_from(cell.symbol().width()).unwrap_or(1).max(1);
            glyphs.push(Glyph {
                column,
                columns,
                symbol: cell.symbol(),
                cell,
            });
            column += columns;
        }
        glyphs
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Color;

    fn picture(lines: &[(&str, Style)], columns: u16) -> Picture {
        let rows = u16::try_from(lines.len()).unwrap();
        let mut cells = Buffer::empty(Rect::new(0, 0, columns, rows));
        for (row, (text, style)) in (0..).zip(lines) {
            cells.set_string(0, row, text, *style);
        }
        Picture {
            cells,
            ground: Style::reset(),
        }
    }

    #[test]
    fn text_has_a_line_for_each_row_and_no_blanks_at_its_end() {
        let picture = picture(&[("a 漢b  ", Style::new()), ("", Style::new())], 8);
        assert_eq!(picture.to_string(), "a 漢b\n\n");
    }

    #[test]
    fn an_image_escapes_what_would_be_markup() {
        let svg = picture(&[("<script>&\"", Style::new().fg(Color::Red))], 12).to_svg();
        assert!(svg.contains("&lt;script&gt;&amp;&quot;"), "{svg}");
        assert!(!svg.contains("<script"));
    }

    #[test]
    fn sizes() {
        let size = |columns, rows| Ok(FrameSize { columns, rows });
        assert_eq!("120x40".parse(), size(120, 40));
        assert_eq!("1X1".parse(), size(1, 1));
        for text in [
            "", "120", "120x", "x40", "-1x4", "70000x1", "1001x4", "1x2x3",
        ] {
            assert_eq!(text.parse::<FrameSize>(), Err(FrameSizeError), "{text}");
        }
    }
}
