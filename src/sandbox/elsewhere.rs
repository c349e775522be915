//! Where there is no sandbox, since it stands on what only Linux has. Says so, and does
//! nothing.

use std::convert::Infallible;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::change_set::ChangeSet;
use super::config::{Backend, Command, Config, Exit, Said};
use super::error::{Guarantee, Missing, SandboxError};
use super::{Facts, Finding, Probe, Tested};

/// A guarded view of a workspace. There is none on this system.
#[derive(Debug)]
pub struct Sandbox(Infallible);

impl Sandbox {
    /// Says that there is none.
    pub fn start(_: &Config) -> Result<Self, Missing> {
        Err(missing())
    }

    /// How it is guarded.
    pub fn facts(&self) -> Facts {
        match self.0 {}
    }

    /// What keeps commands from the workspace.
    pub fn backend(&self) -> Backend {
        match self.0 {}
    }

    /// Where commands see the workspace.
    pub fn seen_at(&self) -> &Path {
        match self.0 {}
    }

    /// Where the layers lie.
    pub fn layers(&self) -> &Path {
        match self.0 {}
    }

    /// The process with whose end all others of the sandbox end.
    pub fn process(&self) -> u32 {
        match self.0 {}
    }

    /// Runs a command to its end.
    pub fn exec(
        &mut self,
        _: &Command,
        _: &mut dyn FnMut(Said<'_>) -> ControlFlow<()>,
    ) -> Result<Exit, SandboxError> {
        match self.0 {}
    }

    /// The same, with looks at what the commands changed so far.
    pub fn exec_watched(
        &mut self,
        _: &Command,
        _: Option<std::os::fd::BorrowedFd<'_>>,
        _: &mut dyn FnMut(Said<'_>, Changes<'_>) -> ControlFlow<()>,
    ) -> Result<Exit, SandboxError> {
        match self.0 {}
    }

    /// Whether a command left somebody running.
    pub fn is_anybody_left(&self) -> bool {
        match self.0 {}
    }

    /// Shows the workspace as it is by now.
    pub fn show_anew(&mut self) -> Result<(), SandboxError> {
        match self.0 {}
    }

    /// A socket that commands reach at the loopback.
    pub fn listen(&mut self) -> Result<std::os::fd::OwnedFd, SandboxError> {
        match self.0 {}
    }

    /// Kills every process of the sandbox.
    pub fn stop(&mut self) -> Result<(), SandboxError> {
        match self.0 {}
    }

    /// Remembers what the workspace is, under a name.
    pub fn savepoint(&mut self, _: &str) -> Result<(), SandboxError> {
        match self.0 {}
    }

    /// The savepoints that can be gone back to.
    pub fn savepoints(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    /// Makes the workspace what it was at a savepoint.
    pub fn roll_back_to(&mut self, _: &str) -> Result<(), SandboxError> {
        match self.0 {}
    }

    /// What the commands changed so far.
    pub fn change_set(&self) -> Result<ChangeSet, SandboxError> {
        match self.0 {}
    }

    /// What the commands changed, to be looked at.
    pub fn changes(&self) -> Changes<'_> {
        match self.0 {}
    }

    /// Ends all processes and leaves the layers on disk.
    pub fn abandon(self) -> PathBuf {
        match self.0 {}
    }
}

/// What the commands of a sandbox changed. There are none on this system.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a>(&'a Infallible);

impl Changes<'_> {
    /// What they changed so far.
    pub fn read(&self) -> Result<ChangeSet, SandboxError> {
        match *self.0 {}
    }

    /// What changed since a look.
    pub fn since(&self, _: &mut Sweep) -> Result<Since, SandboxError> {
        match *self.0 {}
    }
}

/// What was found when the layers were last looked at. There are none on this system.
#[derive(Debug, Default)]
pub struct Sweep;

impl Sweep {
    /// Nothing was.
    pub fn told(&mut self) {}
}

/// There is no socket to keep.
pub(crate) fn keep_only_socket() -> io::Result<std::os::fd::OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The layers of a sandbox that nobody owns any more. There are none on this system.
#[derive(Debug)]
pub struct Abandoned(Infallible);

impl Abandoned {
    /// None.
    pub fn find(_: &Path) -> io::Result<Vec<Self>> {
        Ok(Vec::new())
    }

    /// Where the layers lie.
    pub fn path(&self) -> &Path {
        match self.0 {}
    }

    /// What its commands changed in the workspace.
    pub fn change_set(&self, _: &Path) -> Result<ChangeSet, SandboxError> {
        match self.0 {}
    }

    /// Throws it away.
    pub fn remove(self) -> io::Result<()> {
        match self.0 {}
    }
}

/// Does nothing.
pub fn serve() -> u8 {
    2
}

/// Says that there is no sandbox.
pub fn probe(_: &Path, _: &Path) -> io::Result<Probe> {
    let Missing { what, cause, cure } = missing();
    let verdict = Tested::Missing {
        cause,
        cure,
        is_needed: true,
    };
    Ok(Probe {
        backend: None,
        findings: vec![Finding { what, verdict }],
    })
}

fn missing() -> Missing {
    Missing {
        what: Guarantee::System,
        cause: "the sandbox stands on what only Linux has".to_owned(),
        cure: "run it on Linux, or in a virtual machine with one".to_owned(),
    }
}
