//! Which version of a text each of its lines came with.
//!
//! A [`Lineage`] is taken from version to version. A line that a difference finds in both
//! keeps what it came with; a line that is new came with the new one. A version costs what
//! differs, and a look over the text; told as a change of the one before, not even that.
//!
//! What a version is, and who wrote it, is known to the caller alone.

use std::ops::Range;

use super::diff::{BUDGET, DiffKind, FileDiff, RowKind, shared_ends};

/// A text, and for each of its lines the version it came with.
#[derive(Clone, Debug, Default)]
pub struct Lineage {
    text: Vec<u8>,
    origins: Vec<u32>,
    is_coarse: bool,
}

impl Lineage {
    /// The text as it is now.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// For each line the version it came with.
    pub fn origins(&self) -> &[u32] {
        &self.origins
    }

    /// Whether two versions differed so much that lines may be told to be newer than they are.
    pub const fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    /// The text becomes this one.
    pub fn rewrite(&mut self, text: &[u8], origin: u32) {
        let (head, tail) = shared_ends(&self.text, text);
        let ins = text.get(head..text.len() - tail).unwrap_or_default();
        let del = self.text.len() - tail - head;
        self.replace(head, del, ins, origin);
    }

    /// `del` bytes at `at` are replaced by others. Where there are not so many, nothing is
    /// done, and the answer is no.
    pub fn replace(&mut self, at: usize, del: usize, ins: &[u8], origin: u32) -> bool {
        let Some((old, new)) = self.widened(at, del, ins) else {
            return false;
        };
        let before = self.text.get(old.clone()).unwrap_or_default();
        let above = self.text.get(..old.start).unwrap_or_default();
        let first = memchr::memchr_iter(b'\n', above).count();
        let lines = first..first + count_lines(before);
        let kept = self.origins.get(lines.clone()).unwrap_or_default();
        let (origins, is_coarse) = carried(before, &new, kept, origin);
        self.origins.splice(lines, origins);
        self.is_coarse |= is_coarse;
        self.text.splice(at..at + del, ins.iter().copied());
        true
    }

    /// A replacement as one of whole lines: which bytes of the text, and what becomes of them.
    fn widened(&self, at: usize, del: usize, ins: &[u8]) -> Option<(Range<usize>, Vec<u8>)> {
        let end = at.checked_add(del)?;
        let head = self.text.get(..at)?;
        let tail = self.text.get(end..)?;
        let start = memchr::memrchr(b'\n', head).map_or(0, |before| before + 1);
        // The line behind goes along: what is put in need not end one.
        let rest = memchr::memchr(b'\n', tail).map_or(tail.len(), |last| last + 1);
        let new = [head.get(start..)?, ins, tail.get(..rest)?].concat();
        Some((start..end + rest, new))
    }
}

/// What the lines of a part came with, once it has become another; and whether it took too
/// long to find out.
fn carried(before: &[u8], after: &[u8], kept: &[u32], origin: u32) -> (Vec<u32>, bool) {
    let diff = FileDiff::between(Some(before), Some(after), BUDGET);
    if diff.kind == DiffKind::Binary {
        return (vec![origin; count_lines(after)], false);
    }
    let mut origins = Vec::with_capacity(kept.len() + diff.added);
    let mut at = 0;
    for hunk in &diff.hunks {
        let (start, _) = hunk.start();
        origins.extend(kept.get(at..start).unwrap_or_default());
        at = start;
        for row in hunk.rows() {
            match row.kind {
                RowKind::Context => origins.extend(kept.get(at)),
                RowKind::Added => origins.push(origin),
                RowKind::Removed => {}
            }
            at += usize::from(row.kind != RowKind::Added);
        }
    }
    origins.extend(kept.get(at..).unwrap_or_default());
    (origins, diff.is_coarse)
}

