//! Where each event is: about ten bytes an event, in blocks.

use std::collections::HashMap;
use std::ops::Range;

use super::distances::Distances;
use crate::model::{Kind, Micros, Seq};
use crate::tape::cache::{Column, Keep, Reader, Writer};

/// Events in a block.
const BLOCK: usize = 4096;
/// Times may go backwards: a block's base lies this far before its first time.
const TIME_SLACK: u64 = 1 << 31;

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tape) struct Standing {
    /// Its first byte.
    pub(in crate::tape) offset: u64,
    /// Its line, counted from 1.
    pub(in crate::tape) line: u64,
}

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
    /// The number behind that of the last position.
    following: u64,
    /// Where numbers do not go on by one: positions and the seq from there on.
    jumps: Vec<(u32, u64)>,
    /// Where, of the events that came in order, numbers do not go on by one.
    ascending: Vec<(u32, u64)>,
    /// Events that came after one with a higher number.
    late: HashMap<u64, u32>,
    highest: Option<u64>,
    /// Positions of gaps that no event of the tape says.
    implied: Column<u32>,
    /// How many of them stand for events to come after the last one.
    implied_since: u64,
    /// Where lines do not go on by one: positions and the line from there on.
    lines: Vec<(u32, u64)>,
    /// That of the last position; none is line 0.
    last_line: u64,
}

/// Where an event comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It stands on the tape.
    Recorded,
    /// It is a gap that no event of the tape says.
    Implied,
}

#[derive(Clone, Debug)]
struct Block {
    offsets: Distances,
    times: Distances,
    steps: Distances,
    kinds: Column<u8>,
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
        Seq(seq.saturating_add(u64::from(position - from)))
    }

    /// The number that the next event should have: each unreadable stretch counts as one.
    pub fn next_seq(&self) -> Seq {
        let next = self.highest.map_or(0, |highest| highest.saturating_add(1));
        Seq(next.saturating_add(self.implied_since))
    }

    /// The position of the event with this number, or of the gap that stands for it.
    pub fn position(&self, seq: Seq) -> Option<u32> {
        self.recorded(seq).or_else(|| {
            let is_it = |position: &&u32| self.seq(**position) == seq;
            self.implied.iter().rev().find(is_it).copied()
        })
    }

    /// The position of the event with this number that stands on the tape.
    pub(in crate::tape) fn recorded(&self, seq: Seq) -> Option<u32> {
        if let Some(position) = self.late.get(&seq.0) {
            return Some(*position);
        }
        let after = self.ascending.partition_point(|start| start.1 <= seq.0);
        let (from, start) = *self.ascending.get(after.checked_sub(1)?)?;
        let position = from.checked_add(u32::try_from(seq.0 - start).ok()?)?;
        let is_implied = self.implied.binary_search(&position).is_ok();
        (position < self.len && self.seq(position) == seq && !is_implied).then_some(position)
    }

    /// The line that an event stands on, counted from 1.
    pub(in crate::tape) fn line(&self, position: u32) -> u64 {
        let after = self.lines.partition_point(|start| start.0 <= position);
        let start = after.checked_sub(1).and_then(|at| self.lines.get(at));
        let (from, line) = start.copied().unwrap_or((0, 1));
        line + u64::from(position - from)
    }

    /// Positions before this one, in stretches, whose events have a number above this one.
    pub(in crate::tape) fn above(&self, seq: Seq, before: u32) -> impl Iterator<Item = Range<u32>> {
        let ends = self.jumps.iter().skip(1).map(|jump| jump.0);
        let ends = ends.chain([self.len]);
        // The first stretch begins with the first jump, if number and position part there.
        let first = self.jumps.first().map_or(self.len, |jump| jump.0);
        let start = std::iter::once(((0, 0), first));
        let stretches = start.chain(self.jumps.iter().copied().zip(ends));
        stretches.filter_map(move |((from, number), end)| {
            let lower = seq.0.saturating_add(1).saturating_sub(number);
            let from = from.saturating_add(u32::try_from(lower).unwrap_or(u32::MAX));
            let range = from..end.min(before);
            (!range.is_empty()).then_some(range)
        })
    }

    /// Whether all before a position came in order, the event before it is on the tape, and
    /// the one at it is the next: nothing of what is told there depends on more than that.
    pub(super) fn goes_on_at(&self, position: u32) -> bool {
        let Some(before) = position.checked_sub(1) else {
            return false;
        };
        let (last, next) = (self.seq(before), self.seq(position));
        self.recorded(last) == Some(before)
            && self.recorded(next) == Some(position)
            && !self.late.contains_key(&last.0)
            && !self.late.contains_key(&next.0)
            && next.0 == last.0 + 1
            && self.line(before) < self.line(position)
    }

    /// The first events, their records moved by so many bytes, modulo 2^64, but for the first.
    /// Numbers [go on](Self::goes_on_at) there.
    pub(super) fn cut(&self, len: u32, moved: u64) -> Self {
        let blocks = self.blocks.iter().zip((0..len as usize).step_by(BLOCK));
        let cut = |(block, from): (&Block, usize)| block.cut(len as usize - from, moved);
        let mut blocks: Vec<Block> = blocks.map(cut).collect();
        if let Some(first) = blocks.first_mut()
            && let Some(whole) = self.blocks.first()
        {
            first.offsets = Distances::new(0);
            first.offsets.push(whole.offsets.get(0));
            for at in 1..first.kinds.len() {
                first
                    .offsets
                    .push(whole.offsets.get(at).wrapping_add(moved));
            }
        }
        let before = |list: &[(u32, u64)]| {
            let count = list.partition_point(|start| start.0 < len);
            list.get(..count).unwrap_or_default().to_vec()
        };
        let late = self.late.iter().filter(|(_, position)| **position < len);
        let last = len.checked_sub(1).map(|last| self.seq(last).0);
        Self {
            blocks,
            len,
            following: last.map_or(0, |last| last.saturating_add(1)),
            jumps: before(&self.jumps),
            ascending: before(&self.ascending),
            late: late.map(|(seq, position)| (*seq, *position)).collect(),
            highest: last,
            implied: self
                .implied
                .cut(self.implied.partition_point(|position| *position < len)),
            implied_since: 0,
            lines: before(&self.lines),
            last_line: len.checked_sub(1).map_or(0, |last| self.line(last)),
        }
    }

    /// The highest number that stands on the tape.
    pub(in crate::tape) const fn highest(&self) -> Option<u64> {
        self.highest
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

    pub(super) fn push(&mut self, event: EventEntry, line: u64, seq: Seq, origin: Origin) {
        self.order(seq.0, origin);
        if line != self.last_line + 1 {
            self.lines.push((self.len, line));
        }
        self.last_line = line;
        if seq.0 != self.following {
            self.jumps.push((self.len, seq.0));
        }
        self.following = seq.0.saturating_add(1);
        let step = event.step.map_or(0, |step| u64::from(step) + 1);
        if (self.len as usize).is_multiple_of(BLOCK) {
            if let Some(full) = self.blocks.last_mut() {
                full.shrink();
            }
            self.blocks.push(Block {
                offsets: Distances::new(event.offset),
                times: Distances::new(event.t.saturating_sub(TIME_SLACK)),
                steps: Distances::new(step.saturating_sub(64)),
                kinds: Column::default(),
            });
        }
        if let Some(block) = self.blocks.last_mut() {
            block.offsets.push(event.offset);
            block.times.push(event.t);
            block.steps.push(step);
            block.kinds.to_mut().push(event.kind as u8);
        }
        self.len += 1;
    }

    /// Notes the number of the event that comes next.
    fn order(&mut self, seq: u64, origin: Origin) {
        if origin == Origin::Implied {
            self.implied.to_mut().push(self.len);
            self.implied_since += u64::from(seq == self.next_seq().0);
            return;
        }
        self.implied_since = 0;
        if self.highest.is_some_and(|highest| seq <= highest) {
            self.late.entry(seq).or_insert(self.len);
            return;
        }
        self.highest = Some(seq);
        let goes_on =
            |start: &(u32, u64)| start.1.checked_add(u64::from(self.len - start.0)) == Some(seq);
        if !self.ascending.last().is_some_and(goes_on) {
            self.ascending.push((self.len, seq));
        }
    }
}

