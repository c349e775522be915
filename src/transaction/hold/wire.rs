//! What a command and the holder of a transaction say to each other.
//!
//! A frame is one byte for its sort, four for its length, and its bytes: JSON, or what a
//! command wrote to one of its streams. Who asks says one thing and hears frames until one
//! that is JSON. The first byte of a connection stands before all frames: with it the input
//! of a command travels, as a descriptor.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::super::open::{EffectCall, Isolation, OpenTransactionError, Proposed};
use super::super::plan::Conflict;
use super::super::{Preview, TransactionError};
use crate::effects::{Answer, RolledBack, Settlement, Surroundings};
use crate::redact::Rules;
use crate::sandbox::{Backend, Missing, SandboxError};
use crate::tape::RecordError;
use crate::text::SafeText;

/// What the holder is told first, over the socket that is its input.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    pub(super) id: String,
    pub(super) workspace: OsString,
    pub(super) program: OsString,
    pub(super) backend: Backend,
    pub(super) home: Option<OsString>,
    pub(super) state: OsString,
    pub(super) runtime: OsString,
    pub(super) isolation: Isolation,
    pub(super) began: u64,
    pub(super) surroundings: Surroundings,
    /// What counts as a secret, and the key that placeholders are known by.
    pub(super) redacting: Option<(Rules, [u8; 32])>,
}

/// What is asked of a holder.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    Call(CallRequest),
    /// End the command that runs: any word means that while one does.
    End,
    Savepoint(String),
    RollBack(Option<String>),
    Propose,
    Preview,
    Commit,
    /// The body of its request is handed over, as a file.
    Effect(EffectCall),
    SettleEffect(u32, Settlement),
}

/// A command to run in a transaction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CallRequest {
    /// The program, and its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// After this many milliseconds it is ended.
    pub timeout_millis: Option<u64>,
}

/// How a command of a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The code that a shell gives for it.
    pub code: u8,
    /// Its time was up.
    pub is_timeout: bool,
}

/// What a holder answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The transaction is open.
    Ready,
    Done,
    Ended(Ended),
    Proposed(Vec<Proposed>),
    Previewed(Preview),
    Committed(super::super::Ended),
    RolledBack(RolledBack),
    /// Its bytes came before, as output.
    Effect(Answer),
    /// A command runs in it.
    Busy,
    Failed(Fault),
}

/// Why it was not done: what matters of an error, on its way to another process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Fault {
    Conflicts(Vec<Conflict>),
    Refused {
        path: String,
        reason: String,
    },
    Locked,
    Damaged,
    State,
    Unsupported,
    CutOff,
    Missing(Missing),
    NotStarted(i32),
    NoCommand,
    NoSavepoint(String),
    SavepointExists(String),
    Unguarded,
    Lost,
    TakenBack(String),
    Interrupted(String),
    InDoubt(Vec<u32>),
    RecordingStopped(String),
    Untold(String),
    /// Anything else, in words.
    Other(String),
}

impl From<OpenTransactionError> for Fault {
    fn from(error: OpenTransactionError) -> Self {
        use OpenTransactionError as Error;
        match error {
            Error::Missing(missing) => Self::Missing(missing),
            Error::CutOff => Self::CutOff,
            Error::InDoubt(effects) => Self::InDoubt(effects),
            Error::Record(RecordError::Stopped(why)) => Self::RecordingStopped(why),
            Error::Untold(why) => Self::Untold(why),
            Error::Transaction(error) => match error {
                TransactionError::Conflicts(conflicts) => Self::Conflicts(conflicts),
                TransactionError::Refused { path, reason } => Self::Refused {
                    path: path.as_str().to_owned(),
                    reason,
                },
                TransactionError::Locked => Self::Locked,
                TransactionError::Damaged => Self::Damaged,
                TransactionError::State => Self::State,
                TransactionError::Unsupported => Self::Unsupported,
                TransactionError::TakenBack(error) => Self::TakenBack(error.to_string()),
                TransactionError::Interrupted(error) => Self::Interrupted(error.to_string()),
                error => Self::Other(error.to_string()),
            },
            Error::Sandbox(error) => match error {
                SandboxError::NotStarted(error) => {
                    Self::NotStarted(error.raw_os_error().unwrap_or_default())
                }
                SandboxError::NoCommand => Self::NoCommand,
                SandboxError::NoSavepoint(name) => Self::NoSavepoint(name),
                SandboxError::SavepointExists(name) => Self::SavepointExists(name),
                SandboxError::Unguarded => Self::Unguarded,
                SandboxError::Lost => Self::Lost,
                error => Self::Other(error.to_string()),
            },
            error => Self::Other(error.to_string()),
        }
    }
}

