//! The step that broke it: the first one whose files a command, or a question about a file,
//! finds bad.
//!
//! What is asked about are the trees along a line, each once: a step that changes no file has
//! the answer of the one before it. The last good tree and the first bad one are found as
//! [`edge`] finds them. What the tape cannot know is said: files that are not known as they
//! were, and steps between the two whose changes nobody saw.

mod command;
mod edge;
mod predicate;
mod trees;
mod typed;

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use self::command::Prober;
use self::edge::Edge;
use self::trees::Tree;
use super::{Debugger, Spot};
use crate::checkout::CheckoutError;
use crate::model::{Certainty, Cursor, StepNumber, TapePath};
use crate::sandbox::SandboxError;
use crate::tape::StepFlags;
use crate::text::SafeText;

pub use self::command::{ProbeCommand, Sandboxing};
pub use self::edge::Verdict;
pub use self::predicate::{Predicate, PredicateError, Test};
pub use self::typed::QuestionError;

/// What is looked for, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BisectOptions {
    /// Where all is well.
    pub from: Spot,
    /// Where it is not any more, on the same line.
    pub to: Spot,
    /// How much is asked.
    pub scope: BisectScope,
}

/// How much is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BisectScope {
    /// As little as it takes to find an edge.
    #[default]
    Edge,
    /// About every tree.
    All,
}

impl BisectScope {
    /// About how many times something is asked, of so many different trees.
    pub fn looks(self, trees: usize) -> u64 {
        match self {
            Self::Edge => u64::from(trees.max(2).ilog2()) + 4,
            Self::All => trees as u64,
        }
    }
}

/// What is asked about each tree.
#[derive(Clone, Debug)]
pub enum Question {
    /// Whether a command ends well in it.
    Command(ProbeCommand),
    /// Whether something is so of a file. Runs nothing, writes nothing.
    Predicate(Predicate),
}

/// What is told while it is looked for.
#[derive(Clone, Copy, Debug)]
pub enum BisectNews<'a> {
    /// There are so many different trees, in so many steps.
    Trees(usize, u32),
    /// This one is asked about now.
    Asks(Spot),
    /// It is still asked about.
    Waits,
    /// It was.
    Answered(&'a ProbeRow),
}

/// A tree that was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRow {
    /// The step in which it came to be.
    pub spot: Spot,
    /// How it is.
    pub verdict: Verdict,
    /// The code that the command ended with.
    pub code: Option<u8>,
    /// How long it took.
    pub duration: Duration,
}

/// What it came to.
#[derive(Clone, Debug)]
pub struct Bisection {
    /// The answer.
    pub outcome: BisectOutcome,
    /// What was asked, in order.
    pub probes: Vec<ProbeRow>,
    /// Different trees.
    pub trees: usize,
    /// Steps that they were made of.
    pub steps: u32,
    /// Where the command saw the files, if that is not where the run had them.
    pub seen_at: Option<PathBuf>,
}

/// The answer of a bisection.
#[derive(Clone, Debug)]
pub enum BisectOutcome {
    /// There is a first bad one.
    Found(Box<FirstBad>),
    /// It is not good where all should be well. If it is anywhere else, there.
    NotGood(Verdict, Option<Spot>),
    /// It is not bad where it should be.
    NotBad(Verdict),
    /// It was not the same, the second time.
    Flaky(Spot, [Verdict; 2]),
    /// Every tree was asked about: the first, and each that answers otherwise than the one
    /// before it.
    All(Vec<(Spot, Verdict)>),
}

/// The first tree that is bad.
#[derive(Clone, Debug, Default)]
pub struct FirstBad {
    /// The step in which the last good tree came to be.
    pub good: Spot,
    /// The step that is to blame.
    pub bad: Spot,
    /// Trees between the two of which nobody can say how they are.
    pub skipped: Vec<Spot>,
    /// Steps between the two that may have changed files unseen; not more than some.
    pub unseen: Vec<StepNumber>,
    /// Files of the bad tree that are not known exactly: how many, and the first of them.
    pub doubtful: (usize, Vec<TapePath>),
    /// What the command said of the bad tree, at its end.
    pub said: Vec<SafeText>,
}

