//! What a plan changes, if nobody else changed what it changes. Reads, and writes nothing.
//!
//! Each path that the plan names must still be what it was when the transaction began, or
//! be already what it is to be. The directories above are taken in, so that their modes and
//! times can be put back; a missing one is made.

use std::collections::BTreeMap;
use std::io;

use super::error::TransactionError;
use super::fs::{Fs, Kind, Node, Time};
use super::journal::{Entry, Journal};
use super::layout;
use super::plan::{Conflict, Fingerprint, Operation, Plan, Supply, Want};
use crate::model::{BlobHash, TapePath};
use crate::text::SafeText;

/// The bits that are set: those that lend rights are not.
const PERMISSIONS: u32 = 0o777;
/// What a file without a mode of its own may be used for, as far as its directory allows.
const NEW_FILE: u32 = 0o666;

/// Changes that were checked, and are not written down yet. Sorted by path.
pub(super) struct Prepared {
    pub(super) drafts: Vec<Draft>,
    pub(super) conflicts: Vec<Conflict>,
    /// The commit that these take back.
    pub(super) undoes: Option<u64>,
    /// The transaction that they commit, or that the commit they take back committed.
    pub(super) transaction: Option<String>,
}

/// A change to be.
pub(super) struct Draft {
    pub(super) path: TapePath,
    pub(super) before: Entry,
    /// What `before` was read from.
    pub(super) node: Option<Node>,
    pub(super) after: After,
}

/// What a path is to be.
pub(super) enum After {
    Absent,
    File {
        content: Supply,
        /// The name of its bytes, and how many there are: large ones are read only once more.
        hash: BlobHash,
        len: u64,
        mode: u32,
        mtime: Option<Time>,
    },
    Directory {
        mode: u32,
        mtime: Option<Time>,
    },
    Link(Vec<u8>),
    /// What an earlier commit displaced, which lies here.
    Displaced {
        at: Vec<u8>,
        entry: Entry,
    },
}

impl After {
    const fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }

    /// Whether nothing is to be there.
    const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Absent => Fingerprint::Absent,
            Self::File {
                hash, len, mode, ..
            } => Fingerprint::File {
                hash: *hash,
                len: Some(*len),
                mode: Some(*mode),
            },
            Self::Directory { mode, .. } => Fingerprint::Directory { mode: Some(*mode) },
            Self::Link(target) => Fingerprint::Link(target.clone()),
            Self::Displaced { entry, .. } => entry.fingerprint(),
        }
    }
}

/// Checks a plan against the workspace.
pub(super) fn prepare(fs: &dyn Fs, plan: &Plan) -> Result<Prepared, TransactionError> {
    if let Some((path, sort)) = plan.refused.first() {
        return Err(refused(path, &format!("it is a {sort}")));
    }
    let mut operations = BTreeMap::new();
    for operation in &plan.operations {
        let path = &operation.path;
        if path.is_outside() {
            return Err(refused(path, "it lies outside the workspace"));
        }
        if layout::is_state(path) {
            return Err(refused(path, "`.jukebox` belongs to no change set"));
        }
        if operations.insert(path.clone(), operation).is_some() {
            return Err(refused(path, "the plan names it twice"));
        }
    }
    for (path, operation) in &operations {
        let is_to_be = !matches!(operation.want, Want::Absent | Want::Pruned);
        let mut above = path.parent();
        while let Some(directory) = above {
            let want = operations.get(&directory).map(|above| &above.want);
            if is_to_be && !matches!(want, None | Some(Want::Directory { .. })) {
                return Err(refused(path, "the plan puts it below what is no directory"));
            }
            above = directory.parent();
        }
    }
    let mut prepared = check(fs, plan, &operations).map_err(TransactionError::Prepare)?;
    prepared.transaction.clone_from(&plan.transaction);
    Ok(prepared)
}

fn refused(path: &TapePath, reason: &str) -> TransactionError {
    TransactionError::Refused {
        path: SafeText::from_bytes(path.as_bytes()),
        reason: reason.to_owned(),
    }
}

fn check(
    fs: &dyn Fs,
    plan: &Plan,
    operations: &BTreeMap<TapePath, &Operation>,
) -> io::Result<Prepared> {
    let mut checking = Checking::new(fs);
    for (path, base) in &plan.reads {
        let theirs = Fingerprint::take(fs, path.as_bytes())?.0;
        if !theirs.agrees(base) && !operations.contains_key(path) {
            checking.conflict(path, base, base.clone(), theirs);
        }
    }
    for (path, operation) in operations {
        checking.operation(path, operation)?;
    }
    checking.finish(|path| {
        operations
            .get(path)
            .is_some_and(|it| matches!(it.want, Want::Pruned))
    })
}

