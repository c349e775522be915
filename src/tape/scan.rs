//! The walk over the lines of a tape: heads first, whole lines only where they are needed.
//!
//! Reads in blocks, so that a tape that is cut while it is read is an end, not a signal.

use std::io;
use std::ops::ControlFlow;

use super::TapeBytes;
use super::lines::{Piece, read_line, to_text};
use super::wire::v1::{Scan, decode_blob, parse_record, scan_head};
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
    pub head: RawHead<'a>,
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

/// Bytes read at once.
const BLOCK: usize = 1 << 20;
/// A head that is longer than this is read as a whole line.
const HEAD_LIMIT: usize = 1 << 16;

/// Walks the lines from `start` to the end of the bytes.
pub fn scan(bytes: &TapeBytes, start: ScanEnd, sink: &mut impl ScanSink) -> io::Result<ScanEnd> {
    let mut buffer: Vec<u8> = vec![0; BLOCK];
    let mut filled = 0;
    let mut end = ScanEnd { torn: 0, ..start };
    // Set while the rest of a line, whose head was enough, is passed over.
    let mut passing = None;
    loop {
        if filled == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        let read_from = end.offset + end.torn;
        let count = bytes.read_at(read_from, buffer.split_at_mut(filled).1)?;
        if count == 0 {
            return Ok(end);
        }
        let mut rest = buffer.split_at(filled + count).0;
        // Bytes of the open line that were looked at before hold no newline.
        let mut searched = filled;
        loop {
            let newline = rest
                .get(searched..)
                .and_then(|new| memchr::memchr(b'\n', new))
                .map(|found| found + searched);
            searched = 0;
            let Some(newline) = newline else { break };
            let (line, after) = rest.split_at(newline);
            let passed: u64 = passing.take().unwrap_or(0);
            end.lines += 1;
            let is_whole = passed == 0;
            if is_whole
                && (sink.line(line, end).is_break() || take_line(line, end, sink).is_break())
            {
                end.offset += newline as u64 + 1;
                end.torn = 0;
                return Ok(end);
            }
            end.offset += passed + newline as u64 + 1;
            rest = after.get(1..).unwrap_or_default();
        }
        let passed: u64 = passing.unwrap_or(0);
        end.torn = passed + rest.len() as u64;
        let kept = rest.len();
        if passing.is_none() && kept >= HEAD_LIMIT && head_is_enough(rest, sink) {
            // The line is long and only its head is wanted: tell it now, pass over the rest.
            end.lines += 1;
            let flow = take_line(rest, end, sink);
            end.lines -= 1;
            if flow.is_break() {
                return Ok(end);
            }
            passing = Some(0);
        }
        if let Some(passed) = &mut passing {
            *passed += kept as u64;
            filled = 0;
        } else {
            let from = filled + count - kept;
            buffer.copy_within(from..from + kept, 0);
            filled = kept;
        }
    }
}

fn head_is_enough(line: &[u8], sink: &impl ScanSink) -> bool {
    match scan_head(line) {
        Scan::Head(head) => !sink.wants_whole(head.kind()),
        Scan::Incomplete | Scan::OtherOrder => false,
    }
}

fn take_line(line: &[u8], end: ScanEnd, sink: &mut impl ScanSink) -> ControlFlow<()> {
    if let Scan::Head(head) = scan_head(line)
        && !sink.wants_whole(head.kind())
    {
        return sink.record(Record {
            offset: end.offset,
            line_number: end.lines,
            head,
            whole: None,
            implied_blob: None,
        });
    }
    take_line_carefully(line, end.offset, end.lines, sink)
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
        head: line.head,
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
