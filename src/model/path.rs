//! Paths as a tape names them.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The directory in a workspace that is the program's own: it belongs to no change set.
pub const STATE_DIRECTORY: &str = ".jukebox";

/// A text is no path that a tape may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path is empty.
    #[error("the path is empty")]
    Empty,
    /// A component is `.`, `..` or empty.
    #[error("the path has a component `.`, `..` or an empty one")]
    Component,
    /// The path holds a NUL byte.
    #[error("the path holds a NUL byte")]
    Nul,
    /// The path is longer or deeper than any that a system opens.
    #[error(
        "the path has more than {} bytes or {} components",
        TapePath::MAX_LEN,
        TapePath::MAX_DEPTH
    )]
    TooLong,
}

/// The path of a file: bytes, `/` between components, no `.`, no `..`, no empty component.
///
/// Relative paths are below the workspace root. Absolute ones (with a leading `/`) are
/// files outside it that the run named: they can be looked at and are never written.
///
/// At most [`TapePath::MAX_LEN`] bytes in [`TapePath::MAX_DEPTH`] components, so that what
/// strangers wrote cannot make a tree too deep to walk.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct TapePath(Arc<[u8]>);

impl TapePath {
    /// Bytes of a path at most: what Linux takes as one (`PATH_MAX`).
    pub const MAX_LEN: usize = 4096;
    /// Components of a path at most.
    pub const MAX_DEPTH: usize = 1024;

    /// Checks and takes a path.
    pub fn new(path: impl AsRef<[u8]>) -> Result<Self, PathError> {
        let path = path.as_ref();
        let inner = path.strip_prefix(b"/").unwrap_or(path);
        if inner.is_empty() {
            return Err(PathError::Empty);
        }
        if memchr::memchr(0, inner).is_some() {
            return Err(PathError::Nul);
        }
        let mut depth = 0;
        for component in inner.split(|byte| *byte == b'/') {
            if matches!(component, b"" | b"." | b"..") {
                return Err(PathError::Component);
            }
            depth += 1;
        }
        if depth > Self::MAX_DEPTH || path.len() > Self::MAX_LEN {
            return Err(PathError::TooLong);
        }
        Ok(Self(path.into()))
    }

    /// Takes a path as people and tools write it: `./a//b/` becomes `a/b`, `a/../b` becomes
    /// `b`, and what lies below `root` becomes relative to it. A relative path is read as
    /// seen from `cwd`. `root` and `cwd` are absolute.
    pub fn resolve(path: &str, cwd: &str, root: &str) -> Result<Self, PathError> {
        if path.is_empty() {
            return Err(PathError::Empty);
        }
        let mut parts: Vec<&str> = Vec::new();
        let start = if path.starts_with('/') { "" } else { cwd };
        for part in start.split('/').chain(path.split('/')) {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        let root: Vec<&str> = root.split('/').filter(|part| !part.is_empty()).collect();
        match parts.strip_prefix(root.as_slice()) {
            Some(below) if !root.is_empty() => Self::new(below.join("/")),
            _ => Self::new(format!("/{}", parts.join("/"))),
        }
    }

    /// The bytes of the path.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether the file lies outside the workspace.
    pub fn is_outside(&self) -> bool {
        self.0.starts_with(b"/")
    }

    /// The components, outermost first.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        let inner = self.0.strip_prefix(b"/").unwrap_or(&self.0);
        inner.split(|byte| *byte == b'/')
    }

    /// The last component.
    pub fn name(&self) -> &[u8] {
        self.0
            .rsplit(|byte| *byte == b'/')
            .next()
            .unwrap_or_default()
    }

    /// The path of the directory that holds this one; `None` at the top.
    pub fn parent(&self) -> Option<Self> {
        let slash = self.0.iter().rposition(|byte| *byte == b'/')?;
        // What is above a path that was checked needs no check.
        (slash > 0).then(|| Self(self.0.split_at(slash).0.into()))
    }

    /// This path with one more component.
    pub fn join(&self, name: &[u8]) -> Result<Self, PathError> {
        Self::new([&*self.0, b"/", name].concat())
    }

    /// Whether this path is `directory` or lies below it.
    pub fn is_within(&self, directory: &Self) -> bool {
        self.0
            .strip_prefix(directory.as_bytes())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }

    /// The path as text; what is not UTF-8 is replaced. Not yet safe for a terminal.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl TryFrom<Vec<u8>> for TapePath {
    type Error = PathError;

    fn try_from(path: Vec<u8>) -> Result<Self, Self::Error> {
        Self::new(path)
    }
}

impl From<TapePath> for Vec<u8> {
    fn from(path: TapePath) -> Self {
        path.as_bytes().to_vec()
    }
}

impl Borrow<[u8]> for TapePath {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for TapePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_text(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_climb_or_hide_are_refused() {
        for path in ["", "/", "a//b", "a/", "./a", "a/..", "..", "a\0b", "//a"] {
            assert!(TapePath::new(path).is_err(), "{path:?}");
        }
        for path in ["a", "a/b", "/tmp/x", "...", "a b/ü"] {
            assert_eq!(TapePath::new(path).unwrap().as_bytes(), path.as_bytes());
        }
    }

    #[test]
    fn paths_that_no_system_opens_are_refused() {
        let check = |path: String, expected| assert_eq!(TapePath::new(path).err(), expected);
        check(vec!["d"; TapePath::MAX_DEPTH].join("/"), None);
        check(
            vec!["d"; TapePath::MAX_DEPTH + 1].join("/"),
            Some(PathError::TooLong),
        );
        check("n".repeat(TapePath::MAX_LEN), None);
        check("n".repeat(TapePath::MAX_LEN + 1), Some(PathError::TooLong));
    }

    #[test]
    fn paths_of_tools_are_resolved_without_leaving_the_root_above() {
        let check = |path, expected: &str| {
            let resolved = TapePath::resolve(path, "/w/sub", "/w").unwrap();
            assert_eq!(resolved.to_text(), expected, "{path}");
        };
        check("/w/a.txt", "a.txt");
        check("a.txt", "sub/a.txt");
        check("../a.txt", "a.txt");
        check("./x/./y//z/", "sub/x/y/z");
        check("../../../../etc/passwd", "/etc/passwd");
        check("/wide/a", "/wide/a");
    }

    #[test]
    fn a_directory_holds_itself_and_what_is_below() {
        let path = TapePath::new("a/b").unwrap();
        assert!(path.is_within(&TapePath::new("a").unwrap()));
        assert!(path.is_within(&path));
        assert!(!path.is_within(&TapePath::new("a/bc").unwrap()));
        assert!(
            !TapePath::new("ab")
                .unwrap()
                .is_within(&TapePath::new("a").unwrap())
        );
        assert_eq!(path.parent(), TapePath::new("a").ok());
        assert_eq!(path.parent().unwrap().parent(), None);
        assert_eq!(TapePath::new("/a").unwrap().parent(), None);
        assert_eq!(path.name(), b"b");
    }
}
