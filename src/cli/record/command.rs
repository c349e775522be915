//! `jukebox record -- CMD`: a command, run in the sandbox and recorded, and what is to become
//! of its changes.

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::When;
use super::super::change::{self, ChangeArgs, Consent};
use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::interrupt::Interrupt;
use super::super::open::{Screen, ScreenArgs};
use super::super::output::{Output, Style, complain, pass_on_error, warn};
use super::super::txn;
use super::models::ModelArgs;
use super::name_of;
use super::screen::OnScreen;
use crate::debugger::{
    Backend, Cause, CommandError, CommandOptions, CommandRun, CommandStatus, Exit, Kept,
    OpenTransactionError, Preview, Redacting, Said, Stream, TransactionError, allowed_environment,
    code_of,
};
use crate::text::SafeText;

/// The code for all that is not the command's own failure.
const OURS: u8 = 125;
/// A command that is asked to end is killed after two seconds, and then the tape is ended and
/// what the command wrote is dropped. All that is done within this time, or never.
const GRACE: Duration = Duration::from_mins(1);
/// So often somebody who is asked can break off.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};
/// Tapes of one second in one workspace.
const MOST_NAMES: u32 = 1000;

/// Options that only mean something with a command.
pub(super) const OPTIONS: [&str; 16] = [
    "open",
    "theme",
    "mouse",
    "directory",
    "commit",
    "rollback",
    "ask",
    "timeout",
    "env",
    "backend",
    "unguarded",
    "command",
    "model",
    "upstream",
    "from",
    "volatile",
];

/// What is run, and how.
#[derive(Debug, clap::Args)]
pub(super) struct CommandArgs {
    /// Show the run on the screen while it is recorded
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    look: ScreenArgs,
    /// The workspace; without it, the current directory
    #[arg(long = "dir", value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Commit what the command changed
    #[arg(long, conflicts_with_all = ["rollback", "ask"])]
    commit: bool,
    /// Drop what the command changed
    #[arg(long, conflicts_with = "ask")]
    rollback: bool,
    /// Show what the command changed, and ask; so it is on a terminal
    #[arg(long)]
    ask: bool,
    /// End the command after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Hand over this variable of the environment, too
    #[arg(long, value_name = "NAME")]
    env: Vec<OsString>,
    /// What keeps the command from the workspace
    #[arg(long, value_enum, default_value_t = By::Overlay, value_name = "HOW")]
    backend: By,
    /// Run it without a sandbox: nothing is guarded, and nothing is rolled back
    #[arg(
        long = "unsafe-no-sandbox",
        conflicts_with_all = ["commit", "rollback", "ask", "backend"]
    )]
    unguarded: bool,
    #[command(flatten)]
    models: ModelArgs,
    /// The command and its arguments
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What keeps the command from the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// An overlay over the workspace's own path
    Overlay,
    /// A full copy at another path
    Copy,
}

/// What is to become of what the command changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    RollBack,
    Ask,
    /// It is done already.
    Real,
}

impl End {
    /// What becomes of the changes once the screen is closed, as the end of a sentence.
    pub(super) fn in_words(self, exit: &Exit, is_broken_off: bool) -> &'static str {
        match self {
            Self::Real => "and what it wrote stays",
            Self::Commit if !is_broken_off && came_to_its_end(exit) => {
                "and its changes are committed"
            }
            Self::Ask if !is_broken_off => "then its changes are shown, and you are asked",
            Self::Commit | Self::RollBack | Self::Ask => "and its changes are rolled back",
        }
    }
}

impl CommandArgs {
    /// The workspace.
    pub(super) fn workspace(&self) -> &Path {
        self.directory.as_deref().unwrap_or(Path::new("."))
    }

    /// Whether a person looks at the screen meanwhile.
    pub(super) const fn shows_screen(&self) -> bool {
        self.open
    }

