//! The command line: what was typed goes in, text and an exit code come out.
//!
//! One verb, one file, with its `Args` and its `run`. `output` is the only place that prints,
//! `failure` says which code a mistake ends with, `environment` is the only file that reads
//! the environment.
//!
//! The shell asks the façade and nothing below it. It does not know the screen either:
//! whoever calls [`run`] brings one.

mod arguments;
mod bisect;
mod blame;
mod cat;
mod change;
mod checkout;
mod compact;
mod compare;
mod configuration;
mod diff;
mod doctor;
mod effects;
mod environment;
mod export;
mod failure;
mod fields;
mod fork;
mod forks;
mod hook;
mod import;
mod interrupt;
mod log;
mod mark;
mod note;
mod open;
mod output;
mod predicate;
mod progress;
mod recent;
mod record;
mod redact;
mod replay;
mod restore;
mod running;
mod search;
mod show;
mod stats;
mod stream;
mod test;
mod tree;
mod txn;
mod verify;

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

use environment::Environment;
use output::{Output, Paint, warn};

pub use failure::{Answer, Failure, report_faults};
pub use open::{Against, FrameRequest, PictureFormat, Screen, Start};
pub use running::{CommandEnd, RunningCommand};

use crate::debugger::{HELPER_VERB, HOLDER_VERB, serve_sandbox, serve_transaction};
use crate::text::sanitize_block;

/// What can be typed.
#[derive(Debug, Parser)]
#[command(
    name = "jukebox",
    version,
    about = "A terminal time-travel debugger for AI-agent runs",
    after_help = PLACES,
    override_usage = "jukebox [OPTIONS] [TAPE[@STEP]]\n       jukebox <COMMAND>",
    disable_help_subcommand = true
)]
struct Typed {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    open: open::Args,
    /// When to use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    color: When,
}

const PLACES: &str = "\
A place is TAPE@STEP: run.jsonl@12, @0 (before the first step), @-1 (the last), @fail (the
first that failed), @seq:340 (an event), @t:90s (a time), @mark:NAME, @BRANCH:12. A file that
is called so wins. Without a place, the end is meant.

Exit codes: 0 done; 1 done, and the answer is no; 2 the call or its input is unusable;
3 a conflict, nothing was written; 4 the machine does not allow it.";

/// So long a person who left the screen waits, at most, for what is still kept for the next
/// time; and nobody longer than that will save.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// So long a command waits for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl When {
    /// Whether there are colours where they would be seen, or would not.
    fn allows(self, around: &Environment, is_seen: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Auto => is_seen && !around.no_color,
            Self::Never => false,
        }
    }
}

impl Typed {
    /// Whether a person was looking at the screen.
    const fn shows_screen(&self) -> bool {
        match &self.command {
            None | Some(Command::Open(_)) => true,
            Some(Command::Record(args)) => args.shows_screen(),
            Some(_) => false,
        }
    }
}

/// The verbs.
#[derive(Debug, Subcommand)]
enum Command {
    Open(open::Args),
    Demo(open::DemoArgs),
    Recent(recent::Args),
    Log(log::Args),
    Show(show::Args),
    Tree(tree::Args),
    Cat(cat::Args),
    Diff(diff::Args),
    Compare(compare::Args),
    Blame(blame::Args),
    Bisect(bisect::Args),
    Checkout(checkout::Args),
    Restore(restore::Args),
    Fork(fork::Args),
    Record(record::Args),
    Stream(stream::Args),
    Replay(replay::Args),
    Export(export::Args),
    Test(test::Args),
    Hook(hook::Args),
    Txn(txn::Args),
    Search(search::Args),
    Effects(effects::Args),
    Stats(stats::Args),
    Verify(verify::Args),
    Doctor(doctor::Args),
    Note(note::Args),
    Mark(mark::Args),
    Import(import::Args),
    Compact(compact::Args),
    Forks(forks::Args),
    Redact(redact::Args),
}

/// Does what was typed, and says with which code to end.
pub fn run(arguments: impl IntoIterator<Item = OsString>, screen: &dyn Screen) -> u8 {
    let mut arguments = arguments.into_iter().peekable();
    let program = arguments.next();
    if let Some(serve) = arguments.peek().and_then(|verb| process_of(verb)) {
        // It must have one thread and nothing open, and starts for every sandbox.
        return serve();
    }
    let arguments = program.into_iter().chain(arguments);
    let around = Environment::read();
    let typed = match parse(arguments, &around) {
        Ok(typed) => typed,
        Err(code) => return code,
    };
    let paint = if typed.color.allows(&around, around.has_terminal) {
        Paint::Colors
    } else {
        Paint::Nothing
    };
    let mut out = Output::new(paint, around.has_terminal);
    let done = dispatch(&typed, &around, &mut out, screen);
    let done = done.and_then(|answer| match (out.flush(), answer) {
        // What ended it says with which code, whether anybody reads on or not.
        (Ok(()), answer) | (Err(_), answer @ Answer::Ended(_)) => Ok(answer),
        (Err(error), _) => Err(error.into()),
    });
    let code = match done {
        Ok(answer) => answer.code(),
        Err(failure) => {
            // What was found before is worth having.
            let _ = out.flush();
            if let Some(line) = failure.line() {
                warn(line);
            }
            failure.code()
        }
    };
    // All that was asked for is there by now.
    if let Some(cache) = &around.places.cache {
        let patience = if typed.shows_screen() {
            LAST_WORDS
        } else {
            PATIENCE
        };
        cache.finish(patience.min(cache.saves()));
    }
    code
}

