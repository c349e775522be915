//! A command that is run for somebody and recorded: in a sandbox, as one transaction that is
//! committed or rolled back; or, where that is insisted on, in the workspace itself.
//!
//! Nothing here prints or asks: what the command writes goes to whoever runs it.

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::capture::{Capture, CaptureOptions, Session, holds_home};
use crate::effects::Surroundings;
use serde_json::{Map, Value};

use crate::model::{Body, Edit, Event, Outcome, Parent, STATE_DIRECTORY};
use crate::models::Server;
use crate::sandbox::{self, Guarantee, Policy, Sandbox, SandboxError};
pub use crate::sandbox::{Cause, Exit, Said, Status as CommandStatus};
use crate::tape::{RecordError, Recorder, RecorderOptions, Redacting};
use crate::text::command_line;
use crate::transaction::beside::{Aside, Beside};
use crate::transaction::call::{self, Frames};
use crate::transaction::hold::{LookUpError, Noted, Registry, new_id};
use crate::transaction::{
    Begin, Committed, Ended, Isolation, OpenTransactionError, Preview, Transaction,
};

use super::models::{ModelReport, Models, ModelsError, Prepared};
use super::sandbox::Backend;

/// The one call of such a run.
const CALL: &str = "c1";
/// From one look at an unguarded workspace to the next, at least.
const LOOK: Duration = Duration::from_millis(100);
/// So many times as long as a look took, nobody looks.
const SHARE: u32 = 10;

/// A command that is to be recorded.
#[derive(Debug)]
pub struct CommandOptions {
    /// The workspace: the command runs in it.
    pub workspace: PathBuf,
    /// The tape, a new file.
    pub tape: PathBuf,
    /// The `jukebox` program, which is started again as the helper.
    pub program: PathBuf,
    /// What keeps the command from the workspace.
    pub backend: Backend,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// A workspace may be the home directory, or hold it.
    pub allows_home: bool,
    /// Directories that the command sees empty, besides those of secrets.
    pub hidden: Vec<PathBuf>,
    /// Where it is written down what can be salvaged.
    pub registry: Registry,
    /// The time: seconds since 1970.
    pub now: u64,
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
    /// The whole environment of the command.
    pub environment: Vec<(OsString, OsString)>,
    /// What it reads; `None`: nothing.
    pub input: Option<OwnedFd>,
    /// After this long it is asked to end.
    pub timeout: Option<Duration>,
    /// Models for it to talk to.
    pub models: Option<Models>,
    /// What is taken out before anything is written; `None`: nothing.
    pub redacting: Option<Redacting>,
}

/// What a command's tape is a fork of.
#[derive(Debug)]
pub(super) struct LeftRun {
    /// The run, none of whose events are shared.
    pub(super) parent: Parent,
    /// What makes the fork differ.
    pub(super) edit: Edit,
    /// Where the run saw its workspace, and the command is to see its own.
    pub(super) seen_at: Option<PathBuf>,
}

