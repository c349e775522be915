//! The requests that wait for a thread: at most one of each slot.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::tui::job::{Request, Slot};

/// Where requests wait. The first slot, in the order of [`Slot`], is served first.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    requests: BTreeMap<Slot, Request>,
    is_closed: bool,
    /// A request was taken out, and no other was asked for since.
    is_busy: bool,
    /// The thread has ended, and what it held is gone.
    is_left: bool,
}

impl Mailbox {
    /// Puts a request in the place of its slot.
    pub(super) fn put(&self, slot: Slot, request: Request) {
        self.lock().requests.insert(slot, request);
        self.changed.notify_one();
    }

    /// Puts a request back, unless a newer one of its slot has come.
    pub(super) fn put_back(&self, slot: Slot, request: Request) {
        self.lock().requests.entry(slot).or_insert(request);
    }

    /// Waits for the next request; `None` when there will be none any more.
    pub(super) fn next(&self) -> Option<Request> {
        let mut waiting = self.lock();
        waiting.is_busy = false;
        self.changed.notify_all();
        loop {
            // What a person left is kept all the same.
            if waiting.is_closed {
                waiting.requests.retain(|slot, _| *slot == Slot::Keep);
            }
            if let Some((_, request)) = waiting.requests.pop_first() {
                waiting.is_busy = true;
                return Some(request);
            }
            if waiting.is_closed {
                return None;
            }
            waiting = self
                .changed
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether a newer request of the slot waits, or nobody waits for anything any more. Whoever
    /// chose a run needs no longer list.
    pub(super) fn is_replaced(&self, slot: Slot) -> bool {
        let waiting = self.lock();
        let is_waiting = |slot| waiting.requests.contains_key(&slot);
        waiting.is_closed || is_waiting(slot) || slot == Slot::Runs && is_waiting(Slot::OpenRun)
    }

    /// Whether a request of the slot waits.
    pub(super) fn is_waiting(&self, slot: Slot) -> bool {
        self.lock().requests.contains_key(&slot)
    }

    /// Ends the thread that waits here.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Waits until nothing is left to be done here, and not longer than this.
    pub(super) fn wait_until_done(&self, patience: Duration) {
        let is_undone = |waiting: &mut Waiting| waiting.is_busy || !waiting.requests.is_empty();
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), patience, is_undone);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// The thread has ended, and what it held is gone.
    pub(super) fn leave(&self) {
        self.lock().is_left = true;
        self.changed.notify_all();
    }

    /// Waits until the thread has ended, and not longer than this.
    pub(super) fn wait_until_left(&self, patience: Duration) {
        let is_there = |waiting: &mut Waiting| !waiting.is_left;
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), patience, is_there);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Seq;
    use crate::tui::job::Job;

    fn raw(generation: u64) -> Request {
        Request {
            generation,
            job: Job::Raw {
                seq: Seq(0),
                columns: 80,
            },
        }
    }

    #[test]
    fn the_newest_of_a_slot_wins_and_the_first_slot_is_served_first() {
        let mailbox = Mailbox::default();
        mailbox.put(Slot::Raw, raw(1));
        mailbox.put(Slot::Raw, raw(2));
        mailbox.put(Slot::Diff, raw(3));
        assert!(mailbox.is_replaced(Slot::Raw));
        assert!(!mailbox.is_replaced(Slot::File));
        assert!(mailbox.is_waiting(Slot::Diff) && !mailbox.is_waiting(Slot::File));
        let next = || mailbox.next().map(|request| request.generation);
        assert_eq!((next(), next()), (Some(3), Some(2)));

        mailbox.put(Slot::Raw, raw(4));
        mailbox.put_back(Slot::Raw, raw(2));
        assert_eq!(mailbox.next().map(|request| request.generation), Some(4));
        mailbox.close();
        assert!(mailbox.next().is_none() && mailbox.is_replaced(Slot::Raw));
    }
}
