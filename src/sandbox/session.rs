//! A sandbox as the library holds it: its helper, its layers, its savepoints.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::capture::Capture;
use super::change_set::{ChangeSet, Since};
use super::config::{Backend, Command, Config, Exit, Said, Stream};
use super::copy::Copies;
use super::error::{Guarantee, Missing, SandboxError};
use super::finding::Facts;
use super::layers::Layers;
use super::mounts::Mounts;
use super::places::{home_of, no_workspace, seen_at, workspace_of};
use super::refusal;
use super::sweep::Sweep;
use super::wire::{self, Broken, Reply, Request, Run, Setup};

/// So often somebody who only waits may ask for the end of a command.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// So long the helper has to end by itself.
const PATIENCE: Timespec = Timespec {
    tv_sec: 5,
    tv_nsec: 0,
};

/// A guarded view of a workspace in which commands run. Dropping it kills them all, and
/// nothing of it is left; the workspace was never touched.
#[derive(Debug)]
pub struct Sandbox {
    helper: Helper,
    backend: Backend,
    workspace: PathBuf,
    /// Where commands see the workspace.
    seen: PathBuf,
    facts: Facts,
    /// By name, the layers below which each lies; oldest first.
    savepoints: Vec<(String, Vec<u32>)>,
    copies: Copies,
    /// The ends of streams that processes left behind may still write to.
    left_open: Vec<OwnedFd>,
    /// A command left somebody running, as far as its helper saw.
    is_anybody_left: bool,
    /// Goes last: it removes what the helper uses.
    layers: Layers,
}

impl Sandbox {
    /// Starts the helper, and sees to it that all that is promised is there.
    pub fn start(config: &Config) -> Result<Self, Missing> {
        let workspace = workspace_of(config)?;
        let mounts = Mounts::read().map_err(|error| {
            no_workspace(format!("/proc/self/mountinfo cannot be read: {error}"))
        })?;
        if config.backend == Backend::Overlay
            && let Some(inside) = mounts.below(&workspace).next()
        {
            return Err(Missing {
                what: Guarantee::Workspace,
                cause: format!("`{}` in it is a mount of its own", inside.display()),
                cure: "unmount it, or name a directory without mounts".to_owned(),
            });
        }
        let unseen = &config.policy.unseen;
        let layers = Layers::create(&workspace, config.layers.as_deref(), unseen);
        let mut layers = layers.map_err(|error| no_workspace(error.to_string()))?;
        let home = home_of(config, &workspace, &mounts);
        let mut copies = Copies::default();
        let seen = match config.backend {
            Backend::Copy => {
                let made = copies.take(&mut layers, &workspace);
                made.map_err(|error| no_workspace(error.to_string()))?
            }
            Backend::Overlay => seen_at(config)?.unwrap_or_else(|| workspace.clone()),
            Backend::Unguarded => workspace.clone(),
        };
        let source = match config.backend {
            Backend::Copy => &seen,
            _ => &workspace,
        };
        // Who looks around at home must not walk into the layers.
        let hidden = config.policy.hidden.iter().map(PathBuf::as_path);
        let hidden = hidden.chain([layers.path()]);
        let setup = Setup {
            backend: config.backend,
            workspace: source.into(),
            seen: seen.clone().into(),
            layers: layers.path().into(),
            home: home.clone().map(Into::into),
            hidden: hidden.map(Into::into).collect(),
            limits: config.policy.limits.clone(),
        };
        if let Some(home) = &home {
            let made = layers.add_home(home);
            made.map_err(|error| no_workspace(error.to_string()))?;
        }
        let (helper, landlock) = Helper::start(&config.helper, setup)?;
        let mut sandbox = Self {
            helper,
            backend: config.backend,
            workspace,
            seen,
            facts: Facts {
                landlock,
                has_home: home.is_some(),
            },
            savepoints: Vec::new(),
            copies,
            left_open: Vec::new(),
            is_anybody_left: false,
            layers,
        };
        if config.backend == Backend::Overlay {
            let shown = sandbox.show_on_top_of(&[]);
            shown.map_err(|error| match error {
                SandboxError::Missing(missing) => missing,
                error => no_workspace(error.to_string()),
            })?;
        }
        Ok(sandbox)
    }

