//! The search for the step that broke it, as the screen knows it: what was asked so far, and
//! what came of it. How it looks is in `view`, what keys do in `update`.

use super::held::Ticket;
use super::job::BisectStep;
use crate::debugger::{BisectOutcome, BisectVerdict, ProbeRow};
use crate::model::StepNumber;
use crate::text::{SafeText, human};

/// A search for the step that broke it.
#[derive(Debug)]
pub(super) struct Bisecting {
    /// What was typed.
    pub(super) question: String,
    /// The branch whose steps are asked about.
    pub(super) branch: u16,
    /// The request.
    pub(super) ticket: Ticket,
    /// How many different trees there are, once that is known.
    trees: Option<usize>,
    /// What was answered, in order.
    probes: Vec<ProbeRow>,
    /// The step that is asked about now.
    asks: Option<StepNumber>,
    is_running: bool,
}

impl Bisecting {
    /// It has just begun.
    pub(super) fn new(question: String, branch: u16, ticket: Ticket) -> Self {
        Self {
            question,
            branch,
            ticket,
            trees: None,
            probes: Vec::new(),
            asks: None,
            is_running: true,
        }
    }

    /// Whether more is to come.
    pub(super) const fn is_running(&self) -> bool {
        self.is_running
    }

    /// Takes in what happened.
    pub(super) fn take(&mut self, step: &BisectStep) {
        match step {
            BisectStep::Trees(trees) => self.trees = Some(*trees),
            BisectStep::Asks(spot) => self.asks = Some(spot.step),
            BisectStep::Answered(row) => {
                self.asks = None;
                self.probes.push(*row);
            }
            BisectStep::Ended(_) => {
                self.asks = None;
                self.is_running = false;
            }
        }
    }

    /// What is known of the steps of a stretch: the sign for it. A step that is asked about
    /// goes before one that is bad, and that before one that is good.
    pub(super) fn sign(&self, (first, last): (u32, u32)) -> Option<Probed> {
        let holds = |step: StepNumber| (first..=last).contains(&step.0.max(1));
        if self.asks.is_some_and(holds) {
            return Some(Probed::Asked);
        }
        let here = self.probes.iter().filter(|row| holds(row.spot.step));
        let verdicts: Vec<BisectVerdict> = here.map(|row| row.verdict).collect();
        let order = [BisectVerdict::Bad, BisectVerdict::Good, BisectVerdict::Skip];
        let first = order.into_iter().find(|verdict| verdicts.contains(verdict));
        first.map(Probed::Answered)
    }

    /// How far it is, in words.
    pub(super) fn describe(&self) -> SafeText {
        let of = self.trees.map_or_else(String::new, |trees| {
            format!(" of about {}", trees.max(2).ilog2() + 4)
        });
        let count = self.probes.len() + usize::from(self.is_running);
        let runs = if self.is_running {
            format!("run {count}{of}; Esc stops it")
        } else {
            human::plural(count as u64, "run", "runs")
        };
        SafeText::line(&format!("bisect {}  {runs}", self.question))
    }
}

/// What is known of a stretch of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probed {
    /// It is asked about now.
    Asked,
    /// It was.
    Answered(BisectVerdict),
}

/// What to say of an answer that is no step.
pub(super) fn words(outcome: &BisectOutcome) -> String {
    match outcome {
        BisectOutcome::Found(first) => {
            let more = match (first.skipped.is_empty(), first.unseen.is_empty()) {
                (false, _) => "; nobody can say how some before it are",
                (true, false) => "; it may have been done before, unseen",
                (true, true) => "",
            };
            format!(
                "the first bad step is {}{more}; u goes back",
                first.bad.step
            )
        }
        BisectOutcome::NotGood(BisectVerdict::Skip, _) => {
            "nobody can say how the first place is; d sets another one".to_owned()
        }
        BisectOutcome::NotGood(_, Some(good)) => format!(
            "bad at the start already; d at step {} would begin where it is good",
            good.step
        ),
        BisectOutcome::NotGood(_, None) => {
            "bad at the start already; d sets another start".to_owned()
        }
        BisectOutcome::NotBad(_) => "not bad here: nothing to look for".to_owned(),
        BisectOutcome::Flaky(spot, [before, again]) => format!(
            "not to be relied on: of step {} it said {}, then {}",
            spot.step,
            before.as_str(),
            again.as_str()
        ),
        BisectOutcome::All(flips) => format!("the answer changes {} times", flips.len()),
    }
}
