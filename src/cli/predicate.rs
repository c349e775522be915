//! What is asked about a file, from the words in which it was typed.

use std::ffi::{OsStr, OsString};

use super::failure::Failure;
use crate::debugger::Test;

/// The words; one of them at most is there.
pub(super) struct Words<'a> {
    /// A pattern and a path.
    pub(super) grep: Option<&'a [OsString]>,
    /// A path and the digits of a hash.
    pub(super) hash: Option<&'a [OsString]>,
    /// A path.
    pub(super) exists: Option<&'a OsStr>,
    /// A path.
    pub(super) absent: Option<&'a OsStr>,
}

impl<'a> Words<'a> {
    /// Which file is asked about, and for what.
    pub(super) fn test(&self) -> Result<Option<(&'a OsStr, Test)>, Failure> {
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        if let Some([pattern, path]) = self.grep {
            return Ok(Some((path, Test::grep(&text(pattern))?)));
        }
        if let Some([path, digits]) = self.hash {
            return Ok(Some((path, Test::hash(&text(digits))?)));
        }
        let exists = self.exists.map(|path| (path, Test::Exists));
        Ok(exists.or(self.absent.map(|path| (path, Test::Absent))))
    }
}
