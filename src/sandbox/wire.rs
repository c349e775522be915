//! What the library and the helper say to each other: JSON after its length, over a socket
//! that no command ever sees, with descriptors beside it.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::config::{Backend, Cause, Status};
use super::policy::Limits;

/// Descriptors in one message at most.
const DESCRIPTORS: usize = 3;

/// What the library wants.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// The first: become this.
    Begin(Box<Setup>),
    /// Run a command, with its input, output and errors as descriptors.
    Run(Run),
    /// End the command that runs.
    End,
    /// Kill every process of the sandbox.
    Stop,
    /// Kill every process, then show these layers, the lowest first and the last for writing.
    Show(Vec<u32>),
    /// Look whether all that is promised holds.
    Check,
    /// Listen on the loopback that commands see.
    Listen,
}

/// What a sandbox is to be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    pub(super) backend: Backend,
    /// The workspace, or its copy. Absolute, and free of links.
    pub(super) workspace: OsString,
    /// Where commands see it. It need not be there.
    pub(super) seen: OsString,
    /// The directory of the layers.
    pub(super) layers: OsString,
    /// The home directory, if it gets a layer.
    pub(super) home: Option<OsString>,
    pub(super) hidden: Vec<OsString>,
    pub(super) limits: Limits,
}

/// A command.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) arguments: Vec<OsString>,
    pub(super) directory: OsString,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) timeout_millis: Option<u64>,
}

/// What the helper answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The process that everything depends on has this number.
    Hello(u32),
    /// The sandbox stands; which level of Landlock it has.
    Ready { landlock: u32 },
    /// The machine does not allow it.
    Refused(Refusal),
    /// The command ended.
    Ended {
        status: Status,
        cause: Cause,
        nanos: u64,
        /// Others of the sandbox are still running.
        is_anybody_left: bool,
    },
    /// It could not be started.
    NotStarted(i32),
    /// Done.
    Done,
    /// The promises that do not hold.
    Checked(Vec<Broken>),
    /// The listening socket comes along; or why there is none.
    Listening(Result<(), i32>),
}

/// Where the machine said no.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Refusal {
    pub(super) stage: Stage,
    pub(super) errno: i32,
    pub(super) at: Option<OsString>,
}

/// A step on the way into the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    Talk,
    Unshare,
    Map,
    Fork,
    Root,
    ReadOnly,
    Proc,
    Dev,
    Temporary,
    Overlay,
    Home,
    Hide,
    Loopback,
    Landlock,
    Seccomp,
    Guard,
}

/// A promise that was looked at and does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Broken {
    /// A directory of the lower layer cannot be removed and made anew.
    Overlay,
    /// A file outside the workspace could be written.
    ReadOnly,
    /// Somebody outside could be reached.
    Network,
    /// A forbidden call was carried out.
    Seccomp,
}

/// Says something.
pub(super) fn send<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let head = (body.len() as u32).to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let socket = socket.as_fd();
    // The head is so short that it goes as a whole or not at all.
    sendmsg(
        socket,
        &[IoSlice::new(&head)],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    let mut rest = body.as_slice();
    while !rest.is_empty() {
        let sent = rustix::net::send(socket, rest, SendFlags::NOSIGNAL)?;
        rest = rest.get(sent..).unwrap_or_default();
    }
    Ok(())
}

/// Hears something; `None`: there is nobody any more.
pub(super) fn receive<T: DeserializeOwned>(
    socket: impl AsFd,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let socket = socket.as_fd();
    let mut head = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
    let got = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut head)],
        &mut control,
        flags,
    );
    let got = match got {
        Err(rustix::io::Errno::CONNRESET) => return Ok(None),
        got => got?.bytes,
    };
    if got == 0 {
        return Ok(None);
    }
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    if got < head.len() {
        return Ok(None);
    }
    let mut body = vec![0; u32::from_le_bytes(head) as usize];
    let mut filled = 0;
    while let Some(rest) = body.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::net::recv(socket, rest, RecvFlags::empty())?.0 {
            0 => return Ok(None),
            got => filled += got,
        }
    }
    Ok(Some((serde_json::from_slice(&body)?, descriptors)))
}

impl Refusal {
    pub(super) fn new(stage: Stage, error: impl Into<io::Error>) -> Self {
        Self {
            stage,
            errno: error.into().raw_os_error().unwrap_or(0),
            at: None,
        }
    }

    pub(super) fn at(mut self, path: impl Into<OsString>) -> Self {
        self.at = Some(path.into());
        self
    }
}
