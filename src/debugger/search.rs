//! Search over all events of a line: words, phrases, patterns and fields; and over the
//! contents of files, as they were written.
//!
//! Reads every event once, in order, and tells each hit as it is found.

mod query;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::{Debugger, HitRow, Spot};
use crate::model::{Body, Content, Event, FileChange, Progress, StepNumber, Tell, Unit};
use crate::tape::BlobSource as _;
use crate::text::SafeText;
use query::Query;
pub use query::QueryError;

/// Of a file that is larger, nothing is looked through.
const LARGEST_FILE: u64 = 8 << 20;

/// A search of the events of a line, which can be done in parts: between two of them, whoever
/// searches may let others at the run.
#[derive(Clone, Debug)]
pub struct Search {
    query: Query,
    line: u16,
    /// The last step to be looked through.
    last: StepNumber,
    /// The steps that were looked through.
    done: u32,
    /// In the next one, the event to go on with.
    next: Option<u32>,
    /// The lines of each file that were hits when it was written last: they are none again
    /// where they were left as they were.
    known: HashMap<String, HashSet<String>>,
    /// By the number of an agent, whether it is meant.
    agents: HashMap<u16, bool>,
}

impl Search {
    /// Begins to look for something on a line. Words are compared without regard to case;
    /// `"two words"` are one phrase, `re:` is a pattern; `tool:` `kind:` `status:` `path:`
    /// `agent:` `step:A..B` narrow it down; `file:` looks in what was written to files.
    pub fn new(query: &str, line: u16) -> Result<Self, QueryError> {
        Ok(Self {
            query: Query::parse(query)?,
            line,
            last: StepNumber(u32::MAX),
            done: 0,
            next: None,
            known: HashMap::new(),
            agents: HashMap::new(),
        })
    }

    /// Only up to this step.
    #[must_use]
    pub fn up_to(self, last: StepNumber) -> Self {
        Self { last, ..self }
    }
}

/// Events, or steps, between two words about how far a search or a count has come.
pub(super) const PART: u32 = 64;

impl Debugger {
    /// Looks through all events of a line and tells each hit; a break is that of `tell`.
    /// Costs a read of the whole tape.
    pub fn search(
        &self,
        mut search: Search,
        tell: &mut Tell<'_>,
        hit: &mut dyn FnMut(HitRow),
    ) -> ControlFlow<()> {
        loop {
            let mut looked_at = 0;
            let mut is_enough = || {
                looked_at += 1;
                looked_at > PART
            };
            if self
                .search_on(&mut search, &mut is_enough, hit)
                .is_continue()
            {
                return ControlFlow::Continue(());
            }
            tell(self.searched(&search))?;
        }
    }

