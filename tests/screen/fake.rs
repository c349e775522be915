//! A run that was never recorded: every answer is computed from the step's number, so that
//! ten million steps cost nothing. It counts what it is asked.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use jukebox::debugger::{
    BranchRow, ChangeRow, ChurnRow, ContextCell, DiffView, Direction, Expanded, FileContent,
    FileView, HitRow, Refresh, Spot, Statistics, StepRow, StripCell, Summary, ToolRow,
    TransactionEdge, TransactionMark, TreeRow, Turn, VersionRow, Versions,
};
use jukebox::model::{
    Certainty, ChangeKind, Cursor, EntryKind, KnownLines, Outcome, Seq, StepKind, StepNumber,
    TapePath, Target,
};
use jukebox::text::{FileDiff, SafeText};
use jukebox::tui::app::App;
use jukebox::tui::conversation::{self, TurnLines};
use jukebox::tui::difference::OpenDiff;
use jukebox::tui::document::Document;
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::highlight::Highlighter;
use jukebox::tui::job::{
    Answer, Base, Changes, Job, Jump, Landmark, OpenFile, Progress, Slot, Stop,
};
use jukebox::tui::reading::{ContextLines, ReadingRow};
use jukebox::tui::worker::settle;

use crate::said::named;

/// Events in every step.
pub(crate) const EVENTS: u32 = 4;

/// The paths of the run, in order.
const PATHS: [&str; 9] = [
    "Cargo.toml",
    "README.md",
    "assets/logo.png",
    "src/ast/node.rs",
    "src/lexer.rs",
    "src/main.rs",
    "src/parse.rs",
    "tests/parse.rs",
    "tests/weird \u{202e}name\u{1b}[2J.rs",
];

