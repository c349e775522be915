//! Where each event is: about ten bytes an event, in blocks.

use super::column::Column;
use crate::model::{Kind, Micros, Seq};

/// Events in a block.
const BLOCK: usize = 4096;
/// Times may go backwards: a block's base lies this far before its first time.
const TIME_SLACK: u64 = 1 << 31;

/// What the index knows of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventEntry {
    /// The first byte of its record.
    pub offset: u64,
    /// Microseconds since the run began.
    pub t: Micros,
    /// Its kind; [`Kind::Gap`] also for a line that cannot be read.
    pub kind: Kind,
    /// Its step, as the index numbers steps; `None` for the header.
    pub step: Option<u32>,
}

/// The events of a tape by position: the order of lines, from 0.
#[derive(Clone, Debug, Default)]
pub struct Events {
    blocks: Vec<Block>,
    len: u32,
    /// The number that is expected next.
    next_seq: u64,
    /// Where numbers do not go on by one: positions and the seq from there on.
    jumps: Vec<(u32, u64)>,
}

#[derive(Clone, Debug)]
struct Block {
    offsets: Column,
    times: Column,
    steps: Column,
    kinds: Vec<u8>,
}

impl Events {
    /// How many there are.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The event at a position.
    pub fn get(&self, position: u32) -> Option<EventEntry> {
        let at = position as usize % BLOCK;
        let block = self.blocks.get(position as usize / BLOCK)?;
        Some(EventEntry {
            offset: block.offsets.get(at),
            t: block.times.get(at),
            kind: Kind::from_code(*block.kinds.get(at)?),
            step: u32::try_from(block.steps.get(at)).ok()?.checked_sub(1),
        })
    }

    /// Its kind alone; a walk over many events needs no more.
    pub fn kind(&self, position: u32) -> Option<Kind> {
        let block = self.blocks.get(position as usize / BLOCK)?;
        block
            .kinds
            .get(position as usize % BLOCK)
            .map(|code| Kind::from_code(*code))
    }

    /// The number of the event at a position. Of a gap, the first number that is missing.
    pub fn seq(&self, position: u32) -> Seq {
        let after = self.jumps.partition_point(|jump| jump.0 <= position);
        let (from, seq) = after
            .checked_sub(1)
            .and_then(|at| self.jumps.get(at))
            .copied()
            .unwrap_or_default();
        Seq(seq + u64::from(position - from))
    }

    /// The number that the next event should have.
    pub const fn next_seq(&self) -> Seq {
        Seq(self.next_seq)
    }

    /// The position of the event with this number.
    pub fn position(&self, seq: Seq) -> Option<u32> {
        let first = [(0, 0)];
        let jumps = if self.jumps.is_empty() {
            first.as_slice()
        } else {
            self.jumps.as_slice()
        };
        // Jumps are few and, on a reordered tape, not in order: the last stretch that
        // holds the number wins, so that a late event is found before its gap.
        jumps
            .iter()
            .enumerate()
            .rev()
            .find_map(|(at, &(from, base))| {
                let end = jumps.get(at + 1).map_or(self.len, |next| next.0);
                let ahead = u32::try_from(seq.0.checked_sub(base)?).ok()?;
                let position = from.checked_add(ahead)?;
                (position < end).then_some(position)
            })
    }

    /// The last event at most this late; positions are searched as if times never went back.
    pub fn at_time(&self, t: Micros) -> Option<u32> {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(|event| event.t <= t) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.checked_sub(1)
    }

    pub(super) fn push(&mut self, event: EventEntry, seq: Seq) {
        if seq.0 != self.next_seq {
            self.jumps.push((self.len, seq.0));
        }
        self.next_seq = seq.0.saturating_add(1);
        let step = event.step.map_or(0, |step| u64::from(step) + 1);
        if (self.len as usize).is_multiple_of(BLOCK) {
            if let Some(full) = self.blocks.last_mut() {
                full.shrink();
            }
            self.blocks.push(Block {
                offsets: Column::new(event.offset),
                times: Column::new(event.t.saturating_sub(TIME_SLACK)),
                steps: Column::new(step.saturating_sub(64)),
                kinds: Vec::new(),
            });
        }
        if let Some(block) = self.blocks.last_mut() {
            block.offsets.push(event.offset);
            block.times.push(event.t);
            block.steps.push(step);
            block.kinds.push(event.kind as u8);
        }
        self.len += 1;
    }
}

impl Block {
    fn shrink(&mut self) {
        self.offsets.shrink();
        self.times.shrink();
        self.steps.shrink();
        self.kinds.shrink_to_fit();
    }
}
