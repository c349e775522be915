//! A turn of the model as an evaluation: what it was told before, and which of its calls failed.
//!
//! What it was told is what the tape holds of its own agent up to that turn, in order: prompts,
//! answers without the model's thinking, calls and what came of them. What an agent puts around
//! it, such as the descriptions of tools, is not in it unless it was recorded as a prompt.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::super::{Debugger, Spot};
use super::prepared::free_directory;
use super::{CaseForm, CaseMeans, ExportError, ExportedCase};
use crate::export::{Anonymous, Asking, Evaluation, Role, slug, write_files};
use crate::model::{BlockKind, Body, EditOf, Event, Outcome, StepKind, StepNumber};
use crate::text::SafeText;

/// A turn of the model, ready to be written as an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedEvaluation {
    step: StepNumber,
    /// The name of the run, without what says that it is a tape.
    run: String,
    evaluation: Evaluation,
    /// Secrets that are placeholders in it.
    secrets: u32,
}

/// What an evaluation would hold, to be shown before it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationOffer {
    /// The turn of the model.
    pub step: StepNumber,
    /// What it was told before: how many messages.
    pub messages: usize,
    /// Bytes of them.
    pub bytes: u64,
    /// The calls that it must not make.
    pub must_not: Vec<SafeText>,
    /// The calls of which it must make one; none: any other will do.
    pub must: Vec<SafeText>,
}

impl PreparedEvaluation {
    /// What it would hold.
    pub fn offer(&self) -> EvaluationOffer {
        let Evaluation {
            messages,
            must_not,
            must,
            ..
        } = &self.evaluation;
        let in_words = |calls: &[Asking]| {
            let lines = calls.iter().map(|call| SafeText::line(&call.line()));
            lines.collect()
        };
        EvaluationOffer {
            step: self.step,
            messages: messages.len(),
            bytes: messages.iter().map(|it| it.text.len() as u64).sum(),
            must_not: in_words(must_not),
            must: in_words(must),
        }
    }

    /// What its directory is called where nobody says otherwise.
    pub fn name(&self) -> &str {
        &self.evaluation.name
    }

    /// A directory below `here` that is called like the run and the step, and is not there yet.
    pub fn free_directory(&self, here: &Path) -> PathBuf {
        free_directory(here, &format!("{} step {} model", self.run, self.step))
    }

    /// Writes it into a directory that is not there yet, or empty; the one above it is. It is
    /// there as a whole or not at all.
    pub fn write(&self, directory: &Path) -> Result<ExportedCase, ExportError> {
        write_files(&self.evaluation.files(), directory)?;
        Ok(ExportedCase {
            form: CaseForm::Promptfoo,
            name: self.evaluation.name.clone(),
            directory: directory.to_owned(),
            step: self.step,
            tool: SafeText::literal("model"),
            files: self.evaluation.messages.len(),
            doubts: Vec::new(),
            remarks: Vec::new(),
            secrets: self.secrets,
            moved: 0,
            cut: None,
        })
    }
}

impl Debugger {
    /// Makes the turn of the model that is meant by a step, or that asked for its call, ready to
    /// be written as an evaluation. Costs a read of all that its agent was told before, and
    /// writes nothing.
    pub fn prepare_evaluation(
        &self,
        spot: Spot,
        means: &CaseMeans,
    ) -> Result<PreparedEvaluation, ExportError> {
        let mut anonymous = self.anonymous(means)?;
        let (step, evaluation) = self.evaluation(spot, &mut anonymous)?;
        Ok(PreparedEvaluation {
            step,
            run: self.stem(),
            evaluation,
            secrets: anonymous.secrets(),
        })
    }

    /// Whether an evaluation can be made at a step. Reads no event.
    pub fn has_evaluation(&self, spot: Spot) -> bool {
        let line = self.line_of(spot);
        self.turn_of(line, spot.step).is_some_and(|number| {
            let calls = self.calls_of(line, number);
            let has = |wanted: Outcome| calls.iter().any(|(_, _, outcome)| *outcome == wanted);
            has(Outcome::Failed) || has(Outcome::Ok) && self.is_edited(line, number)
        })
    }

    /// The turn that is meant by a step, or that asked for its call, without secrets and places.
    fn evaluation(
        &self,
        spot: Spot,
        anonymous: &mut Anonymous<'_>,
    ) -> Result<(StepNumber, Evaluation), ExportError> {
        let line = self.line_of(spot);
        let number = self.turn_of(line, spot.step);
        let number = number.ok_or(ExportError::NoTurn(spot.step))?;
        let calls = self.calls_of(line, number);
        let is_edited = self.is_edited(line, number);
        let mut of = |wanted: Outcome| -> Vec<Asking> {
            let calls = calls.iter().filter(|(_, _, outcome)| *outcome == wanted);
            let asked = calls.map(|(_, step, _)| {
                let call = self.recorded_call(*step).call;
                asking(call.name, call.arguments, anonymous)
            });
            asked.collect()
        };
        let must_not = of(Outcome::Failed);
        // What a fork's own answer asked for, and went well, is what it did right.
        let must = if is_edited {
            of(Outcome::Ok)
        } else {
            Vec::new()
        };
        if must_not.is_empty() && must.is_empty() {
            return Err(ExportError::NothingToJudge(number));
        }
        let title = self.row(line, number).map(|row| row.title);
        let title = anonymous.told(title.as_ref().map_or("", SafeText::as_str));
        let mut evaluation = Evaluation {
            name: slug(&format!("step-{number}-model-{title}")),
            messages: Vec::new(),
            must_not,
            must,
        };
        self.tell_before(line, number, anonymous, &mut evaluation)?;
        Ok((number, evaluation))
    }

