//! `jukebox replay`: the tool calls of a run, made again, and which of them come to the same.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::arguments::TapeArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use crate::debugger::{
    Debugger, How, LeafRow, Replay, ReplayOptions, ReplayedCall, Spot, Verdict, VolatileParts,
    WorkbenchConfig, WorkbenchError, allowed_environment,
};
use crate::model::{Place, StepNumber};
use crate::text::{SafeText, human, width};

/// Make the tool calls of a run again, and say which come to the same
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    tape: TapeArgs,
    /// From this step on
    #[arg(long, value_name = "STEP", allow_hyphen_values = true)]
    from: Option<String>,
    /// Up to this step
    #[arg(long, value_name = "STEP", allow_hyphen_values = true)]
    to: Option<String>,
    /// The branch whose steps are meant; without it, the one that holds the last line
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Leave these parts out of account, beside those that the tape itself lists
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "durations",
        value_name = "PARTS"
    )]
    volatile: Vec<String>,
    /// End a command after so many seconds that does not say so itself
    #[arg(long, default_value_t = 600, value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Each call is made on the files as they were recorded before it, not on what an earlier call left
when it was made again. Edits, reads, Glob and Grep are functions of the files. Commands run in
the sandbox, in a copy of the files seen at the path that the run had them at, without network;
what they leave in /tmp and at home stays for the commands after them. SOURCE_DATE_EPOCH tells
them when their call was recorded, and so does `faketime`, where that is installed. The real
workspace is neither read nor written, and no effect is carried out again.

Compared are the outcome, the exit code, what was said and what became of files: paths, sorts,
contents, modes. Not compared are the words of edit tools, which are their own; the order of what
Glob and Grep find, which is by times that no tape holds; that in which lines of standard output
and standard error came; and the parts that the tape's header and --volatile list: times, ids,
temporary-paths, durations, and places such as /exit, /output or /files/NAME, as `jukebox fork`
takes them; with none, every character counts.

Not attempted are calls that ask a service, another agent or a person, or that were refused or
interrupted; and those that depend on a file that the tape does not hold exactly: a command
depends on all of them. A last call without an answer is where the tape ends.

The code is 0 if every call was made again and came to the same, and 1 otherwise; 4 if the machine
allows no sandbox.

JSON: calls (how many have an answer), attempted, percent, reproduced, differs, not_attempted,
open (calls without an answer), clock (faketime, or null), seen_at (where commands saw the
workspace, if not where the run had it, or null), left_out (what of the workspace the tape does not
hold), volatile (the parts that were not compared), rows (step, tool, title, verdict: reproduced,
differs, not-attempted, open; how: computed, ran, or null; leaves: where, recorded, replayed;
reasons: likely ones; aside: what was not compared; why: it was not attempted, or null).";

/// Instead of parts: none is left out.
const NONE: &str = "none";
/// Columns of a side's name.
const SIDE: usize = 9;
/// Leaves of a call that are printed for people; --json has more.
const SHOWN_LEAVES: usize = 6;
/// Steps that are named for a reason.
const NAMED_STEPS: usize = 12;

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let run = self.tape.open(around)?;
        let (from, to) = self.places(&run)?;
        let options = ReplayOptions {
            line: run.line_of(to),
            from,
            to: to.step,
            volatile: if self.volatile.iter().any(|part| part == NONE) {
                VolatileParts::default()
            } else {
                run.volatile_parts(&self.volatile)?
            },
            workbench: workbench(around, self.timeout)?,
        };
        let mut line = self.tape.progress("replay", around);
        let replay = line.watch(|tell| run.replay(&options, tell))?;
        if self.json {
            out.json(&object(&replay))?;
        } else {
            let columns = out.has_terminal().then_some(around.columns);
            print(&replay, columns, out)?;
        }
        Ok(Answer::no_if(!replay.is_whole()))
    }

    /// The first and the last step that are meant.
    fn places(&self, run: &Debugger) -> Result<(StepNumber, Spot), Failure> {
        let locate = |typed: Option<&String>| {
            let mut place = match typed {
                Some(typed) if typed.starts_with('@') => typed.parse::<Place>()?,
                Some(typed) => format!("@{typed}").parse::<Place>()?,
                None => Place::END,
            };
            place.branch = place.branch.or_else(|| self.branch.clone());
            Ok::<Spot, Failure>(run.locate(&place)?)
        };
        let to = locate(self.to.as_ref())?;
        let from = match &self.from {
            None => StepNumber(1),
            Some(from) => {
                let spot = locate(Some(from))?;
                if run.line_of(spot) != run.line_of(to) {
                    return Err(Failure::unusable(
                        "both steps must be on one branch; nothing was run",
                    ));
                }
                spot.step
            }
        };
        if from > to.step {
            return Err(Failure::unusable(format!(
                "step {from} comes after step {}; nothing was run",
                to.step
            )));
        }
        Ok((from, to))
    }
}

