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

/// What a look at the file led to.
#[derive(Debug)]
pub enum Look {
    /// This was found, and what is new was taken in.
    Found(Refresh),
    /// What stands there has to be read from its start.
    Anew(Box<Anew>),
}

/// A file that has to be read from its start. That costs as much as opening it did, and needs
/// nothing of the run that is open.
#[derive(Debug)]
pub struct Anew {
    path: PathBuf,
    options: OpenOptions,
    found: Change,
}

impl Anew {
    /// Opens what stands there now; `None` where nothing does: the next look says so.
    pub fn open(&self) -> Result<Option<Debugger>, ReadError> {
        match Debugger::open(Source::Path(self.path.clone()), &self.options) {
            Ok(run) => Ok(Some(run)),
            Err(OpenError::NotFound(_)) => Ok(None),
            Err(error) => Err(ReadError::Io(io::Error::other(error.to_string()))),
        }
    }
}

/// Where a run came from, to look there again.
#[derive(Debug)]
pub(super) struct Origin {
    path: PathBuf,
    options: OpenOptions,
    sort: Sort,
    follow: FollowState,
}

impl Origin {
    /// The file, if it is a tape itself.
    pub(super) fn tape(&self) -> Option<&Path> {
        (self.sort == Sort::Tape).then_some(&self.path)
    }
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
        match self.look()? {
            Look::Found(found) => Ok(found),
            Look::Anew(anew) => Ok(match anew.open()? {
                Some(run) => self.replace(&anew, run),
                None => Refresh::Unchanged,
            }),
        }
    }

    /// Looks at the file again, and takes in what is new where that was appended to a tape.
    /// What has to be read from its start is left to whoever asks: nobody needs to wait for
    /// it who looks something up.
    pub fn look(&mut self) -> Result<Look, ReadError> {
        let Some(origin) = self.origin.as_mut().filter(|_| self.is_whole) else {
            return Ok(Look::Found(Refresh::Unchanged));
        };
        let found = origin.follow.look()?;
        Ok(match found {
            Change::Unchanged => Look::Found(Refresh::Unchanged),
            Change::Gone => Look::Found(Refresh::Gone),
            Change::Grew if origin.sort == Sort::Tape => {
                let events = self.tape.extend(Arc::make_mut(&mut self.state))?;
                Look::Found(Refresh::Grew { events })
            }
            Change::Grew | Change::Truncated | Change::Replaced | Change::Back => {
                let options = OpenOptions {
                    awaits_content: true,
                    ..origin.options.clone()
                };
                let path = origin.path.clone();
                Look::Anew(Box::new(Anew {
                    path,
                    options,
                    found,
                }))
            }
        })
    }

    /// Puts what was read anew in the place of what was read before, and says what that is.
    pub fn replace(&mut self, anew: &Anew, run: Self) -> Refresh {
        let before = self.tape.index.events.len();
        *self = run;
        let events = self.tape.index.events.len().saturating_sub(before);
        match anew.found {
            Change::Truncated => Refresh::Truncated,
            Change::Replaced => Refresh::Replaced,
            Change::Back => Refresh::Back,
            Change::Grew => Refresh::Grew { events },
            Change::Unchanged | Change::Gone => Refresh::Unchanged,
        }
    }

    /// Calls `notify` whenever the file may have changed, until the watch is dropped. Of a
    /// run that came from no file there is nothing to hear.
    pub fn watch(&self, notify: Box<dyn Fn() + Send>) -> Option<Watch> {
        let origin = self.origin.as_ref()?;
        tape::Watch::start(&origin.path, notify).ok()
    }
}
