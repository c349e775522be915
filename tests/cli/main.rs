//! The program as people call it: standard output, standard error and the exit code of every
//! command, in a world of their own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent;
mod agent_forks;
mod bad_input;
mod bisects;
mod checkouts;
mod commands;
mod compares;
mod dialects;
mod diffs;
mod effects;
#[path = "../support/endpoint.rs"]
mod endpoint;
mod fork_effects;
mod fork_secrets;
mod forks;
mod golden;
mod hook_disk;
mod hook_settings;
mod hooks;
mod hostile;
#[path = "../support/hostile_tape.rs"]
mod hostile_tape;
mod long_steps;
mod marks;
mod model_forks;
mod models;
mod notes;
mod nothing_runs;
mod pipes;
mod places;
#[path = "../support/queries.rs"]
mod queries;
mod readme;
mod recorder;
mod records;
mod restores;
mod searches;
mod secrets;
mod streams;
mod themes;
#[path = "../support/traces.rs"]
mod traces;
mod watches;
mod what_if;
mod world;