/// What calls are answered with that are made again.
pub(super) fn workbench(around: &Environment, timeout: u64) -> Result<WorkbenchConfig, Failure> {
    let Some(program) = around.program.clone() else {
        let line = "the program's own file cannot be found; is /proc mounted?";
        return Err(Failure::machine(line));
    };
    Ok(WorkbenchConfig {
        place: around.temporary.clone(),
        program,
        home: around.home.clone(),
        hidden: vec![around.runtime.clone()],
        environment: allowed_environment(around.variables.iter().cloned()),
        root: None,
        keeps_directory: false,
        timeout: Duration::from_secs(timeout),
    })
}

impl From<WorkbenchError> for Failure {
    fn from(error: WorkbenchError) -> Self {
        match error {
            WorkbenchError::Missing(missing) => Self::machine(format!(
                "{missing}; nothing real was touched: `jukebox doctor` says what this machine \
                 allows"
            )),
            WorkbenchError::Stopped => Self::no("stopped; nothing real was touched"),
            WorkbenchError::Sandbox(_) => {
                Self::machine(format!("{error}; nothing real was touched"))
            }
            WorkbenchError::Io { .. } => Self::machine(format!(
                "{error}; nothing real was touched: TMPDIR names another place to work in"
            )),
        }
    }
}

fn percent(replay: &Replay) -> usize {
    (replay.attempted() * 100)
        .checked_div(replay.answered())
        .unwrap_or(100)
}

fn object(replay: &Replay) -> Value {
    let (answered, attempted) = (replay.answered(), replay.attempted());
    json!({
        "calls": answered,
        "attempted": attempted,
        "percent": percent(replay),
        "reproduced": replay.reproduced(),
        "differs": attempted - replay.reproduced(),
        "not_attempted": answered - attempted,
        "open": replay.calls.len() - answered,
        "clock": replay.clock,
        "seen_at": replay.seen_at.as_ref().map(|path| path.to_string_lossy()),
        "left_out": replay.left_out,
        "volatile": replay.volatile,
        "rows": replay.calls.iter().map(row).collect::<Vec<_>>(),
    })
}

fn how_word(how: How) -> &'static str {
    match how {
        How::Computed => "computed",
        How::Ran => "ran",
    }
}

fn row(call: &ReplayedCall) -> Value {
    let mut row = json!({
        "step": call.row.number.0,
        "tool": call.row.actor.as_str(),
        "title": call.row.title.as_str(),
        "verdict": "open",
        "how": null,
        "leaves": [],
        "reasons": [],
        "aside": [],
        "why": null,
    });
    let mut set = |name: &str, value: Value| {
        if let Some(place) = row.get_mut(name) {
            *place = value;
        }
    };
    match &call.verdict {
        Verdict::Open => {}
        Verdict::NotAttempted(why) => {
            set("verdict", "not-attempted".into());
            set("why", why.as_str().into());
        }
        Verdict::Reproduced { how, aside } => {
            set("verdict", "reproduced".into());
            set("how", how_word(*how).into());
            set("aside", aside.as_slice().into());
        }
        Verdict::Differs {
            how,
            leaves,
            reasons,
            aside,
        } => {
            set("verdict", "differs".into());
            set("how", how_word(*how).into());
            set("leaves", leaves.iter().map(leaf).collect());
            let reasons = reasons.iter().map(|reason| Value::from(reason.as_str()));
            set("reasons", reasons.collect());
            set("aside", aside.as_slice().into());
        }
    }
    row
}

pub(super) fn leaf(leaf: &LeafRow) -> Value {
    let words = |text: &Option<SafeText>| {
        let words = text.as_ref().map(SafeText::as_str);
        words.map_or(Value::Null, Value::from)
    };
    json!({
        "where": leaf.name.as_str(),
        "recorded": words(&leaf.left),
        "replayed": words(&leaf.right),
    })
}

fn print(replay: &Replay, columns: Option<usize>, out: &mut Output) -> Result<(), Failure> {
    let (answered, attempted) = (replay.answered(), replay.attempted());
    let of = human::plural(answered as u64, "tool call", "tool calls");
    let first = format!("{attempted} of {of} made again ({} %)", percent(replay));
    out.line(Style::Strong, &SafeText::line(&first))?;
    let reproduced = replay.reproduced();
    let counts = format!(
        "{reproduced} reproduced, {} differ, {} not attempted",
        attempted - reproduced,
        answered - attempted
    );
    out.line(Style::Plain, &SafeText::line(&counts))?;
    for call in &replay.calls {
        if let Verdict::Differs {
            leaves, reasons, ..
        } = &call.verdict
        {
            out.line(Style::Plain, &SafeText::default())?;
            let head = format!(
                "{:>4}  {}  {}",
                call.row.number, call.row.actor, call.row.title
            );
            let head = SafeText::line(&head);
            let head = columns.map_or_else(|| head.clone(), |columns| width::fit(&head, columns));
            out.line(Style::Place, &head)?;
            print_leaves(leaves, columns, out)?;
            let words: Vec<&str> = reasons.iter().map(|reason| reason.as_str()).collect();
            if !words.is_empty() {
                let words = format!("      likely: {}", words.join("; "));
                out.line(Style::Doubt, &SafeText::line(&words))?;
            }
        }
    }
    print_rest(replay, out)
}

