//! `jukebox fork --then agent -- CMD`: the run's own agent goes on with the fork.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::super::arguments::Looked;
use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::interrupt::Interrupt;
use super::super::output::{Output as Out, Style, pass_on_error, warn};
use super::super::record::{own_upstream, upstream};
use super::super::txn;
use super::{Args, TIMEOUT_OF_AGENT, print};
use crate::debugger::{
    AgentFailure, AgentForked, Altered, Api, ChangeRow, ForkAgent, ForkEdit, ForkPlan, ForkThen,
    Said, StepOutput, StreamsReport, Upstream,
};
use crate::text::{SafeText, human};

/// Files that are named; of more there is only a count.
const MOST_FILES: usize = 10;

/// The agent, and what it is given.
#[derive(Debug, clap::Args)]
pub(super) struct AgentArgs {
    /// Behind the edit, let this endpoint answer: anthropic or openai, or API=URL
    #[arg(long, value_name = "API")]
    live: Vec<String>,
    /// Hand over this variable of the environment to the agent, too
    #[arg(long, value_name = "NAME")]
    env: Vec<OsString>,
    /// The agent and its arguments
    #[arg(last = true, value_name = "CMD")]
    pub(super) command: Vec<OsString>,
}

impl AgentArgs {
    fn live(&self, around: &Environment) -> Result<Vec<Upstream>, Failure> {
        let live = self.live.iter().map(|typed| match Api::parse(typed) {
            Some(api) => own_upstream(api, around),
            None => upstream(typed).map_err(|error| {
                Failure::unusable(format!("--live {typed}: {error}; nothing was run"))
            }),
        });
        live.collect()
    }
}

impl Args {
    /// Says what will be done, and does it.
    pub(super) fn with_agent(
        &self,
        looked: &Looked,
        edit: &ForkEdit,
        (plan, lines): (&ForkPlan, &[usize]),
        around: &Environment,
        out: &mut Out,
    ) -> Result<Answer, Failure> {
        if self.agent.command.is_empty() {
            return Err(Failure::unusable(
                "--then agent wants the agent; nothing was run: -- CMD starts it",
            ));
        }
        if !is_response(edit) {
            return Err(failure(AgentFailure::NoResponse));
        }
        let live = self.agent.live(around)?;
        let volatile = looked.run.volatile_words(&self.volatile);
        print::remarks(plan, lines);
        if !self.json {
            tell_plan(looked, edit, plan, (&live, &volatile), out)?;
            out.flush()?;
        }
        if self.dry_run {
            if self.json {
                out.json(&json!({ "plan": print::plan_value(plan, &volatile) }))?;
            }
            return Ok(Answer::Yes);
        }
        let mut options = self.options(looked, ForkThen::Stop, around)?;
        let named = around.variables.iter();
        let named = named.filter(|(name, _)| self.agent.env.contains(name));
        let environment = &mut options.workbench.environment;
        environment.retain(|(name, _)| !self.agent.env.contains(name));
        environment.extend(named.cloned());
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let agent = ForkAgent {
            arguments: self.agent.command.clone(),
            live,
            registry: txn::registry(around)?,
            now: now.map_or(0, |now| now.as_secs()),
            timeout: self.timeout.map_or(TIMEOUT_OF_AGENT, Duration::from_secs),
        };
        let interrupt = Interrupt::arm();
        let mut sink = |said: Said<'_>| {
            let passed = match said {
                Said::Bytes(_, bytes) => pass_on_error(bytes),
                Said::Nothing => Ok(()),
            };
            if passed.is_err() || interrupt.is_asked() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let done = looked.run.fork_with_agent(edit, &options, agent, &mut sink);
        let done = match (done, interrupt.take()) {
            (Err(_), Some(signal)) => {
                warn("interrupted: no fork was made, and the run is as it was");
                return Ok(Answer::signal(signal));
            }
            (done, _) => done?,
        };
        let parent = self.place.tape_name();
        if self.json {
            let mut object = print::value(&done.forked, "agent", &parent);
            if let Some(fields) = object.as_object_mut() {
                fields.insert("plan".to_owned(), print::plan_value(plan, &volatile));
                fields.insert("agent".to_owned(), value(&done));
            }
            out.json(&object)?;
        } else {
            print::forked(&done.forked, "agent", &parent, out)?;
            tell(&done, out)?;
        }
        for divergence in &done.models.divergences {
            let line = format!(
                "no answer on the tape: {}: {}",
                divergence.asked, divergence.why
            );
            warn(SafeText::line(&line).as_str());
        }
        Ok(Answer::no_if(!done.models.divergences.is_empty()))
    }
}

