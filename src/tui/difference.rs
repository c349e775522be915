//! How one file differs, in rows: one below the other, or side by side.
//!
//! What did not change is folded, but for a few lines around each change; a fold is opened
//! alone or with all others. Made by the worker; opening folds costs as much as there are
//! changes, and a row is reached at once however many there are. Nothing here is drawn.

mod plan;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::plan::{Part, Plan};
use super::document::Document;
use crate::debugger::{DiffView, FileContent};
use crate::text::heading::{enclosing, indent_of};
use crate::text::{Hunk, Row, RowKind, SafeText};

/// A difference, ready to be shown.
#[derive(Clone, Debug)]
pub struct OpenDiff {
    /// What is known of it.
    pub view: DiffView,
    /// Both contents with their lines, for their colours and for what did not change.
    pub sides: [Arc<Document>; 2],
    /// The rows of each hunk set side by side.
    pairs: Vec<Vec<(Option<usize>, Option<usize>)>>,
    /// What did not change before each hunk, and after the last one.
    gaps: Vec<Gap>,
    plan: Plan,
}

/// Lines that did not change and stand in no hunk.
#[derive(Clone, Debug)]
struct Gap {
    /// The lines of each file before the first one.
    old: usize,
    new: usize,
    lines: usize,
    /// What the change below stands under.
    heading: Option<SafeText>,
}

/// How the rows are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One below the other.
    Unified,
    /// What was removed beside what was added in its place.
    SideBySide,
}

/// How much is shown of what did not change around a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Context {
    /// Three lines, as in a patch.
    #[default]
    Few,
    /// Ten lines.
    More,
    /// All.
    All,
}

/// A row of a difference.
#[derive(Clone, Copy, Debug)]
pub(super) enum DiffRow<'a> {
    /// Lines are left out.
    Fold(Fold<'a>),
    /// A line.
    Line(DiffLine<'a>),
    /// Two lines side by side.
    Pair(Option<DiffLine<'a>>, Option<DiffLine<'a>>),
}

/// Lines that did not change and are left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold<'a> {
    /// Its number: that of the hunk below it.
    pub(super) number: usize,
    /// How many lines there are.
    pub(super) lines: usize,
    /// What the change below stands under.
    pub(super) heading: Option<&'a SafeText>,
}

/// A line of a difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiffLine<'a> {
    pub(super) row: Row<'a>,
    /// The hunk it stands in, and where in it; of what was folded there is none.
    pub(super) hunk: Option<(&'a Hunk, usize)>,
}

/// A row that is found again when folds were opened or closed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    /// A row of a hunk.
    Hunk(usize, usize),
    /// A line between hunks.
    Gap(usize, usize),
}

impl Context {
    /// The next larger one; after all, the smallest.
    pub(super) const fn next(self) -> Self {
        match self {
            Self::Few => Self::More,
            Self::More => Self::All,
            Self::All => Self::Few,
        }
    }

