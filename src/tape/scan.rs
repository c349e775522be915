//! The walk over the lines of a tape: heads first, whole lines only where they are needed.

use std::io;
use std::ops::ControlFlow;

use super::TapeBytes;
use super::heads::{FoundHead, Heads, lines_of};
use super::lines::{Piece, read_line, to_text};
use super::read_ahead::{Block, ReadAhead};
use super::wire::v1::{decode_blob, parse_record, scan_head_into};
use super::wire::{Enc, RawHead};
use crate::model::{BlobHash, Kind, Problem, ProblemKind};

/// A record as the walk meets it.
#[derive(Debug)]
pub struct Record<'a> {
    /// Its first byte.
    pub offset: u64,
    /// The line it stands on, counted from 1.
    pub line_number: u64,
    /// Its head.
    pub head: &'a RawHead<'a>,
    /// The head's kind.
    pub kind: Kind,
    /// The record's text, where it had to be read as a whole.
    pub whole: Option<&'a str>,
    /// The hash of a content that was written without one, by hand.
    pub implied_blob: Option<BlobHash>,
}

/// Who takes what the walk finds.
pub trait ScanSink {
    /// Takes a record.
    fn record(&mut self, record: Record<'_>) -> ControlFlow<()>;

    /// Takes a fault. Where `loses_events`, a gap stands here.
    fn problem(&mut self, problem: Problem);

    /// Whether records of this kind are wanted whole.
    fn wants_whole(&self, kind: Kind) -> bool;

    /// A line as it stands, before what is on it is told; `at` is where it begins, itself
    /// counted. Not told of a long line of which only the head was wanted.
    fn line(&mut self, _line: &[u8], _at: ScanEnd) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Where a walk ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanEnd {
    /// The first byte behind the last whole line: the next walk begins here.
    pub offset: u64,
    /// The whole lines before it.
    pub lines: u64,
    /// Bytes behind it: a line that has no newline yet.
    pub torn: u64,
}

/// A head that is longer than this is read as a whole line.
const HEAD_LIMIT: usize = 1 << 16;

/// Walks the lines from `start` to the end of the bytes.
pub fn scan(bytes: &TapeBytes, start: ScanEnd, sink: &mut impl ScanSink) -> io::Result<ScanEnd> {
    let mut walk = Walk::from(start);
    let mut blocks = ReadAhead::start(bytes.clone(), start.offset)?;
    while let Some(block) = blocks.next_block()? {
        if walk.take(&block, sink).is_break() {
            break;
        }
        blocks.give_back(block);
    }
    Ok(walk.end())
}

/// A walk that is given the bytes block by block. Between two blocks it holds what it must
/// remember of a line whose end is still to come, and nobody's sink.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    end: ScanEnd,
    /// What earlier blocks hold of a line whose end is still to come.
    open: Vec<u8>,
    /// The head of the open line was enough and is told: the rest is passed over.
    is_passing: bool,
}

/// A whole line, and its head if that is in the fixed order.
#[derive(Default)]
struct Line<'a> {
    bytes: &'a [u8],
    head: Option<RawHead<'a>>,
}

impl Walk {
    /// A walk from this place on. A line that was open there is to be given from its start.
    pub(super) fn from(start: ScanEnd) -> Self {
        Self {
            end: ScanEnd { torn: 0, ..start },
            open: Vec::new(),
            is_passing: false,
        }
    }

    /// How far it has come.
    pub(super) const fn end(&self) -> ScanEnd {
        self.end
    }

    /// Takes the next bytes, of any length.
    pub(super) fn take(&mut self, block: &Block, sink: &mut impl ScanSink) -> ControlFlow<()> {
        let bytes = block.bytes();
        let Some(newline) = memchr::memchr(b'\n', bytes) else {
            return self.open(bytes, sink);
        };
        let (first, rest) = bytes.split_at(newline);
        if self.end.torn > 0 {
            self.close(first, sink)?;
        } else {
            self.line(&Line::of(first), sink)?;
        }
        let mut rest = rest.get(1..).unwrap_or_default();
        self.lines(&mut rest, block.heads(), sink)?;
        self.open(rest, sink)
    }

    /// Takes whole lines, as far as there are any, and first those whose heads were found.
    fn lines<'a>(
        &mut self,
        lines: &mut &'a [u8],
        heads: &'a Heads,
        sink: &mut impl ScanSink,
    ) -> ControlFlow<()> {
        let mut line = Line::default();
        heads.of(lines).try_for_each(|(bytes, head)| {
            line.read(bytes, head);
            self.line(&line, sink)
        })?;
        lines_of(lines).try_for_each(|bytes| {
            line.scan(bytes);
            self.line(&line, sink)
        })
    }

    fn line(&mut self, line: &Line<'_>, sink: &mut impl ScanSink) -> ControlFlow<()> {
        self.end.lines += 1;
        let flow = self.tell(line, sink);
        self.end.offset += line.bytes.len() as u64 + 1;
        flow
    }

    fn tell(&self, line: &Line<'_>, sink: &mut impl ScanSink) -> ControlFlow<()> {
        sink.line(line.bytes, self.end)?;
        take_line(line, self.end, sink)
    }

    /// Takes the open line with its last bytes.
    fn close(&mut self, last: &[u8], sink: &mut impl ScanSink) -> ControlFlow<()> {
        self.end.lines += 1;
        let flow = if std::mem::take(&mut self.is_passing) {
            ControlFlow::Continue(())
        } else {
            let mut open = std::mem::take(&mut self.open);
            open.extend_from_slice(last);
            self.tell(&Line::of(&open), sink)
        };
        self.end.offset += self.end.torn + last.len() as u64 + 1;
        self.end.torn = 0;
        flow
    }

    /// Keeps what a block holds of a line whose end is still to come. Of a long line of which
    /// only the head is wanted, tells it now.
    fn open(&mut self, bytes: &[u8], sink: &mut impl ScanSink) -> ControlFlow<()> {
        self.end.torn += bytes.len() as u64;
        if self.is_passing {
            return ControlFlow::Continue(());
        }
        let was_short = self.open.len() < HEAD_LIMIT;
        self.open.extend_from_slice(bytes);
        // Looked at once: a line that never ends would be gone through with every block.
        if !was_short || self.open.len() < HEAD_LIMIT {
            return ControlFlow::Continue(());
        }
        let open = std::mem::take(&mut self.open);
        let line = Line::of(&open);
        let is_enough = |head: &RawHead<'_>| !sink.wants_whole(head.kind());
        if !line.head.as_ref().is_some_and(is_enough) {
            self.open = open;
            return ControlFlow::Continue(());
        }
        self.is_passing = true;
        let at = ScanEnd {
            lines: self.end.lines + 1,
            ..self.end
        };
        take_line(&line, at, sink)
    }
}

