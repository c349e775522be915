//! The files as one call finds and leaves them: a draft over [`Files`].
//!
//! A call's effects are worked out here before any event is written, because what its result
//! shows of the time *before* it stands before it on the timeline.

use std::collections::{HashMap, HashSet};

use crate::model::{BlobHash, Content, FileChange, FileOp, KnownLines, Seq, TapePath};
use crate::tools::{Evidence, Known, Sparse};

use super::files::{Blobs, Files};
use super::lineage::BranchId;
use super::paths::resolve;

/// The files of a branch, with a call's own changes drafted over them.
pub(super) struct View<'a> {
    files: &'a Files,
    blobs: Blobs<'a>,
    branch: BranchId,
    root: &'a str,
    /// Where relative paths are seen from.
    cwd: &'a str,
    shell: Shell,
    draft: HashMap<TapePath, Known>,
    made: HashSet<TapePath>,
}

/// Whether a shell is in the directory that the records name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shell {
    /// It is, for all that is known.
    There,
    /// A command took it elsewhere, and the records did not follow.
    Elsewhere,
}

/// An event to be written about a file, and what is known of files from then on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) change: FileChange,
    pub(super) known: Vec<(TapePath, Known)>,
}

impl<'a> View<'a> {
    pub(super) fn of(
        files: &'a Files,
        blobs: Blobs<'a>,
        branch: BranchId,
        root: &'a str,
        cwd: &'a str,
        shell: Shell,
    ) -> Self {
        Self {
            files,
            blobs,
            branch,
            root,
            cwd,
            shell,
            draft: HashMap::new(),
            made: HashSet::new(),
        }
    }

    /// The path that a tool means.
    pub(super) fn path(&self, text: &str) -> Option<TapePath> {
        resolve(text, self.cwd, self.root)
    }

    /// The path that a shell command means; `None` when that depends on where the shell is.
    pub(super) fn shell_path(&self, text: &str) -> Option<TapePath> {
        let is_sure = self.shell == Shell::There || text.starts_with('/');
        is_sure.then(|| self.path(text))?
    }

    /// What is known of a file.
    pub(super) fn known(&self, path: &TapePath) -> Known {
        self.stored(path).1
    }

    /// The known paths below a directory that may be there.
    pub(super) fn below(&self, directory: &TapePath) -> Vec<TapePath> {
        let mut below = self.files.below(self.branch, directory);
        let drafted = self.draft.keys();
        below.extend(
            drafted
                .filter(|path| path.is_within(directory) && *path != directory)
                .cloned(),
        );
        below.sort();
        below.dedup();
        below.retain(|path| !matches!(self.known(path), Known::Absent | Known::Unknown));
        below
    }

    /// Whether a path is a directory for all that is known.
    pub(super) fn is_directory(&self, path: &TapePath) -> bool {
        self.made.contains(path)
            || self.files.is_made_directory(self.branch, path)
            || !self.below(path).is_empty()
    }

    /// A directory that is made.
    pub(super) fn make_directory(&mut self, path: TapePath) -> Change {
        self.made.insert(path.clone());
        Change {
            change: FileChange::new(FileOp::Mkdir, path),
            known: Vec::new(),
        }
    }

    /// Whether something may have written a file since it was last known.
    pub(super) fn is_uncertain(&self, path: &TapePath) -> bool {
        let (since, _) = self.stored(path);
        self.files.suspects(self.branch, path, since).0
    }

    /// A write of a file, after which this is known of it.
    pub(super) fn write(&mut self, path: TapePath, known: Known) -> Change {
        let change = FileChange {
            content: match &known {
                Known::Absent => Content::None,
                known => known.to_content(),
            },
            was: self.hash(&path),
            ..FileChange::new(FileOp::Write, path.clone())
        };
        self.change(change, path, known)
    }

    /// An operation after which this is known of its path.
    pub(super) fn change(&mut self, change: FileChange, path: TapePath, known: Known) -> Change {
        self.draft.insert(path.clone(), known.clone());
        Change {
            change,
            known: vec![(path, known)],
        }
    }

    /// The hash of a file whose bytes are known.
    pub(super) fn hash(&self, path: &TapePath) -> Option<BlobHash> {
        self.known(path).whole().map(|bytes| BlobHash::of(bytes))
    }

    /// Weighs a sight of a whole file against what is known of it.
    pub(super) fn sees_whole(&mut self, path: &TapePath, seen: &str) -> Sight {
        let mut known = self.known(path);
        let evidence = known.observe_whole(&seen.as_bytes().into());
        self.weigh(path, known, evidence)
    }

    /// Weighs a sight of some lines against what is known of the file.
    pub(super) fn sees_lines(&mut self, path: &TapePath, seen: &KnownLines) -> Sight {
        let mut known = self.known(path);
        let evidence = known.observe_lines(seen);
        self.weigh(path, known, evidence)
    }

    /// Weighs that a file is not there against what is known of it.
    pub(super) fn sees_absent(&mut self, path: &TapePath) -> Sight {
        let mut known = self.known(path);
        let evidence = known.observe_absent();
        self.weigh(path, known, evidence)
    }

    /// Takes that a file is not what it was thought to be, though nothing shows what it is.
    pub(super) fn sees_contradiction(&mut self, path: &TapePath) -> Change {
        self.outside(FileOp::Write, path, Known::Sparse(Sparse::default()))
    }

    fn weigh(&mut self, path: &TapePath, known: Known, evidence: Evidence) -> Sight {
        let op = match (evidence, &known) {
            (Evidence::Agrees, _) => return Sight::Agrees,
            (Evidence::New, _) => return Sight::New(self.observe(path, known, None)),
            (Evidence::Differs, Known::Absent) => FileOp::Remove,
            (Evidence::Differs, _) => FileOp::Write,
        };
        Sight::Differs(self.outside(op, path, known))
    }

    /// A sight of a file, after which this is known of it.
    pub(super) fn observe(
        &mut self,
        path: &TapePath,
        known: Known,
        remark: Option<&str>,
    ) -> Change {
        let change = FileChange {
            content: known.to_content(),
            remark: remark.map(str::to_owned),
            ..FileChange::new(FileOp::Observe, path.clone())
        };
        self.change(change, path.clone(), known)
    }
    /// A change that no call explains, with the calls that may have made it.
    fn outside(&mut self, op: FileOp, path: &TapePath, known: Known) -> Change {
        let (since, _) = self.stored(path);
        let change = FileChange {
            content: known.to_content(),
            outside: true,
            was: self.hash(path),
            candidates: self.files.suspects(self.branch, path, since).1,
            ..FileChange::new(op, path.clone())
        };
        self.change(change, path.clone(), known)
    }

    fn stored(&self, path: &TapePath) -> (Option<Seq>, Known) {
        match self.draft.get(path) {
            Some(known) => (Some(Seq(u64::MAX)), known.clone()),
            None => self.files.known(self.branch, path, self.blobs),
        }
    }
}

/// What a sight of a file comes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sight {
    /// The file is as it was known.
    Agrees,
    /// More of it is known now: an observation.
    New(Change),
    /// It is not as it was known, and no call says why: an outside change.
    Differs(Change),
}

impl Sight {
    /// The event, with this remark on how the content is known.
    pub(super) fn remarked(self, remark: &str) -> Option<Change> {
        match self {
            Self::Agrees => None,
            Self::New(mut change) | Self::Differs(mut change) => {
                change.change.remark = Some(remark.to_owned());
                Some(change)
            }
        }
    }
}