    /// Looks through the next events, and tells each hit, until there are no more, or it is
    /// enough for now: which of the two. Costs a read of each event.
    pub fn search_on(
        &self,
        search: &mut Search,
        is_enough: &mut dyn FnMut() -> bool,
        hit: &mut dyn FnMut(HitRow),
    ) -> ControlFlow<()> {
        while search.done < self.steps_to_search(search) {
            let number = StepNumber(search.done + 1);
            if let Some(step) = self.tape.index.step_on(search.line, number)
                && (search.next.is_some() || self.step_matches(search, step, number))
            {
                let spot = self.spot(search.line, number);
                self.search_step(search, (step, spot), is_enough, hit)?;
            }
            search.next = None;
            search.done += 1;
            if is_enough() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// How much of its line a search has looked through, in steps.
    pub fn searched(&self, search: &Search) -> Progress {
        Progress {
            done: search.done.into(),
            of: self.steps_to_search(search).into(),
            unit: Unit::Steps,
        }
    }

    fn steps_to_search(&self, search: &Search) -> u32 {
        self.steps_on(search.line).min(search.last.0)
    }

    fn step_matches(&self, search: &mut Search, step: u32, number: StepNumber) -> bool {
        let (query, agents) = (&search.query, &mut search.agents);
        let index = &self.tape.index;
        let Some(entry) = index.steps.get(step) else {
            return false;
        };
        let in_range = query
            .steps
            .is_none_or(|(from, to)| (from..=to).contains(&number.0));
        let has_status = query
            .status
            .as_ref()
            .is_none_or(|status| entry.outcome.as_str() == status);
        let has_agent = query.agent.as_ref().is_none_or(|agent| {
            let number = entry.lane.agent;
            let is_meant = || self.is_agent(number, agent);
            *agents.entry(number).or_insert_with(is_meant)
        });
        let has_kind = query
            .kind
            .as_ref()
            .is_none_or(|kind| entry.kind.as_str() == kind);
        let has_tool = query.tool.as_ref().is_none_or(|tool| {
            let actor = self.heading(step, entry).actor;
            entry.kind == crate::model::StepKind::Tool && actor.as_str().to_lowercase() == *tool
        });
        in_range && has_status && has_agent && has_kind && has_tool
    }

    /// Whether an agent is called so: by its id, or by what sort of agent it is.
    fn is_agent(&self, number: u16, name: &str) -> bool {
        let agent = self.tape.index.agents.get(usize::from(number));
        agent.is_some_and(|agent| {
            let names = [&agent.name, &self.sort_of_agent(agent)];
            names.iter().any(|it| it.to_lowercase().contains(name))
        })
    }

    fn search_step(
        &self,
        search: &mut Search,
        (step, spot): (u32, Spot),
        is_enough: &mut dyn FnMut() -> bool,
        hit: &mut dyn FnMut(HitRow),
    ) -> ControlFlow<()> {
        let from = search.next.take();
        let query = &search.query;
        let events = self.events_of(step).map(|(position, _)| position);
        for position in events.skip_while(|position| from.is_some_and(|from| *position < from)) {
            // At least one event is looked at each time.
            if from != Some(position) && is_enough() {
                search.next = Some(position);
                return ControlFlow::Break(());
            }
            let Ok(event) = self.tape.event(position) else {
                continue;
            };
            let seq = self.tape.index.events.seq(position);
            if let Body::File(change) = &event.body
                && query.looks_into_files()
            {
                self.search_file(query, &mut search.known, change, &mut |line| {
                    hit(row(spot, seq, "file", line));
                });
            }
            if query.is_for_files {
                continue;
            }
            if let Some(path) = &query.path {
                let Body::File(change) = &event.body else {
                    continue;
                };
                let name = change.path.to_text();
                if !path.is_for(&name) {
                    continue;
                }
                if query.needles.is_empty() {
                    hit(row(spot, seq, "path", &name));
                    continue;
                }
            }
            let texts = texts_of(&event);
            if query.needles.is_empty() {
                if event.kind() != crate::model::Kind::ToolResult {
                    let title = super::title::title_of(&event);
                    hit(row(spot, seq, event.body.kind_name(), &title));
                    break;
                }
                continue;
            }
            for (field, text) in &texts {
                for line in text.lines().filter(|line| query.is_in(line)) {
                    hit(row(spot, seq, field, line));
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Tells the hits in what was written to a file, but for lines that were hits before.
    fn search_file(
        &self,
        query: &Query,
        known: &mut HashMap<String, HashSet<String>>,
        change: &FileChange,
        hit: &mut dyn FnMut(&str),
    ) {
        let name = change.path.to_text();
        if query.path.as_ref().is_some_and(|path| !path.is_for(&name)) {
            return;
        }
        let text = self.text_of(change).unwrap_or_default();
        let before = known.remove(&name).unwrap_or_default();
        let mut now = HashSet::new();
        for (above, line) in text.lines().enumerate() {
            if query.is_in(line) {
                if !before.contains(line) {
                    hit(&format!("{name}:{}: {}", above + 1, line.trim()));
                }
                now.insert(line.to_owned());
            }
        }
        known.insert(name, now);
    }

    /// What a file event says that the file holds, where that is text.
    fn text_of(&self, change: &FileChange) -> Option<String> {
        match &change.content {
            Content::Blob { hash, len, .. } if *len <= LARGEST_FILE => {
                let bytes = self.tape.blob(hash).ok()?;
                String::from_utf8(bytes.to_vec()).ok()
            }
            Content::Lines(known) => {
                // At the lines where they stand.
                let mut text = String::new();
                let mut line = 1;
                for (first, lines) in &known.ranges {
                    for _ in line..(*first).min(1 << 20) {
                        text.push('\n');
                    }
                    text.push_str(lines);
                    line = first + lines.lines().count() as u64;
                }
                Some(text)
            }
            _ => None,
        }
    }
}

fn row(spot: Spot, seq: crate::model::Seq, field: &str, line: &str) -> HitRow {
    HitRow {
        spot,
        seq,
        field: SafeText::line(field),
        line: SafeText::line(line.trim()),
    }
}

/// The texts of an event by field.
fn texts_of(event: &Event) -> Vec<(&'static str, String)> {
    match &event.body {
        Body::Prompt { text, .. } => vec![("prompt", text.clone())],
        Body::ModelRequest { added, .. } => vec![("request", added.to_string())],
        Body::ModelResponse { blocks, .. } => blocks
            .iter()
            .map(|block| match &block.data {
                serde_json::Value::Null => ("response", block.text.clone()),
                data => ("response", format!("{}\n{}", block.text, strings_of(data))),
            })
            .collect(),
        Body::ToolCall { name, arguments } => {
            vec![("arguments", format!("{name}\n{}", strings_of(arguments)))]
        }
        Body::ToolResult { output, detail, .. } => {
            vec![("output", output.clone()), ("detail", strings_of(detail))]
        }
        Body::File(change) => vec![("path", change.path.to_text())],
        Body::Suspect { why, .. } | Body::Gap { why } | Body::Branch { why, .. } => {
            vec![("why", why.clone())]
        }
        Body::Note { text } => vec![("note", text.clone())],
        Body::Raw { bytes, .. } => vec![("record", String::from_utf8_lossy(bytes).into_owned())],
        Body::Other { fields, .. } => {
            vec![(
                "fields",
                strings_of(&serde_json::Value::Object(fields.clone())),
            )]
        }
        _ => Vec::new(),
    }
}

/// All strings and numbers of a value, each on lines of its own, with their keys.
fn strings_of(value: &serde_json::Value) -> String {
    fn collect(value: &serde_json::Value, into: &mut String) {
        match value {
            serde_json::Value::Null => {}
            serde_json::Value::String(text) => {
                into.push_str(text);
                into.push('\n');
            }
            serde_json::Value::Array(values) => {
                for value in values {
                    collect(value, into);
                }
            }
            serde_json::Value::Object(fields) => {
                for (key, value) in fields {
                    into.push_str(key);
                    into.push_str(": ");
                    collect(value, into);
                }
            }
            scalar => {
                into.push_str(&scalar.to_string());
                into.push('\n');
            }
        }
    }
    let mut text = String::new();
    collect(value, &mut text);
    text
}
