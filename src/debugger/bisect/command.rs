//! A command that is asked how a tree is: run in a sandbox over the tree, by itself each time.
//!
//! The tree is on disk once, in a directory that is gone in the end, and becomes the next by
//! what differs. The command sees it where the run had its workspace, if that can be shown. Each run has a sandbox of its own, so that nothing it wrote is there for the
//! next: not in the tree, not in the home directory, not in `/tmp`.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::Debugger;
use super::edge::Verdict;
use super::{Answer, BisectError};
use crate::checkout::{Scratch, WorkingTree};
use crate::model::Cursor;
use crate::sandbox::{
    Backend, Cause, Command, Config, Guarantee, Policy, Said, Sandbox, SandboxError,
};
use crate::text::SafeText;

/// A command, and how it is run.
#[derive(Clone, Debug)]
pub struct ProbeCommand {
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
    /// What keeps the command from everything else.
    pub backend: Backend,
    /// What is around it.
    pub sandboxing: Sandboxing,
    /// After this long it is ended, and the answer is bad.
    pub timeout: Option<Duration>,
}

/// What a sandbox needs to know of the program and its user.
#[derive(Clone, Debug)]
pub struct Sandboxing {
    /// The `jukebox` program, which is started again as the helper.
    pub program: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Directories that the command sees empty, besides those of secrets.
    pub hidden: Vec<PathBuf>,
    /// Where the tree is written, in a new directory.
    pub temporary: PathBuf,
    /// The whole environment of the command.
    pub environment: Vec<(OsString, OsString)>,
}

/// The code of a run whose time was up, as of `timeout`.
const TIMEOUT: u8 = 124;
/// The code that says: cannot be said.
const SKIP: u8 = 125;
/// Bytes of what a run wrote last that are kept.
const LAST_WORDS: usize = 8 << 10;
/// Lines of it that are told.
const MOST_LINES: usize = 20;

/// A command, with the tree that it was asked about last.
pub(super) struct Prober<'a> {
    run: &'a Debugger,
    command: &'a ProbeCommand,
    tree: WorkingTree,
    at: Option<Cursor>,
    place: Scratch,
    /// Where the run had its workspace, as long as the tree can be shown there.
    root: Option<PathBuf>,
    /// Where the command saw the tree last, if that was somewhere else.
    elsewhere: Option<PathBuf>,
}

impl<'a> Prober<'a> {
    pub(super) fn new(run: &'a Debugger, command: &'a ProbeCommand) -> Result<Self, BisectError> {
        let made = Scratch::new(&command.sandboxing.temporary, "bisect");
        let place = made.map_err(|source| BisectError::Scratch {
            path: command.sandboxing.temporary.clone(),
            source,
        })?;
        let layers = place.path().join("layers");
        std::fs::create_dir(&layers).map_err(|source| BisectError::Scratch {
            path: layers,
            source,
        })?;
        Ok(Self {
            run,
            command,
            tree: WorkingTree::new(&place.path().join("tree"))?,
            at: None,
            place,
            root: run.header.root.as_ref().map(PathBuf::from),
            elsewhere: None,
        })
    }

    /// Where the command sees the tree, if that is not where the run had it.
    pub(super) fn elsewhere(&self) -> Option<&PathBuf> {
        self.elsewhere.as_ref()
    }

    /// A sandbox over the tree, seen where the run had it; where that cannot be, at its own path.
    fn start(&mut self) -> Result<Sandbox, BisectError> {
        let sandboxing = &self.command.sandboxing;
        let mut policy = Policy::for_home(sandboxing.home.as_deref());
        policy.hidden.extend(sandboxing.hidden.iter().cloned());
        let mut config = Config {
            workspace: self.place.path().join("tree"),
            seen_at: self.root.clone(),
            helper: sandboxing.program.clone(),
            backend: self.command.backend,
            layers: Some(self.place.path().join("layers")),
            policy,
        };
        let started = match Sandbox::start(&config) {
            Err(missing) if missing.what == Guarantee::Workspace && config.seen_at.is_some() => {
                (self.root, config.seen_at) = (None, None);
                Sandbox::start(&config)
            }
            started => started,
        };
        let sandbox = started.map_err(SandboxError::Missing)?;
        let seen = sandbox.seen_at();
        let root = self.run.header.root.as_deref();
        let is_elsewhere = root.is_some_and(|root| seen != Path::new(root));
        self.elsewhere = is_elsewhere.then(|| seen.to_owned());
        Ok(sandbox)
    }

    /// Makes the tree that of a place, and runs the command over it.
    pub(super) fn ask(
        &mut self,
        at: Cursor,
        wait: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Answer, BisectError> {
        let changes = if let Some(before) = self.at {
            self.run.steps_to(before, at)
        } else {
            let entries = self.run.entries(at).into_iter();
            entries
                .map(|entry| (entry.path.clone(), Some(entry)))
                .collect()
        };
        self.tree.change(changes, &self.run.tape, &mut |_| wait())?;
        self.at = Some(at);
        let mut sandbox = self.start()?;
        let command = Command {
            arguments: self.command.arguments.clone(),
            directory: PathBuf::new(),
            environment: self.command.sandboxing.environment.clone(),
            input: None,
            timeout: self.command.timeout,
            capture: Command::CAPTURE,
        };
        let mut last_words = Vec::new();
        let mut wish = ControlFlow::Continue(());
        let exit = sandbox.exec(&command, &mut |said| {
            if let Said::Bytes(_, bytes) = said {
                last_words.extend_from_slice(bytes);
                let old = last_words.len().saturating_sub(LAST_WORDS);
                last_words.drain(..old);
            }
            if wish.is_continue() {
                wish = wait();
            }
            wish
        });
        if wish.is_break() {
            return Err(BisectError::BrokenOff);
        }
        let code = match exit {
            Ok(exit) if exit.cause == Cause::Timeout => TIMEOUT,
            Ok(exit) => exit.status.code(),
            Err(error @ SandboxError::NotStarted(_)) => {
                last_words = error.to_string().into_bytes();
                error.code()
            }
            Err(error) => return Err(error.into()),
        };
        let verdict = match code {
            0 => Verdict::Good,
            SKIP => Verdict::Skip,
            1..128 => Verdict::Bad,
            _ => return Err(BisectError::Aborted(code, lines(&last_words))),
        };
        Ok(Answer {
            verdict,
            code: Some(code),
            said: lines(&last_words),
        })
    }

    /// How many files of the tree as it is could not be written.
    pub(super) fn left_out(&self) -> usize {
        self.tree.left_out().count()
    }
}

/// The last lines of an output.
fn lines(output: &[u8]) -> Vec<SafeText> {
    let lines = SafeText::exact_lines(output);
    let left_out = lines.len().saturating_sub(MOST_LINES);
    lines.into_iter().skip(left_out).collect()
}
