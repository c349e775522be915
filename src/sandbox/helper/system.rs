//! The system calls that no crate gives as safe functions. The only unsafe code.
//!
//! The helper has one thread and starts no other: that is what makes `fork` sound here. The
//! child of a fork owns copies of all that its parent had, and may run any code.

#![expect(unsafe_code, reason = "these calls have no safe form")]

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// Which of the two a process is after a fork.
pub(super) enum Fork {
    Child,
    Parent(Pid),
}

/// Makes a second process of this one.
pub(super) fn fork() -> io::Result<Fork> {
    // SAFETY: the process has one thread, so no lock is held by one that the child lacks.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        child => {
            let child = Pid::from_raw(child);
            child
                .map(Fork::Parent)
                .ok_or_else(|| io::ErrorKind::Other.into())
        }
    }
}

/// Ends this process, and nothing else: what a forked child shares is its parent's to close.
pub(super) fn leave(code: u8) -> ! {
    // SAFETY: it takes a number and does not return.
    unsafe { libc::_exit(code.into()) }
}

/// Kills everybody whom this process may signal, but itself. Only for the first process of a
/// namespace, to whom nobody else exists.
pub(super) fn kill_everybody() {
    // SAFETY: it takes two numbers.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Whether there is anybody whom [`kill_everybody`] would kill. Who ended and was not reaped
/// counts, too.
pub(super) fn is_anybody_there() -> bool {
    // SAFETY: it takes two numbers, and with this one nobody is sent a signal.
    unsafe { libc::kill(-1, 0) == 0 }
}

/// Closes the descriptors that whoever started this process left open. Only before any is
/// owned here.
pub(super) fn close_inherited() {
    // SAFETY: nothing in this process owns a descriptor from 3 on yet.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// Moves this process, or its children, into namespaces of their own.
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: no flag parts the tables of descriptors of two threads.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Makes a mount, or all below it too, read-only. Set-user-id files and devices count for
/// nothing there from then on.
pub(super) fn make_read_only(mount: impl AsFd, reach: Reach) -> io::Result<()> {
    let set = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    // `struct mount_attr`: what to set, what to clear, propagation, a user namespace.
    let asked: [u64; 4] = [set, 0, 0, 0];
    let flags = match reach {
        Reach::This => libc::AT_EMPTY_PATH,
        Reach::AllBelow => libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
    };
    let mount = mount.as_fd().as_raw_fd();
    // SAFETY: the path is a string that ends, and the structure lives as long as the call and
    // is as large as is said.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount,
            c"".as_ptr(),
            flags,
            asked.as_ptr(),
            size_of_val(&asked),
        )
    };
    if done == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

/// How far a call reaches.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reach {
    This,
    AllBelow,
}

/// The level of Landlock that this kernel has; 0: none.
pub(super) fn landlock_level() -> u32 {
    const ASK_FOR_LEVEL: libc::c_uint = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag, and only with it, there is no structure, and its size is 0.
    let level = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            nothing,
            0_usize,
            ASK_FOR_LEVEL,
        )
    };
    u32::try_from(level).unwrap_or(0)
}
