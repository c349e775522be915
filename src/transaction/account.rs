//! The tape of a transaction: what was there, what each call said and changed, how it ended.
//!
//! Written as it happens, so that it can be read while it grows and tells of a transaction
//! whose holder was killed. Of the files, only layers and the base are read.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::base::Base;
use super::beside::{Aside, Whose, aside_on};
use super::call;
use super::open::Begin;
use super::outcome::{News, Outcome, Outcomes, Written};
use super::plan::Fingerprint;
use crate::capture::{Caps, Capture, CaptureError, CaptureOptions, Hearing, Stood};
use crate::model::{
    BlobHash, Body, Content, Event, FileChange, FileOp, Header, Outcome as Ended, Seq,
    SnapshotReason, TapePath,
};
use crate::sandbox;
use crate::tape::{RecordError, Recorder, RecorderOptions};

/// The tape, while the transaction is open.
#[derive(Debug)]
pub(super) struct Account {
    recorder: Recorder,
    /// What of the workspace the tape covers.
    capture: Capture,
    txn: String,
    calls: u64,
    /// How the run ends, as far as is known.
    ended: Ended,
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
        begin: &Begin,
        workspace: &Path,
        covers: Map<String, Value>,
        base: &mut Base,
    ) -> Result<Self, AccountError> {
        let options = CaptureOptions {
            hearing: Hearing::Never,
            tape: Some(begin.tape.clone()),
            ..CaptureOptions::default()
        };
        let mut capture = Capture::workspace(workspace, options)?;
        let mut all = capture.covers();
        all.extend(covers);
        let seen = begin.sandbox.seen_at.as_deref().unwrap_or(workspace);
        let (parent, edit) = begin.fork.clone().unzip();
        let header = Header {
            root: Some(seen.to_string_lossy().into_owned()),
            covers: all,
            parent,
            edit,
            ..Header::default()
        };
        let options = RecorderOptions {
            redacting: begin.redacting.clone(),
            ..RecorderOptions::default()
        };
        let mut recorder = Recorder::create(&begin.tape, header, options)?;
        capture.start(&mut |path, stood| {
            let node = stood.node();
            if let Stood::File {
                hash: Some(hash),
                len,
                bytes,
                ..
            } = stood
            {
                base.know(&path, hash, len);
                if let Some(bytes) = bytes.filter(|_| !recorder.holds(&hash)) {
                    recorder.append(Event::new(Body::Blob(Content::Bytes(bytes))))?;
                }
            }
            recorder.found(&path, node)
        })?;
        recorder.snapshot(SnapshotReason::Start)?;
        let mut account = Self {
            recorder,
            capture,
            txn: begin.id.clone(),
            calls: 0,
            hashes: BTreeMap::new(),
            ended: Ended::Ok,
        };
        if let Some(text) = begin.prompt.clone() {
            account.recorder.append(Event::new(Body::Prompt {
                role: "user".to_owned(),
                text,
                attachments: Vec::new(),
            }))?;
        }
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
        self.recorder.know(&command.environment);
        self.calls += 1;
        let call = format!("c{}", self.calls);
        self.append(call::begins(command), Some(&call))?;
        Ok(call)
    }

    /// Something that belongs to a call, or to the whole of it.
    pub(super) fn append(
        &mut self,
        mut event: Event,
        call: Option<&str>,
    ) -> Result<(), RecordError> {
        event.head.txn = Some(self.txn.clone());
        event.head.call = call.map(str::to_owned);
        self.recorder.append(event).map(|_| ())
    }

    /// Something that happened beside a call, and says itself where it belongs.
    pub(super) fn aside(&mut self, aside: Aside) -> Result<(), RecordError> {
        let Aside { mut event, like } = aside;
        event.head.txn = Some(self.txn.clone());
        aside_on(&mut self.recorder, event, like)
    }

    /// The run ends like this.
    pub(super) fn end_as(&mut self, ended: Ended) {
        self.ended = ended;
    }

    /// What became of files since the tape was told of them last. A file is read even if its stat
    /// is what it was. Where no call did it, somebody whom one left behind did.
    pub(super) fn changes(
        &mut self,
        (before, news): (&Outcomes, &News),
        base: &Base,
        call: Whose<'_>,
    ) -> Result<Told, AccountError> {
        let after = |path: &TapePath| match news.get(path) {
            Some(now) => now.as_ref(),
            None => before.get(path),
        };
        let mut told = Told::default();
        let mut pending = Vec::new();
        for (path, now) in news {
            let (was, now) = (before.get(path), now.as_ref());
            if was == now && !matches!(now, Some(Outcome::File(_))) {
                continue;
            }
            let (old, new) = (self.seen(path, was, base), self.seen(path, now, base));
            if self
                .capture
                .leaves_out(path, old.is_directory() || new.is_directory())
            {
                told.left_out += usize::from(was != now);
                continue;
            }
            // What was below a directory went with it.
            let is_covered = path.parent().is_some_and(|above| {
                self.seen(&above, before.get(&above), base).is_directory()
                    && !self.seen(&above, after(&above), base).is_directory()
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
                    if let Some(Outcome::File(written)) = after(path) {
                        match self.write(path, written, old, call) {
                            // Somebody who is still running took it away meanwhile.
                            Err(AccountError::Layer { source, .. })
                                if sandbox::is_gone(&source) =>
                            {
                                told.gone.push(path.clone());
                            }
                            written => written?,
                        }
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
        Ok(told)
    }

    fn write(
        &mut self,
        path: &TapePath,
        written: &Written,
        old: &Seen,
        call: Whose<'_>,
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
                hash: Some(self.hash_anew(written).map_err(unreadable)?),
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

    /// The name of the bytes of a file in a layer, which is read unless it was.
    pub(super) fn hash(&mut self, written: &Written) -> io::Result<BlobHash> {
        match self.hashes.get(&written.content) {
            Some((known, hash)) if known == written => Ok(*hash),
            _ => self.hash_anew(written),
        }
    }

    fn hash_anew(&mut self, written: &Written) -> io::Result<BlobHash> {
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut sandbox::open(&written.content)?, &mut hasher)?;
        let hash = BlobHash::from_digest(*hasher.finalize().as_bytes());
        self.hashes
            .insert(written.content.clone(), (written.clone(), hash));
        Ok(hash)
    }

    fn seen(&self, path: &TapePath, outcome: Option<&Outcome>, base: &Base) -> Seen {
        match outcome {
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

    fn change(&mut self, mut change: FileChange, call: Whose<'_>) -> Result<(), AccountError> {
        change.candidates = call.candidates();
        Ok(self.append(Event::new(Body::File(change)), call.call())?)
    }

    /// Ends the tape.
    pub(super) fn close(self) -> Result<(), RecordError> {
        self.recorder.close(self.ended).map(|_| ())
    }
}

/// What the tape was not told.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// How many paths it leaves out.
    pub(super) left_out: usize,
    /// Files that were there, and went before they could be read.
    pub(super) gone: Vec<TapePath>,
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
