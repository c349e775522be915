//! Search over all events of a line: words, phrases and fields.
//!
//! Reads every event once, in order, and tells each hit as it is found.

use std::ops::ControlFlow;

use super::{Debugger, HitRow, Spot};
use crate::model::{Body, Event, Progress, StepNumber, Tell, Unit};
use crate::text::SafeText;

/// A query cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Nothing to look for.
    #[error("the query is empty")]
    Empty,
    /// A quote is open at the end.
    #[error("the query has an open quote")]
    OpenQuote,
    /// A field has a value that it cannot have.
    #[error("`{0}` is no field query; fields: tool: kind: status: path: agent: step:A..B")]
    Field(String),
}

/// What to look for: everything must hold.
#[derive(Clone, Debug, Default)]
struct Query {
    words: Vec<String>,
    tool: Option<String>,
    kind: Option<String>,
    status: Option<String>,
    path: Option<String>,
    agent: Option<String>,
    steps: Option<(u32, u32)>,
}

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
}

impl Search {
    /// Begins to look for something on a line. Words are compared without regard to case;
    /// `"two words"` are one phrase; `tool:` `kind:` `status:` `path:` `agent:` `step:A..B`
    /// narrow it down.
    pub fn new(query: &str, line: u16) -> Result<Self, QueryError> {
        Ok(Self {
            query: Query::parse(query)?,
            line,
            last: StepNumber(u32::MAX),
            done: 0,
            next: None,
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
                && (search.next.is_some() || self.step_matches(&search.query, step, number))
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

    fn step_matches(&self, query: &Query, step: u32, number: StepNumber) -> bool {
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
            let name = index.agents.get(usize::from(entry.lane.agent));
            name.is_some_and(|entry| entry.name.to_lowercase().contains(agent))
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

    fn search_step(
        &self,
        search: &mut Search,
        (step, spot): (u32, Spot),
        is_enough: &mut dyn FnMut() -> bool,
        hit: &mut dyn FnMut(HitRow),
    ) -> ControlFlow<()> {
        let query = &search.query;
        let from = search.next.take();
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
            if let Some(path) = &query.path {
                let Body::File(change) = &event.body else {
                    continue;
                };
                let name = change.path.to_text();
                if !name.to_lowercase().contains(path.as_str()) {
                    continue;
                }
                if query.words.is_empty() {
                    hit(row(spot, seq, "path", &name));
                    continue;
                }
            }
            let texts = texts_of(&event);
            if query.words.is_empty() {
                if event.kind() != crate::model::Kind::ToolResult {
                    let title = super::title::title_of(&event);
                    hit(row(spot, seq, event.body.kind_name(), &title));
                    break;
                }
                continue;
            }
            for (field, text) in &texts {
                for line in text.lines() {
                    let lower = line.to_lowercase();
                    if query.words.iter().all(|word| lower.contains(word.as_str())) {
                        hit(row(spot, seq, field, line));
                    }
                }
            }
        }
        ControlFlow::Continue(())
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

impl Query {
    fn parse(query: &str) -> Result<Self, QueryError> {
        let mut parsed = Self::default();
        let terms = terms(query)?;
        if terms.is_empty() {
            return Err(QueryError::Empty);
        }
        for (term, is_phrase) in terms {
            let lower = term.to_lowercase();
            let field = lower.split_once(':').filter(|_| !is_phrase);
            match field {
                Some(("tool", value)) => parsed.tool = Some(value.to_owned()),
                Some(("kind", value)) => parsed.kind = Some(value.to_owned()),
                Some(("status", value)) => {
                    if crate::model::Outcome::parse(value).is_none() {
                        return Err(QueryError::Field(term));
                    }
                    parsed.status = Some(value.to_owned());
                }
                Some(("path", value)) => parsed.path = Some(value.to_owned()),
                Some(("agent", value)) => parsed.agent = Some(value.to_owned()),
                Some(("step", value)) => {
                    parsed.steps = Some(step_range(value).ok_or(QueryError::Field(term))?);
                }
                _ => parsed.words.push(lower),
            }
        }
        Ok(parsed)
    }
}

fn step_range(text: &str) -> Option<(u32, u32)> {
    match text.split_once("..") {
        Some((from, to)) => {
            let from = if from.is_empty() {
                0
            } else {
                from.parse().ok()?
            };
            let to = if to.is_empty() {
                u32::MAX
            } else {
                to.parse().ok()?
            };
            Some((from, to))
        }
        None => text.parse().ok().map(|step| (step, step)),
    }
}

/// Splits a query at blanks, outside quotes; says of each term whether it was quoted.
fn terms(query: &str) -> Result<Vec<(String, bool)>, QueryError> {
    let mut terms = Vec::new();
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        let (term, is_phrase, after) = if let Some(inner) = rest.strip_prefix('"') {
            let (term, after) = inner.split_once('"').ok_or(QueryError::OpenQuote)?;
            (term, true, after)
        } else {
            let (term, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            (term, false, after)
        };
        if !term.is_empty() {
            terms.push((term.to_owned(), is_phrase));
        }
        rest = after.trim_start();
    }
    Ok(terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_and_mistakes_said() {
        let query = Query::parse("Error \"two words\" tool:Bash step:3..7").unwrap();
        assert_eq!(query.words, ["error", "two words"]);
        assert_eq!(query.tool.as_deref(), Some("bash"));
        assert_eq!(query.steps, Some((3, 7)));
        let check = |text: &str, error: QueryError| {
            assert_eq!(Query::parse(text).err(), Some(error), "{text}");
        };
        check("  ", QueryError::Empty);
        check("\"open", QueryError::OpenQuote);
        check("status:bad", QueryError::Field("status:bad".into()));
        check("step:x", QueryError::Field("step:x".into()));
    }
}
