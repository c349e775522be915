//! The steps of the made-up run: what each did, where the playhead finds them, and the strip
//! of them all.

use jukebox::debugger::{Direction, Spot, StepRow, StripCell, TransactionEdge, TransactionMark};
use jukebox::model::{Cursor, Outcome, Seq, StepKind, StepNumber, Target};
use jukebox::text::SafeText;
use jukebox::tui::job::{Jump, Landmark};

use super::files::changed;
use super::{EVENTS, Fake, text};

impl Fake {
    pub(crate) fn failed(n: u32) -> bool {
        n.is_multiple_of(17)
    }

    pub(super) fn jump(&self, jump: &Jump) -> Result<Option<Spot>, SafeText> {
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
            via: None,
            transaction: transaction.map(|edge| TransactionMark {
                edge,
                is_rolled_back: n % 100 < 50,
                is_open: false,
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
}
