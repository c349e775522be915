//! Finding what changed between two sequences: the only file that knows `similar`.
//!
//! What it finds is always true (the new sequence follows from the old one); under the
//! deadline it may be longer than it had to be. The deadline is a real clock's, which is
//! the one clock that this layer reads.

use std::hash::Hash;
use std::ops::Range;
use std::time::Instant;

use similar::{Algorithm, DiffOp, capture_diff_deadline, group_diff_ops};
use unicode_segmentation::UnicodeSegmentation as _;

use super::lines::{CONTEXT, Lines, Window};

/// More lines than this are not searched: reading them once would take longer than
/// anyone waits.
const MOST_LINES: usize = 600_000;

/// Up to so many lines, the algorithm is the one whose result reads better; above, the one
/// that takes less memory.
const READABLE_LINES: usize = 40_000;

/// A stretch of lines: the same on both sides, or one side's replaced by the other's.
pub(in crate::text) struct Stretch {
    pub(in crate::text) is_same: bool,
    pub(in crate::text) old: Range<usize>,
    pub(in crate::text) new: Range<usize>,
}

/// What turns the old lines of a window into the new ones, in groups with their context.
pub(super) struct Script {
    pub(super) groups: Vec<Vec<Stretch>>,
    pub(super) is_coarse: bool,
}

impl Script {
    pub(super) fn between(window: &Window<'_>, deadline: Instant) -> Self {
        let (old, new) = (&window.old, &window.new);
        let mut ops = replace_all(old, new);
        let mut is_coarse = !ops.iter().all(is_as_small_as_can_be);
        if is_coarse && old.len() + new.len() <= MOST_LINES && Instant::now() < deadline {
            ops = search(old, new, deadline);
            // A search that ended in time met no deadline on its way.
            is_coarse = Instant::now() > deadline;
        }
        let groups = group_diff_ops(ops, CONTEXT).into_iter();
        Self {
            groups: groups
                .map(|ops| ops.into_iter().map(Stretch::from).collect())
                .collect(),
            is_coarse,
        }
    }
}

/// Whether looking closer at a stretch would find nothing: one side of it is empty, or
/// both are a single line.
fn is_as_small_as_can_be(op: &DiffOp) -> bool {
    let (old, new) = (op.old_range().len(), op.new_range().len());
    matches!(op, DiffOp::Equal { .. }) || old.min(new) == 0 || old.max(new) == 1
}

impl From<DiffOp> for Stretch {
    fn from(op: DiffOp) -> Self {
        Self {
            is_same: matches!(op, DiffOp::Equal { .. }),
            old: op.old_range(),
            new: op.new_range(),
        }
    }
}

/// The stretches in which two sequences are the same, and those in between.
pub(in crate::text) fn align<T: Hash + Eq>(
    old: &[T],
    new: &[T],
    deadline: Instant,
) -> impl Iterator<Item = Stretch> {
    let (all_old, all_new) = (0..old.len(), 0..new.len());
    let ops = capture_diff_deadline(Algorithm::Myers, old, all_old, new, all_new, Some(deadline));
    ops.into_iter().map(Stretch::from)
}

fn search(old: &Lines<'_>, new: &Lines<'_>, deadline: Instant) -> Vec<DiffOp> {
    let algorithm = if old.len() + new.len() <= READABLE_LINES {
        Algorithm::Histogram
    } else {
        Algorithm::Myers
    };
    capture_diff_deadline(
        algorithm,
        old,
        0..old.len(),
        new,
        0..new.len(),
        Some(deadline),
    )
}

/// Everything replaced, but for the lines that are the same at both ends.
fn replace_all(old: &Lines<'_>, new: &Lines<'_>) -> Vec<DiffOp> {
    let shorter = old.len().min(new.len());
    let is_same = |back: &usize| old.get(old.len() - back - 1) == new.get(new.len() - back - 1);
    let head = (0..shorter)
        .take_while(|line| old.get(*line) == new.get(*line))
        .count();
    let tail = (0..shorter - head).take_while(is_same).count();
    let (old_len, new_len) = (old.len() - head - tail, new.len() - head - tail);
    let equal = |old_index, new_index, len| DiffOp::Equal {
        old_index,
        new_index,
        len,
    };
    let replaced = DiffOp::Replace {
        old_index: head,
        old_len,
        new_index: head,
        new_len,
    };
    let ops = [
        equal(0, 0, head),
        replaced,
        equal(head + old_len, head + new_len, tail),
    ];
    ops.into_iter()
        .filter(|op| !op.old_range().is_empty() || !op.new_range().is_empty())
        .collect()
}

