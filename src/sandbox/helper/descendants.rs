//! All processes that descend from this one, where no namespace holds them: whoever leaves
//! its parent becomes a child of the helper.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::{Pid, Signal, getpid, kill_process};

/// Kills them. One that forks meanwhile leaves a child of the helper: to be called again
/// until there is none.
pub(super) fn kill_all() {
    let parents = parents();
    let mut doomed = BTreeSet::from([getpid().as_raw_nonzero().get()]);
    loop {
        let before = doomed.len();
        let below = parents.iter().filter(|(_, parent)| doomed.contains(parent));
        let below: Vec<i32> = below.map(|(process, _)| *process).collect();
        doomed.extend(below);
        if doomed.len() == before {
            break;
        }
    }
    for process in doomed.into_iter().filter_map(Pid::from_raw) {
        if process != getpid() {
            // It may be gone already.
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// Whether there is one. Whoever ended and was not reaped counts, too.
pub(super) fn is_there_any() -> bool {
    let own = getpid().as_raw_nonzero().get();
    parents().iter().any(|(_, parent)| *parent == own)
}

/// Every process that can be seen, with its parent.
fn parents() -> Vec<(i32, i32)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let parent = |entry: fs::DirEntry| {
        let process: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name in parentheses may hold anything, so the fields are counted from its end.
        let (_, fields) = stat.rsplit_once(')')?;
        let parent = fields.split_whitespace().nth(1)?.parse().ok()?;
        Some((process, parent))
    };
    entries.filter_map(Result::ok).filter_map(parent).collect()
}
