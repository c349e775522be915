//! What each job asks of the façade.

use std::fmt;
use std::iter;
use std::ops::ControlFlow;
use std::sync::{Arc, RwLockReadGuard, TryLockError};
use std::time::{Duration, Instant, SystemTime};

use super::against;
use super::export;
use super::fork;
use super::fork_tree;
use super::runs::Runs;
use super::transaction;
use crate::debugger::{
    BisectNews, BisectOptions, Bisection, Count, Debugger, Direction, FileContent, FileView, Left,
    Look, Places, ReadError, Refresh, Search, Spot, Statistics,
};
use crate::model::{Certainty, Cursor, EntryKind, StepNumber, TapePath, WallTime};
use crate::text::SafeText;
use crate::tui::conversation;
use crate::tui::difference::OpenDiff;
use crate::tui::document::Document;
use crate::tui::highlight::Highlighter;
use crate::tui::job::{
    Answer, Answered, Base, BisectStep, Changes, Job, Jump, Landmark, OpenFile, OpenedRun,
    Progress, SharedRun, Stop,
};
use crate::tui::reading::{self, RequestReading, StepReading};
use crate::tui::worker::{TOLD, turns::Turns};

/// Answers one job at a time.
#[derive(Debug)]
pub(super) struct Answerer {
    runs: Runs,
    turns: Arc<Turns>,
    highlighter: Highlighter,
    /// One for each side of a difference: each remembers its way.
    side_highlighters: [Highlighter; 2],
}

/// How long whoever asked waits for an answer.
#[derive(Clone, Copy)]
pub(super) struct Patience<'a> {
    /// Nobody waits for it any more.
    pub(super) is_cancelled: &'a dyn Fn() -> bool,
    /// What there is by now is enough.
    pub(super) is_enough: &'a dyn Fn() -> bool,
}

impl Patience<'_> {
    /// As long as it takes.
    pub(super) const ENDLESS: Patience<'static> = Patience {
        is_cancelled: &|| false,
        is_enough: &|| false,
    };
}

/// What became of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Outcome {
    /// It is done, or nobody wants it any more.
    Done,
    /// Somebody else is reading; it has to be tried again.
    Busy,
}

/// A search ends at this many hits: nobody looks at more.
const MAX_HITS: usize = 10_000;

/// Problems of the file that are listed; `jukebox verify` lists all.
const MAX_PROBLEMS: usize = 500;

/// Effects that are shown; `jukebox effects` lists all.
const MAX_EFFECTS: usize = 200;

/// Hits are sent in parcels of this many.
const PARCEL: usize = 100;

/// So long a search or a count keeps the run from growing, and then lets go of it.
const PART: Duration = Duration::from_millis(5);

impl Answerer {
    /// Answers from these runs.
    pub(super) fn new(runs: Runs, turns: Arc<Turns>) -> Self {
        Self {
            runs,
            turns,
            highlighter: Highlighter::default(),
            side_highlighters: Default::default(),
        }
    }

    /// The same, about another run alone.
    pub(super) fn on(&self, run: SharedRun) -> Self {
        let runs = Runs::alone(run).with_ground(self.runs.ground.clone());
        Self::new(runs, Arc::default())
    }

