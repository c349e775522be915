//! The sandbox: commands run in a guarded view of a workspace, and nothing they do reaches it.
//!
//! A [`Sandbox`] owns a helper process, which owns everything else. With the
//! [`Backend::Overlay`] commands see the whole system read-only, the workspace under an
//! overlay at its own path, a home directory whose changes are thrown away, temporary
//! directories and devices of their own, and no network but a loopback. What they write is a
//! layer on disk: [`Sandbox::change_set`] reads it. A savepoint is a new layer.
//!
//! It guards against accidents and ordinary misbehaviour, not against faults of the kernel.
//!
//! # What commands cannot do
//!
//! * change a file outside the workspace, except in layers that are thrown away;
//! * reach another machine, or a socket of this one: those with a path are covered when the
//!   sandbox starts, all others belong to a network of their own;
//! * see, signal or trace a process outside, or outlive the sandbox, whoever their parent is;
//! * read the places of secrets that the [`Policy`] names, or an environment that the caller
//!   did not hand over;
//! * gain rights, mount, make namespaces, or use the calls that a filter forbids.
//!
//! Nothing here writes into the workspace but below its `.jukebox`, reads the environment, or
//! silently does with less: what the machine does not give is a [`Missing`].
//!
//! # Limits
//!
//! * What others write to a file of the workspace that no command has changed yet shows
//!   through at once.
//! * A changed file is copied whole, at the first change. One name of a hard link that is
//!   written parts from the others.
//! * Renaming a directory of the workspace fails with `EXDEV`: `mv` copies instead, and some
//!   programs do not know how.
//! * Giving a file to somebody else fails, unless root runs the sandbox. Owners belong to no
//!   change set.
//! * A socket with a path that is made outside after the sandbox started, and not below the
//!   workspace, the home directory or a temporary one, can be reached.
//! * Without Landlock, a FIFO of the host can be written by who may write it outside.
//! * A home directory with mounts in it stays read-only; a workspace with mounts in it is
//!   refused.
//! * 32-bit programs are killed by the filter of system calls.
//! * The mode and the times of the workspace directory itself are not in a change set.

mod change_set;
mod config;
mod error;
mod finding;
mod policy;

#[cfg(target_os = "linux")]
mod abandoned;
#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod copy;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod layers;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod places;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod refusal;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod sweep;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(target_os = "linux")]
pub use abandoned::Abandoned;
pub use change_set::{Below, Change, ChangeSet, Since, is_fresh, is_gone, open};
pub use config::{Backend, Captured, Cause, Command, Config, Exit, Said, Status, Stream};
#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::keep_only_socket;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Abandoned, Changes, Sandbox, Sweep, probe, serve};
pub use error::{Guarantee, Missing, SandboxError};
pub use finding::{Facts, Finding, Probe, Tested};
#[cfg(target_os = "linux")]
pub(crate) use helper::keep_only_socket;
#[cfg(target_os = "linux")]
pub use helper::serve;
#[cfg(target_os = "linux")]
pub use layers::sandboxes_of;
pub use policy::{Limits, Policy, allowed_environment};
#[cfg(target_os = "linux")]
pub use probe::probe;
#[cfg(target_os = "linux")]
pub use session::{Changes, Sandbox};
#[cfg(target_os = "linux")]
pub use sweep::Sweep;

/// The word that makes the program the helper.
pub const HELPER_VERB: &str = "__sandbox";
