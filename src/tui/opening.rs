//! A run that is shown while it is still being read.

use super::held::Ticket;
use super::job::ReadingState;
use super::travel::Arrival;
use crate::model::{Progress, Target};

/// How far the reading of the run is. While there is one, the run is not whole.
#[derive(Debug)]
pub(super) struct Opening {
    /// Which replies belong to it.
    pub(super) ticket: Ticket,
    pub(super) progress: Progress,
    pub(super) state: ReadingState,
    /// Where the playhead goes once the run is whole; `None` once a person has moved it.
    pub(super) awaited: Option<Arrival>,
}

impl Opening {
    /// Whether the reading goes on.
    pub(super) fn is_running(&self) -> bool {
        self.state == ReadingState::Running
    }

    /// Whether anything was heard of it.
    pub(super) fn has_begun(&self) -> bool {
        self.progress.done > 0 || !self.is_running()
    }

    /// How far it is, in words: `reading 43 %`. What is awaited is said, where it is more
    /// than the end of the run.
    pub(super) fn describe(&self) -> String {
        let percent = self.progress.percent();
        match &self.state {
            ReadingState::Running => match &self.awaited {
                Some(Arrival::Place(place)) if place.target != Target::End => {
                    format!("reading {percent} %, then to {place}")
                }
                _ => format!("reading {percent} %"),
            },
            _ => format!("stopped at {percent} %"),
        }
    }
}
