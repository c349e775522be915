//! Text as people see it: made safe, measured, compared.
//!
//! [`SafeText`] is the only text that may reach a terminal, and [`width`](mod@width) makes
//! it fit. [`SeenBlanks`] shows what is not seen. [`FileDiff`] says what changed between two contents of a file, and
//! [`diff::unified()`] writes that the way `git apply` reads it; [`json_diff`] says it of two
//! JSON documents, path by path; [`Lineage`] says what each line came with. [`human`] and [`json`] put sizes, times and values in words,
//! [`command_line`] a command.
//!
//! Nothing here does I/O, knows what a tape is, or chooses a colour.

pub mod blanks;
pub mod diff;
pub mod heading;
pub mod human;
pub mod json;
pub mod json_diff;
pub mod lineage;
pub mod sanitize;
pub mod shell;
pub mod width;

pub use blanks::SeenBlanks;
pub use diff::{DiffKind, FileDiff, GitMode, Hunk, LineEnds, Row, RowKind};
pub use json_diff::{JsonChange, JsonChangeKind, JsonPath, JsonStep};
pub use lineage::Lineage;
pub use sanitize::{Mark, MarkKind, SafeText, decode_tags, json_hides, sanitize_block};
pub use shell::command_line;
pub use width::Align;
