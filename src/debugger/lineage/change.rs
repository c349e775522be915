//! What a person may do to a fork as a whole: call it so, give its file another name, delete it.
//!
//! No file is written over, and none is touched that is not the tape of a fork.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::known::{FILE, Known};
use crate::debugger::Debugger;

/// Something cannot be done with a fork. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum LineageError {
    /// The run is no fork.
    #[error("{0} is no fork; only forks are renamed and deleted here")]
    NotAFork(String),
    /// It comes from no file of its own.
    #[error("{0} is in no file of its own")]
    NoFile(String),
    /// Other forks share its events.
    #[error("{name} has forks, which share its events: {}", forks.join(", "))]
    HasForks {
        /// The run.
        name: String,
        /// Its forks.
        forks: Vec<String>,
    },
    /// A file cannot be called so.
    #[error("`{0}` is no name for a file: it has to be one word or more without `/`")]
    NoName(String),
    /// There is a file of that name.
    #[error("there is a file {0}, which is not written over")]
    Taken(String),
    /// Nobody knows where to keep a name.
    #[error("there is no state directory to keep a name in")]
    NoState,
    /// A file could not be changed.
    #[error("{0}: {1}")]
    Io(String, io::Error),
}

/// The end of a tape's name.
const EXTENSION: &str = "jsonl";

impl Debugger {
    /// Calls the run so in the tree of forks; without words, what was changed says it again.
    pub fn call_fork(&self, name: &str) -> Result<(), LineageError> {
        if self.places.state.is_none() {
            return Err(LineageError::NoState);
        }
        let path = self.tape_file();
        let path = path.ok_or_else(|| LineageError::NoFile(self.name.clone()))?;
        let known = Known {
            name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            ..Known::of(&self.header, self.places.lasting(path))
        };
        let id = self.header.id.clone();
        let changed = self.places.change_known(|tapes| {
            tapes.insert(id, known);
        });
        changed.map_err(|error| LineageError::Io(FILE.to_owned(), error))
    }

    /// Gives the fork's tape another name in its directory, and gives the path back that it has
    /// then. Its forks find it there.
    pub fn rename_fork(&self, name: &str) -> Result<PathBuf, LineageError> {
        let path = self.fork_file()?;
        let mut file = PathBuf::from(file_name(name)?);
        if file.extension().is_none_or(|end| end != EXTENSION) {
            file.as_mut_os_string().push(format!(".{EXTENSION}"));
        }
        let renamed = path.with_file_name(file);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => LineageError::Taken(renamed.display().to_string()),
            _ => LineageError::Io(path.display().to_string(), error),
        };
        rename_to_free(path, &renamed).map_err(failed)?;
        let (before, lasting) = (self.places.lasting(path), self.places.lasting(&renamed));
        // Without these it is found by whoever looks beside it.
        let _ = self.places.note_renamed(&before, &lasting);
        let _ = self.places.change_known(|tapes| {
            let name = tapes.get(&self.header.id).and_then(|it| it.name.clone());
            let known = Known::of(&self.header, lasting);
            tapes.insert(self.header.id.clone(), Known { name, ..known });
        });
        Ok(renamed)
    }

    /// Deletes the fork's tape. Refused of what is no fork, and of one that has forks itself.
    pub fn delete_fork(&self) -> Result<PathBuf, LineageError> {
        let path = self.fork_file()?;
        let rows = self.forks();
        let this = rows.iter().position(|row| row.is_this);
        let below = this.and_then(|this| Some((rows.get(this)?.depth, rows.get(this + 1..)?)));
        let forks: Vec<String> = below.map_or_else(Vec::new, |(depth, rows)| {
            let below = rows.iter().take_while(|row| row.depth > depth);
            let there = below.filter(|row| row.is_there());
            let paths = there.filter_map(|row| row.path.as_ref());
            paths.map(|path| path.display().to_string()).collect()
        });
        if !forks.is_empty() {
            let name = self.name.clone();
            return Err(LineageError::HasForks { name, forks });
        }
        let failed = |error| LineageError::Io(path.display().to_string(), error);
        fs::remove_file(path).map_err(failed)?;
        // A name that is left of it does no harm.
        let _ = self.places.change_known(|tapes| {
            tapes.remove(&self.header.id);
        });
        Ok(path.to_owned())
    }

    /// The file of the run, which is that of a fork.
    fn fork_file(&self) -> Result<&Path, LineageError> {
        if self.header.parent.is_none() {
            return Err(LineageError::NotAFork(self.name.clone()));
        }
        let path = self.tape_file();
        path.ok_or_else(|| LineageError::NoFile(self.name.clone()))
    }
}

/// What a person typed, if a file can be called so.
fn file_name(name: &str) -> Result<&str, LineageError> {
    let name = name.trim();
    let is_one = !matches!(name, "" | "." | "..")
        && !name.contains('/')
        && !name.chars().any(char::is_control);
    if is_one {
        Ok(name)
    } else {
        Err(LineageError::NoName(name.escape_debug().to_string()))
    }
}

/// Renames a file, unless there is one of the other name.
fn rename_to_free(path: &Path, renamed: &Path) -> io::Result<()> {
    match renameat_with(CWD, path, CWD, renamed, RenameFlags::NOREPLACE) {
        // Not every file system can do that in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            fs::hard_link(path, renamed)?;
            fs::remove_file(path)
        }
        renamed => Ok(renamed?),
    }
}
