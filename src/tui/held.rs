//! What was asked, and what is shown meanwhile.
//!
//! The screen does not send requests here and there. After every event it says what each
//! of its parts wants to know ([`Held::want`]); what is not known yet is asked, once. Until
//! the answer comes, the last one stays in view. So no part can show a stale answer for
//! longer than the worker needs, whatever the order of keys and replies.

use super::job::{Job, Request};

/// Where requests are written down until the update ends.
#[derive(Debug, Default)]
pub(super) struct Desk {
    generation: u64,
    tick: u64,
    requests: Vec<Request>,
}

/// A request that has been made and not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    generation: u64,
    since: u64,
}

impl Desk {
    /// Asks for a job.
    pub(super) fn ask(&mut self, job: Job) -> Ticket {
        self.generation += 1;
        self.requests.push(Request {
            generation: self.generation,
            job,
        });
        Ticket {
            generation: self.generation,
            since: self.tick,
        }
    }

    /// The requests since the last call.
    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// A tenth of a second has passed.
    pub(super) fn tick(&mut self) {
        self.tick += 1;
    }

    /// Tenths of a second in which somebody waited.
    pub(super) fn ticks(&self) -> u64 {
        self.tick
    }
}

impl Ticket {
    /// Whether the reply with this generation is the one that is waited for.
    pub(super) fn is_for(self, generation: u64) -> bool {
        self.generation == generation
    }

    /// Whether it has been waited for so long that the screen should say so: one whole
    /// tenth of a second at least.
    pub(super) fn is_late(self, desk: &Desk) -> bool {
        desk.tick >= self.since + 2
    }
}

/// The answer to the last job of a slot, and the job that is being done.
#[derive(Debug)]
pub(super) struct Held<T> {
    shown: Option<Shown<T>>,
    asked: Option<(Job, Ticket)>,
    /// What a person does not want to wait for.
    given_up: Option<Job>,
}

#[derive(Debug)]
struct Shown<T> {
    job: Job,
    value: T,
    is_outdated: bool,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self {
            shown: None,
            asked: None,
            given_up: None,
        }
    }
}

impl<T> Held<T> {
    /// Says what is wanted now. It is asked if it is neither known nor asked already.
    pub(super) fn want(&mut self, job: Job, desk: &mut Desk) {
        if self.given_up.as_ref() == Some(&job) {
            return;
        }
        self.given_up = None;
        let answers = |shown: &Shown<T>| !shown.is_outdated && shown.job == job;
        if self.shown.as_ref().is_some_and(answers) {
            self.asked = None;
        } else if self.asked.as_ref().is_none_or(|(asked, _)| *asked != job) {
            let ticket = desk.ask(job.clone());
            self.asked = Some((job, ticket));
        }
    }

    /// Takes an answer in, if it is the one that is waited for.
    pub(super) fn take(&mut self, generation: u64, value: T) -> bool {
        match self.asked.take() {
            Some((job, ticket)) if ticket.is_for(generation) => {
                self.shown = Some(Shown {
                    job,
                    value,
                    is_outdated: false,
                });
                true
            }
            asked => {
                self.asked = asked;
                false
            }
        }
    }

    /// Waits no longer. Nothing is shown, and what was asked is not asked again until something
    /// else was wanted.
    pub(super) fn give_up(&mut self) {
        if let Some((job, _)) = self.asked.take() {
            self.shown = None;
            self.given_up = Some(job);
        }
    }

    /// Nothing is wanted: what was given up is asked again when it is.
    pub(super) fn want_nothing(&mut self) {
        self.given_up = None;
    }

    /// Whether a person did not want to wait.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.is_some()
    }

    /// The last answer, to whatever it was.
    pub(super) fn get(&self) -> Option<&T> {
        self.shown.as_ref().map(|shown| &shown.value)
    }

    /// The last answer, to be changed in place.
    pub(super) fn get_mut(&mut self) -> Option<&mut T> {
        self.shown.as_mut().map(|shown| &mut shown.value)
    }

    /// The last answer with its job.
    pub(super) fn get_with_job(&self) -> Option<(&Job, &T)> {
        self.shown.as_ref().map(|shown| (&shown.job, &shown.value))
    }

    /// The answer to what was wanted last; `None` while it is being found out.
    pub(super) fn current(&self) -> Option<&T> {
        self.get().filter(|_| !self.is_waiting())
    }

    /// Whether an answer is being waited for.
    pub(super) fn is_waiting(&self) -> bool {
        self.asked.is_some()
    }

    /// Whether it is waited for so long that the screen should say so.
    pub(super) fn is_late(&self, desk: &Desk) -> bool {
        self.asked
            .as_ref()
            .is_some_and(|(_, ticket)| ticket.is_late(desk))
    }

    /// Whether the world has changed since the last answer.
    pub(super) fn is_outdated(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.is_outdated)
    }

    /// The world has changed: the answer stays in view, and the next wish is asked anew.
    pub(super) fn outdate(&mut self) {
        self.asked = None;
        if let Some(shown) = &mut self.shown {
            shown.is_outdated = true;
        }
    }

    /// Nothing is known any more.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Seq;

    fn raw(seq: u64) -> Job {
        Job::Raw {
            seq: Seq(seq),
            columns: 80,
        }
    }

    #[test]
    fn a_wish_is_asked_once_and_only_its_answer_is_taken() {
        let mut desk = Desk::default();
        let mut held = Held::<&str>::default();
        held.want(raw(1), &mut desk);
        held.want(raw(1), &mut desk);
        held.want(raw(2), &mut desk);
        let asked: Vec<u64> = desk.take_requests().iter().map(|r| r.generation).collect();
        assert_eq!(asked, [1, 2]);
        assert!(!held.take(1, "one"));
        assert!(held.take(2, "two"));
        assert_eq!(held.current(), Some(&"two"));

        held.want(raw(3), &mut desk);
        assert_eq!((held.get(), held.current()), (Some(&"two"), None));
        // Back before the answer came: it is known already, and the late answer is dropped.
        held.want(raw(2), &mut desk);
        assert_eq!(held.current(), Some(&"two"));
        assert!(!held.take(3, "three"));

        held.outdate();
        held.want(raw(2), &mut desk);
        assert_eq!((held.get(), held.current()), (Some(&"two"), None));
        assert!(held.take(4, "new two"));
    }

    #[test]
    fn a_wait_is_late_after_a_tenth_of_a_second() {
        let mut desk = Desk::default();
        desk.tick();
        let ticket = desk.ask(Job::Summary);
        let late: Vec<bool> = (0..3)
            .map(|_| {
                let is_late = ticket.is_late(&desk);
                desk.tick();
                is_late
            })
            .collect();
        assert_eq!(late, [false, false, true]);
    }
}
