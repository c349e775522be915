//! What a fork would do, said before anything of it is done.

use super::super::Debugger;
use super::{Altered, ForkEdit};
use crate::model::{BlockKind, Kind, ModelBlock};
use crate::replay::document::Output;
use crate::replay::fork::Sees;
use crate::text::SafeText;
use crate::tools::Asked;

/// What a fork would do.
#[derive(Clone, Debug, Default)]
pub struct ForkPlan {
    /// Steps before the edit: they are the run's own, and nothing of them is done again.
    pub shared_steps: u32,
    /// Events before the edit.
    pub shared_events: u32,
    /// The calls that the edit asks for, in order.
    pub calls: Vec<PlannedCall>,
    /// Answers of the model before the edit, and those of them whose requests were recorded.
    pub answers: (u32, u32),
    /// What the tape does not record of the surroundings.
    pub not_recorded: Vec<&'static str>,
    /// What is odd about the edit, each with the number of its block.
    pub remarks: Vec<(usize, SafeText)>,
}

/// A call that an edit asks for.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    /// The tool.
    pub tool: SafeText,
    /// How it would be answered.
    pub how: PlannedHow,
}

/// How a call would be answered.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannedHow {
    /// From the tape, if what it sees is as it was.
    Recorded,
    /// By what the tool does to the files, as far as that is known: nothing is run.
    Computed,
    /// By a command in the sandbox.
    Sandbox,
    /// By nobody, for this reason.
    Nobody(SafeText),
}

impl PlannedHow {
    /// A word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Computed => "computed",
            Self::Sandbox => "sandbox",
            Self::Nobody(_) => "nobody",
        }
    }
}

impl Debugger {
    /// What a fork would do. Costs a look at the kinds of the events before it, and the
    /// reading of calls near it.
    pub fn fork_plan(&self, edit: &ForkEdit) -> ForkPlan {
        let first = edit.first_replaced();
        let mut plan = ForkPlan {
            shared_events: first.saturating_sub(1),
            ..ForkPlan::default()
        };
        let (mut clock, mut random, mut environment) = (false, false, false);
        let mut requests = 0;
        let mut answers = 0;
        for position in 0..first {
            match self.tape.index.events.kind(position) {
                Some(Kind::InputClock) => clock = true,
                Some(Kind::InputRandom) => random = true,
                Some(Kind::InputEnv) => environment = true,
                Some(Kind::ModelRequest) => requests += 1,
                Some(Kind::ModelResponse) => answers += 1,
                _ => {}
            }
        }
        plan.answers = (answers, answers.min(requests));
        let missing = [
            (clock, "clock"),
            (random, "randomness"),
            (environment, "environment"),
        ];
        let missing = missing.into_iter().filter(|(is_recorded, _)| !is_recorded);
        plan.not_recorded = missing.map(|(_, what)| what).collect();
        let is_whole_step_shared = matches!(edit.what, Altered::File(..));
        plan.shared_steps = edit
            .at
            .step
            .0
            .saturating_sub(u32::from(!is_whole_step_shared));
        if let Altered::Output { editable, edited } = &edit.what
            && let (Output::Response(old), Output::Response(new)) = (&editable.output, edited)
        {
            let calls = |blocks: &[ModelBlock]| -> Vec<ModelBlock> {
                let calls = blocks
                    .iter()
                    .filter(|block| block.kind == BlockKind::ToolCall);
                calls.cloned().collect()
            };
            let mut old = calls(old).into_iter();
            // Whether files may be other than they were at the recorded call.
            let mut is_other = false;
            for block in calls(new) {
                let mut rest = old.clone();
                let passed = rest.position(|was| was.text == block.text && was.data == block.data);
                let sees = self.seen_by(&block.text, &block.data);
                is_other |= passed != Some(0);
                let is_recorded = match sees {
                    Sees::Paths(_) => passed.is_some(),
                    Sees::Files => passed.is_some() && !is_other,
                    Sees::World => false,
                };
                if passed.is_some() {
                    old = rest;
                }
                let how = if is_recorded {
                    PlannedHow::Recorded
                } else {
                    match Asked::of(&block.text, &block.data) {
                        Asked::Run(_) => PlannedHow::Sandbox,
                        Asked::Unknown(why) => PlannedHow::Nobody(SafeText::line(&why.to_string())),
                        _ => PlannedHow::Computed,
                    }
                };
                plan.calls.push(PlannedCall {
                    tool: SafeText::line(&block.text),
                    how,
                });
            }
            let remarks = self.tool_fields(edit.at).remarks(new).into_iter();
            let remarks = remarks.map(|(block, remark)| (block, SafeText::line(&remark)));
            plan.remarks = remarks.collect();
        }
        plan
    }
}