    /// Does the job and gives the answer to `reply`.
    pub(super) fn answer(
        &mut self,
        job: &Job,
        patience: Patience<'_>,
        reply: &mut dyn FnMut(Answer),
    ) -> Outcome {
        let is_cancelled = patience.is_cancelled;
        let answer = match job {
            Job::Refresh => {
                // The right run first: who is busy is asked again for both.
                if let Some(right) = self.runs.other() {
                    match self.refresh(&right) {
                        None => return Outcome::Busy,
                        Some(Ok(Refresh::Unchanged)) => {}
                        Some(found) => reply(Answer::RightRefreshed(found)),
                    }
                }
                match self.refresh(&self.runs.left) {
                    None => return Outcome::Busy,
                    Some(found) => Answer::Refreshed(found),
                }
            }
            Job::Paint {
                document,
                path,
                lines,
            } => {
                let lines = lines.clone();
                match self.highlighter.paint(document, path, lines, is_cancelled) {
                    Some(painted) => Answer::Painted(painted),
                    None => return Outcome::Done,
                }
            }
            Job::PaintDiff { sides, path, lines } => {
                let [before, after] = &mut self.side_highlighters;
                let [old, new] = sides;
                let [old_lines, new_lines] = lines.clone();
                let Some(old) = before.paint(old, path, old_lines, is_cancelled) else {
                    return Outcome::Done;
                };
                match after.paint(new, path, new_lines, is_cancelled) {
                    Some(new) => Answer::PaintedDiff(Box::new([old, new])),
                    None => return Outcome::Done,
                }
            }
            Job::Search { query, branch } => {
                self.search(query, *branch, is_cancelled, reply);
                return Outcome::Done;
            }
            Job::Bisect {
                question,
                branch,
                from,
                to,
            } => {
                let run = self.read();
                let from = from.unwrap_or_else(|| run.spot(*branch, StepNumber(0)));
                let found = bisect(&run, question, (from, *to), is_cancelled, reply);
                if is_cancelled() {
                    return Outcome::Done;
                }
                Answer::Bisect(BisectStep::Ended(found.map(Box::new)))
            }
            Job::Transaction(job) => {
                transaction::answer(&|| self.read(), job, is_cancelled, &mut |answer| {
                    reply(Answer::Transaction(answer));
                });
                return Outcome::Done;
            }
            Job::Fork(job) => {
                fork::answer(&self.runs, &|| self.read(), job, is_cancelled, &mut |it| {
                    reply(Answer::Fork(it));
                });
                return Outcome::Done;
            }
            Job::Export(job) => {
                export::answer(&self.runs, &|| self.read(), job, patience, &mut |it| {
                    reply(Answer::Export(it));
                });
                return Outcome::Done;
            }
            Job::ForkTree(job) => {
                fork_tree::answer(&self.runs, &|| self.read(), job, is_cancelled, &mut |it| {
                    reply(Answer::ForkTree(it));
                });
                return Outcome::Done;
            }
            // Neither looks at the run that is open, so neither holds it.
            Job::Runs => {
                let places = self.read().places().clone();
                list_runs(&places, is_cancelled, reply);
                return Outcome::Done;
            }
            Job::OpenRun(source) => {
                let places = self.read().places().clone();
                let opened = places.begin(source).map_err(safe);
                Answer::OpenedRun(opened.map(|(run, rest)| OpenedRun::new(run, rest)))
            }
            Job::Statistics { branch } => match self.count(*branch, is_cancelled) {
                Some(statistics) => Answer::Statistics(Box::new(statistics)),
                None => return Outcome::Done,
            },
            Job::ContextRun { branch, columns } => {
                let run = self.read().context_run(*branch, *columns, is_cancelled);
                let Some(run) = run else {
                    return Outcome::Done;
                };
                Answer::ContextRun(Box::new(reading::context_run(run, *columns)))
            }
            job => {
                let found = look_up(&self.read(), job);
                match found.or_else(|| against::answer(&self.runs, job, is_cancelled)) {
                    Some(answer) => answer,
                    None => return Outcome::Done,
                }
            }
        };
        reply(answer);
        Outcome::Done
    }