    /// How it is guarded.
    pub fn facts(&self) -> Facts {
        self.facts
    }

    /// What keeps commands from the workspace.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Where commands see the workspace: its own path, unless another was asked for, or it is
    /// copied.
    pub fn seen_at(&self) -> &Path {
        &self.seen
    }

    /// Where the layers lie.
    pub fn layers(&self) -> &Path {
        self.layers.path()
    }

    /// The process with whose end all others of the sandbox end.
    pub fn process(&self) -> u32 {
        self.helper.child.id()
    }

    /// Runs a command to its end. What it writes goes to `sink` as it comes; a break asks the
    /// command to end. What it leaves running goes on, until the sandbox ends.
    pub fn exec(
        &mut self,
        command: &Command,
        sink: &mut dyn FnMut(Said<'_>) -> ControlFlow<()>,
    ) -> Result<Exit, SandboxError> {
        self.exec_watched(command, None, &mut |said, _| sink(said))
    }

    /// The same; `sink` may look at what the commands changed so far as well, and hears
    /// [`Said::Nothing`] whenever `wake` can be read, which it has to see to.
    pub fn exec_watched(
        &mut self,
        command: &Command,
        wake: Option<BorrowedFd<'_>>,
        sink: &mut dyn FnMut(Said<'_>, Changes<'_>) -> ControlFlow<()>,
    ) -> Result<Exit, SandboxError> {
        if command.arguments.is_empty() {
            return Err(SandboxError::NoCommand);
        }
        self.layers.use_them()?;
        let nothing =
            rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let nothing = nothing.map_err(|error| SandboxError::Talk(error.into()))?;
        let input = command.input.as_ref().unwrap_or(&nothing).as_fd();
        let open = |stream| Capture::open(stream, command.capture).map_err(SandboxError::Talk);
        let (mut output, write_output) = open(Stream::Output)?;
        let (mut error, write_error) = open(Stream::Error)?;
        let run = Request::Run(Run {
            arguments: command.arguments.clone(),
            directory: self.seen.join(&command.directory).into(),
            environment: command.environment.clone(),
            timeout_millis: command
                .timeout
                .map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
        });
        let streams = [input, write_output.as_fd(), write_error.as_fd()];
        self.helper.say(&run, &streams)?;
        let was_anybody_left = std::mem::replace(&mut self.is_anybody_left, true);
        drop((write_output, write_error));
        let mut left_open = std::mem::take(&mut self.left_open);
        let changes = self.changes();
        let streams = &mut [&mut output, &mut error];
        let sink = &mut |said: Said<'_>| sink(said, changes);
        let reply = listen((&self.helper, wake), &mut left_open, streams, sink);
        self.left_open = left_open;
        let reply = reply?;
        let exit = match reply {
            Reply::Ended {
                status,
                cause,
                nanos,
                is_anybody_left,
            } => {
                self.is_anybody_left = is_anybody_left;
                Ok(Exit {
                    status,
                    cause,
                    duration: Duration::from_nanos(nanos),
                    output: output.captured(),
                    error: error.captured(),
                })
            }
            Reply::NotStarted(errno) => {
                self.is_anybody_left = was_anybody_left;
                let error = io::Error::from_raw_os_error(errno);
                Err(SandboxError::NotStarted(error))
            }
            _ => Err(SandboxError::Lost),
        };
        self.left_open.extend(output.into_source());
        self.left_open.extend(error.into_source());
        exit
    }

    /// Whether a command left somebody running.
    pub fn is_anybody_left(&self) -> bool {
        self.is_anybody_left
    }

    /// Shows the workspace as it is on disk by now, and nothing of what commands changed in
    /// it: what they left in their temporary directories stays. Every process is killed
    /// first, and savepoints are gone.
    pub fn show_anew(&mut self) -> Result<(), SandboxError> {
        match self.backend {
            Backend::Overlay => {
                self.savepoints.clear();
                self.show_on_top_of(&[])
            }
            Backend::Copy | Backend::Unguarded => Err(SandboxError::Unguarded),
        }
    }

    /// A socket that listens at the loopback of commands. With the overlay nobody else reaches
    /// it: they have a network of their own, which holds nothing else.
    pub fn listen(&mut self) -> Result<OwnedFd, SandboxError> {
        if self.backend == Backend::Copy {
            let why = "commands that see a copy have no sockets";
            let error = io::Error::new(io::ErrorKind::Unsupported, why);
            return Err(SandboxError::Talk(error));
        }
        self.helper.say(&Request::Listen, &[])?;
        match self.helper.hear_with()? {
            (Reply::Listening(Ok(())), mut sockets) => sockets.pop().ok_or(SandboxError::Lost),
            (Reply::Listening(Err(errno)), _) => {
                Err(SandboxError::Talk(io::Error::from_raw_os_error(errno)))
            }
            _ => Err(SandboxError::Lost),
        }
    }

    /// Kills every process of the sandbox.
    pub fn stop(&mut self) -> Result<(), SandboxError> {
        match self.helper.ask(&Request::Stop)? {
            Reply::Done => {
                self.is_anybody_left = false;
                Ok(())
            }
            _ => Err(SandboxError::Lost),
        }
    }

    /// Remembers what the workspace is, under a name. Every process is killed first.
    pub fn savepoint(&mut self, name: &str) -> Result<(), SandboxError> {
        if self.savepoints.iter().any(|(other, _)| other == name) {
            return Err(SandboxError::SavepointExists(name.to_owned()));
        }
        let saved = match self.backend {
            Backend::Overlay => {
                let stack = self.layers.stack().to_vec();
                self.show_on_top_of(&stack)?;
                stack
            }
            Backend::Copy => {
                self.stop()?;
                let saved = self.copies.save(&mut self.layers, &self.seen)?;
                let mut stack = self.layers.stack().to_vec();
                stack.push(saved);
                self.layers.settle(stack)?;
                vec![saved]
            }
            Backend::Unguarded => return Err(SandboxError::Unguarded),
        };
        self.savepoints.push((name.to_owned(), saved));
        Ok(())
    }

    /// The savepoints that can be gone back to, the oldest first.
    pub fn savepoints(&self) -> impl Iterator<Item = &str> {
        self.savepoints.iter().map(|(name, _)| name.as_str())
    }

    /// Makes the workspace what it was at a savepoint. Every process is killed first. Later
    /// savepoints are gone; this one can be gone back to again.
    pub fn roll_back_to(&mut self, name: &str) -> Result<(), SandboxError> {
        let place = self.savepoints.iter().position(|(other, _)| other == name);
        let place = place.ok_or_else(|| SandboxError::NoSavepoint(name.to_owned()))?;
        let saved = self.savepoints.get(place);
        let saved = saved.map(|(_, saved)| saved.clone()).unwrap_or_default();
        match self.backend {
            Backend::Overlay => self.show_on_top_of(&saved)?,
            Backend::Copy => {
                self.stop()?;
                self.copies.restore(&saved, (&self.layers, &self.seen))?;
                let working = self.layers.stack().first().copied();
                let kept = self
                    .savepoints
                    .iter()
                    .take(place + 1)
                    .flat_map(|(_, saved)| saved);
                self.layers
                    .settle(working.into_iter().chain(kept.copied()).collect())?;
            }
            Backend::Unguarded => return Err(SandboxError::Unguarded),
        }
        self.savepoints.truncate(place + 1);
        Ok(())
    }

    /// What the commands changed so far. Works without the helper, too.
    pub fn change_set(&self) -> Result<ChangeSet, SandboxError> {
        self.changes().read()
    }

    /// What the commands changed, to be looked at.
    pub fn changes(&self) -> Changes<'_> {
        Changes {
            backend: self.backend,
            layers: &self.layers,
            copies: &self.copies,
            seen: &self.seen,
            workspace: &self.workspace,
        }
    }

