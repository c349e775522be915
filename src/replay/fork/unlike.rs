//! In which files a fork differs from its parent, while both go on.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{BlobHash, Content, FileChange, FileOp, Scope, TapePath};

/// The paths at which the files of two runs differ.
#[derive(Clone, Debug, Default)]
pub(super) struct Unlike {
    paths: BTreeSet<TapePath>,
    /// Any file may differ.
    is_all: bool,
}

/// What became of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    File(Option<BlobHash>, Option<u32>),
    Gone,
    Directory(Option<u32>),
    Link(Vec<u8>),
    Mode(Option<u32>),
    From(TapePath),
}

impl Unlike {
    /// Whether there is no difference.
    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.is_all
    }

    /// Whether a path, something below it or something above it may differ.
    pub(super) fn has(&self, path: &TapePath) -> bool {
        let touches = |other: &TapePath| is_within(other, path) || is_within(path, other);
        self.is_all || self.paths.iter().any(touches)
    }

    /// Takes that something may have written files in one of the runs, and nobody saw which.
    pub(super) fn suspect(&mut self, scope: &Scope) {
        match scope {
            Scope::All => self.is_all = true,
            Scope::Path(path) => drop(self.paths.insert(path.clone())),
        }
    }

    /// Takes changes that one of the runs made, and the other did not.
    pub(super) fn one_sided(&mut self, changes: &[FileChange]) {
        self.two_sided(changes, &[]);
    }

    /// Takes what a call did in the one run and in the other.
    pub(super) fn two_sided(&mut self, one: &[FileChange], other: &[FileChange]) {
        let (one, other) = (fates(one), fates(other));
        // What is moved takes its difference along, although its old place is the same now.
        let moved: Vec<&TapePath> = one
            .iter()
            .filter(|(_, fate)| matches!(fate, Fate::From(from) if self.has(from)))
            .map(|(path, _)| path)
            .collect();
        for path in one.keys().chain(other.keys()) {
            match (one.get(path), other.get(path)) {
                (Some(one), Some(other)) if one.is_same(other) => match one {
                    // Whatever it was before, it is the same now.
                    Fate::File(Some(_), Some(_)) | Fate::Gone | Fate::Link(_) => {
                        self.paths.retain(|known| !is_within(known, path));
                    }
                    Fate::From(_) if moved.contains(&path) => drop(self.paths.insert(path.clone())),
                    Fate::File(..) | Fate::Directory(_) | Fate::Mode(_) | Fate::From(_) => {}
                },
                _ => drop(self.paths.insert(path.clone())),
            }
        }
    }
}

impl Fate {
    /// Whether the two leave the path as the same thing. Permission bits that are not known on
    /// one side are no difference.
    fn is_same(&self, other: &Self) -> bool {
        let mode =
            |one: Option<u32>, two: Option<u32>| one.is_none() || two.is_none() || one == two;
        match (self, other) {
            (Self::File(Some(one), one_mode), Self::File(Some(two), two_mode)) => {
                one == two && mode(*one_mode, *two_mode)
            }
            (Self::File(..), Self::File(..)) => false,
            (Self::Directory(one), Self::Directory(two)) => mode(*one, *two),
            (one, two) => one == two,
        }
    }
}

/// What became of each path in the end.
fn fates(changes: &[FileChange]) -> BTreeMap<TapePath, Fate> {
    let mut fates = BTreeMap::new();
    for change in changes {
        let fate = match &change.op {
            FileOp::Observe => continue,
            FileOp::Write => Fate::File(hash(&change.content), change.mode),
            FileOp::Remove => Fate::Gone,
            FileOp::Mkdir => Fate::Directory(change.mode),
            FileOp::Symlink { target } => Fate::Link(target.clone()),
            FileOp::Chmod => match fates.get(&change.path) {
                Some(Fate::File(hash, _)) => Fate::File(*hash, change.mode),
                _ => Fate::Mode(change.mode),
            },
            FileOp::Rename { from } => {
                fates.insert(from.clone(), Fate::Gone);
                Fate::From(from.clone())
            }
        };
        fates.insert(change.path.clone(), fate);
    }
    fates
}

fn hash(content: &Content) -> Option<BlobHash> {
    match content {
        Content::Bytes(bytes) => Some(BlobHash::of(bytes)),
        Content::Blob { hash, .. } => Some(*hash),
        Content::Unstored { hash, .. } => *hash,
        Content::None | Content::Lines(_) => None,
    }
}

/// Whether a path is another one or lies below it.
fn is_within(path: &TapePath, above: &TapePath) -> bool {
    let rest = path.as_bytes().strip_prefix(above.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TapePath {
        TapePath::new(text).unwrap()
    }

    fn write(name: &str, text: &str) -> FileChange {
        FileChange {
            mode: Some(0o644),
            ..FileChange::write(path(name), text.as_bytes())
        }
    }

    #[test]
    fn what_both_did_alike_is_no_difference_and_all_else_is() {
        let mut unlike = Unlike::default();
        unlike.two_sided(&[write("a", "1")], &[write("a", "1")]);
        assert!(unlike.is_empty());
        unlike.two_sided(&[write("a", "1"), write("d/b", "1")], &[write("a", "2")]);
        assert!(unlike.has(&path("a")) && unlike.has(&path("d/b")) && unlike.has(&path("d")));
        assert!(unlike.has(&path("a/below")) && !unlike.has(&path("ab")));
        unlike.two_sided(&[write("a", "3")], &[write("a", "3")]);
        assert!(!unlike.has(&path("a")));
        let gone = FileChange::new(FileOp::Remove, path("d"));
        unlike.two_sided(std::slice::from_ref(&gone), std::slice::from_ref(&gone));
        assert!(unlike.is_empty());
    }

    #[test]
    fn what_was_moved_is_as_unlike_as_it_was() {
        let from = path("a");
        let moved = FileChange::new(FileOp::Rename { from }, path("b"));
        let moved = std::slice::from_ref(&moved);
        let mut unlike = Unlike::default();
        unlike.two_sided(moved, moved);
        assert!(unlike.is_empty());
        unlike.one_sided(&[write("a", "1")]);
        unlike.two_sided(moved, moved);
        assert!(unlike.has(&path("b")));
    }

    #[test]
    fn files_that_nobody_saw_may_all_differ() {
        let mut unlike = Unlike::default();
        unlike.suspect(&Scope::All);
        assert!(unlike.has(&path("a")) && !unlike.is_empty());
    }
}
