//! A tape written again without its secrets: the same events under the same numbers, their
//! contents and all that names them under other hashes.
//!
//! The old tape is left alone. It is read twice: what is found late is known from the first
//! line on. The new one is verified, and searched for secrets, before anybody is told that it
//! is there. A line that cannot be read is not carried over: nobody could say what it holds.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::stream::{Name, stream_of};
use super::{EventRedaction, Leak, PLACEHOLDERS, REDACTED, Redacting};
use crate::model::{
    BlobHash, Body, Content, Event, FileChange, Kind, ProblemKind, Progress, Seq, Tell,
};
use crate::tape::compact::{count, remark, step};
use crate::tape::recorder::remember;
use crate::tape::wire::v1::{DirectoryEntry, decode_directory, decode_event, put_entry};
use crate::tape::{BlobSource as _, RecordError, Recorder, Tape, verify};

/// What redacting a tape did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted {
    /// Events of the new tape.
    pub events: u32,
    /// Events that lost something.
    pub changed: u32,
    /// Secrets that were found, by sort.
    pub secrets: std::collections::BTreeMap<String, u64>,
    /// How many placeholders stand for them.
    pub placeholders: u32,
    /// Lines that could not be read, which the new tape has not.
    pub left_out: u32,
}

/// Why a tape was not redacted. No file was left behind.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// The old tape cannot be read, or the new one not be written.
    #[error("{path}: {source}")]
    Io {
        /// The new tape.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The new tape cannot be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The tape is a fork's, and what it shares stands on another.
    #[error("a fork shares the lines of its parent, and with them what they hold")]
    Fork,
    /// Whoever was told how far it had come broke it off.
    #[error("redacting was stopped")]
    Stopped,
    /// The new tape would not be what it should be. That is a fault of this program.
    #[error("the redacted tape would be wrong: {0}; the old one is untouched")]
    Wrong(String),
}

/// Where a secret stands on a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeakPlace {
    /// The position of its event.
    pub position: u32,
    /// The number of its event.
    pub seq: Seq,
    /// In which field, and what it is.
    pub leak: Leak,
}

/// Events between two words about how far this has come.
const TOLD: u32 = 256;
/// What is done, in percent, when the old tape was read once, and when the new one is written;
/// checking it is the rest.
const READ: u64 = 35;
const WRITTEN: u64 = 75;

/// Finds the secrets on a tape; changes nothing. A break of `tell` ends it.
pub fn find_leaks(
    tape: &Tape,
    redacting: &Redacting,
    tell: &mut Tell<'_>,
    found: &mut dyn FnMut(LeakPlace),
) -> io::Result<bool> {
    let mut redaction = EventRedaction::new(redacting);
    let last = last_frames(tape)?;
    for position in 0..tape.index.events.len() {
        if position % TOLD == 0 && tell(progress(tape, position)).is_break() {
            return Ok(false);
        }
        let Some(mut event) = load(tape, position)? else {
            continue;
        };
        let seq = tape.index.events.seq(position);
        let is_last = is_last(&last, &event, position);
        let mut leaks = redaction.take_out(&mut event, is_last);
        if let Body::Snapshot { directories, .. } = &event.body {
            leaks.extend(redaction.in_directories(directories));
        }
        for leak in leaks {
            found(LeakPlace {
                position,
                seq,
                leak,
            });
        }
    }
    Ok(true)
}

/// Writes a tape without its secrets to a new file at `path`, with mode 0600. The header tells
/// the hashes that the lines of `fork_points` had.
pub fn redact(
    tape: &Tape,
    path: &Path,
    redacting: &Redacting,
    fork_points: &[Seq],
    tell: &mut Tell<'_>,
) -> Result<Redacted, RedactError> {
    let failed = |source| RedactError::Io {
        path: path.to_owned(),
        source,
    };
    if tape.header().map_err(failed)?.parent.is_some() {
        return Err(RedactError::Fork);
    }
    let mut copy = Copy::learn(tape, redacting, tell).map_err(|halt| halt.at(path))?;
    let remark = remark(tape, None, fork_points).map_err(failed)?;
    let mut recorder = Recorder::copy_to(path)?;
    let written = copy.write(&mut recorder, remark, tell);
    let checked = written.and_then(|()| {
        recorder.sync()?;
        let new = Tape::open(path, &mut ())?;
        check((tape, &new), copy.done.left_out, redacting, tell)
    });
    drop(recorder);
    match checked {
        Ok(()) => Ok(copy.done),
        Err(halt) => {
            // It is ours, it is new, and it is not what it should be.
            let _ = fs::remove_file(path);
            Err(halt.at(path))
        }
    }
}

