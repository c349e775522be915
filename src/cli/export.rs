//! `jukebox export`: a tool call that failed, as a test case in a directory of its own.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::arguments::PlaceArgs;
use super::configuration::ConfigArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use super::predicate::Words;
use super::replay::workbench;
use crate::debugger::{
    self, CaseError, CaseFiles, CaseForm, CaseKept, CaseMeans, CaseOptions, Debugger, ExportError,
    ExportedCase, MinimalError, Predicate, Uncertain,
};
use crate::model::StepNumber;
use crate::text::{SafeText, human};

/// Keep a tool call that failed as a test case, to be made again by `jukebox test`
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// What the case is wrapped in
    #[arg(long = "as", value_enum, default_value = "case", value_name = "FORM")]
    form: Form,
    /// The directory, new or empty; without it, one below this one that is called like the case
    #[arg(short = 'o', value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Which files it holds; without it, for an edit or a read those that are touched, and for a
    /// command, which may read any file, all
    #[arg(long, value_enum, value_name = "WHICH")]
    files: Option<Files>,
    /// With --files minimal: look no longer than this
    #[arg(long, default_value = "60s", value_name = "SECONDS", value_parser = seconds)]
    budget: Duration,
    #[command(flatten)]
    check: CheckArgs,
    /// Export a call that is not known as a whole, too; the case says what is not known
    #[arg(long)]
    allow_uncertain: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// What is to be so of a file after the call.
#[derive(Debug, clap::Args)]
#[group(multiple = true)]
struct CheckArgs {
    /// Of any tool call: after it, a line of the file is to match a pattern, and none does
    #[arg(long = "check-grep", num_args = 2, value_names = ["PATTERN", "PATH"], group = "asked")]
    grep: Option<Vec<OsString>>,
    /// After it, the file is to be there, and is not
    #[arg(long = "check-exists", value_name = "PATH", group = "asked")]
    exists: Option<OsString>,
    /// After it, the file is not to be there, and is
    #[arg(long = "check-absent", value_name = "PATH", group = "asked")]
    absent: Option<OsString>,
    /// After it, the file's content is to have this hash, or one that begins so, and has another
    #[arg(long = "check-hash", num_args = 2, value_names = ["PATH", "HEX"], group = "asked")]
    hash: Option<Vec<OsString>>,
    /// It is to be otherwise
    #[arg(long = "check-not", requires = "asked")]
    not: bool,
}

impl CheckArgs {
    fn predicate(&self, run: &Debugger) -> Result<Option<Predicate>, Failure> {
        let words = Words {
            grep: self.grep.as_deref(),
            hash: self.hash.as_deref(),
            exists: self.exists.as_deref(),
            absent: self.absent.as_deref(),
        };
        let Some((path, test)) = words.test()? else {
            return Ok(None);
        };
        Ok(Some(Predicate {
            path: run.path(path.as_bytes())?,
            test,
            is_negated: self.not,
        }))
    }
}

