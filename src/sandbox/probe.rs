//! What this machine allows: a sandbox is started for good, over a directory made for that,
//! and a guarded process tries what commands may not. Nothing is left behind.
//!
//! Only who asks what is missing needs this. A start of a sandbox looks at nothing beforehand: it
//! makes the namespaces, mounts and filters that it needs anyhow, and the first that the machine
//! refuses is the answer. So there is no earlier answer to remember, and none that could be wrong.

use std::fs;
use std::io;
use std::path::Path;

use super::config::{Backend, Config};
use super::copy::can_reflink;
use super::error::{Guarantee, Missing};
use super::finding::{Finding, Probe, Tested};
use super::policy::Policy;
use super::session::Sandbox;
use super::wire::Broken;

/// What was looked at, in the order in which a sandbox needs it.
const LOOKED_AT: [Guarantee; 8] = [
    Guarantee::Workspace,
    Guarantee::Helper,
    Guarantee::Namespaces,
    Guarantee::Network,
    Guarantee::ReadOnly,
    Guarantee::OwnTrees,
    Guarantee::Overlay,
    Guarantee::Seccomp,
];

/// Looks, in a new directory below `place`, with this program as the helper.
pub fn probe(helper: &Path, place: &Path) -> io::Result<Probe> {
    let directory = tempfile::Builder::new()
        .prefix("jukebox-")
        .tempdir_in(place)?;
    let workspace = directory.path().join("workspace");
    fs::create_dir_all(workspace.join("directory"))?;
    fs::write(workspace.join("directory/file"), "lower")?;
    let config = |backend| Config {
        workspace: workspace.clone(),
        seen_at: None,
        helper: helper.to_owned(),
        backend,
        layers: None,
        policy: Policy::for_home(None),
    };
    let overlay = try_it(&config(Backend::Overlay));
    let mut findings = findings_of(&overlay);
    let copy;
    let (backend, landlock) = match &overlay {
        Ok((broken, landlock)) if broken.is_empty() => (Some(Backend::Overlay), Some(*landlock)),
        _ => {
            copy = try_it(&config(Backend::Copy));
            match &copy {
                Ok((broken, landlock)) => {
                    (broken.is_empty().then_some(Backend::Copy), Some(*landlock))
                }
                Err(_) => (None, None),
            }
        }
    };
    findings.push(Finding {
        what: Guarantee::Landlock,
        verdict: match landlock {
            Some(level @ 1..) => Tested::Holds(format!("level {level}")),
            _ => Tested::Missing {
                cause: "the kernel has no Landlock, or it is off".to_owned(),
                cure: "add `landlock` to the kernel's parameter `lsm=`".to_owned(),
                is_needed: false,
            },
        },
    });
    findings.push(Finding {
        what: Guarantee::Reflink,
        verdict: if can_reflink(directory.path()) {
            Tested::Holds("copies share their bytes until one is changed".to_owned())
        } else {
            Tested::Missing {
                cause: "the file system cannot share bytes between files".to_owned(),
                cure: "copies take time and room; btrfs and XFS do it without".to_owned(),
                is_needed: false,
            }
        },
    });
    Ok(Probe { backend, findings })
}

/// What does not hold, and the level of Landlock.
type Tried = Result<(Vec<Broken>, u32), Missing>;

fn try_it(config: &Config) -> Tried {
    let mut sandbox = Sandbox::start(config)?;
    let landlock = sandbox.facts().landlock;
    let broken = sandbox.check().map_err(|error| Missing {
        what: Guarantee::Helper,
        cause: error.to_string(),
        cure: "try again".to_owned(),
    })?;
    Ok((broken, landlock))
}

fn findings_of(tried: &Tried) -> Vec<Finding> {
    let failed = tried.as_ref().err();
    let place_of = |what| LOOKED_AT.iter().position(|looked| *looked == what);
    let first_unknown = failed.map(|missing| place_of(missing.what).unwrap_or(0));
    let finding = |(place, what): (usize, &Guarantee)| Finding {
        what: *what,
        verdict: match (failed, first_unknown) {
            (Some(missing), Some(first)) if place == first => Tested::Missing {
                cause: missing.cause.clone(),
                cure: missing.cure.clone(),
                is_needed: true,
            },
            (_, Some(first)) if place > first => Tested::Unknown,
            _ => verdict_on(*what, tried),
        },
    };
    LOOKED_AT.iter().enumerate().map(finding).collect()
}

/// What was seen of something that is there.
fn verdict_on(what: Guarantee, tried: &Tried) -> Tested {
    let (seen, broken, cause) = match what {
        Guarantee::Workspace => ("layers can lie there", None, ""),
        Guarantee::Helper => ("it starts", None, ""),
        Guarantee::Namespaces => (
            "users, mounts, processes, network, ipc, host name",
            None,
            "",
        ),
        Guarantee::Network => (
            "a loopback, and no way to others",
            Some(Broken::Network),
            "another machine could be reached from inside",
        ),
        Guarantee::ReadOnly => (
            "nothing else can be written",
            Some(Broken::ReadOnly),
            "a file outside the workspace could be written",
        ),
        Guarantee::Overlay => (
            "a directory can be removed and made anew",
            Some(Broken::Overlay),
            "a directory could not be removed and made anew",
        ),
        Guarantee::Seccomp => (
            "a forbidden call fails",
            Some(Broken::Seccomp),
            "a forbidden call was carried out",
        ),
        _ => ("they are there", None, ""),
    };
    let is_broken =
        |(found, _): &(Vec<Broken>, u32)| broken.is_some_and(|one| found.contains(&one));
    if tried.as_ref().is_ok_and(is_broken) {
        return Tested::Missing {
            cause: cause.to_owned(),
            cure: "report it: this machine does what none was seen to do".to_owned(),
            is_needed: true,
        };
    }
    Tested::Holds(seen.to_owned())
}
