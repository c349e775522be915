//! Why a machine says no, and what can be done about it.

use std::fs;
use std::io;

use rustix::io::Errno;

use super::error::{Guarantee, Missing};
use super::wire::{Refusal, Stage};

/// What a refusal means on this machine.
pub(super) fn explain(refusal: &Refusal) -> Missing {
    let error = io::Error::from_raw_os_error(refusal.errno);
    let errno = Errno::from_raw_os_error(refusal.errno);
    let at = refusal.at.as_ref();
    let at = at.map(|path| format!("`{}`: ", path.to_string_lossy()));
    let at = at.unwrap_or_default();
    let is_forbidden = matches!(errno, Errno::PERM | Errno::ACCESS);
    let (cause, cure) = match refusal.stage {
        Stage::Unshare if matches!(errno, Errno::NOSPC | Errno::USERS) => (
            "there may be no more user namespaces".to_owned(),
            "raise /proc/sys/user/max_user_namespaces",
        ),
        Stage::Unshare | Stage::Map
            if is_forbidden && says("/proc/sys/kernel/unprivileged_userns_clone", "0") =>
        {
            (
                "only root may have user namespaces".to_owned(),
                "set /proc/sys/kernel/unprivileged_userns_clone to 1",
            )
        }
        stage if is_forbidden && is_before_checks(stage) && is_restricted_by_apparmor() => (
            "AppArmor forbids user namespaces to this program".to_owned(),
            "add a profile that allows it `userns`, or set \
             /proc/sys/kernel/apparmor_restrict_unprivileged_userns to 0",
        ),
        Stage::Unshare | Stage::Map if is_forbidden && is_filtered() => (
            "a filter of system calls forbids it, as in a container".to_owned(),
            "start the container with a seccomp profile that allows `unshare` and `mount`",
        ),
        Stage::Proc if is_forbidden => (
            "parts of /proc are covered, as in a container".to_owned(),
            "start the container with `--security-opt systempaths=unconfined`",
        ),
        Stage::Overlay | Stage::Home if errno == Errno::NODEV => (
            "the kernel has no overlay".to_owned(),
            "load the module `overlay`",
        ),
        Stage::Overlay if errno == Errno::INVAL => (
            format!("{at}its file system cannot hold the layers of an overlay"),
            "name another directory for the layers",
        ),
        Stage::Landlock if errno == Errno::NOSYS => (
            "the kernel has no Landlock, or it is off".to_owned(),
            "add `landlock` to the kernel's parameter `lsm=`",
        ),
        _ => (
            format!("{at}{error}"),
            "`jukebox doctor` looks at each part by itself",
        ),
    };
    Missing {
        what: guarantee(refusal.stage),
        cause,
        cure: cure.to_owned(),
    }
}

fn guarantee(stage: Stage) -> Guarantee {
    match stage {
        Stage::Talk | Stage::Fork | Stage::Guard => Guarantee::Helper,
        Stage::Unshare | Stage::Map => Guarantee::Namespaces,
        Stage::Root | Stage::ReadOnly => Guarantee::ReadOnly,
        Stage::Proc | Stage::Dev | Stage::Temporary | Stage::Hide => Guarantee::OwnTrees,
        Stage::Overlay | Stage::Home => Guarantee::Overlay,
        Stage::Loopback => Guarantee::Network,
        Stage::Landlock => Guarantee::Landlock,
        Stage::Seccomp => Guarantee::Seccomp,
    }
}

/// Whether a refusal there may mean that the namespace itself is worth nothing.
fn is_before_checks(stage: Stage) -> bool {
    matches!(
        stage,
        Stage::Unshare | Stage::Map | Stage::Root | Stage::ReadOnly | Stage::Loopback
    )
}

fn is_restricted_by_apparmor() -> bool {
    says(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    )
}

fn is_filtered() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .any(|line| line.split_whitespace().eq(["Seccomp:", "2"]))
}

fn says(file: &str, value: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.trim() == value)
}