    /// The turn of the model at a step, or the last one before it of the same agent.
    fn turn_of(&self, line: u16, step: StepNumber) -> Option<StepNumber> {
        let index = &self.tape.index;
        let entry = |number| index.steps.get(index.step_on(line, number)?);
        let here = entry(step)?;
        if !matches!(here.kind, StepKind::Model | StepKind::Tool) {
            return None;
        }
        (1..=step.0).rev().map(StepNumber).find(|number| {
            entry(*number).is_some_and(|entry| {
                entry.kind == StepKind::Model && entry.lane.agent == here.lane.agent
            })
        })
    }

    /// Whether a turn is the one that a fork of a run altered.
    fn is_edited(&self, line: u16, number: StepNumber) -> bool {
        let edit = self.header.edit.as_ref();
        let parent = self.header.parent.as_ref();
        let Some((_, parent)) = edit.filter(|edit| edit.of == EditOf::Response).zip(parent) else {
            return false;
        };
        let index = &self.tape.index;
        let is_own = |number: u32| {
            let step = index.step_on(line, StepNumber(number));
            let entry = step.and_then(|step| Some((step, index.steps.get(step)?)));
            entry.is_some_and(|(step, entry)| {
                entry.kind == StepKind::Model
                    && self
                        .events_of(step)
                        .any(|(position, _)| index.events.seq(position) > parent.seq)
            })
        };
        is_own(number.0) && !(1..number.0).any(is_own)
    }

    /// What the agent of a turn was told and said before it.
    fn tell_before(
        &self,
        line: u16,
        number: StepNumber,
        anonymous: &mut Anonymous<'_>,
        evaluation: &mut Evaluation,
    ) -> Result<(), ExportError> {
        let index = &self.tape.index;
        let entry = |number| {
            let step = index.step_on(line, number)?;
            Some((step, index.steps.get(step)?))
        };
        let agent = entry(number).map(|(_, entry)| entry.lane.agent);
        // Calls that an answer told of already.
        let mut told = HashSet::new();
        for (step, _) in (1..number.0)
            .map(StepNumber)
            .filter_map(entry)
            .filter(|(_, entry)| Some(entry.lane.agent) == agent)
        {
            for (position, _) in self.events_of(step) {
                let event = self
                    .tape
                    .event(position)
                    .map_err(super::super::ReadError::from)?;
                say(event, anonymous, &mut told, evaluation);
            }
        }
        Ok(())
    }
}

fn asking(tool: String, mut arguments: serde_json::Value, anonymous: &mut Anonymous<'_>) -> Asking {
    anonymous.value(&mut arguments);
    Asking {
        tool,
        arguments: anonymous.moved_in(&arguments),
    }
}

/// Adds what an event tells.
fn say(
    event: Event,
    anonymous: &mut Anonymous<'_>,
    told: &mut HashSet<String>,
    evaluation: &mut Evaluation,
) {
    match event.body {
        Body::Prompt { role, text, .. } => {
            let role = if role == "system" {
                Role::System
            } else {
                Role::User
            };
            evaluation.say(role, &anonymous.told(&text));
        }
        Body::ModelResponse { blocks, .. } => {
            for block in blocks {
                match block.kind {
                    BlockKind::Text => {
                        evaluation.say(Role::Assistant, &anonymous.told(&block.text));
                    }
                    BlockKind::ToolCall => {
                        told.extend(block.call);
                        let call = asking(block.text, block.data, anonymous);
                        evaluation.say(Role::Assistant, &call.line());
                    }
                    BlockKind::Thinking | BlockKind::Other => {}
                }
            }
        }
        Body::ToolCall { name, arguments } => {
            let is_told = event.head.call.is_some_and(|call| told.contains(&call));
            if !is_told {
                let call = asking(name, arguments, anonymous);
                evaluation.say(Role::Assistant, &call.line());
            }
        }
        Body::ToolResult {
            outcome,
            exit,
            output,
            ..
        } => {
            let exit = exit.map_or_else(String::new, |exit| format!(", exit code {exit}"));
            let output = anonymous.told(&output);
            evaluation.say(Role::User, &format!("[{outcome}{exit}]\n{output}"));
        }
        _ => {}
    }
}
