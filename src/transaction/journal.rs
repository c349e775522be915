//! The journal: the changes of one commit, each with what was and what is to be.
//!
//! A journal either is whole or counts for nothing: its last line holds the BLAKE3 hash of
//! all lines before. It is text, a line for each thing, fields parted by one space:
//!
//! ```text
//! jukebox-commit 1 ID UNDOES [TXN]    UNDOES: the commit that this one takes back, or -
//!                                     TXN: the transaction that wants it, where one does
//! change PATH BEFORE AFTER            in the order of the paths' bytes
//! end b3:HASH                         of every byte before this line
//! ```
//!
//! `BEFORE` and `AFTER` are one of
//!
//! ```text
//! -                                   nothing
//! file:MODE:SECONDS.NANOS:LEN:b3:HASH
//! directory:MODE:SECONDS.NANOS        or `directory:MODE:-` where the time is no matter
//! link:TARGET
//! ```
//!
//! `MODE` is octal. In `PATH`, `TARGET` and `TXN` each byte that is no printable ASCII, each
//! blank, `%` and `:` is `%` and two hex digits. The N-th change finds the bytes of its `AFTER` in
//! `staged/N` and those of its `BEFORE` in `displaced/ID/N`.

use std::fmt::Write as _;

use super::fs::{Kind, Time};
use super::plan::Fingerprint;
use crate::model::{BlobHash, TapePath};

const VERSION: &str = "jukebox-commit 1";

/// A commit, as it is written down before it is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Journal {
    pub(super) id: u64,
    /// The commit that this one takes back.
    pub(super) undoes: Option<u64>,
    /// The transaction that it commits, or that the commit it takes back committed. So whoever
    /// finds a transaction without its holder learns what became of it.
    pub(super) transaction: Option<String>,
    /// Sorted by path.
    pub(super) changes: Vec<Change>,
}

/// A path, what it was, and what it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: TapePath,
    pub(super) before: Entry,
    pub(super) after: Entry,
}

/// What a path is, to the last bit that is put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Absent,
    File {
        mode: u32,
        mtime: Time,
        len: u64,
        hash: BlobHash,
    },
    Directory {
        mode: u32,
        mtime: Option<Time>,
    },
    Link(Vec<u8>),
}

impl Change {
    /// Whether it only stands for a directory in which others happen.
    pub(super) fn is_only_passed(&self) -> bool {
        matches!(
            (&self.before, &self.after),
            (Entry::Directory { mode: one, .. }, Entry::Directory { mode: two, .. }) if one == two
        )
    }
}

impl Entry {
    /// `None`: nothing.
    pub(super) const fn kind(&self) -> Option<Kind> {
        match self {
            Self::Absent => None,
            Self::File { .. } => Some(Kind::File),
            Self::Directory { .. } => Some(Kind::Directory),
            Self::Link(_) => Some(Kind::Link),
        }
    }

    /// Whether it has bytes of its own, which are kept in a file or a link.
    pub(super) const fn is_leaf(&self) -> bool {
        matches!(self, Self::File { .. } | Self::Link(_))
    }

    pub(super) const fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Absent => Fingerprint::Absent,
            Self::File {
                mode, len, hash, ..
            } => Fingerprint::File {
                hash: *hash,
                len: Some(*len),
                mode: Some(*mode),
            },
            Self::Directory { mode, .. } => Fingerprint::Directory { mode: Some(*mode) },
            Self::Link(target) => Fingerprint::Link(target.clone()),
        }
    }

    fn write(&self, text: &mut String) {
        let _ = match self {
            Self::Absent => write!(text, "-"),
            Self::File {
                mode,
                mtime,
                len,
                hash,
            } => {
                let time = time_text(*mtime);
                write!(text, "file:{mode:o}:{time}:{len}:{hash}")
            }
            Self::Directory { mode, mtime } => {
                let time = mtime.map_or_else(|| "-".to_owned(), time_text);
                write!(text, "directory:{mode:o}:{time}")
            }
            Self::Link(target) => write!(text, "link:{}", escape(target)),
        };
    }

    fn read(text: &str) -> Option<Self> {
        if text == "-" {
            return Some(Self::Absent);
        }
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "file" => {
                let mut fields = rest.splitn(4, ':');
                Some(Self::File {
                    mode: u32::from_str_radix(fields.next()?, 8).ok()?,
                    mtime: time(fields.next()?)?,
                    len: fields.next()?.parse().ok()?,
                    hash: fields.next()?.parse().ok()?,
                })
            }
            "directory" => {
                let (mode, mtime) = rest.split_once(':')?;
                Some(Self::Directory {
                    mode: u32::from_str_radix(mode, 8).ok()?,
                    mtime: match mtime {
                        "-" => None,
                        mtime => Some(time(mtime)?),
                    },
                })
            }
            "link" => Some(Self::Link(unescape(rest)?)),
            _ => None,
        }
    }
}

