//! How a recorder works, and why it could not.

use std::io;
use std::path::PathBuf;

use crate::tape::redaction::Redacting;

/// How a recorder works. The defaults are those of a recorder that a run depends on.
#[derive(Clone, Debug, Default)]
pub struct RecorderOptions {
    /// When events are on disk.
    pub sync: SyncPolicy,
    /// What happens when an event cannot be written.
    pub on_failure: OnFailure,
    /// Whether the recorder writes snapshots of its own accord.
    pub snapshots: SnapshotPolicy,
    /// The time of an event that says none.
    pub untimed: Untimed,
    /// What is taken out of events before they are written. `None`: nothing.
    pub redacting: Option<Redacting>,
}

/// When events are on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// What promises something to the outside before [`append`](super::Recorder::append)
    /// returns: transaction edges, effects, model responses. The rest within 100 ms.
    #[default]
    Effects,
    /// Every event before `append` returns.
    Always,
    /// When the system likes.
    None,
}

/// What happens when an event cannot be written, because the disk is full, say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// `append` fails, and so does every one after it.
    #[default]
    Stop,
    /// The run goes on. What is lost is counted; a `gap` says so as soon as anything can be
    /// written, and [`close`](super::Recorder::close) fails in the end.
    Continue,
}

/// Whether the recorder writes snapshots of its own accord.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SnapshotPolicy {
    /// At the start, at the end, after a gap, and by the budget of §7 of the format.
    #[default]
    Budget,
    /// Only when asked.
    Never,
}

/// The time of an event that says none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Untimed {
    /// When it is recorded: the run goes on while its tape is written.
    #[default]
    Now,
    /// That of the event before: the run is over, and equal events give equal bytes.
    AsBefore,
}

/// Why something could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is a file already.
    #[error("{0} exists; a new tape is never written over a file")]
    Exists(PathBuf),
    /// Somebody else writes this tape.
    #[error("{path} is being written by {writer}; a tape has one writer at a time")]
    Locked {
        /// The tape.
        path: PathBuf,
        /// The other one, as well as it is known.
        writer: String,
    },
    /// The file cannot be opened.
    #[error("{path} cannot be opened for recording: {source}")]
    Open {
        /// The tape.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file does not begin as a tape does.
    #[error("{0} is no tape to go on with: its first line is no header")]
    NotATape(PathBuf),
    /// The event could not be written. The tape is as it was before.
    #[error("the event was not recorded ({0}); the tape holds all events before it")]
    Write(#[source] io::Error),
    /// An earlier event could not be written, and the recorder was told to stop then.
    #[error("recording has stopped ({0}); the tape holds all events before that")]
    Stopped(String),
    /// A snapshot was asked for between a call and its result, or inside a transaction.
    #[error("a snapshot is not taken between a call and its result, nor inside a transaction")]
    MidCall,
    /// A snapshot was asked for on a fork's tape, which does not hold the whole tree.
    #[error("a fork's tape does not hold the whole tree, so it holds no snapshots")]
    Fork,
    /// Events were lost on the way.
    #[error("{count} events were lost: {why}")]
    Lost {
        /// How many.
        count: u64,
        /// Why.
        why: String,
    },
}
