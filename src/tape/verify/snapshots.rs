//! Every snapshot against the tree that the events before it make.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::{BlobHash, Body, Event, FileOp, ProblemKind, Scope, Seq, TapePath};
use crate::tape::TapeBytes;
use crate::tape::lines::to_text;
use crate::tape::manifest::{Difference, Manifest, Node};
use crate::tape::wire::v1::{
    DirectoryEntries, DirectoryEntry, decode_directory, parse_record, snapshot_directories,
};

/// Differences of one snapshot that are told one by one.
const TOLD: usize = 32;

#[derive(Debug)]
pub(super) struct Snapshots {
    bytes: TapeBytes,
    manifest: Manifest,
    /// On which line each directory travels: offset and length of the record.
    directories: HashMap<BlobHash, (u64, usize)>,
    /// Paths of each line whose files may have come or gone unseen since its last snapshot;
    /// `None` is every path.
    doubts: HashMap<String, Vec<Option<TapePath>>>,
    lines: Vec<String>,
}

type Fault = (ProblemKind, String);

impl Snapshots {
    pub(super) fn new(bytes: TapeBytes) -> Self {
        Self {
            bytes,
            manifest: Manifest::default(),
            directories: HashMap::new(),
            doubts: HashMap::new(),
            lines: vec![MAIN.to_owned()],
        }
    }

    /// Takes an event; where it is a snapshot, compares it. `record` is where it stands.
    pub(super) fn take(
        &mut self,
        seq: Seq,
        event: &Event,
        record: (u64, usize),
        mut report: impl FnMut(Fault),
    ) {
        let line = event.head.branch.as_deref().unwrap_or(MAIN);
        if !self.lines.iter().any(|known| known == line) {
            self.lines.push(line.to_owned());
        }
        match &event.body {
            // Of a tape whose history was dropped, the first snapshot is where files begin.
            Body::Tape(_) if event.extra.contains_key("compacted") => self.doubt(line, None),
            Body::File(change) => {
                if let Some(fault) = self.pre_image(event, change) {
                    report(fault);
                }
            }
            Body::Suspect { scope, .. } => {
                let scope = match scope {
                    Scope::All => None,
                    Scope::Path(path) => Some(path.clone()),
                };
                self.doubt(line, scope);
            }
            Body::Gap { .. } => {
                for line in self.lines.clone() {
                    self.doubt(&line, None);
                }
            }
            Body::Snapshot {
                root, directories, ..
            } => {
                for (hash, text) in directories {
                    if BlobHash::of(text) != *hash {
                        let text = format!("the text of the directory {hash} is damaged");
                        report((ProblemKind::BadHash, text));
                    } else if decode_directory(text).is_err() {
                        let text = format!("the text of the directory {hash} cannot be read");
                        report((ProblemKind::BadField, text));
                    }
                    self.directories.entry(*hash).or_insert(record);
                }
                self.compare(seq, event, *root, directories, report);
            }
            _ => {}
        }
        self.manifest.apply(seq, event);
    }

    /// Whether the recorded pre-image of a change is what the events say.
    fn pre_image(&self, event: &Event, change: &crate::model::FileChange) -> Option<Fault> {
        let was = change.was?;
        let path = change.path.to_text();
        match self.manifest.get(&event.head, &change.path) {
            Some(Node::File(file)) if file.is_proven && file.hash != Some(was) => {
                let text = format!("`{path}` held {was} before, and by the events another content");
                Some((ProblemKind::BaseDiffers, text))
            }
            Some(Node::Link(_) | Node::Directory(_)) if change.op == FileOp::Write => {
                let text = format!("`{path}` held {was} before, and is no file by the events");
                Some((ProblemKind::BaseDiffers, text))
            }
            _ => None,
        }
    }