    pub(super) fn run(
        &self,
        (tape, redacting, allows_home): (Option<&Path>, Option<Redacting>, bool),
        around: &Environment,
        out: &mut Output,
        (screen, colors): (&dyn Screen, When),
    ) -> Result<Answer, Failure> {
        let end = self.end(around)?;
        let on_screen = OnScreen {
            screen,
            colors,
            look: &self.look,
            end,
        };
        if self.open {
            on_screen.check(around)?;
        } else if self.look.has_any() {
            return Err(Failure::unusable(
                "--theme and --mouse say how the screen looks, and nothing was run: --open shows it",
            ));
        }
        if self.models.model && self.backend == By::Copy && !self.unguarded {
            return Err(Failure::unusable(
                "a command that sees a copy has no sockets, and cannot talk to a model; nothing \
                 was run: --model goes with --backend overlay",
            ));
        }
        let (mut options, tape) = self.options(tape, allows_home, around)?;
        options.redacting = redacting;
        let backend = options.backend;
        let interrupt = Interrupt::arm_for(GRACE);
        let mut run = CommandRun::begin(options)?;
        if backend == Backend::Unguarded {
            let banner = "NO SANDBOX: this command can do whatever you can";
            if around.error_columns.is_some() && !around.no_color {
                complain(&format!("\x1b[1;37;41m {banner} \x1b[0m\n"));
            } else {
                warn(banner);
            }
        }
        warn(&format!(
            "recording to {} (sandbox: {})",
            tape.display(),
            backend.as_str()
        ));
        let mut sink = |said: Said<'_>| {
            // Who no longer reads ends the command, as a closed pipe does.
            let passed = match said {
                Said::Bytes(Stream::Output, bytes) => out.pass_on(bytes),
                Said::Bytes(Stream::Error, bytes) => pass_on_error(bytes),
                Said::Nothing => Ok(()),
            };
            if passed.is_err() || interrupt.is_asked() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        if interrupt.is_asked() {
            run.roll_back()?;
            warn("interrupted before the command was started: nothing was run");
            return Ok(broken_off(&interrupt, OURS));
        }
        let exit = if self.open {
            on_screen.exec(&mut run, &tape, around, &interrupt, &mut sink)?
        } else {
            run.exec(&mut sink)
        };
        let exit = match exit {
            Ok(exit) => exit,
            Err(error) => {
                let code = code_of(&error);
                warn(&format!("{error}; nothing was committed"));
                if let Err(error) = run.roll_back() {
                    warn(&error.to_string());
                }
                return Ok(Answer::Ended(code));
            }
        };
        if exit.cause == Cause::Timeout {
            warn("its time was up, and the command was ended");
        }
        let report = run.models().unwrap_or_default();
        if self.models.model {
            self.models.tell(&report);
        }
        let finished = finish(run, end, &exit, &interrupt, out);
        // It may not know that it did not get the answers of the tape.
        let code = match exit.status.code() {
            code if report.divergences.is_empty() => code,
            code => code.max(1),
        };
        Ok(match finished {
            Ok(Finished::Committed) => {
                let _too_late = interrupt.take();
                Answer::Ended(code)
            }
            Ok(Finished::Otherwise) => broken_off(&interrupt, code),
            Err((line, code)) => {
                warn(&line);
                broken_off(&interrupt, code)
            }
        })
    }

    fn end(&self, around: &Environment) -> Result<End, Failure> {
        if self.unguarded {
            return Ok(End::Real);
        }
        if self.commit {
            return Ok(End::Commit);
        }
        if self.rollback {
            return Ok(End::RollBack);
        }
        if around.can_ask {
            return Ok(End::Ask);
        }
        Err(Failure::unusable(
            "there is nobody to ask what is to become of the changes; nothing was run: --commit \
             keeps them, --rollback drops them",
        ))
    }

    fn options(
        &self,
        tape: Option<&Path>,
        allows_home: bool,
        around: &Environment,
    ) -> Result<(CommandOptions, PathBuf), Failure> {
        let Some(program) = around.program.clone() else {
            let line = "the program's own file cannot be found; is /proc mounted?";
            return Err(Failure::machine(line));
        };
        let workspace = self.directory.clone().unwrap_or_else(|| ".".into());
        let now = SystemTime::now();
        let tape = match tape {
            Some(tape) => tape.to_owned(),
            None => new_tape(&workspace, now),
        };
        let named = |(name, _): &&(OsString, OsString)| self.env.contains(name);
        let mut environment = allowed_environment(around.variables.iter().cloned());
        environment.retain(|(name, _)| !self.env.contains(name));
        environment.extend(around.variables.iter().filter(named).cloned());
        let options = CommandOptions {
            workspace,
            tape: tape.clone(),
            program,
            backend: match self.backend {
                _ if self.unguarded => Backend::Unguarded,
                By::Overlay => Backend::Overlay,
                By::Copy => Backend::Copy,
            },
            home: around.home.clone(),
            allows_home,
            hidden: vec![around.runtime.clone()],
            registry: txn::registry(around)?,
            now: now.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs()),
            arguments: self.command.clone(),
            environment,
            input: txn::input(),
            timeout: self.timeout.map(Duration::from_secs),
            models: self.models.models(around)?,
            redacting: None,
        };
        Ok((options, tape))
    }
}

/// A name that no file has.
fn new_tape(workspace: &Path, now: SystemTime) -> PathBuf {
    let name = name_of(now);
    let below = workspace.strip_prefix(".").unwrap_or(workspace);
    let tapes = below.join(crate::model::STATE_DIRECTORY).join("tapes");
    let stem = name.trim_end_matches(".jsonl");
    let more = (2..MOST_NAMES).map(|number| format!("{stem}-{number}.jsonl"));
    let mut names = std::iter::once(name.clone()).chain(more);
    let free = names.find(|name| !tapes.join(name).exists());
    tapes.join(free.unwrap_or(name))
}