/// A command was not run, or not recorded.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The sandbox, the tape or the workspace.
    #[error(transparent)]
    Open(#[from] OpenTransactionError),
    /// It holds more than any run's workspace.
    #[error("{} is or holds the home directory", .0.display())]
    TooMuch(PathBuf),
    /// There is no such workspace.
    #[error("`{}`: {source}", path.display())]
    Workspace {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It could not be written down.
    #[error(transparent)]
    LookUp(#[from] LookUpError),
    /// It cannot be given models.
    #[error(transparent)]
    Models(#[from] ModelsError),
}

/// A command that is being recorded. Dropped, what it changed is rolled back; without a
/// sandbox, nothing is.
#[derive(Debug)]
pub struct CommandRun {
    command: sandbox::Command,
    /// What its model calls come to.
    server: Option<Server>,
    guard: Guard,
}

#[derive(Debug)]
enum Guard {
    Sandbox(Box<Transaction>, Noted),
    Nothing(Box<Unguarded>),
}

/// A run whose changes were not committed, and are kept.
#[derive(Debug)]
pub struct Kept {
    /// The id under which they can be salvaged or dropped.
    pub id: String,
    /// Why.
    pub why: OpenTransactionError,
}

impl CommandRun {
    /// Begins the tape. Nothing is run yet.
    pub fn begin(options: CommandOptions) -> Result<Self, CommandError> {
        // What cannot be answered is known before anything is there.
        let workspace = options.workspace.canonicalize();
        let workspace = workspace.unwrap_or_else(|_| options.workspace.clone());
        let prepare = |models: &Models| models.prepare(&workspace);
        let models = options.models.as_ref().map(prepare).transpose()?;
        Self::begin_with(options, models, None)
    }

    /// The same, with models that are known already, and perhaps of a fork.
    pub(super) fn begin_with(
        options: CommandOptions,
        models: Option<Prepared>,
        left: Option<LeftRun>,
    ) -> Result<Self, CommandError> {
        let workspace = options.workspace.canonicalize();
        let workspace = workspace.map_err(|source| CommandError::Workspace {
            path: options.workspace.clone(),
            source,
        })?;
        let home = options.home.as_deref();
        if !options.allows_home && holds_home(&workspace, home) {
            return Err(CommandError::TooMuch(workspace));
        }
        if options.tape.exists() {
            return Err(OpenTransactionError::from(RecordError::Exists(options.tape)).into());
        }
        let covers = models.as_ref().map(|models| models.covers.clone());
        let covers = covers.unwrap_or_default();
        let mut policy = Policy::for_home(home);
        policy.hidden.extend(options.hidden);
        policy.unseen.extend(below(&workspace, &options.tape));
        let sandbox = sandbox::Config {
            workspace: workspace.clone(),
            seen_at: left.as_ref().and_then(|left| left.seen_at.clone()),
            helper: options.program,
            backend: options.backend,
            layers: None,
            policy,
        };
        let mut command = sandbox::Command {
            environment: options.environment,
            input: options.input,
            timeout: options.timeout,
            capture: u64::MAX,
            arguments: options.arguments,
            directory: PathBuf::new(),
        };
        let words = command.arguments.iter();
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        let prompt = command_line(words.iter().map(AsRef::as_ref));
        let mut guard = if options.backend == Backend::Unguarded {
            let run =
                Unguarded::begin(&sandbox, &options.tape, prompt, (covers, options.redacting))?;
            Guard::Nothing(Box::new(run))
        } else {
            let mut begin = Begin {
                id: new_id(),
                sandbox,
                isolation: Isolation::Writes,
                tape: options.tape,
                surroundings: Surroundings::default(),
                prompt: Some(prompt),
                covers,
                redacting: options.redacting,
                fork: left.map(|left| (left.parent, left.edit)),
            };
            let transaction = match Transaction::begin(&begin) {
                // Where that cannot be shown, it is seen at its own path.
                Err(OpenTransactionError::Missing(missing))
                    if missing.what == Guarantee::Workspace && begin.sandbox.seen_at.is_some() =>
                {
                    begin.sandbox.seen_at = None;
                    Transaction::begin(&begin)?
                }
                begun => begun?,
            };
            let layers = transaction.layers().unwrap_or(Path::new(""));
            let places = [&*workspace, &begin.tape, layers];
            let noted = options.registry.note(&begin.id, places, options.now)?;
            Guard::Sandbox(Box::new(transaction), noted)
        };
        let serve = |models: Prepared| {
            let listener = guard.listen()?;
            Ok::<_, CommandError>(models.serve(listener, &mut command.environment)?)
        };
        let server = models.map(serve).transpose()?;
        Ok(Self {
            command,
            server,
            guard,
        })
    }

    /// What became of its requests to models, where it was given any.
    pub fn models(&self) -> Option<ModelReport> {
        self.server.as_ref().map(Server::report)
    }

    /// Runs the command to its end. What it writes goes to `sink` as it comes; a break asks it
    /// to end. What it leaves running is ended with it.
    pub fn exec(
        &mut self,
        sink: &mut dyn FnMut(Said<'_>) -> ControlFlow<()>,
    ) -> Result<Exit, CommandError> {
        let beside = self.server.as_mut().map(|server| server as &mut dyn Beside);
        let transaction = match &mut self.guard {
            Guard::Sandbox(transaction, _) => transaction,
            Guard::Nothing(run) => return Ok(run.exec(&self.command, sink, beside)?),
        };
        let exit = match transaction.exec_beside(&self.command, sink, beside) {
            Ok(exit) => Ok(exit),
            Err(OpenTransactionError::Sandbox(error)) => Err(error),
            Err(error) => return Err(error.into()),
        };
        transaction.end_as(call::outcome_of(&exit));
        let exit = exit.map_err(OpenTransactionError::Sandbox)?;
        transaction.settle()?;
        Ok(exit)
    }

    /// What a commit would change. Without a sandbox, everything is done already.
    pub fn preview(&mut self) -> Result<Preview, CommandError> {
        match &mut self.guard {
            Guard::Sandbox(transaction, _) => Ok(transaction.preview()?),
            Guard::Nothing(_) => Ok(Preview {
                changes: Vec::new(),
                conflicts: Vec::new(),
            }),
        }
    }

    /// Commits what the command changed, and ends the tape. What cannot be committed is kept.
    pub fn commit(self) -> Result<Option<EndedRun>, Kept> {
        match self.guard {
            Guard::Sandbox(mut transaction, mut noted) => {
                match commit(&mut transaction, &mut noted) {
                    Ok(done) => Ok(Some(EndedRun::of(done, noted))),
                    Err(why) => Err(keep(*transaction, &noted, why)),
                }
            }
            Guard::Nothing(_) => Ok(None),
        }
    }

    /// Ends the tape, and keeps what the command changed, for that a commit is not possible.
    pub fn keep(self, why: OpenTransactionError) -> Option<Kept> {
        match self.guard {
            Guard::Sandbox(transaction, noted) => Some(keep(*transaction, &noted, why)),
            Guard::Nothing(_) => None,
        }
    }

    /// Drops what the command changed, and ends the tape. Without a sandbox, it only ends.
    pub fn roll_back(self) -> Result<(), CommandError> {
        match self.guard {
            Guard::Sandbox(mut transaction, noted) => {
                let done = transaction.roll_back();
                noted.forget();
                done?;
                Ok(())
            }
            Guard::Nothing(run) => Ok(run.close()?),
        }
    }
}

/// A run whose changes were committed.
#[derive(Debug)]
pub struct EndedRun {
    /// What became of the files.
    pub committed: Committed,
    /// Why the tape does not say so, and the id under which it can be told.
    pub untold: Option<(String, String)>,
}

impl EndedRun {
    fn of(done: Ended, noted: Noted) -> Self {
        let id = noted.id().to_owned();
        let untold = match done.told {
            Ok(()) => {
                noted.forget();
                None
            }
            Err(why) => {
                // The journals of the workspace know it even if this cannot be written down.
                let _ = noted.is_committed(done.committed.id);
                Some((why, id))
            }
        };
        Self {
            committed: done.committed,
            untold,
        }
    }
}

impl Guard {
    fn listen(&mut self) -> Result<OwnedFd, OpenTransactionError> {
        match self {
            Self::Sandbox(transaction, _) => transaction.listen(),
            Self::Nothing(run) => Ok(run.sandbox.listen()?),
        }
    }
}

fn commit(transaction: &mut Transaction, noted: &mut Noted) -> Result<Ended, OpenTransactionError> {
    noted.commits()?;
    transaction.commit()
}

fn keep(transaction: Transaction, noted: &Noted, why: OpenTransactionError) -> Kept {
    // The tape may be what is wrong; what was written is kept all the same.
    let _ = transaction.abandon(&format!("not committed: {why}"));
    Kept {
        id: noted.id().to_owned(),
        why,
    }
}

/// The tape, as the workspace calls it, if the command could see it there.
fn below(workspace: &Path, tape: &Path) -> Option<PathBuf> {
    let tape = std::path::absolute(tape).ok()?;
    let above = tape.parent()?;
    let above = above.canonicalize().unwrap_or_else(|_| above.to_owned());
    let below = above.join(tape.file_name()?);
    let below = below.strip_prefix(workspace).ok()?;
    (!below.starts_with(STATE_DIRECTORY)).then(|| below.to_owned())
}

/// A command that runs in the workspace itself.
#[derive(Debug)]
struct Unguarded {
    sandbox: Sandbox,
    session: Session,
    outcome: Outcome,
}

impl Unguarded {
    fn begin(
        config: &sandbox::Config,
        tape: &Path,
        prompt: String,
        (also, redacting): (Map<String, Value>, Option<Redacting>),
    ) -> Result<Self, OpenTransactionError> {
        let sandbox = Sandbox::start(config)?;
        let options = CaptureOptions {
            tape: Some(tape.to_owned()),
            ..CaptureOptions::default()
        };
        let capture = Capture::workspace(&config.workspace, options)?;
        let mut covers = capture.covers();
        covers.extend(also);
        covers.insert("sandbox".to_owned(), "none: nothing is guarded".into());
        let header = crate::model::Header {
            root: Some(config.workspace.to_string_lossy().into_owned()),
            covers,
            ..crate::model::Header::default()
        };
        if let Some(above) = tape.parent() {
            let made = std::fs::create_dir_all(above);
            made.map_err(|source| OpenTransactionError::Io {
                path: above.to_owned(),
                source,
            })?;
        }
        let options = RecorderOptions {
            redacting,
            ..RecorderOptions::default()
        };
        let recorder = Recorder::create(tape, header, options)?;
        let mut session = Session::begin(recorder, vec![capture])?;
        session.append(Event::new(Body::Prompt {
            role: "user".to_owned(),
            text: prompt,
            attachments: Vec::new(),
        }))?;
        let text = "NO SANDBOX: the command runs in the workspace itself, and can do whatever its \
                    user can; nothing of it is rolled back";
        let text = text.to_owned();
        session.append(Event::new(Body::Note { text }))?;
        Ok(Self {
            sandbox,
            session,
            outcome: Outcome::None,
        })
    }

    fn exec(
        &mut self,
        command: &sandbox::Command,
        sink: &mut dyn FnMut(Said<'_>) -> ControlFlow<()>,
        mut beside: Option<&mut dyn Beside>,
    ) -> Result<Exit, OpenTransactionError> {
        let wake = match &beside {
            Some(beside) => Some(beside.wake().try_clone_to_owned().map_err(talk)?),
            None => None,
        };
        let session = &mut self.session;
        tell(session, Some(call::begins(command)))?;
        let mut said = call::Said::default();
        let mut output = Frames::default();
        let mut next_look = Instant::now() + LOOK;
        let mut untold = Ok(());
        let mut hear = |session: &mut Session, saying: Said<'_>| {
            let now = Instant::now();
            if let Said::Bytes(stream, bytes) = saying {
                said.take(bytes);
                tell(session, output.take(stream, bytes, now))?;
            }
            tell(session, output.pass(now))?;
            if now >= next_look {
                session.look()?;
                next_look = Instant::now() + LOOK.max(now.elapsed() * SHARE);
            }
            Ok::<(), RecordError>(())
        };
        let wake = wake.as_ref().map(std::os::fd::AsFd::as_fd);
        let exit = self.sandbox.exec_watched(command, wake, &mut |saying, _| {
            if untold.is_ok() {
                untold = hear(session, saying);
            }
            if untold.is_ok()
                && let Some(beside) = beside.as_deref_mut()
            {
                untold = asides(session, beside);
            }
            match (&untold, sink(saying)) {
                (Err(_), _) => ControlFlow::Break(()),
                (Ok(()), wish) => wish,
            }
        });
        untold?;
        if let Some(beside) = beside {
            beside.end();
            asides(session, beside)?;
        }
        tell(session, output.flush())?;
        self.outcome = call::outcome_of(&exit);
        let stopped = self.sandbox.stop();
        tell(session, Some(call::ends(&exit, said, 0)))?;
        let exit = exit?;
        stopped?;
        Ok(exit)
    }

    fn close(self) -> Result<(), OpenTransactionError> {
        drop(self.sandbox);
        Ok(self.session.close(self.outcome).map(|_| ())?)
    }
}

/// Tells what happened beside the command.
fn asides(session: &mut Session, beside: &mut dyn Beside) -> Result<(), RecordError> {
    while let Some(Aside { event, like }) = beside.next() {
        session.append_like(event, like)?;
    }
    beside.recorded();
    Ok(())
}

fn talk(error: io::Error) -> OpenTransactionError {
    OpenTransactionError::Sandbox(SandboxError::Talk(error))
}

fn tell(session: &mut Session, event: Option<Event>) -> Result<(), RecordError> {
    if let Some(mut event) = event {
        event.head.call = Some(CALL.to_owned());
        session.append(event)?;
    }
    Ok(())
}

/// The code of a command that could not be run: 126, 127, or 125 where something else failed.
pub fn code_of(error: &CommandError) -> u8 {
    match error {
        CommandError::Open(OpenTransactionError::Sandbox(error)) => SandboxError::code(error),
        _ => 125,
    }
}
