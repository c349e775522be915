//! What a sandbox hides and limits, where nobody says otherwise. Lists only; nothing is
//! looked up here, and the environment comes in from the caller.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Variables that a command gets, beside those with a prefix of [`PREFIXES`].
const ALLOWED: [&str; 42] = [
    "CARGO_HOME",
    "CARGO_TERM_COLOR",
    "CI",
    "CLICOLOR",
    "COLORTERM",
    "COLUMNS",
    "CONDA_PREFIX",
    "DOTNET_ROOT",
    "EDITOR",
    "FORCE_COLOR",
    "GEM_HOME",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LOGNAME",
    "NODE_ENV",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NO_COLOR",
    "NVM_DIR",
    "PAGER",
    "PATH",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYTHONPATH",
    "RUBYOPT",
    "RUSTFLAGS",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "SHELL",
    "TERM",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
];

/// Variables that a command gets begin with these, or stand in [`ALLOWED`].
const PREFIXES: [&str; 1] = ["LC_"];

/// Where people keep what opens other doors, below their home directory.
const SECRETS: [&str; 25] = [
    ".aws",
    ".azure",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".docker/config.json",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".mozilla",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".ssh",
    ".vault-token",
];

/// What a sandbox hides, and how much its commands may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The user's home directory: readable, and written only into a layer that is thrown
    /// away. `None`: it is read-only, like everything else.
    pub home: Option<PathBuf>,
    /// Files and directories that look empty. What is not there is passed over.
    pub hidden: Vec<PathBuf>,
    /// Paths below the workspace, relative to it, at which commands find nothing, whatever
    /// is or comes there outside: they can be walked over, and belong to no change set.
    pub unseen: Vec<PathBuf>,
    /// What a command may use.
    pub limits: Limits,
}

impl Policy {
    /// The policy for the user of this home directory.
    pub fn for_home(home: Option<&Path>) -> Self {
        let below = |home: &Path| SECRETS.iter().map(|name| home.join(name)).collect();
        Self {
            home: home.map(Path::to_owned),
            hidden: home.map(below).unwrap_or_default(),
            unseen: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// What a command may use. `None`: as much as the system lets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads of the user at once.
    pub processes: Option<u64>,
    /// Bytes of a file that it writes.
    pub file_bytes: Option<u64>,
    /// Bytes of address space of a process.
    pub memory_bytes: Option<u64>,
    /// Bytes in each of `/tmp`, `/var/tmp`, `/run` and `/dev/shm`, which lie in memory.
    pub temporary_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            processes: Some(8192),
            file_bytes: None,
            memory_bytes: None,
            temporary_bytes: 2 << 30,
        }
    }
}

/// The variables of an environment that a command gets: those that say how to work, and none
/// that could hold a secret. `TMPDIR` is the sandbox's own.
pub fn allowed_environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let kept = variables.into_iter().filter(|(name, _)| is_allowed(name));
    let mut kept: Vec<_> = kept.collect();
    kept.push(("TMPDIR".into(), "/tmp".into()));
    kept
}

fn is_allowed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    ALLOWED.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_kept_only_if_it_is_named() {
        let given = [
            "PATH",
            "LC_ALL",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "PATHS",
        ];
        let given = given.map(|name| (OsString::from(name), OsString::from("x")));
        let kept = allowed_environment(given);
        let names: Vec<_> = kept.iter().filter_map(|(name, _)| name.to_str()).collect();
        assert_eq!(names, ["PATH", "LC_ALL", "TMPDIR"]);
    }
}
