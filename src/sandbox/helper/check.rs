//! Whether the guard holds: a process that is guarded like a command tries what it may not,
//! and what it must be able to.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use rustix::net::{AddressFamily, Ipv4Addr, SocketAddrV4, SocketType};
use rustix::process::{WaitOptions, waitpid};

use super::super::config::Backend;
use super::super::wire::Broken;
use super::Guard;
use super::system::{self, Fork};

/// In the lower layer of the workspace that is looked at.
const DIRECTORY: &str = "directory";
/// In it.
const FILE: &str = "file";

/// The promises that do not hold. The workspace holds a directory `directory` with a file.
pub(super) fn check(guard: &Guard) -> io::Result<Vec<Broken>> {
    let (told, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let child = match system::fork()? {
        Fork::Parent(child) => child,
        Fork::Child => {
            let found = guard.put_on().ok().map(|()| look(guard));
            if let Some(found) = found.and_then(|found| serde_json::to_vec(&found).ok()) {
                // A parent that hears nothing knows that nothing holds.
                let _ = rustix::io::write(&tell, &found);
            }
            system::leave(0)
        }
    };
    drop(tell);
    let mut found = Vec::new();
    fs::File::from(told).read_to_end(&mut found)?;
    waitpid(Some(child), WaitOptions::empty())?;
    Ok(serde_json::from_slice(&found)?)
}

fn look(guard: &Guard) -> Vec<Broken> {
    let workspace = Path::new(&guard.setup.seen);
    let mut broken = Vec::new();
    if guard.setup.backend == Backend::Overlay && !can_replace(&workspace.join(DIRECTORY)) {
        broken.push(Broken::Overlay);
    }
    if can_write_elsewhere() {
        broken.push(Broken::ReadOnly);
    }
    if can_reach_others() {
        broken.push(Broken::Network);
    }
    if system::unshare(rustix::thread::UnshareFlags::NEWUSER).is_ok() {
        broken.push(Broken::Seccomp);
    }
    broken
}

/// Whether a directory can be removed and made anew, and is empty then.
fn can_replace(directory: &Path) -> bool {
    let replace = || {
        fs::read(directory.join(FILE))?;
        fs::remove_dir_all(directory)?;
        fs::create_dir(directory)?;
        fs::read_dir(directory)
    };
    replace().is_ok_and(|mut left| left.next().is_none())
}

fn can_write_elsewhere() -> bool {
    let name = ".jukebox-check";
    ["/", "/etc", "/usr", "/var", "/opt"]
        .iter()
        .any(|directory| {
            let path = Path::new(directory).join(name);
            let made = OpenOptions::new().write(true).create_new(true).open(&path);
            // If it could be made, then it is not left there.
            made.is_ok() && (fs::remove_file(&path).is_ok() || path.exists())
        })
}

/// Whether an address that belongs to nobody has a way to it. Nothing is sent.
fn can_reach_others() -> bool {
    let address = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 9);
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None);
    socket.is_ok_and(|socket| rustix::net::connect(&socket, &address).is_ok())
}
