//! Jukebox: a terminal time-travel debugger for AI-agent runs.
//!
//! A person ran an agent; it did forty things and broke something. This crate opens the
//! record of that run, says what the files were at every step and what each step changed,
//! and lets a person scrub through it. The binary `jukebox` is a thin shell over it; the
//! recorder ([`tape::Recorder`]) can be embedded in other programs.
//!
//! This page is the map. The format of a tape is in [`tape::format`].
//!
//! # From bytes to a frame
//!
//! ```text
//! tape bytes ─ scan ─► head of each line ─► index (offset, kind, step, blobs)    watch ─► grows
//!                                      └──► state (entries by path)
//!                     index and state of a large tape ─► cache ─► mapped at the next opening
//! cursor ─► state: a search per path ─► tree rows        blob ─► one line read, decoded, checked
//!       └─► entries between two cursors ─► changed paths ─► text::diff ─► rows
//! rows ─► Reply ─► App ─► draw(&App) ─► frame
//! key ─► keymap ─► Action ─► App::update ─► Effects ─► worker (the newest request wins)
//! ```
//!
//! # The code, from the ground up
//!
//! A module imports from rows above its own, and within its row from those before it.
//! `tests/tidy.rs` holds the code to this table.
//!
//! | layer | modules | knows |
//! |---|---|---|
//! | 1 vocabulary | [`model`], [`text`], [`redact`] | plain types; making text safe, widths, differences; finding secrets. No I/O |
//! | 2 tape | [`tape`] | the format, reader, index and its cache, blobs, recorder, verify, compact, watch |
//! | 3 meaning | [`tools`], [`state`] | what an edit tool does to a file; what events do to files |
//! | 4 effects | [`capture`], [`checkout`], [`sandbox`], [`effects`], [`transaction`] | what happens to the files of a directory; writing a tree to disk; running commands in a guarded view of one; what calls do elsewhere; transactions: open ones, commit, recovery, undo |
//! | 5 engine | [`import`], [`hook`], [`replay`], [`models`], [`export`] | foreign formats; an agent that tells of itself as it runs; where two runs part and meet again; tool calls, answered on a tree of files; a run that goes on from an altered step; what an agent and a model say to each other; test cases from failed calls |
//! | 6 façade | [`debugger`] | everything a shell can ask, as plain data |
//! | 7 shells | [`cli`], [`tui`] | arguments and output; keys and drawing |
//!
//! # What is never done
//!
//! * Opening a tape runs nothing, connects to nothing, and reads no configuration that lies
//!   beside it or in a workspace.
//! * Nothing is connected to but the models' endpoints that a user names for a command that is
//!   recorded. Where a tape answers in their place, nothing is. A command that is recorded
//!   reaches its recorder, on a loopback of its own.
//! * Nothing below the shells prints, reads the environment or the home directory, or knows
//!   that a terminal exists. `model`, `text`, `redact`, `tools` and `state` do no I/O.
//! * Only `tape::wire` knows the JSON field names of a tape.
//! * No text of a tape reaches a terminal but as [`text::SafeText`], or made safe by
//!   [`text::sanitize_block`].
//! * A reader never gives up on a file because of a line: what cannot be read is a
//!   [`model::Problem`], and the timeline shows a gap in its place.
//! * `checkout` writes only below a new or empty directory that the user named, or that is the
//!   program's own, and follows no link.
//! * `export` writes only a new directory that the user named. A test case is data beside fixed
//!   code: no recorded text ever becomes a part of a program.
//! * A run that is made again touches no workspace and sends nothing: its commands see a copy
//!   of the recorded files in the sandbox. So do those of a bisection, which a person typed.
//! * A workspace is written by `transaction` alone, all or nothing, and only where nobody else
//!   changed it.
//! * A directory that is watched is only read: no entry of it is written, no link followed, and
//!   nothing but a regular file opened.
//! * The hooks of an agent never hold it up: they print nothing, end with 0, and wait for no
//!   longer than a look at the workspace takes.
//! * What is run as an effect was declared by the user, outside the workspace. No tape says
//!   what to run.
//! * The screen never waits: no file I/O, no parsing and no comparing on the drawing thread.
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | run | one execution of an agent, start to end |
//! | tape | the append-only record of a run: one JSONL file |
//! | event | one line of it, numbered by `seq` |
//! | step | what a person thinks of as one move; groups events; numbered along a branch |
//! | blob | immutable bytes, named by their BLAKE3 hash |
//! | state | the files after an event: looked up, never replayed |
//! | snapshot | the manifest of the whole tree, written into the tape |
//! | certainty | how well a file at a step is known: [`model::Certainty`] |
//! | outside change | a file differs from what the events say, and no call explains it |
//! | effect | something a call did outside the files: recorded, keyed, taken back or not |
//! | fork | a tape that shares another one's events up to a place, and goes on from one change |
//! | branch | one line of events with its own files: the main line, a rewind, a transaction |

pub mod capture;
pub mod checkout;
pub mod cli;
pub mod debugger;
pub mod effects;
pub mod export;
pub mod hook;
pub mod import;
pub mod model;
pub mod models;
pub mod redact;
pub mod replay;
pub mod sandbox;
pub mod state;
pub mod tape;
pub mod text;
pub mod tools;
pub mod transaction;
pub mod tui;
