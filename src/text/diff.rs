//! What differs between two contents of a file, as plain data.
//!
//! [`FileDiff::between`] never gives a wrong answer: its hunks turn the old bytes into
//! the new ones exactly. It answers within about its budget of time by being coarser if it
//! must, and says so. Binary files are told apart first and never compared line by line.
//!
//! Nothing here reads a file, knows a path (but to print one in [`unified()`]), or colours
//! a row.

mod lines;
mod script;
mod unified;

use std::ops::Range;
use std::time::{Duration, Instant};

use super::sanitize::SafeText;
use lines::{Lines, Window};
use script::{Script, Stretch};

pub use lines::LineEnds;
pub(super) use lines::shared_ends;
pub(super) use script::align;
pub use script::{Common, common, word_emphasis};
pub use unified::{GitMode, Named, unified};

/// How long a difference may be looked for, unless said otherwise. Of the largest files, what is
/// around the search takes some fifteen milliseconds more.
pub const BUDGET: Duration = Duration::from_millis(40);

/// The difference between two contents of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// The file before; `None` where there was none.
    pub old: Option<Side>,
    /// The file after; `None` where there is none.
    pub new: Option<Side>,
    /// How the two differ.
    pub kind: DiffKind,
    /// The places where they differ, in order. None for binary files.
    pub hunks: Vec<Hunk>,
    /// How many lines were added.
    pub added: usize,
    /// How many lines were removed.
    pub removed: usize,
    /// Time ran out: true, but perhaps longer than it had to be.
    pub is_coarse: bool,
}

/// How two contents differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffKind {
    /// Not at all; there may be no file on either side.
    Identical,
    /// In their lines, or because one is an empty file and the other is none.
    Text,
    /// Only in how their lines end.
    LineEnds,
    /// In bytes; at least one of them is no text.
    Binary,
}

/// What to know of one content as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Its size in bytes.
    pub size: usize,
    /// How its lines end. Not looked at in binary files.
    pub line_ends: LineEnds,
    /// Whether it starts with a byte order mark.
    pub has_bom: bool,
}

/// So many bytes are compared to the end whatever the clock says: that takes no time worth
/// the name, and what is found must not depend on who else uses the processor.
const SMALL: usize = 1 << 13;
/// Longer than anything small takes.
const LONG: Duration = Duration::from_hours(1);

/// When to stop looking closer at two contents of so many bytes together.
pub(in crate::text) fn deadline(budget: Duration, size: usize) -> Instant {
    Instant::now() + if size <= SMALL { LONG } else { budget }
}

impl FileDiff {
    /// Compares two contents, for about as long as `budget` ([`BUDGET`]) at most; small ones
    /// to the end.
    pub fn between(old: Option<&[u8]>, new: Option<&[u8]>, budget: Duration) -> Self {
        let size = old.map_or(0, <[u8]>::len) + new.map_or(0, <[u8]>::len);
        let deadline = deadline(budget, size);
        let is_text = !old.is_some_and(is_binary) && !new.is_some_and(is_binary);
        let side = |bytes: &[u8]| Side {
            size: bytes.len(),
            line_ends: if is_text {
                LineEnds::of(bytes)
            } else {
                LineEnds::None
            },
            has_bom: bytes.starts_with(lines::BOM),
        };
        let mut diff = Self {
            old: old.map(side),
            new: new.map(side),
            kind: DiffKind::Identical,
            hunks: Vec::new(),
            added: 0,
            removed: 0,
            is_coarse: false,
        };
        if old == new {
            return diff;
        }
        if !is_text {
            diff.kind = DiffKind::Binary;
            return diff;
        }
        let has_both = old.is_some() && new.is_some();
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        diff.kind = if has_both && lines::is_same_but_for_line_ends(old, new) {
            DiffKind::LineEnds
        } else {
            DiffKind::Text
        };
        let window = Window::between(old, new);
        let script = Script::between(&window, deadline);
        diff.is_coarse = script.is_coarse;
        for group in &script.groups {
            let hunk = Hunk::new(&window, group);
            diff.added += hunk.count(RowKind::Added);
            diff.removed += hunk.count(RowKind::Removed);
            diff.hunks.push(hunk);
        }
        diff
    }

    /// What the rows do not show, a short sentence each.
    pub fn remarks(&self) -> Vec<SafeText> {
        let mut remarks = Vec::new();
        let mut say = |words| remarks.push(SafeText::literal(words));
        if self.is_coarse {
            say("too different: shown as replaced");
        }
        if self.kind == DiffKind::Binary {
            say("binary files differ");
        }
        if let (Some(old), Some(new)) = (self.old, self.new) {
            match (old.has_bom, new.has_bom) {
                (false, true) => say("byte order mark added"),
                (true, false) => say("byte order mark removed"),
                _ => {}
            }
            let is_known = self.kind != DiffKind::Binary && old.line_ends != LineEnds::None;
            if is_known && new.line_ends != LineEnds::None && old.line_ends != new.line_ends {
                let only = match self.kind {
                    DiffKind::LineEnds => "only ",
                    _ => "",
                };
                let (old, new) = (old.line_ends.name(), new.line_ends.name());
                remarks.push(SafeText::line(&format!(
                    "{only}line ends changed: {old} to {new}"
                )));
            }
        }
        remarks
    }
}

/// Whether a content is no text, by git's rule: a NUL among the first 8000 bytes.
pub fn is_binary(bytes: &[u8]) -> bool {
    let start = bytes.get(..8000).unwrap_or(bytes);
    memchr::memchr(0, start).is_some()
}

