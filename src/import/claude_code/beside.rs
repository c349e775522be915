//! What lies beside a transcript: outputs too large for it, and backups of files.
//!
//! Only names of files in the directories that belong to the transcript are read. A name
//! with a directory in it is refused: it came from the transcript, and is not trusted. No
//! link leads out of these directories: they may have come with it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::import::base::read_below;

/// The directories beside a transcript.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    outputs: Vec<Place>,
    backups: Vec<Place>,
}

/// A directory, and the one that it must not lead out of.
#[derive(Clone, Debug)]
struct Place {
    root: PathBuf,
    below: PathBuf,
}

impl Beside {
    /// What belongs to a transcript and its session by the layout of Claude Code.
    pub(super) fn of(
        transcript: Option<&Path>,
        session: Option<&str>,
        history: Option<&Path>,
    ) -> Self {
        let canonical = |directory: &Path| fs::canonicalize(directory).ok();
        // A transcript that is named without a directory lies in the current one.
        let directory =
            transcript.and_then(|transcript| canonical(&Path::new(".").join(transcript.parent()?)));
        let history = history.and_then(canonical);
        let stem = transcript.and_then(Path::file_stem);
        let stem = stem.and_then(|stem| stem.to_str());
        let mut names: Vec<&str> = stem.into_iter().chain(session).collect();
        names.retain(|name| is_plain(name));
        names.dedup();
        let mut beside = Self::default();
        for name in names {
            if let Some(directory) = &directory {
                let place = |below: PathBuf| Place {
                    root: directory.clone(),
                    below,
                };
                let own = Path::new(name);
                beside.outputs.push(place(own.join("tool-results")));
                beside.backups.push(place(own.join("file-history")));
                beside
                    .backups
                    .push(place(Path::new("file-history").join(name)));
            }
            beside.backups.extend(history.iter().map(|history| Place {
                root: history.clone(),
                below: name.into(),
            }));
        }
        beside.backups.extend(history.map(|root| Place {
            root,
            below: PathBuf::new(),
        }));
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

fn read(places: &[Place], name: &str) -> Option<Vec<u8>> {
    if !is_plain(name) {
        return None;
    }
    places
        .iter()
        .find_map(|place| read_below(&place.root, &place.below.join(name)))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !matches!(name, "." | "..") && !name.contains(['/', '\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_beside_a_transcript_leads_nowhere_else() {
        let world = tempfile::tempdir().unwrap();
        let home = world.path().join("project");
        fs::create_dir_all(home.join("s/tool-results")).unwrap();
        fs::write(home.join("s/tool-results/big.txt"), "big").unwrap();
        fs::write(world.path().join("secret"), "secret").unwrap();
        let link = std::os::unix::fs::symlink::<&str, PathBuf>;
        link("../..", home.join("s/file-history")).unwrap();
        link("../../../secret", home.join("s/tool-results/link")).unwrap();
        let beside = Beside::of(Some(&home.join("s.jsonl")), None, None);
        assert_eq!(beside.output("/far/away/big.txt").unwrap(), b"big");
        assert_eq!(beside.output("link"), None);
        assert_eq!(beside.output(".."), None);
        assert_eq!(beside.backup("secret"), None);
    }
}