    /// Ends all processes and leaves the layers on disk; where they lie.
    pub fn abandon(mut self) -> PathBuf {
        self.layers.keep();
        self.layers.path().to_owned()
    }

    /// The promises that do not hold, in a sandbox over a directory made for that.
    pub(super) fn check(&mut self) -> Result<Vec<Broken>, SandboxError> {
        match self.helper.ask(&Request::Check)? {
            Reply::Checked(broken) => Ok(broken),
            _ => Err(SandboxError::Lost),
        }
    }

    /// A new layer over these. Every process is killed first.
    fn show_on_top_of(&mut self, stack: &[u32]) -> Result<(), SandboxError> {
        let number = self.layers.add_upper(&self.workspace)?;
        let mut stack = stack.to_vec();
        stack.push(number);
        match self.helper.ask(&Request::Show(stack.clone()))? {
            Reply::Done => {
                self.is_anybody_left = false;
                self.left_open.clear();
                self.layers.settle(stack)
            }
            Reply::Refused(refused) => Err(refusal::explain(&refused).into()),
            _ => Err(SandboxError::Lost),
        }
    }
}

/// What the commands of a sandbox changed, to be looked at while one runs.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a> {
    backend: Backend,
    layers: &'a Layers,
    copies: &'a Copies,
    seen: &'a Path,
    workspace: &'a Path,
}

