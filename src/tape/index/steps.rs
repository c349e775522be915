//! The table of steps: about ten bytes a step.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::totals::{BLOCK, StepTotal};
use crate::model::{Outcome, StepKind, Via};
use crate::tape::cache::{Column, Keep, Reader, Writer};

/// What else is known of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepFlags(pub(super) u16);

impl StepFlags {
    /// It has file events.
    pub const FILES: Self = Self(1);
    /// A call in it may have written files that nobody saw.
    pub const SUSPECT: Self = Self(2);
    /// It shows an outside change.
    pub const OUTSIDE: Self = Self(4);
    /// A branch leaves here.
    pub const BRANCHES: Self = Self(8);
    /// A problem lies in it.
    pub const PROBLEM: Self = Self(16);
    /// It lies in a transaction.
    pub const TRANSACTION: Self = Self(32);
    /// A snapshot lies in it.
    pub const SNAPSHOT: Self = Self(64);
    /// A call in it showed what a file holds.
    pub const READS: Self = Self(128);
    /// It did something outside the files.
    pub const EFFECTS: Self = Self(256);
    /// The answer to its request did not name it: a further one of that sort is none to it.
    pub(super) const TOOK_NEXT: Self = Self(512);

    /// Whether all of these are set.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

/// Which line, which agent and which view of the files a step has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lane {
    /// The line it is numbered on.
    pub line: u16,
    /// The agent, as the index numbers them; 0 is the main agent.
    pub agent: u16,
    /// The branch whose files it sees: the line, or a transaction.
    pub view: u16,
}

/// What the index knows of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepEntry {
    /// The event that opened it.
    pub opened: u32,
    /// Its last event before the next step of the same agent opened: the state at the step
    /// is the state after this event.
    pub settled: u32,
    /// Its last event wherever it stands.
    pub last: u32,
    /// Its sort.
    pub kind: StepKind,
    /// How it ended.
    pub outcome: Outcome,
    /// What else is known.
    pub flags: StepFlags,
    /// Its line, agent and view.
    pub lane: Lane,
}

/// The steps of a tape in the order of the events that opened them, from 0.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    opened: Column<u32>,
    /// Distance of `settled` from `opened`; `FAR` where it does not fit.
    settled: Column<u16>,
    packed: Column<u16>,
    lanes: Column<u16>,
    lane_table: Vec<Lane>,
    lane_numbers: HashMap<Lane, u16, FixedState>,
    far: HashMap<u32, u32, FixedState>,
    late: HashMap<u32, u32, FixedState>,
    /// Of a fork, how the answers of its own steps came about.
    vias: HashMap<u32, Via, FixedState>,
    /// What each block of them holds.
    pub(super) totals: Vec<StepTotal>,
}

const FAR: u16 = u16::MAX;

impl Steps {
    /// How many there are.
    pub fn len(&self) -> u32 {
        self.opened.len() as u32
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.opened.is_empty()
    }

    /// A step.
    pub fn get(&self, step: u32) -> Option<StepEntry> {
        let at = step as usize;
        let opened = *self.opened.get(at)?;
        let settled = match *self.settled.get(at)? {
            FAR => self.far.get(&step).copied().unwrap_or(opened),
            near => opened + u32::from(near),
        };
        let packed = Packed(*self.packed.get(at)?);
        Some(StepEntry {
            opened,
            settled,
            last: self
                .late
                .get(&step)
                .map_or(settled, |late| settled.max(*late)),
            kind: packed.kind(),
            outcome: packed.outcome(),
            flags: packed.flags(),
            lane: *self.lane_table.get(usize::from(*self.lanes.get(at)?))?,
        })
    }

    /// How a step ended; a walk over many steps needs no more.
    pub fn outcome(&self, step: u32) -> Outcome {
        self.packed
            .get(step as usize)
            .map_or(Outcome::None, |packed| Packed(*packed).outcome())
    }

    /// How the answer of a fork's step came about.
    pub fn via(&self, step: u32) -> Option<Via> {
        self.vias.get(&step).copied()
    }

    pub(super) fn came_about(&mut self, step: u32, via: Via) {
        self.vias.insert(step, via);
    }

    /// How many steps were opened before an event.
    pub(super) fn opened_before(&self, position: u32) -> u32 {
        self.opened.partition_point(|opened| *opened < position) as u32
    }

