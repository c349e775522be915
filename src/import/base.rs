//! Where the files come from that a transcript never shows: a directory, or a commit.
//!
//! Git objects are read by `gix`; no process is started, and no configuration but the
//! repository's own is looked at. Nothing is written, and no link is followed out of the
//! directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::TapePath;

/// A file of a base that is larger than this is not taken: 64 MiB.
const MAX_FILE: u64 = 64 << 20;

/// Gives the first content of a file that the transcript does not show.
pub type Base = Arc<dyn Fn(&TapePath) -> Option<Vec<u8>> + Send + Sync>;

/// A base cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// The directory cannot be read.
    #[error("the base {0} cannot be read: {1}")]
    Directory(PathBuf, io::Error),
    /// No repository here.
    #[error("{0} lies in no git repository; run this inside the one that has the commit")]
    NoRepository(PathBuf),
    /// The repository cannot be read, or has no such commit.
    #[error("no commit {commit} in {repository}: {reason}")]
    NoCommit {
        /// What was asked for.
        commit: String,
        /// Where.
        repository: PathBuf,
        /// Why not.
        reason: String,
    },
}

/// Opens the base that a person named: `git:COMMIT` in the repository around `here`, or a
/// directory.
pub fn open_base(named: &str, here: &Path) -> Result<Base, BaseError> {
    match named.strip_prefix("git:") {
        Some(commit) => open_commit(commit, here),
        None => open_directory(&here.join(named)),
    }
}

/// A better base than a directory that is a repository: the branch that the run was on, if
/// the repository has it. The files of the directory may be of another time.
pub fn proposed_base(named: &str, here: &Path, branch: &str) -> Option<String> {
    let directory = here.join(named);
    let is_repository = !named.starts_with("git:") && directory.join(".git").exists();
    open_commit(branch, is_repository.then_some(&directory)?).ok()?;
    Some(format!("git:{branch}"))
}

fn open_directory(root: &Path) -> Result<Base, BaseError> {
    let failed = |error| BaseError::Directory(root.to_owned(), error);
    let root = fs::canonicalize(root).map_err(failed)?;
    let metadata = fs::metadata(&root).map_err(failed)?;
    if !metadata.is_dir() {
        return Err(failed(io::ErrorKind::NotADirectory.into()));
    }
    Ok(Arc::new(move |path| {
        let name = std::str::from_utf8(path.as_bytes()).ok()?;
        let is_inside = !path.is_outside();
        is_inside.then(|| read_below(&root, Path::new(name)))?
    }))
}

/// The bytes of a regular file below a directory, which is canonical. A path that leads out
/// by a link is none, and neither is a file of more than 64 MiB.
pub(super) fn read_below(root: &Path, path: &Path) -> Option<Vec<u8>> {
    let file = fs::canonicalize(root.join(path)).ok()?;
    let metadata = fs::metadata(&file).ok()?;
    let is_taken = file.starts_with(root) && metadata.is_file() && metadata.len() <= MAX_FILE;
    is_taken.then(|| fs::read(file).ok()).flatten()
}

fn open_commit(commit: &str, here: &Path) -> Result<Base, BaseError> {
    let mut directories = here.ancestors();
    let root = directories
        .find(|directory| directory.join(".git").exists())
        .ok_or_else(|| BaseError::NoRepository(here.to_owned()))?;
    let failed = |reason: String| BaseError::NoCommit {
        commit: commit.to_owned(),
        repository: root.to_owned(),
        reason,
    };
    let repository = open_repository(root).map_err(|error| failed(error.to_string()))?;
    let tree = repository
        .rev_parse_single(commit)
        .and_then(|id| id.object())
        .and_then(gix::Object::peel_to_tree)
        .map_err(|error| failed(error.to_string()))?
        .id;
    let root = root.to_owned();
    Ok(Arc::new(move |path| {
        if path.is_outside() {
            return None;
        }
        // Opened anew for each file: a run touches few, and an open repository belongs to
        // one thread.
        let repository = open_repository(&root).ok()?;
        let tree = repository.find_tree(tree).ok()?;
        let entry = tree.lookup_entry(path.components()).ok()??;
        let blob = entry
            .mode()
            .is_blob()
            .then(|| entry.object().ok())
            .flatten()?;
        (blob.data.len() as u64 <= MAX_FILE).then(|| blob.data.clone())
    }))
}

fn open_repository(root: &Path) -> Result<gix::Repository, gix::Error> {
    // Isolated: neither the environment nor the user's or the system's configuration counts.
    gix::open_opts(root, gix::open::Options::isolated())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn get(base: &Base, path: &str) -> Option<String> {
        let bytes = base(&TapePath::new(path).unwrap())?;
        Some(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_directory_gives_its_files_and_nothing_beyond() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().join("root");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a.rs"), "a").unwrap();
        fs::write(world.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("out")).unwrap();
        let base = open_base("root", world.path()).unwrap();
        assert_eq!(get(&base, "src/a.rs").as_deref(), Some("a"));
        for path in ["src", "src/b.rs", "out", "/etc/passwd"] {
            assert_eq!(get(&base, path), None, "{path}");
        }
        assert!(open_base("nowhere", world.path()).is_err());
    }

    #[test]
    fn a_commit_gives_its_files_as_they_were() {
        let world = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let ran = Command::new("git")
                .args(["-c", "user.name=t", "-c", "user.email=t@t"])
                .args(arguments)
                .current_dir(world.path())
                .output()
                .unwrap();
            assert!(ran.status.success(), "{ran:?}");
        };
        git(&["init", "-q", "-b", "trunk"]);
        fs::create_dir(world.path().join("src")).unwrap();
        fs::write(world.path().join("src/a.rs"), "one").unwrap();
        git(&["add", "."]);
        git(&["commit", "-qm", "one"]);
        fs::write(world.path().join("src/a.rs"), "two").unwrap();
        git(&["commit", "-qam", "two"]);
        let base = open_base("git:trunk~1", &world.path().join("src")).unwrap();
        assert_eq!(get(&base, "src/a.rs").as_deref(), Some("one"));
        assert_eq!(get(&base, "src"), None);
        let proposed = |named, branch| proposed_base(named, world.path(), branch);
        assert_eq!(proposed(".", "trunk").as_deref(), Some("git:trunk"));
        for (named, branch) in [(".", "nothing"), ("src", "trunk"), ("git:trunk", "trunk")] {
            assert_eq!(proposed(named, branch), None, "{named} {branch}");
        }
        assert!(open_base("git:nothing", world.path()).is_err());
    }
}
