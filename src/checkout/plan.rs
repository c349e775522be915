//! What will be written and what will not, decided from the whole tree beforehand.
//!
//! A plan does not depend on the order of its entries, and touches no disk before
//! [`Plan::write`].

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

use super::beneath::{Beneath, Refusal};
use super::{CheckoutError, Entry, Item, OutsideLinks, Report, Row, Skipped};
use crate::model::{Progress, TapePath, Tell, Unit};
use crate::tape::BlobSource;

/// A tree to be written, with what is left out of it.
#[derive(Clone, Debug)]
pub struct Plan {
    entries: Vec<(Entry, Option<Skipped>)>,
}

impl Plan {
    /// Decides about these entries, which may stand in any order.
    pub fn new(entries: Vec<Entry>, links: OutsideLinks) -> Self {
        let linked: HashSet<TapePath> = entries
            .iter()
            .filter(|entry| matches!(entry.item, Item::Link(_)))
            .map(|entry| entry.path.clone())
            .collect();
        let decided = entries.into_iter().map(|entry| {
            let skipped = decide(&entry, &linked, links);
            (entry, skipped)
        });
        Self {
            entries: decided.collect(),
        }
    }

    /// Says what would become of each entry: every content is read, nothing is written.
    pub fn rehearse(&self, blobs: &dyn BlobSource) -> Report {
        let rows = self.entries.iter().map(|(entry, skipped)| {
            let skipped = skipped.clone().or_else(|| match &entry.item {
                Item::File(Some(hash)) => blobs.blob(hash).err().map(Skipped::unreadable),
                _ => None,
            });
            row(entry, skipped)
        });
        Report {
            rows: rows.collect(),
        }
    }

    /// Writes the tree into a directory that is empty or not there yet; the one above it is.
    ///
    /// An entry that cannot be written is a row of the report. Only what would stop every
    /// further one, such as a full disk, ends the work, and a break of `tell`.
    pub fn write(
        &self,
        directory: &Path,
        blobs: &dyn BlobSource,
        tell: &mut Tell<'_>,
    ) -> Result<Report, CheckoutError> {
        self.write_into(Beneath::open(directory)?, blobs, tell)
    }

    /// Brings a tree that was written below a directory to another state: what is `gone` is
    /// removed, with all below it, then this plan is written. What stands in the place of an
    /// entry must be gone, unless both are directories. Nobody else may write there.
    pub fn renew(
        &self,
        directory: &Path,
        gone: &[TapePath],
        blobs: &dyn BlobSource,
    ) -> Result<Report, CheckoutError> {
        let mut beneath = Beneath::reopen(directory)?;
        for path in gone {
            let removed = beneath.remove(path);
            removed.map_err(|source| CheckoutError::NotRemoved {
                path: path.clone(),
                source,
            })?;
        }
        self.write_into(beneath, blobs, &mut |_| ControlFlow::Continue(()))
    }

    fn write_into(
        &self,
        mut beneath: Beneath,
        blobs: &dyn BlobSource,
        tell: &mut Tell<'_>,
    ) -> Result<Report, CheckoutError> {
        let mut report = Report::default();
        for (entry, skipped) in &self.entries {
            let progress = Progress {
                done: report.rows.len() as u64,
                of: self.entries.len() as u64,
                unit: Unit::Entries,
            };
            if tell(progress).is_break() {
                return Err(CheckoutError::BrokenOff {
                    written: report.rows.len() - report.skipped().count(),
                    of: self.entries.len(),
                });
            }
            let skipped = match skipped {
                Some(skipped) => Some(skipped.clone()),
                None => match put(&mut beneath, entry, blobs) {
                    Ok(()) => None,
                    Err(Refusal::Entry(skipped)) => Some(skipped),
                    Err(Refusal::Disk(source)) => {
                        let written = report.rows.len() - report.skipped().count();
                        return Err(CheckoutError::Stopped { written, source });
                    }
                },
            };
            report.rows.push(row(entry, skipped));
        }
        for (path, error) in beneath.set_directory_modes() {
            let mut rows = report.rows.iter_mut();
            if let Some(row) = rows.find(|row| row.path == path) {
                row.skipped = Some(Skipped::Failed(format!("its mode cannot be set: {error}")));
            }
        }
        Ok(report)
    }
}

fn row(entry: &Entry, skipped: Option<Skipped>) -> Row {
    Row {
        path: entry.path.clone(),
        certainty: entry.certainty,
        skipped,
    }
}

pub(super) fn decide(
    entry: &Entry,
    linked: &HashSet<TapePath>,
    links: OutsideLinks,
) -> Option<Skipped> {
    if entry.path.is_outside() {
        return Some(Skipped::OutsideWorkspace);
    }
    let path = entry.path.as_bytes();
    let mut above = memchr::memchr_iter(b'/', path).filter_map(|slash| path.get(..slash));
    if above.any(|directory| linked.contains(directory)) {
        return Some(Skipped::BelowLink);
    }
    match &entry.item {
        Item::File(None) => Some(Skipped::NotKnown),
        Item::Link(target) if links == OutsideLinks::Skip && may_leave(&entry.path, target) => {
            Some(Skipped::LinkLeaves)
        }
        _ => None,
    }
}

/// Whether a link may lead out of the tree. It does not if it goes up through real
/// directories, no further than the tree reaches, and then only down: each link that it
/// passes on its way down stays inside for the same reason. One that goes up again after a
/// link ends nobody knows where.
fn may_leave(path: &TapePath, target: &[u8]) -> bool {
    let parts = || {
        let all = target.split(|byte| *byte == b'/');
        all.filter(|part| !matches!(*part, b"" | b"."))
    };
    let up = parts().take_while(|part| *part == b"..").count();
    let goes_up_again = parts().skip(up).any(|part| part == b"..");
    target.starts_with(b"/") || up >= path.components().count() || goes_up_again
}

pub(super) fn put(
    beneath: &mut Beneath,
    entry: &Entry,
    blobs: &dyn BlobSource,
) -> Result<(), Refusal> {
    match &entry.item {
        Item::Directory => beneath.make_directory(&entry.path, entry.mode),
        Item::Link(target) => beneath.make_link(&entry.path, target),
        Item::File(None) => Err(Refusal::Entry(Skipped::NotKnown)),
        Item::File(Some(hash)) => {
            let bytes = blobs
                .blob(hash)
                .map_err(|error| Refusal::Entry(Skipped::unreadable(error)))?;
            beneath.make_file(&entry.path, entry.mode, &bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_may_leave_the_tree_are_known() {
        let check = |path: &str, target: &str, leaves: bool| {
            let path = TapePath::new(path).unwrap();
            assert_eq!(
                may_leave(&path, target.as_bytes()),
                leaves,
                "{path:?} {target}"
            );
        };
        check("a", "b", false);
        check("a", "./b//c", false);
        check("a", ".", false);
        check("a/b/c", "../../d", false);
        check("a/b", "..", false);
        check("a", "..", true);
        check("a/b", "../..", true);
        check("a", "/tmp", true);
        check("a", "../outside", true);
        check("a/b/c", "../../../x", true);
        // `l` may be a link to the top: then this is the directory above it.
        check("a/b", "l/..", true);
    }
}
