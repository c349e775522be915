//! What a fork shares with its parent: found in the parent, and put before the fork's own lines.
//!
//! Where a parent lies, and whether it is the right one, is decided by whoever knows the
//! user's directories; here its bytes are given. Nothing is written, and the parent is only
//! read.

mod known;

use std::io;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::TapeBytes;
use super::compact::CompactRemark;
use super::lines::{read_line, to_text};
use super::open::Tape;
use super::redaction::EventRedaction;
use super::scan::is_event;
use super::stitched::{Dropped, Piece, Stitched};
use super::wire::v1::{decode_event, parse_record};
use crate::model::{Body, Header, LineHash, Parent, Seq};

/// The lines that a fork shares with its parent.
#[derive(Clone, Debug)]
pub struct Shared {
    pieces: Vec<Piece>,
    /// Bytes of the parent, behind its header's line, of which nothing is left out.
    unbroken: Range<u64>,
    dropped: Dropped,
    id: String,
    seq: Seq,
    line: LineHash,
    /// The hash that the last line had, if the parent was written again since.
    line_before: Option<LineHash>,
    /// What the parent's header says of placeholders: a fork's header takes its place.
    placeholders: Map<String, Value>,
}

impl Shared {
    /// The lines of a tape up to the event with this number; `None` where it has no such event
    /// on a line of its own, or no header. `name` is what to call its file.
    pub fn of(parent: &Tape, name: &str, seq: Seq) -> io::Result<Option<Self>> {
        let events = &parent.index.events;
        let (Some(first), Some(last)) = (events.get(0), events.recorded(seq)) else {
            return Ok(None);
        };
        let Some(header) = read_header(&parent.bytes)? else {
            return Ok(None);
        };
        let last_offset = events.get(last).map_or(0, |event| event.offset);
        let end = parent.bytes.line_end(last_offset)?;
        let start = parent.bytes.line_end(first.offset)? + 1;
        if !stands_alone(&parent.bytes, last_offset..end)? {
            return Ok(None);
        }
        let name: Arc<str> = name.into();
        let mut pieces = Vec::new();
        let mut unbroken = start..start;
        for range in without_later(parent, seq, last, start..end + 1)? {
            if range.start == start {
                unbroken.end = range.end;
            }
            pieces.extend(Piece::of(&parent.bytes, &name, range)?);
        }
        let dropped = match &parent.bytes {
            TapeBytes::Stitched(stitched) => stitched.dropped(),
            _ => header.compacted.dropped,
        };
        Ok(Some(Self {
            pieces,
            unbroken,
            dropped,
            id: header.header.id,
            seq,
            line: LineHash::of(&parent.record(last)?),
            line_before: header.compacted.line(seq),
            placeholders: header.placeholders,
        }))
    }

    /// The same, of a tape that was not read yet: it is read as far as the event.
    pub fn find(parent: TapeBytes, name: &str, seq: Seq) -> io::Result<Option<Self>> {
        let mut parent = Tape::unread(parent);
        parent.read_up_to(seq, &mut ())?;
        Self::of(&parent, name, seq)
    }

    /// Whether these are the lines that a fork of this parent shares.
    pub fn is_of(&self, parent: &Parent) -> bool {
        let is_it = |line: &LineHash| *line == self.line || Some(*line) == self.line_before;
        parent.id == self.id && parent.seq == self.seq && parent.line.as_ref().is_none_or(is_it)
    }

    /// What the header of a fork says of them.
    pub fn parent(&self) -> Parent {
        Parent {
            id: self.id.clone(),
            seq: self.seq,
            line: Some(self.line),
            path: None,
        }
    }

    /// The number of the last one of them.
    pub const fn seq(&self) -> Seq {
        self.seq
    }

    /// Fields of a fork's header: the placeholders that stand on these lines and that the
    /// parent's header told of.
    pub(super) fn placeholders(&self) -> Map<String, Value> {
        self.placeholders.clone()
    }

    /// A fork's bytes with these lines behind its header line. `own` are those of its file.
    pub fn before(&self, own: &TapeBytes) -> io::Result<TapeBytes> {
        let header = own.line_end(0)?;
        if header == own.len()? {
            // No line ends in it: there is nothing before which they could stand.
            return Ok(own.clone());
        }
        let stitched = Stitched::new(own, header + 1, self.pieces.clone(), self.dropped)?;
        Ok(TapeBytes::Stitched(Arc::new(stitched)))
    }
}

/// The header of a tape; `None` where its first line is none.
pub fn header_of(bytes: &TapeBytes) -> io::Result<Option<Header>> {
    Ok(read_header(bytes)?.map(|found| found.header))
}

/// What is longer is no header of anybody's, and not looked at as one.
const MAX_HEADER: u64 = 16 << 20;

struct FoundHeader {
    header: Header,
    compacted: CompactRemark,
    placeholders: Map<String, Value>,
}

fn read_header(bytes: &TapeBytes) -> io::Result<Option<FoundHeader>> {
    let end = bytes.line_end_within(0, MAX_HEADER)?;
    let line = bytes.read_exact_at(0, end as usize)?;
    let text = to_text(&line);
    let Ok((line, _)) = parse_record(&text) else {
        return Ok(None);
    };
    let event = decode_event(&line);
    let compacted = CompactRemark::of(&event);
    let placeholders = EventRedaction::placeholders_of(&event);
    Ok(match event.body {
        Body::Tape(header) => Some(FoundHeader {
            header: *header,
            compacted,
            placeholders,
        }),
        _ => None,
    })
}

/// Whether one record fills the line that ends here, so that a cut behind it cuts no other off.
fn stands_alone(bytes: &TapeBytes, record: Range<u64>) -> io::Result<bool> {
    let start = record.end - bytes.line_before(record.end + 1)?.len() as u64;
    let len = usize::try_from(record.end - start).map_err(io::Error::other)?;
    let line = bytes.read_exact_at(start, len)?;
    Ok(start == record.start && read_line(&line, is_event).pieces.len() == 1)
}

/// A range of lines without those that hold nothing but later events: where lines stand out of
/// order, some are before the last one that is shared.
fn without_later(
    tape: &Tape,
    seq: Seq,
    last: u32,
    range: Range<u64>,
) -> io::Result<Vec<Range<u64>>> {
    let events = &tape.index.events;
    let mut ranges = Vec::new();
    let mut from = range.start;
    for position in events.above(seq, last).flatten().filter(|at| *at > 0) {
        let (Some(event), Some(next)) = (events.get(position), events.get(position + 1)) else {
            continue;
        };
        let end = tape.bytes.line_end(event.offset)? + 1;
        if event.offset < from || next.offset < end {
            continue;
        }
        ranges.push(from..event.offset);
        from = end;
    }
    ranges.push(from..range.end);
    ranges.retain(|range| !range.is_empty());
    Ok(ranges)
}