pub(super) fn print_leaves(
    leaves: &[LeafRow],
    columns: Option<usize>,
    out: &mut Output,
) -> Result<(), Failure> {
    for leaf in leaves.iter().take(SHOWN_LEAVES) {
        let indent = SafeText::literal("      ");
        out.spans(&[(Style::Plain, &indent), (Style::Strong, &leaf.name)])?;
        for (name, text, style) in [
            ("recorded", &leaf.left, Style::Good),
            ("replayed", &leaf.right, Style::Bad),
        ] {
            let name = SafeText::line(&format!("        {name:<SIDE$} "));
            let (style, text) = match (text, columns) {
                (Some(text), Some(columns)) => {
                    let left = columns.saturating_sub(width::width(&name));
                    (style, width::fit(text, left.max(columns / 3)))
                }
                (Some(text), None) => (style, text.clone()),
                (None, _) => (Style::Faint, SafeText::literal("(nothing)")),
            };
            out.spans(&[(Style::Faint, &name), (style, &text)])?;
        }
    }
    if let Some(more) = leaves.len().checked_sub(SHOWN_LEAVES)
        && more > 0
    {
        let words = format!("      {more} more; --json lists them");
        out.line(Style::Faint, &SafeText::line(&words))?;
    }
    Ok(())
}

/// What was not attempted, reason by reason; what was not compared; and how it all ended.
fn print_rest(replay: &Replay, out: &mut Output) -> Result<(), Failure> {
    let mut whys: BTreeMap<&str, Vec<StepNumber>> = BTreeMap::new();
    for call in &replay.calls {
        if let Verdict::NotAttempted(why) = &call.verdict {
            whys.entry(why.as_str()).or_default().push(call.row.number);
        }
    }
    if !whys.is_empty() {
        out.line(Style::Plain, &SafeText::default())?;
        out.line(Style::Strong, &SafeText::literal("Not attempted"))?;
    }
    for (why, steps) in whys {
        let named: Vec<String> = steps
            .iter()
            .take(NAMED_STEPS)
            .map(ToString::to_string)
            .collect();
        let more = match steps.len().saturating_sub(NAMED_STEPS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let word = if steps.len() == 1 { "step" } else { "steps" };
        let words = format!("  {word} {}{more}: {why}", named.join(", "));
        out.line(Style::Doubt, &SafeText::line(&words))?;
    }
    out.line(Style::Plain, &SafeText::default())?;
    if let Some(seen) = &replay.seen_at {
        let words = format!(
            "Nothing can be shown where the run had its files: commands saw them at {}.",
            seen.display()
        );
        out.line(Style::Doubt, &SafeText::line(&words))?;
    }
    if !replay.left_out.is_empty() && replay.reproduced() < replay.attempted() {
        let words = replay.left_out.join(" and ");
        let words = format!("The tape leaves out {words}: commands did not find that.");
        out.line(Style::Faint, &SafeText::line(&words))?;
    }
    if !replay.volatile.is_empty() && replay.attempted() > 0 {
        let words = format!("Not compared: {}.", replay.volatile.join(", "));
        out.line(Style::Faint, &SafeText::line(&words))?;
    }
    if replay.calls.len() > replay.answered() {
        let words = "The tape ends before the last call was answered.";
        out.line(Style::Faint, &SafeText::literal(words))?;
    }
    let has_commands = replay.calls.iter().any(|call| {
        matches!(
            call.verdict,
            Verdict::Reproduced { how: How::Ran, .. } | Verdict::Differs { how: How::Ran, .. }
        )
    });
    if has_commands {
        let words = match replay.clock {
            Some(clock) => format!("Commands were told the time of their call by {clock}."),
            None => "Commands saw today's clock: `faketime` is not installed.".to_owned(),
        };
        out.line(Style::Faint, &SafeText::line(&words))?;
    }
    let (style, words) = if replay.answered() == 0 {
        (Style::Plain, "There is no tool call.")
    } else if replay.is_whole() {
        (Style::Good, "The run reproduces wholly.")
    } else if replay.attempted() == replay.reproduced() {
        (Style::Plain, "What was made again reproduces.")
    } else {
        (Style::Bad, "The run does not reproduce.")
    };
    out.line(style, &SafeText::literal(words))?;
    Ok(())
}