/// What a run ends with that may have been interrupted.
fn broken_off(interrupt: &Interrupt, code: u8) -> Answer {
    match interrupt.take() {
        Some(signal) => Answer::signal(signal),
        None => Answer::Ended(code),
    }
}

/// What became of the changes.
enum Finished {
    /// A signal came too late to be heeded.
    Committed,
    /// They were dropped, or were real from the start.
    Otherwise,
}

/// Commits or rolls back. An error is a line and the code to end with.
fn finish(
    mut run: CommandRun,
    end: End,
    exit: &Exit,
    interrupt: &Interrupt,
    out: &mut Output,
) -> Result<Finished, (String, u8)> {
    let failed = |error: CommandError| {
        (
            Failure::from(error).line().unwrap_or_default().to_owned(),
            OURS,
        )
    };
    match end {
        End::Real => {
            run.roll_back().map_err(failed)?;
            return Ok(Finished::Otherwise);
        }
        End::RollBack => {
            run.roll_back().map_err(failed)?;
            warn("rolled back: the workspace is as it was");
            return Ok(Finished::Otherwise);
        }
        End::Commit if interrupt.is_asked() || !came_to_its_end(exit) => {
            run.roll_back().map_err(failed)?;
            warn(if came_to_its_end(exit) {
                "interrupted as the command ended: rolled back"
            } else {
                "the command did not come to its own end: rolled back"
            });
            return Ok(Finished::Otherwise);
        }
        End::Commit | End::Ask => {}
    }
    let preview = match run.preview() {
        Ok(preview) => preview,
        Err(CommandError::Open(error)) => return Err(kept(run.keep(error), out)),
        Err(error) => return Err(failed(error)),
    };
    if !preview.conflicts.is_empty() {
        let conflicts = TransactionError::Conflicts(preview.conflicts);
        return Err(kept(run.keep(conflicts.into()), out));
    }
    if end == End::Ask {
        let is_agreed = preview.changes.is_empty() || asked(&preview, interrupt, out);
        if !is_agreed {
            run.roll_back().map_err(failed)?;
            warn("rolled back: the workspace is as it was");
            return Ok(Finished::Otherwise);
        }
    }
    match run.commit() {
        Ok(Some(done)) => {
            let directory = Path::new("the workspace");
            let (done, untold) = (done.committed, done.untold);
            let _ = change::print_conflicts(&done.late, out);
            warn(&done.in_words(directory));
            if let Some((why, id)) = untold {
                let line = format!(
                    "the tape does not say that it was committed: {why}; `jukebox txn recover {id}` \
                     tells it"
                );
                Err((line, OURS))
            } else if done.late.is_empty() {
                Ok(Finished::Committed)
            } else {
                let line = "somebody wrote while it was committed; theirs stands, see above";
                Err((line.to_owned(), 1))
            }
        }
        Ok(None) => Ok(Finished::Committed),
        Err(found) => Err(kept(Some(found), out)),
    }
}

/// Whether nobody ended it.
fn came_to_its_end(exit: &Exit) -> bool {
    exit.cause == Cause::Itself && matches!(exit.status, CommandStatus::Code(_))
}

/// What is said of changes that could not be committed.
fn kept(kept: Option<Kept>, out: &mut Output) -> (String, u8) {
    let Some(Kept { id, why }) = kept else {
        return (String::new(), OURS);
    };
    let mut code = OURS;
    let mut line = why.to_string();
    if let OpenTransactionError::Transaction(TransactionError::Conflicts(conflicts)) = &why {
        code = 3;
        let _ = change::print_conflicts(conflicts, out);
        line.push_str("; nothing was written");
    }
    let line = format!(
        "{line}: `jukebox txn recover {id}` with --salvage NEW copies out what the command wrote, \
         with --drop removes it"
    );
    (line, code)
}

/// Shows what would change, and asks; a signal is a no.
fn asked(preview: &Preview, interrupt: &Interrupt, out: &mut Output) -> bool {
    let change = ChangeArgs {
        dry_run: true,
        yes: false,
        json: false,
    };
    let shown = change.ask(Path::new("."), preview, out);
    if !matches!(shown, Ok(Consent::Withheld)) {
        return false;
    }
    let question = SafeText::literal("Commit these changes? [y/N]");
    if out
        .line(Style::Strong, &question)
        .and_then(|()| out.flush())
        .is_err()
    {
        return false;
    }
    let input = io::stdin();
    while !interrupt.is_asked() {
        let ready = poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&TICK));
        if matches!(ready, Ok(ready) if ready > 0) {
            return change::is_yes().unwrap_or(false);
        }
    }
    false
}
