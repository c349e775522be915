//! Which step an event belongs to: §6 of the format, one event after the other.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

use super::calls::{Calls, Returned};
use super::events::Events;
use super::steps::{Lane, StepFlags, Steps};
use crate::model::{Kind, Outcome, StepKind};
use crate::tape::cache::{Keep, Reader, Writer};
use crate::tape::wire::{RawHead, Text};

/// What an event means for the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Grouped {
    /// Its step; `None` for the header.
    pub(super) step: Option<u32>,
    /// It opened the step.
    pub(super) opens: bool,
    /// It is a result whose call is nowhere.
    pub(super) is_orphan: bool,
}

/// What the grouping remembers between events.
#[derive(Clone, Debug, Default)]
pub(super) struct Grouper {
    /// Who the last event was of, and its open step.
    seat: Seat,
    seated: Option<Open>,
    /// The open steps of all others.
    open: HashMap<Seat, Open, FixedState>,
    calls: Calls,
    /// The outside step that the event before belonged to.
    outside: Option<(u16, u32)>,
}

/// An agent on a line.
type Seat = u32;

const fn seat(lane: Lane) -> Seat {
    ((lane.line as u32) << 16) | lane.agent as u32
}

#[derive(Clone, Copy, Debug)]
struct Open {
    step: u32,
    /// It is a model request that waits for its response.
    awaits_response: bool,
}

impl Grouper {
    /// Groups an event. `position` is its own; `lane` its line, agent and view.
    pub(super) fn group(
        &mut self,
        steps: &mut Steps,
        head: &RawHead<'_>,
        kind: Kind,
        position: u32,
        lane: Lane,
    ) -> Grouped {
        let outside = self.outside.take();
        self.sit(seat(lane));
        if kind == Kind::Tape {
            return Grouped {
                step: None,
                opens: false,
                is_orphan: false,
            };
        }
        let mut grouped = |group: &mut Self, kind: StepKind, outcome: Outcome| {
            let step = steps.push(position, kind, outcome, lane);
            if kind != StepKind::Outside {
                group.seated = Some(Open {
                    step,
                    awaits_response: false,
                });
            }
            Grouped {
                step: Some(step),
                opens: true,
                is_orphan: false,
            }
        };
        match kind {
            Kind::Prompt => return grouped(self, StepKind::Prompt, Outcome::None),
            Kind::TxnBegin | Kind::TxnSavepoint | Kind::TxnCommit | Kind::TxnRollback => {
                return grouped(self, StepKind::Transaction, Outcome::None);
            }
            Kind::Gap => return grouped(self, StepKind::Gap, Outcome::None),
            Kind::ToolCall => {
                let opened = grouped(self, StepKind::Tool, Outcome::Pending);
                self.begin_call(lane, head.call, opened.step);
                return opened;
            }
            Kind::ModelRequest => {
                let opened = grouped(self, StepKind::Model, Outcome::Pending);
                self.begin_call(lane, head.call, opened.step);
                if let Some(open) = &mut self.seated {
                    open.awaits_response = true;
                }
                return opened;
            }
            Kind::ModelResponse => {
                let outcome = head.outcome.unwrap_or(Outcome::Ok);
                let known = self.end_call(lane, head.call);
                let is_named = known.is_some();
                let waiting = &mut self.seated;
                let step = match (known, waiting) {
                    (Some(step), _) => Some(step),
                    (None, Some(open)) if open.awaits_response => {
                        open.awaits_response = false;
                        Some(open.step)
                    }
                    _ => None,
                };
                let Some(step) = step else {
                    let opened = grouped(self, StepKind::Model, outcome);
                    self.begin_call(lane, head.call, opened.step);
                    self.end_call(lane, head.call);
                    return opened;
                };
                if !is_named {
                    steps.flag(step, StepFlags::TOOK_NEXT);
                }
                steps.set_outcome(step, outcome);
                return self.join(steps, step, position);
            }
            Kind::ToolResult => {
                let by_exit = match head.exit {
                    None | Some(0) => Outcome::Ok,
                    Some(_) => Outcome::Failed,
                };
                let outcome = head.outcome.unwrap_or(by_exit);
                let Some(step) = self.end_call(lane, head.call) else {
                    return Grouped {
                        is_orphan: true,
                        ..grouped(self, StepKind::Tool, outcome)
                    };
                };
                steps.set_outcome(step, outcome);
                return self.join(steps, step, position);
            }
            _ if head.is_outside => {
                let step = match outside {
                    Some((line, step)) if line == lane.line => {
                        steps.settle(step, position);
                        Grouped {
                            step: Some(step),
                            opens: false,
                            is_orphan: false,
                        }
                    }
                    _ => grouped(self, StepKind::Outside, Outcome::None),
                };
                self.outside = step.step.map(|step| (lane.line, step));
                return step;
            }
            _ => {}
        }
        let open = self.seated.map(|open| open.step);
        let called = head.call.and_then(|call| self.calls.find(lane.line, call));
        match called.or(open) {
            Some(step) => self.join(steps, step, position),
            None if is_background(kind) => Grouped {
                step: None,
                opens: false,
                is_orphan: false,
            },
            None => grouped(self, StepKind::Other, Outcome::None),
        }
    }

    /// Whether what was remembered at an earlier place can no longer be told.
    pub(super) const fn is_ambiguous(&self) -> bool {
        self.calls.is_ambiguous()
    }