    /// The first of these steps at whose opening no earlier one was open: all that belongs to
    /// those stands before it. The last such step first.
    pub(super) fn quiet(&self, steps: u32) -> impl Iterator<Item = u32> {
        let blocks = 0..steps.min(self.len()).div_ceil(BLOCK);
        let mut last = 0;
        // Of each block, the last event of all steps before it.
        let before = self.totals.iter().take(blocks.len()).map(move |total| {
            let before = last;
            last = last.max(total.last);
            before
        });
        let before: Vec<u32> = before.collect();
        blocks.zip(before).rev().flat_map(move |(block, before)| {
            let mut last = before;
            let numbers = block * BLOCK..((block + 1) * BLOCK).min(steps);
            let is_quiet = |number: &u32| {
                let Some(step) = self.get(*number) else {
                    return false;
                };
                let is_quiet = last < step.opened;
                last = last.max(step.last);
                is_quiet
            };
            let quiet: Vec<u32> = numbers.filter(is_quiet).collect();
            quiet.into_iter().rev()
        })
    }

    /// The first steps, behind which no event belongs to them.
    pub(super) fn cut(&self, len: u32) -> Self {
        let count = len as usize;
        let lanes = self.lanes.cut(count);
        let lane_count = lanes.iter().max().map_or(0, |last| usize::from(*last) + 1);
        let lane_table = self.lane_table.get(..lane_count).unwrap_or_default();
        let before = |table: &HashMap<u32, u32, FixedState>| {
            let before = table.iter().filter(|(step, _)| **step < len);
            before.map(|(step, at)| (*step, *at)).collect()
        };
        let vias = self.vias.iter().filter(|(step, _)| **step < len);
        let full = count / BLOCK as usize;
        let mut cut = Self {
            opened: self.opened.cut(count),
            settled: self.settled.cut(count),
            packed: self.packed.cut(count),
            lanes,
            lane_table: lane_table.to_vec(),
            lane_numbers: lane_table.iter().copied().zip(0..).collect(),
            far: before(&self.far),
            late: before(&self.late),
            vias: vias.map(|(step, via)| (*step, *via)).collect(),
            totals: self.totals.get(..full).unwrap_or_default().to_vec(),
        };
        if !count.is_multiple_of(BLOCK as usize) {
            cut.totals.push(StepTotal::default());
            cut.total_again(len - 1);
        }
        cut
    }

    /// Takes back what the flags of a step say.
    pub(super) fn unflag(&mut self, step: u32, flags: StepFlags) {
        if let Some(packed) = self.packed.to_mut().get_mut(step as usize) {
            *packed &= !(flags.0 << 6);
            self.total_again(step);
        }
    }

    /// Adds up anew what the block of a step holds.
    fn total_again(&mut self, step: u32) {
        let block = step / BLOCK;
        let mut total = StepTotal::default();
        for step in (block * BLOCK..(block + 1) * BLOCK).map_while(|step| self.get(step)) {
            total.add(&StepTotal::of(step));
        }
        if let Some(place) = self.totals.get_mut(block as usize) {
            *place = total;
        }
    }

    /// The lane of a step.
    pub(super) fn lane(&self, step: u32) -> Option<Lane> {
        let number = self.lanes.get(step as usize)?;
        self.lane_table.get(usize::from(*number)).copied()
    }

    /// The lanes that steps have, in the order in which they were first seen.
    pub(super) fn lanes(&self) -> &[Lane] {
        &self.lane_table
    }

    /// Whether steps of this lane can be told apart from all others.
    pub(super) fn has_room_for(&self, lane: Lane) -> bool {
        self.lane_table.len() < usize::from(u16::MAX) || self.lane_numbers.contains_key(&lane)
    }

    pub(super) fn push(
        &mut self,
        opened: u32,
        kind: StepKind,
        outcome: Outcome,
        lane: Lane,
    ) -> u32 {
        let step = self.len();
        let number = if let Some(number) = self.lane_numbers.get(&lane) {
            *number
        } else {
            let number = self.lane_table.len() as u16;
            self.lane_table.push(lane);
            self.lane_numbers.insert(lane, number);
            number
        };
        self.opened.to_mut().push(opened);
        self.settled.to_mut().push(0);
        self.packed.to_mut().push(Packed::new(kind, outcome).0);
        self.lanes.to_mut().push(number);
        if step.is_multiple_of(BLOCK) {
            self.totals.push(StepTotal::default());
        }
        if let Some(total) = self.totals.last_mut() {
            total.add(&StepTotal::opened(kind, outcome, opened));
        }
        step
    }

