//! Effects with real commands on real tapes: made once, known after a crash, taken back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod doubts;
mod killed;
mod outbox;
mod recorded;
mod rollbacks;
mod service;
mod world;

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}
