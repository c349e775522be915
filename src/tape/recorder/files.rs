//! What a fork's recorder asks of the files that the shared events leave.
//!
//! A recorder of a whole run keeps a tree of its own, built event by event. For a fork that
//! would mean to read all that it shares, so it asks somebody who knows the files of its
//! parent, and tells that one of its own events. How files are looked up is not known here.

use std::fmt::Debug;

use crate::model::{Head, TapePath};
use crate::tape::index::{BlobId, Index, IndexSink};
use crate::tape::manifest::FileNode;
use crate::tape::{Shared, Tape};

/// What a fork goes on behind.
#[derive(Clone, Copy, Debug)]
pub struct Behind<'a, F> {
    /// Its parent.
    pub parent: &'a Tape,
    /// The parent's files.
    pub files: &'a F,
    /// The parent's lines that it shares.
    pub shared: &'a Shared,
}

/// Who knows what the events of a tape leave at its paths: it was told of each of them.
pub trait Files: IndexSink + Debug + Send {
    /// The files after the events of this index, the first of those that were told.
    #[must_use]
    fn cut(&self, index: &Index) -> Self
    where
        Self: Sized;

    /// The file at a path after the last event of the index, as a branch sees it; `None` where
    /// none is known to be there.
    fn file(&self, index: &Index, branch: u16, path: &TapePath) -> Option<LastFile>;
}

/// A file as the last events leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastFile {
    /// Its permission bits, where they are known.
    pub mode: Option<u32>,
    /// The content that it was last known to hold.
    pub content: Option<BlobId>,
    /// The event that says so.
    pub named_at: u32,
    /// Nothing may have written it since.
    pub is_proven: bool,
}

/// What these files say of a path, as an event with this head would see it.
pub(super) fn file_in(
    files: &dyn Files,
    tape: &Tape,
    head: &Head,
    path: &TapePath,
) -> Option<FileNode> {
    let branch = tape.index.branch_of(head)?;
    let last = files.file(&tape.index, branch, path)?;
    let told = last.content.map(|id| tape.blob_head(id, last.named_at));
    let (hash, len) = told.unwrap_or_default();
    Some(FileNode {
        mode: last.mode,
        hash,
        len,
        is_proven: last.is_proven && hash.is_some(),
    })
}