fn is_response(edit: &ForkEdit) -> bool {
    matches!(&edit.what, Altered::Output { edited, .. }
        if matches!(edited, StepOutput::Response(_)))
}

fn tell_plan(
    looked: &Looked,
    edit: &ForkEdit,
    plan: &ForkPlan,
    (live, volatile): (&[Upstream], &[String]),
    out: &mut Out,
) -> Result<(), Failure> {
    let (name, step) = (looked.run.summary().name, edit.at.step);
    let title = format!("{name} from step {step} on, with another response");
    out.line(Style::Strong, &SafeText::line(&title))?;
    let (answers, requests) = plan.answers;
    print::say(
        out,
        "the agent          runs again from its beginning, in the sandbox",
    )?;
    let words =
        format!("requests           recorded for {requests} of {answers} answers before it");
    print::say(out, &words)?;
    let behind: Vec<String> = live
        .iter()
        .map(|it| format!("{} at {}", it.api().as_str(), it.address()))
        .collect();
    let behind = if behind.is_empty() {
        "nobody answers; --live API lets an endpoint".to_owned()
    } else {
        behind.join(", ")
    };
    print::say(out, &format!("behind the edit    {behind}"))?;
    if !volatile.is_empty() {
        print::say(out, &format!("may differ         {}", volatile.join(", ")))?;
    }
    Ok(())
}

fn tell(done: &AgentForked, out: &mut Out) -> Result<(), Failure> {
    let models = &done.models;
    let words = format!(
        "the agent ended with {}; of its requests to models {} were answered, {} of them live, and {} \
         behind the edit were not",
        done.exit.status.code(),
        models.answered,
        models.live,
        models.behind
    );
    out.line(Style::Plain, &SafeText::line(&words))?;
    let StreamsReport {
        recorded,
        opened,
        awaited,
    } = models.streams;
    if recorded > 0 {
        let words = format!(
            "of the run's {recorded} streams it opened {opened} again, and left {awaited} recorded \
             frames unsaid"
        );
        out.line(Style::Plain, &SafeText::line(&words))?;
    }
    let count = done.files.len();
    if count == 0 {
        let words = "its files were those of the run when it heard the edit";
        out.line(Style::Plain, &SafeText::literal(words))?;
    } else {
        let words = format!(
            "{} not as in the run when it heard the edit:",
            human::plural(count as u64, "file was", "files were")
        );
        out.line(Style::Doubt, &SafeText::line(&words))?;
        for row in rows(done).take(MOST_FILES) {
            let words = format!("  {} {}", row.letter(), row.path.to_text());
            out.line(Style::Doubt, &SafeText::line(&words))?;
        }
    }
    for missing in &done.missing {
        let words = format!("not recorded, and so not there: {}", missing.as_str());
        out.line(Style::Doubt, &SafeText::line(&words))?;
    }
    Ok(())
}

fn rows(done: &AgentForked) -> impl Iterator<Item = ChangeRow> {
    (0..done.files.len()).filter_map(|at| done.files.get(at))
}

fn value(done: &AgentForked) -> Value {
    let models = &done.models;
    let divergences = models.divergences.iter().map(|divergence| {
        let path = divergence.miss.as_ref().map(|miss| &miss.path);
        json!({"asked": divergence.asked, "why": divergence.why, "path": path})
    });
    let files = rows(done)
        .map(|row| json!({"path": row.path.to_text(), "change": row.letter().to_string()}));
    let missing = done.missing.iter().map(SafeText::as_str);
    json!({
        "exit": done.exit.status.code(),
        "answered": models.answered,
        "recorded": models.recorded,
        "live": models.live,
        "behind": models.behind,
        "divergences": divergences.collect::<Vec<_>>(),
        "streams": {
            "recorded": models.streams.recorded,
            "opened": models.streams.opened,
            "awaited": models.streams.awaited,
        },
        "files": files.collect::<Vec<_>>(),
        "missing": missing.collect::<Vec<_>>(),
    })
}

/// What is said of an agent that did not go on.
pub(super) fn failure(error: AgentFailure) -> Failure {
    match error {
        AgentFailure::Command(error) => error.into(),
        AgentFailure::NoResponse => Failure::unusable(format!(
            "{error}; nothing was run: --then agent goes with --response FILE at a step of the \
             model"
        )),
        AgentFailure::Diverged(_) => Failure::no(format!(
            "{}; no fork was kept: --volatile PART names what differs by itself",
            SafeText::line(&error.to_string()).as_str()
        )),
        AgentFailure::NotReached(_) => Failure::no(format!("{error}; no fork was kept")),
        AgentFailure::Checkout(_) | AgentFailure::NotKept(_) => {
            Failure::machine(format!("{error}; no fork was kept"))
        }
    }
}
