//! Single files, at any place: what they hold, and how well that is known.

use std::sync::Arc;

use super::{Debugger, FileContent, FileView, ReadError};
use crate::model::{BlobHash, Body, Certainty, Content, Cursor, EntryKind, FileOp, TapePath};
use crate::state::{ContentRef, FileState};
use crate::tape::wire::v1::{DirectoryEntry, decode_directory};
use crate::tape::{BlobError, BlobId, BlobSource};
use crate::text::SafeText;

impl Debugger {
    /// The hash and the length of a blob, from the line that holds it, or that named it.
    pub(super) fn blob_head(&self, id: BlobId, named_at: u32) -> (Option<BlobHash>, Option<u64>) {
        self.tape.blob_head(id, named_at)
    }

    /// The text of a link, from the event or the snapshot that told it.
    pub(super) fn link_target(&self, position: u32, path: &TapePath) -> Option<Vec<u8>> {
        match self.tape.event(position).ok()?.body {
            Body::File(change) => match change.op {
                FileOp::Symlink { target } => Some(target),
                _ => None,
            },
            Body::Snapshot { root, .. } => self.target_in_snapshot(root, path),
            _ => None,
        }
    }

    /// Walks down the directories of a snapshot; they stand in it, or in an earlier one.
    fn target_in_snapshot(&self, root: BlobHash, path: &TapePath) -> Option<Vec<u8>> {
        let mut hash = root;
        for name in path.components() {
            let text = self.directory(&hash)?;
            let entries = decode_directory(&text).ok()?;
            let (_, entry) = entries.into_iter().find(|(entry, _)| **entry == *name)?;
            match entry {
                DirectoryEntry::Directory { hash: below, .. } => hash = below,
                DirectoryEntry::Link { target } => return Some(target.to_vec()),
                DirectoryEntry::File { .. } => return None,
            }
        }
        None
    }

    fn directory(&self, hash: &BlobHash) -> Option<Arc<[u8]>> {
        let snapshots = self.tape.index.snapshots.iter().rev();
        snapshots
            .into_iter()
            .find_map(|position| match self.tape.event(*position).ok()?.body {
                Body::Snapshot { directories, .. } => directories
                    .into_iter()
                    .find(|(name, _)| name == hash)
                    .map(|(_, text)| text),
                _ => None,
            })
    }

    /// A file at a place: its last known content, how well it is known, and its versions
    /// around the place.
    pub fn file(&self, at: Cursor, path: &TapePath) -> Result<FileView, ReadError> {
        let state = self.state.file(&self.tape.index.blobs, at, path);
        let Some(state) = state else {
            return Err(ReadError::NoFile(SafeText::from_bytes(path.as_bytes())));
        };
        let (content, mut remarks) = self.content(&state, path);
        remarks.extend(self.remarks(&state));
        Ok(FileView {
            path: path.clone(),
            kind: state.kind,
            certainty: state.certainty,
            mode: state.mode,
            content,
            remarks,
            versions: self.versions(at, path),
        })
    }

    /// The content of a state, and what went wrong in reading it.
    pub(super) fn content(
        &self,
        state: &FileState,
        path: &TapePath,
    ) -> (FileContent, Vec<SafeText>) {
        let nothing = |why: &str| (FileContent::Nothing(SafeText::line(why)), Vec::new());
        match state.content {
            ContentRef::Blob(id) => match self.blob_bytes(id, state.since) {
                Ok(bytes) => (FileContent::Bytes(bytes), Vec::new()),
                Err(error) => nothing(&error.to_string()),
            },
            ContentRef::Lines(position) => {
                match self.tape.event(position).map(|event| event.body) {
                    Ok(Body::File(change)) => match change.content {
                        Content::Lines(known) => (FileContent::Lines(known), Vec::new()),
                        _ => nothing("the event that showed it does not hold its lines"),
                    },
                    _ => nothing("the event that showed it cannot be read"),
                }
            }
            ContentRef::Target(position) => match self.link_target(position, path) {
                Some(target) => (FileContent::Bytes(target.into()), Vec::new()),
                None => nothing("the text of the link cannot be read"),
            },
            ContentRef::Unknown => match (state.kind, state.certainty) {
                (EntryKind::Directory, _) => nothing("a directory"),
                (_, Certainty::Absent) => nothing("the file is not there"),
                _ => nothing("the tape never shows its content"),
            },
        }
    }

    /// The bytes of a blob. Its whole hash is read from the tape, and checked.
    pub(super) fn blob_bytes(&self, id: BlobId, named_at: u32) -> Result<Arc<[u8]>, BlobError> {
        match self.blob_head(id, named_at) {
            (Some(hash), _) => self.tape.blob(&hash),
            (None, _) => Err(BlobError::Io(std::io::Error::other(
                "the line that holds the content cannot be read",
            ))),
        }
    }

    fn remarks(&self, state: &FileState) -> Vec<SafeText> {
        let mut remarks = Vec::new();
        if let Some(suspect) = state.suspect {
            let spot = self.after_event(None, suspect);
            let title = self.row(self.line_of(spot), spot.step).map(|row| row.title);
            remarks.push(SafeText::line(&format!(
                "step {} may have written it, and nobody saw: {}",
                spot.step,
                title.as_ref().map_or("", SafeText::as_str)
            )));
        }
        if state.is_outside {
            remarks.push(SafeText::literal(
                "changed by something outside the recorded calls",
            ));
        }
        if state.certainty == Certainty::Redacted {
            remarks.push(SafeText::literal(
                "placeholders stand where secrets were taken out",
            ));
        }
        if let Ok(event) = self.tape.event(state.since)
            && let Body::File(change) = event.body
            && let Some(remark) = change.remark
        {
            remarks.push(SafeText::line(&remark));
        }
        remarks
    }
}