impl Block {
    fn cut(&self, len: usize, moved: u64) -> Self {
        Self {
            offsets: self.offsets.cut(len, moved),
            times: self.times.cut(len, 0),
            steps: self.steps.cut(len, 0),
            kinds: self.kinds.cut(len),
        }
    }

    fn shrink(&mut self) {
        self.offsets.shrink();
        self.times.shrink();
        self.steps.shrink();
        self.kinds.to_mut().shrink_to_fit();
    }
}

impl Keep for Events {
    fn write(&self, out: &mut Writer<'_>) {
        let highest = self.highest.map_or([0; 2], |highest| [1, highest]);
        out.column(&[u64::from(self.len), self.following, self.implied_since]);
        out.column(&highest);
        out.pairs(self.jumps.iter().copied());
        out.pairs(self.ascending.iter().copied());
        out.pairs(self.late.iter().map(|(seq, position)| (*seq, *position)));
        out.column(&self.implied);
        out.pairs(self.lines.iter().copied());
        let bases =
            |block: &Block| [&block.offsets, &block.times, &block.steps].map(Distances::base);
        out.column(&self.blocks.iter().map(bases).collect::<Vec<_>>());
        for block in &self.blocks {
            block.offsets.write(out);
            block.times.write(out);
            block.steps.write(out);
            out.column(&block.kinds);
        }
    }

    fn read(from: &mut Reader) -> Self {
        let [len, following, implied_since] = from.numbers();
        let [has_highest, highest] = from.numbers();
        let mut events = Self {
            blocks: Vec::new(),
            len: len as u32,
            following,
            jumps: from.pairs().collect(),
            ascending: from.pairs().collect(),
            late: from.pairs().collect(),
            highest: (has_highest == 1).then_some(highest),
            implied: from.column(),
            implied_since,
            lines: from.pairs().collect(),
            last_line: 0,
        };
        events.last_line = events
            .len
            .checked_sub(1)
            .map_or(0, |last| events.line(last));
        let bases = from.column::<[u64; 3]>();
        let blocks = bases.iter().map(|bases| Block::read(from, *bases));
        events.blocks = blocks.collect();
        let lens = events.blocks.iter().map(|block| block.kinds.len() as u64);
        from.require(lens.sum::<u64>() == len);
        events
    }
}

impl Block {
    fn read(from: &mut Reader, [offsets, times, steps]: [u64; 3]) -> Self {
        let block = Self {
            offsets: Distances::read(from, offsets),
            times: Distances::read(from, times),
            steps: Distances::read(from, steps),
            kinds: from.column(),
        };
        let is_even = |column: &Distances| column.len() == block.kinds.len();
        from.require(
            [&block.offsets, &block.times, &block.steps]
                .into_iter()
                .all(is_even),
        );
        block
    }
}