/// The run.
pub(crate) struct Fake {
    /// Its steps.
    pub(crate) steps: u32,
    /// How often each slot was asked, and the most rows one answer held.
    pub(crate) asked: BTreeMap<Slot, u32>,
    /// The most rows of the timeline that one answer held.
    pub(crate) most_rows: usize,
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
            Job::Strip { columns, .. } => Answer::Strip(self.strip(*columns)),
            Job::Changes { base, at } => Answer::Changes(self.changes(*base, *at)),
            Job::Tree { at, base, expanded } => {
                let changes = self.changes(*base, *at);
                Answer::Tree(tree(&changes.rows, expanded))
            }
            Job::File { at, path } => {
                let view = self.file(*at, path);
                let document = Arc::new(Document::of(&view));
                Answer::File(Ok(Box::new(OpenFile { view, document })))
            }
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
            files: PATHS.iter().map(churn).collect(),
            ..Statistics::default()
        }
    }

    pub(crate) fn failed(n: u32) -> bool {
        n.is_multiple_of(17)
    }

    fn jump(&self, jump: &Jump) -> Result<Option<Spot>, SafeText> {
        let step = |n: i64| self.spot(0, u32::try_from(n.max(0)).unwrap_or(u32::MAX));
        match jump {
            Jump::Place(place) => match &place.target {
                Target::Step(n) if n.0 > self.steps => {
                    Err(text(&format!("no step {n}: the branch has {}", self.steps)))
                }
                Target::Step(n) => Ok(Some(self.spot(0, n.0))),
                Target::FromEnd(n) => Ok(Some(step(i64::from(self.steps) + 1 - i64::from(*n)))),
                Target::FirstFailure => Ok(Some(self.spot(0, 17))),
                Target::Seq(seq) => Ok(Some(self.event(seq.0 as u32 + 1))),
                Target::Time(micros) => Ok(Some(step((micros / 4_700_000) as i64))),
                Target::Mark(_) => Err(text("no marks here")),
                Target::End => Ok(Some(self.spot(0, self.steps))),
            },
            Jump::Step { branch, step } => Ok(Some(self.spot(*branch, step.0))),
            Jump::Event { from, delta } => {
                let to = i64::from(from.cursor.position) + delta;
                Ok(Some(self.event(u32::try_from(to.max(0)).unwrap_or(0))))
            }
            Jump::Landmark {
                landmark,
                from,
                direction,
                count,
            } => {
                let is_landmark = |n: u32| match landmark {
                    Landmark::Failure => Self::failed(n),
                    Landmark::Version(path) => changed(n).contains(&path.to_text().as_str()),
                    Landmark::Edge => n % 50 == 20,
                };
                let here = from.step.0;
                let nth = (*count as usize).saturating_sub(1);
                let found = match direction {
                    Direction::Forward => {
                        (here + 1..=self.steps).filter(|n| is_landmark(*n)).nth(nth)
                    }
                    Direction::Back => (1..here).rev().filter(|n| is_landmark(*n)).nth(nth),
                };
                Ok(found.map(|n| self.spot(from.cursor.branch, n)))
            }
        }
    }

    pub(crate) fn event(&self, position: u32) -> Spot {
        let position = position.min(self.steps * EVENTS);
        Spot {
            step: StepNumber(position.div_ceil(EVENTS)),
            cursor: Cursor {
                position,
                branch: 0,
            },
        }
    }

    pub(crate) fn row(&self, branch: u16, n: u32) -> StepRow {
        let (kind, actor, title) = match n % 10 {
            1 => (
                StepKind::Prompt,
                "user",
                "Please make the parser accept trailing commas.",
            ),
            2 | 6 => (
                StepKind::Model,
                "model",
                "The test fails because peek() consumes the token; I will look at the lexer first.",
            ),
            3 => (StepKind::Tool, "Read", "src/lexer.rs"),
            4 => (StepKind::Tool, "Edit", "src/lexer.rs  +12 −3"),
            5 | 7 => (
                StepKind::Tool,
                "Bash",
                "cargo test --quiet -- parse::trailing_comma \u{1b}[31m漢字",
            ),
            8 => (StepKind::Tool, "Write", "tests/parse.rs  +40"),
            9 if n == 109 => (StepKind::Gap, "", "events 436 to 440 are missing"),
            9 => (StepKind::Outside, "", "README.md is not what the run left"),
            _ => (StepKind::Transaction, "txn", "begin: try the other grammar"),
        };
        let transaction = match n % 50 {
            20 => Some(TransactionEdge::Begin),
            21..=26 => Some(TransactionEdge::Inside),
            27 => Some(TransactionEdge::End),
            _ => None,
        };
        StepRow {
            number: StepNumber(n),
            spot: self.spot(branch, n),
            seq: Seq(u64::from((n - 1) * EVENTS)),
            kind,
            outcome: match kind {
                _ if Self::failed(n) => Outcome::Failed,
                StepKind::Tool if n == self.steps => Outcome::Pending,
                StepKind::Tool if n.is_multiple_of(35) => Outcome::Refused,
                StepKind::Tool => Outcome::Ok,
                _ => Outcome::None,
            },
            title: text(title),
            actor: text(actor),
            t: u64::from(n) * 4_700_000,
            duration: (kind == StepKind::Tool).then_some(u64::from(n) * 37_000 % 9_000_000),
            agent: (31..35).contains(&(n % 100)).then(|| text("explorer")),
            depth: u8::from((31..35).contains(&(n % 100))),
            file_events: changed(n).len() as u32,
            is_suspect: matches!(n % 10, 5 | 7),
            has_outside_change: kind == StepKind::Outside,
            has_branches: n == 60,
            has_problem: n == 109,
            has_hidden: n == 115,
            transaction: transaction.map(|edge| TransactionMark {
                edge,
                is_rolled_back: n % 100 < 50,
            }),
        }
    }

    pub(crate) fn strip(&self, columns: u16) -> Vec<StripCell> {
        let columns = u64::from(columns);
        let steps = u64::from(self.steps);
        if steps == 0 {
            return Vec::new();
        }
        (0..columns)
            .map(|column| {
                let first = (column * steps / columns + 1) as u32;
                let last = (((column + 1) * steps / columns) as u32).max(first);
                let near = || (first..=last).take(100);
                StripCell {
                    steps: (first, last),
                    events: near().map(|n| n * 7 % 23 + 1).max().unwrap_or(1),
                    file_events: near().map(|n| changed(n).len() as u32).sum(),
                    has_failure: near().any(Self::failed),
                    has_gap: (first..=last).contains(&109),
                    has_outside_change: near().any(|n| n % 10 == 9 && n % 3 == 0),
                    has_branches: (first..=last).contains(&60),
                }
            })
            .collect()
    }

    fn changes(&self, base: Base, at: Spot) -> Changes {
        let from = match base {
            Base::Spot(spot) => spot,
            Base::StepStart => self.spot(at.cursor.branch, at.step.0.saturating_sub(1)),
        };
        let (first, last) = (from.step.0.min(at.step.0) + 1, from.step.0.max(at.step.0));
        let mut paths: Vec<&str> = (first..=last)
            .take(1000)
            .flat_map(changed)
            .copied()
            .collect();
        paths.sort_unstable();
        paths.dedup();
        let rows = paths.into_iter().map(|path| ChangeRow {
            path: TapePath::new(path).unwrap(),
            from: None,
            change: ChangeKind::Modified,
            certainty: (Certainty::Exact, Certainty::Exact),
            mode: (path == "tests/parse.rs").then_some((0o644, 0o755)),
            is_outside: path == "README.md",
        });
        Changes {
            from,
            rows: rows.collect(),
        }
    }

    /// What a file holds: a program whose lines count the changes.
    fn bytes(step: u32, path: &TapePath) -> Vec<u8> {
        let path = path.to_text();
        if path == "assets/logo.png" {
            return [0x89, b'P', 0, step as u8].repeat(9);
        }
        let changes = (1..=step.min(400))
            .filter(|n| changed(*n).contains(&path.as_str()))
            .count();
        let mut program = String::from("//! Reads tokens.\n\nuse std::fmt;\n\n");
        for index in 0..30 {
            let value = if index % 7 == changes % 7 { changes } else { 0 };
            let _ = write!(
                program,
                "/// Returns the token after `{index}`.\nfn next_{index}(&mut self) -> Option<Token> {{\n\
                 \x20   let c = self.peek({value})?; // {path}\n    Some(Token::new(\"text\", c))\n}}\n\n"
            );
        }
        program.push_str("// a very long line, and a hidden character at its end \u{200b}");
        program.into_bytes()
    }

    fn file(&self, at: Cursor, path: &TapePath) -> FileView {
        let name = path.to_text();
        let step = at.position / EVENTS;
        let content = if name == "README.md" {
            FileContent::Lines(KnownLines {
                total: Some(60),
                ranges: vec![
                    (3, "# A parser\n\nIt parses.\n".into()),
                    (40, "## Licence\n\nMIT\n".into()),
                ],
            })
        } else if name == "src/ast/node.rs" && step < 10 {
            FileContent::Nothing(text("it was named by a search and never read"))
        } else {
            FileContent::Bytes(Self::bytes(step, path).into())
        };
        let (certainty, remarks) = match &content {
            FileContent::Lines(_) => (Certainty::Partial, vec![]),
            FileContent::Nothing(_) => (Certainty::Unknown, vec![]),
            FileContent::Bytes(_) if step % 10 >= 5 => (
                Certainty::Uncertain,
                vec![text(&format!(
                    "a shell command ran since step {}",
                    step / 10 * 10 + 4
                ))],
            ),
            FileContent::Bytes(_) => (Certainty::Exact, vec![]),
        };
        let steps = (1..=self.steps.min(2000)).filter(|n| changed(*n).contains(&name.as_str()));
        let version = |(index, n)| VersionRow {
            spot: self.spot(at.branch, n),
            change: if index == 0 {
                ChangeKind::Added
            } else {
                ChangeKind::Modified
            },
            is_outside: n % 10 == 9,
        };
        let versions: Vec<VersionRow> = steps.enumerate().map(version).collect();
        FileView {
            path: path.clone(),
            kind: EntryKind::File,
            certainty,
            mode: Some(0o644),
            content,
            remarks,
            versions: Versions {
                count: Some(versions.len()),
                rows: versions,
                ..Versions::default()
            },
        }
    }
}

