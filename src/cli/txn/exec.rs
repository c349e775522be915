//! `jukebox txn exec`: a command in a transaction, as if it was run by the shell.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};

use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::interrupt::Interrupt;
use super::super::output::{Output, pass_on_error, warn};
use crate::debugger::{
    CallRequest, Ended, HeldTransaction, HoldError, OpenTransactionError, Stream,
    allowed_environment,
};

/// The code for all that is not the command's own failure.
pub(super) const OURS: u8 = 125;

/// Run a command in a transaction
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The transaction
    id: String,
    /// End the command after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Hand over this variable of the environment, too, or one with this value
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<OsString>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

const HELP: &str = "\
The command runs in the workspace's own directory, with no network, and with those variables of
the environment that say how to work and hold no secret, and those of --env. If one of those is
named like a secret, its value is taken out of what is recorded from then on. It reads standard
input if that is a pipe or a file, and nothing from a terminal. What it writes comes through as it
is, as it comes. What it leaves running goes on, until the next savepoint, roll back or commit.

Ends with the command's own code, or 128 and the number of the signal that ended it; 126 if it
cannot be run, 127 if it is not there, 125 if it is Jukebox that failed. Ctrl-C and --timeout ask
the command to end (SIGTERM), and two seconds later kill it.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Answer {
        let interrupt = Interrupt::arm();
        match self.call(around, out, &interrupt) {
            Ok(ended) => {
                if ended.is_timeout {
                    warn("its time was up, and the command was ended");
                }
                match interrupt.take() {
                    Some(signal) => Answer::signal(signal),
                    None => Answer::Ended(ended.code),
                }
            }
            Err(HoldError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Answer::Yes
            }
            Err(error) => {
                let code = match &error {
                    HoldError::Open(OpenTransactionError::Sandbox(error)) => error.code(),
                    _ => OURS,
                };
                if let Some(line) = Failure::from(error).line() {
                    warn(line);
                }
                Answer::Ended(code)
            }
        }
    }

    fn call(
        &self,
        around: &Environment,
        out: &mut Output,
        interrupt: &Interrupt,
    ) -> Result<Ended, HoldError> {
        let registry = super::registry(around);
        let registry = registry.map_err(|error| {
            let line = error.line().unwrap_or_default();
            HoldError::Words(line.to_owned())
        })?;
        let held = HeldTransaction::find(&registry, &self.id)?;
        let request = CallRequest {
            arguments: self.command.clone(),
            environment: self.environment(around),
            timeout_millis: self.timeout.map(|seconds| seconds.saturating_mul(1000)),
        };
        held.call(
            request,
            input(),
            &mut |stream, bytes| match stream {
                Stream::Output => out.pass_on(bytes),
                Stream::Error => pass_on_error(bytes),
            },
            &|| interrupt.is_asked(),
        )
    }
}

impl Args {
    fn environment(&self, around: &Environment) -> Vec<(OsString, OsString)> {
        let mut environment = allowed_environment(around.variables.iter().cloned());
        for given in &self.env {
            let bytes = given.as_bytes();
            let variable = if let Some(at) = bytes.iter().position(|byte| *byte == b'=') {
                let (name, value) = bytes.split_at(at);
                let value = value.get(1..).unwrap_or_default();
                let [name, value] = [name, value].map(|part| OsStr::from_bytes(part).into());
                Some((name, value))
            } else {
                let mut variables = around.variables.iter();
                variables.find(|(name, _)| name == given).cloned()
            };
            if let Some((name, value)) = variable {
                environment.retain(|(other, _)| *other != name);
                environment.push((name, value));
            }
        }
        environment
    }
}

/// Standard input, if the command may have it: a terminal could be written to, and a
/// directory would be a way out of the sandbox.
pub(in crate::cli) fn input() -> Option<OwnedFd> {
    let input = io::stdin();
    let found = fstat(&input).ok()?;
    let is_input = match FileType::from_raw_mode(found.st_mode) {
        FileType::Fifo | FileType::Socket => true,
        FileType::RegularFile => {
            let flags = fcntl_getfl(&input).ok()?;
            flags & OFlags::RWMODE == OFlags::RDONLY
        }
        _ => false,
    };
    is_input.then(|| input.as_fd().try_clone_to_owned().ok())?
}
