//! What sort of thing a path is, and how it differs between two places.

/// What sort of thing a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
}

impl EntryKind {
    /// The fixed word, as printed by `--json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Link => "link",
        }
    }
}

/// How a path differs between two places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// Its content, mode or sort differs.
    Modified,
    /// It is gone.
    Removed,
    /// Nothing is known to differ, but something may have written it.
    Suspected,
}

impl ChangeKind {
    /// One letter, as git prints it.
    pub const fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified => 'M',
            Self::Removed => 'D',
            Self::Suspected => '?',
        }
    }
}
