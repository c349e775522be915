//! The screen as the command line asks for it: shown, or drawn into a picture.

use std::ffi::OsStr;

use super::app::{AppOptions, Extent, First, Keeping};
use super::frame::{FrameOptions, frame};
use super::run::{Ending, RunError, RunOptions, run};
use super::terminal::{Mouse, TerminalError};
use super::theme::{ColorChoice, Palette};
use super::worker::Runs;
use crate::cli::{Answer, Failure, FrameRequest, PictureFormat, Screen, Start};
use crate::debugger::{Debugger, Rest};

/// The screen on the terminal that the program was started in.
#[derive(Clone, Copy, Debug)]
pub struct TerminalScreen;

impl Screen for TerminalScreen {
    fn show(
        &self,
        debugger: Debugger,
        rest: Option<Rest>,
        mut start: Start,
    ) -> Result<Answer, Failure> {
        let runs = runs(debugger, &mut start);
        let command = start.command.take();
        let options = RunOptions {
            app: AppOptions {
                has_command: command.is_some(),
                keeping: Keeping::Kept,
                extent: match rest {
                    Some(_) => Extent::Begun,
                    None => Extent::Whole,
                },
                ..app_options(start)?
            },
            command,
        };
        match run(runs, rest, options) {
            Ok(Ending::Asked) => Ok(Answer::Yes),
            Ok(Ending::Signal(number)) => Ok(Answer::signal(number)),
            Err(RunError::Fault) => Ok(Answer::FAULT),
            Err(error @ RunError::Terminal(TerminalError::NotATerminal)) => {
                Err(Failure::unusable(error.to_string()))
            }
            Err(error) => Err(Failure::machine(error.to_string())),
        }
    }

    fn check_theme(&self, theme: &OsStr) -> Result<(), Failure> {
        Palette::open(theme).map(|_| ()).map_err(unusable)
    }

    fn draw(
        &self,
        debugger: Debugger,
        mut start: Start,
        request: &FrameRequest,
    ) -> Result<String, Failure> {
        let runs = runs(debugger, &mut start);
        let options = FrameOptions {
            app: app_options(start)?,
            size: request.size.parse().map_err(unusable)?,
            keys: request.keys.parse().map_err(unusable)?,
        };
        let picture = frame(runs, options).map_err(unusable)?;
        Ok(match request.format {
            PictureFormat::Text => picture.to_string(),
            PictureFormat::Svg => picture.to_svg(),
        })
    }
}

/// The run, and the one it is held against.
fn runs(debugger: Debugger, start: &mut Start) -> Runs {
    let runs = Runs::from(debugger).with_ground(start.ground.take());
    let against = start.against.as_mut();
    match against.map(|against| against.run.take()) {
        None => runs,
        Some(None) => runs.against_itself(),
        Some(Some(right)) => runs.against(*right),
    }
}

fn unusable(mistake: impl ToString) -> Failure {
    Failure::unusable(mistake.to_string())
}

/// A theme that does not exist is a mistake even where no colours are wanted.
fn app_options(start: Start) -> Result<AppOptions, Failure> {
    let palette = match &start.theme {
        Some(name) => Palette::open(name).map_err(unusable)?,
        None => Palette::TERMINAL,
    };
    Ok(AppOptions {
        // A picture is drawn, and leaves nothing.
        keeping: Keeping::Forgotten,
        first: if start.is_choosing {
            First::Picker
        } else {
            First::Run
        },
        extent: Extent::Whole,
        has_command: false,
        start: start.place,
        against: start.against.map(|against| against.place),
        is_following: start.is_following,
        colors: if start.has_colors {
            ColorChoice::Palette(palette)
        } else {
            ColorChoice::Never
        },
        mouse: if start.has_mouse {
            Mouse::On
        } else {
            Mouse::Off
        },
    })
}
