//! The `jukebox` program: the command line, with the screen given to it.

use std::process::ExitCode;

use jukebox::{cli, tui};

fn main() -> ExitCode {
    cli::report_faults();
    ExitCode::from(cli::run(std::env::args_os(), &tui::TerminalScreen))
}
