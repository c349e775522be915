//! The helper: the program started again, to own a sandbox and to run its commands.
//!
//! ```text
//! library ──── helper ──── first process of the namespaces ──── commands
//!         socket      waits    builds the tree, runs, reaps
//! ```
//!
//! It has one thread, reads no environment and no file but those it is told of, and ends
//! when the library does. The kernel kills all that ran in its namespaces with the first
//! process there, and that one with the helper. Where there are no namespaces, the helper
//! itself runs the commands, and kills what descends from it.

mod calls;
mod check;
mod descendants;
mod guard;
mod namespaces;
mod run;
mod stand_in;
mod system;
mod tree;

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, Ipv4Addr, SocketAddrV4, SocketFlags, SocketType, socket_with};
use rustix::process::{Signal, WaitOptions, getpid, waitpid};
use seccompiler::BpfProgram;

use super::config::Backend;
use super::wire::{self, Refusal, Reply, Request, Setup, Stage};
use guard::Scoped;
use namespaces::Who;
use system::Fork;
use tree::Tree;

/// What the program does when it is started as the helper; its standard input is the socket.
/// The code it ends with matters to nobody.
pub fn serve() -> u8 {
    let Ok(socket) = keep_only_socket() else {
        return 2;
    };
    let Ok(Some((Request::Begin(setup), _))) = wire::receive(&socket) else {
        return 2;
    };
    let done = match setup.backend {
        Backend::Overlay => serve_in_namespaces(socket, &setup),
        Backend::Copy | Backend::Unguarded => serve_here(socket, &setup),
    };
    u8::from(done.is_err())
}

/// For a process that was started with a socket in place of standard input, and is to own
/// nothing else of whoever started it. Only before it has opened anything.
pub(crate) fn keep_only_socket() -> io::Result<OwnedFd> {
    system::close_inherited();
    take_socket()
}

/// The socket leaves the place of standard input, where commands could find it.
fn take_socket() -> io::Result<OwnedFd> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let nothing = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nothing)?;
    Ok(socket)
}

fn serve_in_namespaces(socket: OwnedFd, setup: &Setup) -> io::Result<()> {
    let sockets = namespaces::sockets_with_paths();
    let who = match namespaces::enter() {
        Ok(who) => who,
        Err(refusal) => return wire::send(&socket, &Reply::Refused(refusal), &[]),
    };
    let (above, alive) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    match system::fork()? {
        Fork::Parent(first) => {
            wire::send(
                &socket,
                &Reply::Hello(first.as_raw_nonzero().get() as u32),
                &[],
            )?;
            rustix::io::write(&alive, b"!")?;
            drop((socket, above));
            while matches!(
                waitpid(Some(first), WaitOptions::empty()),
                Err(rustix::io::Errno::INTR)
            ) {}
            drop(alive);
            Ok(())
        }
        Fork::Child => {
            drop(alive);
            let done = rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(io::Error::from)
                .and_then(|()| serve_first(socket, above, setup, who, sockets));
            system::leave(u8::from(done.is_err()))
        }
    }
}

/// What the first process of the namespaces does.
fn serve_first(
    socket: OwnedFd,
    above: OwnedFd,
    setup: &Setup,
    who: Who,
    sockets: Vec<PathBuf>,
) -> io::Result<()> {
    let raised = namespaces::raise_loopback();
    let built = raised
        .map_err(|error| Refusal::new(Stage::Loopback, error))
        .and_then(|()| Tree::build(setup, sockets))
        .and_then(|tree| Guard::of_tree(tree, who, setup));
    // Both write to the same socket: the one that waits has its say first.
    rustix::io::read(&above, &mut [0])?;
    serve_requests(socket, Some(above), built)
}

fn serve_here(socket: OwnedFd, setup: &Setup) -> io::Result<()> {
    wire::send(
        &socket,
        &Reply::Hello(getpid().as_raw_nonzero().get() as u32),
        &[],
    )?;
    rustix::process::set_child_subreaper(Some(getpid()))?;
    serve_requests(socket, None, Guard::without_tree(setup))
}

fn serve_requests(
    socket: OwnedFd,
    above: Option<OwnedFd>,
    guard: Result<Guard, Refusal>,
) -> io::Result<()> {
    let mut guard = match guard {
        Ok(guard) => guard,
        Err(refusal) => return wire::send(&socket, &Reply::Refused(refusal), &[]),
    };
    let landlock = guard.landlock;
    let mut ears = Ears::open(socket, above)?;
    wire::send(&ears.socket, &Reply::Ready { landlock }, &[])?;
    loop {
        let reply = match ears.listen(None)? {
            Heard::Nobody => break,
            Heard::Time => {
                run::reap(None)?;
                continue;
            }
            Heard::Request(Request::Run(run), streams) => {
                match run::run(&mut ears, &guard, &run, streams)? {
                    Some(reply) => reply,
                    None => break,
                }
            }
            Heard::Request(Request::Stop, _) => {
                guard.kill_and_reap()?;
                Reply::Done
            }
            Heard::Request(Request::Show(layers), _) => {
                guard.kill_and_reap()?;
                match guard.show(&layers) {
                    Ok(()) => Reply::Done,
                    Err(refusal) => Reply::Refused(refusal),
                }
            }
            Heard::Request(Request::Check, _) => Reply::Checked(check::check(&guard)?),
            Heard::Request(Request::Listen, _) => {
                let (reply, socket) = listen();
                let socket = socket.as_ref().map(OwnedFd::as_fd);
                wire::send(&ears.socket, &reply, socket.as_slice())?;
                continue;
            }
            // A command that ended by itself is asked to end a moment too late.
            Heard::Request(Request::End | Request::Begin(_), _) => continue,
        };
        wire::send(&ears.socket, &reply, &[])?;
    }
    guard.kill_and_reap()
}

