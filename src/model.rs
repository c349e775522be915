//! The vocabulary of Jukebox: plain types that every other layer speaks.
//!
//! A *run* is recorded on a *tape*: a header and events, numbered by [`Seq`].
//! Events group into *steps*; the cursor of the screen is a `Seq`. What a file
//! held at a cursor is known with some [`Certainty`]. What could not be read is
//! a [`Problem`], never the end of the story.
//!
//! Nothing here does I/O, reads a clock, knows a JSON field name of the tape,
//! or knows that a terminal exists.

mod certainty;
mod effect;
mod entry;
mod event;
mod exchange;
mod fork;
mod hash;
mod ids;
mod kind;
mod outcome;
mod path;
mod place;
mod problem;
mod progress;
mod step;
mod stream;
mod time;

pub use certainty::Certainty;
pub use effect::{
    EffectClass, EffectCompensation, EffectEvent, EffectIntent, EffectRequest, EffectResult,
};
pub use entry::{ChangeKind, EntryKind};
pub use event::{
    BlockKind, Body, Content, Event, FileChange, FileOp, Head, Header, KnownLines, ModelBlock,
    Scope, SnapshotReason, Usage,
};
pub use exchange::HttpFrame;
pub use fork::{Edit, EditOf, Parent, Via};
pub use hash::{BlobHash, LineHash, ParseHashError};
pub use ids::{Cursor, Seq, StepNumber};
pub use kind::Kind;
pub use outcome::Outcome;
pub use path::{PathError, STATE_DIRECTORY, TapePath};
pub use place::{Place, PlaceError, Target};
pub use problem::{Problem, ProblemKind};
pub use progress::{Progress, Tell, Unit};
pub use step::StepKind;
pub use stream::{Frame, FrameSide, JSON_FRAMES, StreamFrame};
pub use time::{Micros, WallTime};
