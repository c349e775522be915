//! A file as lines: how they end, and the window of them in which two files differ.
//!
//! The window keeps what comes after it cheap: what is the same at both ends of two files
//! is skipped as bytes, and never cut into lines.

use std::ops::{Index, Range};

/// Rows of context around a change.
pub(super) const CONTEXT: usize = 3;

pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// How the lines of a file end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnds {
    /// There is no line end at all.
    None,
    /// `\n`, each of them.
    Lf,
    /// `\r\n`, each of them.
    CrLf,
    /// Both occur.
    Mixed,
}

impl LineEnds {
    /// How the lines of a content end.
    pub fn of(bytes: &[u8]) -> Self {
        let mut has_lf = false;
        let mut has_crlf = false;
        for end in memchr::memchr_iter(b'\n', bytes) {
            let is_crlf = end.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'\r');
            has_crlf |= is_crlf;
            has_lf |= !is_crlf;
            if has_lf && has_crlf {
                return Self::Mixed;
            }
        }
        match (has_lf, has_crlf) {
            (false, false) => Self::None,
            (false, true) => Self::CrLf,
            _ => Self::Lf,
        }
    }

    /// The name people know it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "no line end",
            Self::Lf => "LF",
            Self::CrLf => "CRLF",
            Self::Mixed => "mixed line ends",
        }
    }
}

/// Whether two texts are the same once every `\r\n` is read as `\n`.
pub(super) fn is_same_but_for_line_ends(old: &[u8], new: &[u8]) -> bool {
    let plain = |line| strip_end(line).0;
    let lines = |bytes| split(bytes).map(plain);
    old.ends_with(b"\n") == new.ends_with(b"\n") && lines(old).eq(lines(new))
}

/// A line without its end, and the end: `\n`, `\r\n` or nothing.
pub(super) fn strip_end(line: &[u8]) -> (&[u8], &[u8]) {
    let content = line.strip_suffix(b"\n").map_or(line, |content| {
        content.strip_suffix(b"\r").unwrap_or(content)
    });
    line.split_at(content.len())
}

fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

/// Some whole lines of a file, in a row.
pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    /// Where each line ends in `bytes`.
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut ends: Vec<usize> = memchr::memchr_iter(b'\n', bytes)
            .map(|end| end + 1)
            .collect();
        if ends.last().copied().unwrap_or(0) < bytes.len() {
            ends.push(bytes.len());
        }
        Self { bytes, ends }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, line: usize) -> &'a [u8] {
        self.slice(line..line + 1).0
    }

    /// Some of the lines as they stand, and where each ends in that.
    pub(super) fn slice(
        &self,
        range: Range<usize>,
    ) -> (&'a [u8], impl ExactSizeIterator<Item = usize>) {
        let ends = self.ends.get(range.clone()).unwrap_or_default();
        let start = range
            .start
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let start = start.copied().unwrap_or(0);
        let end = ends.last().copied().unwrap_or(start);
        let bytes = self.bytes.get(start..end).unwrap_or_default();
        (bytes, ends.iter().map(move |end| end - start))
    }
}

impl Index<usize> for Lines<'_> {
    type Output = [u8];

    fn index(&self, line: usize) -> &[u8] {
        self.get(line)
    }
}

/// The lines of two files between which everything that differs lies, with some context.
pub(super) struct Window<'a> {
    pub(super) old: Lines<'a>,
    pub(super) new: Lines<'a>,
    /// How many lines, the same in both, come before.
    pub(super) skipped: usize,
}

impl<'a> Window<'a> {
    pub(super) fn between(old: &'a [u8], new: &'a [u8]) -> Self {
        let prefix = line_start(old, common_prefix(old, new));
        let start = lines_back(old, prefix);
        let old_rest = old.get(prefix..).unwrap_or_default();
        let new_rest = new.get(prefix..).unwrap_or_default();
        let suffix = suffix_kept(old_rest, common_suffix(old_rest, new_rest));
        let range = |bytes: &[u8]| -> Range<usize> { start..bytes.len() - suffix };
        Self {
            old: Lines::new(old.get(range(old)).unwrap_or_default()),
            new: Lines::new(new.get(range(new)).unwrap_or_default()),
            skipped: memchr::memchr_iter(b'\n', old.get(..start).unwrap_or_default()).count(),
        }
    }
}

/// How many bytes two contents share at their starts, and how many at their ends, apart from
/// these.
pub(in crate::text) fn shared_ends(old: &[u8], new: &[u8]) -> (usize, usize) {
    let prefix = common_prefix(old, new);
    let old_rest = old.get(prefix..).unwrap_or_default();
    let new_rest = new.get(prefix..).unwrap_or_default();
    (prefix, common_suffix(old_rest, new_rest))
}

/// Compared in blocks first: a block is compared at the speed of memory.
const BLOCK: usize = 4096;

fn common_prefix(old: &[u8], new: &[u8]) -> usize {
    let blocks = old.chunks_exact(BLOCK).zip(new.chunks_exact(BLOCK));
    let same = blocks.take_while(|(old, new)| old == new).count() * BLOCK;
    let rest = old.iter().zip(new).skip(same);
    same + rest.take_while(|(old, new)| old == new).count()
}

fn common_suffix(old: &[u8], new: &[u8]) -> usize {
    let blocks = old.rchunks_exact(BLOCK).zip(new.rchunks_exact(BLOCK));
    let same = blocks.take_while(|(old, new)| old == new).count() * BLOCK;
    let rest = old.iter().rev().zip(new.iter().rev()).skip(same);
    same + rest.take_while(|(old, new)| old == new).count()
}

/// Where the line starts in which `at` lies.
fn line_start(bytes: &[u8], at: usize) -> usize {
    let before = bytes.get(..at).unwrap_or_default();
    memchr::memrchr(b'\n', before).map_or(0, |end| end + 1)
}

/// Where the context starts that belongs before the line that starts at `start`.
fn lines_back(bytes: &[u8], start: usize) -> usize {
    (0..CONTEXT).fold(start, |start, _| line_start(bytes, start.saturating_sub(1)))
}

/// How much of a common suffix lies behind the window: whole lines, without the context.
fn suffix_kept(bytes: &[u8], common: usize) -> usize {
    let suffix = bytes.get(bytes.len() - common..).unwrap_or_default();
    // The first of these ends a line that may have begun before the suffix.
    let mut ends = memchr::memchr_iter(b'\n', suffix);
    ends.nth(CONTEXT).map_or(0, |end| common - (end + 1))
}
