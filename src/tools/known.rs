//! What is known of a file: all of it, some lines, nothing, or that it is not there.

use std::sync::Arc;

use crate::model::{Content, KnownLines};

use super::line_endings::is_same_text;
use super::{Anchor, EditError, Replacement, Sparse, multi_edit};

/// What is known of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// Every byte.
    Full(Arc<[u8]>),
    /// Some lines of a whole that is not known.
    Sparse(Sparse),
    /// Nothing.
    #[default]
    Unknown,
    /// That it is not there.
    Absent,
}

/// What a sight of a file says to what was known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It shows more and speaks against nothing.
    New,
    /// It shows what was known.
    Agrees,
    /// The file is not what it was thought to be.
    Differs,
}

impl Known {
    /// All the bytes, where they are known.
    pub fn whole(&self) -> Option<&Arc<[u8]>> {
        match self {
            Self::Full(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// What an event tells of a file like this.
    pub fn to_content(&self) -> Content {
        match self {
            Self::Full(bytes) => Content::Bytes(Arc::clone(bytes)),
            Self::Sparse(sparse) => Content::Lines(sparse.to_known()),
            Self::Unknown => Content::Unstored {
                hash: None,
                len: None,
            },
            Self::Absent => Content::None,
        }
    }

    /// Takes the whole file as it was seen.
    ///
    /// A text that differs only in its line endings or its byte order mark is the one that
    /// was known: tools show files with both taken off.
    pub fn observe_whole(&mut self, seen: &Arc<[u8]>) -> Evidence {
        let evidence = match &*self {
            Self::Full(known) if is_same_text(known, seen) => return Evidence::Agrees,
            Self::Unknown => Evidence::New,
            Self::Sparse(sparse) if sparse.agrees_with(&all_lines(seen)) => Evidence::New,
            Self::Full(_) | Self::Sparse(_) | Self::Absent => Evidence::Differs,
        };
        *self = Self::Full(Arc::clone(seen));
        evidence
    }

    /// Takes some lines as they were seen. Where they speak against what was known, the
    /// rest of it is known no more.
    pub fn observe_lines(&mut self, seen: &KnownLines) -> Evidence {
        let evidence = match self {
            Self::Full(known) if Sparse::of(&all_lines(known)).agrees_with(seen) => {
                return Evidence::Agrees;
            }
            Self::Unknown => Evidence::New,
            Self::Sparse(known) if known.agrees_with(seen) => {
                let before = known.clone();
                known.observe(seen);
                let is_new = *known != before;
                self.settle();
                return if is_new {
                    Evidence::New
                } else {
                    Evidence::Agrees
                };
            }
            Self::Full(_) | Self::Sparse(_) | Self::Absent => Evidence::Differs,
        };
        *self = Self::Sparse(Sparse::of(seen));
        self.settle();
        evidence
    }

    /// Takes that the file is not there.
    pub fn observe_absent(&mut self) -> Evidence {
        let evidence = match self {
            Self::Absent => Evidence::Agrees,
            Self::Unknown => Evidence::New,
            Self::Full(_) | Self::Sparse(_) => Evidence::Differs,
        };
        *self = Self::Absent;
        evidence
    }

    /// Makes edits, one after the other, all or none; gives the remark on what was assumed.
    ///
    /// An anchor says where a single edit took place in a file that is not known whole.
    pub fn replace(
        &mut self,
        edits: &[Replacement<'_>],
        anchor: Option<Anchor>,
    ) -> Result<Option<&'static str>, EditError> {
        let creates = edits.first().is_some_and(|first| first.old.is_empty());
        let whole: Option<&[u8]> = match self {
            Self::Full(bytes) => Some(bytes),
            Self::Absent | Self::Unknown if creates => Some(b""),
            Self::Absent => return Err(EditError::Absent),
            Self::Sparse(_) | Self::Unknown => None,
        };
        if let Some(bytes) = whole {
            let edited = multi_edit(bytes, edits)?;
            *self = Self::Full(edited.bytes.into());
            return Ok(edited.remark);
        }
        let mut sparse = match self {
            Self::Sparse(sparse) => sparse.clone(),
            _ => Sparse::default(),
        };
        let anchor = anchor.filter(|_| edits.len() == 1);
        for replacement in edits {
            sparse.replace(replacement, anchor)?;
        }
        *self = Self::Sparse(sparse);
        self.settle();
        Ok(None)
    }

    /// A file of which every line is known is known whole.
    fn settle(&mut self) {
        if let Self::Sparse(sparse) = self
            && let Some(whole) = sparse.whole()
        {
            *self = Self::Full(whole.into());
        }
    }
}

/// A whole text as lines, line endings as tools show them.
fn all_lines(bytes: &[u8]) -> KnownLines {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
    KnownLines {
        total: Some(text.split_inclusive('\n').count() as u64),
        ranges: vec![(1, text)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Occurrences;

    fn full(text: &str) -> Known {
        Known::Full(text.as_bytes().into())
    }

    fn lines(total: Option<u64>, first: u64, text: &str) -> KnownLines {
        KnownLines {
            total,
            ranges: vec![(first, text.to_owned())],
        }
    }

    #[test]
    fn a_whole_sight_is_weighed() {
        let check = |mut known: Known, seen: &str, expected, after: Known| {
            assert_eq!(known.observe_whole(&seen.as_bytes().into()), expected);
            assert_eq!(known, after);
        };
        check(Known::Unknown, "a", Evidence::New, full("a"));
        check(full("a"), "a", Evidence::Agrees, full("a"));
        check(full("a"), "b", Evidence::Differs, full("b"));
        check(full("a\r\n"), "a\n", Evidence::Agrees, full("a\r\n"));
        check(Known::Absent, "a", Evidence::Differs, full("a"));
        let some = Known::Sparse(Sparse::of(&lines(None, 2, "b\n")));
        check(some.clone(), "a\nb\n", Evidence::New, full("a\nb\n"));
        check(some, "a\nc\n", Evidence::Differs, full("a\nc\n"));
    }

    #[test]
    fn a_sight_of_some_lines_is_weighed() {
        let mut known = full("a\nb\n");
        let evidence = known.observe_lines(&lines(Some(2), 2, "b\n"));
        assert_eq!((evidence, &known), (Evidence::Agrees, &full("a\nb\n")));
        let seen = lines(Some(2), 2, "x\n");
        assert_eq!(known.observe_lines(&seen), Evidence::Differs);
        assert_eq!(known, Known::Sparse(Sparse::of(&seen)));
        let evidence = known.observe_lines(&lines(None, 1, "a\n"));
        assert_eq!((evidence, known), (Evidence::New, full("a\nx\n")));
    }

    #[test]
    fn no_old_text_creates_what_is_not_there() {
        let create = Replacement {
            old: "",
            new: "x\n",
            which: Occurrences::Only,
        };
        let mut known = Known::Absent;
        assert_eq!(known.replace(&[create], None), Ok(None));
        assert_eq!(known, full("x\n"));
        assert_eq!(known.replace(&[create], None), Err(EditError::NotEmpty));
    }
}
