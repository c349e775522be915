//! Forks: where one leaves its parent, what makes it differ, and how its answers came about.
//!
//! Plain words of a tape's header and of its events. Nothing here finds a parent or reads one.

use std::fmt;

use super::{LineHash, Seq, StepNumber, TapePath};

/// Where a fork leaves its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The parent's tape id.
    pub id: String,
    /// The last event they share.
    pub seq: Seq,
    /// The hash of that event's line.
    pub line: Option<LineHash>,
    /// Where the parent was last seen.
    pub path: Option<String>,
}

/// The one change that makes a fork differ from its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What was changed.
    pub of: EditOf,
    /// The parent's step at which it was changed.
    pub step: StepNumber,
    /// The branch on which that step is numbered; `None` is the main line.
    pub branch: Option<String>,
    /// The parent's event whose place the fork's first event takes; `None` for a file.
    pub seq: Option<Seq>,
    /// The file that was changed by hand.
    pub path: Option<TapePath>,
    /// At most 80 characters that say what was changed.
    pub title: String,
    /// How the fork was to go on behind it, in a word of whoever made it.
    pub then: Option<String>,
}

/// What an edit changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EditOf {
    /// A model's response.
    Response,
    /// What a tool call returned.
    Result,
    /// A prompt.
    Prompt,
    /// A file, by hand.
    File,
}

impl EditOf {
    /// Everything that an edit can change.
    pub const ALL: [Self; 4] = [Self::Response, Self::Result, Self::Prompt, Self::File];

    /// The word on a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Result => "result",
            Self::Prompt => "prompt",
            Self::File => "file",
        }
    }

    /// What a word on a tape means; `None` for one that this version does not know.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|of| of.as_str() == word)
    }
}

/// How an answer in a fork came about.
///
/// It stands on the event that answers: a result, a response, a prompt, or the file that was
/// changed by hand. [`Unknown`](Self::Unknown) stands on the one that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Via {
    /// It is the altered output itself.
    Edit = 1,
    /// It is the tape's, the request being identical.
    Recorded = 2,
    /// The tool ran for real on the fork's own files.
    Rerun = 3,
    /// The user supplied it.
    Script = 4,
    /// A real model or service gave it.
    Live = 5,
    /// It is the tape's answer to another request, taken because the user asked for that.
    Stale = 6,
    /// Nobody could answer: the fork stops here.
    Unknown = 7,
}

impl Via {
    /// Every way.
    pub const ALL: [Self; 7] = [
        Self::Edit,
        Self::Recorded,
        Self::Rerun,
        Self::Script,
        Self::Live,
        Self::Stale,
        Self::Unknown,
    ];

    /// The word on a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Recorded => "recorded",
            Self::Rerun => "rerun",
            Self::Script => "script",
            Self::Live => "live",
            Self::Stale => "stale",
            Self::Unknown => "unknown",
        }
    }

    /// The label for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Edit => "edited",
            Self::Recorded => "recorded",
            Self::Rerun => "re-run",
            Self::Script => "scripted",
            Self::Live => "live",
            Self::Stale => "stale",
            Self::Unknown => "not known",
        }
    }

    /// The way that a word on a tape means; `None` for one that this version does not know.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|via| via.as_str() == word)
    }

    /// The way of a code, which is the number that the enum gives it.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|via| *via as u8 == code)
    }
}

impl fmt::Display for EditOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
