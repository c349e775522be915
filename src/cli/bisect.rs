//! `jukebox bisect`: the first step at which a command fails, or something is not so of a file.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::arguments::TapeArgs;
use super::diff;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style, warn};
use super::predicate::Words;
use crate::debugger::{
    Backend, BisectError, BisectNews, BisectOptions, BisectOutcome, BisectScope, BisectVerdict,
    Bisection, Debugger, FirstBad, Patch, PatchForm, Predicate, ProbeCommand, ProbeRow, Question,
    Spot, Test,
};
use crate::model::{Place, Progress, StepNumber, TapePath, Unit};
use crate::text::{SafeText, human};

/// Find the first step at which a command fails, or a file is not as it should be
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    tape: TapeArgs,
    /// Where all is well: a place, such as 12; without it, before the first step
    #[arg(long, value_name = "A")]
    from: Option<Place>,
    /// Where it is not any more; without it, the end
    #[arg(long, value_name = "B")]
    to: Option<Place>,
    /// Ask about every tree that differs from the one before it, and list where the answer
    /// changes
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    file: FileArgs,
    /// End the command after so many seconds; that is a failure
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Hand over this variable of the environment, too
    #[arg(long, value_name = "NAME")]
    env: Vec<OsString>,
    /// What keeps the command from everything else
    #[arg(long, value_enum, default_value_t = By::Overlay, value_name = "HOW")]
    backend: By,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// The command and its arguments
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What can be asked of a file, instead of a command.
#[derive(Debug, clap::Args)]
#[group(multiple = true, conflicts_with = "command")]
struct FileArgs {
    /// Instead of a command: good is where a line of the file matches a pattern
    #[arg(long, num_args = 2, value_names = ["PATTERN", "PATH"], group = "test")]
    grep: Option<Vec<OsString>>,
    /// Good is where the file is there
    #[arg(long, value_name = "PATH", group = "test")]
    exists: Option<OsString>,
    /// Good is where the file is not there
    #[arg(long, value_name = "PATH", group = "test")]
    absent: Option<OsString>,
    /// Good is where the file's content has this hash, as `jukebox tree --json` prints it, or
    /// one that begins so
    #[arg(long, num_args = 2, value_names = ["PATH", "HEX"], group = "test")]
    hash: Option<Vec<OsString>>,
    /// Good is where it is otherwise
    #[arg(long, requires = "test")]
    not: bool,
}

/// What keeps the command from everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// An overlay over the files
    Overlay,
    /// A full copy of them for each run
    Copy,
}

const HELP: &str = "\
The command runs over the files as they were at a step, seen where the run had them, which is its
current directory. What it ends with says how they are, as for `git bisect run`: 0 good, 125 cannot
be said, another code up to 127 bad, 128 and more, or a signal: stop. It runs in the sandbox, by
itself each time: nothing of what it writes is there for the next run. It has no network, reads
nothing, and has those variables of the environment that say how to work, and those of --env.

Files that do not change between two steps are asked about once. First both ends are looked at,
then the middle of what is left; both sides of the edge are asked again in the end, and a command
that answers otherwise then is told of. That takes about log2 of the different trees, and four
runs. Where files are not known exactly, or something between the two trees may have written them
unseen, that is said: then the step is the first of which it shows.

--grep, --exists, --absent and --hash are answered from the tape: nothing is run or written. A
file that is not known is passed over.

Ends with 0 if there is a first bad step (with --all: if there is one change from good to bad),
1 if no step is bad or the answers are not to be relied on, 2 if it is bad at --from already or
the command says stop, 4 if the machine allows no sandbox.

