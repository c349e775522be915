//! `jukebox test`: test cases, made again.

use std::path::{Path, PathBuf};
use std::thread;

use serde_json::{Value, json};

use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use super::progress::ProgressLine;
use super::replay::{leaf, print_leaves, workbench};
use crate::debugger::{CaseError, CaseRow, CaseStanding, TestCasesError, TestOptions, test_cases};
use crate::text::{SafeText, human};

mod junit;

/// Make test cases again, and say whether their failures are still there
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Test cases, or directories that hold some
    #[arg(value_name = "DIR", required = true)]
    places: Vec<PathBuf>,
    /// Lay the files of this directory over those of each case: all but .git and what a
    /// .gitignore names
    #[arg(long, value_name = "DIR")]
    with: Option<PathBuf>,
    /// Write the results into this file, as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Make so many at a time; without it, one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// End a command after so many seconds that does not say so itself
    #[arg(long, default_value_t = 600, value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Each call is made on the files of its case. Edits and reads are functions of the files. Commands
run in the sandbox, in a copy of the files, without network; no other file is written.

  reproduces     it fails as it did
  fixed          it succeeds
  changed        it fails in another way: where is listed
  inconclusive   it could not be made, or nothing could be compared

The code is 0 if every case is fixed, and 1 otherwise; 2 if something is no case; 4 if the machine
allows no sandbox.

JSON: cases, reproduces, fixed, changed, inconclusive (how many), rows (name, directory, verdict;
leaves: where, recorded, replayed; why: it is inconclusive, or null; doubts: what was not known
when it was made).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let options = TestOptions {
            places: self.places.clone(),
            with: self.with.clone(),
            jobs: self.jobs.map_or_else(cores, usize::from),
            workbench: workbench(around, self.timeout)?,
        };
        if let Some(above) = self.junit.as_deref().and_then(Path::parent)
            && !above.as_os_str().is_empty()
            && !above.is_dir()
        {
            return Err(Failure::unusable(format!(
                "there is no directory `{}` for the report; nothing was run",
                above.display()
            )));
        }
        let mut line = ProgressLine::new("test", "cases", around);
        let rows = line.watch(|tell| test_cases(&options, tell))?;
        if self.json {
            out.json(&object(&rows))?;
        } else {
            let columns = out.has_terminal().then_some(around.columns);
            print(&rows, columns, out)?;
        }
        // Last: who has no report has the rows.
        if let Some(file) = &self.junit {
            std::fs::write(file, junit::report(&rows)).map_err(|error| {
                Failure::machine(format!("`{}`: {error}; the cases ran", file.display()))
            })?;
        }
        let is_fixed = |row: &CaseRow| matches!(row.standing, CaseStanding::Fixed);
        Ok(Answer::no_if(!rows.iter().all(is_fixed)))
    }
}

impl From<TestCasesError> for Failure {
    fn from(error: TestCasesError) -> Self {
        match error {
            TestCasesError::Case(error @ (CaseError::Missing(_) | CaseError::NotACase(_))) => {
                Self::unusable(format!("{error}; `jukebox export TAPE@fail` makes a case"))
            }
            TestCasesError::Case(error @ CaseError::Io { .. }) => Self::unusable(error.to_string()),
            TestCasesError::Case(error) => error.into(),
            TestCasesError::Workbench(error) => error.into(),
            TestCasesError::Overlay(error) => Self::unusable(format!("{error}; nothing was run")),
        }
    }
}

/// The words of the verdicts.
const WORDS: [&str; 4] = ["reproduces", "fixed", "changed", "inconclusive"];

fn count(rows: &[CaseRow], word: &str) -> usize {
    let rows = rows.iter().filter(|row| row.standing.as_str() == word);
    rows.count()
}

fn object(rows: &[CaseRow]) -> Value {
    let mut object = json!({ "cases": rows.len() });
    for word in WORDS {
        object[word] = count(rows, word).into();
    }
    object["rows"] = rows.iter().map(row).collect();
    object
}

fn row(row: &CaseRow) -> Value {
    let leaves: &[_] = match &row.standing {
        CaseStanding::Changed(leaves) => leaves,
        _ => &[],
    };
    let why = match &row.standing {
        CaseStanding::Inconclusive(why) => Value::from(why.as_str()),
        _ => Value::Null,
    };
    json!({
        "name": row.name,
        "directory": row.directory.to_string_lossy(),
        "verdict": row.standing.as_str(),
        "leaves": leaves.iter().map(leaf).collect::<Vec<_>>(),
        "why": why,
        "doubts": row.doubts.iter().map(SafeText::as_str).collect::<Vec<_>>(),
    })
}

fn print(rows: &[CaseRow], columns: Option<usize>, out: &mut Output) -> Result<(), Failure> {
    for row in rows {
        let style = match row.standing {
            CaseStanding::Fixed => Style::Good,
            CaseStanding::Reproduces | CaseStanding::Changed(_) => Style::Bad,
            CaseStanding::Inconclusive(_) => Style::Doubt,
        };
        let word = SafeText::line(&format!("{:<12}  ", row.standing.as_str()));
        let name = SafeText::line(&row.directory.to_string_lossy());
        out.spans(&[(style, &word), (Style::Plain, &name)])?;
        match &row.standing {
            CaseStanding::Changed(leaves) => print_leaves(leaves, columns, out)?,
            CaseStanding::Inconclusive(why) => {
                out.line(Style::Doubt, &SafeText::line(&format!("      {why}")))?;
            }
            CaseStanding::Reproduces | CaseStanding::Fixed => {}
        }
        for doubt in &row.doubts {
            let words = format!("      not known when it was made: {doubt}");
            out.line(Style::Faint, &SafeText::line(&words))?;
        }
    }
    let counts: Vec<String> = WORDS
        .into_iter()
        .map(|word| (word, count(rows, word)))
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    let cases = human::plural(rows.len() as u64, "case", "cases");
    let line = format!("{cases}: {}", counts.join(", "));
    out.line(Style::Strong, &SafeText::line(&line))?;
    Ok(())
}
