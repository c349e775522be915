//! Who speaks in the run that was never recorded, what is said and what is done.

use jukebox::debugger::{
    AgentRow, EventRow, NamedFile, Section, Spoken, Spot, StepDetail, Turn, Utterance,
};
use jukebox::model::{Kind, Seq, StepKind, StepNumber, TapePath};
use jukebox::text::SafeText;

use crate::fake::{EVENTS, Fake, text};

impl Fake {
    /// In each hundred steps an agent does four, and starts one that does the last two.
    pub(crate) fn agents(&self) -> Vec<AgentRow> {
        let hundreds = (0..self.steps.div_ceil(100).min(50)).map(|n| n * 100);
        let agent = |hundred: u32, inner: u16, first: u32, last: u32| AgentRow {
            id: hundred as u16 / 50 + 1 + inner,
            parent: inner * (hundred as u16 / 50 + 1),
            name: text(if inner == 0 {
                "explore"
            } else {
                "deep\u{1b}[2J"
            }),
            call: Some(StepNumber(hundred + 30)),
            stretches: vec![(hundred + first, (hundred + last).min(self.steps))],
            failed: (first..=last).filter(|n| Self::failed(hundred + n)).count() as u32,
            duration: 9_000_000,
        };
        let agents = hundreds.flat_map(|n| [agent(n, 0, 31, 32), agent(n, 1, 33, 34)]);
        agents
            .filter(|agent| agent.stretches[0].0 <= self.steps)
            .collect()
    }

    pub(crate) fn turn(&self, branch: u16, n: u32) -> Turn {
        let row = self.row(branch, n);
        let said = |sort, words: &str, omitted| Spoken {
            sort,
            lines: SafeText::lines(words),
            omitted,
        };
        let spoken = match row.kind {
            StepKind::Prompt => vec![said(Utterance::Words, row.title.as_str(), 0)],
            StepKind::Model => vec![
                said(Utterance::Thinking, "peek() may eat it\nor not", 3),
                said(Utterance::Words, &"words of the model\n".repeat(20), 0),
            ],
            _ => vec![],
        };
        Turn { row, spoken }
    }

    pub(crate) fn detail(&self, at: Spot) -> StepDetail {
        let row = self.row(at.cursor.branch, at.step.0.max(1));
        let first = (row.number.0 - 1) * EVENTS;
        let section = |name: &str, lines: &str, has_hidden| Section {
            name: text(name),
            lines: SafeText::lines(lines),
            omitted: 0,
            has_hidden,
        };
        let sections = match row.kind {
            StepKind::Tool => vec![
                section(
                    "arguments",
                    "command: cargo test --quiet\ntimeout: 120000",
                    false,
                ),
                Section {
                    omitted: 812,
                    ..section(
                        "output",
                        "running 41 tests\n\u{1b}[31merror\u{1b}[0m: expected `,`, found \u{202e}`]`\ntest parse::trailing_comma ... FAILED\n\nfailures:\n    parse::trailing_comma\n    This line is long enough that it has to be broken in every pane that is narrower than the widest of screens, at a space.",
                        true,
                    )
                },
            ],
            _ => vec![
                section(
                    "text",
                    "The test fails because peek() consumes the token.\n\nI will look at the lexer first, then write a test that shows the fault before I mend it.",
                    false,
                ),
                section("usage", "input 12,044  output 310  cache 11,008", false),
            ],
        };
        let events = (0..EVENTS).map(|index| EventRow {
            seq: Seq(u64::from(first + index)),
            spot: self.event(first + index + 1),
            kind: Kind::ToolCall,
            kind_name: text("tool.call"),
            t: row.t,
            title: row.title.clone(),
            bytes: 812,
        });
        StepDetail {
            sections,
            events: events.collect(),
            omitted_events: 0,
            changes: Vec::new(),
            row,
        }
    }
}

/// The files that a step may be about.
pub(crate) fn named(n: u32) -> Vec<NamedFile> {
    let file = |path: &str, line| NamedFile {
        path: TapePath::new(path).unwrap(),
        line,
    };
    match n {
        0 => vec![],
        _ => vec![file("src/lexer.rs", Some(20)), file("README.md", None)],
    }
}
