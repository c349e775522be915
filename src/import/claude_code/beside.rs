//! What lies beside a transcript: outputs too large for it, and backups of files.
//!
//! Only names of files in the directories that belong to the transcript are read. A name
//! with a directory in it is refused: it came from the transcript, and is not trusted.

use std::fs;
use std::path::{Path, PathBuf};

/// The largest file that is read: 64 MiB.
const LARGEST: u64 = 64 << 20;

/// The directories beside a transcript.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    outputs: Vec<PathBuf>,
    backups: Vec<PathBuf>,
}

impl Beside {
    /// What belongs to a transcript and its session by the layout of Claude Code.
    pub(super) fn of(
        transcript: Option<&Path>,
        session: Option<&str>,
        history: Option<&Path>,
    ) -> Self {
        let directory = transcript.and_then(Path::parent);
        let stem = transcript.and_then(Path::file_stem);
        let stem = stem.and_then(|stem| stem.to_str());
        let mut names: Vec<&str> = stem.into_iter().chain(session).collect();
        names.retain(|name| is_plain(name));
        names.dedup();
        let mut beside = Self::default();
        for name in names {
            if let Some(directory) = directory {
                let own = directory.join(name);
                beside.outputs.push(own.join("tool-results"));
                beside.backups.push(own.join("file-history"));
                let history = directory.join("file-history");
                beside.backups.push(history.join(name));
            }
            let history = history.map(|history| history.join(name));
            beside.backups.extend(history);
        }
        beside.backups.extend(history.map(Path::to_owned));
        beside
    }

    /// An output that a result names by the path it had where the run was.
    pub(super) fn output(&self, path: &str) -> Option<Vec<u8>> {
        let name = path.rsplit(['/', '\\']).next()?;
        read(&self.outputs, name)
    }

    /// A backup of a file.
    pub(super) fn backup(&self, name: &str) -> Option<Vec<u8>> {
        read(&self.backups, name)
    }
}

fn read(directories: &[PathBuf], name: &str) -> Option<Vec<u8>> {
    if !is_plain(name) {
        return None;
    }
    directories.iter().find_map(|directory| {
        let path = directory.join(name);
        let about = fs::symlink_metadata(&path).ok()?;
        (about.is_file() && about.len() <= LARGEST).then(|| fs::read(&path).ok())?
    })
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !matches!(name, "." | "..") && !name.contains(['/', '\\', '\0'])
}
