//! The pass that builds and grows the index.

use std::ops::ControlFlow;

use serde_json::Value;

use super::events::{Origin, Standing};
use super::steps::StepFlags;
use super::{BlobId, Index};
use crate::model::{Kind, Problem, ProblemKind, Seq};
use crate::tape::TapeBytes;
use crate::tape::compact::CompactRemark;
use crate::tape::lines::{Piece, read_line};
use crate::tape::read_ahead::Block;
use crate::tape::scan::{Record, ScanEnd, ScanSink, Walk, is_event, take_line_carefully};
use crate::tape::stitched::Dropped;
use crate::tape::wire::RawHead;
use crate::tape::wire::v1::parse_record;

/// An event that was taken into the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indexed {
    /// Its position.
    pub position: u32,
    /// Its kind; [`Kind::Gap`] also for what could not be read.
    pub kind: Kind,
    /// Its step.
    pub step: Option<u32>,
    /// The branch whose files it is about: a line or a transaction.
    pub view: u16,
    /// The blob it names.
    pub blob: Option<BlobId>,
}

/// Who is told of each event as it is indexed.
pub trait IndexSink {
    /// An event was indexed. `record` is `None` for a gap that no line says.
    fn indexed(&mut self, index: &mut Index, event: Indexed, record: Option<&Record<'_>>);

    /// Whether records of this kind are wanted whole, not their heads alone.
    fn wants_whole(&self, _kind: Kind) -> bool {
        false
    }

    /// All that stands on the tape was told, for now.
    fn caught_up(&mut self) {}

    /// A line as it stands; see [`ScanSink::line`]. A break ends the pass.
    fn line(&mut self, _line: &[u8], _at: ScanEnd) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl IndexSink for () {
    fn indexed(&mut self, _: &mut Index, _: Indexed, _: Option<&Record<'_>>) {}
}

/// The pass over the lines behind a place, as it is between two blocks: an index grows in
/// slices, and between them others may read it. However the bytes are cut, it becomes the
/// same. A line without its newline is left for the next time.
#[derive(Clone, Debug)]
pub struct Growth {
    walk: Walk,
    /// The last line of which only the head was read: offset and number.
    unproven: Option<(u64, u64)>,
}

impl Growth {
    /// What grows from this place on.
    pub(in crate::tape) fn from(start: ScanEnd) -> Self {
        Self {
            walk: Walk::from(start),
            unproven: None,
        }
    }

    /// How far it has come.
    pub(in crate::tape) const fn end(&self) -> ScanEnd {
        self.walk.end()
    }

    /// Takes the next bytes in.
    pub(in crate::tape) fn take(
        &mut self,
        block: &Block,
        index: &mut Index,
        bytes: &TapeBytes,
        sink: &mut impl IndexSink,
    ) -> ControlFlow<()> {
        let mut pass = Pass {
            index,
            sink,
            bytes,
            unproven: self.unproven.take(),
        };
        let flow = self.walk.take(block, &mut pass);
        self.unproven = pass.unproven;
        flow
    }

    /// No more bytes come for now: where the pass ended.
    pub(in crate::tape) fn settle(
        self,
        index: &mut Index,
        bytes: &TapeBytes,
        sink: &mut impl IndexSink,
    ) -> ScanEnd {
        let end = self.walk.end();
        let mut pass = Pass {
            index,
            sink,
            bytes,
            unproven: None,
        };
        // Of the last line, only the head was looked at: what else stands on it?
        pass.prove_line(self.unproven, end.offset);
        sink.caught_up();
        end
    }
}

struct Pass<'a, S> {
    index: &'a mut Index,
    sink: &'a mut S,
    bytes: &'a TapeBytes,
    /// The last line of which only the head was read: offset and number.
    unproven: Option<(u64, u64)>,
}

impl<S: IndexSink> ScanSink for Pass<'_, S> {
    fn record(&mut self, record: Record<'_>) -> ControlFlow<()> {
        let before = self.unproven.take();
        let highest = self.index.events.highest();
        let mut seq = record.head.seq.unwrap_or_else(|| self.expected_seq());
        if highest.is_none() {
            self.check_header(&record);
        } else if record.head.seq.is_none() {
            let text = "an event without `seq`; it is taken as the next one";
            self.report(&record, ProblemKind::BadField, text.to_owned());
        } else if seq > self.expected_seq() {
            self.prove_line(before, record.offset);
            let expected = self.expected_seq();
            // What a compacted tape dropped on purpose is not missing.
            let expected = expected.max(self.index.kept_from.min(seq));
            if seq > expected {
                self.miss(&record, expected, seq);
            }
        } else if highest.is_some_and(|highest| seq <= highest) {
            if let Some(known) = self.index.events.recorded(Seq(seq)) {
                self.unproven = unproven(&record);
                return self.repeated(&record, known, seq);
            }
            let text = format!("event {seq} comes late; lines are read in the order they stand");
            self.report(&record, ProblemKind::BrokenChain, text);
        }
        if record.head.seq.is_none() {
            seq = self.expected_seq();
        }
        self.unproven = unproven(&record);
        self.take(&record, seq);
        ControlFlow::Continue(())
    }

    fn problem(&mut self, problem: Problem) {
        if problem.kind.loses_events() {
            self.unproven = None;
            let at = Standing {
                offset: problem.offset,
                line: problem.line,
            };
            self.gap(at, self.expected_seq());
        }
        self.index.problems.push(problem);
    }

    fn line(&mut self, line: &[u8], at: ScanEnd) -> ControlFlow<()> {
        self.sink.line(line, at)
    }

    fn wants_whole(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Snapshot | Kind::Tape) || self.sink.wants_whole(kind)
    }
}

