//! The tape of a transaction: what was there, what each call said and changed, how it ended.
//!
//! Written as it happens, so that it can be read while it grows and tells of a transaction
//! whose holder was killed. Of the files, only layers and the base are read.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::base::Base;
use super::outcome::{Outcome, Outcomes, Written};
use super::plan::Fingerprint;
use crate::capture::{Caps, Capture, CaptureError, CaptureOptions, Hearing, Stood};
use crate::model::{
    BlobHash, Body, Content, Event, FileChange, FileOp, Header, Outcome as Ended, Seq,
    SnapshotReason, TapePath,
};
use crate::sandbox::{self, Cause, Exit, SandboxError, Status};
use crate::tape::{Directory, FileNode, Node, RecordError, Recorder, RecorderOptions};

/// The tape, while the transaction is open.
#[derive(Debug)]
pub(super) struct Account {
    recorder: Recorder,
    /// What of the workspace the tape covers.
    capture: Capture,
    txn: String,
    calls: u64,
    /// The bytes of files in layers, by name.
    hashes: BTreeMap<PathBuf, (Written, BlobHash)>,
}

/// What a path is, as far as an event would say it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Absent,
    File { hash: Option<BlobHash>, mode: u32 },
    Directory { mode: u32 },
    Link(Vec<u8>),
}

