//! What is known of a fork by the index of its parent, so that what they share is not read
//! again: a few lines of it are, however long it is.

use std::io;
use std::ops::ControlFlow;

use super::Shared;
use crate::model::{Kind, Seq};
use crate::tape::index::{Cut, Growth, Index, IndexSink, Indexed, Returned};
use crate::tape::read_ahead::Block;
use crate::tape::scan::{Record, ScanEnd};
use crate::tape::{Tape, TapeBytes};

/// Places that are looked at for one where the index can be cut.
const MOST_PLACES: usize = 1 << 10;
/// Answers that are looked at for the calls that returned last.
const MOST_ANSWERS: usize = 1 << 10;

impl Tape {
    /// A fork of this tape that shares these lines with it, known as far as this tape's index
    /// says what they mean; the rest is to be read. `bytes` are those of the fork with what it
    /// shares. Where the index says nothing, nothing is known of the fork.
    ///
    /// Costs a copy of what is known, and a look at some lines.
    pub fn known_fork(&self, shared: &Shared, bytes: TapeBytes) -> io::Result<Self> {
        let unread = Self::unread(bytes.clone());
        let place = match &bytes {
            TapeBytes::Stitched(_) => self.place_to_cut(shared)?,
            // No line of its file ends: there is nothing before which they could stand.
            _ => None,
        };
        let Some(len) = place else {
            return Ok(unread);
        };
        let (Some(current_line), Some(returned)) =
            (self.current_line_at(len)?, self.returned_before(len)?)
        else {
            return Ok(unread);
        };
        let header = header_alone(&bytes)?;
        let start = shared.unbroken.start;
        let moved = header.end.offset.wrapping_sub(start);
        let cut = Cut {
            len,
            current_line,
            returned,
            start,
            moved,
        };
        let events = &self.index.events;
        let offset = events.get(len).map_or(0, |event| event.offset);
        let end = ScanEnd {
            offset: offset.wrapping_add(moved),
            lines: events.line(len) - 1,
            torn: 0,
        };
        let header = (*header.index).clone();
        let known = self.index.cut(cut, header);
        Ok(known.map_or(unread, |index| Self::known(bytes, index, end)))
    }

    /// Takes in what was not read yet, as far as the event with this number. What stands
    /// behind it is passed over: the tape is for looking at what is before.
    pub fn read_up_to(&mut self, seq: Seq, sink: &mut impl IndexSink) -> io::Result<()> {
        if self.index.events.recorded(seq).is_some() {
            return Ok(());
        }
        let (mut growth, mut blocks) = self.grow()?;
        let mut sink = UpTo {
            sink,
            seq,
            is_there: false,
        };
        while let Some(block) = blocks.next_block()? {
            if self.take(&mut growth, &block, &mut sink).is_break() {
                // Not settled: what stands behind is none of the fork's business.
                return Ok(());
            }
            blocks.give_back(block);
        }
        self.settle(growth, &mut sink);
        Ok(())
    }

    /// The last place at which the index can be cut, all before which is shared.
    fn place_to_cut(&self, shared: &Shared) -> io::Result<Option<u32>> {
        let events = &self.index.events;
        let last = events.recorded(shared.seq).unwrap_or(0);
        for position in self.index.places_to_cut(last).take(MOST_PLACES) {
            let offset = events.get(position).map_or(0, |event| event.offset);
            let is_shared = shared.unbroken.contains(&offset);
            // The event before it may be the header, of which nothing is shared.
            if position > 1 && is_shared && self.bytes.read_exact_at(offset - 1, 1)? == *b"\n" {
                return Ok(Some(position));
            }
        }
        Ok(None)
    }

    fn current_line_at(&self, len: u32) -> io::Result<Option<u16>> {
        let Some((position, line)) = self.index.current_line_before(len) else {
            return Ok(Some(0));
        };
        if line.is_some() {
            return Ok(line);
        }
        let name = self.with_head(position, |head| {
            head.branch.map(|name| name.decode().into_owned())
        })?;
        Ok(match name {
            Ok(None) => Some(0),
            Ok(Some(name)) => self.index.line_known_as(&name),
            Err(_) => None,
        })
    }

    /// The calls that had returned before so many events and still found their step, the last
    /// one last. `None` where that would be a long search.
    fn returned_before(&self, len: u32) -> io::Result<Option<Vec<Returned>>> {
        // A call can return again as long as it finds its step: the first time counts.
        let enough = 2 * Index::returned_that_count() + 1;
        let index = &self.index;
        let mut found: Vec<Returned> = Vec::new();
        let mut looks = 0;
        for position in (0..len).rev() {
            let kind = index.events.kind(position);
            if found.len() == enough {
                break;
            }
            if !matches!(kind, Some(Kind::ToolResult | Kind::ModelResponse)) {
                continue;
            }
            let step = index.events.get(position).and_then(|event| event.step);
            let Some((step, entry)) = step.and_then(|step| Some((step, index.steps.get(step)?)))
            else {
                continue;
            };
            let opens = entry.opened == position;
            if opens && kind == Some(Kind::ToolResult) {
                // Its call is nowhere.
                continue;
            }
            looks += 1;
            if looks > MOST_ANSWERS {
                return Ok(None);
            }
            let Some(id) = self.call_at(position)? else {
                continue;
            };
            if !opens && self.call_at(entry.opened)?.as_ref() != Some(&id) {
                // It answers a request that it does not name.
                continue;
            }
            let line = entry.lane.line;
            let returned = Returned { line, id, step };
            found.retain(|later| *later != returned);
            found.push(returned);
        }
        found.truncate(Index::returned_that_count());
        found.reverse();
        Ok(Some(found))
    }

    fn call_at(&self, position: u32) -> io::Result<Option<Vec<u8>>> {
        let call = self.with_head(position, |head| {
            head.call.map(|call| call.as_inside().to_vec())
        })?;
        Ok(call.ok().flatten())
    }
}

/// The header line of a tape, and nothing else of it.
fn header_alone(bytes: &TapeBytes) -> io::Result<Tape> {
    let end = bytes.line_end(0)? + 1;
    let len = usize::try_from(end).map_err(io::Error::other)?;
    let line = Block::from(bytes.read_exact_at(0, len)?);
    let mut tape = Tape::unread(bytes.clone());
    let mut growth = Growth::from(tape.end);
    let _ = tape.take(&mut growth, &line, &mut ());
    Ok(tape)
}

/// Breaks a reading off behind an event.
struct UpTo<'a, S> {
    sink: &'a mut S,
    seq: Seq,
    is_there: bool,
}

impl<S: IndexSink> IndexSink for UpTo<'_, S> {
    fn indexed(&mut self, index: &mut Index, indexed: Indexed, record: Option<&Record<'_>>) {
        self.is_there |= record.is_some() && index.events.seq(indexed.position) == self.seq;
        self.sink.indexed(index, indexed, record);
    }

    fn wants_whole(&self, kind: Kind) -> bool {
        self.sink.wants_whole(kind)
    }

    fn caught_up(&mut self) {
        self.sink.caught_up();
    }

    fn line(&mut self, line: &[u8], at: ScanEnd) -> ControlFlow<()> {
        if self.is_there {
            return ControlFlow::Break(());
        }
        self.sink.line(line, at)
    }
}