    fn compare(
        &mut self,
        seq: Seq,
        event: &Event,
        root: BlobHash,
        texts: &[(BlobHash, Arc<[u8]>)],
        mut report: impl FnMut(Fault),
    ) {
        let line = event.head.branch.as_deref();
        let (bytes, places) = (&self.bytes, &self.directories);
        let mut read = |hash: &BlobHash| {
            let here = texts.iter().find(|(known, _)| known == hash);
            match here {
                Some((_, text)) => decode_directory(text).ok(),
                None => read_directory(bytes, *places.get(hash)?, hash),
            }
        };
        let differences = self.manifest.differences(line, root, &mut read);
        for hash in &differences.unread {
            let text = format!("the directory {hash} is named and nowhere stored");
            report((ProblemKind::MissingBlob, text));
        }
        if differences.is_cut {
            let text = "the snapshot names more than is looked at".to_owned();
            report((ProblemKind::SnapshotDiffers, text));
        }
        let doubts = self.doubts.remove(line.unwrap_or(MAIN)).unwrap_or_default();
        let is_doubted = |path: &TapePath| {
            let covers =
                |doubt: &Option<TapePath>| doubt.as_ref().is_none_or(|doubt| path.is_within(doubt));
            doubts.iter().any(covers)
        };
        let mut faults = differences
            .paths
            .iter()
            .filter_map(|difference| contradiction(difference, is_doubted(&difference.path)));
        for text in faults.by_ref().take(TOLD) {
            report((ProblemKind::SnapshotDiffers, text));
        }
        let more = faults.count();
        if more > 0 {
            let text = format!("{more} more paths differ from what the events say");
            report((ProblemKind::SnapshotDiffers, text));
        }
        // From here on the snapshot counts: what it said is not told again by the next one.
        for difference in &differences.paths {
            let mut said = difference.to_event();
            said.head.branch.clone_from(&event.head.branch);
            self.manifest.apply(seq, &said);
        }
    }

    fn doubt(&mut self, line: &str, scope: Option<TapePath>) {
        const MANY: usize = 256;
        let doubts = self.doubts.entry(line.to_owned()).or_default();
        if scope.is_none() || doubts.len() >= MANY {
            doubts.clear();
            doubts.push(None);
        } else if !doubts.contains(&None) && !doubts.contains(&scope) {
            doubts.push(scope);
        }
    }
}

const MAIN: &str = "main";

/// What a difference says that the events cannot have left out.
fn contradiction(difference: &Difference, is_doubted: bool) -> Option<String> {
    let path = difference.path.to_text();
    let is_proven = match &difference.events {
        Some(Node::File(file)) => file.is_proven,
        _ => !is_doubted,
    };
    if !is_proven {
        return None;
    }
    match (&difference.events, &difference.snapshot) {
        (None, _) => Some(format!(
            "the snapshot has `{path}`, and the events have not"
        )),
        (Some(_), None) => Some(format!(
            "the events have `{path}`, and the snapshot has not"
        )),
        (Some(Node::File(file)), Some(DirectoryEntry::File { mode, hash, .. })) => {
            if hash.is_some() && *hash != file.hash {
                return Some(format!(
                    "`{path}` holds another content than the events say"
                ));
            }
            let both = file.mode.zip(*mode).filter(|(known, told)| known != told);
            both.map(|(known, told)| format!("`{path}` has mode {told:o}, by the events {known:o}"))
        }
        (Some(Node::Directory(known)), Some(DirectoryEntry::Directory { mode, .. })) => {
            let both = known.mode.zip(*mode).filter(|(known, told)| known != told);
            both.map(|(known, told)| format!("`{path}` has mode {told:o}, by the events {known:o}"))
        }
        (Some(_), Some(_)) => Some(format!("`{path}` is something else than the events say")),
    }
}

/// A directory that travels in an earlier snapshot.
fn read_directory(
    bytes: &TapeBytes,
    (offset, len): (u64, usize),
    hash: &BlobHash,
) -> Option<DirectoryEntries> {
    let record = bytes.read_exact_at(offset, len).ok()?;
    let text = to_text(&record);
    let (line, _) = parse_record(&text).ok()?;
    let directories = snapshot_directories(&line);
    let (_, text) = directories.iter().find(|(known, _)| known == hash)?;
    decode_directory(text).ok()
}
