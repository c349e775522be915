//! What the importer knows of the files, on every branch, at every event.
//!
//! It is the importer's own table, for one purpose: to compare what the calls have made of a
//! file with what the next record shows of it. Contents of the past are kept by hash only;
//! their bytes are the sink's.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::model::{BlobHash, Certainty, Scope, Seq, TapePath};
use crate::tools::Known;

use super::lineage::BranchId;

/// The files of every branch.
#[derive(Debug, Default)]
pub(super) struct Files {
    branches: Vec<Branch>,
}

/// The files of one branch, as far as they differ from those of its parent.
#[derive(Debug, Default)]
struct Branch {
    parent: Option<(BranchId, Seq)>,
    /// What is known now, and since when.
    now: HashMap<TapePath, (Seq, Known)>,
    /// What was known before, and since when, oldest first.
    past: HashMap<TapePath, Vec<(Seq, Past)>>,
    directories: HashSet<TapePath>,
    suspects: Vec<Suspect>,
}

/// What was known of a file.
#[derive(Debug)]
enum Past {
    /// All of it: the sink has the bytes.
    Blob(BlobHash),
    Other(Known),
}

/// A call that may have written files.
#[derive(Debug)]
struct Suspect {
    seq: Seq,
    scope: Scope,
    call: Option<String>,
}

/// Gives bytes that were written earlier.
pub(super) type Blobs<'a> = &'a dyn Fn(&BlobHash) -> Option<Arc<[u8]>>;

impl Files {
    /// Begins the main line, or a branch that leaves its parent after an event.
    pub(super) fn begin_branch(&mut self, parent: Option<(BranchId, Seq)>) {
        self.branches.push(Branch {
            parent,
            ..Branch::default()
        });
    }

    /// What is known of a file on a branch, and since which event.
    pub(super) fn known(
        &self,
        branch: BranchId,
        path: &TapePath,
        blobs: Blobs<'_>,
    ) -> (Option<Seq>, Known) {
        let mut up_to = Seq(u64::MAX);
        for branch in self.line(branch) {
            let (own, limit) = (branch.0, branch.1);
            up_to = up_to.min(limit);
            if let Some((seq, known)) = own.now.get(path)
                && *seq <= up_to
            {
                return (Some(*seq), known.clone());
            }
            let past = own.past.get(path).into_iter().flatten();
            if let Some((seq, past)) = past.rev().find(|(seq, _)| *seq <= up_to) {
                let known = match past {
                    Past::Blob(hash) => blobs(hash).map_or(Known::Unknown, Known::Full),
                    Past::Other(known) => known.clone(),
                };
                return (Some(*seq), known);
            }
        }
        (None, Known::Unknown)
    }

    /// Takes what is known of a file from an event on.
    pub(super) fn put(&mut self, branch: BranchId, path: TapePath, seq: Seq, known: Known) {
        let Some(own) = self.branches.get_mut(branch) else {
            return;
        };
        if let Some((since, before)) = own.now.insert(path.clone(), (seq, known)) {
            let past = match before {
                Known::Full(bytes) => Past::Blob(BlobHash::of(&bytes)),
                other => Past::Other(other),
            };
            own.past.entry(path).or_default().push((since, past));
        }
    }

    /// Takes that a directory is there.
    pub(super) fn put_directory(&mut self, branch: BranchId, path: TapePath) {
        if let Some(own) = self.branches.get_mut(branch) {
            own.directories.insert(path);
        }
    }

    /// Takes that a call may have written files.
    pub(super) fn suspect(
        &mut self,
        branch: BranchId,
        seq: Seq,
        scope: Scope,
        call: Option<String>,
    ) {
        if let Some(own) = self.branches.get_mut(branch) {
            own.suspects.push(Suspect { seq, scope, call });
        }
    }

