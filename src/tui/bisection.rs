//! The search for the step that broke it, as the screen knows it: what was asked so far, and
//! what came of it. How it looks is in `view`, what keys do in `update`.

use std::collections::BTreeSet;

use super::held::Ticket;
use super::job::BisectStep;
use crate::debugger::{BisectOutcome, BisectVerdict, Spot};
use crate::model::StepNumber;
use crate::text::{SafeText, human};

/// Of the steps of one place on the strip, the first of these is shown.
const ORDER: [BisectVerdict; 3] = [BisectVerdict::Bad, BisectVerdict::Good, BisectVerdict::Skip];

/// Changes of the answer that are told by their steps.
const MOST_TOLD: usize = 6;

/// A search for the step that broke it.
#[derive(Debug)]
pub(super) struct Bisecting {
    /// What was typed.
    pub(super) question: String,
    /// The branch whose steps are asked about.
    pub(super) branch: u16,
    /// The request.
    pub(super) ticket: Ticket,
    /// About how many times it is asked, once that is known.
    looks: Option<u64>,
    /// How many answers there were.
    count: usize,
    /// The steps that were answered so, for each verdict of [`ORDER`]: a look is as quick when
    /// there are a hundred thousand.
    answered: [BTreeSet<StepNumber>; 3],
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
            looks: None,
            count: 0,
            answered: Default::default(),
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
            BisectStep::Looks(looks) => self.looks = Some(*looks),
            BisectStep::Asks(spot) => self.asks = Some(spot.step),
            BisectStep::Answered(row) => {
                self.asks = None;
                self.count += 1;
                let order = ORDER.iter().position(|verdict| *verdict == row.verdict);
                if let Some(steps) = order.and_then(|order| self.answered.get_mut(order)) {
                    steps.insert(row.spot.step.max(StepNumber(1)));
                }
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
        let stretch = StepNumber(first)..=StepNumber(last.max(first));
        let mut answered = ORDER.into_iter().zip(&self.answered);
        let seen = answered.find(|(_, steps)| steps.range(stretch.clone()).next().is_some());
        seen.map(|(verdict, _)| Probed::Answered(verdict))
    }

    /// How far it is, in words.
    pub(super) fn describe(&self) -> SafeText {
        let of = self
            .looks
            .map_or_else(String::new, |looks| format!(" of about {looks}"));
        let count = self.count + usize::from(self.is_running);
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
        BisectOutcome::All(flips) => {
            let changes = match flips.len().saturating_sub(1) {
                0 => "the answer never changes".to_owned(),
                1 => "the answer changes once".to_owned(),
                more => format!("the answer changes {more} times"),
            };
            let told = |(spot, verdict): &(Spot, BisectVerdict)| {
                format!("{} from {}", verdict.as_str(), spot.step)
            };
            let first: Vec<String> = flips.iter().take(MOST_TOLD).map(told).collect();
            let more = if flips.len() > MOST_TOLD { " …" } else { "" };
            format!("{changes}: {}{more}", first.join(", "))
        }
    }
}