/// It could not be looked for.
#[derive(Debug, thiserror::Error)]
pub enum BisectError {
    /// There is no room for the tree.
    #[error("`{}` cannot hold the files: {source}", path.display())]
    Scratch {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The tree could not be written.
    #[error(transparent)]
    Checkout(#[from] CheckoutError),
    /// The sandbox.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The command ended with a code that says: stop.
    #[error("the command ended with code {0}")]
    Aborted(u8, Vec<SafeText>),
    /// Whoever was told broke it off.
    #[error("stopped; nothing of it is left")]
    BrokenOff,
}

/// What was answered about a tree.
struct Answer {
    verdict: Verdict,
    code: Option<u8>,
    said: Vec<SafeText>,
}

/// Steps and files that are told by name.
const MOST_NAMED: usize = 8;

/// Who is told what happens.
type TellBisect<'a> = dyn FnMut(BisectNews<'_>) -> ControlFlow<()> + 'a;

impl Debugger {
    /// Looks for the first step that is bad. Costs a look at each step between the two places,
    /// and what is asked about each of about log2 of the different trees; to get from one of
    /// them to the next, what differs. A break of `tell` ends it.
    pub fn bisect(
        &self,
        options: &BisectOptions,
        question: &Question,
        tell: &mut TellBisect<'_>,
    ) -> Result<Bisection, BisectError> {
        let only = match question {
            Question::Command(_) => None,
            // A path that no event names is the same everywhere.
            Question::Predicate(predicate) => self.state.paths.find(&predicate.path),
        };
        let is_named = only.is_some() || matches!(question, Question::Command(_));
        let trees = if is_named {
            self.trees_between(options.from, options.to, only)
        } else {
            let (spot, number) = (options.from, 0);
            vec![Tree { spot, number }]
        };
        let distinct = trees.iter().map(|tree| tree.number).max().unwrap_or(0) + 1;
        let steps = options.to.step.0.saturating_sub(options.from.step.0);
        if tell(BisectNews::Trees(distinct, steps)).is_break() {
            return Err(BisectError::BrokenOff);
        }
        let who = match question {
            Question::Command(command) => Who::Command(Box::new(Prober::new(self, command)?)),
            Question::Predicate(predicate) => Who::Tape(self, predicate),
        };
        let mut asking = Asking {
            who,
            trees: &trees,
            known: HashMap::new(),
            asked: HashSet::new(),
            probes: Vec::new(),
            said: HashMap::new(),
            tell,
        };
        let outcome = match options.scope {
            BisectScope::Edge => match edge::find(trees.len(), |tree| asking.ask(tree))? {
                Edge::Found { good, bad } => {
                    BisectOutcome::Found(Box::new(self.first_bad(&mut asking, good, bad)))
                }
                Edge::NotGood(verdict) => BisectOutcome::NotGood(verdict, asking.first_good()?),
                Edge::NotBad(verdict) => BisectOutcome::NotBad(verdict),
                Edge::Flaky(tree, answers) => BisectOutcome::Flaky(asking.spot(tree), answers),
            },
            BisectScope::All => BisectOutcome::All(asking.flips()?),
        };
        let seen_at = match &asking.who {
            Who::Command(prober) => prober.elsewhere().cloned(),
            Who::Tape(..) => None,
        };
        Ok(Bisection {
            outcome,
            seen_at,
            probes: asking.probes,
            trees: distinct,
            steps,
        })
    }

    fn first_bad(&self, asking: &mut Asking<'_, '_>, good: usize, bad: usize) -> FirstBad {
        let (good_spot, bad_spot) = (asking.spot(good), asking.spot(bad));
        let line = self.line_of(bad_spot);
        let between = (good_spot.step.0 + 1..bad_spot.step.0).map(StepNumber);
        let is_unseen = |number: &StepNumber| {
            let step = self.tape.index.step_on(line, *number);
            let entry = step.and_then(|step| self.tape.index.steps.get(step));
            entry.is_some_and(|entry| entry.flags.has(StepFlags::SUSPECT))
        };
        let number = asking.trees.get(bad).map_or(0, |tree| tree.number);
        FirstBad {
            good: good_spot,
            bad: bad_spot,
            skipped: (good + 1..bad).map(|tree| asking.spot(tree)).collect(),
            unseen: between.filter(is_unseen).take(MOST_NAMED).collect(),
            doubtful: match &asking.who {
                Who::Command(prober) => {
                    let (count, named) = self.doubtful_at(bad_spot.cursor);
                    (count.max(prober.left_out()), named)
                }
                Who::Tape(_, predicate) => {
                    let blobs = &self.tape.index.blobs;
                    let state = self.state.file(blobs, bad_spot.cursor, &predicate.path);
                    let is_known =
                        |certainty| matches!(certainty, Certainty::Exact | Certainty::Absent);
                    match state {
                        Some(state) if !is_known(state.certainty) => {
                            (1, vec![predicate.path.clone()])
                        }
                        _ => (0, Vec::new()),
                    }
                }
            },
            said: asking.said.remove(&number).unwrap_or_default(),
        }
    }