/// A stretch in which two sequences are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// Where it begins in the old one.
    pub old: usize,
    /// Where it begins in the new one.
    pub new: usize,
    /// How long it is.
    pub len: usize,
}

/// The stretches in which two sequences of numbers are the same, in order, and whether more
/// of them might have been found with more time.
pub fn common(old: &[u32], new: &[u32], deadline: Instant) -> (Vec<Common>, bool) {
    if Instant::now() > deadline {
        return (Vec::new(), !old.is_empty() && !new.is_empty());
    }
    let algorithm = if old.len() + new.len() <= READABLE_LINES {
        Algorithm::Histogram
    } else {
        Algorithm::Myers
    };
    let (ends, inner) = (0..old.len(), 0..new.len());
    let ops = capture_diff_deadline(algorithm, old, ends, new, inner, Some(deadline));
    let is_coarse = Instant::now() > deadline;
    let same = ops.iter().filter_map(|op| match op {
        DiffOp::Equal {
            old_index,
            new_index,
            len,
        } => Some(Common {
            old: *old_index,
            new: *new_index,
            len: *len,
        }),
        _ => None,
    });
    (same.collect(), is_coarse)
}

/// Lines longer than this are not compared word by word.
const LONGEST_LINE: usize = 4096;

/// The parts, in bytes, in which two lines that stand side by side differ, word by word.
///
/// Empty on both sides where they have so little in common that emphasis would say
/// nothing.
pub fn word_emphasis(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let none = (Vec::new(), Vec::new());
    if old.len() > LONGEST_LINE || new.len() > LONGEST_LINE {
        return none;
    }
    let words = |text| -> Vec<&str> { str::split_word_bounds(text).collect() };
    let (old_words, new_words) = (words(old), words(new));
    let ops = similar::capture_diff_slices(Algorithm::Myers, &old_words, &new_words);
    let mut parts = none;
    let (mut old_at, mut new_at, mut common) = (0, 0, 0);
    for op in ops {
        let length = |words: &[&str], range| -> usize {
            let words: &[&str] = words.get(range).unwrap_or_default();
            words.iter().map(|word| word.len()).sum()
        };
        let old_end = old_at + length(&old_words, op.old_range());
        let new_end = new_at + length(&new_words, op.new_range());
        if matches!(op, DiffOp::Equal { .. }) {
            let same = old.get(old_at..old_end).unwrap_or_default();
            common += same.chars().filter(|c| !c.is_whitespace()).count();
        } else {
            emphasize(&mut parts.0, old, old_at..old_end);
            emphasize(&mut parts.1, new, new_at..new_end);
        }
        (old_at, new_at) = (old_end, new_end);
    }
    let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    if common * 3 < visible(old).max(visible(new)) {
        return (Vec::new(), Vec::new());
    }
    parts
}

/// Adds a part; nothing but spaces between it and the one before joins the two.
fn emphasize(parts: &mut Vec<Range<usize>>, text: &str, part: Range<usize>) {
    if part.is_empty() {
        return;
    }
    if let Some(last) = parts.last_mut()
        && text
            .get(last.end..part.start)
            .is_some_and(|gap| gap.trim().is_empty())
    {
        last.end = part.end;
    } else {
        parts.push(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, expected_old: &[&str], expected_new: &[&str]) {
        let (old_parts, new_parts) = word_emphasis(old, new);
        let show = |text: &str, parts: &[Range<usize>]| -> Vec<String> {
            let part = |range: &Range<usize>| text.get(range.clone()).unwrap().to_owned();
            parts.iter().map(part).collect()
        };
        assert_eq!(show(old, &old_parts), expected_old, "{old}");
        assert_eq!(show(new, &new_parts), expected_new, "{new}");
    }

    #[test]
    fn the_words_that_differ_stand_out() {
        check(
            "let c = self.peek()?;",
            "let d = self.peek()?;",
            &["c"],
            &["d"],
        );
        check("call(a)", "call(a, b)", &[], &[", b"]);
        check(
            "one two three four",
            "one dos tres four",
            &["two three"],
            &["dos tres"],
        );
        check("größe = 1", "größe = 2", &["1"], &["2"]);
        check("alpha", "omega", &[], &[]);
        check("same", "same", &[], &[]);
        check("", "", &[], &[]);
    }
}