impl Seen {
    const fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }

    fn is_of_sort(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Account {
    /// Begins the tape: what stands in the workspace goes on it, and into the base.
    pub(super) fn begin(
        tape: &Path,
        txn: &str,
        workspace: &Path,
        covers: Map<String, Value>,
        base: &mut Base,
    ) -> Result<Self, AccountError> {
        let options = CaptureOptions {
            hearing: Hearing::Never,
            ..CaptureOptions::default()
        };
        let mut capture = Capture::workspace(workspace, options)?;
        let mut all = capture.covers();
        all.extend(covers);
        let header = Header {
            root: Some(workspace.to_string_lossy().into_owned()),
            covers: all,
            ..Header::default()
        };
        let mut recorder = Recorder::create(tape, header, RecorderOptions::default())?;
        capture.start(&mut |path, stood| {
            let node = match stood {
                Stood::Directory(mode) => {
                    let mut directory = Directory::default();
                    directory.mode = Some(mode);
                    Node::Directory(Arc::new(directory))
                }
                Stood::Link(target) => Node::Link(target.into()),
                Stood::File {
                    mode,
                    hash,
                    len,
                    bytes,
                } => {
                    if let Some(hash) = hash {
                        base.know(&path, hash, len);
                        if let Some(bytes) = bytes.filter(|_| !recorder.holds(&hash)) {
                            recorder.append(Event::new(Body::Blob(Content::Bytes(bytes))))?;
                        }
                    }
                    Node::File(FileNode {
                        mode: Some(mode),
                        hash,
                        len: Some(len),
                        is_proven: hash.is_some(),
                    })
                }
            };
            recorder.found(&path, node);
            Ok::<(), RecordError>(())
        })?;
        recorder.snapshot(SnapshotReason::Start)?;
        let mut account = Self {
            recorder,
            capture,
            txn: txn.to_owned(),
            calls: 0,
            hashes: BTreeMap::new(),
        };
        account.edge(Body::TxnBegin)?;
        Ok(account)
    }

    /// One of the edges of the transaction, on disk before this returns.
    pub(super) fn edge(&mut self, body: Body) -> Result<Seq, RecordError> {
        let mut event = Event::new(body);
        event.head.txn = Some(self.txn.clone());
        self.recorder.append(event)
    }

    /// The tape, and what the transaction is called on it: for what is done outside.
    pub(super) fn parts(&mut self) -> (&mut Recorder, &str) {
        (&mut self.recorder, &self.txn)
    }

    /// A call begins; its id.
    pub(super) fn call(&mut self, command: &sandbox::Command) -> Result<String, RecordError> {
        self.calls += 1;
        let call = format!("c{}", self.calls);
        let words = command.arguments.iter();
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        let timeout = command.timeout.map(|timeout| timeout.as_millis() as u64);
        let mut event = Event::new(Body::ToolCall {
            name: "exec".to_owned(),
            arguments: json!({ "command": words, "timeout_ms": timeout }),
        });
        event.head.title = Some(words.join(" "));
        self.append(event, Some(&call))?;
        Ok(call)
    }

    /// What a call came to. `left_out` changes of its are not on the tape.
    pub(super) fn result(
        &mut self,
        call: &str,
        exit: &Result<Exit, SandboxError>,
        said: Said,
        left_out: usize,
    ) -> Result<(), RecordError> {
        let mut output = String::from_utf8_lossy(&said.kept).into_owned();
        let (outcome, code, duration) = match exit {
            Ok(exit) => {
                let outcome = match (exit.cause, exit.status) {
                    (Cause::Timeout | Cause::Asked, _) => Ended::Interrupted,
                    (Cause::Itself, Status::Code(0)) => Ended::Ok,
                    (Cause::Itself, _) => Ended::Failed,
                };
                (outcome, Some(exit.status.code()), Some(exit.duration))
            }
            Err(error @ SandboxError::NotStarted(_)) => {
                output.push_str(&error.to_string());
                (Ended::Failed, Some(error.code()), None)
            }
            Err(error) => {
                output.push_str(&error.to_string());
                (Ended::Interrupted, None, None)
            }
        };
        let mut detail = Map::new();
        for (what, count) in [("dropped", said.dropped), ("left_out", left_out as u64)] {
            if count > 0 {
                detail.insert(what.to_owned(), count.into());
            }
        }
        let event = Event::new(Body::ToolResult {
            outcome,
            exit: code.map(i32::from),
            output,
            duration: duration.map(micros),
            attachments: Vec::new(),
            detail: if detail.is_empty() {
                Value::Null
            } else {
                Value::Object(detail)
            },
        });
        self.append(event, Some(call))
    }

    /// What became of the files between two moments; how many paths of them the tape leaves
    /// out. Without a call, somebody it left behind did it.
    pub(super) fn changes(
        &mut self,
        (before, after): (&Outcomes, &Outcomes),
        base: &Base,
        call: Option<&str>,
    ) -> Result<usize, AccountError> {
        let mut left_out = 0;
        let mut pending = Vec::new();
        let both = before.keys().chain(after.keys());
        let both: std::collections::BTreeSet<&TapePath> = both.collect();
        for path in both {
            if before.get(path) == after.get(path) {
                continue;
            }
            let (old, new) = (self.seen(path, before, base), self.seen(path, after, base));
            if self
                .capture
                .leaves_out(path, old.is_directory() || new.is_directory())
            {
                left_out += 1;
                continue;
            }
            // What was below a directory went with it.
            let is_covered = path.parent().is_some_and(|above| {
                self.seen(&above, before, base).is_directory()
                    && !self.seen(&above, after, base).is_directory()
            });
            if old != Seen::Absent && !old.is_of_sort(&new) && !is_covered {
                self.change(FileChange::new(FileOp::Remove, path.clone()), call)?;
            }
            if new != Seen::Absent {
                pending.push((path, old, new));
            }
        }
        for (path, old, new) in pending {
            let is_new = !old.is_of_sort(&new);
            let (op, mode) = match (&old, new) {
                (Seen::Directory { mode: old }, Seen::Directory { mode }) if *old == mode => {
                    continue;
                }
                (_, Seen::Directory { mode }) if is_new => (FileOp::Mkdir, Some(mode)),
                (_, Seen::Directory { mode }) => (FileOp::Chmod, Some(mode)),
                (old, Seen::Link(target)) if *old == Seen::Link(target.clone()) => continue,
                (_, Seen::Link(target)) => (FileOp::Symlink { target }, None),
                (old, Seen::File { .. }) => {
                    if let Some(Outcome::File(written)) = after.get(path) {
                        self.write(path, written, old, call)?;
                    }
                    continue;
                }
                (_, Seen::Absent) => continue,
            };
            let change = FileChange {
                mode,
                ..FileChange::new(op, path.clone())
            };
            self.change(change, call)?;
        }
        Ok(left_out)
    }

    fn write(
        &mut self,
        path: &TapePath,
        written: &Written,
        old: &Seen,
        call: Option<&str>,
    ) -> Result<(), AccountError> {
        let keep = Caps::default().keep;
        let unreadable = |source| AccountError::Layer {
            path: written.content.clone(),
            source,
        };
        let content = if written.len <= keep {
            let mut bytes = Vec::new();
            let file = sandbox::open(&written.content).map_err(unreadable)?;
            file.take(keep)
                .read_to_end(&mut bytes)
                .map_err(unreadable)?;
            let hash = BlobHash::of(&bytes);
            self.hashes
                .insert(written.content.clone(), (written.clone(), hash));
            Content::Bytes(bytes.into())
        } else {
            Content::Unstored {
                hash: Some(self.hash(written).map_err(unreadable)?),
                len: Some(written.len),
            }
        };
        let hash = self.hash(written).map_err(unreadable)?;
        let mode = Some(written.mode);
        let change = match old {
            Seen::File { hash: old, mode } if *old == Some(hash) => {
                if *mode == written.mode {
                    return Ok(());
                }
                FileChange::new(FileOp::Chmod, path.clone())
            }
            _ => FileChange {
                content,
                ..FileChange::new(FileOp::Write, path.clone())
            },
        };
        self.change(FileChange { mode, ..change }, call)
    }

    /// The name of the bytes of a file in a layer, which is read once.
    pub(super) fn hash(&mut self, written: &Written) -> io::Result<BlobHash> {
        if let Some((known, hash)) = self.hashes.get(&written.content)
            && known == written
        {
            return Ok(*hash);
        }
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut sandbox::open(&written.content)?, &mut hasher)?;
        let hash = BlobHash::from_digest(*hasher.finalize().as_bytes());
        self.hashes
            .insert(written.content.clone(), (written.clone(), hash));
        Ok(hash)
    }

    fn seen(&self, path: &TapePath, outcomes: &Outcomes, base: &Base) -> Seen {
        match outcomes.get(path) {
            Some(Outcome::Absent) => Seen::Absent,
            Some(Outcome::Directory { mode }) => Seen::Directory { mode: *mode },
            Some(Outcome::Link(target)) => Seen::Link(target.clone()),
            Some(Outcome::File(written)) => {
                let known = self.hashes.get(&written.content);
                let known = known.filter(|(known, _)| known == written);
                Seen::File {
                    hash: known.map(|(_, hash)| *hash),
                    mode: written.mode,
                }
            }
            None => match base.known(path) {
                Fingerprint::Absent | Fingerprint::Other => Seen::Absent,
                Fingerprint::File { hash, mode, .. } => Seen::File {
                    hash: Some(hash),
                    mode: mode.unwrap_or_default(),
                },
                Fingerprint::Directory { mode } => Seen::Directory {
                    mode: mode.unwrap_or_default(),
                },
                Fingerprint::Link(target) => Seen::Link(target),
                Fingerprint::Unread => Seen::File {
                    hash: None,
                    mode: 0,
                },
            },
        }
    }

    fn change(&mut self, change: FileChange, call: Option<&str>) -> Result<(), AccountError> {
        Ok(self.append(Event::new(Body::File(change)), call)?)
    }

    fn append(&mut self, mut event: Event, call: Option<&str>) -> Result<(), RecordError> {
        event.head.txn = Some(self.txn.clone());
        event.head.call = call.map(str::to_owned);
        self.recorder.append(event).map(|_| ())
    }

    /// Ends the tape.
    pub(super) fn close(self) -> Result<(), RecordError> {
        self.recorder.close(Ended::Ok).map(|_| ())
    }
}

/// What a command said, as much of it as a tape keeps.
#[derive(Debug, Default)]
pub(super) struct Said {
    kept: Vec<u8>,
    dropped: u64,
}

impl Said {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let room = sandbox::Command::CAPTURE as usize - self.kept.len();
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.kept.extend_from_slice(kept);
        self.dropped += (bytes.len() - kept.len()) as u64;
    }
}

/// What happened cannot be told.
#[derive(Debug, thiserror::Error)]
pub(super) enum AccountError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("`{}`: {source}", path.display())]
    Layer { path: PathBuf, source: io::Error },
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