/// `60s`, or `60`.
fn seconds(text: &str) -> Result<Duration, String> {
    let digits = text.strip_suffix('s').unwrap_or(text);
    match digits.parse() {
        Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err("a number of seconds, such as 60s, is wanted".to_owned()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The case alone
    Case,
    /// With test.sh, for `sh`
    Sh,
    /// With `test_case.py`, for pytest and for python3 itself
    Pytest,
    /// With case.rs, for `cargo test` and for `rustc --test`
    Rust,
    /// With REPORT.md, to be read
    Md,
    /// No case: the turn of the model that asked for the call, as an evaluation for promptfoo
    Promptfoo,
}

impl Form {
    const fn meant(self) -> CaseForm {
        match self {
            Self::Case => CaseForm::Case,
            Self::Sh => CaseForm::Sh,
            Self::Pytest => CaseForm::Pytest,
            Self::Rust => CaseForm::Rust,
            Self::Md => CaseForm::Report,
            Self::Promptfoo => CaseForm::Promptfoo,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Files {
    /// Those that the call or its output names, or that it changed
    Touched,
    /// All of the workspace
    All,
    /// Of a command: as few files, and as few of their lines, as it takes to fail in the same way
    Minimal,
}

const HELP: &str = "\
The step is a tool call that failed, such as TAPE@fail, or the turn of a model whose next call
failed. The case holds the call, the files before it, and what came of it: the outcome, the exit
code, what it said, what it did to files. It is there as a whole or not at all, and nothing that
is there is written over. Nothing is run, but with --files minimal.

--files minimal runs the command over and over in the sandbox, without network: files are left out
first, then lines of the texts that are left, as long as it ends with the same code and says the
same of the failure. If the same command succeeded later in the run, it still does so on what is
left, with the files as they had become by then. When the time is up, the smallest set so far is
kept, and that is said. What is kept failed twice. After Ctrl-C nothing is written. A command that
does not fail twice as recorded on all of its files is refused. Of an edit or a read, its file is
all there is.

--check-grep and the like keep any tool call after which a file is not as it should be, whatever
its outcome: the case asks the same after the call.

--as promptfoo keeps the turn of the model that asked for the call: what it was told before, and
that it must not make a call that failed again; of a turn that a fork altered, that it is to make
one of the calls that went well. JUKEBOX_PROVIDER names the model to promptfoo. It holds no files.

A case holds no secret that `jukebox redact` would find, no date, and no path of the place where
it was recorded: the words {root} and {home} stand for them in the call and in what it said, and
/workspace and /home/user in the files. What was recorded is data in it, and never a part of a
program: test.sh, test_case.py and case.rs are the same in every case. They hand it to `jukebox
test`, which the variable JUKEBOX may name; JUKEBOX_WITH names a directory for its --with.

Refused are calls that ask a service, an agent or a person; that never ran; and, without
--allow-uncertain, those of which something is not known: what they said, what they did to files,
or what a file held.

JSON, one object: name, directory, step, tool, files (how many; of an evaluation, messages), doubts
(what is not known), remarks (where the steps before tell otherwise), secrets (placeholders), moved
(files in which paths are others), minimal (null, or least: nothing more can be left out;
turns_green: the later step whose files mend it, or null; cut: path, lines left or null, of).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let looked = self.place.open(around)?;
        let options = CaseOptions {
            files: match self.files {
                None => CaseFiles::Needed,
                Some(Files::Touched) => CaseFiles::Touched,
                Some(Files::All) => CaseFiles::All,
                Some(Files::Minimal) => CaseFiles::Minimal,
            },
            uncertain: if self.allow_uncertain {
                Uncertain::Told
            } else {
                Uncertain::Refused
            },
            form: self.form.meant(),
        };
        let (run, spot) = (&looked.run, looked.spot);
        let check = self.check.predicate(run)?;
        if check.is_some() && options.files == CaseFiles::Minimal {
            return Err(Failure::unusable(
                "--files minimal looks for the failure that was recorded, and a check for another: \
                 name one of them; nothing was run",
            ));
        }
        if options.form.is_evaluation() && (check.is_some() || self.files.is_some()) {
            return Err(Failure::unusable(
                "--as promptfoo keeps a turn of the model, without files and without a check of \
                 them: leave out --files and --check-…, or choose another form; nothing was written",
            ));
        }
        let declared = self.config.read(around, None)?;
        let tries = match options.files {
            CaseFiles::Minimal => Some((workbench(around, TIMEOUT)?, self.budget)),
            _ => None,
        };
        let means = CaseMeans {
            redactor: Some(debugger::redactor(declared.secrets(), &around.variables)?),
            check,
            tries,
        };
        let place = (self.directory.as_deref(), Path::new(""));
        let mut line = self.place.progress("export", around);
        let done = line.watch(|tell| run.export_case(spot, options, &means, place, tell))?;
        if self.json {
            out.json(&object(&done))?;
        } else {
            print(&done, spot.step, out)?;
        }
        Ok(Answer::Yes)
    }
}

fn print(done: &ExportedCase, named: StepNumber, out: &mut Output) -> Result<(), Failure> {
    for doubt in &done.doubts {
        out.line(
            Style::Doubt,
            &SafeText::line(&format!("not known: {doubt}")),
        )?;
    }
    for remark in &done.remarks {
        out.line(Style::Plain, remark)?;
    }
    let is_evaluation = done.form.is_evaluation();
    let names = if is_evaluation {
        ["message", "messages"]
    } else {
        ["file", "files"]
    };
    let [one, many] = names;
    let files = human::plural(done.files as u64, one, many);
    let directory = done.directory.display();
    if done.step != named {
        let line = format!("step {named} leads to step {}", done.step);
        out.line(Style::Faint, &SafeText::line(&line))?;
    }
    let line = format!(
        "step {} ({}) with {files} in {directory}",
        done.step, done.tool
    );
    out.line(Style::Strong, &SafeText::line(&line))?;
    print_cut(done, out)?;
    if done.secrets > 0 {
        let secrets = human::plural(u64::from(done.secrets), "secret", "secrets");
        let line = format!("{secrets} taken out: a placeholder stands for each");
        out.line(Style::Plain, &SafeText::line(&line))?;
    }
    if done.moved > 0 {
        let files = human::plural(u64::from(done.moved), "file", "files");
        let line = format!("paths of the recording are others in {files}");
        out.line(Style::Plain, &SafeText::line(&line))?;
    }
    let command = done.command();
    let line = if is_evaluation {
        format!("`{command}` asks the model again that JUKEBOX_PROVIDER names")
    } else {
        format!("`{command}` makes it again")
    };
    out.line(Style::Faint, &SafeText::line(&line))?;
    Ok(())
}

/// After so many seconds a command is ended that does not say so itself.
const TIMEOUT: u64 = 600;

fn print_cut(done: &ExportedCase, out: &mut Output) -> Result<(), Failure> {
    let Some(cut) = &done.cut else {
        return Ok(());
    };
    for row in cut.rows() {
        let left = row.left.unwrap_or_default();
        let gap = SafeText::spaces(if left.is_empty() { 0 } else { 2 });
        out.spans(&[
            (Style::Bad, &SafeText::line(&format!("{:>7}  ", row.less))),
            (Style::Plain, &row.path),
            (Style::Faint, &gap),
            (Style::Faint, &left),
        ])?;
    }
    let line = if cut.is_least {
        "nothing more can be left out"
    } else {
        "the time was up: more might be left out, with a longer --budget"
    };
    out.line(Style::Plain, &SafeText::literal(line))?;
    if let Some(line) = cut.green_in_words() {
        out.line(Style::Plain, &line)?;
    }
    Ok(())
}

fn object(done: &ExportedCase) -> Value {
    let minimal = done.cut.as_ref().map(|cut| {
        let files = cut.files.iter().map(|(path, kept)| {
            let (lines, of) = match *kept {
                CaseKept::Nothing { lines } => (None, lines),
                CaseKept::Lines { kept, of } => (Some(kept), Some(of)),
            };
            json!({ "path": path.as_str(), "lines": lines, "of": of })
        });
        json!({
            "least": cut.is_least,
            "turns_green": cut.turns_green.map(|step| step.0),
            "cut": files.collect::<Value>(),
        })
    });
    json!({
        "name": done.name,
        "directory": done.directory.to_string_lossy(),
        "step": done.step.0,
        "tool": done.tool.as_str(),
        "files": done.files,
        "doubts": done.doubts.iter().map(SafeText::as_str).collect::<Vec<_>>(),
        "remarks": done.remarks.iter().map(SafeText::as_str).collect::<Vec<_>>(),
        "secrets": done.secrets,
        "moved": done.moved,
        "minimal": minimal,
    })
}

impl From<CaseError> for Failure {
    fn from(error: CaseError) -> Self {
        match error {
            CaseError::Exists(_) => Self::conflict(format!(
                "{error}, and nothing was written: name a new directory with -o"
            )),
            CaseError::NotACase(_) => {
                Self::unusable(format!("{error}; `jukebox export TAPE@fail` makes one"))
            }
            CaseError::Unusable { .. } => Self::unusable(error.to_string()),
            CaseError::Stopped => Self::stopped(),
            CaseError::Missing(_) => Self::unusable(format!(
                "{error}, and nothing was written: -o names a new directory in one that is there"
            )),
            CaseError::Io { .. } => Self::machine(format!("{error}; nothing was written")),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        let words;
        let hint = match &error {
            ExportError::Case(_) | ExportError::Read(_) | ExportError::Workbench(_) => "",
            ExportError::NotFailed { first: None, .. } => {
                "; nothing was written: no tool call of the run did, and --check-… keeps any"
            }
            ExportError::NotFailed {
                first: Some(first), ..
            } => {
                words = format!("; nothing was written: name one, such as TAPE@{first}");
                words.as_str()
            }
            ExportError::Uncertain {
                doubts,
                lacks_files,
                ..
            } => {
                words = uncertain(doubts.len(), *lacks_files);
                words.as_str()
            }
            ExportError::NothingToJudge(_) | ExportError::NoTurn(_) => {
                "; nothing was written: an evaluation needs one, or an altered answer of a fork"
            }
            ExportError::NoCall(_) => "; nothing was written: a check is made after a tool call",
            ExportError::NotMinimal(_, MinimalError::NoTime) => {
                "; nothing was written: --budget gives more"
            }
            ExportError::NotMade(..)
            | ExportError::NotReproduced(..)
            | ExportError::NotMinimal(..)
            | ExportError::NowhereToRun(_)
            | ExportError::IsSo(..)
            | ExportError::Rule(_) => "; nothing was written",
        };
        match error {
            ExportError::Case(error) => error.into(),
            ExportError::Read(error) => error.into(),
            ExportError::Workbench(error) => error.into(),
            error => Self::unusable(format!("{error}{hint}")),
        }
    }
}

/// What to do where something is not known.
fn uncertain(doubts: usize, lacks_files: bool) -> String {
    let more = match doubts.saturating_sub(1) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let files = if lacks_files {
        ", of a transcript more with --base DIR; `jukebox record` sees all of a run"
    } else {
        ""
    };
    format!("{more}; nothing was written: --allow-uncertain exports what is known{files}")
}
