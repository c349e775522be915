//! Answers what the screen asks, on threads of its own, so that the screen never waits.
//!
//! Lookups, reads, the strip, colours, searches, numbers, the file's growth, keeping, opening,
//! comparing, the end of a transaction, bisecting, test cases, the making of forks and the
//! looking for them each have a thread, so that a long diff holds up no scrolling and a search holds up nothing.
//! A request waits in its [`Slot`] until its thread is free, and a newer one of the same slot
//! takes its place. A panic on any of the threads becomes [`Event::WorkerFailed`]. The screen's
//! state is never touched here.

mod against;
mod answer;
mod export;
mod fork;
mod fork_tree;
mod mailbox;
mod runs;
mod transaction;
mod turns;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use self::answer::{Answerer, Outcome, Patience};
use self::mailbox::Mailbox;
pub use self::runs::Runs;
use self::turns::Turns;
use super::app::App;
use super::effect::Effect;
use super::event::Event;
use super::job::{Answer, Job, Reading, ReadingState, Reply, Request, SharedRun, Slot};
use crate::debugger::{Rest, Watch};
use crate::model::Progress;
use crate::text::SafeText;

/// The threads that answer. Dropped, they end after what they are doing.
#[derive(Debug)]
pub struct Worker {
    lanes: [Arc<Mailbox>; LANES],
}

/// The thread that reads a run that is shown already, and what was written since.
const READING: usize = 5;

/// The thread that looks for the step that broke it.
const BISECTING: usize = 11;

/// The thread that writes what a person left.
const KEEPING: usize = 7;

/// How many threads there are.
const LANES: usize = 15;

/// The thread that makes forks.
const FORKING: usize = 12;

/// The thread that makes test cases.
const EXPORTING: usize = 13;

/// The thread that looks for the tapes that belong to a run: directories may be large and slow.
const SEEKING_FORKS: usize = 14;

/// So long it is waited for when the screen closes.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// So long a command has to end when the screen closes: it is asked to, and killed then.
const LAST_COMMAND: Duration = Duration::from_secs(3);

/// The thread that serves a slot.
const fn lane_of(slot: Slot) -> usize {
    match slot {
        Slot::Jump
        | Slot::Summary
        | Slot::Left
        | Slot::Timeline
        | Slot::Changes
        | Slot::Tree
        | Slot::RightSummary
        | Slot::RightTimeline => 0,
        Slot::Diff
        | Slot::DiffByPath
        | Slot::Detail
        | Slot::Like
        | Slot::Request
        | Slot::File
        | Slot::Blame
        | Slot::Raw
        | Slot::Fetch
        | Slot::FilesOfStep
        | Slot::Conversation
        | Slot::Context
        | Slot::Environment
        | Slot::Effects
        | Slot::Standing
        | Slot::TransactionView
        | Slot::ProposedPatch
        | Slot::Problems => 1,
        Slot::Strip | Slot::Agents => 2,
        Slot::Paint | Slot::PaintDiff => 3,
        Slot::Search => 4,
        Slot::Watch | Slot::Refresh | Slot::Reading => READING,
        Slot::Statistics | Slot::ContextRun => 6,
        Slot::Keep => KEEPING,
        Slot::OpenRun | Slot::Runs => 8,
        Slot::Right => 9,
        Slot::Bisect => BISECTING,
        // The process that holds a transaction takes the time it takes.
        Slot::TransactionEnd => 10,
        Slot::Fork => FORKING,
        Slot::Export | Slot::ExportEnough => EXPORTING,
        Slot::ForkPoints | Slot::ForkTree => SEEKING_FORKS,
    }
}

/// How soon the file is read again when somebody else is reading from it.
const RETRY: Duration = Duration::from_millis(20);

/// Between two words about how far the reading is.
const TOLD: Duration = Duration::from_millis(100);

/// Where events go.
type Sink = Arc<dyn Fn(Event) + Send + Sync>;