fn count_lines(text: &[u8]) -> usize {
    let ends = memchr::memchr_iter(b'\n', text).count();
    ends + usize::from(text.last().is_some_and(|last| *last != b'\n'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An edit of a text of lines that are all different: at which line, how many go, how
    /// many come.
    type Edit = (usize, usize, usize);

    fn joined(lines: &[(String, u32)], has_last_end: bool) -> String {
        let lines: Vec<&str> = lines.iter().map(|(line, _)| line.as_str()).collect();
        let end = if has_last_end && !lines.is_empty() {
            "\n"
        } else {
            ""
        };
        lines.join("\n") + end
    }

    fn edits() -> impl Strategy<Value = Vec<Edit>> {
        prop::collection::vec((0..30_usize, 0..8_usize, 0..8_usize), 0..40)
    }

    proptest! {
        #[test]
        fn every_line_is_told_to_have_come_with_who_wrote_it(
            edits in edits(),
            is_told_as_change in prop::collection::vec(any::<bool>(), 40),
        ) {
            let mut lineage = Lineage::default();
            let mut model: Vec<(String, u32)> = Vec::new();
            for (version, (edit, is_told)) in edits.into_iter().zip(is_told_as_change).enumerate() {
                let version = version as u32;
                let (at, gone, new) = edit;
                let before = joined(&model, true);
                let at = at.min(model.len());
                let end = (at + gone).min(model.len());
                let lines = (0..new).map(|line| (format!("{version}: {line}"), version));
                let offset = joined(&model[..at], true).len();
                let taken = joined(&model[at..end], true).len();
                model.splice(at..end, lines);
                let text = joined(&model, true);
                if is_told {
                    let end = text.len() - (before.len() - offset - taken);
                    let ins = text.get(offset..end).unwrap();
                    prop_assert!(lineage.replace(offset, taken, ins.as_bytes(), version));
                } else {
                    lineage.rewrite(text.as_bytes(), version);
                }
                prop_assert_eq!(lineage.text(), text.as_bytes());
                let expected: Vec<u32> = model.iter().map(|(_, version)| *version).collect();
                prop_assert_eq!(lineage.origins(), expected.as_slice());
            }
        }

        #[test]
        fn there_is_an_origin_for_every_line_whatever_the_bytes(
            versions in prop::collection::vec("[ab\r\n\0]{0,20}", 1..12),
        ) {
            let mut lineage = Lineage::default();
            for (version, text) in versions.iter().enumerate() {
                lineage.rewrite(text.as_bytes(), version as u32);
                prop_assert_eq!(lineage.text(), text.as_bytes());
                prop_assert_eq!(lineage.origins().len(), text.split_inclusive('\n').count());
            }
        }
    }

    #[track_caller]
    fn check(versions: &[&str], expected: &[u32]) {
        let mut lineage = Lineage::default();
        for (version, text) in versions.iter().enumerate() {
            lineage.rewrite(text.as_bytes(), version as u32);
        }
        assert_eq!(lineage.origins(), expected);
    }

    #[test]
    fn a_line_keeps_its_origin_while_others_come_and_go() {
        check(&["a\nb\n", "a\nx\nb\n"], &[0, 1, 0]);
        check(&["a\nb\nc\n", "a\nc\n", "a\nb\nc\n"], &[0, 2, 0]);
        check(&["a\n", "b\n"], &[1]);
        check(&["a\nb", "a\nb\n"], &[0, 1]);
        check(&["a\nb\n", ""], &[]);
        check(&["", "a"], &[1]);
    }

    #[test]
    fn a_change_outside_the_text_is_refused() {
        let mut lineage = Lineage::default();
        lineage.rewrite(b"a\n", 0);
        assert!(!lineage.replace(1, 2, b"", 1));
        assert!(!lineage.replace(usize::MAX, 1, b"", 1));
        assert_eq!((lineage.text(), lineage.origins()), (&b"a\n"[..], &[0][..]));
    }
}
