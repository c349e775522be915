//! A held transaction, as a command reaches it: through its socket, one request at a time.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::super::Preview;
use super::super::open::{EffectCall, Isolation, OpenTransactionError, Proposed};
use super::HOLDER_VERB;
use super::registry::{Entry, HeldState, LookUpError, Registry};
use super::wire::{self, CallRequest, Ended, Frames, Reply, Request, Setup, Sort};
use crate::effects::{Answer, RolledBack, Settlement, Surroundings};
use crate::sandbox::{Backend, Stream};
use crate::tape::Redacting;

/// So often somebody who waits for a command is asked whether it should end.
const TICK: Duration = Duration::from_millis(50);
/// Digits of an id.
const DIGITS: usize = 12;

/// What a transaction is to be that outlives the command that begins it.
#[derive(Clone, Debug)]
pub struct HoldBegin {
    /// The workspace, an absolute path.
    pub workspace: PathBuf,
    /// The `jukebox` program, which is started again as the holder.
    pub program: PathBuf,
    /// What keeps commands from the workspace.
    pub backend: Backend,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The user's state directory.
    pub state: PathBuf,
    /// The directory for sockets, which is made if it is not there: for the user alone.
    pub runtime: PathBuf,
    /// How it is kept apart from what others do.
    pub isolation: Isolation,
    /// The time: seconds since 1970.
    pub now: u64,
    /// What its effects find around them.
    pub surroundings: Surroundings,
    /// What is taken out before anything is on its tape; `None`: nothing.
    pub redacting: Option<Redacting>,
}