/// Why the work ends before it is done.
enum Halt {
    Io(io::Error),
    Record(RecordError),
    Wrong(String),
    Stopped,
}

impl Halt {
    fn at(self, path: &Path) -> RedactError {
        match self {
            Self::Io(source) => RedactError::Io {
                path: path.to_owned(),
                source,
            },
            Self::Record(error) => RedactError::Record(error),
            Self::Wrong(how) => RedactError::Wrong(how),
            Self::Stopped => RedactError::Stopped,
        }
    }
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<RecordError> for Halt {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

struct Copy<'a> {
    tape: &'a Tape,
    redaction: EventRedaction,
    last: HashMap<Name, u32>,
    /// The placeholders, as the new header tells them.
    placeholders: Vec<Value>,
    directories: Directories,
    done: Redacted,
}

impl<'a> Copy<'a> {
    /// Reads the tape once, and learns which secrets are on it.
    fn learn(tape: &'a Tape, redacting: &Redacting, tell: &mut Tell<'_>) -> Result<Self, Halt> {
        let mut copy = Self {
            tape,
            redaction: EventRedaction::new(redacting),
            last: last_frames(tape)?,
            placeholders: Vec::new(),
            directories: Directories::default(),
            done: Redacted {
                events: 0,
                changed: 0,
                secrets: std::collections::BTreeMap::new(),
                placeholders: 0,
                left_out: 0,
            },
        };
        remember(tape, &mut copy.redaction)?;
        for position in 0..tape.index.events.len() {
            if position % TOLD == 0 && tell(progress(tape, position).within(0, READ)).is_break() {
                return Err(Halt::Stopped);
            }
            let Some(mut event) = load(tape, position)? else {
                continue;
            };
            event.extra.remove(PLACEHOLDERS);
            let is_last = is_last(&copy.last, &event, position);
            copy.redaction.take_out(&mut event, is_last);
            if let Body::Snapshot { directories, .. } = &event.body {
                copy.redaction.in_directories(directories);
                copy.directories.take(directories);
                // A name that only a snapshot tells may have needed a placeholder.
                copy.redaction.tell_placeholders(&mut event);
            }
            if let Some(Value::Array(fresh)) = event.extra.remove(PLACEHOLDERS) {
                copy.done.placeholders += fresh.len() as u32;
                copy.placeholders.extend(fresh);
            }
        }
        copy.redaction.forget_streams();
        Ok(copy)
    }

    fn write(
        &mut self,
        recorder: &mut Recorder,
        remark: Option<Value>,
        tell: &mut Tell<'_>,
    ) -> Result<(), Halt> {
        let tape = self.tape;
        let mut remark = remark;
        for position in 0..tape.index.events.len() {
            let done = progress(tape, position).within(READ, WRITTEN);
            if position % TOLD == 0 && tell(done).is_break() {
                return Err(Halt::Stopped);
            }
            let Some(mut event) = load(tape, position)? else {
                let len = tape.record_len(position)?;
                if len > 0 {
                    self.done.left_out += 1;
                    recorder.carry(format!("could not be read: {len} bytes").as_bytes())?;
                }
                continue;
            };
            let is_last = is_last(&self.last, &event, position);
            let mut leaks = self.redaction.take_out(&mut event, is_last);
            if let Body::Snapshot {
                root, directories, ..
            } = &mut event.body
            {
                leaks.extend(self.redaction.in_directories(directories));
                *directories = self.directories.rewritten(*root, &mut self.redaction);
                *root = self.directories.name_of(root);
            }
            if event.kind() == Kind::Tape {
                if let Some(remark) = remark.take() {
                    event.extra.insert("compacted".to_owned(), remark);
                }
                self.say_placeholders(&mut event);
            }
            self.done.events += 1;
            self.done.changed += u32::from(!leaks.is_empty());
            for leak in leaks {
                *self.done.secrets.entry(leak.kind.to_string()).or_default() += 1;
            }
            recorder.copy(event, tape.index.events.seq(position))?;
        }
        Ok(())
    }

