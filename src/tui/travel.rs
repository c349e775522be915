//! Where the playhead is, where it has been, and where it is going.

use std::collections::{BTreeMap, VecDeque};

use super::action::ActionId;
use super::held::Ticket;
use super::job::{Base, Landmark, Stop};
use crate::debugger::{Direction, Spot};
use crate::model::Place;

/// The playhead and its places.
#[derive(Debug)]
pub(super) struct Travel {
    /// Where the playhead is; `None` until the first place has been found.
    pub(super) stop: Option<Stop>,
    /// It stands between two events of its step, not at its end.
    pub(super) is_inside: bool,
    /// What differences are measured from, if not from the start of the step.
    pub(super) base: Option<Stop>,
    /// The marks by letter.
    pub(super) marks: BTreeMap<char, Stop>,
    /// Where jumps began, the latest last.
    pub(super) back: Vec<Stop>,
    /// A move that waits for the tape.
    pub(super) under_way: Option<UnderWay>,
    /// Moves that were asked for while one was under way.
    pub(super) queue: VecDeque<(ActionId, Option<u32>)>,
    /// Where the playhead has to be put as soon as the run is known.
    pub(super) arrival: Option<Arrival>,
    /// Whether the end of the run is followed.
    pub(super) follow: Follow,
}

/// A move that waits for its answer.
#[derive(Debug)]
pub(super) struct UnderWay {
    /// Which reply it waits for.
    pub(super) ticket: Ticket,
    /// What for.
    pub(super) errand: Errand,
}

/// What a move is for: it says what happens when its answer comes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Errand {
    /// The first place, or a new one after the file was replaced.
    Arrive,
    /// Some steps on or back.
    Steps,
    /// Some events on or back.
    Events,
    /// A place that was named.
    Place,
    /// The end, because the run grew.
    Follow,
    /// A landmark.
    Landmark(Landmark, Direction),
    /// A place to measure differences from.
    Base,
}

/// Where the playhead is put when a run is opened.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Arrival {
    /// At a place that was asked for.
    Place(Place),
    /// At this step, or the last one.
    Step(u32),
    /// Where the run was left, or at its end.
    Left,
}

/// Whether the end of the run is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
    /// The file is not watched.
    Off,
    /// The playhead goes where the run goes.
    Sticking,
    /// A person went back when the run had this many steps.
    Behind(u32),
}

/// So many places are kept to jump back to.
const MAX_BACK: usize = 100;

/// So many moves may wait for one that is under way.
const MAX_QUEUE: usize = 64;

impl Travel {
    /// Before the run is known.
    pub(super) fn new(arrival: Arrival) -> Self {
        Self {
            stop: None,
            is_inside: false,
            base: None,
            marks: BTreeMap::new(),
            back: Vec::new(),
            under_way: None,
            queue: VecDeque::new(),
            arrival: Some(arrival),
            follow: Follow::Off,
        }
    }

    /// The spot the playhead is on.
    pub(super) fn spot(&self) -> Option<Spot> {
        self.stop.map(|stop| stop.spot)
    }

    /// What differences are measured from.
    pub(super) fn base(&self) -> Base {
        self.base
            .map_or(Base::StepStart, |base| Base::Spot(base.spot))
    }

    /// Keeps a place to jump back to.
    pub(super) fn keep(&mut self, stop: Stop) {
        if self.back.last() != Some(&stop) {
            self.back.push(stop);
        }
        let extra = self.back.len().saturating_sub(MAX_BACK);
        self.back.drain(..extra);
    }

    /// Keeps a move for later.
    pub(super) fn postpone(&mut self, action: ActionId, count: Option<u32>) {
        if self.queue.len() < MAX_QUEUE {
            self.queue.push_back((action, count));
        }
    }

    /// Gives up moves that were asked for: another one takes their place.
    pub(super) fn give_up(&mut self) {
        self.under_way = None;
        self.queue.clear();
    }

    /// Forgets every place: they are of another file.
    pub(super) fn forget_places(&mut self) {
        self.base = None;
        self.marks.clear();
        self.back.clear();
        self.give_up();
    }
}