    /// Lines that are shown besides those that a hunk has.
    const fn lines(self) -> usize {
        match self {
            Self::Few => 0,
            Self::More => 7,
            Self::All => usize::MAX,
        }
    }
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
        let sides = [document(&view.before), document(&view.after)];
        let hunks = view.diff.as_ref().map_or(&[][..], |diff| &diff.hunks);
        let mut open = Self {
            pairs: hunks.iter().map(Hunk::side_by_side).collect(),
            gaps: gaps(hunks, &sides),
            sides,
            plan: Plan::default(),
            view,
        };
        open.unfold(Context::default(), &BTreeSet::new());
        open
    }

    /// Shows so much of what did not change, and all of the folds with these numbers.
    pub(super) fn unfold(&mut self, context: Context, opened: &BTreeSet<usize>) {
        let mut plan = Plan::default();
        for (number, gap) in self.gaps.iter().enumerate() {
            let is_first = number == 0;
            let is_last = number == self.hunks().len();
            let around = if opened.contains(&number) {
                usize::MAX
            } else {
                context.lines()
            };
            // Of the first gap only its end stands beside a change, of the last its start.
            let head = if is_first { 0 } else { around.min(gap.lines) };
            let tail = if is_last {
                0
            } else {
                around.min(gap.lines - head)
            };
            let hidden = head..gap.lines - tail;
            // A fold that hides a line takes as much room as the line.
            if hidden.len() <= 1 || around == usize::MAX {
                plan.push(Part::Lines(number, 0..gap.lines), [gap.lines; 2]);
            } else {
                plan.push(Part::Lines(number, 0..head), [head; 2]);
                let tail_lines = hidden.end..gap.lines;
                plan.push(Part::Fold(number, hidden), [1; 2]);
                plan.push(Part::Lines(number, tail_lines), [tail; 2]);
            }
            if let (Some(hunk), Some(pairs)) = (self.hunks().get(number), self.pairs.get(number)) {
                plan.push(Part::Hunk(number), [hunk.len(), pairs.len()]);
            }
        }
        self.plan = plan;
    }

    fn hunks(&self) -> &[Hunk] {
        self.view.diff.as_ref().map_or(&[], |diff| &diff.hunks)
    }

    /// How many rows there are.
    pub(super) fn len(&self, form: Form) -> usize {
        self.plan.len(form)
    }

    /// The rows from the one with this index on.
    pub(super) fn rows(&self, form: Form, from: usize) -> impl Iterator<Item = DiffRow<'_>> {
        let parts = self.plan.parts(form, from);
        parts.flat_map(move |(part, first, rows)| {
            (first..rows).filter_map(move |index| self.row(form, part, index))
        })
    }

    fn row(&self, form: Form, part: &Part, index: usize) -> Option<DiffRow<'_>> {
        Some(match part {
            Part::Fold(number, hidden) => DiffRow::Fold(Fold {
                number: *number,
                lines: hidden.len(),
                heading: self.gaps.get(*number)?.heading.as_ref(),
            }),
            Part::Lines(number, lines) => {
                let line = self.unchanged(*number, lines.start + index)?;
                match form {
                    Form::Unified => DiffRow::Line(line),
                    Form::SideBySide => DiffRow::Pair(Some(line), Some(line)),
                }
            }
            Part::Hunk(number) => {
                let hunk = self.hunks().get(*number)?;
                let line = |index| DiffLine::of(hunk, index);
                match form {
                    Form::Unified => DiffRow::Line(line(index)?),
                    Form::SideBySide => {
                        let (old, new) = *self.pairs.get(*number)?.get(index)?;
                        DiffRow::Pair(old.and_then(line), new.and_then(line))
                    }
                }
            }
        })
    }

    /// A line between hunks.
    fn unchanged(&self, number: usize, line: usize) -> Option<DiffLine<'_>> {
        let gap = self.gaps.get(number)?;
        let [_, new] = &self.sides;
        let row = Row {
            kind: RowKind::Context,
            old: Some(gap.old + line + 1),
            new: Some(gap.new + line + 1),
            bytes: new.exact_line(gap.new + line)?,
        };
        Some(DiffLine { row, hunk: None })
    }

    /// What stands in a row, or, where that is a fold, below it.
    pub(super) fn anchor(&self, form: Form, index: usize) -> Option<Anchor> {
        self.plan
            .parts(form, index)
            .find_map(|(part, row, _)| match part {
                Part::Fold(..) => None,
                Part::Lines(number, lines) => Some(Anchor::Gap(*number, lines.start + row)),
                Part::Hunk(number) => Some(Anchor::Hunk(*number, row)),
            })
    }

    /// The row in which that stands now.
    pub(super) fn row_of(&self, form: Form, anchor: Anchor) -> Option<usize> {
        self.plan.find(form, |part| match (part, anchor) {
            (Part::Hunk(number), Anchor::Hunk(wanted, row)) if *number == wanted => Some(row),
            (Part::Lines(number, lines), Anchor::Gap(wanted, line)) if *number == wanted => {
                lines.contains(&line).then(|| line - lines.start)
            }
            (Part::Fold(number, hidden), Anchor::Gap(wanted, line)) if *number == wanted => {
                hidden.contains(&line).then_some(0)
            }
            _ => None,
        })
    }

    /// The row with which a change begins: its fold, if there is one.
    pub(super) fn change_row(&self, form: Form, number: usize) -> Option<usize> {
        let fold = self.plan.find(form, |part| {
            matches!(part, Part::Fold(fold, _) if *fold == number).then_some(0)
        });
        fold.or_else(|| self.row_of(form, Anchor::Hunk(number, 0)))
    }

    /// How many changes there are: places with a fold between them.
    pub(super) fn changes(&self) -> usize {
        self.hunks().len()
    }

    /// The number of the fold in this row, if it is one.
    pub(super) fn fold_at(&self, form: Form, index: usize) -> Option<usize> {
        match self.rows(form, index).next()? {
            DiffRow::Fold(fold) => Some(fold.number),
            DiffRow::Line(_) | DiffRow::Pair(..) => None,
        }
    }

    /// Whether both are the difference of the same contents of one path.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        let sides = self.sides.iter().zip(&other.sides);
        self.view.change.path == other.view.change.path
            && sides.into_iter().all(|(one, two)| one.has_content_of(two))
    }
}

/// What did not change between hunks. Nothing where a side is not there.
fn gaps(hunks: &[Hunk], [_, new]: &[Arc<Document>; 2]) -> Vec<Gap> {
    let (mut old_end, mut new_end) = (0, 0);
    let mut gaps = Vec::with_capacity(hunks.len() + 1);
    for hunk in hunks {
        let (old_start, new_start) = hunk.start();
        let mut rows = hunk.rows().map(|row| row.content());
        let first = rows.find(|line| !line.trim_ascii().is_empty());
        let first_line = first.map_or(0, indent_of);
        let above = (new_end..new_start).rev().filter_map(|line| new.line(line));
        let heading = enclosing(above, first_line.max(1));
        gaps.push(Gap {
            old: old_end,
            new: new_end,
            lines: new_start - new_end.min(new_start),
            heading: heading.map(SafeText::from_bytes),
        });
        let shared = hunk.count(RowKind::Context);
        old_end = old_start + shared + hunk.count(RowKind::Removed);
        new_end = new_start + shared + hunk.count(RowKind::Added);
    }
    if !hunks.is_empty() {
        gaps.push(Gap {
            old: old_end,
            new: new_end,
            lines: new.len().saturating_sub(new_end),
            heading: None,
        });
    }
    gaps
}

impl<'a> DiffLine<'a> {
    fn of(hunk: &'a Hunk, index: usize) -> Option<Self> {
        let row = hunk.row(index)?;
        Some(Self {
            row,
            hunk: Some((hunk, index)),
        })
    }
}

impl<'a> DiffRow<'a> {
    /// The lines of the row; none in a fold.
    pub(super) fn lines(self) -> impl Iterator<Item = DiffLine<'a>> {
        let (one, two) = match self {
            Self::Fold(_) => (None, None),
            Self::Line(line) => (Some(line), None),
            Self::Pair(old, new) => (old, new),
        };
        one.into_iter().chain(two)
    }
}

#[cfg(test)]
mod tests;
