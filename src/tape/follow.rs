//! What became of a file that is followed: did it grow, or is it another one by now?
//!
//! Only looks. Whoever follows reads on, or opens the file again; [`Watch`](super::Watch) says
//! when a look is worth it.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::seen::Seen;

/// What a look at a followed file found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing new.
    Unchanged,
    /// It is longer: read on.
    Grew,
    /// It was cut, or written anew in place: what was read is not there any more.
    Truncated,
    /// Another file stands at its path. The one that was read is still whole.
    Replaced,
    /// No file stands at its path. The one that was read is still whole.
    Gone,
    /// A file stands at the path again, after none did.
    Back,
}

/// A file that is followed, as it was when it was last looked at.
#[derive(Debug)]
pub struct FollowState {
    path: PathBuf,
    /// The open file: as long as it is open, no other file gets its number.
    file: Arc<File>,
    seen: Seen,
    is_gone: bool,
}

impl FollowState {
    /// Follows an open file. Call it before reading the file, so that nothing is missed.
    pub fn new(path: PathBuf, file: Arc<File>) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let seen = Seen::of(&file, &metadata, metadata.len())?;
        Ok(Self {
            path,
            file,
            seen,
            is_gone: false,
        })
    }

    /// Looks at the file. After [`Truncated`](Change::Truncated), [`Replaced`](Change::Replaced)
    /// and [`Back`](Change::Back) it is to be opened and followed anew.
    pub fn look(&mut self) -> io::Result<Change> {
        let there = match std::fs::metadata(&self.path) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let was_gone = std::mem::replace(&mut self.is_gone, true);
                return Ok(if was_gone {
                    Change::Unchanged
                } else {
                    Change::Gone
                });
            }
            Err(error) => return Err(error),
        };
        if std::mem::take(&mut self.is_gone) {
            return Ok(Change::Back);
        }
        let open = self.file.metadata()?;
        if (there.dev(), there.ino()) != (open.dev(), open.ino()) {
            return Ok(Change::Replaced);
        }
        self.look_inside(&open)
    }

    fn look_inside(&mut self, now: &Metadata) -> io::Result<Change> {
        let before = self.seen;
        if now.len() < before.len {
            return Ok(Change::Truncated);
        }
        if before.is_unchanged(now) {
            return Ok(Change::Unchanged);
        }
        // Cut and written again between two looks, it may be longer than before.
        if Seen::of(&self.file, now, before.len)?.ends != before.ends {
            return Ok(Change::Truncated);
        }
        self.seen = Seen::of(&self.file, now, now.len())?;
        Ok(if now.len() == before.len {
            Change::Unchanged
        } else {
            Change::Grew
        })
    }
}