    /// What was remembered when there were these steps, each of them whole: the last of these
    /// events is the last one before, and these calls had returned.
    pub(super) fn cut(&self, steps: &Steps, events: &Events, returned: Vec<Returned>) -> Self {
        let mut seats: Vec<Seat> = steps.lanes().iter().copied().map(seat).collect();
        seats.sort_unstable();
        seats.dedup();
        let mut waiting: HashSet<Seat, FixedState> = seats.into_iter().collect();
        let mut open = HashMap::default();
        for step in (0..steps.len()).rev() {
            if waiting.is_empty() {
                break;
            }
            let Some(seat) = steps.lane(step).map(seat).filter(|it| waiting.contains(it)) else {
                continue;
            };
            let Some(entry) = steps.get(step).filter(|it| it.kind != StepKind::Outside) else {
                continue;
            };
            waiting.remove(&seat);
            let is_request = events.kind(entry.opened) == Some(Kind::ModelRequest);
            let awaits_response = is_request && !entry.flags.has(StepFlags::TOOK_NEXT);
            open.insert(
                seat,
                Open {
                    step,
                    awaits_response,
                },
            );
        }
        Self {
            seat: 0,
            seated: open.remove(&0),
            open,
            calls: self.calls.cut(steps.len(), returned),
            // What comes next opens a step: it is no part of one that is nobody's.
            outside: None,
        }
    }

    /// Makes way for an agent on a line, unless it was the last one, too.
    fn sit(&mut self, seat: Seat) {
        if seat == self.seat {
            return;
        }
        if let Some(open) = self.seated.take() {
            self.open.insert(self.seat, open);
        }
        self.seat = seat;
        self.seated = self.open.remove(&seat);
    }

    /// The agent whose step a call is in.
    pub(super) fn agent_of_call(&self, call: Text<'_>, steps: &Steps) -> Option<u16> {
        let step = self.calls.find_on_any_line(call)?;
        Some(steps.get(step)?.lane.agent)
    }

    fn join(&self, steps: &mut Steps, step: u32, position: u32) -> Grouped {
        match self.seated {
            Some(open) if open.step == step => steps.settle(step, position),
            _ => steps.come_late(step, position),
        }
        Grouped {
            step: Some(step),
            opens: false,
            is_orphan: false,
        }
    }

    fn begin_call(&mut self, lane: Lane, call: Option<Text<'_>>, step: Option<u32>) {
        if let (Some(call), Some(step)) = (call, step) {
            self.calls.begin(lane.line, call, step);
        }
    }

    /// The step of a call that returned.
    fn end_call(&mut self, lane: Lane, call: Option<Text<'_>>) -> Option<u32> {
        self.calls.end(lane.line, call?)
    }
}

impl Keep for Grouper {
    fn write(&self, out: &mut Writer<'_>) {
        let open = self.open.iter().map(|(seat, open)| (*seat, *open));
        let seated = self.seated.map(|open| (self.seat, open));
        let columns =
            |(seat, open): (Seat, Open)| [seat, open.step, u32::from(open.awaits_response)];
        let rows: Vec<[u32; 3]> = open.chain(seated).map(columns).collect();
        let outside = self
            .outside
            .map_or([0; 3], |(line, step)| [1, u32::from(line), step]);
        out.column(&rows);
        out.column(&outside);
        out.column(&[self.seat]);
        self.calls.write(out);
    }

    fn read(from: &mut Reader) -> Self {
        let rows = from.column::<[u32; 3]>();
        let [is_outside, line, step] = from.numbers::<u32, 3>();
        let [seat] = from.numbers();
        let open = rows.iter().map(|[seat, step, awaits_response]| {
            let open = Open {
                step: *step,
                awaits_response: *awaits_response == 1,
            };
            (*seat, open)
        });
        let mut open: HashMap<Seat, Open, FixedState> = open.collect();
        Self {
            seat,
            seated: open.remove(&seat),
            open,
            calls: Calls::read(from),
            outside: (is_outside == 1).then_some((line as u16, step)),
        }
    }
}

/// Kinds that are part of the scene: where no step is open, they belong to none.
const fn is_background(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Snapshot
            | Kind::Blob
            | Kind::FsObserve
            | Kind::FsSuspect
            | Kind::Branch
            | Kind::InputClock
            | Kind::InputRandom
            | Kind::InputEnv
            | Kind::End
    )
}

/// What an event's kind and head say about its step.
pub(super) const fn flags_of(kind: Kind, head: &RawHead<'_>, lane: Lane) -> StepFlags {
    let mut flags = match kind {
        Kind::FsSuspect => StepFlags::SUSPECT,
        Kind::Snapshot => StepFlags::SNAPSHOT,
        Kind::Branch => StepFlags::BRANCHES,
        Kind::FsObserve if head.call.is_some() => StepFlags::READS,
        Kind::EffectIntent | Kind::EffectResult | Kind::EffectCompensate => StepFlags::EFFECTS,
        kind if kind.is_file_change() => StepFlags::FILES,
        _ => StepFlags(0),
    };
    if head.is_outside {
        flags.0 |= StepFlags::OUTSIDE.0;
    }
    if lane.view != lane.line {
        flags.0 |= StepFlags::TRANSACTION.0;
    }
    flags
}
