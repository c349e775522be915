//! The user's own editor, on a copy of something the tape holds.
//!
//! The copy lies in a private directory, and is deleted with it. One that is only looked at
//! cannot be written, and what the user does to it never comes back.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use tempfile::TempDir;

/// Editors known to take `+LINE`. Others are given the file alone: they might take it for
/// the name of a file.
const KNOW_LINES: [&str; 15] = [
    "vi",
    "vim",
    "nvim",
    "gvim",
    "view",
    "nano",
    "pico",
    "emacs",
    "emacsclient",
    "less",
    "more",
    "micro",
    "kak",
    "joe",
    "mg",
];

/// What becomes of what the user does to a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It is only looked at.
    Look,
    /// It is altered, and comes back.
    Alter,
}

/// How the user wants files opened: a command for the shell.
#[derive(Clone, Debug)]
pub(super) struct Editor {
    command: OsString,
}

impl Editor {
    /// The editor of `VISUAL` or `EDITOR`, or `vi`.
    pub(super) fn from_environment() -> Self {
        let mut named = ["VISUAL", "EDITOR"].into_iter().filter_map(env::var_os);
        let command = named.find(|command| !command.is_empty());
        Self {
            command: command.unwrap_or_else(|| "vi".into()),
        }
    }

    /// Opens these bytes under this name, which is one harmless component, at this line.
    /// Keys come from the terminal given.
    pub(super) fn open(
        &self,
        bytes: &[u8],
        name: &str,
        line: usize,
        purpose: Purpose,
        keys: OwnedFd,
    ) -> io::Result<Opened> {
        let directory = tempfile::Builder::new()
            .prefix("jukebox-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()?;
        let path = directory.path().join(name);
        let mut copy = File::options()
            .write(true)
            .create_new(true)
            .mode(match purpose {
                Purpose::Look => 0o400,
                Purpose::Alter => 0o600,
            })
            .open(&path)?;
        copy.write_all(bytes)?;
        let mut script = self.command.clone();
        script.push(" \"$@\"");
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg("jukebox").stdin(keys);
        if self.knows_lines() {
            shell.arg(format!("+{line}"));
        }
        Ok(Opened {
            child: shell.arg(&path).spawn()?,
            altered: (purpose == Purpose::Alter).then_some(path),
            _directory: directory,
        })
    }

    fn knows_lines(&self) -> bool {
        let command = self.command.to_string_lossy();
        let program = command.split_whitespace().next().unwrap_or_default();
        let program = Path::new(program).file_name().and_then(OsStr::to_str);
        program.is_some_and(|program| KNOW_LINES.contains(&program))
    }
}

/// An editor at work. Dropped, the copy is deleted.
#[derive(Debug)]
pub(super) struct Opened {
    child: Child,
    /// The copy, where what was done to it comes back.
    altered: Option<PathBuf>,
    _directory: TempDir,
}

impl Opened {
    /// How the editor ended, once it has.
    pub(super) fn ending(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// What the copy is now, where that is wanted.
    pub(super) fn text(&self) -> io::Result<Option<String>> {
        self.altered.as_ref().map(fs::read_to_string).transpose()
    }
}
