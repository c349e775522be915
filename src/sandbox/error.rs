//! What goes wrong in a sandbox, and what a machine does not allow, with its cause and cure.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A sandbox cannot be had here as it was asked for. Nothing was run, nothing is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("no sandbox: {what}: {cause}; {cure}")]
pub struct Missing {
    /// What the machine does not give.
    pub what: Guarantee,
    /// Why.
    pub cause: String,
    /// What to do about it.
    pub cure: String,
}

/// A thing that a sandbox stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guarantee {
    /// The kernel is Linux.
    System,
    /// The workspace can hold layers, and be overlaid.
    Workspace,
    /// The program can be started again as the helper.
    Helper,
    /// A user namespace, and others in it.
    Namespaces,
    /// An overlay over the workspace.
    Overlay,
    /// Everything else read-only.
    ReadOnly,
    /// A process list, temporary files and devices of its own.
    OwnTrees,
    /// No network but a loopback.
    Network,
    /// Landlock.
    Landlock,
    /// A filter of system calls.
    Seccomp,
    /// Copies that share their bytes.
    Reflink,
}

impl Guarantee {
    /// The fixed word, as printed by `--json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Workspace => "workspace",
            Self::Helper => "helper",
            Self::Namespaces => "namespaces",
            Self::Overlay => "overlay",
            Self::ReadOnly => "read-only",
            Self::OwnTrees => "own-trees",
            Self::Network => "network",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Reflink => "reflink",
        }
    }
}

impl std::fmt::Display for Guarantee {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::System => "Linux",
            Self::Workspace => "a workspace that can be overlaid",
            Self::Helper => "a helper process",
            Self::Namespaces => "user namespaces",
            Self::Overlay => "an overlay of one's own",
            Self::ReadOnly => "a read-only rest of the system",
            Self::OwnTrees => "/proc, /tmp and /dev of its own",
            Self::Network => "a network of its own",
            Self::Landlock => "Landlock",
            Self::Seccomp => "a filter of system calls",
            Self::Reflink => "copies that share their bytes",
        })
    }
}

/// Something failed in a sandbox that had started. The workspace is untouched.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The helper is gone, and all processes of the sandbox with it.
    #[error("the sandbox's helper was killed; the workspace is untouched")]
    Lost,
    /// The command could not be started.
    #[error("the command could not be started: {0}")]
    NotStarted(#[source] io::Error),
    /// The command has no words.
    #[error("there is no command")]
    NoCommand,
    /// There is no savepoint of this name.
    #[error("there is no savepoint `{0}`")]
    NoSavepoint(String),
    /// There is one already.
    #[error("there is a savepoint `{0}` already")]
    SavepointExists(String),
    /// The sandbox is none: what is changed there is changed for good.
    #[error("without a sandbox nothing can be taken back")]
    Unguarded,
    /// The machine does not allow another layer.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// A layer could not be made, read or put in place.
    #[error("`{}`: {source}", path.display())]
    Layer {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The helper could not be talked to.
    #[error("the sandbox's helper could not be reached: {0}")]
    Talk(#[source] io::Error),
}

impl SandboxError {
    /// The code that who runs a command for somebody ends with: 126 and 127 as shells do, 125
    /// where it is not the command that failed.
    pub fn code(&self) -> u8 {
        match self {
            Self::NotStarted(error) if error.kind() == io::ErrorKind::NotFound => 127,
            Self::NotStarted(_) => 126,
            _ => 125,
        }
    }

    pub(super) fn layer(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Layer { path, source }
    }
}