impl<S: IndexSink> Pass<'_, S> {
    fn expected_seq(&self) -> u64 {
        self.index.events.next_seq().0
    }

    /// The first record should be a header, of a format that is known.
    fn check_header(&mut self, record: &Record<'_>) {
        if record.kind != Kind::Tape {
            let text = "the first line is no header; read as format 1";
            return self.report(record, ProblemKind::BadHeader, text.to_owned());
        }
        let header = record.whole.map(Header::of).unwrap_or_default();
        // What a fork shares may be of a tape whose history was dropped.
        let dropped = self.bytes.dropped().unwrap_or(header.dropped);
        self.index.keep_from(dropped);
        if header.format != "1" {
            let text = format!(
                "the tape is of format {}; it is read as far as it is like format 1",
                header.format
            );
            self.report(record, ProblemKind::BadHeader, text);
        }
    }

    fn report(&mut self, record: &Record<'_>, kind: ProblemKind, message: String) {
        let (line, offset) = (record.line_number, record.offset);
        self.index
            .problems
            .push(Problem::new(line, offset, kind, message));
    }

    fn miss(&mut self, record: &Record<'_>, from: u64, to: u64) {
        let text = match to - from {
            1 => format!("event {from} is missing"),
            _ => format!("events {from} to {} are missing", to - 1),
        };
        self.report(record, ProblemKind::MissingSeq, text);
        self.gap(standing(record), from);
    }

    fn repeated(&mut self, record: &Record<'_>, known: u32, seq: u64) -> ControlFlow<()> {
        let read = |offset: u64| {
            let end = self.bytes.line_end(offset).ok()?;
            let len = usize::try_from(end - offset).ok()?;
            self.bytes.read_exact_at(offset, len).ok()
        };
        let known = self.index.events.get(known).map(|event| event.offset);
        if known == Some(record.offset) {
            // A long line is told by its head, and read again when it is whole.
            return ControlFlow::Continue(());
        }
        if known.and_then(read) == read(record.offset) {
            let text = format!("event {seq} stands twice; the repeat is ignored");
            self.report(record, ProblemKind::RepeatedSeq, text);
        } else {
            let text = format!("two different events have the number {seq}; the first counts");
            self.report(record, ProblemKind::ConflictingSeq, text);
            self.gap(standing(record), seq);
        }
        ControlFlow::Continue(())
    }

    /// Reads the line before `end` with all care, if only its head was read so far: a
    /// record that was glued to it, or damage behind its head, would be lost in silence.
    fn prove_line(&mut self, unproven: Option<(u64, u64)>, end: u64) {
        let Some((offset, line_number)) = unproven else {
            return;
        };
        let Some(len) = end
            .checked_sub(offset + 1)
            .and_then(|len| usize::try_from(len).ok())
        else {
            return;
        };
        let Ok(line) = self.bytes.read_exact_at(offset, len) else {
            return;
        };
        let content = read_line(&line, is_event);
        let first_end = match content.pieces.first() {
            Some(Piece::Record(range)) if content.pieces.len() > 1 => range.end,
            Some(Piece::Record(_)) | None => return,
            Some(Piece::Bad(range, kind, reason)) => {
                let message = format!("the line is damaged behind its head: {reason}");
                self.index
                    .problems
                    .push(Problem::new(line_number, offset, *kind, message));
                self.flag_last_step();
                range.end
            }
        };
        let rest = line.get(first_end..).unwrap_or_default();
        if !rest.trim_ascii().is_empty() {
            let offset = offset + first_end as u64;
            let text = "another record stands on the same line; both were read";
            self.index.problems.push(Problem::new(
                line_number,
                offset,
                ProblemKind::GluedRecords,
                text,
            ));
            let _ = take_line_carefully(rest, offset, line_number, self);
        }
    }

    fn flag_last_step(&mut self) {
        let index = &mut *self.index;
        let last = index.events.len().checked_sub(1);
        if let Some(step) = last.and_then(|last| index.events.get(last)?.step) {
            index.steps.flag(step, StepFlags::PROBLEM);
        }
    }

    /// A gap where no event can be read: at this offset, of unknown content.
    fn gap(&mut self, at: Standing, seq: u64) {
        let head = RawHead::default();
        let indexed = self
            .index
            .enter(&head, Kind::Gap, at, (seq, Origin::Implied), None);
        if let Some(step) = indexed.step {
            self.index.steps.flag(step, StepFlags::PROBLEM);
        }
        self.sink.indexed(self.index, indexed, None);
    }

    fn take(&mut self, record: &Record<'_>, seq: u64) {
        let kind = record.kind;
        let was_crowded = self.index.is_crowded;
        let indexed = self.index.push(
            record.head,
            kind,
            standing(record),
            seq,
            record.implied_blob,
        );
        if indexed.kind == Kind::ToolResult && self.index.last_was_orphan {
            let text = "a result whose call is not on the tape";
            self.report(record, ProblemKind::BrokenReference, text.to_owned());
        }
        if self.index.is_crowded && !was_crowded {
            let text = "more than 65,534 branches or agents: from here on, some are shown as one";
            self.report(record, ProblemKind::BadField, text.to_owned());
        }
        self.sink.indexed(self.index, indexed, Some(record));
    }
}

const fn standing(record: &Record<'_>) -> Standing {
    Standing {
        offset: record.offset,
        line: record.line_number,
    }
}

/// The line of a record of which only the head was read: offset and number.
fn unproven(record: &Record<'_>) -> Option<(u64, u64)> {
    let is_head_only = record.whole.is_none();
    is_head_only.then_some((record.offset, record.line_number))
}

/// What the pass wants to know of a header.
struct Header {
    format: String,
    dropped: Dropped,
}

impl Default for Header {
    /// Written by hand, without a format.
    fn default() -> Self {
        Self {
            format: "1".to_owned(),
            dropped: Dropped::default(),
        }
    }
}

impl Header {
    fn of(record: &str) -> Self {
        let mut header = Self::default();
        let Ok((line, _)) = parse_record(record) else {
            return header;
        };
        for (key, raw) in &line.content {
            match &**key {
                "format" => header.format = raw.get().chars().take(16).collect(),
                "compacted" => {
                    let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
                    header.dropped = CompactRemark::of_value(&value).dropped;
                }
                _ => {}
            }
        }
        header
    }
}