/// Checks what takes a commit back: each of its paths must be as it left it.
pub(super) fn prepare_undo(fs: &dyn Fs, journal: &Journal) -> io::Result<Prepared> {
    let mut checking = Checking::new(fs);
    for (number, change) in journal.changes.iter().enumerate() {
        let path = &change.path;
        let (theirs, node) = Fingerprint::take(fs, path.as_bytes())?;
        let (base, ours) = (change.after.fingerprint(), change.before.fingerprint());
        let is_untouched = theirs == ours && !change.before.is_directory();
        if is_untouched {
            continue;
        }
        let is_as_left = match (&theirs, &base) {
            // Somebody may have changed the mode of a directory that was only passed.
            (Fingerprint::Directory { .. }, Fingerprint::Directory { .. }) => {
                change.is_only_passed() || theirs == base
            }
            // It was made, or taken away, and is already as before.
            (Fingerprint::Directory { .. }, _) => theirs == base || theirs == ours,
            _ => theirs == base,
        };
        if !is_as_left {
            checking.conflict(path, &base, ours, theirs);
            continue;
        }
        let after = match &change.before {
            Entry::Absent => After::Absent,
            Entry::Directory { mode, mtime } => After::Directory {
                mode: match (change.is_only_passed(), node) {
                    (true, Some(node)) => node.mode,
                    _ => *mode,
                },
                mtime: *mtime,
            },
            entry => After::Displaced {
                at: layout::displaced_file(journal.id, number),
                entry: entry.clone(),
            },
        };
        checking.add(path, theirs, node, after);
    }
    let mut prepared = checking.finish(|_| false)?;
    prepared.undoes = Some(journal.id);
    prepared.transaction.clone_from(&journal.transaction);
    Ok(prepared)
}

struct Checking<'a> {
    fs: &'a dyn Fs,
    drafts: BTreeMap<TapePath, Draft>,
    conflicts: Vec<Conflict>,
}

impl<'a> Checking<'a> {
    fn new(fs: &'a dyn Fs) -> Self {
        Self {
            fs,
            drafts: BTreeMap::new(),
            conflicts: Vec::new(),
        }
    }

    fn conflict(
        &mut self,
        path: &TapePath,
        base: &Fingerprint,
        ours: Fingerprint,
        theirs: Fingerprint,
    ) {
        self.conflicts.push(Conflict {
            path: path.clone(),
            base: base.clone(),
            ours,
            theirs,
            kept: None,
        });
    }

    fn add(&mut self, path: &TapePath, found: Fingerprint, node: Option<Node>, after: After) {
        let draft = Draft {
            path: path.clone(),
            before: entry(found, node),
            node,
            after,
        };
        self.drafts.insert(path.clone(), draft);
    }

    fn operation(&mut self, path: &TapePath, operation: &Operation) -> io::Result<()> {
        let (theirs, node) = Fingerprint::take(self.fs, path.as_bytes())?;
        let after = match &operation.want {
            Want::Absent | Want::Pruned => After::Absent,
            Want::Link(target) => After::Link(target.clone()),
            Want::File {
                content,
                mode,
                mtime,
            } => {
                let mode = mode.map(|mode| mode & PERMISSIONS);
                let now = node
                    .filter(|node| node.kind == Kind::File)
                    .map(|node| node.mode);
                After::File {
                    content: content.clone(),
                    hash: content.hash()?,
                    len: content.len()?,
                    mode: mode.or(now).unwrap_or(NEW_FILE & self.mode_above(path)?),
                    mtime: *mtime,
                }
            }
            Want::Directory { mode } => {
                let mode = mode.map(|mode| mode & PERMISSIONS);
                let now = node
                    .filter(|node| node.kind == Kind::Directory)
                    .map(|node| node.mode);
                After::Directory {
                    mode: mode.or(now).unwrap_or(self.mode_above(path)?),
                    mtime: None,
                }
            }
        };
        let ours = after.fingerprint();
        if theirs.agrees(&ours) {
            return Ok(());
        }
        if theirs.agrees(&operation.base) && theirs != Fingerprint::Other {
            self.add(path, theirs, node, after);
        } else {
            self.conflict(path, &operation.base, ours, theirs);
        }
        Ok(())
    }