/// What the program is instead, if it was started again by itself.
fn process_of(verb: &OsStr) -> Option<fn() -> u8> {
    match verb.to_str()? {
        HELPER_VERB => Some(serve_sandbox),
        HOLDER_VERB => Some(serve_transaction),
        _ => None,
    }
}

fn dispatch(
    typed: &Typed,
    around: &Environment,
    out: &mut Output,
    screen: &dyn Screen,
) -> Result<Answer, Failure> {
    match &typed.command {
        None => typed.open.run(around, typed.color, screen),
        Some(_) if typed.open.has_any() => Err(Failure::unusable(
            "the command comes first: `jukebox COMMAND TAPE`; --help lists the commands",
        )),
        Some(Command::Open(args)) => args.run(around, typed.color, screen),
        Some(Command::Demo(args)) => args.run(around, typed.color, screen),
        Some(Command::Recent(args)) => args.run(around, out),
        Some(Command::Log(args)) => args.run(around, out),
        Some(Command::Show(args)) => args.run(around, out),
        Some(Command::Tree(args)) => args.run(around, out),
        Some(Command::Cat(args)) => args.run(around, out),
        Some(Command::Diff(args)) => args.run(around, out),
        Some(Command::Compare(args)) => args.run(around, out),
        Some(Command::Blame(args)) => args.run(around, out),
        Some(Command::Bisect(args)) => args.run(around, out),
        Some(Command::Checkout(args)) => args.run(around, out),
        Some(Command::Restore(args)) => args.run(around, out),
        Some(Command::Fork(args)) => args.run(around, out),
        Some(Command::Record(args)) => args.run(around, out, (screen, typed.color)),
        Some(Command::Stream(args)) => args.run(around),
        Some(Command::Replay(args)) => args.run(around, out),
        Some(Command::Export(args)) => args.run(around, out),
        Some(Command::Test(args)) => args.run(around, out),
        Some(Command::Hook(args)) => args.run(around, out),
        Some(Command::Txn(args)) => args.run(around, out),
        Some(Command::Search(args)) => args.run(around, out),
        Some(Command::Effects(args)) => args.run(around, out),
        Some(Command::Stats(args)) => args.run(around, out),
        Some(Command::Verify(args)) => args.run(around, out),
        Some(Command::Doctor(args)) => args.run(around, out),
        Some(Command::Note(args)) => args.run(around, out),
        Some(Command::Mark(args)) => args.run(around, out),
        Some(Command::Import(args)) => args.run(around, out),
        Some(Command::Compact(args)) => args.run(around, out),
        Some(Command::Forks(args)) => args.run(around, out),
        Some(Command::Redact(args)) => args.run(around, out),
    }
}

/// Reads the arguments. Help, the version and mistakes are printed here: they may quote
/// what was typed, so they are made safe like everything else.
fn parse(arguments: impl IntoIterator<Item = OsString>, around: &Environment) -> Result<Typed, u8> {
    use clap::{CommandFactory as _, FromArgMatches as _};
    let command = Typed::command().term_width(around.columns.min(100));
    // `-@12` is a place in standard input, and would be taken for a flag.
    let arguments = arguments.into_iter().map(|argument| {
        let place = argument.to_str().and_then(|text| text.strip_prefix("-@"));
        match place {
            Some(place) => format!("/dev/stdin@{place}").into(),
            None => argument,
        }
    });
    let typed = command
        .try_get_matches_from(arguments)
        .and_then(|matches| Typed::from_arg_matches(&matches));
    typed.map_err(|error| {
        let text = error.render().to_string();
        if error.use_stderr() {
            warn(&mistake(&text));
            return 2;
        }
        let mut out = Output::new(Paint::Nothing, around.has_terminal);
        let text = sanitize_block(format!("{}\n", text.trim_end()));
        match out.bytes(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => 0,
            Err(error) => Failure::from(error).code(),
        }
    })
}

/// A mistake in the arguments in one line: what clap says of it, without the usage, and without
/// its own word about the help.
fn mistake(report: &str) -> String {
    let paragraphs = report.split("\n\n").map(str::trim);
    let said = paragraphs.take_while(|paragraph| {
        !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more information")
    });
    let mut line = String::new();
    for paragraph in said {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        line.push_str(&words.join(" "));
        line.push_str("; ");
    }
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    format!("{line}--help says more")
}
