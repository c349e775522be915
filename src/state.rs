//! The state: what the files of a run were at any event, looked up and never replayed.
//!
//! While a tape is indexed, every file event adds an entry to the list of its path (the
//! *version table*). A path's content at a cursor is a binary search in that list, a
//! directory a search per child, a difference between two cursors the entries between
//! them. Nothing is cached, and memory is some twenty bytes an entry.
//!
//! How well a file is known is derived at lookup ([`Certainty`](crate::model::Certainty)).
//! No I/O and no clock: the same events give an equal state.

mod apply;
mod below;
mod changes;
mod cut;
mod entry;
mod files;
mod keep;
mod lists;
mod log;
mod lookup;
mod paths;
mod snapshot;
mod table;
mod tree;

pub use changes::Change;
pub use entry::{ContentRef, FileState};
pub use paths::{PathId, PathTable, Spelling};
pub use table::State;
pub use tree::Child;
