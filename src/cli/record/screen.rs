//! `jukebox record --open`: the screen follows the tape while the command runs.
//!
//! The command is run here, the screen is shown by a thread of its own, and neither waits for
//! the other: the one tells when it is over, the other asks for its end.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use super::super::When;
use super::super::arguments::{Growth, SourceArgs};
use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::interrupt::Interrupt;
use super::super::open::{Screen, ScreenArgs, Start};
use super::super::output::warn;
use super::super::running::{CommandEnd, RunningCommand};
use super::command::End;
use crate::debugger::{Cause, CommandError, CommandRun, CommandStatus, Exit, Said};
use crate::model::Place;
use crate::text::SafeText;

/// The screen for a command.
#[derive(Clone, Copy)]
pub(super) struct OnScreen<'a> {
    /// What shows it.
    pub(super) screen: &'a dyn Screen,
    /// When there are colours.
    pub(super) colors: When,
    /// How it looks otherwise.
    pub(super) look: &'a ScreenArgs,
    /// What becomes of the changes once it is closed.
    pub(super) end: End,
}

impl OnScreen<'_> {
    /// Nothing can be shown without a terminal, or in colours that there are not, and nothing
    /// is run then.
    pub(super) fn check(self, around: &Environment) -> Result<(), Failure> {
        if !around.has_screen {
            return Err(Failure::unusable(
                "the screen needs a terminal; nothing was run: without --open the command is \
                 recorded all the same, and `jukebox open TAPE --follow` shows it elsewhere",
            ));
        }
        let checked = self
            .look
            .theme()
            .map(|theme| self.screen.check_theme(theme));
        checked.transpose().map(|_| ())
    }

    /// Runs the command to its end, and shows its tape until the user has seen enough,
    /// whichever is later. Once the screen is closed, what the command writes goes to `sink`.
    pub(super) fn exec(
        self,
        run: &mut CommandRun,
        tape: &Path,
        around: &Environment,
        interrupt: &Interrupt,
        sink: &mut dyn FnMut(Said<'_>) -> ControlFlow<()>,
    ) -> Result<Result<Exit, CommandError>, Failure> {
        let source = SourceArgs::default();
        let (shown, rest) = source.begin(tape.as_os_str(), Growth::Awaited, around)?;
        let (tell, end) = channel();
        let start = Start {
            place: Some(Place::END),
            is_following: true,
            command: Some(RunningCommand {
                end,
                stop: Box::new(interrupt.asking()),
            }),
            ..self.look.start(self.colors.allows(around, true), around)
        };
        let (is_shown, is_over) = (AtomicBool::new(true), AtomicBool::new(false));
        let screen = self.screen;
        thread::scope(|scope| {
            let show = || {
                let _open = WhileOpen(&is_shown);
                let closed = screen.show(shown, rest, start);
                if !is_over.load(Ordering::SeqCst) {
                    leave(closed, interrupt);
                }
            };
            let showing = thread::Builder::new().name("screen".into());
            let showing = showing.spawn_scoped(scope, show).map_err(no_screen)?;
            let exit = run.exec(&mut |said| {
                let said = match said {
                    // The terminal is the screen's.
                    Said::Bytes(..) if is_shown.load(Ordering::SeqCst) => Said::Nothing,
                    said => said,
                };
                sink(said)
            });
            is_over.store(true, Ordering::SeqCst);
            // Where the screen is closed already, nobody has to know.
            let _ = tell.send(self.end_of(&exit, interrupt.is_asked()));
            if let Err(panic) = showing.join() {
                std::panic::resume_unwind(panic);
            }
            Ok(exit)
        })
    }

    /// How the command ended, as the screen says it.
    fn end_of(self, exit: &Result<Exit, CommandError>, is_broken_off: bool) -> CommandEnd {
        let (fact, is_well) = match exit {
            Err(_) => ("failed".to_owned(), false),
            Ok(exit) => match (exit.cause, exit.status) {
                (Cause::Timeout, _) => ("ran out of time".to_owned(), false),
                (_, CommandStatus::Code(code)) => (format!("ended with {code}"), code == 0),
                (_, CommandStatus::Signal(signal)) => (format!("ended by signal {signal}"), false),
            },
        };
        let words = match exit {
            Err(error) => format!("{error}; q closes the screen, and nothing is committed"),
            Ok(exit) => {
                let then = self.end.in_words(exit, is_broken_off);
                format!("the command {fact}; q closes the screen, {then}")
            }
        };
        CommandEnd {
            fact: SafeText::line(&fact),
            words: SafeText::line(&words),
            is_well,
        }
    }
}

/// The screen is there, and once this is dropped it is not, whatever it ended by.
struct WhileOpen<'a>(&'a AtomicBool);

impl Drop for WhileOpen<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// The screen is closed, and the command still runs.
fn leave(closed: Result<Answer, Failure>, interrupt: &Interrupt) {
    match closed {
        // A signal that closed it, or a terminal that went away, is meant for the command, too.
        Ok(Answer::Ended(code)) if code > SIGNALS => interrupt.ask(i32::from(code - SIGNALS)),
        Ok(_) => {}
        Err(failure) => {
            if let Some(line) = failure.line() {
                warn(line);
            }
        }
    }
    if !interrupt.is_asked() {
        warn("the screen is closed, and the command goes on; Ctrl-C ends it");
    }
}

/// Codes above this one stand for signals.
const SIGNALS: u8 = 128;

fn no_screen(error: io::Error) -> Failure {
    Failure::machine(format!(
        "no thread could be started: {error}; nothing was run"
    ))
}