    /// The calls that may have written a file after an event, oldest first; the flag says
    /// whether there is anything at all that may have.
    pub(super) fn suspects(
        &self,
        branch: BranchId,
        path: &TapePath,
        since: Option<Seq>,
    ) -> (bool, Vec<String>) {
        /// More names say no more.
        const MOST: usize = 16;
        let mut is_suspect = false;
        let mut calls = Vec::new();
        let mut up_to = Seq(u64::MAX);
        for (own, limit) in self.line(branch) {
            up_to = up_to.min(limit);
            let covering = own.suspects.iter().rev().filter(|suspect| {
                suspect.seq <= up_to
                    && match &suspect.scope {
                        Scope::All => true,
                        Scope::Path(scope) => path.is_within(scope),
                    }
            });
            for suspect in covering.take_while(|suspect| Some(suspect.seq) > since) {
                is_suspect = true;
                if let Some(call) = &suspect.call
                    && calls.len() < MOST
                    && !calls.contains(call)
                {
                    calls.push(call.clone());
                }
            }
        }
        calls.reverse();
        (is_suspect, calls)
    }

    /// The paths below a directory that were ever named on a branch or above it.
    pub(super) fn below(&self, branch: BranchId, directory: &TapePath) -> Vec<TapePath> {
        let all = self.line(branch).flat_map(|(own, _)| own.now.keys());
        let mut below: Vec<TapePath> = all
            .filter(|path| path.is_within(directory) && *path != directory)
            .cloned()
            .collect();
        below.sort();
        below.dedup();
        below
    }

    /// Whether a path is known to be a directory because it was made one.
    pub(super) fn is_made_directory(&self, branch: BranchId, path: &TapePath) -> bool {
        self.line(branch)
            .any(|(own, _)| own.directories.contains(path))
    }

    /// How many files of a branch are known how well.
    pub(super) fn certainties(
        &self,
        branch: BranchId,
        blobs: Blobs<'_>,
    ) -> BTreeMap<Certainty, u64> {
        let mut paths: Vec<&TapePath> = self
            .line(branch)
            .flat_map(|(own, _)| own.now.keys())
            .collect();
        paths.sort();
        paths.dedup();
        let mut counts = BTreeMap::new();
        for path in paths {
            let (since, known) = self.known(branch, path, blobs);
            let certainty = match known {
                Known::Absent => Certainty::Absent,
                Known::Unknown => Certainty::Unknown,
                _ if self.suspects(branch, path, since).0 => Certainty::Uncertain,
                Known::Full(_) => Certainty::Exact,
                Known::Sparse(_) => Certainty::Partial,
            };
            *counts.entry(certainty).or_default() += 1;
        }
        counts
    }

    /// A branch and those above it, each with the last event of it that counts.
    fn line(&self, branch: BranchId) -> impl Iterator<Item = (&Branch, Seq)> {
        let first = Some((branch, Seq(u64::MAX)));
        let chain = std::iter::successors(first, |(branch, _)| {
            // A parent is older than its child, so this ends.
            let parent = self.branches.get(*branch)?.parent?;
            (parent.0 < *branch).then_some(parent)
        });
        chain.filter_map(|(branch, up_to)| Some((self.branches.get(branch)?, up_to)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_sees_the_files_as_they_were_where_it_left() {
        let path = TapePath::new("f").unwrap();
        let full = |text: &str| Known::Full(text.as_bytes().into());
        let blobs = |hash: &BlobHash| {
            let bytes: Arc<[u8]> = b"base".as_slice().into();
            (BlobHash::of(&bytes) == *hash).then_some(bytes)
        };
        let mut files = Files::default();
        files.begin_branch(None);
        files.put(0, path.clone(), Seq(3), full("base"));
        files.suspect(0, Seq(4), Scope::All, Some("t1".to_owned()));
        files.put(0, path.clone(), Seq(5), full("A"));
        files.suspect(0, Seq(6), Scope::All, Some("t2".to_owned()));
        files.begin_branch(Some((0, Seq(4))));

        assert_eq!(files.known(0, &path, &blobs), (Some(Seq(5)), full("A")));
        assert_eq!(files.known(1, &path, &blobs), (Some(Seq(3)), full("base")));
        let suspects = files.suspects(1, &path, Some(Seq(3)));
        assert_eq!(suspects, (true, vec!["t1".to_owned()]));
        let suspects = files.suspects(0, &path, Some(Seq(5)));
        assert_eq!(suspects, (true, vec!["t2".to_owned()]));
        files.put(1, path.clone(), Seq(8), full("B"));
        assert_eq!(files.known(1, &path, &blobs).1, full("B"));
        assert_eq!(files.known(0, &path, &blobs).1, full("A"));
    }
}
