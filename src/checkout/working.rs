//! A tree on disk that becomes another by what differs between the two.
//!
//! What is written and what is not is decided as a [`Plan`](super::Plan) decides it. A step
//! from tree to tree costs what differs: nothing that stays is looked at, and a file that becomes
//! another is written over where it stands. Directories get their modes, and stay open to their
//! owner, so that what is in them can be changed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use super::beneath::{Beneath, Refusal};
use super::plan::decide;
use super::{CheckoutError, Entry, Item, OutsideLinks, Row, Skipped};
use crate::model::{Progress, TapePath, Tell, Unit};
use crate::tape::BlobSource;

/// A tree on disk.
pub struct WorkingTree {
    beneath: Beneath,
    placed: BTreeMap<TapePath, Placed>,
    links: HashSet<TapePath>,
}

struct Placed {
    entry: Entry,
    /// Why it is not on the disk.
    skipped: Option<Skipped>,
}

impl WorkingTree {
    /// An empty tree, in a directory that is empty or not there yet; the one above it is.
    pub fn new(directory: &Path) -> Result<Self, CheckoutError> {
        Ok(Self {
            beneath: Beneath::open(directory)?,
            placed: BTreeMap::new(),
            links: HashSet::new(),
        })
    }

    /// Makes these paths what is said of them; `None`: nothing. Directories are told of like
    /// files, those too that only hold others. A break of `tell` leaves the
    /// tree half changed, and so does a full disk.
    pub fn change(
        &mut self,
        changes: Vec<(TapePath, Option<Entry>)>,
        blobs: &dyn BlobSource,
        tell: &mut Tell<'_>,
    ) -> Result<(), CheckoutError> {
        let mut touched: BTreeSet<TapePath> = BTreeSet::new();
        let mut changes: BTreeMap<TapePath, Option<Entry>> = changes.into_iter().collect();
        changes.retain(|path, entry| self.is_news(path, entry.as_ref()));
        for (path, entry) in &changes {
            let is_link = entry.as_ref().is_some_and(is_link);
            if self.links.contains(path) != is_link {
                // What is below it may be written now, or must not be any more.
                touched.extend(self.below(path));
            }
            touched.insert(path.clone());
        }
        for (path, entry) in &changes {
            if entry.as_ref().is_some_and(is_link) {
                self.links.insert(path.clone());
            } else {
                self.links.remove(path);
            }
        }
        // Children stand behind what they are in.
        let mut kept = HashSet::new();
        for path in touched.iter().rev() {
            if self.take_away(path, &changes)? == Left::Kept {
                kept.insert(path.clone());
            }
        }
        for (path, entry) in changes {
            match entry {
                Some(entry) => {
                    let skipped = None;
                    self.placed.insert(path, Placed { entry, skipped });
                }
                None => {
                    self.placed.remove(&path);
                }
            }
        }
        let of = touched.len();
        for (done, path) in touched.iter().enumerate() {
            let progress = Progress {
                done: done as u64,
                of: of as u64,
                unit: Unit::Entries,
            };
            if tell(progress).is_break() {
                return Err(CheckoutError::BrokenOff { written: done, of });
            }
            self.put(path, kept.contains(path), blobs, done)?;
        }
        Ok(())
    }

    /// The entries of the workspace that are not on the disk.
    pub fn left_out(&self) -> impl Iterator<Item = Row> {
        self.placed.values().filter_map(|placed| {
            let skipped = placed.skipped.clone()?;
            let row = Row {
                path: placed.entry.path.clone(),
                certainty: placed.entry.certainty,
                skipped: Some(skipped),
            };
            (row.skipped != Some(Skipped::OutsideWorkspace)).then_some(row)
        })
    }

    /// Whether the disk has to change for what is said of a path.
    fn is_news(&self, path: &TapePath, entry: Option<&Entry>) -> bool {
        match (self.placed.get(path), entry) {
            (None, None) => false,
            (Some(placed), Some(entry)) => {
                placed.entry.item != entry.item || placed.entry.mode != entry.mode
            }
            _ => true,
        }
    }

    fn below(&self, path: &TapePath) -> Vec<TapePath> {
        let start = [path.as_bytes(), b"/"].concat();
        let Ok(first) = TapePath::new([&*start, b"\x01"].concat()) else {
            return Vec::new();
        };
        let behind = self.placed.range(first..).map(|(path, _)| path);
        let below = behind.take_while(|path| path.as_bytes().starts_with(&start));
        below.cloned().collect()
    }

    /// Takes away what has to go before a path can be what is said of it.
    fn take_away(
        &mut self,
        path: &TapePath,
        changes: &BTreeMap<TapePath, Option<Entry>>,
    ) -> Result<Left, CheckoutError> {
        let Some(placed) = self
            .placed
            .get(path)
            .filter(|placed| placed.skipped.is_none())
        else {
            return Ok(Left::Nothing);
        };
        let entry = changes.get(path).and_then(Option::as_ref);
        let stays = entry.is_some_and(|entry| {
            decide(entry, &self.links, OutsideLinks::Skip).is_none()
                && becomes(&placed.entry, entry)
        });
        if stays {
            return Ok(Left::Kept);
        }
        let is_directory = placed.entry.item == Item::Directory;
        match self.beneath.take_away(path, is_directory) {
            Ok(()) | Err(Refusal::Entry(_)) => Ok(Left::Nothing),
            Err(Refusal::Disk(source)) => Err(CheckoutError::Stopped { written: 0, source }),
        }
    }

    /// Makes a path what is said of it. Where something `is_there`, it becomes that.
    fn put(
        &mut self,
        path: &TapePath,
        is_there: bool,
        blobs: &dyn BlobSource,
        written: usize,
    ) -> Result<(), CheckoutError> {
        let Some(placed) = self.placed.get_mut(path) else {
            return Ok(());
        };
        placed.skipped = decide(&placed.entry, &self.links, OutsideLinks::Skip);
        if placed.skipped.is_some() {
            return Ok(());
        }
        let entry = &placed.entry;
        let done = match &entry.item {
            Item::Directory => self.beneath.make_open_directory(&entry.path, entry.mode),
            Item::File(Some(hash)) if is_there => match blobs.blob(hash) {
                Ok(bytes) => self.beneath.write_over(path, entry.mode, &bytes),
                Err(error) => self
                    .beneath
                    .take_away(path, false)
                    .and(Err(Refusal::Entry(Skipped::unreadable(error)))),
            },
            _ => super::plan::put(&mut self.beneath, entry, blobs),
        };
        match done {
            Ok(()) => Ok(()),
            Err(Refusal::Entry(skipped)) => {
                placed.skipped = Some(skipped);
                Ok(())
            }
            Err(Refusal::Disk(source)) => Err(CheckoutError::Stopped { written, source }),
        }
    }
}

impl std::fmt::Debug for WorkingTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkingTree").finish_non_exhaustive()
    }
}

/// What stands at a path before what is said of it is put there.
#[derive(PartialEq)]
enum Left {
    Nothing,
    /// What was there, which becomes the other.
    Kept,
}

/// Whether one entry can become another where it stands. A file whose mode is no longer known
/// cannot: it would keep the one it has.
const fn becomes(before: &Entry, after: &Entry) -> bool {
    match (&before.item, &after.item) {
        (Item::Directory, Item::Directory) => true,
        (Item::File(_), Item::File(_)) => after.mode.is_some() || before.mode.is_none(),
        _ => false,
    }
}

const fn is_link(entry: &Entry) -> bool {
    matches!(entry.item, Item::Link(_))
}

#[cfg(test)]
mod tests;
