//! The system calls that no command may make: those that change the machine, reach around
//! mounts and namespaces, or get past a filter like this one. Everything else is allowed.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use super::super::config::Backend;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that are forbidden whatever they ask for.
const FORBIDDEN: [c_long; 35] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
];

/// Calls that look as if the kernel had none of them, so that programs do without. What
/// `clone3` asks for lies in memory, where no filter sees it; `io_uring` makes calls that
/// none is asked about.
const UNKNOWN: [c_long; 4] = [
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
];

/// `clone` and `unshare` with any of these make namespaces.
const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// In numbers of system calls of another form of the same machine.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// The filters for commands, all of which are to be put on.
pub(super) fn filters(backend: Backend) -> Result<Vec<BpfProgram>, BackendError> {
    let mut forbidden = Rules::new();
    for call in FORBIDDEN {
        forbidden.insert(call, Vec::new());
    }
    let makes_namespaces = every_flag(NAMESPACES)?;
    forbidden.insert(libc::SYS_clone, makes_namespaces.clone());
    forbidden.insert(libc::SYS_unshare, makes_namespaces);
    // Typing into the terminal of somebody else.
    let types = [libc::TIOCSTI, libc::TIOCLINUX];
    let types = types.map(|request| argument_is(1, u64::from(request as u32)));
    forbidden.insert(
        libc::SYS_ioctl,
        types.into_iter().collect::<Result<_, _>>()?,
    );
    if backend == Backend::Copy {
        // Without a network of its own there is none at all, and no socket with a name.
        forbidden.insert(libc::SYS_socket, Vec::new());
    }
    let unknown = UNKNOWN.into_iter().map(|call| (call, Vec::new())).collect();
    Ok(vec![
        filter(forbidden, libc::EPERM)?,
        filter(unknown, libc::ENOSYS)?,
    ])
}

fn filter(rules: Rules, errno: i32) -> Result<BpfProgram, BackendError> {
    #[cfg(target_arch = "x86_64")]
    let rules = {
        let other = rules
            .clone()
            .into_iter()
            .map(|(call, rules)| (call | X32, rules));
        rules.clone().into_iter().chain(other).collect()
    };
    let answer = SeccompAction::Errno(errno as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, answer, ARCH)?.try_into()
}

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;
#[cfg(target_arch = "riscv64")]
const ARCH: TargetArch = TargetArch::riscv64;

/// Rules of which one holds if the first argument has any of these bits.
fn every_flag(flags: i32) -> Result<Vec<SeccompRule>, BackendError> {
    let flags = flags as u32;
    let bits = (0..u32::BITS)
        .map(|bit| 1_u32 << bit)
        .filter(|bit| flags & bit != 0);
    bits.map(|bit| {
        let bit = u64::from(bit);
        let has_it = SeccompCmpOp::MaskedEq(bit);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, has_it, bit)?;
        SeccompRule::new(vec![condition])
    })
    .collect()
}

fn argument_is(number: u8, value: u64) -> Result<SeccompRule, BackendError> {
    let equal = SeccompCmpOp::Eq;
    let condition = SeccompCondition::new(number, SeccompCmpArgLen::Dword, equal, value)?;
    SeccompRule::new(vec![condition])
}
