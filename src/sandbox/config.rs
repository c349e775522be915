//! What a sandbox is asked for: where, how guarded, and which commands. Plain types.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::policy::Policy;

/// What a sandbox is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The directory that commands see and change without touching it.
    pub workspace: PathBuf,
    /// Where commands see it, which need not be there outside; `None`: at its own path. With
    /// [`Backend::Overlay`] only.
    pub seen_at: Option<PathBuf>,
    /// The `jukebox` program, which is started again as the helper.
    pub helper: PathBuf,
    /// What keeps commands from the workspace.
    pub backend: Backend,
    /// An existing directory, below which a new one will hold the layers. `None`:
    /// `.jukebox/sandboxes` in the workspace.
    pub layers: Option<PathBuf>,
    /// What is hidden and limited.
    pub policy: Policy,
}

/// What keeps the commands of a sandbox from the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Namespaces, and an overlay over the workspace's own path.
    Overlay,
    /// A full copy elsewhere, Landlock and seccomp. Paths differ; there are no sockets but
    /// pairs, and what others keep in readable files can be read.
    Copy,
    /// Nothing: commands run in the workspace itself, and there is no change set.
    Unguarded,
}

impl Backend {
    /// The fixed word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overlay => "overlay",
            Self::Copy => "copy",
            Self::Unguarded => "none",
        }
    }
}

/// A command to run in a sandbox.
#[derive(Debug)]
pub struct Command {
    /// The program, looked up in the `PATH` of the environment below, and its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs: an absolute path, or one below the workspace.
    pub directory: PathBuf,
    /// Its whole environment; [`allowed_environment`](super::allowed_environment) makes one.
    pub environment: Vec<(OsString, OsString)>,
    /// What it reads; `None`: nothing.
    pub input: Option<OwnedFd>,
    /// After this long its group is asked to end, and killed soon after.
    pub timeout: Option<Duration>,
    /// Bytes of each stream that are handed on; the rest is counted.
    pub capture: u64,
}

impl Command {
    /// Bytes of each stream that are handed on where nobody says otherwise.
    pub const CAPTURE: u64 = 16 << 20;

    /// A command in the workspace, with no time limit.
    pub fn new(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self {
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: PathBuf::new(),
            environment: Vec::new(),
            input: None,
            timeout: None,
            capture: Self::CAPTURE,
        }
    }
}

/// What a command says while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'a> {
    /// Some bytes of a stream.
    Bytes(Stream, &'a [u8]),
    /// Nothing for a while: the moment to ask for its end.
    Nothing,
}

/// One of the two streams that a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// By itself or by which signal.
    pub status: Status,
    /// Who wanted it.
    pub cause: Cause,
    /// From its start to its end.
    pub duration: Duration,
    /// Of standard output.
    pub output: Captured,
    /// Of standard error.
    pub error: Captured,
}

/// The status that a process ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// With this code.
    Code(u8),
    /// By this signal.
    Signal(i32),
}

impl Status {
    /// The code that a shell gives for it.
    pub fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }
}

/// Why a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// It came to its end.
    Itself,
    /// Its time was up.
    Timeout,
    /// The caller asked for it.
    Asked,
}

/// How much a stream held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Bytes handed on.
    pub kept: u64,
    /// Bytes after them, which were only counted.
    pub dropped: u64,
}
