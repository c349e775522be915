//! Transcripts of Claude Code through the front door: a session is written down record by
//! record, imported, recorded as a tape, and looked at through the façade.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod agents;
mod chain;
mod files;
mod records;
mod session;
mod shell;
