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

/// What became of paths: what each is now, or that the calls make nothing of it any more.
pub(super) type News = BTreeMap<TapePath, Option<Outcome>>;

/// What a path is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Absent,
    File(Written),
    Directory { mode: u32 },
    Link(Vec<u8>),
}

/// A file in a layer. Two that are equal hold the same bytes, as far as a stat tells.
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
    /// When anything about the file last changed: seconds since 1970, and nanoseconds.
    pub(super) fn changed(&self) -> Time {
        (self.changed.0, u32::try_from(self.changed.1).unwrap_or(0))
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
        if let Some(outcome) = outcome(path, change, base) {
            outcomes.insert(path.clone(), outcome);
        }
    }
    outcomes
}

/// What a change of a path makes of it.
fn outcome(path: &TapePath, change: &Change, base: &Base) -> Option<Outcome> {
    Some(match change {
        Change::Deleted if base.holds(path) => Outcome::Absent,
        Change::Deleted => return None,
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
    })
}

/// What became of single paths. `None`: it reaches further than them.
pub(super) fn news_of(paths: &[(TapePath, Option<Change>)], base: &Base) -> Option<News> {
    let mut news = News::new();
    for (path, change) in paths {
        let is_merged = matches!(
            change,
            Some(Change::Directory {
                below: Below::Kept,
                ..
            })
        );
        // What was below a directory went or came with it; what a path was may show again.
        let reaches_below = !is_merged && base.below(path).next().is_some();
        if reaches_below || (change.is_none() && base.holds(path)) {
            return None;
        }
        let outcome = change
            .as_ref()
            .and_then(|change| outcome(path, change, base));
        news.insert(path.clone(), outcome);
    }
    Some(news)
}

/// What became of all paths between two moments.
pub(super) fn news_between(before: &Outcomes, now: Outcomes) -> News {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let mut news: News = gone.map(|path| (path.clone(), None)).collect();
    let came = now
        .into_iter()
        .filter(|(path, outcome)| before.get(path) != Some(outcome));
    news.extend(came.map(|(path, outcome)| (path, Some(outcome))));
    news
}
