//! What is around the files and the conversation: the program, the machine, open
//! transactions, and what calls did elsewhere.
//!
//! Costs a look back over a bounded number of steps.

use serde_json::Value;

use super::{Debugger, Section, Spot};
use crate::model::{Kind, StepKind, StepNumber};
use crate::tape::{StepFlags, StepTotal, TransactionState};
use crate::text::{SafeText, human};

/// What is around the run at a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnvironmentView {
    /// What the header says of the run: what, and the words, where it was recorded.
    pub facts: Vec<(SafeText, Option<SafeText>)>,
    /// What the record covers, and how.
    pub covers: Vec<(SafeText, SafeText)>,
    /// The transactions that are open, the latest first.
    pub transactions: Vec<(SafeText, StepNumber)>,
    /// What calls did outside the files so far, the latest last; not all of it.
    pub effects: Vec<EffectRow>,
    /// There are more effects before these.
    pub has_more_effects: bool,
}

/// Something that was done outside the files.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectRow {
    /// The step.
    pub step: StepNumber,
    /// The name of the event's kind.
    pub kind: SafeText,
    /// What it was.
    pub title: SafeText,
}

/// Effects that are told.
const MAX_EFFECTS: usize = 50;
/// Steps or transactions that are looked at.
const MAX_LOOKED_AT: usize = 4096;

impl Debugger {
    /// What is around the run at a place.
    pub fn environment(&self, spot: Spot) -> EnvironmentView {
        let (effects, has_more_effects) = self.effects_before(spot);
        EnvironmentView {
            facts: self.facts(spot),
            covers: pairs(&self.header.covers),
            transactions: self.open_transactions(spot),
            effects,
            has_more_effects,
        }
    }

    fn facts(&self, spot: Spot) -> Vec<(SafeText, Option<SafeText>)> {
        let header = &self.header;
        let mut facts = Vec::new();
        let mut say = |what: &'static str, words: Option<String>| {
            let words = words.filter(|words| !words.is_empty());
            let words = words.map(|words| SafeText::line(&words));
            facts.push((SafeText::literal(what), words));
        };
        say("agent", header.agent.clone());
        say("model", self.model_before(spot));
        say("directory", header.root.clone());
        say("began", header.started.map(|time| time.to_string()));
        say("tape", Some(header.id.clone()));
        say("recorder", header.recorder.clone());
        if let Some(parent) = &header.parent {
            let words = format!(
                "of {}, which it leaves after event {}",
                parent.id, parent.seq
            );
            say("fork", Some(words));
            let edit = header.edit.as_ref();
            let edited =
                edit.map(|edit| format!("{} of step {}: {}", edit.of, edit.step, edit.title));
            say("edit", edited);
        }
        let has_git = |what: &str| header.source.keys().any(|key| key.contains(what));
        if !has_git("branch") {
            say("git branch", None);
        }
        if !has_git("commit") {
            say("git commit", None);
        }
        let source = pairs(&header.source).into_iter();
        facts.extend(source.map(|(what, words)| (what, Some(words))));
        facts
    }

    /// The model of the last turn up to here.
    fn model_before(&self, spot: Spot) -> Option<String> {
        let line = self.line_of(spot);
        let may_hold = |total: &StepTotal| total.has_kind(StepKind::Model);
        let numbers = 1..spot.step.0.saturating_add(1);
        let mut steps = self
            .steps_back(line, numbers, may_hold)
            .take(MAX_LOOKED_AT)
            .filter(|(_, entry)| entry.kind == StepKind::Model);
        let (step, entry) = steps.next()?;
        let heading = self.heading(step, entry);
        Some(heading.actor.to_string())
    }

    fn open_transactions(&self, spot: Spot) -> Vec<(SafeText, StepNumber)> {
        let index = &self.tape.index;
        let line = self.line_of(spot);
        let position = spot.cursor.position;
        let begun = index
            .transactions
            .partition_point(|entry| entry.begin < position);
        let before = index.transactions.get(..begun).unwrap_or_default();
        let is_open = |entry: &&crate::tape::TransactionEntry| {
            let is_over = entry.end.is_some_and(|end| end < position);
            !is_over && (entry.end.is_some() || entry.state == TransactionState::Open)
        };
        let open = before.iter().rev().take(MAX_LOOKED_AT).filter(is_open);
        open.filter_map(|entry| {
            let branch = index.branches.get(usize::from(entry.branch))?;
            let is_here = self.line_of_branch(entry.branch) == line;
            let begin = self.after_event(Some(line), entry.begin).step;
            is_here.then(|| (SafeText::line(&branch.name), begin))
        })
        .collect()
    }

    fn effects_before(&self, spot: Spot) -> (Vec<EffectRow>, bool) {
        let index = &self.tape.index;
        let line = self.line_of(spot);
        let may_hold = |total: &StepTotal| total.flags.has(StepFlags::EFFECTS);
        let numbers = 1..spot.step.0.saturating_add(1);
        let steps = self
            .steps_back(line, numbers, may_hold)
            .take(MAX_LOOKED_AT)
            .filter(|(_, entry)| entry.flags.has(StepFlags::EFFECTS));
        let mut effects = Vec::new();
        for (step, _) in steps {
            let is_effect = |(position, kind): &(u32, Kind)| {
                *position < spot.cursor.position
                    && matches!(
                        kind,
                        Kind::EffectIntent | Kind::EffectResult | Kind::EffectCompensate
                    )
            };
            let positions: Vec<(u32, Kind)> =
                self.telling_events_of(step).filter(is_effect).collect();
            for (position, _) in positions.into_iter().rev() {
                if effects.len() == MAX_EFFECTS {
                    effects.reverse();
                    return (effects, true);
                }
                let Ok(event) = self.tape.event(position) else {
                    continue;
                };
                effects.push(EffectRow {
                    step: index.number_of(step).unwrap_or_default(),
                    kind: SafeText::line(event.body.kind_name()),
                    title: SafeText::line(&super::title::title_of(&event)),
                });
            }
        }
        effects.reverse();
        (effects, false)
    }
}

