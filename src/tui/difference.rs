//! How one file differs, in rows: one below the other, or side by side.
//!
//! Made by the worker, so that a row is reached at once however many there are. Nothing
//! here is drawn.

use std::sync::Arc;

use super::document::Document;
use crate::debugger::{DiffView, FileContent};
use crate::text::{FileDiff, Hunk, Row, SafeText};

/// A difference, ready to be shown.
#[derive(Clone, Debug)]
pub struct OpenDiff {
    /// What is known of it.
    pub view: DiffView,
    /// Both contents with their lines, for their colours.
    pub sides: [Arc<Document>; 2],
    pairs: Vec<Pair>,
}

/// What stands side by side: rows of a hunk by their indices; neither is its head.
#[derive(Clone, Copy, Debug)]
struct Pair {
    hunk: usize,
    rows: (Option<usize>, Option<usize>),
}

/// How the rows are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One below the other.
    Unified,
    /// What was removed beside what was added in its place.
    SideBySide,
}

/// A row of a difference.
#[derive(Clone, Copy, Debug)]
pub(super) enum DiffRow<'a> {
    /// Lines are left out, and a hunk begins.
    Head(&'a Hunk),
    /// A line of a hunk.
    Line(DiffLine<'a>),
    /// Two lines side by side.
    Pair(Option<DiffLine<'a>>, Option<DiffLine<'a>>),
}

/// A line of a difference, where it stands in its hunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiffLine<'a> {
    pub(super) hunk: &'a Hunk,
    pub(super) index: usize,
    pub(super) row: Row<'a>,
}

impl OpenDiff {
    /// Sets a difference in rows.
    pub fn of(view: DiffView) -> Self {
        let document = |content: &Option<Arc<[u8]>>| {
            let content = match content {
                Some(bytes) => FileContent::Bytes(Arc::clone(bytes)),
                None => FileContent::Nothing(SafeText::default()),
            };
            Arc::new(Document::of_content(content))
        };
        let hunks = view.diff.iter().flat_map(|diff| diff.hunks.iter());
        let pairs = hunks.enumerate().flat_map(|(hunk, rows)| {
            let lines = rows.side_by_side().into_iter();
            let rows = std::iter::once((None, None)).chain(lines);
            rows.map(move |rows| Pair { hunk, rows })
        });
        Self {
            sides: [document(&view.before), document(&view.after)],
            pairs: pairs.collect(),
            view,
        }
    }

    /// How many rows there are.
    pub(super) fn len(&self, form: Form) -> usize {
        match (form, &self.view.diff) {
            (_, None) => 0,
            (Form::Unified, Some(diff)) => diff.hunks.iter().map(|hunk| 1 + hunk.len()).sum(),
            (Form::SideBySide, Some(_)) => self.pairs.len(),
        }
    }

    /// The rows from the one with this index on.
    pub(super) fn rows(
        &self,
        form: Form,
        from: usize,
    ) -> Box<dyn Iterator<Item = DiffRow<'_>> + '_> {
        match (form, &self.view.diff) {
            (_, None) => Box::new(std::iter::empty()),
            (Form::Unified, Some(diff)) => Box::new(unified(diff, from)),
            (Form::SideBySide, Some(diff)) => {
                let pairs = self.pairs.get(from..).unwrap_or_default();
                Box::new(pairs.iter().filter_map(|pair| pair.row(diff)))
            }
        }
    }
}

impl Pair {
    fn row<'a>(&self, diff: &'a FileDiff) -> Option<DiffRow<'a>> {
        let hunk = diff.hunks.get(self.hunk)?;
        let line = |index: usize| DiffLine::of(hunk, index);
        Some(match self.rows {
            (None, None) => DiffRow::Head(hunk),
            (old, new) => DiffRow::Pair(old.and_then(line), new.and_then(line)),
        })
    }
}

impl<'a> DiffLine<'a> {
    fn of(hunk: &'a Hunk, index: usize) -> Option<Self> {
        let row = hunk.row(index)?;
        Some(Self { hunk, index, row })
    }
}

impl<'a> DiffRow<'a> {
    /// The lines of the row; none in a head.
    pub(super) fn lines(self) -> impl Iterator<Item = DiffLine<'a>> {
        let (one, two) = match self {
            Self::Head(_) => (None, None),
            Self::Line(line) => (Some(line), None),
            Self::Pair(old, new) => (old, new),
        };
        one.into_iter().chain(two)
    }
}

fn unified(diff: &FileDiff, index: usize) -> impl Iterator<Item = DiffRow<'_>> {
    let mut skipped = index;
    let hunks = diff.hunks.iter().filter_map(move |hunk| {
        let rows = 1 + hunk.len();
        let first = skipped.min(rows);
        skipped -= first;
        (first < rows).then_some((hunk, first))
    });
    hunks.flat_map(|(hunk, first)| {
        (first..=hunk.len()).filter_map(move |row| match row.checked_sub(1) {
            None => Some(DiffRow::Head(hunk)),
            Some(row) => DiffLine::of(hunk, row).map(DiffRow::Line),
        })
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::debugger::ChangeRow;
    use crate::model::{Certainty, ChangeKind, TapePath};
    use crate::text::RowKind;

    fn open(old: &str, new: &str) -> OpenDiff {
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let diff = FileDiff::between(Some(old), Some(new), Duration::from_secs(10));
        OpenDiff::of(DiffView {
            change: ChangeRow {
                path: TapePath::new("a").unwrap(),
                from: None,
                change: ChangeKind::Modified,
                certainty: (Certainty::Exact, Certainty::Exact),
                mode: None,
                is_outside: false,
            },
            diff: Some(Arc::new(diff)),
            before: Some(old.into()),
            after: Some(new.into()),
            remarks: Vec::new(),
        })
    }

    fn rows(open: &OpenDiff, form: Form, from: usize) -> Vec<String> {
        let line = |line: DiffLine<'_>| {
            let sign = match line.row.kind {
                RowKind::Context => ' ',
                RowKind::Added => '+',
                RowKind::Removed => '-',
            };
            format!("{sign}{}", String::from_utf8_lossy(line.row.content()))
        };
        let side = |of: Option<DiffLine<'_>>| of.map_or("~".into(), line);
        open.rows(form, from)
            .map(|row| match row {
                DiffRow::Head(hunk) => hunk.header(),
                DiffRow::Line(of) => line(of),
                DiffRow::Pair(old, new) => format!("{}|{}", side(old), side(new)),
            })
            .collect()
    }

    #[test]
    fn rows_are_reached_from_any_index_in_both_forms() {
        let lines: Vec<String> = (0..60).map(|line| format!("{line}\n")).collect();
        let old = lines.concat();
        let new = old.replace("5\n", "five\nsix\n").replace("33\n", "");
        let diff = open(&old, &new);
        for form in [Form::Unified, Form::SideBySide] {
            let all = rows(&diff, form, 0);
            assert_eq!(all.len(), diff.len(form));
            for from in 0..=all.len() {
                assert_eq!(rows(&diff, form, from), all[from..]);
            }
        }
    }

    #[test]
    fn what_went_stands_beside_what_came_in_its_place() {
        let diff = open("a\nb\nc\nd\n", "a\nB\nd\ne\nf\n");
        let expected = [
            "@@ -1,4 +1,5 @@",
            " a| a",
            "-b|+B",
            "-c|~",
            " d| d",
            "~|+e",
            "~|+f",
        ];
        assert_eq!(rows(&diff, Form::SideBySide, 0), expected);
    }
}
