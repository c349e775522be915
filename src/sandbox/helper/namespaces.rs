//! Into namespaces of one's own: who one is there, and what can be reached from there.
//!
//! Ids inside are those outside. Where the machine allows it (root may), all of them are
//! there, so that files of others keep their owners; else one's own only, and giving a file
//! away fails inside.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::process::{Gid, Pid, Uid, WaitOptions, getegid, geteuid, getpid, waitpid};
use rustix::thread::UnshareFlags;

use super::super::wire::{Refusal, Stage};
use super::system::{self, Fork};

/// Who this process is, in the eyes of those inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// Root, with the ids of all others.
    Root,
    /// Somebody, with their own id only.
    Somebody,
}

/// Enters new namespaces. The one of processes takes in only children from now on.
pub(super) fn enter() -> Result<Who, Refusal> {
    // Inside, nobody has a name before there is a map.
    let ids = (geteuid(), getegid());
    let is_root = ids.0.is_root();
    let others = if is_root {
        Some(Outside::send()?)
    } else {
        None
    };
    let all = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS;
    system::unshare(all).map_err(|error| Refusal::new(Stage::Unshare, error))?;
    if let Some(others) = others
        && others.has_mapped()
    {
        return Ok(Who::Root);
    }
    map_self(ids).map_err(|error| Refusal::new(Stage::Map, error))?;
    Ok(Who::Somebody)
}

/// A process that stays outside, where all ids may be given to those inside.
struct Outside {
    process: Pid,
    go: std::os::fd::OwnedFd,
}

impl Outside {
    fn send() -> Result<Self, Refusal> {
        let inside = getpid();
        let (wait, go) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|error| Refusal::new(Stage::Map, error))?;
        match system::fork().map_err(|error| Refusal::new(Stage::Fork, error))? {
            Fork::Parent(process) => Ok(Self { process, go }),
            Fork::Child => {
                drop(go);
                let has_begun = rustix::io::read(&wait, &mut [0]) == Ok(1);
                let done = has_begun && map_all(inside).is_ok();
                system::leave(u8::from(!done))
            }
        }
    }

    fn has_mapped(self) -> bool {
        // If it is gone, its status says so.
        let _ = rustix::io::write(&self.go, b"!");
        let ended = waitpid(Some(self.process), WaitOptions::empty());
        matches!(ended, Ok(Some((_, status))) if status.exit_status() == Some(0))
    }
}

/// Gives the namespace of a process every id that there is here, each as itself.
fn map_all(process: Pid) -> io::Result<()> {
    for map in ["uid_map", "gid_map"] {
        let here = fs::read_to_string(format!("/proc/self/{map}"))?;
        let mut lines = String::new();
        for line in here.lines() {
            let mut fields = line.split_whitespace();
            if let (Some(first), Some(_), Some(count)) =
                (fields.next(), fields.next(), fields.next())
            {
                lines.extend([first, " ", first, " ", count, "\n"]);
            }
        }
        fs::write(format!("/proc/{process}/{map}"), lines)?;
    }
    Ok(())
}

fn map_self((user, group): (Uid, Gid)) -> io::Result<()> {
    let (user, group) = (user.as_raw(), group.as_raw());
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))
}

/// Turns the loopback on: the only network there is.
pub(super) fn raise_loopback() -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ANSWER: u16 = 1 | 4;
    const ERROR: u16 = 2;
    const LOOPBACK: u32 = 1;
    const UP: u32 = 1;
    let flags = SocketFlags::CLOEXEC;
    // The protocol 0 of this family is the one about links and routes.
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    let mut message = Vec::with_capacity(32);
    // `struct nlmsghdr`: length, kind, flags, number, port.
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ANSWER.to_ne_bytes());
    message.extend([0; 8]);
    // `struct ifinfomsg`: family, type, which one, flags, which flags.
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    rustix::net::send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0; 256];
    let (got, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let field = |at: usize| answer.get(..got)?.get(at..)?.first_chunk::<4>();
    let kind = field(4).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
    let error = field(16).map(|bytes| i32::from_ne_bytes(*bytes));
    match (kind, error) {
        (Some(ERROR), Some(0)) => Ok(()),
        (Some(ERROR), Some(error)) => Err(io::Error::from_raw_os_error(-error)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The sockets with a path that somebody listens on, or did, as this network names them.
pub(super) fn sockets_with_paths() -> Vec<PathBuf> {
    // Without the list nothing can be hidden, and there is none without a kernel that has it.
    let list = fs::read("/proc/net/unix").unwrap_or_default();
    let path = |line: &[u8]| {
        let at = memchr::memmem::find(line, b" /")?;
        let path = line.get(at + 1..)?;
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(path)))
    };
    let mut paths: Vec<PathBuf> = list.split(|byte| *byte == b'\n').filter_map(path).collect();
    paths.sort();
    paths.dedup();
    paths
}
