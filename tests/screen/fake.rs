//! A run that was never recorded: every answer is computed from the step's number, so that
//! ten million steps cost nothing. It counts what it is asked.

#[path = "fake/files.rs"]
mod files;
#[path = "fake/steps.rs"]
mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jukebox::debugger::{
    BranchRow, ChurnRow, ContextCell, DiffView, ForkPoints, ForkRow, HitRow, Presence, Refresh,
    Spot, Statistics, StepRow, StripCell, Summary, ToolRow, Turn,
};
use jukebox::model::{Cursor, Seq, StepNumber, TapePath};
use jukebox::text::{FileDiff, SafeText};
use jukebox::tui::app::App;
use jukebox::tui::conversation::{self, TurnLines};
use jukebox::tui::difference::OpenDiff;
use jukebox::tui::document::Document;
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::highlight::Highlighter;
use jukebox::tui::job::{
    Answer, BisectStep, ExportAnswer, ExportJob, ForkTreeAnswer, ForkTreeJob, Job, NoCase,
    OpenFile, Progress, Slot, Stop,
};
use jukebox::tui::reading::{ContextLines, ReadingRow};
use jukebox::tui::worker::settle;

use crate::said::named;

/// Events in every step.
pub(crate) const EVENTS: u32 = 4;

/// The run.
pub(crate) struct Fake {
    /// Its steps.
    pub(crate) steps: u32,
    /// How often each slot was asked, and the most rows one answer held.
    pub(crate) asked: BTreeMap<Slot, u32>,
    /// The most rows of the timeline that one answer held.
    pub(crate) most_rows: usize,
    /// Where forks leave it.
    pub(crate) forks: ForkPoints,
    /// What a look at the file finds.
    pub(crate) refresh: Refresh,
    highlighter: Highlighter,
}

pub(crate) fn text(words: &str) -> SafeText {
    SafeText::line(words)
}

impl Fake {
    pub(crate) fn new(steps: u32) -> Self {
        Self {
            steps,
            asked: BTreeMap::new(),
            most_rows: 0,
            forks: ForkPoints::default(),
            refresh: Refresh::Unchanged,
            highlighter: Highlighter::default(),
        }
    }

    /// Gives the event to the screen and answers all it asks.
    pub(crate) fn settle(&mut self, app: &mut App, event: Event) -> Vec<Effect> {
        settle(app, event, |job, reply| self.answer(job, reply))
    }

