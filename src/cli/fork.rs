//! `jukebox fork`: what would have happened had a step given something else.

mod agent;
mod editor;
mod model;
mod print;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::arguments::{Looked, PlaceArgs};
use super::configuration::ConfigArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::interrupt::Interrupt;
use super::output::{Output as Out, warn};
use crate::debugger::{
    Altered, BeginForkError, Document, DocumentError, EditRefused, Editable, ForkEdit, ForkFailure,
    ForkGround, ForkOptions, ForkThen, Reading, Script, SecretSource, UnknownPart, WorkbenchConfig,
    allowed_environment,
};
use crate::model::TapePath;

/// After how long a command is ended that does not say so itself.
const TIMEOUT: Duration = Duration::from_mins(10);
/// After how long an agent is ended.
const TIMEOUT_OF_AGENT: Duration = Duration::from_hours(1);

/// Go on from a step with something else in its place, in a tape of its own
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    edit: EditArgs,
    /// How the fork goes on behind the edit: `stop` where the model must speak;
    /// `script:FILE` with answers from a file; `assume-recorded` with the run's own answers,
    /// though they answer other requests; `model:NAME` with a model of jukebox.toml; `agent`
    /// with the run's own agent, started as CMD
    #[arg(long, value_name = "HOW", default_value = "stop")]
    then: OsString,
    #[command(flatten)]
    model: model::ModelArgs,
    #[command(flatten)]
    agent: agent::AgentArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// End a command after so many seconds that does not say so itself (without it, 600); with
    /// --then agent, the agent (without it, 3600)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// What may differ in requests and results that mean the same: a place such as
    /// /messages/*/id, or root, ids, times, durations, temporary-paths
    #[arg(long, value_name = "PART")]
    volatile: Vec<String>,
    /// The fork's tape, a new file; without it, NAME.fork-N.jsonl beside the run's
    #[arg(short = 'o', long = "output", value_name = "NEW")]
    output: Option<PathBuf>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// The edit.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct EditArgs {
    /// Another response of the model, as a document or as plain words; `-`: standard input
    #[arg(long, value_name = "FILE")]
    response: Option<OsString>,
    /// Another result of a tool call
    #[arg(long, value_name = "FILE")]
    result: Option<OsString>,
    /// Another prompt
    #[arg(long, value_name = "FILE")]
    prompt: Option<OsString>,
    /// Another content of a file behind the step; without FILE (`PATH=`), none: it is removed
    #[arg(long, value_name = "PATH=FILE")]
    file: Option<OsString>,
    /// What the step gave, opened in $VISUAL or $EDITOR
    #[arg(long)]
    edit: bool,
    /// Print what the step gave as a document, and do nothing
    #[arg(long)]
    show: bool,
}

const HELP: &str = "\
The steps before the edit are the run's own: nothing of them is done again. What comes behind
it says how it came about:
  edited     it is the edit
  recorded   the tape's answer: the request is the recorded one, and what it sees is as it was
  re-run     the tool ran on the fork's files, commands in the sandbox and without a network
  scripted   an answer of --then script:FILE
  live       a real model's answer (--then model:NAME, --then agent with --live)
  stale      the tape's answer to another request (--then assume-recorded)
  not known  nobody could answer: the fork stops there
No model and no service is called but one that is named, and the run's own tape is only read.
Secrets are taken out before anything is written, as `jukebox redact` says.

With --then model:NAME, the run is one of `jukebox record --model`, and NAME a model that
jukebox.toml declares, with the same API. The last recorded request goes on with the edit and with
what tools return, and goes to that model and nowhere else: before, it is said what is sent where.
What the model calls runs as every tool of a fork, in the sandbox; then it is asked again, until
it calls nothing, nobody can answer a call, or --max-turns is reached. An error, or an answer that
was cut off, ends the fork; nothing is sent twice. The request is as on the tape, so a secret that
was taken out of it goes out as its placeholder; the key goes out, and stands nowhere.

