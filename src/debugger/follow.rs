//! Following a run that is still being written.
//!
//! A tape is read on from where the last reading ended. A transcript is imported again: what
//! came later may change what an earlier record meant. The file is only read.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Debugger, OpenError, OpenOptions, ReadError, Source};
use crate::tape::{self, Change, FollowState};

pub use crate::tape::Watch;

/// What a look at the file found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// Nothing new.
    Unchanged,
    /// The file is longer.
    Grew {
        /// How many events came.
        events: u32,
    },
    /// The file became shorter, or begins otherwise: what it holds now was read.
    Truncated,
    /// Another file stands there, and was read.
    Replaced,
    /// No file stands there; what was read of it stays.
    Gone,
    /// A file stands there again, and was read.
    Back,
}

/// Where a run came from, to look there again.
#[derive(Debug)]
pub(super) struct Origin {
    path: PathBuf,
    options: OpenOptions,
    sort: Sort,
    follow: FollowState,
}

/// How a file is read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// From where the last reading ended.
    Tape,
    /// From its start.
    Whole,
}

impl Origin {
    /// Remembers an open file, as it is before it is read.
    pub(super) fn of(path: &Path, file: Arc<File>, options: &OpenOptions) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            options: options.clone(),
            sort: Sort::Whole,
            follow: FollowState::new(path.to_owned(), file)?,
        })
    }

    /// The file, as it was named.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read_on_as(self, sort: Sort) -> Self {
        Self { sort, ..self }
    }
}

impl Debugger {
    /// Looks at the file again and takes in what is new. Costs the reading of that; of a
    /// transcript that grew, its import. Before all of the run was read, nothing is new.
    pub fn refresh(&mut self) -> Result<Refresh, ReadError> {
        let Some(origin) = self.origin.as_mut().filter(|_| self.is_whole) else {
            return Ok(Refresh::Unchanged);
        };
        match origin.follow.look()? {
            Change::Unchanged => Ok(Refresh::Unchanged),
            Change::Gone => Ok(Refresh::Gone),
            Change::Truncated => self.read_anew(Refresh::Truncated),
            Change::Replaced => self.read_anew(Refresh::Replaced),
            Change::Back => self.read_anew(Refresh::Back),
            Change::Grew if origin.sort == Sort::Tape => {
                let events = self.tape.extend(Arc::make_mut(&mut self.state))?;
                Ok(Refresh::Grew { events })
            }
            Change::Grew => {
                let before = self.tape.index.events.len();
                self.read_anew(Refresh::Unchanged)?;
                let events = self.tape.index.events.len().saturating_sub(before);
                Ok(Refresh::Grew { events })
            }
        }
    }

    /// Opens what stands at the path now, in the place of what was read.
    fn read_anew(&mut self, found: Refresh) -> Result<Refresh, ReadError> {
        let Some(origin) = &self.origin else {
            return Ok(Refresh::Unchanged);
        };
        let options = OpenOptions {
            awaits_content: true,
            ..origin.options.clone()
        };
        match Self::open(Source::Path(origin.path.clone()), &options) {
            Ok(run) => {
                *self = run;
                Ok(found)
            }
            // It went away between two looks: the next one says so.
            Err(OpenError::NotFound(_)) => Ok(Refresh::Unchanged),
            Err(error) => Err(ReadError::Io(io::Error::other(error.to_string()))),
        }
    }

    /// Calls `notify` whenever the file may have changed, until the watch is dropped. Of a
    /// run that came from no file there is nothing to hear.
    pub fn watch(&self, notify: Box<dyn Fn() + Send>) -> Option<Watch> {
        let origin = self.origin.as_ref()?;
        tape::Watch::start(&origin.path, notify).ok()
    }
}
