//! `jukebox export`: a tool call that failed, as a test case in a directory of its own.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::arguments::PlaceArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use crate::debugger::{
    CaseError, CaseFiles, CaseForm, CaseOptions, ExportError, ExportedCase, Uncertain,
};
use crate::text::{SafeText, human};

/// Keep a tool call that failed as a test case, to be made again by `jukebox test`
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
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
    /// Export a call that is not known as a whole, too; the case says what is not known
    #[arg(long)]
    allow_uncertain: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
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
}

impl Form {
    const fn meant(self) -> CaseForm {
        match self {
            Self::Case => CaseForm::Case,
            Self::Sh => CaseForm::Sh,
            Self::Pytest => CaseForm::Pytest,
            Self::Rust => CaseForm::Rust,
            Self::Md => CaseForm::Report,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Files {
    /// Those that the call or its output names, or that it changed
    Touched,
    /// All of the workspace
    All,
}

const HELP: &str = "\
The step is a tool call that failed, such as TAPE@fail, or the turn of a model whose next call
failed. The case holds the call, the files before it, and what came of it: the outcome, the exit
code, what it said, what it did to files. It is there as a whole or not at all, and nothing that
is there is written over. Nothing is run.

A case holds no date, and no path of the place where it was recorded: the words {root} and {home}
stand for them in the call and in what it said. Files are kept as they were, whatever they hold,
and secrets are not taken out: export from what `jukebox redact` wrote. What was recorded is data in it, and never a part of a program: test.sh,
test_case.py and case.rs are the same in every case. They hand it to `jukebox test`, which the
variable JUKEBOX may name; JUKEBOX_WITH names a directory for its --with.

Refused are calls that ask a service, an agent or a person; that never ran; and, without
--allow-uncertain, those of which something is not known: what they said, what they did to files,
or what a file held.

JSON, one object: name, directory, step, tool, files (how many), doubts (what is not known).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let looked = self.place.open(around)?;
        let options = CaseOptions {
            files: match self.files {
                None => CaseFiles::Needed,
                Some(Files::Touched) => CaseFiles::Touched,
                Some(Files::All) => CaseFiles::All,
            },
            uncertain: if self.allow_uncertain {
                Uncertain::Told
            } else {
                Uncertain::Refused
            },
            form: self.form.meant(),
        };
        let directory = self.directory.as_deref();
        let (run, spot) = (&looked.run, looked.spot);
        let done = run.export_case(spot, options, directory, Path::new(""))?;
        if self.json {
            out.json(&object(&done))?;
        } else {
            print(&done, out)?;
        }
        Ok(Answer::Yes)
    }
}

fn object(done: &ExportedCase) -> Value {
    json!({
        "name": done.name,
        "directory": done.directory.to_string_lossy(),
        "step": done.step.0,
        "tool": done.tool.as_str(),
        "files": done.files,
        "doubts": done.doubts.iter().map(SafeText::as_str).collect::<Vec<_>>(),
    })
}

fn print(done: &ExportedCase, out: &mut Output) -> Result<(), Failure> {
    for doubt in &done.doubts {
        out.line(
            Style::Doubt,
            &SafeText::line(&format!("not known: {doubt}")),
        )?;
    }
    let files = human::plural(done.files as u64, "file", "files");
    let directory = done.directory.display();
    let line = format!(
        "step {} ({}) with {files} in {directory}",
        done.step, done.tool
    );
    out.line(Style::Strong, &SafeText::line(&line))?;
    let line = format!("`jukebox test {directory}` makes it again");
    out.line(Style::Faint, &SafeText::line(&line))?;
    Ok(())
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
            CaseError::Io { ref source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Self::unusable(error.to_string())
            }
            CaseError::Io { .. } => Self::machine(error.to_string()),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        let hint = match &error {
            ExportError::Case(_) => "",
            ExportError::NotFailed(_) => "; nothing was written: name one, such as TAPE@fail",
            ExportError::Uncertain { doubts, .. } if doubts.len() > 1 => {
                ", and more; nothing was written: --allow-uncertain exports what is known"
            }
            ExportError::Uncertain { .. } => {
                "; nothing was written: --allow-uncertain exports what is known"
            }
            ExportError::NotMade(..) | ExportError::NotReproduced(..) => "; nothing was written",
        };
        match error {
            ExportError::Case(error) => error.into(),
            error => Self::unusable(format!("{error}{hint}")),
        }
    }
}