impl Worker {
    /// Starts the threads, one of them with what is still to be read of the run. `send` is
    /// called on them with replies, with [`Event::TapeMayHaveChanged`] while the file is
    /// watched, and with [`Event::WorkerFailed`] if one of them panics.
    pub fn spawn(
        runs: impl Into<Runs>,
        rest: Option<Rest>,
        send: impl Fn(Event) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let runs = runs.into();
        let send: Sink = Arc::new(send);
        let lanes = [(); LANES].map(|()| Arc::new(Mailbox::default()));
        let worker = Self { lanes };
        let turns = Arc::new(Turns::default());
        let mut rest = rest;
        for (number, mailbox) in worker.lanes.iter().enumerate() {
            let mailbox = Arc::clone(mailbox);
            let runs = runs.clone();
            let turns = Arc::clone(&turns);
            let rest = if number == READING { rest.take() } else { None };
            let send = Arc::clone(&send);
            let run = move || {
                // The state of the highlighter may not leave its thread: it begins here.
                let lane = Lane {
                    mailbox,
                    answerer: Answerer::new(runs.clone(), Arc::clone(&turns)),
                    runs,
                    turns,
                    send,
                    watches: Vec::new(),
                    rest,
                };
                lane.run();
            };
            thread::Builder::new().name("worker".into()).spawn(run)?;
        }
        Ok(worker)
    }

    /// Hands over a request. It replaces one of the same slot that has not begun, and stops
    /// one that can be stopped.
    pub fn request(&self, request: Request) {
        let slot = request.job.slot();
        if let Some(mailbox) = self.lanes.get(lane_of(slot)) {
            mailbox.put(slot, request);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        for mailbox in &self.lanes {
            mailbox.close();
        }
        if let Some(keeping) = self.lanes.get(KEEPING) {
            keeping.wait_until_done(LAST_WORDS);
        }
        // Nor does a command that runs for a fork.
        if let Some(forking) = self.lanes.get(FORKING) {
            forking.wait_until_left(LAST_WORDS);
        }
        // A transcript that is half imported leaves nothing behind.
        if let Some(reading) = self.lanes.get(READING) {
            reading.wait_until_left(LAST_WORDS);
        }
        // Nor does a command, and the files that it was asked about.
        if let Some(bisecting) = self.lanes.get(BISECTING) {
            bisecting.wait_until_left(LAST_COMMAND);
        }
        // Nor does one that is run for a test case, nor half of that.
        if let Some(exporting) = self.lanes.get(EXPORTING) {
            exporting.wait_until_left(LAST_COMMAND);
        }
    }
}

/// One thread.
struct Lane {
    mailbox: Arc<Mailbox>,
    answerer: Answerer,
    runs: Runs,
    turns: Arc<Turns>,
    send: Sink,
    watches: Vec<Watch>,
    /// What is still to be read of the run.
    rest: Option<Rest>,
}

impl Lane {
    fn run(mut self) {
        let send = Arc::clone(&self.send);
        let work = AssertUnwindSafe(|| self.work());
        if let Err(panic) = catch_unwind(work) {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("for an unknown reason");
            send(Event::WorkerFailed(SafeText::line(message)));
        }
        self.rest = None;
        self.mailbox.leave();
    }

    fn work(&mut self) {
        while let Some(request) = self.mailbox.next() {
            let slot = request.job.slot();
            match request.job {
                Job::Watch => self.watches = self.watch(),
                Job::Unwatch => self.watches.clear(),
                Job::ReadOn => self.read_on(request.generation),
                Job::StopReading
                | Job::StopSearch
                | Job::StopBisect
                | Job::StopStatistics
                | Job::StopContextRun
                | Job::StopRuns
                | Job::StopDiff => {}
                ref job => {
                    let generation = request.generation;
                    let send = &self.send;
                    let mut reply = |answer| {
                        send(Event::Reply(Reply { generation, answer }));
                    };
                    let patience = Patience {
                        is_cancelled: &|| self.mailbox.is_replaced(slot),
                        is_enough: &|| self.mailbox.is_waiting(Slot::ExportEnough),
                    };
                    if self.answerer.answer(job, patience, &mut reply) == Outcome::Busy {
                        self.mailbox.put_back(slot, request);
                        thread::sleep(RETRY);
                    }
                }
            }
        }
    }

    /// Reads the rest of the run until it is read, or nobody wants it any more.
    fn read_on(&mut self, generation: u64) {
        let tell = |progress, state| {
            let answer = Answer::Read(Reading { progress, state });
            (self.send)(Event::Reply(Reply { generation, answer }));
        };
        let Some(mut rest) = self.rest.take() else {
            return tell(Progress::default(), ReadingState::Whole);
        };
        let mut told = Instant::now();
        let state = loop {
            if self.mailbox.is_replaced(Slot::Reading) {
                tell(rest.progress(), ReadingState::Stopped);
                self.rest = Some(rest);
                return;
            }
            match rest.next_slice() {
                Ok(Some(slice)) => self.turns.grow(&self.runs.left).take_in(&mut rest, slice),
                Ok(None) => break ReadingState::Whole,
                Err(error) => break ReadingState::Failed(SafeText::line(&error.to_string())),
            }
            if told.elapsed() >= TOLD {
                told = Instant::now();
                tell(rest.progress(), ReadingState::Running);
            }
        };
        let progress = rest.progress();
        self.turns.grow(&self.runs.left).finish(rest);
        tell(progress, state);
    }