With --then agent, the run is one of `jukebox record --model`, and CMD is its agent. It runs again
from the beginning, in the sandbox, on the files that the run began with: its requests get the
tape's answers as long as they are the recorded ones, then the edit, and behind that an error
that says so, or the answers of the endpoints of --live. What it does before the edit is done
again, and is on the fork's tape; whether its files are then those of the run is said. An agent
that asks something else before the edit makes no fork. What it writes goes to standard error. The
streams that the run had to other services are at JUKEBOX_STREAMS, as `jukebox record --help` says.

A document has sections: `== text`, `== thinking`, `== call TOOL` with the arguments as JSON,
`== result OUTCOME [exit CODE]`, `== prompt ROLE`; --show prints one. A script has one answer a
line: {\"response\":\"words\",\"calls\":[{\"name\":…,\"args\":{…}}]}, {\"result\":\"output\",\"outcome\":\"ok\",
\"exit\":0} for a call that nothing else can answer, {\"prompt\":\"words\"} where the agent has said its
last word.

JSON, one object: plan (shared_steps, shared_events, calls: tool, how and why; answers and
requests before the edit that were recorded, not_recorded, volatile, remarks; with --then model,
model: name, api, url, model, max_turns, and messages, tools and bytes of the recorded request) and, unless it is a
--dry-run or nothing was changed: fork, parent, edit (of, step, branch, seq, path, title), then,
steps (step, seq, kind, tool, title, outcome, via, miss: path, recorded and replayed, where it
differs from what the tape holds in its place), shares (by via), stopped (why, message) and
left_out (changes of the run behind the edit that were nobody's). With --then agent, too: agent
(exit, answered, recorded, live, behind: requests to models that nobody answered; divergences:
asked, why, path; streams: recorded, opened, awaited (recorded frames that were not said again);
files: path and change of those that were not as in the run; missing).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Out) -> Result<Answer, Failure> {
        let is_agent = self.then == "agent";
        if !is_agent && !self.agent.command.is_empty() {
            return Err(Failure::unusable(
                "a command goes with --then agent; nothing was run",
            ));
        }
        let looked = self.place.open(around)?;
        let root = looked.run.header().root.as_deref().map(Path::new);
        let then = if is_agent {
            ForkThen::Stop
        } else {
            self.then(root, around)?
        };
        if self.edit.show {
            let editable = looked.run.editable(looked.spot)?;
            let document = looked.run.edit_document(looked.spot, &editable);
            out.bytes(document.as_bytes())?;
            return Ok(Answer::Yes);
        }
        let (edit, lines) = self.edit(&looked, around)?;
        if let Altered::Output { editable, edited } = &edit.what
            && editable.output == *edited
        {
            warn("nothing was changed, so no fork was made");
            return Ok(Answer::Yes);
        }
        let plan = looked.run.fork_plan(&edit);
        if is_agent {
            return self.with_agent(&looked, &edit, (&plan, &lines), around, out);
        }
        let volatile = looked.run.volatile_words(&self.volatile);
        print::remarks(&plan, &lines);
        let mut told = print::plan_value(&plan, &volatile);
        if !self.json {
            print::plan(&looked, &edit, &plan, &volatile, out)?;
        }
        if let ForkThen::Model(model) = &then {
            let first = looked.run.first_request(&edit, model);
            let first = first.map_err(ForkFailure::from)?;
            if let Some(fields) = told.as_object_mut() {
                fields.insert("model".to_owned(), model::value(model, first));
            }
            if !self.json {
                model::say(model, first, out)?;
            }
        }
        out.flush()?;
        if self.dry_run {
            if self.json {
                out.json(&serde_json::json!({ "plan": told }))?;
            }
            return Ok(Answer::Yes);
        }
        self.make(&looked, (&edit, told), then, around, out)
    }

    fn make(
        &self,
        looked: &Looked,
        (edit, plan): (&ForkEdit, serde_json::Value),
        then: ForkThen,
        around: &Environment,
        out: &mut Out,
    ) -> Result<Answer, Failure> {
        let options = self.options(looked, then, around)?;
        let parent = self.place.tape_name();
        let interrupt = Interrupt::arm();
        let forked = looked
            .run
            .fork(edit, &options, &|| interrupt.is_asked(), &mut |_, _| {})?;
        if self.json {
            let mut object = print::value(&forked, options.then.as_str(), &parent);
            if let Some(fields) = object.as_object_mut() {
                fields.insert("plan".to_owned(), plan);
            }
            out.json(&object)?;
        } else {
            print::forked(&forked, options.then.as_str(), &parent, out)?;
        }
        match interrupt.take() {
            Some(signal) => Ok(Answer::signal(signal)),
            None => Ok(Answer::Yes),
        }
    }

    fn options(
        &self,
        looked: &Looked,
        then: ForkThen,
        around: &Environment,
    ) -> Result<ForkOptions, Failure> {
        let Some(workbench) = workbench(around) else {
            let line = "the program's own file cannot be found; is /proc mounted?";
            return Err(Failure::machine(line));
        };
        let root = looked.run.header().root.as_deref().map(Path::new);
        let key = match &then {
            ForkThen::Model(model) => model.endpoint.key(),
            _ => None,
        };
        let timeout = self.timeout.map_or(workbench.timeout, Duration::from_secs);
        Ok(ForkOptions {
            out: self.output.clone(),
            redacting: Some(self.config.redacting_too(around, root, key)?),
            then,
            volatile: self.volatile.clone(),
            workbench: WorkbenchConfig {
                timeout,
                ..workbench
            },
        })
    }

    fn then(&self, root: Option<&Path>, around: &Environment) -> Result<ForkThen, Failure> {
        let typed = self.then.as_bytes();
        if let Some(path) = typed.strip_prefix(b"script:") {
            let text = text_of(OsStr::from_bytes(path))?;
            let name = String::from_utf8_lossy(path);
            let script = Script::read(&text);
            let script = script
                .map_err(|error| Failure::unusable(format!("{name}: {error}; nothing was run")))?;
            return Ok(ForkThen::Script(script));
        }
        if let Some(name) = typed.strip_prefix(b"model:") {
            let name = String::from_utf8_lossy(name);
            let model = self.model.model(&name, (&self.config, root), around)?;
            return Ok(ForkThen::Model(Box::new(model)));
        }
        match typed {
            b"stop" => Ok(ForkThen::Stop),
            b"assume-recorded" => Ok(ForkThen::AssumeRecorded),
            _ => Err(Failure::unusable(format!(
                "`{}` is no way to go on; nothing was run: --then stop, --then script:FILE, \
                 --then assume-recorded, --then model:NAME or --then agent",
                self.then.to_string_lossy()
            ))),
        }
    }

    /// The edit, and the lines of the document on which its blocks begin.
    fn edit(
        &self,
        looked: &Looked,
        around: &Environment,
    ) -> Result<(ForkEdit, Vec<usize>), Failure> {
        let at = looked.spot;
        if let Some(typed) = &self.edit.file {
            let what = file(typed, looked)?;
            return Ok((ForkEdit { at, what }, Vec::new()));
        }
        let editable = looked.run.editable(at)?;
        let document = match self.given(&editable)? {
            Some(name) => {
                let text = text_of(name)?;
                Document::read(&text, &editable.output, Reading::MayBePlain)
                    .map_err(|error| mistake(name, &error))?
            }
            None => editor::edited(&looked.run, at, &editable, around)?,
        };
        let what = Altered::Output {
            editable: Box::new(editable),
            edited: document.output,
        };
        Ok((ForkEdit { at, what }, document.lines))
    }

    /// The file that holds the other output; `None`: it is edited now.
    fn given(&self, editable: &Editable) -> Result<Option<&OsStr>, Failure> {
        let given = [
            (&self.edit.response, "response"),
            (&self.edit.result, "result"),
            (&self.edit.prompt, "prompt"),
        ];
        let mut given = given
            .into_iter()
            .filter_map(|(name, noun)| Some((name.as_deref()?, noun)));
        match given.next() {
            Some((name, noun)) if noun == editable.output.noun() => Ok(Some(name)),
            Some((_, noun)) => Err(Failure::unusable(format!(
                "step {} has no {noun} but a {is}; nothing was run: --{is} FILE replaces it",
                editable.step,
                is = editable.output.noun(),
            ))),
            None => Ok(None),
        }
    }
}

