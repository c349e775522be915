//! Watching again where a tape left off: the directory against what the tape says of it.
//!
//! Nothing is known of what happened between: a moved file is one that went and one that came.

use std::sync::Arc;

use super::known::push;
use super::{Capture, Found, Session, Stood, disk};
use crate::model::{Content, FileChange, FileOp, Head, TapePath};
use crate::tape::{Directory, Node, RecordError};

/// Records what is not as the tape says, and watches from then on.
pub(super) fn take_up(session: &mut Session, mut capture: Capture) -> Result<usize, RecordError> {
    let mut changes = 0;
    for path in gone(session, &capture) {
        let removed = FileChange::new(FileOp::Remove, path);
        changes += usize::from(session.found(Found::Change(removed))?);
    }
    capture.start(&mut |path, stood| {
        changes += usize::from(stands_there(session, path, stood)?);
        Ok(())
    })?;
    session.captures.push(capture);
    Ok(changes)
}

/// The paths that the tape knows and that are not there any more, or are of another sort:
/// without those below them.
fn gone(session: &Session, capture: &Capture) -> Vec<TapePath> {
    let mut gone = Vec::new();
    let mut pending: Vec<(Vec<u8>, Arc<Directory>)> = Vec::new();
    if let Some(root) = session.recorder().workspace() {
        pending.push((Vec::new(), Arc::new(root.clone())));
    }
    while let Some((above, directory)) = pending.pop() {
        for (name, node) in directory.entries() {
            let mut path = above.clone();
            push(&mut path, name);
            let sort = match node {
                Node::File(_) => disk::Sort::File,
                Node::Link(_) => disk::Sort::Link,
                Node::Directory(_) => disk::Sort::Directory,
            };
            let is_there = disk::look(&capture.root, &path).is_ok_and(|seen| seen.sort == sort);
            match (is_there, node) {
                (false, _) => gone.extend(TapePath::new(&path)),
                (true, Node::Directory(below)) => pending.push((path, Arc::clone(below))),
                (true, _) => {}
            }
        }
    }
    gone
}

fn stands_there(session: &mut Session, path: TapePath, stood: Stood) -> Result<bool, RecordError> {
    let there = session.recorder().node(&Head::default(), &path);
    let op = match (&stood, there) {
        (Stood::File { .. }, _) => FileOp::Write,
        (Stood::Link(target), _) => FileOp::Symlink {
            target: target.clone(),
        },
        (Stood::Directory(_), Some(Node::Directory(_))) => FileOp::Chmod,
        (Stood::Directory(_), _) => FileOp::Mkdir,
    };
    let mut change = FileChange::new(op, path);
    match stood {
        Stood::File {
            mode,
            hash,
            len,
            bytes,
        } => {
            change.mode = Some(mode);
            change.content = match bytes {
                Some(bytes) => Content::Bytes(bytes),
                None => Content::Unstored {
                    hash,
                    len: Some(len),
                },
            };
        }
        Stood::Directory(mode) => change.mode = Some(mode),
        Stood::Link(_) => {}
    }
    session.found(Found::Change(change))
}