/// The files a step changes.
fn changed(n: u32) -> &'static [&'static str] {
    match n % 10 {
        4 => &["src/lexer.rs"],
        8 if n % 20 == 8 => &["src/lexer.rs", "src/parse.rs", "tests/parse.rs"],
        8 => &["assets/logo.png"],
        9 => &["README.md"],
        _ => &[],
    }
}

fn tree(changes: &[ChangeRow], expanded: &Expanded) -> Vec<TreeRow> {
    let Expanded::Only(expanded) = expanded else {
        panic!("the screen never asks for everything");
    };
    let mut rows: Vec<TreeRow> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for name in PATHS {
        let path = TapePath::new(name).unwrap();
        let mut chain: Vec<TapePath> =
            std::iter::successors(Some(path.clone()), TapePath::parent).collect();
        chain.reverse();
        for (depth, part) in chain.iter().enumerate() {
            let is_directory = *part != path;
            if seen.insert(part.clone()) {
                let below = changes.iter().find(|change| change.path.is_within(part));
                rows.push(TreeRow {
                    path: part.clone(),
                    name: SafeText::from_bytes(part.name()),
                    depth: depth as u16,
                    kind: if is_directory {
                        EntryKind::Directory
                    } else {
                        EntryKind::File
                    },
                    mode: Some(0o644),
                    size: (!is_directory).then_some(name.len() as u64 * 331),
                    blob: None,
                    certainty: match name {
                        "README.md" => Certainty::Partial,
                        "src/parse.rs" if !is_directory => Certainty::Uncertain,
                        _ => Certainty::Exact,
                    },
                    change: below.map(|change| change.change),
                    is_expanded: is_directory && expanded.contains(part),
                    target: None,
                });
            }
            if is_directory && !expanded.contains(part) {
                break;
            }
        }
    }
    rows
}