/// A socket that listens on the loopback of this network, whose port the system chooses. Who
/// owns it accepts connections from here, wherever they are themselves.
fn listen() -> (Reply, Option<OwnedFd>) {
    const WAITING: i32 = 128;
    let open = || {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        rustix::net::listen(&socket, WAITING)?;
        Ok::<_, rustix::io::Errno>(socket)
    };
    match open() {
        Ok(socket) => (Reply::Listening(Ok(())), Some(socket)),
        Err(error) => (Reply::Listening(Err(error.raw_os_error())), None),
    }
}

/// What is between a command and the machine.
struct Guard {
    setup: Setup,
    tree: Option<Tree>,
    who: Who,
    filters: Vec<BpfProgram>,
    landlock: u32,
}

impl Guard {
    fn of_tree(tree: Tree, who: Who, setup: &Setup) -> Result<Self, Refusal> {
        Self::new(Some(tree), who, setup)
    }

    /// For commands without namespaces. What can be put on the helper itself is put on here,
    /// so that all its commands are of one domain.
    fn without_tree(setup: &Setup) -> Result<Self, Refusal> {
        let guard = Self::new(None, Who::Somebody, setup)?;
        if setup.backend == Backend::Copy {
            let writable = [Path::new(&setup.workspace), Path::new("/dev/null")];
            let writable = writable.map(Path::to_owned);
            let holds = guard::allow_writes(&writable, Scoped::ThisProcessAndItsChildren)?;
            if !holds {
                return Err(Refusal::new(Stage::Landlock, rustix::io::Errno::NOSYS));
            }
        }
        Ok(guard)
    }

    fn new(tree: Option<Tree>, who: Who, setup: &Setup) -> Result<Self, Refusal> {
        let invalid = |_| Refusal::new(Stage::Seccomp, rustix::io::Errno::INVAL);
        let filters = match setup.backend {
            Backend::Unguarded => Vec::new(),
            backend => calls::filters(backend).map_err(invalid)?,
        };
        Ok(Self {
            setup: setup.clone(),
            tree,
            who,
            filters,
            landlock: system::landlock_level(),
        })
    }

    /// Puts this process, for good, where commands are.
    fn put_on(&self) -> Result<(), Refusal> {
        if let Some(tree) = &self.tree {
            guard::enter_tree(tree.root())?;
            guard::allow_writes(&tree.writable(), Scoped::Anybody)?;
            guard::drop_rights(self.who)?;
        }
        if self.setup.backend != Backend::Unguarded {
            guard::limit(&self.setup.limits)?;
            guard::filter_calls(&self.filters)?;
        }
        Ok(())
    }

    fn show(&mut self, layers: &[u32]) -> Result<(), Refusal> {
        match &mut self.tree {
            Some(tree) => tree.show(layers),
            None => Ok(()),
        }
    }

    /// Kills every process of the sandbox.
    fn kill_everybody(&self) {
        if self.tree.is_some() {
            system::kill_everybody();
        } else {
            descendants::kill_all();
        }
    }

    /// Whether the sandbox has any process beside this one.
    fn is_anybody_there(&self) -> bool {
        if self.tree.is_some() {
            system::is_anybody_there()
        } else {
            descendants::is_there_any()
        }
    }

    fn kill_and_reap(&self) -> io::Result<()> {
        loop {
            self.kill_everybody();
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::CHILD) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What the helper hears.
enum Heard {
    Request(Request, Vec<OwnedFd>),
    /// A child ended, or the time is up.
    Time,
    /// The library, or the process above, is gone.
    Nobody,
}

/// What the helper listens to.
struct Ears {
    socket: OwnedFd,
    /// Ends when the process above does.
    above: Option<OwnedFd>,
    /// Something comes in when a child ended.
    ended: UnixStream,
}

impl Ears {
    fn open(socket: OwnedFd, above: Option<OwnedFd>) -> io::Result<Self> {
        let (ended, tell) = UnixStream::pair()?;
        ended.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGCHLD, tell)?;
        Ok(Self {
            socket,
            above,
            ended,
        })
    }

    /// Waits until something is heard, or for so long.
    fn listen(&mut self, until: Option<Instant>) -> io::Result<Heard> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut sources = vec![
            PollFd::new(&self.socket, PollFlags::IN),
            PollFd::new(&self.ended, PollFlags::IN),
        ];
        if let Some(above) = &self.above {
            sources.push(PollFd::new(above, PollFlags::IN));
        }
        match poll(&mut sources, left.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Heard::Time),
            Err(error) => return Err(error.into()),
        }
        let has_news = |source: usize| {
            sources
                .get(source)
                .is_some_and(|source| !source.revents().is_empty())
        };
        let (has_request, has_ended, is_alone) = (has_news(0), has_news(1), has_news(2));
        drop(sources);
        if is_alone {
            return Ok(Heard::Nobody);
        }
        if has_ended {
            use io::Read as _;
            // Only that something came matters, not how much.
            let _ = self.ended.read(&mut [0; 256]);
        }
        if has_request {
            return Ok(match wire::receive(self.socket.as_fd())? {
                Some((request, descriptors)) => Heard::Request(request, descriptors),
                None => Heard::Nobody,
            });
        }
        Ok(Heard::Time)
    }
}
