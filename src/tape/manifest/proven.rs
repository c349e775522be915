//! The tree as the events *and* the snapshots of a tape tell it: where they disagree, the
//! snapshot counts from there on.
//!
//! For whoever reads a tape that something may be missing from. Reads directories again when
//! they are wanted, and keeps none.

use std::collections::HashMap;

use super::{Differences, Manifest};
use crate::model::{BlobHash, Body, Event, Seq};
use crate::tape::TapeBytes;
use crate::tape::lines::to_text;
use crate::tape::wire::v1::{
    DirectoryEntries, decode_directory, parse_record, snapshot_directories,
};

/// A manifest that believes the snapshots.
#[derive(Debug)]
pub(in crate::tape) struct Proven {
    bytes: TapeBytes,
    /// The tree.
    pub(in crate::tape) manifest: Manifest,
    /// In which record each directory travels.
    directories: HashMap<BlobHash, Place>,
}

/// Where a record stands: its first byte and its length.
pub(in crate::tape) type Place = (u64, usize);

impl Proven {
    pub(in crate::tape) fn new(bytes: TapeBytes) -> Self {
        Self {
            bytes,
            manifest: Manifest::default(),
            directories: HashMap::new(),
        }
    }

    /// Applies an event. Of a snapshot: where it and the events before it disagree.
    pub(in crate::tape) fn apply(&mut self, seq: Seq, event: &Event, place: Place) -> Differences {
        self.manifest.apply(seq, event);
        let Body::Snapshot {
            root, directories, ..
        } = &event.body
        else {
            return Differences::default();
        };
        for (hash, _) in directories {
            self.directories.entry(*hash).or_insert(place);
        }
        let (bytes, places) = (&self.bytes, &self.directories);
        let mut read = |hash: &BlobHash| {
            let here = directories.iter().find(|(known, _)| known == hash);
            match here {
                Some((_, text)) => decode_directory(text).ok(),
                None => read_directory(bytes, *places.get(hash)?, hash),
            }
        };
        let line = event.head.branch.as_deref();
        let found = self.manifest.differences(line, *root, &mut read);
        for difference in &found.paths {
            let mut said = difference.to_event();
            said.head.branch.clone_from(&event.head.branch);
            self.manifest.apply(seq, &said);
        }
        found
    }
}

fn read_directory(
    bytes: &TapeBytes,
    (offset, len): Place,
    hash: &BlobHash,
) -> Option<DirectoryEntries> {
    let record = bytes.read_exact_at(offset, len).ok()?;
    let text = to_text(&record);
    let (line, _) = parse_record(&text).ok()?;
    let directories = snapshot_directories(&line);
    let (_, text) = directories.iter().find(|(known, _)| known == hash)?;
    decode_directory(text).ok()
}
