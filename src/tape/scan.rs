//! The walk over the lines of a tape: heads first, whole lines only where they are needed.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc;
use std::thread;

use super::TapeBytes;
use super::lines::{Piece, read_line, to_text};
use super::read_ahead::ReadAhead;
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
/// Fewer bytes than this are scanned before a thread has begun.
const WORTH_A_THREAD: usize = 1 << 17;
/// Where lines are longer than this on the average, there is not much to scan.
const SHORT: u64 = 1 << 10;
/// Lines that one thread hands to the other at once.
const LINES_AT_ONCE: usize = 128;
/// How many times as many may wait.
const SCANNED_AHEAD: usize = 4;

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
    /// There is more than one, so that a second thread gains something.
    has_processors: bool,
}

/// A whole line, and its head if that is in the fixed order.
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
            has_processors: thread::available_parallelism().is_ok_and(|count| count.get() > 1),
        }
    }

    /// How far it has come.
    pub(super) const fn end(&self) -> ScanEnd {
        self.end
    }

    /// Takes the next bytes, of any length.
    pub(super) fn take(&mut self, block: &[u8], sink: &mut impl ScanSink) -> ControlFlow<()> {
        let mut rest = block;
        if self.end.torn > 0 {
            let Some(newline) = memchr::memchr(b'\n', block) else {
                return self.open(block, sink);
            };
            let (last, after) = block.split_at(newline);
            self.close(last, sink)?;
            rest = after.get(1..).unwrap_or_default();
        }
        let whole = memchr::memrchr(b'\n', rest).map_or(0, |last| last + 1);
        let (lines, start) = rest.split_at(whole);
        self.lines(lines, sink)?;
        self.open(start, sink)
    }

    /// Takes whole lines, each with its newline. Where they are many, a second thread scans
    /// their heads, a few ahead of those that are taken.
    fn lines(&mut self, lines: &[u8], sink: &mut impl ScanSink) -> ControlFlow<()> {
        let are_short = self.end.offset < self.end.lines * SHORT;
        if lines.len() < WORTH_A_THREAD || !are_short || !self.has_processors {
            return self.lines_in_turn(lines, sink);
        }
        let (sender, receiver) = mpsc::sync_channel(SCANNED_AHEAD);
        let scan_ahead = move || {
            let mut lines = lines;
            while !lines.is_empty() && sender.send(scan_some(&mut lines)).is_ok() {}
        };
        thread::scope(|scope| {
            match thread::Builder::new().spawn_scoped(scope, scan_ahead) {
                // The receiver is taken by value: when this ends early, so does the thread.
                Ok(_) => receiver
                    .into_iter()
                    .try_for_each(|some| some.iter().try_for_each(|line| self.line(line, sink))),
                Err(_) => self.lines_in_turn(lines, sink),
            }
        })
    }

    fn lines_in_turn(&mut self, mut lines: &[u8], sink: &mut impl ScanSink) -> ControlFlow<()> {
        let mut line = Line::unscanned();
        lines_of(&mut lines).try_for_each(|bytes| {
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
        self.open.extend_from_slice(bytes);
        if self.open.len() < HEAD_LIMIT {
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
        let mut line = Self::unscanned();
        line.scan(bytes);
        line
    }

    const fn unscanned() -> Self {
        Self {
            bytes: &[],
            head: None,
        }
    }

    /// Becomes this line. Its head is read in place: it is too large to be copied each time.
    fn scan(&mut self, bytes: &'a [u8]) {
        self.bytes = bytes;
        let head = self.head.insert(RawHead::default());
        if scan_head_into(head, bytes).is_none() {
            self.head = None;
        }
    }
}

/// Whole lines, one by one; what is left of `lines` begins with the next one.
fn lines_of<'a>(lines: &mut &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    std::iter::from_fn(|| {
        let (line, after) = lines.split_at(memchr::memchr(b'\n', lines)?);
        *lines = after.get(1..).unwrap_or_default();
        Some(line)
    })
}

/// The next lines with their heads.
fn scan_some<'a>(lines: &mut &'a [u8]) -> Vec<Line<'a>> {
    let mut some = Vec::with_capacity(LINES_AT_ONCE);
    for bytes in lines_of(lines).take(LINES_AT_ONCE) {
        some.push(Line::unscanned());
        if let Some(line) = some.last_mut() {
            line.scan(bytes);
        }
    }
    some
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
    Problem {
        line,
        offset,
        kind,
        message,
    }
}
