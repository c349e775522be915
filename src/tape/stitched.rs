//! A fork's bytes as one sequence: its header line, the lines that it shares with its parents,
//! its own further lines.
//!
//! So a fork is read by everything that reads a tape. Nothing is copied: a read goes to the
//! file that holds the bytes. What the lines say is not known here.

use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::TapeBytes;
use crate::model::{LineHash, Problem};

/// Pieces of several files, one behind the other. The last one is open: it grows with its file.
#[derive(Debug)]
pub struct Stitched {
    pieces: Vec<Piece>,
    /// Where each piece begins.
    starts: Vec<u64>,
    dropped: Dropped,
    /// Of each piece, the lines before it: among all, and in its file. Counted once a problem
    /// asks for it.
    lines: OnceLock<Vec<(u64, u64)>>,
}

/// Some bytes of one file.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The file. It is not stitched itself.
    source: TapeBytes,
    /// What to call it; `None`: the one that was opened.
    file: Option<Arc<str>>,
    /// Which of its bytes.
    range: Range<u64>,
    /// The hash of the line before them in their file.
    before: Option<LineHash>,
}

/// What of a history was dropped when it was compacted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dropped {
    /// The first event that was kept.
    pub(super) kept_from: u64,
    /// The steps before it.
    pub(super) steps: u32,
}

impl Piece {
    /// The pieces that these bytes of a tape consist of. `name` is what to call its file.
    pub(super) fn of(
        tape: &TapeBytes,
        name: &Arc<str>,
        range: Range<u64>,
    ) -> io::Result<Vec<Self>> {
        let before = match range.start {
            0 => None,
            start => Some(match tape.chains_to(start) {
                Some(hash) => hash,
                None => LineHash::of(&tape.line_before(start)?),
            }),
        };
        let TapeBytes::Stitched(stitched) = tape else {
            return Ok(vec![Self {
                source: tape.clone(),
                file: Some(Arc::clone(name)),
                range,
                before,
            }]);
        };
        let pieces = stitched.starts.iter().zip(&stitched.pieces);
        let part = |(start, piece): (&u64, &Self)| {
            let len = piece.range.end - piece.range.start;
            let from = range.start.max(*start);
            let to = range.end.min(start.saturating_add(len));
            (from < to).then(|| Self {
                range: piece.range.start + (from - start)..piece.range.start + (to - start),
                file: piece.file.clone().or_else(|| Some(Arc::clone(name))),
                before: if from > *start { before } else { piece.before },
                ..piece.clone()
            })
        };
        Ok(pieces.filter_map(part).collect())
    }

    fn len(&self) -> u64 {
        self.range.end - self.range.start
    }
}

impl Stitched {
    /// A fork's bytes: `own` are those of its file, whose header line takes `header` of them,
    /// and `shared` stands between that and the rest.
    pub(super) fn new(
        own: &TapeBytes,
        header: u64,
        shared: Vec<Piece>,
        dropped: Dropped,
    ) -> io::Result<Self> {
        let piece = |range, before| Piece {
            source: own.clone(),
            file: None,
            range,
            before,
        };
        let before = LineHash::of(&own.line_before(header)?);
        let mut pieces = vec![piece(0..header, None)];
        pieces.extend(shared);
        pieces.push(piece(header..u64::MAX, Some(before)));
        let mut at: u64 = 0;
        let starts = pieces.iter().map(|piece| {
            let start = at;
            at = at.saturating_add(piece.len());
            start
        });
        Ok(Self {
            starts: starts.collect(),
            pieces,
            dropped,
            lines: OnceLock::new(),
        })
    }

    /// What of the shared history was dropped.
    pub(super) const fn dropped(&self) -> Dropped {
        self.dropped
    }

    pub(super) fn len(&self) -> io::Result<u64> {
        let (Some(start), Some(last)) = (self.starts.last(), self.pieces.last()) else {
            return Ok(0);
        };
        let own = last.source.len()?.saturating_sub(last.range.start);
        Ok(start + own)
    }

    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let Some((start, piece)) = self.piece_at(offset) else {
            return Ok(0);
        };
        let within = offset - start;
        let rest = usize::try_from(piece.len() - within).unwrap_or(usize::MAX);
        let part = buffer.len().min(rest);
        let part = buffer.split_at_mut(part).0;
        match piece.source.read_at(piece.range.start + within, part)? {
            // The end of another file is not the end of the tape.
            0 if piece.range.end < u64::MAX && !part.is_empty() => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            count => Ok(count),
        }
    }

    pub(super) fn chains_to(&self, offset: u64) -> Option<LineHash> {
        let (start, piece) = self.piece_at(offset)?;
        piece.before.filter(|_| start == offset)
    }

    pub(super) fn in_its_file(&self, problem: Problem) -> Problem {
        let piece = self.number_at(problem.offset);
        let lines = self.lines.get_or_init(|| self.count_lines());
        let numbered = piece.and_then(|at| Some((at, self.starts.get(at)?, self.pieces.get(at)?)));
        let Some((at, start, piece)) = numbered else {
            return problem;
        };
        let (before, in_file) = lines.get(at).copied().unwrap_or_default();
        Problem {
            line: problem.line.saturating_sub(before) + in_file,
            offset: problem.offset - start + piece.range.start,
            file: piece.file.clone(),
            ..problem
        }
    }

    fn number_at(&self, offset: u64) -> Option<usize> {
        self.starts
            .partition_point(|start| *start <= offset)
            .checked_sub(1)
    }

    fn piece_at(&self, offset: u64) -> Option<(u64, &Piece)> {
        let at = self.number_at(offset)?;
        Some((*self.starts.get(at)?, self.pieces.get(at)?))
    }

    /// What cannot be read has no lines.
    fn count_lines(&self) -> Vec<(u64, u64)> {
        let count = |source: &TapeBytes, range: Range<u64>| {
            let mut buffer = vec![0; 1 << 16];
            let (mut at, mut lines) = (range.start, 0);
            while at < range.end {
                let most = usize::try_from(range.end - at).unwrap_or(usize::MAX);
                let part = buffer.len().min(most);
                match source.read_at(at, buffer.split_at_mut(part).0) {
                    Ok(count @ 1..) => {
                        let read = buffer.split_at(count).0;
                        lines += memchr::memchr_iter(b'\n', read).count() as u64;
                        at += count as u64;
                    }
                    _ => break,
                }
            }
            lines
        };
        let mut before = 0;
        let row = |piece: &Piece| {
            let row = (before, count(&piece.source, 0..piece.range.start));
            if piece.range.end < u64::MAX {
                before += count(&piece.source, piece.range.clone());
            }
            row
        };
        self.pieces.iter().map(row).collect()
    }
}