    pub(crate) fn answer(&mut self, job: &Job, reply: &mut dyn FnMut(Answer)) {
        *self.asked.entry(job.slot()).or_default() += 1;
        let answer = match job {
            Job::OpenRight(_) => Answer::RightOpened(Err(text("nothing to hold it against"))),
            Job::Left => Answer::Left(Box::default()),
            Job::Runs => return super::picker::list(reply),
            Job::OpenRun(_) => Answer::OpenedRun(Err(text("it is only a list"))),
            Job::Refresh => Answer::Refreshed(Ok(self.refresh)),
            Job::Summary => Answer::Summary(Box::new(self.summary())),
            Job::Problems => Answer::Problems(vec![text("line 77: not JSON")]),
            Job::Jump(jump) => {
                let stop = |spot: Spot| Stop {
                    branch: spot.cursor.branch,
                    spot,
                };
                Answer::Jump(self.jump(jump).map(|spot| spot.map(stop)))
            }
            Job::Timeline { branch, steps } => {
                let last = steps.end.min(self.steps + 1);
                let rows: Vec<StepRow> = (steps.start.max(1)..last)
                    .map(|n| self.row(*branch, n))
                    .collect();
                self.most_rows = self.most_rows.max(rows.len());
                Answer::Timeline(rows)
            }
            Job::Steps { branch, steps } => {
                self.most_rows = self.most_rows.max(steps.len());
                Answer::Timeline(
                    steps
                        .iter()
                        .filter(|n| **n > 0)
                        .map(|n| self.row(*branch, *n))
                        .collect(),
                )
            }
            Job::Agents { .. } => Answer::Agents(self.agents()),
            Job::FilesOfStep { at } => Answer::FilesOfStep(named(at.step.0)),
            Job::Conversation {
                branch,
                steps,
                whole,
                columns,
                ..
            } => {
                let last = steps.end.min(self.steps + 1);
                let turns = (steps.start.max(1)..last).map(|n| self.turn(*branch, n));
                let set = |turn: Turn| conversation::lines(&turn, whole, usize::from(*columns));
                let turns: Vec<TurnLines> = turns.map(set).collect();
                self.most_rows = self.most_rows.max(turns.len());
                Answer::Conversation(turns)
            }
            Job::Context { at, .. } => Answer::Context(vec![ReadingRow::Line(text(&format!(
                "context at {}",
                at.step
            )))]),
            Job::ContextRun { columns, .. } => {
                let cell = |cell: StripCell| ContextCell {
                    steps: cell.steps,
                    tokens: u64::from(cell.steps.0) * 1000 % 150_000,
                    has_compaction: cell.steps.0 * 1000 % 150_000 < 2000,
                };
                Answer::ContextRun(Box::new(ContextLines {
                    cells: self.strip(*columns).into_iter().map(cell).collect(),
                    rows: vec![ReadingRow::Line(text("no system prompt"))],
                }))
            }
            Job::Environment { at, .. } => Answer::Environment(vec![ReadingRow::Line(text(
                &format!("environment at {}", at.step),
            ))]),
            Job::Effects { at, .. } => Answer::Effects(vec![ReadingRow::Line(text(&format!(
                "effects at {}",
                at.step
            )))]),
            Job::Strip { columns, .. } => Answer::Strip(self.strip(*columns)),
            Job::Changes { base, at } => Answer::Changes(self.changes(*base, *at)),
            Job::Tree {
                changes, expanded, ..
            } => Answer::Tree(files::tree(changes, expanded)),
            Job::File { at, path } => {
                let view = self.file(*at, path);
                let document = Arc::new(Document::of(&view));
                Answer::File(Ok(Box::new(OpenFile { view, document })))
            }
            Job::Blame { .. } => Answer::Blame(Err(text("nobody knows who wrote it"))),
            Job::Fetch { at, path } => Answer::Fetched(Ok(Box::new(self.file(*at, path)))),
            Job::Diff { from, to, change } => {
                let content = |at: &Cursor| Self::bytes(at.position / EVENTS, &change.path);
                let (old, new) = (content(from), content(to));
                let budget = Duration::from_secs(10);
                let diff = FileDiff::between(Some(&old), Some(&new), budget);
                Answer::Diff(Ok(Box::new(OpenDiff::of(DiffView {
                    change: change.clone(),
                    diff: Some(Arc::new(diff)),
                    before: Some(old.into()),
                    after: Some(new.into()),
                    remarks: Vec::new(),
                }))))
            }
            Job::Statistics { .. } => Answer::Statistics(Box::new(self.statistics())),
            Job::Detail { at, columns } => {
                let detail = self.detail(*at);
                let step = jukebox::tui::reading::step(detail, *columns);
                Answer::Detail(Ok(Box::new(step)))
            }
            Job::DiffByPath { .. } => Answer::DiffByPath(None),
            Job::Like { .. } => Answer::Like(Ok(Vec::new())),
            Job::Request { .. } => Answer::Request(Err(text("no such thing"))),
            Job::Raw { seq, .. } => Answer::Raw(Ok(vec![
                ReadingRow::Line(text("{")),
                ReadingRow::Line(text(&format!("  \"seq\": {seq},"))),
                ReadingRow::Line(text("  \"kind\": \"tool.call\"")),
                ReadingRow::Line(text("}")),
            ])),
            Job::Paint {
                document,
                path,
                lines,
            } => {
                let painted = self
                    .highlighter
                    .paint(document, path, lines.clone(), &|| false);
                Answer::Painted(painted.unwrap())
            }
            Job::PaintDiff { sides, path, lines } => {
                let mut paint = |side: usize| {
                    let painted =
                        self.highlighter
                            .paint(&sides[side], path, lines[side].clone(), &|| false);
                    painted.unwrap()
                };
                Answer::PaintedDiff(Box::new([paint(0), paint(1)]))
            }
            Job::ForkTree(job) => match self.about_forks(job) {
                Some(answer) => Answer::ForkTree(answer),
                None => return,
            },
            Job::Bisect { .. } => Answer::Bisect(BisectStep::Ended(Err(text("no such thing")))),
            Job::Export(ExportJob::Prepare { .. }) => {
                let none = NoCase {
                    is_call: false,
                    why: text("no such thing"),
                    has_evaluation: false,
                    next: Some(StepNumber(self.steps)),
                    before: None,
                };
                Answer::Export(ExportAnswer::Prepared(Err(none)))
            }
            Job::Search { query, .. } => Answer::Hits {
                hits: (1..=self.steps)
                    .filter(|n| n % 40 == 0)
                    .map(|n| HitRow {
                        spot: self.spot(0, n),
                        seq: Seq(u64::from(n * EVENTS)),
                        field: text("output"),
                        line: text(&format!("found {query} here")),
                    })
                    .collect(),
                progress: Progress::Finished,
            },
            // There is nothing to tell, or no second run that could be asked.
            _ => return,
        };
        reply(answer);
    }