    /// Takes in what was written of a run since; `None` when somebody is reading from it. What
    /// has to be read from its start is read beside it, so that nobody waits.
    fn refresh(&self, run: &SharedRun) -> Option<Answered<Refresh>> {
        let look = match run.try_write() {
            Ok(mut run) => run.look(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().look(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let anew = match look {
            Ok(Look::Found(found)) => return Some(Ok(found)),
            Ok(Look::Anew(anew)) => anew,
            Err(error) => return Some(Err(safe(error))),
        };
        Some(match anew.open() {
            Ok(Some(fresh)) => Ok(self.turns.grow(run).replace(&anew, fresh)),
            Ok(None) => Ok(Refresh::Unchanged),
            Err(error) => Err(safe(error)),
        })
    }

    /// Searches part by part. The first hit is told at once, the others as parcels fill, or
    /// time goes by.
    fn search(
        &self,
        query: &str,
        branch: u16,
        is_cancelled: &dyn Fn() -> bool,
        reply: &mut dyn FnMut(Answer),
    ) {
        let mut search = match Search::new(query, branch) {
            Ok(search) => search,
            Err(error) => {
                let (hits, progress) = (Vec::new(), Progress::Failed(safe(error)));
                return reply(Answer::Hits { hits, progress });
            }
        };
        let (mut total, mut told) = (0, Instant::now());
        let mut hits = Vec::new();
        loop {
            let begun = Instant::now();
            let mut is_enough = || begun.elapsed() >= PART;
            let run = self.read();
            let flow = run.search_on(&mut search, &mut is_enough, &mut |hit| {
                // One event may hold more than anybody looks at.
                if total < MAX_HITS {
                    total += 1;
                    hits.push(hit);
                }
            });
            let progress = run.searched(&search);
            drop(run);
            if is_cancelled() {
                return;
            }
            let is_over = flow.is_continue() || total == MAX_HITS;
            let is_first = total > 0 && total == hits.len();
            if is_over || is_first || hits.len() >= PARCEL || told.elapsed() >= TOLD {
                told = Instant::now();
                let hits = std::mem::take(&mut hits);
                let progress = match flow {
                    _ if total == MAX_HITS => Progress::Full,
                    ControlFlow::Continue(()) => Progress::Finished,
                    ControlFlow::Break(()) => Progress::Running(progress),
                };
                reply(Answer::Hits { hits, progress });
            }
            if is_over {
                return;
            }
            self.turns.let_grow();
        }
    }

    /// Counts part by part.
    fn count(&self, branch: u16, is_cancelled: &dyn Fn() -> bool) -> Option<Statistics> {
        let mut count = Count::new(branch);
        loop {
            let begun = Instant::now();
            let mut is_enough = || begun.elapsed() >= PART;
            if self
                .read()
                .count_on(&mut count, &mut is_enough)
                .is_continue()
            {
                return Some(count.finish());
            }
            if is_cancelled() {
                return None;
            }
            self.turns.let_grow();
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Debugger> {
        self.turns.read(&self.runs.left)
    }
}

/// The jobs that only read. `None` for the others.
fn look_up(debugger: &Debugger, job: &Job) -> Option<Answer> {
    Some(match job {
        Job::Summary => Answer::Summary(Box::new(debugger.summary())),
        Job::Problems => {
            let problems = debugger.problems().into_iter().take(MAX_PROBLEMS);
            Answer::Problems(problems.map(safe).collect())
        }
        Job::Left => Answer::Left(Box::new(debugger.left())),
        Job::Keep(left) => return keep(debugger, left),
        Job::Jump(jump) => Answer::Jump(land(debugger, jump)),
        Job::Timeline { branch, steps } => {
            Answer::Timeline(debugger.timeline(*branch, steps.clone()))
        }
        Job::Steps { branch, steps } => {
            let row = |step: &u32| debugger.timeline(*branch, *step..step.saturating_add(1));
            Answer::Timeline(steps.iter().flat_map(row).collect())
        }
        Job::Agents { branch } => Answer::Agents(debugger.agents(*branch)),
        Job::FilesOfStep { at } => Answer::FilesOfStep(debugger.files_of_step(*at)),
        Job::Conversation {
            branch,
            steps,
            whole,
            until,
            columns,
        } => {
            let turns = debugger.conversation(*branch, steps.clone(), whole, *until);
            let set = |turn| conversation::lines(turn, whole, usize::from(*columns));
            Answer::Conversation(turns.iter().map(set).collect())
        }
        Job::Context { at, columns } => {
            let columns = usize::from(*columns);
            let sections = debugger.context(*at).sections(columns);
            Answer::Context(reading::leading(&sections, columns))
        }
        Job::Environment { at, columns } => {
            let sections = debugger.environment(*at).sections();
            Answer::Environment(reading::sections(&sections, usize::from(*columns)))
        }
        Job::Effects { at, columns } => {
            let sections = debugger.effects(*at, MAX_EFFECTS).sections();
            Answer::Effects(reading::sections(&sections, usize::from(*columns)))
        }
        Job::Strip { branch, columns } => Answer::Strip(debugger.strip(*branch, *columns)),
        Job::Changes { base, at } => {
            let from = base_of(debugger, *base, *at);
            Answer::Changes(Changes {
                from,
                list: Arc::new(debugger.changes(from.cursor, at.cursor)),
            })
        }
        Job::Tree {
            at,
            since,
            changes,
            expanded,
            in_view,
        } => {
            let base = (*since, &**changes);
            Answer::Tree(debugger.tree_in_view(at.cursor, base, expanded, in_view))
        }
        Job::File { at, path } => Answer::File(file(debugger, *at, path).map(|view| {
            let document = Arc::new(Document::of(&view));
            Box::new(OpenFile { view, document })
        })),
        Job::Blame { at, path } => {
            Answer::Blame(debugger.blame(*at, path).map(Box::new).map_err(safe))
        }
        Job::Fetch { at, path } => {
            Answer::Fetched(debugger.file(*at, path).map(Box::new).map_err(safe))
        }
        Job::Diff { from, to, change } => Answer::Diff(
            debugger
                .diff(*from, *to, change)
                .map(|view| Box::new(OpenDiff::of(view)))
                .map_err(safe),
        ),
        Job::Detail { at, columns } => Answer::Detail(detail(debugger, *at, *columns)),
        Job::DiffByPath { sides, columns } => {
            Answer::DiffByPath(reading::by_path(sides, usize::from(*columns)))
        }
        Job::Request { at, base, columns } => {
            let view = match base {
                Base::StepStart => debugger.request(*at),
                Base::Spot(base) => debugger.requests(*base, debugger, *at),
            };
            Answer::Request(view.map_err(safe).map(|view| {
                let rows = reading::request(&view, usize::from(*columns));
                Box::new(RequestReading { view, rows })
            }))
        }
        Job::Like { at, base, columns } => {
            let base = match base {
                Base::StepStart => None,
                Base::Spot(base) => Some(*base),
            };
            let view = debugger.like(*at, base).map_err(safe);
            Answer::Like(view.map(|view| reading::like(&view, usize::from(*columns))))
        }
        Job::Raw { seq, columns } => Answer::Raw(
            debugger
                .raw(*seq)
                .map(|lines| reading::lines(&lines, usize::from(*columns)))
                .map_err(safe),
        ),
        Job::Transaction(_)
        | Job::Fork(_)
        | Job::Export(_)
        | Job::ForkTree(_)
        | Job::OpenRight(_)
        | Job::CloseRight
        | Job::RightSummary
        | Job::Align { .. }
        | Job::RightTimeline { .. }
        | Job::RightDetail { .. }
        | Job::ChangesAgainst { .. }
        | Job::TreeAgainst { .. }
        | Job::DiffAgainst { .. }
        | Job::StepAgainst { .. }
        | Job::StopDiff
        | Job::Watch
        | Job::Unwatch
        | Job::Refresh
        | Job::ReadOn
        | Job::StopReading
        | Job::Paint { .. }
        | Job::PaintDiff { .. }
        | Job::Search { .. }
        | Job::StopSearch
        | Job::Bisect { .. }
        | Job::StopBisect
        | Job::Runs
        | Job::StopRuns
        | Job::OpenRun(_)
        | Job::Statistics { .. }
        | Job::StopStatistics
        | Job::ContextRun { .. }
        | Job::StopContextRun => return None,
    })
}

/// Looks for the first bad step, and tells of each that is asked about. The run does not grow
/// meanwhile.
fn bisect(
    run: &Debugger,
    question: &str,
    (from, to): (Spot, Spot),
    is_cancelled: &dyn Fn() -> bool,
    reply: &mut dyn FnMut(Answer),
) -> Answered<Bisection> {
    let (question, scope) = run.question(question).map_err(safe)?;
    let options = BisectOptions { from, to, scope };
    let found = run.bisect(&options, &question, &mut |news| {
        let step = match news {
            BisectNews::Trees(trees, _) => Some(BisectStep::Looks(scope.looks(trees))),
            BisectNews::Asks(spot) => Some(BisectStep::Asks(spot)),
            BisectNews::Answered(row) => Some(BisectStep::Answered(*row)),
            BisectNews::Waits => None,
        };
        if let Some(step) = step {
            reply(Answer::Bisect(step));
        }
        if is_cancelled() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    found.map_err(safe)
}

/// A file, or that there is none: who has it open goes on from there.
fn file(debugger: &Debugger, at: Cursor, path: &TapePath) -> Answered<FileView> {
    match debugger.file(at, path) {
        Err(ReadError::NoFile(_)) => Ok(FileView {
            path: path.clone(),
            kind: EntryKind::File,
            certainty: Certainty::Absent,
            mode: None,
            content: FileContent::Nothing(SafeText::literal("it is not there")),
            remarks: Vec::new(),
            versions: debugger.versions(at, path),
        }),
        view => view.map_err(safe),
    }
}

fn base_of(debugger: &Debugger, base: Base, at: Spot) -> Spot {
    match base {
        Base::StepStart => debugger.spot_before(at),
        Base::Spot(spot) => spot,
    }
}

fn land(debugger: &Debugger, jump: &Jump) -> Answered<Option<Stop>> {
    let spot = match jump {
        Jump::Place(place) => Some(debugger.locate(place).map_err(safe)?),
        Jump::Step { branch, step } => Some(debugger.spot(*branch, *step)),
        Jump::Event { from, delta } => Some(debugger.step_event(*from, *delta)),
        Jump::Landmark {
            landmark,
            from,
            direction,
            count,
        } => {
            let next = |here: &Spot| next_landmark(debugger, landmark, *here, *direction);
            let landmarks = iter::successors(next(from), next);
            landmarks.take(*count as usize).last()
        }
    };
    Ok(spot.map(|spot| stop_at(debugger, spot)))
}

fn stop_at(debugger: &Debugger, spot: Spot) -> Stop {
    Stop {
        branch: debugger.line_of(spot),
        spot,
    }
}

/// Says nothing where it worked.
fn keep(debugger: &Debugger, left: &Left) -> Option<Answer> {
    let remember = || match &left.view {
        Some(view) => debugger.remember(view.line, view.spot.step, now()),
        None => Ok(()),
    };
    let error = debugger.keep(left).and_then(|()| remember()).err()?;
    Some(Answer::NotKept(safe(error)))
}

fn list_runs(places: &Places, is_cancelled: &dyn Fn() -> bool, reply: &mut dyn FnMut(Answer)) {
    places.runs(now(), is_cancelled, &mut |rows| reply(Answer::Runs(rows)));
    if !is_cancelled() {
        reply(Answer::AllRuns);
    }
}

fn now() -> WallTime {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    WallTime(since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }))
}

fn next_landmark(
    debugger: &Debugger,
    landmark: &Landmark,
    from: Spot,
    direction: Direction,
) -> Option<Spot> {
    match landmark {
        Landmark::Failure => debugger.next_failure(from, direction),
        Landmark::Version(path) => debugger.next_version(from, path, direction),
        Landmark::Edge => debugger.next_edge(from, direction),
    }
}

/// A step, whole, set in lines.
pub(super) fn detail(run: &Debugger, at: Spot, columns: u16) -> Answered<Box<StepReading>> {
    let detail = run.step(at).map_err(safe)?;
    Ok(Box::new(reading::step(detail, columns)))
}

pub(super) fn safe(error: impl fmt::Display) -> SafeText {
    SafeText::line(&error.to_string())
}
