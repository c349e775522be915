//! Where the history of a tape can be cut off, and what of it the rest still needs.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use crate::model::{
    BlobHash, Body, Content, Event, FileChange, FileOp, Seq, SnapshotReason, StepKind, TapePath,
};
use crate::tape::index::TransactionEntry;
use crate::tape::manifest::{Directory, Node, Proven};
use crate::tape::{BlobSource as _, Index, Tape};

/// What stands in the place of a tape's history.
pub(in crate::tape) struct Cut {
    /// The first event that is kept as it is.
    pub(super) from: Seq,
    /// Steps of the main line before it.
    pub(super) steps: u32,
    /// Directories of dropped snapshots: a later one may name them again.
    pub(super) directories: HashMap<BlobHash, Arc<[u8]>>,
    /// What is kept of the events before it: contents, under the numbers of the events that
    /// held them, and the snapshot, under a number that is free.
    pub(super) kept: HashMap<u64, Event>,
}

/// Cuts at an event or as little before it as it takes; inside, why that is not possible.
pub(super) fn cut(tape: &Tape, asked: Seq) -> io::Result<Result<Cut, String>> {
    let Some(position) = place(&tape.index, asked) else {
        let why = "before that event every step is still in use: a call, a transaction or \
                   another branch reaches over it";
        return Ok(Err(why.to_owned()));
    };
    let from = tape.index.events.seq(position);
    let mut files = Proven::new(tape.bytes.clone());
    let mut redacted = HashSet::new();
    let mut dropped = HashMap::new();
    for earlier in 0..position {
        let event = tape.event(earlier)?;
        if let Body::File(change) = &event.body
            && let Content::Blob {
                hash,
                redacted: true,
                ..
            } = &change.content
        {
            redacted.insert(*hash);
        }
        let offset = tape
            .index
            .events
            .get(earlier)
            .map_or(0, |event| event.offset);
        let len = match event.body {
            Body::Snapshot { .. } => tape.record(earlier)?.len(),
            _ => 0,
        };
        files.apply(tape.index.events.seq(earlier), &event, (offset, len));
        if let Body::Snapshot { directories, .. } = event.body {
            dropped.extend(directories);
        }
    }
    let (root, directories) = files.manifest.snapshot(None, &|_| false);
    let mut paths = HashMap::new();
    if let Some(workspace) = files.manifest.workspace(None) {
        collect(workspace, &mut Vec::new(), &mut paths);
    }
    let mut needed: HashSet<BlobHash> = paths.keys().copied().collect();
    for later in position..tape.index.events.len() {
        needed.extend(named_by(&tape.event(later)?));
    }
    let mut kept = HashMap::new();
    for name in needed {
        let blobs = &tape.index.blobs;
        let holder = blobs.find(&name).and_then(|id| blobs.position(id));
        let Some(holder) = holder.filter(|holder| *holder < position) else {
            continue;
        };
        let Ok(bytes) = tape.blob(&name) else {
            continue;
        };
        let len = bytes.len() as u64;
        let event = content_of(name, len, redacted.contains(&name), paths.get(&name));
        kept.insert(tape.index.events.seq(holder).0, event);
    }
    let is_free = |seq: &u64| !kept.contains_key(seq);
    let Some(free) = (1..from.0).rev().find(is_free) else {
        return Ok(Err(
            "every event before it holds a content that is needed".to_owned()
        ));
    };
    let snapshot = Body::Snapshot {
        root,
        reason: SnapshotReason::Start,
        directories,
    };
    kept.insert(free, Event::new(snapshot));
    let step = tape.index.events.get(position).and_then(|event| event.step);
    let number = step.and_then(|step| tape.index.number_of(step));
    Ok(Ok(Cut {
        from,
        steps: number.map_or(0, |number| number.0.saturating_sub(1)),
        directories: dropped,
        kept,
    }))
}

/// The last event, at most this one, that opens a step and behind which no event belongs to
/// an earlier step, a transaction that began earlier, or a branch that left earlier.
fn place(index: &Index, asked: Seq) -> Option<u32> {
    let mut first_step = u32::MAX;
    let mut first_left = u32::MAX;
    for position in (1..index.events.len()).rev() {
        let step = index.events.get(position)?.step?;
        let entry = index.steps.get(step)?;
        first_step = first_step.min(step);
        let mut line = entry.lane.line;
        while let Some((parent, left)) = index.branches.get(usize::from(line))?.parent {
            first_left = first_left.min(left);
            line = parent;
        }
        let is_open = || {
            let reaches_over = |txn: &TransactionEntry| {
                txn.begin < position && txn.end.is_none_or(|end| end >= position)
            };
            index.transactions.iter().any(reaches_over)
        };
        if index.events.seq(position) <= asked
            && first_step == step
            && entry.opened == position
            && entry.lane.line == 0
            && entry.kind != StepKind::Gap
            && first_left >= position
            && !is_open()
        {
            return Some(position);
        }
    }
    None
}

/// Where each content of a tree is.
fn collect(directory: &Directory, above: &mut Vec<u8>, files: &mut HashMap<BlobHash, TapePath>) {
    for (name, node) in directory.entries() {
        let len = above.len();
        if !above.is_empty() {
            above.push(b'/');
        }
        above.extend_from_slice(name);
        match node {
            Node::File(file) => {
                let known = file.hash.filter(|_| file.is_proven);
                if let (Some(hash), Ok(path)) = (known, TapePath::new(&*above)) {
                    files.entry(hash).or_insert(path);
                }
            }
            Node::Directory(child) => collect(child, above, files),
            Node::Link(_) => {}
        }
        above.truncate(len);
    }
}

/// Blobs that an event names without holding them, its file's content aside.
fn named_by(event: &Event) -> Vec<BlobHash> {
    match &event.body {
        Body::Prompt { attachments, .. } | Body::ToolResult { attachments, .. } => {
            attachments.clone()
        }
        Body::Other { fields, .. } => fields
            .values()
            .filter_map(|value| value.as_str()?.parse().ok())
            .collect(),
        _ => Vec::new(),
    }
}

/// The event that keeps a content. Of a file with placeholders, it says that they are there.
fn content_of(name: BlobHash, len: u64, redacted: bool, path: Option<&TapePath>) -> Event {
    let content = Content::Blob {
        hash: name,
        len,
        redacted,
    };
    Event::new(match path.filter(|_| redacted) {
        Some(path) => Body::File(FileChange {
            content,
            ..FileChange::new(FileOp::Write, path.clone())
        }),
        None => Body::Blob(content),
    })
}