JSON, one object: outcome (found, not-good, not-bad, flaky, all), good and bad (step: of the
last good tree, and the first bad step; or null), title, actor, skipped (steps of which nobody can say), unseen (steps
between that may have written files unseen), doubtful (files of the bad tree that are not known
exactly: count, paths, the first of them), said (the last lines that the command wrote of it),
patches (as of `jukebox diff --json`), changes (of --all: step, verdict), probes (step, verdict:
good, bad or skip, code or null, ms), trees (different ones), steps, seen_at (where the command
saw the files, if not where the run had them, or null).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let run = self.tape.open(around)?;
        let question = self.question(&run, around)?;
        let options = self.options(&run)?;
        let line = RefCell::new(self.tape.progress("bisect", around));
        let mut written = Ok(());
        let (mut done, mut of) = (0, 0);
        let found = run.bisect(&options, &question, &mut |news| {
            match news {
                BisectNews::Trees(trees, _) => of = options.scope.looks(trees),
                BisectNews::Answered(row) => {
                    done += 1;
                    line.borrow_mut().erase();
                    if !self.json && matches!(question, Question::Command(_)) {
                        written = print_probe(row, out);
                    }
                }
                BisectNews::Asks(_) | BisectNews::Waits => {}
            }
            let unit = Unit::Runs;
            let flow = line.borrow_mut().tell(Progress { done, of, unit });
            if written.is_err() {
                return ControlFlow::Break(());
            }
            flow
        });
        written?;
        let found = match found {
            Err(BisectError::Aborted(code, said)) => {
                for line in &said {
                    warn(line.as_str());
                }
                Err(BisectError::Aborted(code, said))
            }
            found => found,
        };
        let found = line.into_inner().watch(|_| found)?;
        if self.json {
            out.json(&object(&run, &found))?;
        } else {
            self.print(&run, &found, out)?;
            if let Some(seen) = &found.seen_at {
                let words = format!(
                    "The command saw the files at {}, not where the run had them.",
                    seen.display()
                );
                out.line(Style::Doubt, &SafeText::line(&words))?;
            }
        }
        self.answer(&options, &found)
    }

    fn options(&self, run: &Debugger) -> Result<BisectOptions, Failure> {
        let to = run.locate(self.to.as_ref().unwrap_or(&Place::END))?;
        let from = match &self.from {
            Some(from) => run.locate(from)?,
            None => run.spot(run.line_of(to), StepNumber(0)),
        };
        if from.step > to.step {
            return Err(Failure::unusable(format!(
                "--from {} lies behind --to {}; nothing was run",
                from.step, to.step
            )));
        }
        Ok(BisectOptions {
            from,
            to,
            scope: if self.all {
                BisectScope::All
            } else {
                BisectScope::Edge
            },
        })
    }

    fn question(&self, run: &Debugger, around: &Environment) -> Result<Question, Failure> {
        if let Some((path, test)) = self.file.test()? {
            return Ok(Question::Predicate(Predicate {
                path: run.path(path.as_bytes())?,
                test,
                is_negated: self.file.not,
            }));
        }
        if self.command.is_empty() {
            return Err(Failure::unusable(
                "what makes a step good? name a command behind --, or --grep, --exists, --absent \
                 or --hash; --help says more",
            ));
        }
        let Some(mut sandboxing) = around.places.sandboxing.clone() else {
            let line = "the program's own file cannot be found; is /proc mounted?";
            return Err(Failure::machine(line));
        };
        let named = |(name, _): &&(OsString, OsString)| self.env.contains(name);
        let environment = &mut sandboxing.environment;
        environment.retain(|(name, _)| !self.env.contains(name));
        environment.extend(around.variables.iter().filter(named).cloned());
        Ok(Question::Command(ProbeCommand {
            arguments: self.command.clone(),
            backend: match self.backend {
                By::Overlay => Backend::Overlay,
                By::Copy => Backend::Copy,
            },
            sandboxing,
            timeout: self.timeout.map(Duration::from_secs),
        }))
    }

    /// What is typed where a tape is named again.
    fn tape_name(&self) -> SafeText {
        SafeText::from_bytes(self.tape.typed().as_bytes())
    }

    fn print(&self, run: &Debugger, found: &Bisection, out: &mut Output) -> Result<(), Failure> {
        let trees = human::plural(found.trees as u64, "tree", "trees");
        let steps = human::plural(u64::from(found.steps), "step", "steps");
        let looks = human::plural(found.probes.len() as u64, "run", "runs");
        match &found.outcome {
            BisectOutcome::Found(first) => {
                out.line(Style::Plain, &SafeText::default())?;
                print_first(run, first, out)?;
                let about = match found.probes.first().and_then(|probe| probe.code) {
                    Some(_) => format!("{trees} in {steps}, {looks}"),
                    None => format!("{trees} in {steps}"),
                };
                out.line(Style::Faint, &SafeText::line(&about))?;
                self.print_next(run, first, out)?;
            }
            BisectOutcome::All(flips) => {
                out.line(Style::Plain, &SafeText::default())?;
                for (spot, verdict) in flips {
                    let head = format!("{:<4}  from {}  ", verdict.as_str(), spot.step);
                    let title = title(run, *spot);
                    out.spans(&[
                        (style(*verdict), &SafeText::line(&head)),
                        (Style::Plain, &title),
                    ])?;
                }
                let about = format!("{trees} in {steps}");
                out.line(Style::Faint, &SafeText::line(&about))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn print_next(
        &self,
        run: &Debugger,
        first: &FirstBad,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let (summary, line) = (run.summary(), run.line_of(first.bad));
        let mut branches = summary.branches.iter();
        // Without a name, the branch that holds the last line is meant.
        let branch = branches.find(|row| row.id == line && line != summary.current);
        let place = |step: StepNumber| match branch {
            Some(branch) => format!("{}:{step}", branch.name),
            None => step.to_string(),
        };
        let (tape, bad) = (self.tape_name(), place(first.bad.step));
        let before = place(StepNumber(first.bad.step.0.saturating_sub(1)));
        let next = [
            format!("next: jukebox show {tape}@{bad}"),
            format!("      jukebox diff {tape}@{before} @{bad}"),
            format!("      jukebox fork {tape}@{bad} …"),
        ];
        for line in next {
            out.line(Style::Faint, &SafeText::line(&line))?;
        }
        Ok(())
    }

    fn answer(&self, options: &BisectOptions, found: &Bisection) -> Result<Answer, Failure> {
        let (from, to) = (options.from.step, options.to.step);
        let what = if self.command.is_empty() {
            "it is not so"
        } else {
            "the command fails"
        };
        match &found.outcome {
            BisectOutcome::Found(_) => Ok(Answer::Yes),
            BisectOutcome::All(flips) => {
                let mut verdicts = flips.iter().map(|(_, verdict)| *verdict);
                let verdicts = [verdicts.next(), verdicts.next(), verdicts.next()];
                if verdicts == [Some(BisectVerdict::Good), Some(BisectVerdict::Bad), None] {
                    return Ok(Answer::Yes);
                }
                let line = match verdicts {
                    [Some(BisectVerdict::Good), None, _] => "no step is bad".to_owned(),
                    _ => "the answers do not change once, from good to bad: what `bisect` finds \
                          without --all is one of the changes"
                        .to_owned(),
                };
                Err(Failure::no(line))
            }
            BisectOutcome::NotGood(verdict, good) => {
                let line = match (verdict, good) {
                    (BisectVerdict::Skip, None) => {
                        format!("nobody can say how step {from} is; --from names one that is good")
                    }
                    (_, Some(good)) => format!(
                        "{what} at step {from} already; --from {} names the first one that is good",
                        good.step
                    ),
                    (_, None) if self.command.is_empty() => format!("{what} at any step"),
                    (_, None) => format!(
                        "{what} at step {from} already{}; --from names one that is good",
                        code_of(found)
                    ),
                };
                Err(Failure::unusable(line))
            }
            BisectOutcome::NotBad(BisectVerdict::Skip) => Err(Failure::unusable(format!(
                "nobody can say how step {to} is; --to names one that is bad"
            ))),
            BisectOutcome::NotBad(_) => Err(Failure::no(format!(
                "no step is bad, as far as step {to} tells: --to names one that is, and --all \
                 asks about every one"
            ))),
            BisectOutcome::Flaky(spot, [before, again]) => Err(Failure::no(format!(
                "the command does not always answer the same: of step {} it said {}, then {}",
                spot.step,
                before.as_str(),
                again.as_str()
            ))),
        }
    }
}

impl FileArgs {
    /// Which file is asked about, and for what.
    fn test(&self) -> Result<Option<(&OsStr, Test)>, Failure> {
        Words {
            grep: self.grep.as_deref(),
            hash: self.hash.as_deref(),
            exists: self.exists.as_deref(),
            absent: self.absent.as_deref(),
        }
        .test()
    }
}

const fn style(verdict: BisectVerdict) -> Style {
    match verdict {
        BisectVerdict::Good => Style::Good,
        BisectVerdict::Bad => Style::Bad,
        BisectVerdict::Skip => Style::Doubt,
    }
}

fn print_probe(row: &ProbeRow, out: &mut Output) -> Result<(), Failure> {
    let code = row
        .code
        .map_or_else(String::new, |code| format!("code {code}"));
    let place = SafeText::line(&format!("{:>7}  ", row.spot.step));
    let verdict = SafeText::line(&format!("{:<4}  ", row.verdict.as_str()));
    let rest = format!("{code:<8}  {}", human::duration(row.duration));
    out.spans(&[
        (Style::Place, &place),
        (style(row.verdict), &verdict),
        (Style::Faint, &SafeText::line(&rest)),
    ])?;
    if out.has_terminal() {
        out.flush()?;
    }
    Ok(())
}

/// Who did what in a step.
fn title(run: &Debugger, spot: Spot) -> SafeText {
    let Some(row) = run.row(run.line_of(spot), spot.step) else {
        return SafeText::literal("before the first step");
    };
    let mut title = SafeText::line(&format!("{} ", row.kind.sign()));
    if !row.actor.is_empty() {
        title.push(&row.actor);
        title.push(&SafeText::literal("  "));
    }
    title.push(&row.title);
    title
}

/// The patches of the first bad step.
fn patches(run: &Debugger, first: &FirstBad, form: PatchForm) -> Vec<Patch> {
    let (from, to) = (run.spot_before(first.bad).cursor, first.bad.cursor);
    run.patches(from, run, to, form).collect()
}

fn print_first(run: &Debugger, first: &FirstBad, out: &mut Output) -> Result<(), Failure> {
    let head = format!("the first bad step is {}  ", first.bad.step);
    let title = title(run, first.bad);
    out.spans(&[
        (Style::Strong, &SafeText::line(&head)),
        (Style::Plain, &title),
    ])?;
    let mut say = |words: String| out.line(Style::Doubt, &SafeText::line(&words));
    if !first.skipped.is_empty() {
        let steps = steps(first.skipped.iter().map(|spot| spot.step));
        say(format!(
            "it may be one before: nobody can say how it is at {steps}"
        ))?;
    }
    if !first.unseen.is_empty() {
        let steps = steps(first.unseen.iter().copied());
        say(format!(
            "it may have been done before, unseen, by step {steps}"
        ))?;
    }
    if first.doubtful.0 > 0 {
        let names: Vec<String> = first.doubtful.1.iter().map(TapePath::to_text).collect();
        let more = first.doubtful.0 - names.len().min(first.doubtful.0);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        say(format!(
            "not known exactly then: {}{more}",
            names.join(", ")
        ))?;
    }
    for line in &first.said {
        out.spans(&[
            (Style::Faint, &SafeText::literal("| ")),
            (Style::Plain, line),
        ])?;
    }
    let form = if out.has_terminal() {
        PatchForm::Plain
    } else {
        PatchForm::Armoured
    };
    for patch in patches(run, first, form) {
        diff::print(&patch.bytes, out)?;
    }
    Ok(())
}

/// Step numbers in a row: `3, 5, 8`.
fn steps(numbers: impl Iterator<Item = StepNumber>) -> String {
    let numbers: Vec<String> = numbers.map(|step| step.to_string()).collect();
    numbers.join(", ")
}

/// What the only run ended with, where it is worth a word.
fn code_of(found: &Bisection) -> String {
    match found.probes.first().and_then(|probe| probe.code) {
        Some(127) => " (127: it is not there)".to_owned(),
        Some(126) => " (126: it cannot be run)".to_owned(),
        Some(124) => " (124: its time was up)".to_owned(),
        Some(code) => format!(" (code {code})"),
        None => String::new(),
    }
}

fn object(run: &Debugger, found: &Bisection) -> Value {
    let mut first = None;
    let mut changes = None;
    let outcome = match &found.outcome {
        BisectOutcome::Found(bad) => {
            first = Some(bad);
            "found"
        }
        BisectOutcome::NotGood(..) => "not-good",
        BisectOutcome::NotBad(_) => "not-bad",
        BisectOutcome::Flaky(..) => "flaky",
        BisectOutcome::All(flips) => {
            let flips = flips
                .iter()
                .map(|(spot, verdict)| json!({ "step": spot.step.0, "verdict": verdict.as_str() }));
            changes = Some(flips.collect::<Vec<_>>());
            "all"
        }
    };
    let row = first.and_then(|first| run.row(run.line_of(first.bad), first.bad.step));
    let probes = found.probes.iter().map(|probe| {
        json!({
            "step": probe.spot.step.0,
            "verdict": probe.verdict.as_str(),
            "code": probe.code,
            "ms": u64::try_from(probe.duration.as_millis()).unwrap_or(u64::MAX),
        })
    });
    let patches: Vec<Value> = first
        .map(|first| patches(run, first, PatchForm::Armoured))
        .unwrap_or_default()
        .iter()
        .map(diff::object)
        .collect();
    let steps = |spots: &[Spot]| spots.iter().map(|spot| spot.step.0).collect::<Vec<_>>();
    json!({
        "outcome": outcome,
        "good": first.map(|first| first.good.step.0),
        "bad": first.map(|first| first.bad.step.0),
        "title": row.as_ref().map(|row| row.title.as_str()),
        "actor": row.as_ref().map(|row| row.actor.as_str()),
        "skipped": first.map(|first| steps(&first.skipped)),
        "unseen": first.map(|first| first.unseen.iter().map(|step| step.0).collect::<Vec<_>>()),
        "doubtful": first.map(|first| json!({
            "count": first.doubtful.0,
            "paths": first.doubtful.1.iter().map(TapePath::to_text).collect::<Vec<_>>(),
        })),
        "said": first.map(|first| fields::lines(&first.said)),
        "patches": patches,
        "changes": changes,
        "probes": probes.collect::<Vec<_>>(),
        "trees": found.trees,
        "steps": found.steps,
        "seen_at": found.seen_at.as_ref().map(|path| path.to_string_lossy()),
    })
}
