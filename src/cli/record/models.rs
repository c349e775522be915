//! `jukebox record --model -- CMD`: models for the command to talk to.

use std::path::PathBuf;

use super::super::environment::Environment;
use super::super::failure::Failure;
use super::super::output::warn;
use crate::debugger::{Api, ModelReport, Models, ModelsFrom, StreamsReport, Upstream};
use crate::text::{SafeText, human};

/// Heads the options of `--model`.
const WITH_MODELS: &str = "Options with --model";

/// Models, and options that only mean something with them.
#[derive(Debug, clap::Args)]
pub(super) struct ModelArgs {
    /// Give the command models to talk to, and record what is said
    #[arg(long)]
    pub(super) model: bool,
    /// Reach this endpoint, and no other; without it, those of ANTHROPIC_BASE_URL and
    /// OPENAI_BASE_URL, or the companies' own
    #[arg(long, value_name = "API=URL", help_heading = WITH_MODELS, requires = "model", conflicts_with = "from", value_parser = upstream)]
    upstream: Vec<Upstream>,
    /// Answer from this tape, and reach nothing
    #[arg(long, value_name = "TAPE", requires = "model", help_heading = WITH_MODELS)]
    from: Option<PathBuf>,
    /// A part of requests that differs from run to run by itself: a place such as
    /// /messages/0/content, or root, ids, times, durations, temporary-paths
    #[arg(long, value_name = "PATH", requires = "model", help_heading = WITH_MODELS)]
    volatile: Vec<String>,
}

pub(in crate::cli) fn upstream(text: &str) -> Result<Upstream, String> {
    let (api, address) = text.split_once('=').ok_or("it is API=URL")?;
    let api = Api::parse(api).ok_or_else(|| {
        let known = Api::ALL.map(Api::as_str).join(" or ");
        format!("`{api}` is no API that is known: {known}")
    })?;
    Upstream::new(api, address).map_err(|error| error.to_string())
}

/// Where the caller's own variables say that an endpoint is, and else the company's own.
pub(in crate::cli) fn own_upstream(api: Api, around: &Environment) -> Result<Upstream, Failure> {
    let mut variable = around
        .variables
        .iter()
        .filter(|(name, value)| name.as_os_str() == api.variable() && !value.is_empty());
    let address = variable.next().map(|(_, value)| value.to_string_lossy());
    let address = address.as_deref().unwrap_or(api.official());
    Upstream::new(api, address).map_err(|error| {
        Failure::unusable(format!(
            "{}: {error}; nothing was run: {}=URL names another",
            api.variable(),
            api.as_str()
        ))
    })
}

impl ModelArgs {
    /// What was asked for. Where nobody names an endpoint, they are where the caller's own
    /// variables say.
    pub(super) fn models(&self, around: &Environment) -> Result<Option<Models>, Failure> {
        if !self.model {
            return Ok(None);
        }
        let volatile = self.volatile.clone();
        if let Some(tape) = &self.from {
            let from = ModelsFrom::Tape(tape.clone());
            return Ok(Some(Models { from, volatile }));
        }
        if !self.upstream.is_empty() {
            let from = ModelsFrom::Endpoints(self.upstream.clone());
            return Ok(Some(Models { from, volatile }));
        }
        let mut upstreams = Vec::new();
        for api in Api::ALL {
            upstreams.push(own_upstream(api, around)?);
        }
        let from = ModelsFrom::Endpoints(upstreams);
        Ok(Some(Models { from, volatile }))
    }

    /// Says what became of the requests.
    pub(super) fn tell(&self, report: &ModelReport) {
        let ModelReport {
            answered,
            recorded,
            divergences,
            ..
        } = report;
        if self.from.is_none() {
            let requests = human::plural(*answered as u64, "request", "requests");
            let were = if *answered == 1 { "was" } else { "were" };
            warn(&format!(
                "{requests} to models {were} answered and recorded"
            ));
            return;
        }
        let StreamsReport {
            recorded: streams,
            opened,
            awaited,
        } = report.streams;
        if *recorded > 0 || streams == 0 {
            let unmade = match recorded.saturating_sub(*answered) {
                0 => String::new(),
                unmade => format!("; {unmade} recorded ones were not made"),
            };
            warn(&format!(
                "{answered} of {recorded} recorded requests to models were answered from the \
                 tape{unmade}"
            ));
        }
        if streams > 0 {
            let awaited = match awaited {
                0 => String::new(),
                _ => format!("; {awaited} recorded frames were not said again"),
            };
            warn(&format!(
                "{opened} of {streams} recorded streams were opened again, and answered from the \
                 tape{awaited}"
            ));
        }
        for divergence in divergences {
            let line = format!(
                "no answer on the tape: {}: {}",
                divergence.asked, divergence.why
            );
            warn(SafeText::line(&line).as_str());
        }
    }
}
