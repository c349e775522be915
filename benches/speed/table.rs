//! The table that a run of the benchmark ends with.

use std::fmt::Write as _;

/// One line of the table: what was to be reached, and what was.
pub(crate) struct Row {
    /// What is measured.
    pub(crate) what: String,
    /// The goal in words.
    pub(crate) goal: String,
    /// What was measured, in words.
    pub(crate) measured: String,
    /// How it lies to the goal's baseline, in words; empty where the goal has none.
    pub(crate) ratio: String,
    /// Whether the goal is met; `None` where there is no goal.
    pub(crate) is_met: Option<bool>,
}

impl Row {
    /// A time that may be so many times another one.
    pub(crate) fn ratio(what: &str, ours: f64, most: f64, (theirs, beside): (f64, &str)) -> Self {
        Self {
            goal: format!("≤ {most} × {beside}"),
            is_met: Some(ours / theirs <= most),
            ..Self::beside(what, ours, (theirs, beside))
        }
    }

    /// A time beside another one, with no goal.
    pub(crate) fn beside(what: &str, ours: f64, (theirs, beside): (f64, &str)) -> Self {
        let ratio = ours / theirs;
        Self {
            what: what.to_owned(),
            goal: format!("none; beside {beside}"),
            measured: milliseconds(ours),
            ratio: format!("{ratio:.2} × {}", milliseconds(theirs)),
            is_met: None,
        }
    }

    /// A time, in seconds, that may be so many milliseconds.
    pub(crate) fn time(what: &str, ours: f64, most: f64) -> Self {
        Self {
            what: what.to_owned(),
            goal: format!("≤ {most} ms"),
            measured: milliseconds(ours),
            ratio: String::new(),
            is_met: Some(ours * 1e3 <= most),
        }
    }

    /// Bytes that may be so many.
    pub(crate) fn memory(what: &str, ours: u64, most: u64) -> Self {
        Self {
            what: what.to_owned(),
            goal: format!("≤ {}", megabytes(most)),
            measured: megabytes(ours),
            ratio: format!("{:.2}", ours as f64 / most as f64),
            is_met: Some(ours <= most),
        }
    }

    /// So many in a second, of at least so many.
    pub(crate) fn rate(what: &str, ours: f64, least: f64) -> Self {
        Self {
            what: what.to_owned(),
            goal: format!("≥ {:.0}k/s", least / 1e3),
            measured: format!("{:.0}k/s", ours / 1e3),
            ratio: String::new(),
            is_met: Some(ours >= least),
        }
    }

    fn cells(&self) -> [&str; 5] {
        let met = self.is_met.map_or("", |is| if is { "yes" } else { "no" });
        [&self.what, &self.goal, &self.measured, &self.ratio, met]
    }
}

/// Bytes, in words.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

const HEADINGS: [&str; 5] = ["what", "goal", "measured", "ratio", "met"];

/// The rows as the README shows them, which is a fine table in a terminal, too.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let cells: Vec<[&str; 5]> = rows.iter().map(Row::cells).collect();
    let mut widths = HEADINGS.map(|heading| heading.chars().count());
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut table = String::new();
    let mut line = |cells: [&str; 5]| {
        for (cell, width) in cells.iter().zip(widths) {
            // Writing to a string cannot fail.
            let _written = write!(table, "| {cell:<width$} ");
        }
        table.push_str("|\n");
    };
    line(HEADINGS);
    let rules = widths.map(|width| "-".repeat(width));
    line(rules.each_ref().map(String::as_str));
    cells.into_iter().for_each(line);
    table
}

/// Seconds, in words.
pub(crate) fn milliseconds(seconds: f64) -> String {
    match seconds * 1e3 {
        few if few < 0.1 => format!("{:.0} µs", few * 1e3),
        few if few < 10.0 => format!("{few:.1} ms"),
        many => format!("{many:.0} ms"),
    }
}
