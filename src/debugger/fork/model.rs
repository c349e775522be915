//! A fork that goes on with a model which the user configured and named: what it is asked, and
//! the conversation from which that goes on.
//!
//! The conversation is what the run's agent and its model said to each other, as it was
//! recorded. Where that is not recorded, or in another dialect than the model's, nothing is made
//! up: no fork is made, and nothing is sent.

use std::io;

use super::super::{Debugger, Spot};
use super::{Altered, ForkEdit};
use crate::model::{Body, Kind, Seq, StepKind, StepNumber};
use crate::models::LiveModel;
pub use crate::models::{Endpoint, EndpointError, FirstRequest};
use crate::replay::document::Output;
use crate::replay::fork::Speaker as _;

/// Answers of the model before a result among which the one is looked for that asked for it.
const MOST_ANSWERS: usize = 64;

/// A model, and how often it is asked at most.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkModel {
    /// The model.
    pub endpoint: Endpoint,
    /// How often it is asked.
    pub most_turns: u32,
}

impl ForkModel {
    /// What the header of a fork says of it.
    pub(super) fn told(&self) -> String {
        let endpoint = &self.endpoint;
        let (api, address) = (endpoint.dialect().as_str(), endpoint.address());
        format!("behind the edit by {api} at {address}; nothing else is reached")
    }
}

/// A model cannot go on with a fork. Nothing was sent, and no fork was begun.
#[derive(Debug, thiserror::Error)]
pub enum ModelRefused {
    /// There is nothing that its first request could go on from.
    #[error("{name} cannot go on from here: {why}")]
    NothingToGoOnFrom {
        /// The model.
        name: String,
        /// Why.
        why: String,
    },
    /// The tape cannot be read.
    #[error("the tape could not be read: {0}")]
    Read(#[source] io::Error),
    /// Nothing can be sent from this machine.
    #[error("no connection can be made: {0}")]
    Client(#[source] io::Error),
}

impl Debugger {
    /// What would be sent to a model that goes on behind an edit, at first. Sends nothing.
    pub fn first_request(
        &self,
        edit: &ForkEdit,
        model: &ForkModel,
    ) -> Result<FirstRequest, ModelRefused> {
        let live = self.live_model(edit, model, &|| false)?;
        self.first_of(&live, edit, model)
    }

    /// The same, of a model that has heard what was said before.
    pub(super) fn first_of(
        &self,
        live: &LiveModel<'_>,
        edit: &ForkEdit,
        model: &ForkModel,
    ) -> Result<FirstRequest, ModelRefused> {
        let agent = self.agent_of(edit.at).map_err(ModelRefused::Read)?;
        let first = live.first_request(agent.as_deref(), &self.tape);
        first.map_err(|why| ModelRefused::NothingToGoOnFrom {
            name: model.endpoint.name().to_owned(),
            why,
        })
    }

    /// The model, which has heard what was said before the edit.
    pub(super) fn live_model<'a>(
        &self,
        edit: &ForkEdit,
        model: &ForkModel,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Result<LiveModel<'a>, ModelRefused> {
        let first = edit.first_replaced();
        let before = first.checked_sub(1);
        let number = before.map_or(Seq(0), |last| Seq(self.tape.index.events.seq(last).0 + 1));
        let endpoint = model.endpoint.clone();
        let live = LiveModel::new(endpoint, model.most_turns, number, is_stopped);
        let mut live = live.map_err(ModelRefused::Client)?;
        let start = self.asked_in(edit).map_err(ModelRefused::Read)?;
        for event in self.events_along(edit.at, start.unwrap_or(first)..first) {
            live.hear(&event.map_err(ModelRefused::Read)?);
        }
        Ok(live)
    }

    fn agent_of(&self, at: Spot) -> io::Result<Option<String>> {
        let index = &self.tape.index;
        let step = index.step_on(self.line_of(at), at.step);
        match step.and_then(|step| index.steps.get(step)) {
            Some(entry) => Ok(self.tape.event(entry.opened)?.head.agent),
            None => Ok(None),
        }
    }

    /// Where the model's turn begins from which the conversation goes on: that of an altered
    /// answer, the one that called for an altered result, or the last one.
    fn asked_in(&self, edit: &ForkEdit) -> io::Result<Option<u32>> {
        let index = &self.tape.index;
        let (line, at) = (self.line_of(edit.at), edit.at.step);
        let call = match &edit.what {
            Altered::Output {
                editable,
                edited: Output::Result { .. },
            } => self.tape.event(editable.first)?.head.call,
            _ => None,
        };
        let mut last = None;
        let turns = (1..=at.0).rev().filter_map(|number| {
            let step = index.step_on(line, StepNumber(number))?;
            let entry = index.steps.get(step)?;
            (entry.kind == StepKind::Model).then_some((step, entry.opened))
        });
        for (step, opened) in turns.take(MOST_ANSWERS) {
            last = last.or(Some(opened));
            let Some(call) = &call else { break };
            if self.has_called(step, call)? {
                return Ok(Some(opened));
            }
        }
        Ok(last)
    }

    /// Whether a model's turn asked for a call.
    fn has_called(&self, step: u32, call: &str) -> io::Result<bool> {
        for (position, kind) in self.events_of(step) {
            if kind == Kind::ModelResponse
                && let Body::ModelResponse { blocks, .. } = self.tape.event(position)?.body
                && blocks
                    .iter()
                    .any(|block| block.call.as_deref() == Some(call))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