/// What the calls of a fork are answered with; `None`: the program cannot find itself.
pub(super) fn workbench(around: &Environment) -> Option<WorkbenchConfig> {
    Some(WorkbenchConfig {
        place: around.temporary.clone(),
        program: around.program.clone()?,
        home: around.home.clone(),
        hidden: vec![around.runtime.clone()],
        environment: allowed_environment(around.variables.iter().cloned()),
        root: None,
        keeps_directory: false,
        timeout: TIMEOUT,
    })
}

/// What forks are made with on the screen; `None`: the program cannot find itself.
pub(super) fn ground(around: &Environment) -> Option<ForkGround> {
    Some(ForkGround {
        workbench: workbench(around)?,
        secrets: SecretSource {
            configuration: around.configuration.clone(),
            variables: around.variables.clone(),
            state: around.places.state.clone(),
        },
    })
}

/// A file changed by hand, as typed: `PATH=FILE`.
fn file(typed: &OsStr, looked: &Looked) -> Result<Altered, Failure> {
    let bytes = typed.as_bytes();
    let Some(at) = bytes.iter().position(|byte| *byte == b'=') else {
        return Err(Failure::unusable(format!(
            "`{}` names no content; nothing was run: --file PATH=FILE, or --file PATH= to remove it",
            typed.to_string_lossy()
        )));
    };
    let (path, file) = bytes.split_at(at);
    let file = OsStr::from_bytes(file.get(1..).unwrap_or_default());
    let root = looked.run.header().root.as_deref().unwrap_or("/");
    let path = match str::from_utf8(path) {
        Ok(text) => TapePath::resolve(text, root, root)?,
        Err(_) => TapePath::new(path)?,
    };
    if file.is_empty() {
        return Ok(Altered::File(path, None));
    }
    Ok(Altered::File(path, Some(bytes_of(file)?)))
}