    /// The header says which placeholders there are, and what for.
    fn say_placeholders(&mut self, header: &mut Event) {
        if self.placeholders.is_empty() {
            return;
        }
        let mut all = match header.extra.remove(PLACEHOLDERS) {
            Some(Value::Array(known)) => known,
            _ => Vec::new(),
        };
        all.append(&mut self.placeholders);
        header.extra.insert(PLACEHOLDERS.to_owned(), all.into());
    }
}

fn progress(tape: &Tape, position: u32) -> Progress {
    let offset = tape.index.events.get(position);
    Progress::bytes(offset.map_or(0, |event| event.offset), tape.end.offset)
}

/// The position of the last frame of each stream: nothing waits there for a further one.
fn last_frames(tape: &Tape) -> io::Result<HashMap<Name, u32>> {
    let mut last = HashMap::new();
    for position in 0..tape.index.events.len() {
        if tape.index.events.kind(position) == Some(Kind::StreamFrame)
            && let Some(name) = stream_of(&tape.event(position)?)
        {
            last.insert(name, position);
        }
    }
    Ok(last)
}

fn is_last(last: &HashMap<Name, u32>, event: &Event, position: u32) -> bool {
    stream_of(event).is_some_and(|name| last.get(&name) == Some(&position))
}

/// An event with the bytes of its content, where they travel in its line; `None` where the
/// line cannot be read.
fn load(tape: &Tape, position: u32) -> io::Result<Option<Event>> {
    let read = tape.with_line(position, |line| {
        let is_here = line.head.enc.carries_blob() || line.head.blob.is_none();
        (decode_event(line), is_here, line.head.is_redacted)
    })?;
    let Ok((mut event, is_here, is_redacted)) = read else {
        return Ok(None);
    };
    event.head.seq = Some(tape.index.events.seq(position));
    let (Body::File(FileChange { content, .. }) | Body::Blob(content)) = &mut event.body else {
        return Ok(Some(event));
    };
    if let Content::Blob { hash, len, .. } = content
        && is_here
    {
        *content = match tape.blob(hash) {
            Ok(bytes) => Content::Bytes(bytes),
            Err(crate::tape::BlobError::Io(error)) => return Err(error),
            // Damaged: nobody can say what it holds.
            Err(_) => Content::Unstored {
                hash: Some(*hash),
                len: Some(*len),
            },
        };
    }
    if is_redacted {
        event.extra.insert(REDACTED.to_owned(), true.into());
    }
    Ok(Some(event))
}

/// The directories of snapshots: their old texts, and what they are called now.
#[derive(Default)]
struct Directories {
    texts: HashMap<BlobHash, Arc<[u8]>>,
    names: HashMap<BlobHash, BlobHash>,
    written: HashSet<BlobHash>,
}

impl Directories {
    fn take(&mut self, directories: &[(BlobHash, Arc<[u8]>)]) {
        self.texts.extend(directories.iter().cloned());
    }

    fn name_of(&self, hash: &BlobHash) -> BlobHash {
        self.names.get(hash).copied().unwrap_or(*hash)
    }

