//! What a model said, what a tool returned or what a person asked, as a small text that can
//! be edited.
//!
//! ```text
//! # Remarks, until the first section.
//!
//! == text
//! I read the file first.
//!
//! == call Bash
//! {
//!   "command": "cat src/a.rs"
//! }
//! ```
//!
//! | section | of | below it |
//! |---|---|---|
//! | `text`, `thinking` | a response | the words |
//! | `call TOOL` | a response | the arguments, as JSON |
//! | `block TYPE` | a response | a block of another type, as JSON |
//! | `result OUTCOME [exit CODE]` | a result | the output |
//! | `detail` | a result | what came beside the output, as JSON |
//! | `prompt ROLE` | a prompt | the words |
//! | `attachment HASH` | a result, a prompt | nothing |
//!
//! What stands below a section ends with its line, and one blank line behind it is no part of
//! it. A line of text that looks like the beginning of a section has a `\` before it. So any
//! text can be written, and [`Document::read`] of what [`write()`] wrote gives the same
//! output again; a section that was not touched gives the very block that it was made of.
//!
//! Nothing here runs anything or looks at a tape; what is written may hold anything that a
//! terminal would act upon, as the tape does.

mod read;
mod write;

use serde_json::Value;

use crate::model::{BlobHash, ModelBlock, Outcome};

pub use read::{Document, DocumentError, Reading};
pub use write::write;

/// The output of a step that can be replaced.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// What a model said and called.
    Response(Vec<ModelBlock>),
    /// What a tool returned.
    Result {
        /// Whether it succeeded.
        outcome: Outcome,
        /// The exit code of its command.
        exit: Option<i32>,
        /// The output, as the model sees it.
        output: String,
        /// Images that came with it.
        attachments: Vec<BlobHash>,
        /// What it returned beside its output.
        detail: Value,
    },
    /// What a person or the system asked.
    Prompt {
        /// `user` or `system`.
        role: String,
        /// The words.
        text: String,
        /// Images and documents that came with it.
        attachments: Vec<BlobHash>,
    },
}

impl Output {
    /// What it is called.
    pub const fn noun(&self) -> &'static str {
        match self {
            Self::Response(_) => "response",
            Self::Result { .. } => "result",
            Self::Prompt { .. } => "prompt",
        }
    }

    /// The sections that it can have.
    const fn sections(&self) -> &'static str {
        match self {
            Self::Response(_) => "`== text`, `== thinking`, `== call TOOL` and `== block TYPE`",
            Self::Result { .. } => "`== result OUTCOME`, `== detail` and `== attachment HASH`",
            Self::Prompt { .. } => "`== prompt ROLE` and `== attachment HASH`",
        }
    }
}

/// How a line begins that opens a section.
const MARK: &str = "== ";

/// Whether a line would be taken for the beginning of a section, but for what is before it.
fn is_marked(line: &str) -> bool {
    line.trim_start_matches('\\').starts_with(MARK)
}
