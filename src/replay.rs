//! Two runs held against each other, and a run that goes on otherwise from one of its steps.
//!
//! A step is boiled down to a [`Fingerprint`] of its [`StepContent`]: what was asked, what
//! came back, how it ended, what became of files. Parts that differ from run to run by
//! themselves are not counted: ids, times, the names of temporary files, the directory that
//! the run worked in ([`Volatile`]), and nothing that only repeats what was said before (a
//! model's request) or that changes nothing (its thinking, tokens, durations). [`Alignment`]
//! pairs the steps of two lines by their fingerprints; [`leaves()`] says, of two steps that
//! are paired, where exactly they differ.
//!
//! A [`fork`] replaces one output of a run, as it was edited in a [`document`], and goes on
//! from there. Whether a recorded answer is an answer to what is asked now is decided by
//! [`request`]s, and never by what comes next in line.
//!
//! All of that is a function of what is given: it reads no tape, no file and no environment.
//! The one clock that is read is that of the alignment's budget. Only the [`workbench`] runs
//! anything: it answers tool calls again, on a tree of files.

mod align;
mod answered;
mod content;
pub mod document;
mod fingerprint;
pub mod fork;
mod leaves;
mod predicate;
mod reasons;
mod reproduce;
pub mod request;
pub mod stream;
mod tool_fields;
mod volatile;
pub mod workbench;

pub use align::{Alignment, BUDGET, Pair, Relation, Stretch, Tally};
pub use answered::leaves_of_answer;
pub use content::StepContent;
pub use fingerprint::{Fingerprint, Parts};
pub use leaves::{Leaf, leaves};
pub use predicate::{Predicate, PredicateError, Test};
pub use reasons::{Reason, reasons};
pub use reproduce::{CallContent, FileAfter, Standing, differences, is_mix};
pub use tool_fields::ToolFields;
pub use volatile::{Volatile, VolatileSort, Wording};
