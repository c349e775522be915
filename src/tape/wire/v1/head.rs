//! The head of a line: small fields that the index needs, borrowed from the line.

use crate::model::{BlobHash, Kind, LineHash, Outcome, PathError, TapePath};
use crate::tape::wire::Text;

/// How a content travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enc {
    /// Not in this line.
    #[default]
    Elsewhere,
    /// As text.
    Text,
    /// As base64 of zstd.
    Zstd,
    /// As a change of another blob.
    Splice,
    /// Nowhere: it was not kept.
    None,
    /// Only some lines.
    Lines,
    /// In a way that this version does not know.
    Unknown,
}

impl Enc {
    /// The encoding of a word.
    pub fn parse(word: &[u8]) -> Self {
        match word {
            b"text" => Self::Text,
            b"zstd" => Self::Zstd,
            b"splice" => Self::Splice,
            b"none" => Self::None,
            b"lines" => Self::Lines,
            _ => Self::Unknown,
        }
    }

    /// The word, where it is one that this version knows.
    pub const fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Elsewhere | Self::Unknown => None,
            Self::Text => Some("text"),
            Self::Zstd => Some("zstd"),
            Self::Splice => Some("splice"),
            Self::None => Some("none"),
            Self::Lines => Some("lines"),
        }
    }

    /// Whether the whole content travels in the line.
    pub const fn carries_blob(self) -> bool {
        matches!(self, Self::Text | Self::Zstd | Self::Splice)
    }
}

/// The head of a line, as it stands there.
#[derive(Clone, Debug, Default)]
pub struct RawHead<'a> {
    /// The event's number; `None` where it is missing.
    pub seq: Option<u64>,
    /// Microseconds since the run began.
    pub t: Option<u64>,
    /// The kind's name; `None` where it is missing.
    pub kind: Option<Text<'a>>,
    /// The step's number, as the writer counted.
    pub step: Option<u32>,
    /// The branch.
    pub branch: Option<Text<'a>>,
    /// The sub-agent.
    pub agent: Option<Text<'a>>,
    /// The call.
    pub call: Option<Text<'a>>,
    /// The transaction.
    pub txn: Option<Text<'a>>,
    /// The tool, role, model, program, format or savepoint.
    pub name: Option<Text<'a>>,
    /// The path, where it is UTF-8.
    pub path: Option<Text<'a>>,
    /// The path, base64, where it is not.
    pub path_raw: Option<Text<'a>>,
    /// The path before, or the parent branch.
    pub from: Option<Text<'a>>,
    /// The path before, base64.
    pub from_raw: Option<Text<'a>>,
    /// Permission bits.
    pub mode: Option<u32>,
    /// The hash of the content.
    pub blob: Option<Text<'a>>,
    /// Its length.
    pub len: Option<u64>,
    /// How it travels.
    pub enc: Enc,
    /// Of a splice, the blob it changes.
    pub base: Option<Text<'a>>,
    /// The hash of the content before.
    pub was: Option<Text<'a>>,
    /// Nobody's call did it.
    pub is_outside: bool,
    /// Placeholders stand in the content.
    pub is_redacted: bool,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// An exit code.
    pub exit: Option<i32>,
    /// A duration in microseconds.
    pub dur: Option<u64>,
    /// Of a branch, the last seq shared.
    pub at: Option<u64>,
    /// Of a rollback, the savepoint.
    pub to: Option<Text<'a>>,
    /// Of a snapshot, why.
    pub reason: Option<Text<'a>>,
    /// What was done.
    pub title: Option<Text<'a>>,
    /// The hash of the line before.
    pub prev: Option<Text<'a>>,
}

/// A scalar value of the head.
#[derive(Clone, Copy)]
pub(super) enum Scalar<'a> {
    Text(Text<'a>),
    Number(&'a [u8]),
    Bool(bool),
    Null,
}

/// What became of a field that was put into a head.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// It is a head field, and was taken.
    Taken,
    /// It is a head field of another type than the format says.
    BadType,
    /// It is no head field.
    NotHead,
}

impl<'a> RawHead<'a> {
    /// The kind.
    pub fn kind(&self) -> Kind {
        self.kind
            .map_or(Kind::Unknown, |name| Kind::parse(name.as_inside()))
    }

    /// The path, if there is one and it is one that a tape may hold.
    pub fn tape_path(&self) -> Result<Option<TapePath>, PathError> {
        path_of(self.path, self.path_raw)
    }

    /// The path before a rename.
    pub fn tape_path_from(&self) -> Result<Option<TapePath>, PathError> {
        path_of(self.from, self.from_raw)
    }

    /// The hash of the content, if it is there and well formed.
    pub fn blob_hash(&self) -> Option<BlobHash> {
        hash_of(self.blob)
    }

    /// The hash of the blob that a splice changes.
    pub fn base_hash(&self) -> Option<BlobHash> {
        hash_of(self.base)
    }

