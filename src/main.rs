//! The `jukebox` program: the command line, with the screen given to it.

use std::process::ExitCode;

use jukebox::cli::{self, Failure, FrameRequest, Screen, Start};
use jukebox::debugger::Debugger;

fn main() -> ExitCode {
    cli::report_faults();
    ExitCode::from(cli::run(std::env::args_os(), &NoScreen))
}

/// Stands where the screen will.
struct NoScreen;

impl Screen for NoScreen {
    fn show(&self, _run: Debugger, _start: Start) -> Result<(), Failure> {
        Err(Failure::machine("there is no screen in this build yet"))
    }

    fn draw(&self, _: Debugger, _: Start, _: &FrameRequest) -> Result<String, Failure> {
        Err(Failure::machine("there is no screen in this build yet"))
    }
}