impl Fault {
    /// The error that it was; in words, where it was one that only words tell.
    pub(super) fn into_error(self) -> Result<OpenTransactionError, String> {
        let other = |words: String| io::Error::other(words);
        Ok(match self {
            Self::Conflicts(conflicts) => TransactionError::Conflicts(conflicts).into(),
            Self::Refused { path, reason } => {
                let path = SafeText::line(&path);
                TransactionError::Refused { path, reason }.into()
            }
            Self::Locked => TransactionError::Locked.into(),
            Self::Damaged => TransactionError::Damaged.into(),
            Self::State => TransactionError::State.into(),
            Self::Unsupported => TransactionError::Unsupported.into(),
            Self::TakenBack(words) => TransactionError::TakenBack(other(words)).into(),
            Self::Interrupted(words) => TransactionError::Interrupted(other(words)).into(),
            Self::CutOff => OpenTransactionError::CutOff,
            Self::InDoubt(effects) => OpenTransactionError::InDoubt(effects),
            Self::RecordingStopped(why) => RecordError::Stopped(why).into(),
            Self::Untold(why) => OpenTransactionError::Untold(why),
            Self::Missing(missing) => missing.into(),
            Self::NotStarted(errno) => {
                SandboxError::NotStarted(io::Error::from_raw_os_error(errno)).into()
            }
            Self::NoCommand => SandboxError::NoCommand.into(),
            Self::NoSavepoint(name) => SandboxError::NoSavepoint(name).into(),
            Self::SavepointExists(name) => SandboxError::SavepointExists(name).into(),
            Self::Unguarded => SandboxError::Unguarded.into(),
            Self::Lost => SandboxError::Lost.into(),
            Self::Other(words) => return Err(words),
        })
    }
}

/// The sort of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Json = 0,
    Output = 1,
    Error = 2,
}

/// The bytes before those of a frame.
pub(super) fn head(sort: Sort, len: usize) -> [u8; 5] {
    let [a, b, c, d] = (len as u32).to_le_bytes();
    [sort as u8, a, b, c, d]
}

/// Says one thing.
pub(super) fn say<T: Serialize>(mut stream: &UnixStream, message: &T) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let mut frame = head(Sort::Json, body.len()).to_vec();
    frame.extend(body);
    stream.write_all(&frame)
}

/// Hears one thing; `None`: nobody is there any more.
pub(super) fn hear<T: DeserializeOwned>(stream: &UnixStream) -> io::Result<Option<T>> {
    Frames::default().hear(stream)
}

/// Frames as they come, however they are cut into pieces on the way.
#[derive(Debug, Default)]
pub(super) struct Frames {
    held: Vec<u8>,
}

impl Frames {
    /// Whether something came that was not taken yet.
    pub(super) fn has_more(&self) -> bool {
        !self.held.is_empty()
    }

    /// The next thing that is said; `None`: nothing will be.
    pub(super) fn hear<T: DeserializeOwned>(
        &mut self,
        stream: &UnixStream,
    ) -> io::Result<Option<T>> {
        loop {
            match self.next(stream)? {
                Some((Sort::Json, body)) => return Ok(Some(serde_json::from_slice(&body)?)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// The next frame; `None`: there will be none. What was read so far is kept where the
    /// reading is cut off.
    pub(super) fn next(&mut self, mut stream: &UnixStream) -> io::Result<Option<(Sort, Vec<u8>)>> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(Some(frame));
            }
            let mut block = vec![0; 1 << 16];
            match stream.read(&mut block) {
                Ok(0) => return Ok(None),
                Ok(got) => self.held.extend(block.get(..got).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self) -> io::Result<Option<(Sort, Vec<u8>)>> {
        let Some(&[sort, a, b, c, d]) = self.held.first_chunk::<5>() else {
            return Ok(None);
        };
        let sort = match sort {
            0 => Sort::Json,
            1 => Sort::Output,
            2 => Sort::Error,
            _ => return Err(ErrorKind::InvalidData.into()),
        };
        let end = 5 + u32::from_le_bytes([a, b, c, d]) as usize;
        if self.held.len() < end {
            return Ok(None);
        }
        let rest = self.held.split_off(end);
        let mut frame = std::mem::replace(&mut self.held, rest);
        Ok(Some((sort, frame.split_off(5))))
    }
}

/// Hands a descriptor over.
#[cfg(target_os = "linux")]
pub(super) fn hand_over(stream: &UnixStream, descriptor: Option<OwnedFd>) -> io::Result<()> {
    use std::os::fd::AsFd as _;

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let borrowed: Vec<_> = descriptor.iter().map(|it| it.as_fd()).collect();
    if !borrowed.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&borrowed));
    }
    let mark = [io::IoSlice::new(b"i")];
    sendmsg(stream, &mark, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes what is handed over, if anything is.
#[cfg(target_os = "linux")]
pub(super) fn take_over(stream: &UnixStream) -> io::Result<Option<OwnedFd>> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut mark = [0; 1];
    let mut into = [io::IoSliceMut::new(&mut mark)];
    recvmsg(stream, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut taken = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
            taken = descriptors.next().or(taken);
        }
    }
    Ok(taken)
}

/// Nothing is handed over where there is no sandbox.
#[cfg(not(target_os = "linux"))]
pub(super) fn hand_over(_: &UnixStream, _: Option<OwnedFd>) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Nothing is taken where there is no sandbox.
#[cfg(not(target_os = "linux"))]
pub(super) fn take_over(_: &UnixStream) -> io::Result<Option<OwnedFd>> {
    Err(ErrorKind::Unsupported.into())
}