fn bytes_of(name: &OsStr) -> Result<Vec<u8>, Failure> {
    let read = if name == "-" {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(name)
    };
    read.map_err(|error| {
        let name = name.to_string_lossy();
        Failure::unusable(format!(
            "{name} could not be read: {error}; nothing was run"
        ))
    })
}

fn text_of(name: &OsStr) -> Result<String, Failure> {
    String::from_utf8(bytes_of(name)?).map_err(|error| {
        let name = name.to_string_lossy();
        let at = error.utf8_error().valid_up_to();
        Failure::unusable(format!("{name} is no text at byte {at}; nothing was run"))
    })
}

fn mistake(name: &OsStr, error: &DocumentError) -> Failure {
    let name = name.to_string_lossy();
    Failure::unusable(format!("{name}: {error}; nothing was run"))
}

impl From<EditRefused> for Failure {
    fn from(error: EditRefused) -> Self {
        match error {
            EditRefused::Read(error) => error.into(),
            error => Self::unusable(format!("{error}; `jukebox log TAPE` lists the steps")),
        }
    }
}

impl From<UnknownPart> for Failure {
    fn from(error: UnknownPart) -> Self {
        Self::unusable(format!("{error}; nothing was run"))
    }
}

impl From<ForkFailure> for Failure {
    fn from(error: ForkFailure) -> Self {
        use crate::debugger::RecordError;
        match error {
            ForkFailure::Volatile(error) => error.into(),
            ForkFailure::Model(error) => model::failure(&error),
            ForkFailure::Agent(error) => agent::failure(*error),
            ForkFailure::Open(error) => error.into(),
            ForkFailure::NothingBefore
            | ForkFailure::Begin(BeginForkError::NotThere(_) | BeginForkError::NoPlace) => {
                Self::unusable(format!("{error}; nothing was run"))
            }
            ForkFailure::Begin(BeginForkError::Record(error @ RecordError::Exists(_))) => {
                Self::conflict(format!("{error}; nothing was run: name a new file"))
            }
            ForkFailure::Begin(BeginForkError::Record(error @ RecordError::Open { .. })) => {
                Self::unusable(format!("{error}; nothing was run"))
            }
            ForkFailure::Fork(_) | ForkFailure::Begin(_) => Self::machine(format!(
                "{error}; no fork was kept, and the run is untouched"
            )),
        }
    }
}