    /// The hash of the content before.
    pub fn was_hash(&self) -> Option<BlobHash> {
        hash_of(self.was)
    }

    /// The hash of the line before, if it is there and well formed.
    pub fn prev_hash(&self) -> Option<LineHash> {
        std::str::from_utf8(self.prev?.as_inside())
            .ok()?
            .parse()
            .ok()
    }

    /// Whether a field of this name belongs to the head.
    pub(super) fn is_head_field(key: &[u8]) -> bool {
        RawHead::default().put(key, Scalar::Null) != Put::NotHead
    }

    /// Takes one field. `null` is as good as absent.
    pub(super) fn put(&mut self, key: &[u8], value: Scalar<'a>) -> Put {
        use Scalar::{Bool, Null, Number, Text};
        let text: Option<&mut Option<crate::tape::wire::Text<'a>>> = match key {
            b"kind" => Some(&mut self.kind),
            b"branch" => Some(&mut self.branch),
            b"agent" => Some(&mut self.agent),
            b"call" => Some(&mut self.call),
            b"txn" => Some(&mut self.txn),
            b"name" => Some(&mut self.name),
            b"path" => Some(&mut self.path),
            b"path_raw" => Some(&mut self.path_raw),
            b"from" => Some(&mut self.from),
            b"from_raw" => Some(&mut self.from_raw),
            b"blob" => Some(&mut self.blob),
            b"base" => Some(&mut self.base),
            b"was" => Some(&mut self.was),
            b"to" => Some(&mut self.to),
            b"reason" => Some(&mut self.reason),
            b"title" => Some(&mut self.title),
            b"prev" => Some(&mut self.prev),
            _ => None,
        };
        if let Some(field) = text {
            return match value {
                Text(text) => {
                    *field = Some(text);
                    Put::Taken
                }
                Null => Put::Taken,
                Number(_) | Bool(_) => Put::BadType,
            };
        }
        let taken = match (key, value) {
            (
                b"seq" | b"t" | b"step" | b"mode" | b"len" | b"enc" | b"by" | b"redacted"
                | b"outcome" | b"exit" | b"dur" | b"at",
                Null,
            ) => Some(()),
            (b"seq", Number(digits)) => number(digits).map(|n| self.seq = Some(n)),
            (b"t", Number(digits)) => number(digits).map(|n| self.t = Some(n)),
            (b"len", Number(digits)) => number(digits).map(|n| self.len = Some(n)),
            (b"dur", Number(digits)) => number(digits).map(|n| self.dur = Some(n)),
            (b"at", Number(digits)) => number(digits).map(|n| self.at = Some(n)),
            (b"step", Number(digits)) => number(digits)
                .and_then(|n| u32::try_from(n).ok())
                .map(|n| self.step = Some(n)),
            (b"exit", Number(digits)) => std::str::from_utf8(digits)
                .ok()
                .and_then(|digits| digits.parse().ok())
                .map(|n| self.exit = Some(n)),
            (b"mode", Text(octal)) => std::str::from_utf8(octal.as_inside())
                .ok()
                .and_then(|octal| u32::from_str_radix(octal, 8).ok())
                .filter(|mode| *mode <= 0o7777)
                .map(|mode| self.mode = Some(mode)),
            (b"enc", Text(word)) => {
                self.enc = Enc::parse(word.as_inside());
                Some(())
            }
            (b"by", Text(word)) => {
                self.is_outside = word.as_inside() == b"outside";
                Some(())
            }
            (b"redacted", Bool(is_redacted)) => {
                self.is_redacted = is_redacted;
                Some(())
            }
            (b"outcome", Text(word)) => std::str::from_utf8(word.as_inside())
                .ok()
                .and_then(Outcome::parse)
                .map(|outcome| self.outcome = Some(outcome)),
            (
                b"seq" | b"t" | b"step" | b"mode" | b"len" | b"enc" | b"by" | b"redacted"
                | b"outcome" | b"exit" | b"dur" | b"at",
                _,
            ) => None,
            _ => return Put::NotHead,
        };
        match taken {
            Some(()) => Put::Taken,
            None => Put::BadType,
        }
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let mut value: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value
            .checked_mul(10)?
            .checked_add(u64::from(digit - b'0'))?;
    }
    Some(value)
}

fn hash_of(text: Option<Text<'_>>) -> Option<BlobHash> {
    std::str::from_utf8(text?.as_inside()).ok()?.parse().ok()
}

fn path_of(text: Option<Text<'_>>, raw: Option<Text<'_>>) -> Result<Option<TapePath>, PathError> {
    use base64::Engine as _;
    if let Some(raw) = raw
        && let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(raw.as_inside())
    {
        return TapePath::new(bytes).map(Some);
    }
    text.map(|text| TapePath::new(text.decode().as_bytes()))
        .transpose()
}
