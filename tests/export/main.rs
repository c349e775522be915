//! Failed calls, kept as test cases or as evaluations of the model that asked for them.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed, and one that is skipped says so"
)]

mod around;
mod cases;
mod checks;
mod evaluations;
mod minimal;
#[path = "../support/program.rs"]
mod program;
mod refusals;
mod secrets;
mod sources;
mod transcripts;
#[path = "../support/transcripts.rs"]
mod transcripts_at_hand;
mod world;
