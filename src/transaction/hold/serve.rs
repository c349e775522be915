//! The holder of a transaction: a process of its own, which ends with it.
//!
//! It has one thread, and answers one request after the other; while a command runs, whoever
//! asks for anything else is told so. It does nothing of its own accord: only a commit, a
//! roll back or a kill ends it, its own or that of its sandbox.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::open::{Begin, EffectCall, OpenTransactionError, Transaction};
use super::registry::{Entry, Registry, Stage};
use super::wire::{self, CallRequest, Ended, Fault, Frames, Reply, Request, Setup, Sort};
use crate::effects::MAX_REQUEST;
use crate::model::STATE_DIRECTORY;
use crate::redact::{Redactor, RuleError};
use crate::sandbox::{Cause, Command, Config, Policy, Said, Stream, keep_only_socket};
use crate::tape::Redacting;

/// So long who connects has to say what is wanted.
const PATIENCE: Duration = Duration::from_secs(5);
/// So long who asked for the end of a command has to read what it still says.
const LAST_WORDS: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// What the program does when it is started as a holder; its standard input is a socket to
/// whoever begins the transaction. The code it ends with matters to nobody.
pub fn serve() -> u8 {
    let Ok(socket) = keep_only_socket() else {
        return 2;
    };
    // From now on no terminal and no shell ends it.
    if rustix::process::setsid().is_err() {
        return 2;
    }
    let stream = UnixStream::from(socket);
    let Ok(Some(setup)) = wire::hear::<Setup>(&stream) else {
        return 2;
    };
    let registry = Registry::new(Path::new(&setup.state));
    let mut holder = match Holder::begin(&setup, registry.clone()) {
        Ok(holder) => holder,
        Err(fault) => {
            registry.forget(&setup.id);
            let _nobody_hears = wire::say(&stream, &Reply::Failed(fault));
            return 1;
        }
    };
    if wire::say(&stream, &Reply::Ready).is_err() {
        // Nobody will ever know its id.
        holder.roll_back();
        return 1;
    }
    drop(stream);
    holder.run();
    0
}

struct Holder {
    transaction: Option<Transaction>,
    registry: Registry,
    entry: Entry,
    listener: UnixListener,
    /// Held as long as the process lives.
    _lock: File,
}

impl Holder {
    fn begin(setup: &Setup, registry: Registry) -> Result<Self, Fault> {
        let words =
            |path: &Path, error: &io::Error| Fault::Other(format!("`{}`: {error}", path.display()));
        let lock = registry.hold(&setup.id);
        let lock = lock.map_err(|error| Fault::Other(error.to_string()))?;
        let runtime = Path::new(&setup.runtime);
        make_private(runtime).map_err(|error| words(runtime, &error))?;
        let workspace = PathBuf::from(&setup.workspace);
        let tapes = workspace.join(STATE_DIRECTORY).join("tapes");
        let tape = tapes.join(format!("{}.jsonl", setup.id));
        let mut policy = Policy::for_home(setup.home.as_deref().map(Path::new));
        policy.hidden.push(runtime.to_owned());
        let redacting = setup.redacting.as_ref().map(|(rules, key)| {
            let redactor = Redactor::new(rules)?;
            Ok::<_, RuleError>(Redacting {
                redactor: Arc::new(redactor),
                key: *key,
            })
        });
        let redacting = redacting.transpose();
        let redacting = redacting.map_err(|error| Fault::Other(error.to_string()))?;
        let transaction = Transaction::begin(&Begin {
            id: setup.id.clone(),
            sandbox: Config {
                workspace: workspace.clone(),
                seen_at: None,
                helper: PathBuf::from(&setup.program),
                backend: setup.backend,
                layers: None,
                policy,
            },
            isolation: setup.isolation,
            tape: tape.clone(),
            surroundings: setup.surroundings.clone(),
            prompt: None,
            covers: serde_json::Map::new(),
            redacting,
            fork: None,
        })?;
        let socket = runtime.join(&setup.id);
        let listen = || {
            let listener = UnixListener::bind(&socket)?;
            fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
            Ok(listener)
        };
        let listener = listen().map_err(|error| words(&socket, &error))?;
        let layers = transaction.layers().unwrap_or(Path::new(""));
        let places = [&workspace, &tape, &socket, layers];
        let entry = Entry::new(&setup.id, places, setup.began);
        let holder = Self {
            transaction: Some(transaction),
            registry,
            entry,
            listener,
            _lock: lock,
        };
        if let Err(error) = holder.registry.put(&holder.entry) {
            let _ = fs::remove_file(&holder.entry.socket);
            return Err(Fault::Other(error.to_string()));
        }
        Ok(holder)
    }

