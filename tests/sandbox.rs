//! Commands in the sandbox, with a real helper and real mounts: as root, and as an ordinary
//! user. What the kernel lacks is skipped with its reason, and never passed over in silence.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed, and one that is skipped says so"
)]

#[path = "sandbox/changes.rs"]
mod changes;
#[path = "sandbox/commands.rs"]
mod commands;
#[path = "support/dice.rs"]
mod dice;
#[path = "sandbox/doctor.rs"]
mod doctor;
#[path = "sandbox/elsewhere.rs"]
mod elsewhere;
#[path = "sandbox/guarding.rs"]
mod guarding;
#[path = "sandbox/random.rs"]
mod random;
#[path = "sandbox/traps.rs"]
mod traps;
#[path = "sandbox/who.rs"]
#[macro_use]
mod who;
#[path = "sandbox/world.rs"]
mod world;