    /// The directories below a root that the new tape has not yet, written anew.
    fn rewritten(
        &mut self,
        root: BlobHash,
        redaction: &mut EventRedaction,
    ) -> Vec<(BlobHash, Arc<[u8]>)> {
        let mut fresh = Vec::new();
        // Those below come first: their names stand in those above.
        let mut pending = vec![(root, false)];
        while let Some((hash, is_below_done)) = pending.pop() {
            let Some(text) = self.texts.get(&hash).cloned() else {
                continue;
            };
            if self.written.contains(&hash) {
                continue;
            }
            let Ok(entries) = decode_directory(&text) else {
                continue;
            };
            if !is_below_done {
                pending.push((hash, true));
                let below = entries.iter().filter_map(|(_, entry)| match entry {
                    DirectoryEntry::Directory { hash, .. } => Some((*hash, false)),
                    _ => None,
                });
                pending.extend(below);
                continue;
            }
            let mut entries: Vec<_> = entries
                .into_iter()
                .map(|(name, entry)| {
                    let without = redaction.texts.name_bytes(&name);
                    (
                        without.map_or(name, Into::into),
                        self.entry(entry, redaction),
                    )
                })
                .collect();
            entries.sort_by(|(one, _), (two, _)| one.cmp(two));
            let mut text = String::new();
            for (name, entry) in &entries {
                put_entry(&mut text, name, entry);
            }
            let name = BlobHash::of(text.as_bytes());
            self.names.insert(hash, name);
            self.written.insert(hash);
            fresh.push((name, text.into_bytes().into()));
        }
        // They were counted when they were looked at.
        redaction.texts.take_found();
        fresh
    }

    fn entry(&self, entry: DirectoryEntry, redaction: &mut EventRedaction) -> DirectoryEntry {
        match entry {
            DirectoryEntry::File { mode, hash, len } => {
                let lost = hash.and_then(|hash| redaction.lost(&hash));
                let (hash, len) = match lost {
                    Some((name, now)) => (Some(name), Some(now)),
                    None => (hash, len),
                };
                DirectoryEntry::File { mode, hash, len }
            }
            DirectoryEntry::Link { target } => {
                let without = redaction.texts.name_bytes(&target);
                let target = without.map_or(target, Into::into);
                DirectoryEntry::Link { target }
            }
            DirectoryEntry::Directory { mode, hash } => DirectoryEntry::Directory {
                mode,
                hash: self.name_of(&hash),
            },
        }
    }
}

/// The new tape is as sound as the old one, has the same events and steps, and no secret. In
/// place of each line that was left out stands one that is no event.
fn check(
    (old, new): (&Tape, &Tape),
    left_out: u32,
    redacting: &Redacting,
    tell: &mut Tell<'_>,
) -> Result<(), Halt> {
    let before = verify(old.bytes.clone(), &mut |_| {
        std::ops::ControlFlow::Continue(())
    })?;
    let before = count(&before.problems);
    let after = verify(new.bytes.clone(), &mut |_| {
        std::ops::ControlFlow::Continue(())
    })?;
    for (kind, count) in count(&after.problems) {
        let known = match kind {
            ProblemKind::NotJson => left_out as usize,
            _ => before.get(&kind).copied().unwrap_or_default(),
        };
        if count > known {
            let first = after.problems.iter().find(|problem| problem.kind == kind);
            let first = first.map(ToString::to_string).unwrap_or_default();
            return Err(Halt::Wrong(format!("{}, {first}", kind.as_str())));
        }
    }
    let (was, is) = (old.index.events.len(), new.index.events.len());
    if was != is {
        return Err(Halt::Wrong(format!("{is} events in place of {was}")));
    }
    for position in 0..is {
        let seq = |tape: &Tape| tape.index.events.seq(position);
        if seq(old) != seq(new) || step(old, position) != step(new, position) {
            return Err(Halt::Wrong(format!("event {}", seq(old))));
        }
    }
    let mut left = None;
    let mut tell = |progress: Progress| tell(progress.within(WRITTEN, 100));
    let is_complete = find_leaks(new, redacting, &mut tell, &mut |leak| left = Some(leak))?;
    match left {
        Some(LeakPlace { seq, leak, .. }) => Err(Halt::Wrong(format!(
            "{} would remain in event {seq}, {}",
            leak.kind, leak.field
        ))),
        None if !is_complete => Err(Halt::Stopped),
        None => Ok(()),
    }
}