impl<'a> Line<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut line = Self::default();
        line.scan(bytes);
        line
    }

    /// Becomes this line. Its head is read in place: it is too large to be copied each time.
    fn scan(&mut self, bytes: &'a [u8]) {
        self.renew(bytes, |head| scan_head_into(head, bytes));
    }

    /// The same, where its head was found before.
    fn read(&mut self, bytes: &'a [u8], found: FoundHead<'_>) {
        self.renew(bytes, |head| found.read_into(head, bytes));
    }

    fn renew(&mut self, bytes: &'a [u8], read: impl FnOnce(&mut RawHead<'a>) -> Option<()>) {
        self.bytes = bytes;
        let head = self.head.insert(RawHead::default());
        if read(head).is_none() {
            self.head = None;
        }
    }
}

fn take_line(line: &Line<'_>, end: ScanEnd, sink: &mut impl ScanSink) -> ControlFlow<()> {
    if let Some(head) = &line.head {
        let kind = head.kind();
        if !sink.wants_whole(kind) {
            return sink.record(Record {
                offset: end.offset,
                line_number: end.lines,
                head,
                kind,
                whole: None,
                implied_blob: None,
            });
        }
    }
    take_line_carefully(line.bytes, end.offset, end.lines, sink)
}

/// Tells a sink all that stands on a line, read with all care.
pub(super) fn take_line_carefully(
    line: &[u8],
    offset: u64,
    line_number: u64,
    sink: &mut impl ScanSink,
) -> ControlFlow<()> {
    let content = read_line(line, is_event);
    let mut remarks = content.remarks.into_iter().peekable();
    for piece in content.pieces {
        let end = match &piece {
            Piece::Record(range) | Piece::Bad(range, ..) => range.end,
        };
        while let Some((at, kind, message)) = remarks.next_if(|remark| remark.0 < end) {
            sink.problem(problem(line_number, offset + at as u64, kind, message));
        }
        match piece {
            Piece::Record(range) => {
                let at = offset + range.start as u64;
                let text = to_text(line.get(range).unwrap_or_default());
                take_record(&text, at, line_number, sink)?;
            }
            Piece::Bad(range, kind, message) => {
                sink.problem(problem(
                    line_number,
                    offset + range.start as u64,
                    kind,
                    message,
                ));
            }
        }
    }
    for (at, kind, message) in remarks {
        sink.problem(problem(line_number, offset + at as u64, kind, message));
    }
    ControlFlow::Continue(())
}

/// Whether a JSON object is an event of a tape.
pub(super) fn is_event(object: &str) -> bool {
    parse_record(object).is_ok_and(|(line, _)| line.head.seq.is_some() && line.head.kind.is_some())
}

fn take_record(
    text: &str,
    offset: u64,
    line_number: u64,
    sink: &mut impl ScanSink,
) -> ControlFlow<()> {
    let line = match parse_record(text) {
        Ok((line, _)) => line,
        Err(error) => {
            sink.problem(problem(
                line_number,
                offset,
                ProblemKind::NotJson,
                error.to_string(),
            ));
            return ControlFlow::Continue(());
        }
    };
    for field in &line.bad_fields {
        let message = format!("the field `{field}` is of a wrong type; it is treated as absent");
        sink.problem(problem(line_number, offset, ProblemKind::BadField, message));
    }
    if line.head.kind.is_none() {
        let message = "an object without `kind`".to_owned();
        sink.problem(problem(line_number, offset, ProblemKind::BadField, message));
    }
    let implied_blob = implied_blob(&line);
    sink.record(Record {
        offset,
        line_number,
        head: &line.head,
        kind: line.head.kind(),
        whole: Some(text),
        implied_blob,
    })
}

/// A content written by hand names itself: nobody computes BLAKE3 by hand.
fn implied_blob(line: &super::wire::Line<'_>) -> Option<BlobHash> {
    let head = &line.head;
    let is_implied = matches!(head.kind(), Kind::FsWrite | Kind::FsObserve | Kind::Blob)
        && head.blob.is_none()
        && matches!(head.enc, Enc::Elsewhere | Enc::Text);
    match is_implied.then(|| decode_blob(line)).flatten()? {
        super::wire::v1::BlobParts::Whole(bytes) => Some(BlobHash::of(&bytes)),
        _ => None,
    }
}

fn problem(line: u64, offset: u64, kind: ProblemKind, message: String) -> Problem {
    Problem::new(line, offset, kind, message)
}
