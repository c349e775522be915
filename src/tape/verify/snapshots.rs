//! Every snapshot against the tree that the events before it make.

use std::collections::HashMap;

use crate::model::{
    BlobHash, Body, Event, FileOp, ProblemKind, Scope, Seq, SnapshotReason, TapePath,
};
use crate::tape::TapeBytes;
use crate::tape::manifest::{Difference, Differences, Node, Place, Proven};
use crate::tape::wire::v1::{DirectoryEntry, decode_directory};

/// Differences of one snapshot that are told one by one.
const TOLD: usize = 32;

#[derive(Debug)]
pub(super) struct Snapshots {
    files: Proven,
    /// Paths of each line whose files may have come or gone unseen since its last snapshot;
    /// `None` is every path.
    doubts: HashMap<String, Vec<Option<TapePath>>>,
    lines: Vec<String>,
}

type Fault = (ProblemKind, String);

impl Snapshots {
    pub(super) fn new(bytes: TapeBytes) -> Self {
        Self {
            files: Proven::new(bytes),
            doubts: HashMap::new(),
            lines: vec![MAIN.to_owned()],
        }
    }

    /// Takes an event; where it is a snapshot, compares it. `place` is where it stands.
    pub(super) fn take(
        &mut self,
        seq: Seq,
        event: &Event,
        place: Place,
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
                directories,
                reason,
                ..
            } => {
                // Of what was there when the run began, the snapshot is the first to tell.
                if *reason == SnapshotReason::Start {
                    self.doubt(line, None);
                }
                for (hash, text) in directories {
                    if BlobHash::of(text) != *hash {
                        let text = format!("the text of the directory {hash} is damaged");
                        report((ProblemKind::BadHash, text));
                    } else if decode_directory(text).is_err() {
                        let text = format!("the text of the directory {hash} cannot be read");
                        report((ProblemKind::BadField, text));
                    }
                }
            }
            _ => {}
        }
        let differences = self.files.apply(seq, event, place);
        if let Body::Snapshot { .. } = &event.body {
            self.tell(event, &differences, report);
        }
    }

    /// Whether the recorded pre-image of a change is what the events say.
    fn pre_image(&self, event: &Event, change: &crate::model::FileChange) -> Option<Fault> {
        let was = change.was?;
        let path = change.path.to_text();
        match self.files.manifest.get(&event.head, &change.path) {
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

    /// Tells where a snapshot and the events before it disagree.
    fn tell(&mut self, event: &Event, differences: &Differences, mut report: impl FnMut(Fault)) {
        let line = event.head.branch.as_deref().unwrap_or(MAIN);
        for hash in &differences.unread {
            let text = format!("the directory {hash} is named and nowhere stored");
            report((ProblemKind::MissingBlob, text));
        }
        if differences.is_cut {
            let text = "the snapshot names more than is looked at".to_owned();
            report((ProblemKind::SnapshotDiffers, text));
        }
        let doubts = self.doubts.remove(line).unwrap_or_default();
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