    /// Watches the files of both runs.
    fn watch(&self) -> Vec<Watch> {
        let runs = std::iter::once(Arc::clone(&self.runs.left)).chain(self.runs.other());
        let watch = |run: SharedRun| {
            let send = Arc::clone(&self.send);
            let run = run.read().unwrap_or_else(PoisonError::into_inner);
            run.watch(Box::new(move || send(Event::TapeMayHaveChanged)))
        };
        runs.filter_map(watch).collect()
    }
}

/// Somebody who answers a job in the place of the worker, or does not and says so.
pub type Instead<'a> = dyn FnMut(&Job, &mut dyn FnMut(Answer)) -> bool + 'a;

/// Answers on the calling thread: for frames without a terminal, and for tests.
#[derive(Debug)]
pub struct InlineWorker {
    answerer: Answerer,
}

impl InlineWorker {
    /// Answers from this run, or these.
    pub fn new(runs: impl Into<Runs>) -> Self {
        Self {
            answerer: Answerer::new(runs.into(), Arc::default()),
        }
    }

    /// Gives the event to the screen and answers what it asks until it asks nothing more.
    /// What is left are the effects that are no requests.
    pub fn settle(&mut self, app: &mut App, event: Event) -> Vec<Effect> {
        self.settle_but(app, event, &mut |_, _| false)
    }

    /// The same, but for the jobs that `instead` answers and says so.
    pub fn settle_but(
        &mut self,
        app: &mut App,
        event: Event,
        instead: &mut Instead<'_>,
    ) -> Vec<Effect> {
        settle_all(app, event, |effect, reply| match effect {
            Effect::Request(Request { job, .. }) if instead(job, reply) => {}
            Effect::Request(Request {
                job: Job::ReadOn, ..
            }) => {
                // What was opened here was read at once.
                let (progress, state) = (Progress::default(), ReadingState::Whole);
                reply(Answer::Read(Reading { progress, state }));
            }
            Effect::Request(Request { job, .. }) => {
                let _ = self.answerer.answer(job, Patience::ENDLESS, reply);
            }
            Effect::Show(opened) => {
                let (run, rest) = opened.take();
                if let Some(rest) = rest {
                    read_whole(&run, rest);
                }
                self.answerer = self.answerer.on(run);
            }
            _ => {}
        })
    }
}

/// Takes in the rest of a run, as far as it can be read.
fn read_whole(run: &SharedRun, mut rest: Rest) {
    let mut run = run.write().unwrap_or_else(PoisonError::into_inner);
    while let Ok(Some(slice)) = rest.next_slice() {
        run.take_in(&mut rest, slice);
    }
    run.finish(rest);
}

/// Gives the event to the screen and lets `answer` answer what it asks, in order, until it
/// asks nothing more. What is left are the effects that are no requests.
pub fn settle(
    app: &mut App,
    event: Event,
    mut answer: impl FnMut(&Job, &mut dyn FnMut(Answer)),
) -> Vec<Effect> {
    settle_all(app, event, |effect, reply| {
        if let Effect::Request(request) = effect {
            answer(&request.job, reply);
        }
    })
}

/// Lets `carry_out` carry out all effects, and answer those that are requests.
fn settle_all(
    app: &mut App,
    event: Event,
    mut carry_out: impl FnMut(&Effect, &mut dyn FnMut(Answer)),
) -> Vec<Effect> {
    let mut events = std::collections::VecDeque::from([event]);
    let mut rest = Vec::new();
    while let Some(event) = events.pop_front() {
        for effect in app.update(event) {
            let generation = match &effect {
                Effect::Request(request) => request.generation,
                _ => 0,
            };
            carry_out(&effect, &mut |answer| {
                events.push_back(Event::Reply(Reply { generation, answer }));
            });
            if !matches!(effect, Effect::Request(_)) {
                rest.push(effect);
            }
        }
    }
    rest
}
