//! Jukebox: a terminal time-travel debugger for AI-agent runs.

pub mod debugger;
pub mod model;
pub mod state;
pub mod tape;
pub mod text;
pub mod tools;
