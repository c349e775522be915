//! A recorder with captures: what a call changed stands between the call and its result.
//!
//! All that is recorded goes through one door, [`Session::record`]. Where the recorder takes
//! secrets out, what it wrote has other names than what is found on disk: those are asked of
//! the recorder.

use std::path::Path;

use super::attribution::{CallTrace, OpenCalls, Whose};
use super::settle::Tell;
use super::{Capture, Found, Stood};
use crate::model::{
    BlobHash, Body, Content, Event, FileChange, FileOp, Head, Outcome, Seq, SnapshotReason,
};
use crate::tape::{Node, RecordError, Recorder};

/// A recorder that looks at watched directories around each call.
#[derive(Debug)]
pub struct Session {
    recorder: Recorder,
    pub(super) captures: Vec<Capture>,
    calls: OpenCalls,
    root: Option<String>,
}

/// What recording an event came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The event's number; `None` where it was lost, because the disk is full, say.
    pub seq: Option<Seq>,
    /// How many changes of files were found and recorded before it.
    pub changes: usize,
}

/// One way to look.
type Look = fn(&mut Capture, Tell<'_, RecordError>) -> Result<(), RecordError>;

impl Session {
    /// Begins: what stands in the watched directories is read, and written as the first
    /// snapshot, with the contents.
    pub fn begin(recorder: Recorder, captures: Vec<Capture>) -> Result<Self, RecordError> {
        let workspace = captures.iter().find(|capture| capture.is_workspace());
        let root = workspace.map(|capture| text_of(capture.path()));
        let mut session = Self {
            recorder,
            captures: Vec::new(),
            calls: OpenCalls::default(),
            root,
        };
        for capture in captures {
            session.take_in(capture)?;
        }
        if session.root.is_some() {
            session.recorder.snapshot(SnapshotReason::Start)?;
        }
        Ok(session)
    }

    fn take_in(&mut self, mut capture: Capture) -> Result<(), RecordError> {
        let is_workspace = capture.is_workspace();
        capture.start(&mut |path, stood| {
            let node = stood.node();
            if let Stood::File {
                mode,
                hash,
                len,
                bytes,
            } = stood
            {
                if !is_workspace {
                    // No snapshot tells of it.
                    let content = match bytes {
                        Some(bytes) => Content::Bytes(bytes),
                        None => Content::Unstored {
                            hash,
                            len: Some(len),
                        },
                    };
                    let seen = FileChange {
                        mode: Some(mode),
                        content,
                        ..FileChange::new(FileOp::Observe, path)
                    };
                    return self.record(Event::new(Body::File(seen))).map(|_| ());
                }
                if let (Some(hash), Some(bytes)) = (hash, bytes)
                    && !self.recorder.holds(&hash)
                {
                    self.record(Event::new(Body::Blob(Content::Bytes(bytes))))?;
                }
            }
            self.recorder.found(&path, node)
        })?;
        self.captures.push(capture);
        Ok(())
    }

    /// Records an event; before a prompt, a call or a result, what changed in the watched
    /// directories.
    ///
    /// What changed while calls ran is theirs; what changed while none did is nobody's. So a
    /// call is to be recorded before it is run, and its result when it has returned.
    pub fn append(&mut self, event: Event) -> Result<Appended, RecordError> {
        let changes = match &event.body {
            Body::ToolResult { .. } => {
                self.calls.clear_refused(&event);
                self.look()?
            }
            Body::Prompt { .. } | Body::ToolCall { .. } | Body::End { .. } => self.look()?,
            _ => 0,
        };
        let seq = self.record(event.clone())?;
        self.calls.begin(&event, self.root.as_deref());
        if let Body::ToolResult { .. } = &event.body {
            self.calls.end(&event);
        }
        Ok(Appended { seq, changes })
    }

    /// Records an event that is told beside a command that runs; where it is a `blob`, one that
    /// is much like another, and not again what the tape holds.
    pub fn append_like(&mut self, event: Event, like: Option<BlobHash>) -> Result<(), RecordError> {
        match (&event.body, like) {
            (Body::Blob(Content::Bytes(bytes)), _) if self.recorder.holds(&BlobHash::of(bytes)) => {
                Ok(())
            }
            (Body::Blob(_), Some(like)) => self.recorder.append_like(event, like).map(|_| ()),
            _ => self.append(event).map(|_| ()),
        }
    }

    /// Records what changed in the watched directories since it was looked at last; how many
    /// changes there were.
    pub fn look(&mut self) -> Result<usize, RecordError> {
        self.look_with(Capture::look::<RecordError>)
    }

    fn look_with(&mut self, look: Look) -> Result<usize, RecordError> {
        let mut captures = std::mem::take(&mut self.captures);
        let mut changes = 0;
        let mut done = Ok(());
        for capture in &mut captures {
            done = done.and_then(|()| {
                look(capture, &mut |found| {
                    changes += usize::from(self.found(found)?);
                    Ok(())
                })
            });
        }
        self.captures = captures;
        done.map(|()| changes)
    }

    /// Records something that was found, unless it was said already.
    pub(super) fn found(&mut self, found: Found) -> Result<bool, RecordError> {
        let mut change = match found {
            Found::Change(change) => change,
            Found::Special { path, sort } => {
                let text = format!("{} is a {sort}, and not covered", path.to_text());
                let mut note = Event::new(Body::Note { text });
                if let Whose::Call(head) = self.calls.whose(&path) {
                    note.head = head_of(&head);
                }
                return self.record(note).map(|_| false);
            }
        };
        let mut head = Head::default();
        match self.calls.whose(&change.path) {
            Whose::Outside(others) => {
                change.outside = true;
                change.candidates = others;
            }
            Whose::Call(call) => head = head_of(&call),
            Whose::Candidates(calls) => change.candidates = calls,
        }
        if !self.is_news(&head, &mut change) {
            return Ok(false);
        }
        let event = Event {
            head,
            ..Event::new(Body::File(change))
        };
        self.record(event).map(|_| true)
    }

    /// Whether the tape does not say already what a change says: whoever ran the call may
    /// have told what it did. Of a file whose content was told, only the mode may be news.
    fn is_news(&self, head: &Head, change: &mut FileChange) -> bool {
        let there = self.recorder.node(head, &change.path);
        match (&change.op, there) {
            (FileOp::Remove, there) => there.is_some(),
            (FileOp::Rename { from }, there) => {
                there.is_none() || self.recorder.node(head, from).is_some()
            }
            (FileOp::Symlink { target }, Some(Node::Link(known))) => {
                **known != *self.recorder.target_of(target)
            }
            (FileOp::Mkdir | FileOp::Chmod, Some(Node::Directory(known))) => {
                known.mode != change.mode
            }
            (FileOp::Chmod, Some(Node::File(known))) => known.mode != change.mode,
            (FileOp::Write, Some(Node::File(known))) => {
                let hash = match &change.content {
                    Content::Bytes(bytes) => Some(BlobHash::of(bytes)),
                    Content::Unstored { hash, .. } => *hash,
                    _ => None,
                };
                let hash = hash.map(|hash| self.recorder.name_of(&hash));
                if hash.is_none() || known.hash != hash || !known.is_proven {
                    return true;
                }
                change.op = FileOp::Chmod;
                change.content = Content::None;
                known.mode != change.mode
            }
            _ => true,
        }
    }

    /// The one door to the tape. `None`: the event was lost.
    fn record(&mut self, event: Event) -> Result<Option<Seq>, RecordError> {
        let seq = self.recorder.append(event)?;
        // A lost event leaves its number to the gap.
        Ok((self.recorder.next_seq() > seq).then_some(seq))
    }

    /// Takes a snapshot because somebody asked for one; its number.
    pub fn snapshot(&mut self) -> Result<Seq, RecordError> {
        if self.calls.is_quiet() {
            self.look()?;
        }
        self.recorder.snapshot(SnapshotReason::Asked)
    }

    /// Goes on with a tape, whose workspace is `root`. The calls that it left open run still.
    /// Nothing is watched before [`take_up`](Self::take_up).
    pub fn resume(recorder: Recorder, root: Option<String>, open: &[Event]) -> Self {
        let mut calls = OpenCalls::default();
        for call in open {
            calls.begin(call, root.as_deref());
        }
        Self {
            recorder,
            captures: Vec::new(),
            calls,
            root,
        }
    }

    /// Begins to watch again: what is not as the tape says was changed while nobody looked, by
    /// the calls that are open or by nobody who is known. Gives the number of changes.
    pub fn take_up(&mut self, capture: Capture) -> Result<usize, RecordError> {
        super::resume::take_up(self, capture)
    }

    /// What other sessions may know of the calls that have not returned.
    pub fn traces(&self) -> Vec<CallTrace> {
        self.calls.traces(self.root.as_deref().unwrap_or_default())
    }

    /// The calls of other sessions that may have changed something since the last look.
    pub fn set_others(&mut self, traces: Vec<CallTrace>) {
        self.calls
            .set_others(traces, self.root.as_deref().unwrap_or_default());
    }

    /// The heads of the calls that have not returned.
    pub fn open_calls(&self) -> impl Iterator<Item = &Head> {
        self.calls.heads()
    }

    /// The recorder, for what is asked of it.
    pub const fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The workspace, absolute, where one is watched.
    pub fn root(&self) -> Option<&str> {
        self.root.as_deref()
    }

    /// Ends the tape: every entry is looked at once more, whatever was heard of it. Gives the
    /// number of the last event, and how many changes were found before it.
    pub fn close(mut self, outcome: Outcome) -> Result<(Seq, usize), RecordError> {
        let looked = self.look_with(Capture::look_everywhere::<RecordError>);
        let end = self.recorder.close(outcome)?;
        Ok((end, looked?))
    }
}

/// The head of what belongs to a call.
fn head_of(call: &Head) -> Head {
    Head {
        branch: call.branch.clone(),
        agent: call.agent.clone(),
        call: call.call.clone(),
        txn: call.txn.clone(),
        ..Head::default()
    }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
