//! What the calls of a transaction make of each path: a change set, laid over what was there.
//!
//! A change set says that a directory is gone or was replaced; here every path below it says
//! so itself. Pure, but for a look at each file of the layers.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::base::Base;
use super::fs::Time;
use crate::model::TapePath;
use crate::sandbox::{Below, Change, ChangeSet};

/// What each path that the calls touched is now, by path.
pub(super) type Outcomes = BTreeMap<TapePath, Outcome>;

/// What a path is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Absent,
    File(Written),
    Directory { mode: u32 },
    Link(Vec<u8>),
}

/// A file in a layer. Two that are equal hold the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) content: PathBuf,
    pub(super) mode: u32,
    pub(super) len: u64,
    pub(super) mtime: Time,
    inode: u64,
    /// When anything about the file last changed.
    changed: (i64, i64),
}

impl Written {
    /// The same, but equal to no file that is found: what was read of it may be half of what
    /// somebody was writing.
    pub(super) fn unsure(self) -> Self {
        Self { inode: 0, ..self }
    }

    #[cfg(test)]
    pub(super) fn sample(len: u64) -> Self {
        Self {
            content: "a".into(),
            mode: 0o644,
            len,
            mtime: (0, 0),
            inode: 1,
            changed: (0, 0),
        }
    }
}

/// Lays a change set over what was there.
pub(super) fn outcomes(set: &ChangeSet, base: &Base) -> Outcomes {
    let mut outcomes = Outcomes::new();
    for (path, change) in &set.changes {
        let stands_alone = !matches!(
            change,
            Change::Directory {
                below: Below::Kept,
                ..
            }
        );
        if stands_alone {
            // What is there all the same comes later: it sorts behind.
            let below = base.below(path).cloned();
            outcomes.extend(below.map(|path| (path, Outcome::Absent)));
        }
        let outcome = match change {
            Change::Deleted if base.holds(path) => Outcome::Absent,
            Change::Deleted => continue,
            Change::Directory { mode, .. } => Outcome::Directory { mode: *mode },
            Change::Link(target) => Outcome::Link(target.clone()),
            Change::File {
                mode,
                len,
                mtime,
                content,
            } => {
                // Below a directory that is closed to its own owner, the rest has to do.
                let found = fs::symlink_metadata(content).ok();
                let changed = |found: &fs::Metadata| (found.ctime(), found.ctime_nsec());
                Outcome::File(Written {
                    content: content.clone(),
                    mode: *mode,
                    len: *len,
                    mtime: *mtime,
                    inode: found.as_ref().map_or(0, MetadataExt::ino),
                    changed: found.as_ref().map_or((0, 0), changed),
                })
            }
        };
        outcomes.insert(path.clone(), outcome);
    }
    outcomes
}
