//! A workspace put back to a step: what the tape itself made, and nobody changed since.
//!
//! Only paths that calls of the run wrote are looked at. What stands there must be a
//! version that the tape knows; anything else is somebody's own, and a conflict. What the
//! path held at the step must be known for certain; else it is left alone, and listed. So is
//! what lost a secret on the tape: no placeholder is ever written into a workspace.

use std::collections::BTreeSet;

use super::{Debugger, Spot};
use crate::model::{Certainty, Cursor, EntryKind, TapePath};
use crate::redact::has_placeholder;
use crate::state::{ContentRef, FileState, PathId};
use crate::text::SafeText;
pub use crate::transaction::{
    Committed, Conflict, Done, Fingerprint, Pending, Plan, Preview, Previewed, Recovery, Status,
    TransactionError, Workspace,
};
use crate::transaction::{Operation, Supply, Want};

/// What puts a workspace back to a step.
#[derive(Debug)]
pub struct Restore {
    /// What is to be committed.
    pub plan: Plan,
    /// What is left as it is, sorted by path.
    pub left: Vec<LeftAlone>,
}

/// A path that is left as it is, since nobody knows for certain what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftAlone {
    /// The path.
    pub path: TapePath,
    /// Why.
    pub reason: LeftReason,
}

/// Why a path is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeftReason {
    /// The run wrote a file outside its workspace.
    #[error("it lies outside the workspace")]
    OutsideWorkspace,
    /// What it held at the step is known this well only.
    #[error("what it held then is {0}")]
    Doubtful(Certainty),
    /// It held a secret, or its name does.
    #[error("it is redacted: the tape has placeholders where its secrets stood")]
    Redacted,
    /// The run wrote it with a secret, and what stands there now may be that.
    #[error("what the run wrote there is redacted, so nobody knows whether it still stands there")]
    Unrecognised,
    /// Nobody looked whether it was there at the step.
    #[error("nobody saw whether it was there then")]
    Unseen,
    /// The bytes cannot be read from the tape.
    #[error("{0}")]
    Unreadable(String),
}

impl LeftReason {
    /// The fixed word, as printed by `--json`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::OutsideWorkspace => "outside-workspace",
            Self::Doubtful(certainty) => certainty.as_str(),
            Self::Redacted => Certainty::Redacted.as_str(),
            Self::Unrecognised => "unrecognised",
            Self::Unseen => "unseen",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

/// What calls of a run made of a path.
struct Made {
    /// Each version, and what they found before the first one; the last one last. None: no call
    /// made any.
    versions: Vec<Fingerprint>,
    /// One of them is known with placeholders only.
    is_redacted: bool,
}

impl Debugger {
    /// What puts a workspace back to a place. Reads each file that the run wrote, in the
    /// workspace and on the tape; writes nothing.
    pub fn restore(&self, to: Spot, workspace: &Workspace) -> Result<Restore, TransactionError> {
        let line = self.line_of(to);
        let at = Cursor {
            branch: line,
            ..to.cursor
        };
        let lines = BTreeSet::from([line, self.tape.index.current_line]);
        let mut touched = BTreeSet::new();
        for line in &lines {
            let ends = [(0, *line), (self.end(*line).cursor.position, *line)];
            let [start, end] = ends.map(|(position, branch)| Cursor { position, branch });
            touched.extend(self.state.touched_between(start, end));
        }
        let mut restore = Restore {
            plan: Plan::default(),
            left: Vec::new(),
        };
        for node in touched {
            let Some(path) = self.state.paths.path(node) else {
                continue;
            };
            let known = self.made(node, &path, &lines);
            let Some(last) = known.versions.last() else {
                continue;
            };
            let want = match self.want(at, node, &path) {
                Ok(want) => want,
                Err(reason) => {
                    restore.left.push(LeftAlone { path, reason });
                    continue;
                }
            };
            let now = workspace.look(&path)?;
            let base = known.versions.iter().find(|version| version.agrees(&now));
            if base.is_none() && known.is_redacted {
                let reason = LeftReason::Unrecognised;
                restore.left.push(LeftAlone { path, reason });
                continue;
            }
            let base = base.unwrap_or(last).clone();
            restore.plan.operations.push(Operation { path, base, want });
        }
        restore.left.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(restore)
    }

