//! Test cases: a tool call that failed, kept with the files that it needs, to be made again.
//!
//! A [`Case`] is made from a recorded call by the façade, written below a new directory
//! ([`write`](fn@write)), read back ([`read`](fn@read)), and made again ([`check`](fn@check)): the failure
//! is still there, it is gone, it is another one, or nothing could be compared. [`format`](mod@format)
//! says what lies in the directory.
//!
//! What was recorded is data there, in the manifest and in the files beside it. The files for the
//! test runners that people have ([`Form`]) are the same in every case, to the byte.
//!
//! Nothing here reads a tape, a clock, or the environment; no file outside the new directory is
//! written. Commands run in the sandbox alone. A case may come from a stranger: reading one
//! follows no link out of it.

mod anonymous;
mod case;
mod check;
mod decisive;
mod directory;
mod evaluation;
mod form;
mod manifest;
mod minimal;
mod needed;
mod overlay;
mod placeholders;
mod readme;
mod slug;

#[doc = include_str!("export/CASE.md")]
pub mod format {}

pub use anonymous::{Anonymous, TellsPlace};
pub use case::{Altered, Case, CaseFile, CaseItem, LeftOut};
pub use check::{CaseVerdict, Checked, check};
pub use directory::{CaseError, MANIFEST, cases_at, read, write, write_files};
pub use evaluation::{Asking, CONFIG as EVALUATION, Evaluation, Message, Role};
pub use form::Form;
pub use minimal::{Changed, Cut, Kept, Limits, MinimalError, minimal};
pub use needed::Touched;
pub use overlay::{OverlayError, lay, overlay};
pub use placeholders::{Placeholders, Recorded};
pub use readme::fenced;
pub use slug::slug;
