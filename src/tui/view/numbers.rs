//! The run in numbers: what is counted, and a bar for each tool and each file.
//!
//! Only the rows in view are made, however many files there are.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pen::Pen;
use crate::debugger::Statistics;
use crate::text::{Align, SafeText, human, width};
use crate::tui::app::App;
use crate::tui::theme::Role;

/// Columns of a name at most.
const NAME: usize = 22;

/// Columns of a count.
const COUNT: usize = 5;

/// Columns of what a count is called, before it.
const LABEL: usize = 8;

/// A row of the view.
enum Row {
    Blank,
    Heading(&'static str),
    /// A line of the run as a whole.
    Words(SafeText),
    Bar(Bar),
}

/// How often something was there, beside what was there most often.
struct Bar {
    name: SafeText,
    /// Columns of the names of the list.
    columns: usize,
    count: u32,
    most: u32,
    /// How many of these failed, where they can.
    failed: Option<u32>,
}

/// Draws the numbers, once they are counted.
pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let Some(statistics) = app.state.statistics.get() else {
        return;
    };
    let columns = usize::from(area.width);
    let first = app.state.first_row(usize::from(area.height), columns);
    for (row, place) in rows(statistics, columns).skip(first).zip(area.rows()) {
        let mut pen = Pen::new(buffer, place, app.theme);
        if !matches!(row, Row::Heading(_)) {
            pen.gap(1);
        }
        match row {
            Row::Blank => {}
            Row::Heading(name) => {
                pen.words(name, Role::Heading);
                pen.gap(1);
                pen.fill("─", Role::Quiet);
            }
            Row::Words(words) => pen.text(&words, Role::Text),
            Row::Bar(bar) => draw_bar(&bar, pen),
        }
    }
}

fn draw_bar(bar: &Bar, mut pen: Pen<'_>) {
    let columns = bar.columns.min(pen.left().saturating_sub(2 * COUNT + 1));
    let name = width::fit_middle(&bar.name, columns);
    pen.column(&name, columns, Align::Left, Role::Text);
    pen.number(Some(bar.count.into()), COUNT);
    if let Some(failed) = bar.failed {
        let sign = match failed {
            0 => String::new(),
            failed => format!("✗ {failed}"),
        };
        pen.gap(1);
        pen.column(&SafeText::line(&sign), COUNT, Align::Left, Role::Failed);
    }
    pen.gap(1);
    let length = human::bar(bar.count.into(), bar.most.into(), pen.left());
    pen.text(&SafeText::line(&length), Role::Accent);
}

/// How many rows there are.
pub(in crate::tui) fn count(statistics: &Statistics, columns: usize) -> usize {
    let list = |rows: usize| if rows == 0 { 0 } else { rows + 2 };
    words(statistics, columns).len() + list(statistics.tools.len()) + list(statistics.files.len())
}

fn words(statistics: &Statistics, columns: usize) -> Vec<Row> {
    let mut rows = vec![Row::Heading("run")];
    for (name, words) in statistics.in_words() {
        let lines = width::wrap(&words, columns.saturating_sub(LABEL + 1));
        for (line, name) in lines
            .iter()
            .zip(std::iter::once(name).chain(std::iter::repeat("")))
        {
            let name = SafeText::literal(name);
            let mut row = width::pad(&name, LABEL, Align::Left);
            row.push(line);
            rows.push(Row::Words(row));
        }
    }
    rows
}

fn rows(statistics: &Statistics, columns: usize) -> impl Iterator<Item = Row> + '_ {
    let (tools, files) = (&statistics.tools, &statistics.files);
    let most_calls = tools.first().map(|tool| tool.calls);
    let most_steps = files.first().map(|file| file.steps);
    let longest = tools.iter().map(|tool| width::width(&tool.name)).max();
    let longest = longest.unwrap_or(0);
    let tool_rows = tools.iter().map(move |tool| Bar {
        name: tool.name.clone(),
        columns: longest.clamp(4, NAME),
        count: tool.calls,
        most: most_calls.unwrap_or(0),
        failed: Some(tool.failed),
    });
    let file_rows = files.iter().map(move |file| Bar {
        name: SafeText::from_bytes(file.path.as_bytes()),
        columns: NAME,
        count: file.steps,
        most: most_steps.unwrap_or(0),
        failed: None,
    });
    // A list without rows has no heading either.
    let heading = |name, most: Option<u32>| {
        let rows = most.map(|_| [Row::Blank, Row::Heading(name)]);
        rows.into_iter().flatten()
    };
    words(statistics, columns)
        .into_iter()
        .chain(heading("tools, by calls", most_calls))
        .chain(tool_rows.map(Row::Bar))
        .chain(heading("files, by steps that changed them", most_steps))
        .chain(file_rows.map(Row::Bar))
}