impl Journal {
    /// The bytes of the journal, its end line among them.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut text = String::new();
        let undoes = self
            .undoes
            .map_or_else(|| "-".to_owned(), |id| id.to_string());
        let _ = write!(text, "{VERSION} {} {undoes}", self.id);
        if let Some(transaction) = &self.transaction {
            let _ = write!(text, " {}", escape(transaction.as_bytes()));
        }
        text.push('\n');
        for change in &self.changes {
            let _ = write!(text, "change {} ", escape(change.path.as_bytes()));
            change.before.write(&mut text);
            text.push(' ');
            change.after.write(&mut text);
            text.push('\n');
        }
        let hash = BlobHash::of(text.as_bytes());
        let _ = writeln!(text, "end {hash}");
        text.into_bytes()
    }

    /// Reads a journal; `None`: it is damaged, or of another version.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?;
        let (body, end) = text.strip_suffix('\n')?.rsplit_once('\n')?;
        let hash: BlobHash = end.strip_prefix("end ")?.parse().ok()?;
        let hashed = text.as_bytes().get(..=body.len())?;
        if BlobHash::of(hashed) != hash {
            return None;
        }
        let mut lines = body.split('\n');
        let first = lines.next()?.strip_prefix(VERSION)?.strip_prefix(' ')?;
        let (id, rest) = first.split_once(' ')?;
        let (undoes, transaction) = match rest.split_once(' ') {
            Some((undoes, transaction)) => (undoes, Some(unescape(transaction)?)),
            None => (rest, None),
        };
        let changes: Option<Vec<Change>> = lines.map(change).collect();
        Some(Self {
            id: id.parse().ok()?,
            undoes: match undoes {
                "-" => None,
                id => Some(id.parse().ok()?),
            },
            transaction: transaction.map(String::from_utf8).transpose().ok()?,
            changes: changes?,
        })
    }
}

fn change(line: &str) -> Option<Change> {
    let mut fields = line.strip_prefix("change ")?.splitn(3, ' ');
    let path = TapePath::new(unescape(fields.next()?)?).ok()?;
    let change = Change {
        before: Entry::read(fields.next()?)?,
        after: Entry::read(fields.next()?)?,
        path,
    };
    (!change.path.is_outside() && !super::layout::is_state(&change.path)).then_some(change)
}

fn time_text((seconds, nanos): Time) -> String {
    format!("{seconds}.{nanos:09}")
}

fn time(text: &str) -> Option<Time> {
    let (seconds, nanos) = text.split_once('.')?;
    Some((seconds.parse().ok()?, nanos.parse().ok()?))
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        if byte.is_ascii_graphic() && !matches!(byte, b'%' | b':') {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend(parts.next()?.as_bytes());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Journal {
        let change = |path: &[u8], before, after| Change {
            path: TapePath::new(path).unwrap(),
            before,
            after,
        };
        let file = Entry::File {
            mode: 0o4755,
            mtime: (-3, 7),
            len: 2,
            hash: BlobHash::of(b"ab"),
        };
        let directory = |mtime| Entry::Directory { mode: 0o700, mtime };
        Journal {
            id: 9,
            undoes: Some(8),
            transaction: Some("t 1".to_owned()),
            changes: vec![
                change(b"a b:%\n\xff", Entry::Absent, file),
                change(b"d", directory(None), directory(Some((1, 999_999_999)))),
                change(b"l", Entry::Link(b"../x: y".to_vec()), Entry::Absent),
            ],
        }
    }

    #[test]
    fn a_journal_is_read_back_as_it_was_written() {
        let bytes = journal().encode();
        assert!(bytes.is_ascii());
        assert_eq!(Journal::decode(&bytes), Some(journal()));
        let of_nobody = Journal {
            transaction: None,
            ..journal()
        };
        assert_eq!(Journal::decode(&of_nobody.encode()), Some(of_nobody));
    }

    #[test]
    fn a_journal_that_lacks_or_has_another_byte_counts_for_nothing() {
        let bytes = journal().encode();
        for at in 0..bytes.len() {
            assert_eq!(Journal::decode(bytes.split_at(at).0), None, "cut at {at}");
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert_eq!(Journal::decode(&flipped), None, "flipped at {at}");
        }
    }

    #[test]
    fn a_journal_names_nothing_outside_the_workspace() {
        for path in ["/etc/passwd", ".jukebox/lock"] {
            let mut journal = journal();
            journal.changes[0].path = TapePath::new(path).unwrap();
            assert_eq!(Journal::decode(&journal.encode()), None, "{path}");
        }
    }
}
