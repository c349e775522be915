//! What an edit tool does to a file: pure functions from bytes and arguments to bytes.
//!
//! Agents change files through a handful of tools, and each has rules of its own about
//! which text it finds, how often, and what becomes of line endings. Here they are, one
//! tool a file, so that an import can rebuild what a run did without running anything:
//!
//! - [`edit`](fn@edit) and [`multi_edit`]: a text is replaced by another (Claude Code);
//! - [`StrReplace`]: create, replace, insert, undo (the `str_replace_editor` family);
//! - [`Patch`]: `apply_patch`, the patch language of Codex;
//! - [`shell::read`]: which plain file operations a shell command consists of.
//!
//! [`Asked`] says which of them a call means, by whatever name it calls it; [`Refusal`] why a
//! tool did not do it, in whatever words it said so.
//!
//! A file is not always known whole. [`Known`] says how much of it is, and keeps line
//! numbers right while edits shift them.
//!
//! Nothing here does I/O, runs a command, or reads a clock. Nothing here decides what a
//! *failed* call did: who asks for an edit has seen that it succeeded.

mod anchor;
mod apply_patch;
mod asked;
mod edit;
mod error;
mod known;
mod line_endings;
mod refusal;
pub mod shell;
mod sparse;
mod str_replace;

pub use anchor::{Anchor, DisplayHunk};
pub use apply_patch::{Chunk, Hunk, Patch, PatchError};
pub use asked::{Asked, Command, EditorAct, Exchange, Find, Program, Shown, Sought, Unanswerable};
pub use edit::{Edited, Occurrences, Replacement, edit, multi_edit};
pub use error::EditError;
pub use known::{Evidence, Known};
pub use line_endings::{LINE_ENDINGS_ASSUMED, is_same_text};
pub use refusal::Refusal;
pub use sparse::Sparse;
pub use str_replace::{StrReplace, Tabs};
