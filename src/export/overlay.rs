//! Current sources, laid over the files of a case.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::case::{CaseFile, CaseItem};
use crate::capture::IgnoreRules;
use crate::model::{STATE_DIRECTORY, TapePath};

/// Bytes of all files together at most.
const MOST: u64 = 1 << 30;
/// The bits of a mode that count.
const PERMISSIONS: u32 = 0o777;

/// Sources could not be read.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// It is not there.
    #[error("there is no `{}`", .0.display())]
    Missing(PathBuf),
    /// A path could not be read.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is too much of it.
    #[error("`{}` holds more than a gigabyte; name a smaller directory", .0.display())]
    TooLarge(PathBuf),
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> OverlayError {
    let path = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::NotFound => OverlayError::Missing(path),
        _ => OverlayError::Io { path, source },
    }
}

/// Reads a directory of sources: all but `.git`, what its `.gitignore`s name, and what is
/// neither a file nor a directory nor a link. No link is followed.
pub fn overlay(directory: &Path) -> Result<BTreeMap<TapePath, CaseFile>, OverlayError> {
    let mut walk = Walk {
        top: directory,
        rules: IgnoreRules::default(),
        files: BTreeMap::new(),
        left: MOST,
    };
    walk.enter(directory, None)?;
    Ok(walk.files)
}

/// Lays sources over files: what stands below a file or a link of theirs is gone.
pub fn lay(files: &mut BTreeMap<TapePath, CaseFile>, over: &BTreeMap<TapePath, CaseFile>) {
    let is_leaf = |path: &TapePath| over.get(path).is_some_and(|file| file.item.is_leaf());
    files.retain(|path, _| {
        let mut above = std::iter::successors(path.parent(), TapePath::parent);
        !above.any(|above| is_leaf(&above))
    });
    files.extend(over.iter().map(|(path, file)| (path.clone(), file.clone())));
}

struct Walk<'a> {
    top: &'a Path,
    rules: IgnoreRules,
    files: BTreeMap<TapePath, CaseFile>,
    left: u64,
}

impl Walk<'_> {
    fn enter(&mut self, place: &Path, above: Option<&TapePath>) -> Result<(), OverlayError> {
        let rules = place.join(".gitignore");
        if fs::symlink_metadata(&rules).is_ok_and(|found| found.is_file())
            && let Ok(text) = fs::read(&rules)
        {
            let above = above.map_or(&b""[..], TapePath::as_bytes);
            self.rules.take(above, &text);
        }
        for entry in fs::read_dir(place).map_err(failed(place))? {
            let entry = entry.map_err(failed(place))?;
            let name = entry.file_name();
            if name == ".git" || name == STATE_DIRECTORY {
                continue;
            }
            let path = match above {
                Some(above) => above.join(name.as_bytes()),
                None => TapePath::new(name.as_bytes()),
            };
            if let Ok(path) = path
                && !self.rules.leave_out(&path)
            {
                self.take(&entry.path(), path)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, place: &Path, path: TapePath) -> Result<(), OverlayError> {
        let found = fs::symlink_metadata(place).map_err(failed(place))?;
        let mode = Some(found.permissions().mode() & PERMISSIONS);
        let item = if found.is_dir() {
            let item = CaseItem::Directory;
            self.files.insert(path.clone(), CaseFile { mode, item });
            return self.enter(place, Some(&path));
        } else if found.is_symlink() {
            let target = fs::read_link(place).map_err(failed(place))?;
            CaseItem::Link(target.as_os_str().as_bytes().to_vec())
        } else if found.is_file() {
            let left = self.left.checked_sub(found.len());
            self.left = left.ok_or_else(|| OverlayError::TooLarge(self.top.to_owned()))?;
            CaseItem::File(Arc::from(fs::read(place).map_err(failed(place))?))
        } else {
            return Ok(());
        };
        self.files.insert(path, CaseFile { mode, item });
        Ok(())
    }
}