/// A place where two files differ, with a few lines around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    runs: Vec<Run>,
    /// The lines of all rows, one after the other, and where each ends. There may be
    /// many: a row costs its bytes and this number.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// Rows of one kind, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    kind: RowKind,
    /// The first row.
    row: usize,
    /// Lines of each file before that row.
    old: usize,
    new: usize,
}

/// What a row of a hunk says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// The line is in both files.
    Context,
    /// The line is only in the old file.
    Removed,
    /// The line is only in the new file.
    Added,
}

/// A row of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// What the row says.
    pub kind: RowKind,
    /// The line's number in the old file, from 1; `None` for an added line.
    pub old: Option<usize>,
    /// The line's number in the new file, from 1; `None` for a removed line.
    pub new: Option<usize>,
    /// The line with its end, exact.
    pub bytes: &'a [u8],
}

impl<'a> Row<'a> {
    /// The line without its end.
    pub fn content(&self) -> &'a [u8] {
        lines::strip_end(self.bytes).0
    }

    /// How the line ends: `\n`, `\r\n` or nothing.
    pub fn line_end(&self) -> &'a [u8] {
        lines::strip_end(self.bytes).1
    }

    /// Whether the file stops here without a line end.
    pub fn is_unterminated(&self) -> bool {
        !self.bytes.ends_with(b"\n")
    }
}

impl Hunk {
    fn new(window: &Window<'_>, group: &[Stretch]) -> Self {
        let mut hunk = Self {
            runs: Vec::with_capacity(group.len() + 1),
            bytes: Vec::new(),
            ends: Vec::new(),
        };
        for stretch in group {
            let (old, new) = (stretch.old.clone(), stretch.new.clone());
            let at = (old.start, new.start);
            if stretch.is_same {
                hunk.push(RowKind::Context, at, window, &window.old, old);
            } else {
                let after = (old.end, new.start);
                hunk.push(RowKind::Removed, at, window, &window.old, old);
                hunk.push(RowKind::Added, after, window, &window.new, new);
            }
        }
        hunk
    }

    fn push(
        &mut self,
        kind: RowKind,
        (old, new): (usize, usize),
        window: &Window<'_>,
        lines: &Lines<'_>,
        range: Range<usize>,
    ) {
        if range.is_empty() {
            return;
        }
        self.runs.push(Run {
            kind,
            row: self.ends.len(),
            old: window.skipped + old,
            new: window.skipped + new,
        });
        let (bytes, ends) = lines.slice(range);
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.ends.extend(ends.map(|end| offset + end));
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no rows. A hunk of a difference has some.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A row, counted from 0.
    pub fn row(&self, index: usize) -> Option<Row<'_>> {
        let end = *self.ends.get(index)?;
        let before = index
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let start = before.copied().unwrap_or(0);
        let after = self.runs.partition_point(|run| run.row <= index);
        let run = self.runs.get(after.checked_sub(1)?)?;
        let number = |lines_before| lines_before + (index - run.row) + 1;
        Some(Row {
            kind: run.kind,
            old: (run.kind != RowKind::Added).then(|| number(run.old)),
            new: (run.kind != RowKind::Removed).then(|| number(run.new)),
            bytes: self.bytes.get(start..end).unwrap_or_default(),
        })
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).filter_map(|index| self.row(index))
    }

    /// How many rows say this.
    pub fn count(&self, kind: RowKind) -> usize {
        let runs = self.runs().filter(|(run, _)| run.kind == kind);
        runs.map(|(_, rows)| rows.len()).sum()
    }

    /// The rows set side by side, as indices for [`Hunk::row`]: what was removed stands
    /// beside what was added in its place.
    pub fn side_by_side(&self) -> Vec<(Option<usize>, Option<usize>)> {
        let mut pairs = Vec::with_capacity(self.len());
        let mut removed = 0..0;
        for (run, rows) in self.runs() {
            if run.kind == RowKind::Added {
                let count = removed.len().max(rows.len());
                let (mut left, mut right) = (removed, rows);
                pairs.extend((0..count).map(|_| (left.next(), right.next())));
                removed = 0..0;
                continue;
            }
            pairs.extend(removed.map(|row| (Some(row), None)));
            removed = 0..0;
            if run.kind == RowKind::Removed {
                removed = rows;
            } else {
                pairs.extend(rows.map(|row| (Some(row), Some(row))));
            }
        }
        pairs.extend(removed.map(|row| (Some(row), None)));
        pairs
    }

    /// The hunk's first line in a unified diff, such as `@@ -1,3 +1,4 @@`.
    pub fn header(&self) -> String {
        // An empty range is named by the line before it.
        let range = |start: usize, count: usize| match count {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            _ => format!("{},{count}", start + 1),
        };
        let (old, new) = self.start();
        let shared = self.count(RowKind::Context);
        let old = range(old, shared + self.count(RowKind::Removed));
        let new = range(new, shared + self.count(RowKind::Added));
        format!("@@ -{old} +{new} @@")
    }

    /// How many lines of each file come before the hunk.
    pub fn start(&self) -> (usize, usize) {
        self.runs.first().map_or((0, 0), |run| (run.old, run.new))
    }

    /// The runs with their rows.
    fn runs(&self) -> impl Iterator<Item = (&Run, Range<usize>)> {
        let next = self.runs.iter().skip(1).map(|run| run.row);
        let ends = next.chain([self.len()]);
        self.runs
            .iter()
            .zip(ends)
            .map(|(run, end)| (run, run.row..end))
    }
}

#[cfg(test)]
mod tests;
