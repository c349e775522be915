//! An answer of the workbench, in the terms in which calls are compared.
//!
//! Nothing is run here, and no tape is read: who asks brings what was recorded.

use std::collections::{BTreeMap, BTreeSet};

use super::leaves::Leaf;
use super::reproduce::{CallContent, FileAfter, Standing, differences, is_mix};
use super::volatile::Volatile;
use super::workbench::{Answer, Tree, Words};
use crate::checkout::{Entry, Item};
use crate::model::{BlobHash, Content, FileOp, TapePath};

const NOTHING: FileAfter = FileAfter {
    what: Standing::Nothing,
    mode: None,
};

impl CallContent {
    /// What an answer came to that was given on this tree. Of the files that are left out, it
    /// says nothing.
    pub fn of_answer(
        answer: &Answer,
        tree: &Tree<'_>,
        is_left_out: &dyn Fn(&TapePath) -> bool,
    ) -> Self {
        let mut files = BTreeMap::new();
        for change in &answer.changes {
            let path = change.path.clone();
            let what = match &change.op {
                FileOp::Remove => {
                    files.extend(leaves_at(tree, &path).map(|path| (path, NOTHING)));
                    continue;
                }
                // That a directory is there is told by what is in it.
                FileOp::Mkdir => continue,
                FileOp::Symlink { target } => Standing::Link(target.clone()),
                FileOp::Chmod => match tree.get(&path).map(|entry| &entry.item) {
                    Some(Item::Directory) => Standing::Directory,
                    Some(Item::File(hash)) => Standing::File(*hash),
                    _ => continue,
                },
                FileOp::Write | FileOp::Observe | FileOp::Rename { .. } => {
                    Standing::File(match &change.content {
                        Content::Bytes(bytes) => Some(BlobHash::of(bytes)),
                        _ => None,
                    })
                }
            };
            let mode = change.mode;
            files.insert(path, FileAfter { what, mode });
        }
        for (path, sort) in &answer.refused {
            if let Ok(path) = TapePath::new(path.as_os_str().as_encoded_bytes()) {
                let what = Standing::Special(sort);
                files.insert(path, FileAfter { what, mode: None });
            }
        }
        files.retain(|path, _| !is_left_out(path));
        Self {
            outcome: answer.outcome,
            exit: answer.exit,
            output: Some(answer.output.clone()),
            files: Some(files),
        }
    }
}

/// Where an answer differs from what was recorded. `is` is what the answer came to. `trims`:
/// the agent that was recorded hands over both streams without the blank lines around them.
pub fn leaves_of_answer(
    (was, left): (&CallContent, &Volatile),
    answer: &Answer,
    (mut is, right): (CallContent, &Volatile),
    trims: bool,
) -> Vec<Leaf> {
    if let (Some(said), Some(output)) = (&was.output, &mut is.output) {
        let is_alike = answer.words == Words::AnyOrder && lines(said, left) == lines(output, right)
            || answer.streams.as_ref().is_some_and(|(out, error)| {
                is_mix((said, left), (out, error), right) || trims && is_trimmed(said, out, error)
            });
        if is_alike {
            // The order of two streams is nobody's to decide.
            output.clone_from(said);
        }
    }
    differences((was, left), (&is, right))
}

/// The lines of a list of files, each once, by whatever name its directory goes.
fn lines<'t>(text: &'t str, volatile: &Volatile) -> BTreeSet<&'t str> {
    let lines = text.trim_end().lines();
    lines.map(|line| volatile.below_root(line)).collect()
}

/// The files and links of a tree at a path, or below it.
fn leaves_at(tree: &Tree<'_>, path: &TapePath) -> impl Iterator<Item = TapePath> {
    let entries = tree.get(path).into_iter().chain(tree.below(path));
    let is_leaf = |entry: &&Entry| !matches!(entry.item, Item::Directory);
    let leaves = entries.filter(is_leaf).map(|entry| entry.path.clone());
    leaves.collect::<Vec<_>>().into_iter()
}

/// Whether what was recorded is both streams, one after the other and without the blank lines
/// around them, as Claude Code hands them over.
fn is_trimmed(recorded: &str, output: &str, error: &str) -> bool {
    let parts = [output.trim(), error.trim()];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n") == recorded.trim()
}
