//! Runs a declared command to its end: what it reads, what it prints, how it ended.
//!
//! No shell, no terminal, no sandbox. A command that runs out of time is stopped with its
//! whole process group; what left the group is not found.

use std::ffi::OsString;
use std::io::{self, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::declarations::Network;

/// Bytes of an answer that are kept and handed on.
pub(super) const MAX_OUTPUT: usize = 4 << 20;
/// Bytes of complaints that are kept.
const MAX_COMPLAINT: usize = 64 << 10;
/// So long a command may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);
/// So long is waited for what a command that ended still had to say.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Runs a command in a network of its own, in which there is nothing.
const OFFLINE: [&str; 4] = ["unshare", "--user", "--map-current-user", "--net"];

/// What is to be run.
#[derive(Debug)]
pub(super) struct Invocation<'a> {
    pub(super) words: &'a [String],
    pub(super) input: Arc<[u8]>,
    pub(super) key: &'a str,
    /// Its variables; without them, those of this process.
    pub(super) environment: Option<&'a [(OsString, OsString)]>,
    /// Where it runs, and relative programs lie.
    pub(super) directory: &'a Path,
    pub(super) timeout: Duration,
    pub(super) network: Network,
    /// Codes it ends with where it does not know whether it is done.
    pub(super) in_doubt: &'a [i32],
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) exit: Exit,
    pub(super) duration: Duration,
    pub(super) output: Vec<u8>,
    /// Bytes of output beyond those.
    pub(super) omitted: u64,
    pub(super) complaint: String,
}

/// How a command ended.
#[derive(Debug)]
pub(super) enum Exit {
    Code(i32),
    /// A signal of this number ended it, which we did not send.
    Killed(i32),
    TimedOut,
    /// It never ran.
    NotStarted(io::Error),
}

/// Whether a command can be kept from the network here.
pub(super) fn can_withhold_network(environment: Option<&[(OsString, OsString)]>) -> io::Result<()> {
    let [program, arguments @ ..] = OFFLINE;
    let mut command = Command::new(program);
    command.args(arguments).arg("true").stdin(Stdio::null());
    settle_in(&mut command, environment);
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(complaint.trim().to_owned()))
}

/// Runs a command to its end.
pub(super) fn run(invocation: &Invocation<'_>) -> Ended {
    let began = Instant::now();
    let mut child = match start(invocation) {
        Ok(child) => child,
        Err(error) => return Ended::not_started(error),
    };
    let group = Pid::from_child(&child);
    if let Some(mut stdin) = child.stdin.take() {
        let input = Arc::clone(&invocation.input);
        // A command need not read all it is given, nor any of it.
        thread::spawn(move || stdin.write_all(&input));
    }
    let output = Captured::start(child.stdout.take(), MAX_OUTPUT);
    let complaint = Captured::start(child.stderr.take(), MAX_COMPLAINT);
    let (told, status) = channel();
    thread::spawn(move || told.send(child.wait()));
    let exit = wait(&status, group, invocation.timeout);
    let duration = began.elapsed();
    // What it left behind belongs to the call, which is over.
    let _ = kill_process_group(group, Signal::KILL);
    let (output, omitted) = output.finish();
    let (complaint, _) = complaint.finish();
    Ended {
        exit,
        duration,
        output,
        omitted,
        complaint: String::from_utf8_lossy(&complaint).into_owned(),
    }
}

fn start(invocation: &Invocation<'_>) -> io::Result<Child> {
    let missing = || io::Error::from(io::ErrorKind::InvalidInput);
    let (program, arguments) = invocation.words.split_first().ok_or_else(missing)?;
    // Which directory a relative program is looked for in differs from system to system.
    let program = if program.contains('/') {
        invocation.directory.join(program)
    } else {
        program.into()
    };
    let mut command = match invocation.network {
        Network::Any => Command::new(program),
        Network::None => {
            let [offline, before @ ..] = OFFLINE;
            let mut command = Command::new(offline);
            command.args(before).arg("--").arg(program);
            command
        }
    };
    settle_in(&mut command, invocation.environment);
    command
        .args(arguments)
        .env("IDEMPOTENCY_KEY", invocation.key)
        .current_dir(invocation.directory)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

fn settle_in(command: &mut Command, environment: Option<&[(OsString, OsString)]>) {
    if let Some(variables) = environment {
        command.env_clear().envs(variables.iter().cloned());
    }
}

fn wait(status: &Receiver<io::Result<ExitStatus>>, group: Pid, timeout: Duration) -> Exit {
    match status.recv_timeout(timeout) {
        Ok(Ok(status)) => status
            .code()
            .map_or_else(|| Exit::Killed(status.signal().unwrap_or(0)), Exit::Code),
        // It cannot be known any more how it ended.
        Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Exit::Killed(0),
        Err(RecvTimeoutError::Timeout) => {
            let _ = kill_process_group(group, Signal::TERM);
            if status.recv_timeout(GRACE).is_err() {
                let _ = kill_process_group(group, Signal::KILL);
                let _ = status.recv_timeout(GRACE);
            }
            Exit::TimedOut
        }
    }
}

impl Ended {
    fn not_started(error: io::Error) -> Self {
        Self {
            exit: Exit::NotStarted(error),
            duration: Duration::ZERO,
            output: Vec::new(),
            omitted: 0,
            complaint: String::new(),
        }
    }
}

/// What a command prints, as far as it is kept; the rest is read and counted.
struct Captured {
    so_far: Arc<Mutex<(Vec<u8>, u64)>>,
    done: Receiver<()>,
}

impl Captured {
    fn start(from: Option<impl Read + Send + 'static>, most: usize) -> Self {
        let so_far = Arc::new(Mutex::new((Vec::new(), 0)));
        let (told, done) = channel();
        let into = Arc::clone(&so_far);
        thread::spawn(move || {
            if let Some(from) = from {
                read(from, most, &into);
            }
            told.send(())
        });
        Self { so_far, done }
    }

    /// What was printed. Who holds the other end open beyond the command's own end is not
    /// waited for.
    fn finish(self) -> (Vec<u8>, u64) {
        let _ = self.done.recv_timeout(LAST_WORDS);
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *so_far)
    }
}

fn read(mut from: impl Read, most: usize, into: &Mutex<(Vec<u8>, u64)>) {
    let mut block = [0; 16 << 10];
    loop {
        let size = match from.read(&mut block) {
            Ok(0) => return,
            Ok(size) => size,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let mut so_far = into.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = size.min(most - so_far.0.len());
        so_far
            .0
            .extend_from_slice(block.get(..kept).unwrap_or_default());
        so_far.1 += (size - kept) as u64;
    }
}