    /// The files of the workspace that are not known exactly. Costs a walk over the tree.
    fn doubtful_at(&self, at: Cursor) -> (usize, Vec<TapePath>) {
        let (mut count, mut named) = (0, Vec::new());
        self.state.walk(&self.tape.index.blobs, at, &mut |child| {
            if child.state.certainty == Certainty::Exact {
                return;
            }
            let path = self.state.paths.path(child.path);
            if let Some(path) = path.filter(|path| !path.is_outside()) {
                count += 1;
                if named.len() < MOST_NAMED {
                    named.push(path);
                }
            }
        });
        (count, named)
    }
}

/// Who answers.
enum Who<'a> {
    Command(Box<Prober<'a>>),
    Tape(&'a Debugger, &'a Predicate),
}

/// A search that goes on.
struct Asking<'a, 't> {
    who: Who<'a>,
    trees: &'a [Tree],
    /// By the number of the tree, how it is.
    known: HashMap<usize, Verdict>,
    /// Places that were asked about: one that is asked about again is not known already.
    asked: HashSet<usize>,
    probes: Vec<ProbeRow>,
    /// What was said of bad trees.
    said: HashMap<usize, Vec<SafeText>>,
    tell: &'a mut TellBisect<'t>,
}

impl Asking<'_, '_> {
    fn spot(&self, tree: usize) -> Spot {
        self.trees
            .get(tree)
            .map(|tree| tree.spot)
            .unwrap_or_default()
    }

    fn ask(&mut self, place: usize) -> Result<Verdict, BisectError> {
        let Some(tree) = self.trees.get(place).copied() else {
            return Ok(Verdict::Skip);
        };
        if self.asked.insert(place)
            && let Some(known) = self.known.get(&tree.number)
        {
            return Ok(*known);
        }
        if (self.tell)(BisectNews::Asks(tree.spot)).is_break() {
            return Err(BisectError::BrokenOff);
        }
        let begun = Instant::now();
        let tell = &mut *self.tell;
        let answer = match &mut self.who {
            Who::Command(prober) => {
                prober.ask(tree.spot.cursor, &mut || tell(BisectNews::Waits))?
            }
            Who::Tape(run, predicate) => run.ask(tree.spot.cursor, predicate),
        };
        let row = ProbeRow {
            spot: tree.spot,
            verdict: answer.verdict,
            code: answer.code,
            duration: begun.elapsed(),
        };
        self.probes.push(row);
        self.known.insert(tree.number, answer.verdict);
        if answer.verdict == Verdict::Bad {
            self.said.insert(tree.number, answer.said);
        }
        match (self.tell)(BisectNews::Answered(&row)) {
            ControlFlow::Continue(()) => Ok(answer.verdict),
            ControlFlow::Break(()) => Err(BisectError::BrokenOff),
        }
    }

    /// The first tree that is good, where the tape itself can say.
    fn first_good(&mut self) -> Result<Option<Spot>, BisectError> {
        if matches!(self.who, Who::Command(_)) {
            return Ok(None);
        }
        for tree in 0..self.trees.len() {
            if self.ask(tree)? == Verdict::Good {
                return Ok(Some(self.spot(tree)));
            }
        }
        Ok(None)
    }

    /// Asks about all of them.
    fn flips(&mut self) -> Result<Vec<(Spot, Verdict)>, BisectError> {
        let mut flips: Vec<(Spot, Verdict)> = Vec::new();
        for tree in 0..self.trees.len() {
            let verdict = self.ask(tree)?;
            if flips.last().is_none_or(|(_, before)| *before != verdict) {
                flips.push((self.spot(tree), verdict));
            }
        }
        Ok(flips)
    }
}
