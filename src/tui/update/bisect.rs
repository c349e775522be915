//! The search for the step that broke it: begun by what is typed and entered, never else;
//! given up by Esc; ended at the step.

use crate::debugger::{BisectOutcome, Spot};
use crate::model::StepNumber;
use crate::tui::app::{App, Tone};
use crate::tui::bisection::{Bisecting, words};
use crate::tui::job::{BisectStep, Job, Stop};
use crate::tui::prompt::{Prompt, Purpose};

impl App {
    /// Asks for a command, or what is to be so of a file. Nothing is run yet.
    pub(super) fn begin_bisect(&mut self) {
        self.prompt = Some(Prompt::new(Purpose::Bisect));
    }

    /// Looks for the first step that is bad: from where differences are measured, or the start
    /// of the run, to the playhead.
    pub(super) fn bisect(&mut self, typed: &str) {
        let Some(Stop { branch, spot: to }) = self.travel.stop else {
            return;
        };
        self.drop_bisect();
        let from = self.travel.base.map(|base| base.spot);
        let question = typed.to_owned();
        let ticket = self.desk.ask(Job::Bisect {
            question: question.clone(),
            branch,
            from,
            to,
        });
        self.bisecting = Some(Bisecting::new(question, branch, ticket));
    }

    /// Ends it, or forgets what it came to.
    pub(super) fn drop_bisect(&mut self) {
        let is_running = |bisecting: Bisecting| bisecting.is_running();
        if self.bisecting.take().is_some_and(is_running) {
            self.desk.ask(Job::StopBisect);
        }
    }

    pub(super) fn take_bisect(&mut self, generation: u64, step: &BisectStep) {
        let bisecting = self.bisecting.as_mut();
        let Some(bisecting) = bisecting.filter(|it| it.ticket.is_for(generation)) else {
            return;
        };
        bisecting.take(step);
        let branch = bisecting.branch;
        match step {
            BisectStep::Ended(Ok(found)) => {
                if let BisectOutcome::Found(first) = &found.outcome {
                    self.go_to_bad(branch, first.bad);
                }
                self.say(Tone::Plain, &words(&found.outcome));
            }
            BisectStep::Ended(Err(why)) => {
                self.bisecting = None;
                self.say(Tone::Error, why.as_str());
            }
            BisectStep::Looks(_) | BisectStep::Asks(_) | BisectStep::Answered(_) => {}
        }
    }

    /// Goes to the step, from wherever the playhead is by now.
    fn go_to_bad(&mut self, branch: u16, bad: Spot) {
        self.travel.give_up();
        if bad.step > StepNumber(0) {
            self.jump(Stop { branch, spot: bad });
        }
    }
}
