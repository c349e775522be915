//! A question as a person types it on one line: a command, or what is to be so of a file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::super::Debugger;
use super::{BisectScope, Predicate, PredicateError, ProbeCommand, Question, Test};
use crate::model::PathError;
use crate::sandbox::Backend;

/// The shell that reads a command which was typed on one line.
const SHELL: [&str; 2] = ["/bin/sh", "-c"];

/// What stands before a question about every tree.
const ALL: &str = "--all";

/// What was typed is no question.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// A quote has no end.
    #[error("a quote is not closed")]
    Quote,
    /// A flag without what belongs to it, or one that is none.
    #[error(
        "`{0}`: --grep PATTERN PATH, --exists PATH, --absent PATH, --hash PATH HEX, --not, --all"
    )]
    Flag(String),
    /// The pattern or the hash.
    #[error(transparent)]
    Predicate(#[from] PredicateError),
    /// The file.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Nobody said where a sandbox could be had.
    #[error("no command can be run here")]
    NoSandbox,
}

impl Debugger {
    /// What was typed, as a question: with a flag of `jukebox bisect` in front about a file,
    /// else a command for a shell; with `--all` before it, about every tree. Runs nothing.
    pub fn question(&self, typed: &str) -> Result<(Question, BisectScope), QuestionError> {
        let typed = typed.trim_start();
        let rest = typed.strip_prefix(ALL);
        match rest.filter(|rest| rest.starts_with(char::is_whitespace)) {
            Some(rest) => Ok((self.asked(rest.trim_start())?, BisectScope::All)),
            None => Ok((self.asked(typed)?, BisectScope::Edge)),
        }
    }

    fn asked(&self, typed: &str) -> Result<Question, QuestionError> {
        if typed.starts_with("--") {
            return Ok(Question::Predicate(self.predicate(typed)?));
        }
        let sandboxing = self.places.sandboxing.clone();
        let sandboxing = sandboxing.ok_or(QuestionError::NoSandbox)?;
        Ok(Question::Command(ProbeCommand {
            arguments: SHELL.into_iter().chain([typed]).map(Into::into).collect(),
            backend: Backend::Overlay,
            sandboxing,
            timeout: None,
        }))
    }

    /// What was typed, as a question about a file. Runs nothing.
    pub fn predicate(&self, typed: &str) -> Result<Predicate, QuestionError> {
        let words = shlex::split(typed).ok_or(QuestionError::Quote)?;
        let is_negated = words.iter().any(|word| word == "--not");
        let rest = words.iter().filter(|word| *word != "--not");
        let rest: Vec<&str> = rest.map(String::as_str).collect();
        let (test, path) = match *rest {
            ["--grep", pattern, path] => (Test::grep(pattern)?, path),
            ["--exists", path] => (Test::Exists, path),
            ["--absent", path] => (Test::Absent, path),
            ["--hash", path, digits] => (Test::hash(digits)?, path),
            _ => return Err(QuestionError::Flag(typed.trim().to_owned())),
        };
        Ok(Predicate {
            path: self.path(OsStr::new(path).as_bytes())?,
            test,
            is_negated,
        })
    }
}