    pub(crate) fn spot(&self, branch: u16, step: u32) -> Spot {
        let step = step.min(self.steps);
        Spot {
            step: StepNumber(step),
            cursor: Cursor {
                position: step * EVENTS,
                branch,
            },
        }
    }

    /// Two forks, of which one is gone; nothing can be done to either.
    fn about_forks(&self, job: &ForkTreeJob) -> Option<ForkTreeAnswer> {
        let refused = || Err(text("it is only a list"));
        Some(match job {
            ForkTreeJob::Points { .. } => ForkTreeAnswer::Points(self.forks.clone()),
            ForkTreeJob::Tree => {
                let row = |name: &str, depth, presence| ForkRow {
                    id: name.to_owned(),
                    path: Some(format!("/home/dev/work/{name}.jsonl").into()),
                    presence,
                    is_this: depth == 0,
                    depth,
                    seq: (depth > 0).then_some(Seq(9)),
                    edit: None,
                    title: text(name),
                    is_named: false,
                };
                ForkTreeAnswer::Tree(vec![
                    row("run", 0, Presence::There),
                    row("evil \u{202e}\u{1b}[2J 漢", 1, Presence::There),
                    row("gone", 2, Presence::Gone),
                ])
            }
            ForkTreeJob::Stop => return None,
            ForkTreeJob::Rename { .. } => ForkTreeAnswer::Renamed(refused()),
            ForkTreeJob::Delete { .. } => ForkTreeAnswer::Deleted(refused()),
            ForkTreeJob::Beside(_) => ForkTreeAnswer::Beside(Err(text("it is only a list"))),
        })
    }

    fn summary(&self) -> Summary {
        let branch = |id, name, parent, steps| BranchRow {
            id,
            name: text(name),
            parent,
            steps,
            failed: self.steps / 17,
        };
        Summary {
            name: text("run.jsonl"),
            agent: text("claude-code 2.1"),
            branches: vec![
                branch(0, "main", None, self.steps),
                branch(1, "b2", Some((0, StepNumber(60))), self.steps),
            ],
            current: 0,
            events: self.steps * EVENTS,
            duration: u64::from(self.steps) * 4_700_000,
            bytes: u64::from(self.steps) * 900,
            problems: 1,
            has_effects: false,
            has_transactions: false,
            fork: None,
            notices: vec![text("1 line could not be read: line 77 is not JSON.")],
        }
    }

    fn statistics(&self) -> Statistics {
        let tool = |name, calls, failed| ToolRow {
            name: text(name),
            calls,
            failed,
            time: 1_000_000,
        };
        let churn = |name: &&str| ChurnRow {
            path: TapePath::new(*name).unwrap(),
            steps: name.len() as u32,
        };
        Statistics {
            steps: self.steps,
            failed: self.steps / 17,
            tools: vec![tool("Bash", 42, 12), tool("Edit\u{1b}[2J", 21, 0)],
            files: files::PATHS.iter().map(churn).collect(),
            ..Statistics::default()
        }
    }
}
