//! One command, from its fork to its end, while the helper listens to the library as well.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, waitpid};

use super::super::config::{Cause, Status};
use super::super::wire::{Reply, Request, Run};
use super::system::{self, Fork};
use super::{Ears, Guard, Heard};

/// From the request to end to the kill.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a command and says how it ended. `None`: the library is gone.
pub(super) fn run(
    ears: &mut Ears,
    guard: &Guard,
    run: &Run,
    streams: Vec<OwnedFd>,
) -> io::Result<Option<Reply>> {
    let started = Instant::now();
    let (told, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let child = match system::fork() {
        Err(error) => return Ok(Some(Reply::NotStarted(error.raw_os_error().unwrap_or(0)))),
        Ok(Fork::Parent(child)) => child,
        Ok(Fork::Child) => {
            let errno = become_command(guard, run, streams);
            // Nobody is left to hear that it could not be said.
            let _ = rustix::io::write(&tell, &errno.to_le_bytes());
            system::leave(127)
        }
    };
    drop(tell);
    drop(streams);
    let mut errno = Vec::new();
    std::fs::File::from(told).read_to_end(&mut errno)?;
    if let Some(errno) = errno.first_chunk::<4>() {
        waitpid(Some(child), WaitOptions::empty())?;
        return Ok(Some(Reply::NotStarted(i32::from_le_bytes(*errno))));
    }
    let deadline = run.timeout_millis.map(Duration::from_millis);
    let deadline = deadline.and_then(|timeout| started.checked_add(timeout));
    let ended = wait(ears, guard, child, deadline)?;
    reap(None)?;
    Ok(ended.map(|(status, cause)| Reply::Ended {
        status: status_of(status),
        cause,
        nanos: u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX),
        is_anybody_left: guard.is_anybody_there(),
    }))
}

/// How far the end of a command is.
enum Phase {
    Running,
    /// Its group was asked to end.
    Asked(Cause, Instant),
    /// All were killed.
    Killed(Cause),
}

/// Waits for a child, and ends it when its time is up or the library wants it.
fn wait(
    ears: &mut Ears,
    guard: &Guard,
    child: Pid,
    deadline: Option<Instant>,
) -> io::Result<Option<(WaitStatus, Cause)>> {
    let mut phase = Phase::Running;
    loop {
        if let Some(status) = reap(Some(child))? {
            return Ok(Some(match phase {
                Phase::Running => (status, Cause::Itself),
                Phase::Asked(cause, _) | Phase::Killed(cause) => {
                    // Who did not listen goes now; the group may be gone already.
                    let _ = kill_process_group(child, Signal::KILL);
                    (status, cause)
                }
            }));
        }
        let next = match phase {
            Phase::Running => deadline,
            Phase::Asked(_, until) => Some(until),
            Phase::Killed(_) => None,
        };
        let heard = ears.listen(next)?;
        let now = Instant::now();
        phase = match (phase, heard) {
            (_, Heard::Nobody) => return Ok(None),
            (Phase::Running, Heard::Request(Request::End, _)) => ask(child, Cause::Asked, now),
            (Phase::Running, Heard::Time) if deadline.is_some_and(|end| now >= end) => {
                ask(child, Cause::Timeout, now)
            }
            (Phase::Asked(cause, until), _) if now >= until => {
                guard.kill_everybody();
                Phase::Killed(cause)
            }
            (phase, _) => phase,
        };
    }
}

fn ask(child: Pid, cause: Cause, now: Instant) -> Phase {
    // It may have ended by itself meanwhile, which is seen next.
    let _ = kill_process_group(child, Signal::TERM);
    Phase::Asked(cause, now + GRACE)
}

/// Takes note of all children that ended: the helper inherits what its commands leave. The
/// status of the one that is looked for.
pub(super) fn reap(wanted: Option<Pid>) -> io::Result<Option<WaitStatus>> {
    let mut found = None;
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if Some(pid) == wanted => found = Some(status),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(rustix::io::Errno::CHILD) => return Ok(found),
            Err(error) => return Err(error.into()),
        }
    }
}

fn status_of(status: WaitStatus) -> Status {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Status::Code(code as u8),
        (None, signal) => Status::Signal(signal.unwrap_or(0)),
    }
}

/// Turns this process into the command; returns what stood in the way.
fn become_command(guard: &Guard, run: &Run, streams: Vec<OwnedFd>) -> i32 {
    use std::os::unix::process::CommandExt as _;
    let mut words = run.arguments.iter();
    let (Some(program), Ok([input, output, error])) =
        (words.next(), <[OwnedFd; 3]>::try_from(streams))
    else {
        return rustix::io::Errno::INVAL.raw_os_error();
    };
    if let Err(error) = rustix::process::setsid() {
        return error.raw_os_error();
    }
    if let Err(refusal) = guard.put_on() {
        return refusal.errno;
    }
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(&run.directory)
        .env_clear()
        .envs(run.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(error));
    command.exec().raw_os_error().unwrap_or(0)
}