    /// The permission bits of the directory that is nearest above a path, there or to be.
    fn mode_above(&self, path: &TapePath) -> io::Result<u32> {
        let mut above = path.parent();
        while let Some(directory) = above {
            if let Some(After::Directory { mode, .. }) =
                self.drafts.get(&directory).map(|draft| &draft.after)
            {
                return Ok(mode & PERMISSIONS);
            }
            if let Some(node) = self.fs.look(directory.as_bytes())?
                && node.kind == Kind::Directory
            {
                return Ok(node.mode & PERMISSIONS);
            }
            above = directory.parent();
        }
        let root = self.fs.look(b"")?;
        Ok(root.map_or(0o700, |root| root.mode & PERMISSIONS))
    }

    fn finish(mut self, is_pruned: impl Fn(&TapePath) -> bool) -> io::Result<Prepared> {
        self.check_directories_are_emptied(is_pruned)?;
        self.take_in_directories_above()?;
        self.conflicts.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(Prepared {
            drafts: self.drafts.into_values().collect(),
            conflicts: self.conflicts,
            undoes: None,
            transaction: None,
        })
    }

    /// A directory goes only with everything in it, the deepest first.
    fn check_directories_are_emptied(
        &mut self,
        is_pruned: impl Fn(&TapePath) -> bool,
    ) -> io::Result<()> {
        let goes = |draft: &Draft| draft.before.is_directory() && !draft.after.is_directory();
        let directories: Vec<TapePath> = self
            .drafts
            .values()
            .filter(|draft| goes(draft))
            .map(|draft| draft.path.clone())
            .collect();
        for directory in directories.into_iter().rev() {
            let mut stays = false;
            for name in self.fs.list(directory.as_bytes())? {
                // A path that is too long for a plan is one that no plan deletes.
                let child = directory.join(&name).ok();
                let draft = child.as_ref().and_then(|child| self.drafts.get(child));
                // What stands below a file that is to be is no longer there.
                if draft.is_some_and(|draft| draft.after.is_absent()) {
                    continue;
                }
                stays = true;
                if is_pruned(&directory) {
                    continue;
                }
                let has_conflict = self
                    .conflicts
                    .iter()
                    .any(|conflict| Some(&conflict.path) == child.as_ref());
                if let Some(child) = child.filter(|_| !has_conflict) {
                    let theirs = Fingerprint::take(self.fs, child.as_bytes())?.0;
                    self.conflict(&child, &Fingerprint::Absent, Fingerprint::Absent, theirs);
                }
            }
            if stays {
                self.drafts.remove(&directory);
            }
        }
        Ok(())
    }

    fn take_in_directories_above(&mut self) -> io::Result<()> {
        let paths: Vec<TapePath> = self.drafts.keys().cloned().collect();
        for path in paths {
            let mut missing = Vec::new();
            let mut above = path.parent();
            while let Some(directory) = above {
                if self.drafts.contains_key(&directory) {
                    break;
                }
                above = directory.parent();
                let (found, node) = Fingerprint::take(self.fs, directory.as_bytes())?;
                match found {
                    Fingerprint::Directory { .. } => {
                        let mode = node.map_or(0o700, |node| node.mode);
                        let after = After::Directory { mode, mtime: None };
                        self.add(&directory, found, node, after);
                    }
                    Fingerprint::Absent => missing.push(directory),
                    theirs => {
                        let base = Fingerprint::Directory { mode: None };
                        let is_known = self
                            .conflicts
                            .iter()
                            .any(|conflict| conflict.path == directory);
                        if !is_known {
                            self.conflict(&directory, &base, base.clone(), theirs);
                        }
                        break;
                    }
                }
            }
            for directory in missing.into_iter().rev() {
                let mode = self.mode_above(&directory)?;
                let after = After::Directory { mode, mtime: None };
                self.add(&directory, Fingerprint::Absent, None, after);
            }
        }
        Ok(())
    }
}

/// What a path is, to the last bit that is put back.
fn entry(found: Fingerprint, node: Option<Node>) -> Entry {
    let Some(node) = node else {
        return Entry::Absent;
    };
    match found {
        Fingerprint::File { hash, .. } => Entry::File {
            mode: node.mode,
            mtime: node.mtime,
            len: node.len,
            hash,
        },
        Fingerprint::Directory { .. } => Entry::Directory {
            mode: node.mode,
            mtime: Some(node.mtime),
        },
        Fingerprint::Link(target) => Entry::Link(target),
        Fingerprint::Absent | Fingerprint::Other | Fingerprint::Unread => Entry::Absent,
    }
}