/// A held transaction did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// It is not known.
    #[error(transparent)]
    LookUp(#[from] LookUpError),
    /// It said why.
    #[error(transparent)]
    Open(#[from] OpenTransactionError),
    /// It said why, in words.
    #[error("{0}")]
    Words(String),
    /// Its holder is gone.
    #[error("the transaction `{0}` is abandoned: the process that held it is gone")]
    Abandoned(String),
    /// Its holder is gone, and its commit is not finished.
    #[error("the commit of the transaction `{0}` was cut off")]
    CutOff(String),
    /// Its holder is gone, and nobody can tell what became of its commit.
    #[error(
        "the process that held the transaction `{0}` ended while it committed, and later commits \
         cover what became of that"
    )]
    Unclear(String),
    /// A running command looks after it itself.
    #[error("the transaction `{0}` is that of a `jukebox record` that runs")]
    Attended(String),
    /// It was committed.
    #[error("the transaction `{0}` was committed")]
    Committed(String),
    /// It was rolled back.
    #[error("the transaction `{0}` was rolled back")]
    RolledBack(String),
    /// A command runs in it.
    #[error("a command runs in the transaction")]
    Busy,
    /// Its holder ended while it was asked.
    #[error("the process that held the transaction ended before it answered")]
    Lost,
    /// Its holder cannot be started or reached.
    #[error("the process that holds the transaction cannot be reached: {0}")]
    Talk(#[source] io::Error),
    /// What a command wrote could not be handed on.
    #[error("the output could not be written: {0}")]
    Output(#[source] io::Error),
}

/// Begins a transaction, and leaves it to a process of its own. Its id.
pub fn begin(begin: &HoldBegin) -> Result<String, HoldError> {
    let id = new_id();
    let (ours, theirs) = UnixStream::pair().map_err(HoldError::Talk)?;
    let started = Command::new(&begin.program)
        .arg(HOLDER_VERB)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.map_err(HoldError::Talk)?;
    let setup = Setup {
        id: id.clone(),
        workspace: begin.workspace.clone().into(),
        program: begin.program.clone().into(),
        backend: begin.backend,
        home: begin.home.clone().map(Into::into),
        state: begin.state.clone().into(),
        runtime: begin.runtime.clone().into(),
        isolation: begin.isolation,
        began: begin.now,
        surroundings: begin.surroundings.clone(),
        redacting: begin
            .redacting
            .as_ref()
            .map(|it| (it.redactor.rules().clone(), it.key)),
    };
    wire::say(&ours, &setup).map_err(HoldError::Talk)?;
    match wire::hear(&ours).map_err(HoldError::Talk)? {
        Some(Reply::Ready) => Ok(id),
        Some(reply) => Err(unwanted(reply)),
        None => Err(HoldError::Lost),
    }
}

/// Random digits: no two transactions of a user share their first few.
pub fn new_id() -> String {
    let id = uuid::Uuid::now_v7().simple().to_string();
    // The first digits of such an id are the time.
    let start = id.len().saturating_sub(DIGITS);
    id.get(start..).unwrap_or_default().to_owned()
}

/// A transaction whose holder is there.
#[derive(Debug)]
pub struct Held {
    entry: Entry,
    registry: Registry,
}

impl Held {
    /// The transaction whose id begins so, if it is still open.
    pub fn find(registry: &Registry, id: &str) -> Result<Self, HoldError> {
        let entry = registry.find(id)?;
        match registry.state(&entry) {
            HeldState::Open | HeldState::Committing if entry.is_attended() => {
                Err(HoldError::Attended(entry.id))
            }
            HeldState::Open | HeldState::Committing => Ok(Self {
                entry,
                registry: registry.clone(),
            }),
            HeldState::Abandoned => Err(HoldError::Abandoned(entry.id)),
            HeldState::CutOff => Err(HoldError::CutOff(entry.id)),
            HeldState::Unclear => Err(HoldError::Unclear(entry.id)),
            HeldState::Committed(_) => Err(HoldError::Committed(entry.id)),
        }
    }

    /// What is known of it.
    pub const fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Runs a command to its end. What it writes goes to `sink` as it comes; it is asked to
    /// end as soon as `wants_end`.
    pub fn call(
        &self,
        request: CallRequest,
        input: Option<OwnedFd>,
        sink: &mut dyn FnMut(Stream, &[u8]) -> io::Result<()>,
        wants_end: &dyn Fn() -> bool,
    ) -> Result<Ended, HoldError> {
        let stream = self.connect(&Request::Call(request), input)?;
        stream
            .set_read_timeout(Some(TICK))
            .map_err(HoldError::Talk)?;
        let mut frames = Frames::default();
        let mut has_asked = false;
        let mut unwritten = None;
        loop {
            if !has_asked && (unwritten.is_some() || wants_end()) {
                has_asked = true;
                // It may have ended by itself meanwhile, which is heard next.
                let _ = wire::say(&stream, &Request::End);
            }
            let (to, bytes) = match frames.next(&stream) {
                Ok(Some((Sort::Output, bytes))) => (Stream::Output, bytes),
                Ok(Some((Sort::Error, bytes))) => (Stream::Error, bytes),
                Ok(Some((Sort::Json, body))) => {
                    let reply = serde_json::from_slice(&body);
                    let reply = reply.map_err(|error| HoldError::Talk(error.into()))?;
                    return match (unwritten, reply) {
                        (Some(error), _) => Err(HoldError::Output(error)),
                        (None, Reply::Ended(ended)) => Ok(ended),
                        (None, reply) => Err(unwanted(reply)),
                    };
                }
                Ok(None) => return Err(HoldError::Lost),
                Err(error) if is_tick(&error) => continue,
                Err(error) => return Err(HoldError::Talk(error)),
            };
            // Nobody reads any more: the command ends before its caller does.
            if unwritten.is_none() {
                unwritten = sink(to, &bytes).err();
            }
        }
    }

    /// Remembers what the workspace is in it, under a name.
    pub fn savepoint(&self, name: &str) -> Result<(), HoldError> {
        match self.ask(&Request::Savepoint(name.to_owned()))? {
            Reply::Done => Ok(()),
            reply => Err(unwanted(reply)),
        }
    }

    /// Rolls it back, to a savepoint or wholly.
    pub fn roll_back(&self, to: Option<&str>) -> Result<RolledBack, HoldError> {
        match self.ask(&Request::RollBack(to.map(str::to_owned)))? {
            Reply::RolledBack(done) => Ok(done),
            reply => Err(unwanted(reply)),
        }
    }

    /// What a commit would change of what was there when it began.
    pub fn proposed(&self) -> Result<Vec<Proposed>, HoldError> {
        match self.ask(&Request::Propose)? {
            Reply::Proposed(proposed) => Ok(proposed),
            reply => Err(unwanted(reply)),
        }
    }

    /// What a commit would do to the workspace as it is now.
    pub fn preview(&self) -> Result<Preview, HoldError> {
        match self.ask(&Request::Preview)? {
            Reply::Previewed(preview) => Ok(preview),
            reply => Err(unwanted(reply)),
        }
    }

    /// Commits it. After an error it is still open.
    pub fn commit(&self) -> Result<super::super::Ended, HoldError> {
        match self.ask(&Request::Commit)? {
            Reply::Committed(done) => Ok(done),
            reply => Err(unwanted(reply)),
        }
    }

    /// Makes an effect, or lets it wait for the commit. The body is a file that can be read to
    /// its end without waiting.
    pub fn effect(&self, call: EffectCall, body: Option<OwnedFd>) -> Result<Answer, HoldError> {
        let stream = self.connect(&Request::Effect(call), body)?;
        let mut frames = Frames::default();
        let mut output = Vec::new();
        loop {
            match frames.next(&stream).map_err(HoldError::Talk)? {
                Some((Sort::Output, bytes)) => output.extend(bytes),
                Some((Sort::Error, _)) => {}
                Some((Sort::Json, reply)) => {
                    let reply = serde_json::from_slice(&reply);
                    return match reply.map_err(|error| HoldError::Talk(error.into()))? {
                        Reply::Effect(answer) => Ok(Answer {
                            output: output.into(),
                            ..answer
                        }),
                        reply => Err(unwanted(reply)),
                    };
                }
                None => return Err(HoldError::Lost),
            }
        }
    }

    /// Records what a person says of an effect.
    pub fn settle(&self, number: u32, said: Settlement) -> Result<(), HoldError> {
        match self.ask(&Request::SettleEffect(number, said))? {
            Reply::Done => Ok(()),
            reply => Err(unwanted(reply)),
        }
    }

    fn ask(&self, request: &Request) -> Result<Reply, HoldError> {
        let stream = self.connect(request, None)?;
        let reply = wire::hear(&stream).map_err(HoldError::Talk)?;
        reply.ok_or(HoldError::Lost)
    }

    /// Why nobody is there to be asked: it may have been ended by somebody else meanwhile.
    fn unheard(&self, error: HoldError) -> HoldError {
        let id = self.entry.id.clone();
        match self.registry.find(&id) {
            Err(LookUpError::None(_)) => HoldError::RolledBack(id),
            Ok(entry) => match self.registry.state(&entry) {
                HeldState::Committed(_) => HoldError::Committed(id),
                HeldState::CutOff => HoldError::CutOff(id),
                HeldState::Unclear => HoldError::Unclear(id),
                HeldState::Open | HeldState::Committing | HeldState::Abandoned => error,
            },
            Err(_) => error,
        }
    }

    fn connect(&self, request: &Request, input: Option<OwnedFd>) -> Result<UnixStream, HoldError> {
        let stream = UnixStream::connect(&self.entry.socket);
        let stream = stream.map_err(|error| self.unheard(HoldError::Talk(error)))?;
        let said = wire::hand_over(&stream, input).and_then(|()| wire::say(&stream, request));
        match said {
            // Who has no time says so without listening.
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(HoldError::Talk(error)),
            _ => Ok(stream),
        }
    }
}

fn unwanted(reply: Reply) -> HoldError {
    match reply {
        Reply::Failed(fault) => match fault.into_error() {
            Ok(error) => error.into(),
            Err(words) => HoldError::Words(words),
        },
        Reply::Busy => HoldError::Busy,
        _ => HoldError::Talk(ErrorKind::InvalidData.into()),
    }
}

fn is_tick(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
