//! `jukebox fork --then model:NAME`: a model that the user configured goes on with the fork.

use std::path::Path;

use serde_json::{Value, json};

use super::super::configuration::ConfigArgs;
use super::super::environment::Environment;
use super::super::failure::Failure;
use super::super::output::Output as Out;
use super::print;
use crate::debugger::{Endpoint, FirstRequest, ForkModel, ModelRefused};
use crate::text::human;

/// The model of a fork.
#[derive(Debug, clap::Args)]
pub(super) struct ModelArgs {
    /// With --then model:NAME, ask the model so often at most
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_turns: u32,
}

impl ModelArgs {
    /// The model of this name, with its key. A configuration of the run's workspace is refused.
    pub(super) fn model(
        &self,
        name: &str,
        (config, workspace): (&ConfigArgs, Option<&Path>),
        around: &Environment,
    ) -> Result<ForkModel, Failure> {
        let declared = config.read(around, workspace)?;
        let Some(model) = declared.model(name) else {
            let names: Vec<&str> = declared.model_names().collect();
            let known = match names.as_slice() {
                [] => format!("it declares none: [models.{name}] with api, url and model does"),
                names => format!("it declares {}", names.join(", ")),
            };
            return Err(Failure::unusable(format!(
                "there is no model `{name}` in {}; nothing was sent: {known}",
                declared.file().display()
            )));
        };
        let key = match &model.key_env {
            None => None,
            Some(variable) => {
                let mut variables = around.variables.iter();
                let found = variables.find(|(name, _)| name == variable.as_str());
                let key = found.and_then(|(_, value)| value.to_str());
                let key = key.filter(|key| !key.is_empty()).ok_or_else(|| {
                    Failure::unusable(format!(
                        "the key of the model `{name}` is to be in {variable}, which is not set; \
                         nothing was sent: {variable}=… jukebox fork …"
                    ))
                })?;
                Some(key.to_owned())
            }
        };
        let endpoint = Endpoint::new(name, model, key).map_err(|error| {
            Failure::unusable(format!("the model `{name}`: {error}; nothing was sent"))
        })?;
        Ok(ForkModel {
            endpoint,
            most_turns: self.max_turns,
        })
    }
}

/// Says what will be sent, and where it goes to.
pub(super) fn say(model: &ForkModel, first: FirstRequest, out: &mut Out) -> Result<(), Failure> {
    let endpoint = &model.endpoint;
    let answers = human::plural(u64::from(model.most_turns), "answer", "answers");
    let words = format!(
        "behind the edit    {}: {} at {}, {answers} at most",
        endpoint.name(),
        endpoint.model(),
        endpoint.address()
    );
    print::say(out, &words)?;
    let FirstRequest {
        turns,
        tools,
        bytes,
    } = first;
    let words = format!(
        "is sent there      the recorded request ({}, {}, {}), then the edit and what tools return",
        human::plural(turns as u64, "message", "messages"),
        human::plural(tools as u64, "tool", "tools"),
        human::size(bytes as u64)
    );
    print::say(out, &words)
}

/// The same, as JSON.
pub(super) fn value(model: &ForkModel, first: FirstRequest) -> Value {
    let endpoint = &model.endpoint;
    json!({
        "name": endpoint.name(),
        "api": endpoint.dialect().as_str(),
        "url": endpoint.address(),
        "model": endpoint.model(),
        "max_turns": model.most_turns,
        "messages": first.turns,
        "tools": first.tools,
        "bytes": first.bytes,
    })
}

/// What is said of a model that cannot go on.
pub(super) fn failure(error: &ModelRefused) -> Failure {
    match error {
        ModelRefused::NothingToGoOnFrom { .. } => Failure::unusable(format!(
            "{error}; nothing was sent: `jukebox record --model` records what models are asked"
        )),
        ModelRefused::Read(_) | ModelRefused::Client(_) => {
            Failure::machine(format!("{error}; nothing was sent"))
        }
    }
}
