//! A running agent that tells of itself: Claude Code's hooks become a tape while it works.
//!
//! ```text
//! hook process ─ record ─► socket ─► recorder of the session ─► tape
//!        └─ not reached ─► spool ────────┘      ├─ watches the workspace around each call
//!                                               └─ reads the model's turns from the transcript
//! ```
//!
//! A hook process is short and may run beside others. One recorder a session owns the tape:
//! the first hook starts it, a lock settles who is first, and it ends with the session or
//! after idling. A hook waits until its record is on the tape, and with it what changed in the
//! workspace. A record that cannot be handed over is spooled, and the next recorder of the
//! session takes it in; each record has an id, so that none is taken twice.
//!
//! What is told of a session:
//!
//! * Every call and its result, with the changes between them; a prompt; the edges of
//!   sub-agents. Other records are kept as `raw`. The fields that nothing of this says stand
//!   in the event's `hook`.
//! * The model's turns, as the transcript has them: they are read on at each record, so that
//!   a turn stands before the calls that it asked for. A call waits a moment for its turn. One
//!   that the transcript shows later is appended later: its blocks name the calls by the ids
//!   that the calls have, and `hook.record` names the record. An answer comes in parts that
//!   share their `call`, as the format allows.
//! * A call of which no result was told by the end of the agent's turn is given the one of the
//!   transcript, or else one with the outcome `none`.
//! * What happened while no recorder ran is found by comparing the workspace with the tape. It
//!   is theirs who had a call open then.
//!
//! Of the user's files only the transcript and the workspace are read, and nothing in them is
//! written. Nothing is sent anywhere but through a socket that is the user's alone. Nothing
//! here starts a process: that is the shell's.

mod agents;
mod delivery;
mod door;
mod events;
mod neighbours;
mod resume;
mod run;
mod serve;
mod settings;
mod spool;
mod turns;

use std::path::PathBuf;

pub use delivery::{Delivery, deliver};
pub use door::{Door, Recorders};
pub use serve::{Finished, Inbox, Stop, serve};
pub use settings::{Edit, EditError, Installed, install, installed, uninstall};
pub use spool::Spool;

/// Where the hooks of a user meet, and where their tapes are kept.
#[derive(Clone, Debug, Default)]
pub struct HookPlaces {
    /// Directories for sockets and locks: the first that is the user's alone is taken.
    pub runtime: Vec<PathBuf>,
    /// The directory of the spools.
    pub spools: PathBuf,
    /// The directory of the tapes.
    pub tapes: PathBuf,
    /// The user's home directory, which is too much to be watched.
    pub home: Option<PathBuf>,
}

/// The name of a session in file names: its id may be anything.
fn key_of(session: &str) -> String {
    let hash = blake3::hash(session.as_bytes()).to_hex();
    hash.chars().take(16).collect()
}
