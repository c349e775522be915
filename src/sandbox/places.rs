//! Where the workspace of a sandbox lies, where commands see it, and which home directory gets
//! a layer: what is asked for is looked at, and refused in words. Nothing is made here.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::config::{Backend, Config};
use super::error::{Guarantee, Missing};
use super::mounts::Mounts;

pub(super) fn workspace_of(config: &Config) -> Result<PathBuf, Missing> {
    let path = &config.workspace;
    let found = fs::canonicalize(path);
    let found = found.map_err(|error| no_workspace(format!("`{}`: {error}", path.display())))?;
    if !found.is_dir() || found.parent().is_none() {
        return Err(no_workspace(format!(
            "`{}` is no directory below the root",
            path.display()
        )));
    }
    Ok(found)
}

/// Directories at which nothing but what belongs there can be shown: without them, no command
/// runs.
const TAKEN: [&str; 14] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/run", "/sbin",
    "/sys", "/usr", "/var",
];

/// Where commands are to see the workspace, if not at its own path.
pub(super) fn seen_at(config: &Config) -> Result<Option<PathBuf>, Missing> {
    let Some(path) = &config.seen_at else {
        return Ok(None);
    };
    let is_plain = path.is_absolute()
        && path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let holds_system = TAKEN.iter().any(|taken| path == Path::new(taken));
    let is_system = ["/dev", "/proc", "/sys"]
        .iter()
        .any(|taken| path.starts_with(taken));
    if !is_plain || holds_system || is_system {
        return Err(Missing {
            what: Guarantee::Workspace,
            cause: format!("nothing can be shown at `{}`", path.display()),
            cure: "name another path for it".to_owned(),
        });
    }
    Ok(Some(path.clone()))
}

/// The home directory, if it gets a layer of its own. One with mounts in it cannot be
/// overlaid, and stays read-only.
pub(super) fn home_of(config: &Config, workspace: &Path, mounts: &Mounts) -> Option<PathBuf> {
    let home = fs::canonicalize(config.policy.home.as_ref()?).ok()?;
    let is_apart = !home.starts_with(workspace) && home.parent().is_some();
    let is_whole = mounts.below(&home).next().is_none();
    (config.backend == Backend::Overlay && is_apart && is_whole).then_some(home)
}

pub(super) fn no_workspace(cause: String) -> Missing {
    Missing {
        what: Guarantee::Workspace,
        cause,
        cure: "name a directory that is yours, on a disk with room".to_owned(),
    }
}
