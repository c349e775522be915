//! What a command may not do, put on a process just before it becomes one. Nothing here can
//! be taken off again.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};
use seccompiler::{BpfProgram, apply_filter};

use super::super::policy::Limits;
use super::super::wire::{Refusal, Stage};
use super::namespaces::Who;

/// What root keeps inside: rights over files and ids of the namespace, and none over the
/// system.
const KEPT_BY_ROOT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// The version of Landlock whose rights are asked for; an older kernel has fewer of them.
const RIGHTS: ABI = ABI::V3;

/// Moves this process, for good, into a tree.
pub(super) fn enter_tree(root: BorrowedFd<'_>) -> Result<(), Refusal> {
    let enter = || {
        rustix::process::fchdir(root)?;
        rustix::process::chroot(".")
    };
    enter().map_err(|error| Refusal::new(Stage::Root, error))
}

/// Gives up the rights over the system that the namespace lends.
pub(super) fn drop_rights(who: Who) -> Result<(), Refusal> {
    let kept = match who {
        Who::Root => KEPT_BY_ROOT,
        Who::Somebody => CapabilitySet::empty(),
    };
    let drop = || {
        for number in 0..u64::BITS {
            let one = CapabilitySet::from_bits_retain(1 << number);
            if kept.contains(one) {
                continue;
            }
            match remove_capability_from_bounding_set(one) {
                // The kernel knows no more of them.
                Err(Errno::INVAL) => break,
                done => done?,
            }
        }
        clear_ambient_capability_set()?;
        set_capabilities(
            None,
            CapabilitySets {
                effective: kept,
                permitted: kept,
                inheritable: CapabilitySet::empty(),
            },
        )?;
        set_no_new_privs(true)
    };
    drop().map_err(|error| Refusal::new(Stage::Guard, error))
}

/// Sets the limits, none of them above what there is.
pub(super) fn limit(limits: &Limits) -> Result<(), Refusal> {
    let wanted = [
        (Resource::Core, Some(0)),
        (Resource::Nproc, limits.processes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::As, limits.memory_bytes),
    ];
    for (resource, most) in wanted {
        let Some(most) = most else { continue };
        let now = getrlimit(resource).maximum;
        let most = Some(now.map_or(most, |now| now.min(most)));
        let new = Rlimit {
            current: most,
            maximum: most,
        };
        setrlimit(resource, new).map_err(|error| Refusal::new(Stage::Guard, error))?;
    }
    Ok(())
}

/// Lets this process write below these paths only, as far as the kernel knows how. What is
/// named and is not there is passed over. Whether anything holds now.
pub(super) fn allow_writes(below: &[PathBuf], reach: Scoped) -> Result<bool, Refusal> {
    let refuse = |_| Refusal::new(Stage::Landlock, Errno::INVAL);
    let rights = AccessFs::from_write(RIGHTS);
    let restrict = || {
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(rights)?;
        if let Scoped::ThisProcessAndItsChildren = reach {
            rules = rules.scope(Scope::from_all(ABI::V6))?;
        }
        rules
            .create()?
            .add_rules(path_beneath_rules(below, rights))?
            .restrict_self()
    };
    let status = restrict().map_err(refuse)?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

/// Whom signals and nameless sockets may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scoped {
    /// Whoever there is: namespaces see to it.
    Anybody,
    /// Nobody who does not descend from this process.
    ThisProcessAndItsChildren,
}

/// Puts a filter of system calls on this process.
pub(super) fn filter_calls(filters: &[BpfProgram]) -> Result<(), Refusal> {
    for filter in filters {
        apply_filter(filter).map_err(|error| {
            let error = match error {
                seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
                _ => io::ErrorKind::InvalidInput.into(),
            };
            Refusal::new(Stage::Seccomp, error)
        })?;
    }
    Ok(())
}
