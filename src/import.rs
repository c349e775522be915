//! Foreign transcripts become tapes.
//!
//! [`sniff`](fn@sniff) says what a file is, one module a format reads it. An importer is total: it
//! gives events for all that can be read, and a [`Report`] of what could not, what was
//! guessed and what is not understood. A bad line is a row in that report, never the end.
//!
//! Nothing here runs anything, asks the network, or looks for files that nobody named: an
//! importer reads the transcript, what lies beside it by the format's own layout, and the
//! directories that its options name. Nothing here writes, either: events go to an
//! [`EventSink`], which is a recorder, or a list.

pub mod base;
pub mod claude_code;
mod lines;
mod report;
mod sink;
mod sniff;

pub use report::{EditCounts, Progress, Report};
pub use sink::{Collected, EventSink};
pub use sniff::{Format, sniff};