impl Changes<'_> {
    /// What they changed so far. Costs as much as there is of it.
    pub fn read(&self) -> Result<ChangeSet, SandboxError> {
        match self.backend {
            Backend::Overlay => {
                let uppers = self.layers.uppers();
                ChangeSet::of_layers(&uppers, self.workspace, self.layers.unseen())
            }
            Backend::Copy => self.copies.change_set(self.seen),
            Backend::Unguarded => Err(SandboxError::Unguarded),
        }
    }

    /// What they changed since `sweep` was asked last, as far as a stat tells. Costs a stat for
    /// all there is, and else as much as there is of what changed. A copy is read whole.
    pub fn since(&self, sweep: &mut Sweep) -> Result<Since, SandboxError> {
        match self.backend {
            Backend::Overlay => {
                let uppers = self.layers.uppers();
                sweep.since(&uppers, self.workspace, self.layers.unseen())
            }
            Backend::Copy => Ok(Since::All),
            Backend::Unguarded => Err(SandboxError::Unguarded),
        }
    }
}

/// Reads both streams until the helper answers.
fn listen(
    (helper, wake): (&Helper, Option<BorrowedFd<'_>>),
    left_open: &mut Vec<OwnedFd>,
    streams: &mut [&mut Capture; 2],
    sink: &mut dyn FnMut(Said<'_>) -> ControlFlow<()>,
) -> Result<Reply, SandboxError> {
    let mut buffer = Vec::new();
    let mut has_asked = false;
    loop {
        let mut sources = vec![PollFd::new(&helper.socket, PollFlags::IN)];
        let ends = streams.iter().filter_map(|stream| stream.source());
        sources.extend(ends.map(|end| PollFd::from_borrowed_fd(end, PollFlags::IN)));
        let left = left_open.iter();
        let left = left.map(|end| PollFd::new(end, PollFlags::IN));
        sources.extend(left);
        sources.extend(wake.map(|wake| PollFd::from_borrowed_fd(wake, PollFlags::IN)));
        let waited = match poll(&mut sources, Some(&TICK)) {
            Ok(ready) => ready,
            Err(rustix::io::Errno::INTR) => 0,
            Err(error) => return Err(SandboxError::Talk(error.into())),
        };
        let has_answer = sources
            .first()
            .is_some_and(|socket| !socket.revents().is_empty());
        let is_woken = sources
            .last()
            .is_some_and(|source| wake.is_some() && !source.revents().is_empty());
        drop(sources);
        let mut wish = if waited == 0 || is_woken {
            sink(Said::Nothing)
        } else {
            ControlFlow::Continue(())
        };
        // The command wrote all it will before the helper heard of its end. Whom it left
        // may write for ever, and is heard for one more turn only.
        for stream in streams.iter_mut() {
            let (_, said) = stream.read(&mut buffer, sink).map_err(SandboxError::Talk)?;
            wish = if said.is_break() { said } else { wish };
        }
        left_open.retain(|end| discard(end, &mut buffer));
        if wish.is_break() && !has_asked {
            has_asked = true;
            helper.say(&Request::End, &[])?;
        }
        if has_answer {
            return helper.hear();
        }
    }
}

/// Reads what nobody wants; whether there may be more one day.
fn discard(end: &OwnedFd, buffer: &mut Vec<u8>) -> bool {
    buffer.resize(1 << 16, 0);
    !matches!(rustix::io::read(end, buffer.as_mut_slice()), Ok(0))
}

/// The helper process, and the socket to it.
#[derive(Debug)]
struct Helper {
    child: Child,
    socket: OwnedFd,
    /// Tells when the first process in the namespaces is gone, and all others there with it.
    first: Option<OwnedFd>,
}

impl Helper {
    fn start(program: &Path, setup: Setup) -> Result<(Self, u32), Missing> {
        let missing = |error: io::Error| Missing {
            what: Guarantee::Helper,
            cause: format!("`{}` could not be started: {error}", program.display()),
            cure: "see whether the program is still there".to_owned(),
        };
        let pair = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        );
        let (socket, theirs) = pair.map_err(|error| missing(error.into()))?;
        let child = std::process::Command::new(program)
            .arg(super::HELPER_VERB)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(missing)?;
        let mut helper = Self {
            child,
            socket,
            first: None,
        };
        let lost = |_: SandboxError| missing(io::Error::other("it ended before it said a word"));
        helper
            .say(&Request::Begin(Box::new(setup)), &[])
            .map_err(lost)?;
        loop {
            match helper.hear().map_err(lost)? {
                Reply::Hello(first) => {
                    let first = i32::try_from(first).ok().and_then(Pid::from_raw);
                    helper.first =
                        first.and_then(|first| pidfd_open(first, PidfdFlags::empty()).ok());
                }
                Reply::Ready { landlock } => return Ok((helper, landlock)),
                Reply::Refused(refused) => return Err(refusal::explain(&refused)),
                _ => return Err(lost(SandboxError::Lost)),
            }
        }
    }

    fn say(&self, request: &Request, descriptors: &[BorrowedFd<'_>]) -> Result<(), SandboxError> {
        wire::send(&self.socket, request, descriptors).map_err(gone)
    }

    fn hear(&self) -> Result<Reply, SandboxError> {
        self.hear_with().map(|(reply, _)| reply)
    }

    fn hear_with(&self) -> Result<(Reply, Vec<OwnedFd>), SandboxError> {
        let heard = wire::receive(&self.socket).map_err(gone)?;
        heard.ok_or(SandboxError::Lost)
    }

    fn ask(&self, request: &Request) -> Result<Reply, SandboxError> {
        self.say(request, &[])?;
        self.hear()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It ends when it hears that nobody is there.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
        let is_gone = |first: &OwnedFd| {
            let ended = poll(&mut [PollFd::new(first, PollFlags::IN)], Some(&PATIENCE));
            matches!(ended, Ok(ready) if ready > 0)
        };
        if !self.first.as_ref().is_some_and(is_gone) {
            let _ = self.child.kill();
            self.first.as_ref().map(is_gone);
        }
        let _ = self.child.wait();
    }
}

fn gone(error: io::Error) -> SandboxError {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => SandboxError::Lost,
        _ => SandboxError::Talk(error),
    }
}
