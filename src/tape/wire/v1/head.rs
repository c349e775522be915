//! The head of a line: small fields that the index needs, borrowed from the line.

use std::str::FromStr;

use super::key::Key;
use crate::model::{BlobHash, Kind, Outcome, PathError, TapePath, Via};
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
    /// In a fork, how the answer came about.
    pub via: Option<Via>,
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

    /// Whether a field of this name belongs to the head.
    pub(super) fn is_head_field(name: &[u8]) -> bool {
        RawHead::default().put(Key::of(name), Scalar::Null) != Put::NotHead
    }

    /// Takes one field. `null` is as good as absent.
    #[inline]
    pub(super) fn put(&mut self, key: Key, value: Scalar<'a>) -> Put {
        match key {
            Key::SEQ => value.number_into(&mut self.seq),
            Key::T => value.number_into(&mut self.t),
            Key::KIND => value.text_into(&mut self.kind),
            Key::STEP => value.number_into(&mut self.step),
            Key::BRANCH => value.text_into(&mut self.branch),
            Key::AGENT => value.text_into(&mut self.agent),
            Key::CALL => value.text_into(&mut self.call),
            Key::TXN => value.text_into(&mut self.txn),
            Key::NAME => value.text_into(&mut self.name),
            Key::PATH => value.text_into(&mut self.path),
            Key::PATH_RAW => value.text_into(&mut self.path_raw),
            Key::FROM => value.text_into(&mut self.from),
            Key::FROM_RAW => value.text_into(&mut self.from_raw),
            Key::MODE => value.word_into(|octal| {
                let octal = std::str::from_utf8(octal).ok()?;
                let mode = u32::from_str_radix(octal, 8).ok();
                self.mode = Some(mode.filter(|mode| *mode <= 0o7777)?);
                Some(())
            }),
            Key::BLOB => value.text_into(&mut self.blob),
            Key::LEN => value.number_into(&mut self.len),
            Key::ENC => value.word_into(|word| {
                self.enc = Enc::parse(word);
                Some(())
            }),
            Key::BASE => value.text_into(&mut self.base),
            Key::WAS => value.text_into(&mut self.was),
            Key::BY => value.word_into(|word| {
                self.is_outside = word == b"outside";
                Some(())
            }),
            Key::REDACTED => match value {
                Scalar::Bool(is_redacted) => {
                    self.is_redacted = is_redacted;
                    Put::Taken
                }
                Scalar::Null => Put::Taken,
                Scalar::Text(_) | Scalar::Number(_) => Put::BadType,
            },
            Key::OUTCOME => value.word_into(|word| {
                let word = std::str::from_utf8(word).ok()?;
                self.outcome = Some(Outcome::parse(word)?);
                Some(())
            }),
            Key::EXIT => value.number_into(&mut self.exit),
            Key::DUR => value.number_into(&mut self.dur),
            Key::AT => value.number_into(&mut self.at),
            Key::TO => value.text_into(&mut self.to),
            Key::REASON => value.text_into(&mut self.reason),
            Key::TITLE => value.text_into(&mut self.title),
            Key::VIA => value.word_into(|word| {
                let word = std::str::from_utf8(word).ok()?;
                self.via = Some(Via::parse(word)?);
                Some(())
            }),
            Key::PREV => value.text_into(&mut self.prev),
            _ => Put::NotHead,
        }
    }
}

impl<'a> Scalar<'a> {
    /// A value without quotes.
    #[inline]
    pub(super) fn of_word(word: &'a [u8]) -> Self {
        match word {
            b"true" => Self::Bool(true),
            b"false" => Self::Bool(false),
            number => Self::Number(number),
        }
    }

    fn text_into(self, field: &mut Option<Text<'a>>) -> Put {
        match self {
            Self::Text(text) => {
                *field = Some(text);
                Put::Taken
            }
            Self::Null => Put::Taken,
            Self::Number(_) | Self::Bool(_) => Put::BadType,
        }
    }

    /// Gives the inside of a text to `take`, which says whether it is one of the format's.
    fn word_into(self, take: impl FnOnce(&[u8]) -> Option<()>) -> Put {
        match self {
            Self::Text(word) => Put::taken(take(word.as_inside())),
            Self::Null => Put::Taken,
            Self::Number(_) | Self::Bool(_) => Put::BadType,
        }
    }

    fn number_into<T: FromStr>(self, field: &mut Option<T>) -> Put {
        match self {
            Self::Number(digits) => {
                let digits = std::str::from_utf8(digits).ok();
                // Rust's numbers may have a plus, JSON's may not.
                let digits = digits.filter(|digits| !digits.starts_with('+'));
                let number = digits.and_then(|digits| digits.parse().ok());
                Put::taken(number.map(|number| *field = Some(number)))
            }
            Self::Null => Put::Taken,
            Self::Text(_) | Self::Bool(_) => Put::BadType,
        }
    }
}

impl Put {
    fn taken(taken: Option<()>) -> Self {
        taken.map_or(Self::BadType, |()| Self::Taken)
    }
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
