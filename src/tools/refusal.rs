//! Why a tool that edits or shows a file did not do it: the reason, whoever puts it into words.
//!
//! Tools say the same thing in words that differ from one to the next and from version to
//! version. Two failures are the same if their reasons are. Words that are not known here
//! have no reason, and nothing is guessed from them.

use super::EditError;

/// Why a tool did not do what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The agent never read the file, and its program has it read first.
    Unread,
    /// The file is not what it was when the agent read it last.
    Stale,
    /// The text to replace is not there.
    NotFound,
    /// The text to replace is there more than once.
    Ambiguous,
    /// There is no such file.
    NoFile,
    /// It is a directory.
    Directory,
    /// There is such a file already.
    Exists,
    /// Nothing would change.
    Same,
    /// The file has more bytes than the tool shows.
    TooLarge,
    /// The file has more tokens than the tool shows, as its model counts them.
    TooManyTokens,
}

/// What is said of each, in the words of the tools that are known; the first that fits counts.
const SAID: [(Refusal, &[&str]); 10] = [
    (Refusal::Unread, &["has not been read yet"]),
    (
        Refusal::Stale,
        &["has been modified since", "has been unexpectedly modified"],
    ),
    (
        Refusal::Ambiguous,
        &[
            "matches of the string to replace",
            "Multiple occurrences of",
            "the text to replace occurs ",
        ],
    ),
    (
        Refusal::NotFound,
        &[
            "String to replace not found",
            "did not appear verbatim",
            "the text to replace does not occur",
        ],
    ),
    (
        Refusal::Exists,
        &[
            "Cannot create new file - file already exists",
            "File already exists at",
            "the file exists already",
            "names no text to replace, and the file is not empty",
        ],
    ),
    (
        Refusal::Same,
        &["No changes to make", "nothing would change"],
    ),
    (
        Refusal::Directory,
        &["EISDIR", "is a directory", "It is a directory"],
    ),
    (
        Refusal::TooLarge,
        &["exceeds maximum allowed size", "File size exceeds the "],
    ),
    (Refusal::TooManyTokens, &["exceeds maximum allowed tokens"]),
    (
        Refusal::NoFile,
        &["ile does not exist", "No such file or directory", "ENOENT"],
    ),
];

impl Refusal {
    /// The fixed word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::Stale => "stale",
            Self::NotFound => "not-found",
            Self::Ambiguous => "ambiguous",
            Self::NoFile => "no-file",
            Self::Directory => "directory",
            Self::Exists => "exists",
            Self::Same => "same",
            Self::TooLarge => "too-large",
            Self::TooManyTokens => "too-many-tokens",
        }
    }

    /// What a tool's words tell. Only their first line is looked at: what stands behind it are
    /// texts that were to be replaced, which may say anything.
    pub fn told_by(words: &str) -> Option<Self> {
        let first = words.trim_start().lines().next().unwrap_or_default();
        let is_said = |(_, said): &&(Self, &[&str])| said.iter().any(|said| first.contains(said));
        SAID.iter().find(is_said).map(|(refusal, _)| *refusal)
    }

    /// How many bytes a tool shows at most, by what it says of a file that is too large:
    /// `exceeds maximum allowed size (256KB)`, `exceeds the 20MB limit`.
    pub fn largest_told(words: &str) -> Option<u64> {
        let first = words.trim_start().lines().next().unwrap_or_default();
        let (_, after) = first.split_once("exceeds ")?;
        let digits = after.find(|c: char| c.is_ascii_digit())?;
        let after = after.get(digits..)?;
        let end = after.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = after.split_at_checked(end)?;
        let unit: u64 = [
            ("KB", 1 << 10),
            ("MB", 1 << 20),
            ("GB", 1 << 30),
            ("bytes", 1),
            ("B", 1),
        ]
        .into_iter()
        .find(|(name, _)| unit.trim_start().starts_with(name))?
        .1;
        number.parse::<u64>().ok()?.checked_mul(unit)
    }
}

impl EditError {
    /// The reason, where it is one that tools have in common.
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::NotFound { .. } => Some(Refusal::NotFound),
            Self::Ambiguous { .. } => Some(Refusal::Ambiguous),
            Self::NotEmpty | Self::Exists => Some(Refusal::Exists),
            Self::Absent => Some(Refusal::NoFile),
            Self::InSequence { source, .. } => source.refusal(),
            Self::Unknown | Self::NoSuchLine { .. } | Self::NothingToUndo => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_told_from_the_first_line() {
        let check =
            |words: &str, expected| assert_eq!(Refusal::told_by(words), expected, "{words}");
        let error = |words: &str| format!("<tool_use_error>{words}</tool_use_error>");
        let unread = "File has not been read yet. Read it first before writing to it.";
        check(&error(unread), Some(Refusal::Unread));
        let stale = "File has been modified since read, either by the user or by a linter.";
        check(&error(stale), Some(Refusal::Stale));
        let missing = "String to replace not found in file.\nString: File does not exist.";
        check(&error(missing), Some(Refusal::NotFound));
        let several = "Found 3 matches of the string to replace, but replace_all is false.";
        check(&error(several), Some(Refusal::Ambiguous));
        check(
            "EISDIR: illegal operation on a directory, read",
            Some(Refusal::Directory),
        );
        check(&error("File does not exist."), Some(Refusal::NoFile));
        let large =
            "File content (316.2KB) exceeds maximum allowed size (256KB). Please use offset";
        check(large, Some(Refusal::TooLarge));
        let tokens = "File content (28375 tokens) exceeds maximum allowed tokens (25000).";
        check(tokens, Some(Refusal::TooManyTokens));
        check("it went wrong\nFile does not exist.", None);
        check("", None);
    }

    #[test]
    fn how_much_is_shown_is_told_with_its_unit() {
        let check = |words: &str, most| assert_eq!(Refusal::largest_told(words), most, "{words}");
        check(
            "File content (0.5MB) exceeds maximum allowed size (256KB). Use offset",
            Some(262_144),
        );
        check(
            "File size exceeds the 20MB limit: /w/a (21.04MB)",
            Some(20 << 20),
        );
        check("exceeds maximum allowed size (512 bytes)", Some(512));
        check("exceeds maximum allowed size", None);
        check(
            "exceeds maximum allowed size (99999999999999999999GB)",
            None,
        );
        check("exceeds 7 parsecs", None);
        check("", None);
    }

    #[test]
    fn what_is_said_here_is_understood_here() {
        let old = "x".to_owned();
        for error in [
            EditError::NotFound { old: old.clone() },
            EditError::Ambiguous {
                old,
                lines: vec![1, 2],
            },
            EditError::NotEmpty,
            EditError::Exists,
            EditError::Absent,
        ] {
            assert_eq!(Refusal::told_by(&error.to_string()), error.refusal());
        }
    }
}
