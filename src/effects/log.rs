//! Where effects are recorded, and read again.

use std::io;

use crate::model::{Event, Seq};
use crate::tape::{RecordError, Recorder};

/// A tape that is being written.
pub trait Log {
    /// Records an event.
    fn append(&mut self, event: Event) -> Result<Seq, RecordError>;

    /// Records an event that something depends on: it is on disk, or this fails.
    fn promise(&mut self, event: Event) -> Result<Seq, RecordError>;

    /// An event that was recorded.
    fn event(&self, seq: Seq) -> io::Result<Event>;
}

impl Log for Recorder {
    fn append(&mut self, event: Event) -> Result<Seq, RecordError> {
        Self::append(self, event)
    }

    fn promise(&mut self, event: Event) -> Result<Seq, RecordError> {
        Self::promise(self, event)
    }

    fn event(&self, seq: Seq) -> io::Result<Event> {
        Self::event(self, seq)
    }
}