/// The fields of an object, as what and words.
fn pairs(fields: &serde_json::Map<String, Value>) -> Vec<(SafeText, SafeText)> {
    let pair = |(key, value): (&String, &Value)| {
        let words = match value {
            Value::String(text) => SafeText::line(text),
            other => SafeText::line(&other.to_string()),
        };
        (SafeText::line(&key.replace('_', " ")), words)
    };
    fields.iter().map(pair).collect()
}

impl EnvironmentView {
    /// All of it in words, as sections to read. What was not recorded is said.
    pub fn sections(&self) -> Vec<Section> {
        let in_lines = |pairs: &[(SafeText, SafeText)]| -> Vec<String> {
            let widest = pairs.iter().map(|(what, _)| what.as_str().chars().count());
            let columns = widest.max().unwrap_or(0).min(24);
            let line = |(what, words): &(SafeText, SafeText)| format!("{what:<columns$}  {words}");
            pairs.iter().map(line).collect()
        };
        let facts = self.facts.iter().map(|(what, words)| {
            let words = words.clone();
            let words = words.unwrap_or(SafeText::literal("not recorded"));
            (what.clone(), words)
        });
        let facts: Vec<(SafeText, SafeText)> = facts.collect();
        let or_nothing = |lines: Vec<String>, words: &str| match lines.as_slice() {
            [] => vec![words.to_owned()],
            _ => lines,
        };
        let transactions = self.transactions.iter();
        let transactions = transactions.map(|(name, step)| format!("{name}, since step {step}"));
        let mut effects = Vec::new();
        if self.has_more_effects {
            let count = human::count(self.effects.len() as u64);
            effects.push(format!("… the last {count}:"));
        }
        let line = |row: &EffectRow| format!("step {}: {} {}", row.step, row.kind, row.title);
        effects.extend(self.effects.iter().map(line));
        vec![
            Section::of_lines("run", &in_lines(&facts)),
            Section::of_lines(
                "what the record covers",
                &or_nothing(in_lines(&self.covers), "The header does not say."),
            ),
            Section::of_lines(
                "open transactions",
                &or_nothing(transactions.collect(), "None is open here."),
            ),
            Section::of_lines(
                "effects outside the files, so far",
                &or_nothing(effects, "None were recorded up to here."),
            ),
        ]
    }
}