    /// What calls of the run made of a path.
    fn made(&self, node: PathId, path: &TapePath, lines: &BTreeSet<u16>) -> Made {
        let mut is_redacted = false;
        let blobs = &self.tape.index.blobs;
        let mut versions = Vec::new();
        for line in lines {
            let mut position = u32::MAX;
            while let Some(cursor) = self.state.version_before(*line, node, position) {
                position = cursor.position - 1;
                let state = self.state.at(blobs, cursor, node);
                let made = state.filter(|state| !state.is_outside);
                is_redacted |= made
                    .as_ref()
                    .is_some_and(|state| state.certainty == Certainty::Redacted);
                let made = made.and_then(|state| self.fingerprint(&state, path));
                versions.extend(made.map(|made| (cursor.position, made)));
            }
        }
        versions.sort_by_key(|(position, _)| *position);
        let versions = versions.into_iter().map(|(_, made)| made);
        let mut made = Made {
            versions: versions.collect(),
            is_redacted,
        };
        if made.versions.is_empty() {
            return made;
        }
        let first = lines.first().copied().unwrap_or_default();
        let start = Cursor {
            position: 0,
            branch: first,
        };
        let found = match self.state.at(blobs, start, node) {
            Some(state) => {
                made.is_redacted |= state.certainty == Certainty::Redacted;
                self.fingerprint(&state, path)
            }
            None => self
                .state
                .is_known_absent(start, node)
                .then_some(Fingerprint::Absent),
        };
        // What was taken away by a restore is nobody's loss if it is put back.
        let found = found.unwrap_or(Fingerprint::Absent);
        made.versions.insert(0, found);
        made
    }

    fn want(&self, at: Cursor, node: PathId, path: &TapePath) -> Result<Want, LeftReason> {
        if path.is_outside() {
            return Err(LeftReason::OutsideWorkspace);
        }
        if has_placeholder(path.as_bytes()) {
            return Err(LeftReason::Redacted);
        }
        let Some(state) = self.state.at(&self.tape.index.blobs, at, node) else {
            return if self.state.is_known_absent(at, node) {
                Ok(Want::Pruned)
            } else {
                Err(LeftReason::Unseen)
            };
        };
        match state.certainty {
            Certainty::Absent => return Ok(Want::Pruned),
            Certainty::Exact => {}
            Certainty::Redacted => return Err(LeftReason::Redacted),
            doubt => return Err(LeftReason::Doubtful(doubt)),
        }
        let unreadable = |why: String| LeftReason::Unreadable(why);
        match (state.kind, state.content) {
            (EntryKind::Directory, _) => Ok(Want::Directory { mode: state.mode }),
            (EntryKind::Link, ContentRef::Target(position)) => {
                let target = self.link_target(position, path);
                let missing = || unreadable("the text of the link cannot be read".to_owned());
                let target = target.ok_or_else(missing)?;
                if has_placeholder(&target) {
                    return Err(LeftReason::Redacted);
                }
                Ok(Want::Link(target))
            }
            (EntryKind::File, ContentRef::Blob(id)) => {
                let bytes = self.blob_bytes(id, state.since);
                let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
                Ok(Want::File {
                    content: Supply::Bytes(bytes),
                    mode: state.mode,
                    mtime: None,
                })
            }
            _ => Err(LeftReason::Doubtful(Certainty::Unknown)),
        }
    }

    fn fingerprint(&self, state: &FileState, path: &TapePath) -> Option<Fingerprint> {
        if state.certainty == Certainty::Absent {
            return Some(Fingerprint::Absent);
        }
        match (state.kind, state.content) {
            (EntryKind::Directory, _) => Some(Fingerprint::Directory { mode: state.mode }),
            (EntryKind::Link, ContentRef::Target(position)) => {
                Some(Fingerprint::Link(self.link_target(position, path)?))
            }
            (EntryKind::File, ContentRef::Blob(id)) => {
                let (hash, len) = self.blob_head(id, state.since);
                Some(Fingerprint::File {
                    hash: hash?,
                    len,
                    mode: state.mode,
                })
            }
            _ => None,
        }
    }
}

impl LeftAlone {
    /// The path, safe to show.
    pub fn name(&self) -> SafeText {
        SafeText::from_bytes(self.path.as_bytes())
    }
}