    /// Answers until the transaction has ended.
    fn run(&mut self) {
        while self.transaction.is_some() {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // Out of descriptors, say: not for ever.
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(100));
                    continue;
                }
            };
            // Who breaks off wants nothing.
            let _ = self.answer(&stream);
        }
    }

    fn answer(&mut self, stream: &UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let input = wire::take_over(stream)?;
        let mut frames = Frames::default();
        let Some(request) = frames.hear::<Request>(stream)? else {
            return Ok(());
        };
        let reply = match request {
            Request::Call(call) => self.call(stream, &frames, call, input)?,
            Request::End => return Ok(()),
            Request::Savepoint(name) => self.ask(|it| it.savepoint(&name), |()| Reply::Done),
            Request::RollBack(Some(to)) => self.ask(|it| it.roll_back_to(&to), Reply::RolledBack),
            Request::RollBack(None) => self.roll_back(),
            Request::Propose => self.ask(Transaction::proposed, Reply::Proposed),
            Request::Preview => self.ask(Transaction::preview, Reply::Previewed),
            Request::Commit => self.commit(),
            Request::Effect(call) => self.effect(stream, &call, input)?,
            Request::SettleEffect(number, said) => {
                self.ask(|it| it.settle_effect(number, said), |()| Reply::Done)
            }
        };
        if matches!(reply, Reply::Failed(Fault::Lost)) {
            self.abandon();
        }
        wire::say(stream, &reply)
    }

    /// Goes, and leaves what was written: nothing can be run in it, or asked of it, any more.
    fn abandon(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            // The layers are kept whatever the tape says.
            let _ = transaction.abandon("the helper of its sandbox was killed");
            let _ = fs::remove_file(&self.entry.socket);
        }
    }

    fn ask<T>(
        &mut self,
        ask: impl FnOnce(&mut Transaction) -> Result<T, OpenTransactionError>,
        reply: impl FnOnce(T) -> Reply,
    ) -> Reply {
        let Some(transaction) = &mut self.transaction else {
            return Reply::Failed(OpenTransactionError::Over.into());
        };
        match ask(transaction) {
            Ok(found) => reply(found),
            Err(error) => Reply::Failed(error.into()),
        }
    }

    fn call(
        &mut self,
        stream: &UnixStream,
        frames: &Frames,
        call: CallRequest,
        input: Option<OwnedFd>,
    ) -> io::Result<Reply> {
        let Some(transaction) = &mut self.transaction else {
            return Ok(Reply::Failed(OpenTransactionError::Over.into()));
        };
        let command = Command {
            environment: call.environment,
            input,
            timeout: call.timeout_millis.map(Duration::from_millis),
            capture: u64::MAX,
            ..Command::new(call.arguments)
        };
        stream.set_nonblocking(true)?;
        self.listener.set_nonblocking(true)?;
        let mut listener = Listener {
            stream,
            wants_end: frames.has_more(),
            is_gone: false,
        };
        let others = &self.listener;
        let ended = transaction.exec(&command, &mut |said| {
            while let Ok((other, _)) = others.accept() {
                let _nobody_hears = wire::say(&other, &Reply::Busy);
            }
            match said {
                Said::Bytes(Stream::Output, bytes) => listener.pass(Sort::Output, bytes),
                Said::Bytes(Stream::Error, bytes) => listener.pass(Sort::Error, bytes),
                Said::Nothing => listener.hear(),
            }
            if listener.wants_end {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        self.listener.set_nonblocking(false)?;
        stream.set_nonblocking(false)?;
        Ok(match ended {
            Ok(exit) => Reply::Ended(Ended {
                code: exit.status.code(),
                is_timeout: exit.cause == Cause::Timeout,
            }),
            Err(error) => Reply::Failed(error.into()),
        })
    }

    fn commit(&mut self) -> Reply {
        self.entry.commits();
        // Should this process be killed, nobody is to think that nothing was tried.
        if let Err(error) = self.registry.put(&self.entry) {
            self.entry.stage = Stage::Open;
            return Reply::Failed(Fault::Other(format!("{error}; nothing was committed")));
        }
        let reply = self.ask(Transaction::commit, Reply::Committed);
        let Reply::Committed(done) = &reply else {
            self.stage(Stage::Open);
            return reply;
        };
        let commit = done.committed.id;
        self.transaction = None;
        let _ = fs::remove_file(&self.entry.socket);
        self.stage(Stage::Committed(commit));
        self.registry.forget_old();
        reply
    }

    fn roll_back(&mut self) -> Reply {
        let reply = self.ask(Transaction::roll_back, Reply::RolledBack);
        if self.transaction.as_ref().is_none_or(Transaction::is_over) {
            self.transaction = None;
            let _ = fs::remove_file(&self.entry.socket);
            self.registry.forget(&self.entry.id);
        }
        reply
    }

    /// Makes an effect. Who asked may have gone when it is made: it is on the tape.
    fn effect(
        &mut self,
        stream: &UnixStream,
        call: &EffectCall,
        body: Option<OwnedFd>,
    ) -> io::Result<Reply> {
        let mut bytes = Vec::new();
        if let Some(body) = body {
            // One byte more than it may have is told from one that fits.
            let mut body = File::from(body).take(MAX_REQUEST as u64 + 1);
            body.read_to_end(&mut bytes)?;
        }
        let reply = self.ask(|it| it.effect(call, bytes.into()), Reply::Effect);
        if let Reply::Effect(answer) = &reply {
            let mut stream = stream;
            stream.write_all(&wire::head(Sort::Output, answer.output.len()))?;
            stream.write_all(&answer.output)?;
        }
        Ok(reply)
    }

    /// Says how far it is. Where it cannot be written down, `status` is behind; what is true
    /// of the workspace stands in the workspace.
    fn stage(&mut self, stage: Stage) {
        self.entry.stage = stage;
        let _ = self.registry.put(&self.entry);
    }
}

/// Who listens to a command.
struct Listener<'a> {
    stream: &'a UnixStream,
    wants_end: bool,
    /// Nobody will read any more.
    is_gone: bool,
}

impl Listener<'_> {
    /// Whether anything was said; while a command runs, that asks for its end.
    fn hear(&mut self) {
        let mut sources = [PollFd::new(self.stream, PollFlags::IN)];
        let now = Timespec::default();
        if !self.wants_end && matches!(poll(&mut sources, Some(&now)), Ok(ready) if ready > 0) {
            self.wants_end = true;
        }
    }

    /// Hands on what a command wrote, and waits as long as nobody reads it.
    fn pass(&mut self, sort: Sort, bytes: &[u8]) {
        self.hear();
        self.write(&wire::head(sort, bytes.len()));
        self.write(bytes);
    }

    fn write(&mut self, mut rest: &[u8]) {
        while !self.is_gone && !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(),
                Err(_) => {
                    self.is_gone = true;
                    self.wants_end = true;
                }
            }
        }
    }

    fn wait(&mut self) {
        let (flags, patience) = if self.wants_end {
            (PollFlags::OUT, Some(&LAST_WORDS))
        } else {
            (PollFlags::OUT | PollFlags::IN, None)
        };
        let mut sources = [PollFd::new(self.stream, flags)];
        let ready = poll(&mut sources, patience).unwrap_or(0);
        let [source] = &sources;
        let heard = source.revents();
        self.is_gone |= ready == 0 && self.wants_end;
        self.wants_end |= heard.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
    }
}

/// Makes a directory for the user alone, or sees to it that the one that is there is that.
fn make_private(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let found = fs::symlink_metadata(directory)?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    if found.is_dir() && is_own && found.mode() & 0o777 == 0o700 {
        return Ok(());
    }
    Err(io::Error::other(
        "it is no directory of yours that only you can enter",
    ))
}
