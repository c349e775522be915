//! Transactions from a shell and from the library, with real sandboxes and real processes: as
//! root, and as an ordinary user.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed, and one that is skipped says so"
)]

#[path = "txn/calls.rs"]
mod calls;
#[path = "txn/conflicts.rs"]
mod conflicts;
#[path = "support/dice.rs"]
mod dice;
#[path = "txn/endings.rs"]
mod endings;
#[path = "txn/mapped.rs"]
mod mapped;
#[expect(dead_code, reason = "what only the tests of the terminal itself need")]
#[path = "support/pty.rs"]
mod pty;
#[path = "txn/random.rs"]
mod random;
#[path = "txn/records.rs"]
mod records;
#[path = "txn/screen.rs"]
mod screen;
#[path = "txn/script.rs"]
mod script;
#[path = "sandbox/who.rs"]
#[macro_use]
mod who;
#[path = "txn/world.rs"]
mod world;
