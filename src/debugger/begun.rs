//! A tape that was begun and is not whole yet. It never touches a file that was there before.

use std::fs;
use std::path::PathBuf;

/// A tape that was begun. Dropped before it is whole, it is removed again: it would pass for
/// the whole run.
#[derive(Default)]
pub(super) struct Begun(Option<PathBuf>);

impl Begun {
    /// One that was made there.
    pub(super) fn at(path: PathBuf) -> Self {
        Self(Some(path))
    }

    /// It is whole, and stays.
    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // What cannot be removed is found damaged or cut by whoever opens it.
            let _ = fs::remove_file(path);
        }
    }
}
