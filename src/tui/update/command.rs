//! What becomes of a command that runs while the screen is shown: it is over, or somebody wants
//! its end, or to leave.

use crate::cli::CommandEnd;
use crate::tui::app::{App, Tone};
use crate::tui::command::{Stage, Warned};
use crate::tui::effect::Effect;

impl App {
    /// The command is over.
    pub(super) fn end_command(&mut self, end: CommandEnd) {
        let Some(command) = &mut self.command else {
            return;
        };
        let tone = if end.is_well {
            Tone::Plain
        } else {
            Tone::Warning
        };
        let words = end.words.clone();
        command.stage = Stage::Over(end);
        self.say(tone, words.as_str());
        // Its last lines may have been written since the file was looked at.
        self.refresh();
    }

    /// Closes the screen. While the command runs, a second key has to say so.
    pub(super) fn leave(&mut self, effects: &mut Vec<Effect>) {
        match &mut self.command {
            Some(command) if !command.is_over() && command.warned != Warned::Before => {
                command.warned = Warned::Now;
                self.say(
                    Tone::Warning,
                    "the command still runs: q again closes the screen and lets it go on, \
                     Ctrl-C ends it",
                );
            }
            _ => effects.push(Effect::Quit),
        }
    }

    /// Ends the command that runs, or else the screen.
    pub(super) fn quit(&mut self, effects: &mut Vec<Effect>) {
        match &mut self.command {
            Some(command) if command.stage == Stage::Running => {
                command.stage = Stage::Ending;
                effects.push(Effect::StopCommand);
                self.say(
                    Tone::Warning,
                    "the command was asked to end; Ctrl-C again closes the screen",
                );
            }
            _ => effects.push(Effect::Quit),
        }
    }
}
