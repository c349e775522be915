//! What happens beside a command that runs and belongs on its tape, too: what it asks of a
//! model, say. Who brings it is not known here.

use std::os::fd::BorrowedFd;

use crate::model::{BlobHash, Body, Content, Event};
use crate::tape::{RecordError, Recorder};

/// An event for the tape of a command, whose call it names itself.
#[derive(Clone, Debug)]
pub struct Aside {
    /// The event.
    pub event: Event,
    /// A blob of the tape that its own content is much like.
    pub like: Option<BlobHash>,
}

impl From<Event> for Aside {
    fn from(event: Event) -> Self {
        Self { event, like: None }
    }
}

/// Where such events come from.
pub trait Beside {
    /// Readable when there is something; never to be read.
    fn wake(&self) -> BorrowedFd<'_>;

    /// The next event; `None`: there is none now. Before a call or a result it is looked at
    /// what changed.
    fn next(&mut self) -> Option<Aside>;

    /// All that was given out is on the tape.
    fn recorded(&mut self);

    /// The command has ended, and nothing new is to happen. What is still untold comes next.
    fn end(&mut self);
}

/// Records what happened beside a command. A blob that the tape holds is not told again.
pub(super) fn aside_on(
    recorder: &mut Recorder,
    event: Event,
    like: Option<BlobHash>,
) -> Result<(), RecordError> {
    if let Body::Blob(Content::Bytes(bytes)) = &event.body
        && recorder.holds(&BlobHash::of(bytes))
    {
        return Ok(());
    }
    let done = match like {
        Some(like) => recorder.append_like(event, like),
        None => recorder.append(event),
    };
    done.map(|_| ())
}

/// The calls that run inside a command, as far as it was told of them.
#[derive(Debug, Default)]
pub(super) struct Nested(Vec<String>);

impl Nested {
    /// Takes note of an event.
    pub(super) fn take(&mut self, event: &Event) {
        let Some(call) = &event.head.call else {
            return;
        };
        match event.body {
            Body::ToolCall { .. } => self.0.push(call.clone()),
            Body::ToolResult { .. } => self.0.retain(|open| open != call),
            _ => {}
        }
    }

    /// Whose a change is that was found just now: that of the call inside, where one runs.
    pub(super) fn whose<'a>(&'a self, command: &'a str) -> Whose<'a> {
        match self.0.as_slice() {
            [] => Whose::Call(command),
            [one] => Whose::Call(one),
            several => Whose::OneOf(several),
        }
    }
}

/// Whose a change is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whose<'a> {
    /// Nobody's who still runs.
    Nobody,
    /// This call's.
    Call(&'a str),
    /// That of one of these calls.
    OneOf(&'a [String]),
}

impl<'a> Whose<'a> {
    pub(super) const fn call(self) -> Option<&'a str> {
        match self {
            Self::Call(call) => Some(call),
            Self::Nobody | Self::OneOf(_) => None,
        }
    }

    pub(super) fn candidates(self) -> Vec<String> {
        match self {
            Self::OneOf(calls) => calls.to_vec(),
            Self::Nobody | Self::Call(_) => Vec::new(),
        }
    }
}