    pub(super) fn settle(&mut self, step: u32, position: u32) {
        let at = step as usize;
        let (Some(opened), Some(settled), Some(total)) = (
            self.opened.get(at),
            self.settled.to_mut().get_mut(at),
            self.totals.get_mut((step / BLOCK) as usize),
        ) else {
            return;
        };
        let before = match *settled {
            FAR => self.far.get(&step).map_or(0, |position| position - opened),
            near => u32::from(near),
        };
        total.events += u64::from(position - opened - before);
        total.last = total.last.max(position);
        *settled = u16::try_from(position - opened).unwrap_or(FAR);
        if *settled == FAR {
            self.far.insert(step, position);
        }
    }

    pub(super) fn come_late(&mut self, step: u32, position: u32) {
        let late = self.late.entry(step).or_default();
        *late = position.max(*late);
        if let Some(total) = self.totals.get_mut((step / BLOCK) as usize) {
            total.last = total.last.max(position);
        }
    }

    pub(super) fn set_outcome(&mut self, step: u32, outcome: Outcome) {
        let at = step as usize;
        if let Some(packed) = self.packed.to_mut().get_mut(at)
            && let Some(total) = self.totals.get_mut(at / BLOCK as usize)
        {
            total.failures -= u32::from(Packed(*packed).outcome().is_failure());
            total.failures += u32::from(outcome.is_failure());
            *packed = (*packed & !(7 << 3)) | ((outcome as u16) << 3);
        }
    }

    pub(super) fn flag(&mut self, step: u32, flags: StepFlags) {
        let at = step as usize;
        if flags != StepFlags::default()
            && let Some(packed) = self.packed.to_mut().get_mut(at)
            && let Some(total) = self.totals.get_mut(at / BLOCK as usize)
        {
            let is_new = !Packed(*packed).flags().has(StepFlags::FILES);
            total.with_files += u32::from(is_new && flags.has(StepFlags::FILES));
            total.flags.0 |= flags.0;
            *packed |= flags.0 << 6;
        }
    }
}

impl Keep for Steps {
    fn write(&self, out: &mut Writer<'_>) {
        out.column(&self.opened);
        out.column(&self.settled);
        out.column(&self.packed);
        out.column(&self.lanes);
        let lane = |lane: &Lane| [lane.line, lane.agent, lane.view];
        out.column(&self.lane_table.iter().map(lane).collect::<Vec<_>>());
        out.pairs(self.far.iter().map(|(step, position)| (*step, *position)));
        out.pairs(self.late.iter().map(|(step, position)| (*step, *position)));
        out.pairs(self.vias.iter().map(|(step, via)| (*step, *via as u8)));
        StepTotal::write_all(&self.totals, out);
    }

    fn read(from: &mut Reader) -> Self {
        let opened = from.column();
        let (settled, packed, lanes) = (from.column(), from.column(), from.column());
        let table = from.column::<[u16; 3]>();
        let lane = |[line, agent, view]: [u16; 3]| Lane { line, agent, view };
        let lane_table: Vec<Lane> = table.iter().copied().map(lane).collect();
        let lane_numbers = lane_table.iter().copied().zip(0..).collect();
        let (far, late) = (from.pairs().collect(), from.pairs().collect());
        let via = |(step, code): (u32, u8)| Some((step, Via::from_code(code)?));
        let vias = from.pairs().filter_map(via).collect();
        let totals = StepTotal::read_all(from);
        let others = [&settled, &packed, &lanes];
        from.require(
            others
                .into_iter()
                .all(|column| column.len() == opened.len()),
        );
        from.require(totals.len() == opened.len().div_ceil(BLOCK as usize));
        Self {
            opened,
            settled,
            packed,
            lanes,
            lane_table,
            lane_numbers,
            far,
            late,
            vias,
            totals,
        }
    }
}

/// Sort (3 bits), outcome (3 bits) and flags (10 bits) of a step.
#[derive(Clone, Copy)]
struct Packed(u16);

impl Packed {
    const fn new(kind: StepKind, outcome: Outcome) -> Self {
        Self(kind as u16 | ((outcome as u16) << 3))
    }

    fn kind(self) -> StepKind {
        StepKind::ALL
            .get(usize::from(self.0 & 7))
            .copied()
            .unwrap_or(StepKind::Other)
    }

    fn outcome(self) -> Outcome {
        Outcome::ALL
            .get(usize::from((self.0 >> 3) & 7))
            .copied()
            .unwrap_or_default()
    }

    const fn flags(self) -> StepFlags {
        StepFlags(self.0 >> 6)
    }
}
