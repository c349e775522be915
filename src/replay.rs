//! Two runs held against each other: which steps are the same, where they part, where they
//! meet again.
//!
//! A step is boiled down to a [`Fingerprint`] of its [`StepContent`]: what was asked, what
//! came back, how it ended, what became of files. Parts that differ from run to run by
//! themselves are not counted: ids, times, the names of temporary files, the directory that
//! the run worked in ([`Volatile`]), and nothing that only repeats what was said before (a
//! model's request) or that changes nothing (its thinking, tokens, durations). [`Alignment`]
//! pairs the steps of two lines by their fingerprints; [`leaves()`] says, of two steps that
//! are paired, where exactly they differ.
//!
//! All of that is a function of what is given: it reads no tape, no file and no environment.
//! The one clock that is read is that of the alignment's budget. Only the [`workbench`] runs
//! anything: it answers tool calls again, on a tree of files.

mod align;
mod content;
mod fingerprint;
mod leaves;
mod reasons;
mod reproduce;
mod volatile;
pub mod workbench;

pub use align::{Alignment, BUDGET, Pair, Relation, Stretch, Tally};
pub use content::StepContent;
pub use fingerprint::{Fingerprint, Parts};
pub use leaves::{Leaf, leaves};
pub use reasons::{Reason, reasons};
pub use reproduce::{CallContent, FileAfter, Standing, differences, is_mix};
pub use volatile::{Volatile, VolatileSort, Wording};
