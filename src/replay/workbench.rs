//! The workbench: recorded and altered calls, answered on a tree of files.
//!
//! A [`Workbench`] holds the files of a place of a run ([`Tree`]), and answers what a tool
//! call asks. Edit tools and tools that show a file are functions of the tree: nothing is
//! run. Commands run in the sandbox, on the tree written to disk, seen at the path that the
//! run had it at; it is written when the first command needs it, and from then on only what
//! changed is. A command has no network and is ended when its time is up; what it leaves
//! running is ended with it.
//!
//! The edit tools of some agents want a file to be read before it is written; what was read no
//! tree knows, and is told ([`Session`]).
//!
//! An answer changes nothing: whoever wants the next call to see what it did says so with
//! [`Workbench::accept`].
//!
//! A call that would depend on something not known exactly is [`NotAttempted`], with what it
//! is. So is all that is no function of files: services, agents, people. Nothing is sent
//! anywhere, no effect is carried out, and no file outside the workbench's own directory is
//! written. Dropped, it leaves nothing behind: no directory, no mount, no process.

mod disk;
mod edit;
mod find;
mod look;
mod network;
mod session;
mod tree;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::checkout::Entry;
use crate::model::{Certainty, FileChange, Micros, Outcome, PathError, TapePath, WallTime};
use crate::sandbox::{Missing, SandboxError};
use crate::tools::shell::Directory;
use crate::tools::{Asked, Program, Refusal, Unanswerable, shell};
use disk::{Disk, Wish};

pub use session::{Seen, Session};
pub use tree::{Found, Tree};

/// Where a run without a root is seen.
pub const NOWHERE: &str = "/workspace";

/// What a workbench needs of the machine and the run.
#[derive(Clone, Debug)]
pub struct WorkbenchConfig {
    /// An existing directory, below which a new one is made for as long as it takes.
    pub place: PathBuf,
    /// The `jukebox` program, which is started again as the helper of the sandbox.
    pub program: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Directories that commands see empty, besides those of secrets.
    pub hidden: Vec<PathBuf>,
    /// The environment of commands.
    pub environment: Vec<(OsString, OsString)>,
    /// The absolute path of the run's workspace, as the run called it.
    pub root: Option<String>,
    /// Whether a shell stays where a command left it, as that of some agents does.
    pub keeps_directory: bool,
    /// After how long a command is ended that does not say so itself.
    pub timeout: Duration,
}

impl WorkbenchConfig {
    /// Finds out whether this machine lets commands be run, and else why not. Costs the start of
    /// a sandbox, which is ended again; nothing is run in it.
    pub fn trial(&self) -> Result<(), WorkbenchError> {
        Disk::trial(self)
    }
}

/// A tool call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
    /// When it is to believe that it is made, as far as it asks through what can be told.
    pub time: Option<WallTime>,
}

impl Call {
    /// Whether another call asks the same tool for the same.
    pub fn is_like(&self, other: &Self) -> bool {
        self.name == other.name && self.arguments == other.arguments
    }
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// How it ended.
    pub outcome: Outcome,
    /// The exit code of its command.
    pub exit: Option<i32>,
    /// What it says; of a command, both streams in the order in which they came.
    pub output: String,
    /// Of a command, what it wrote to standard output and to standard error.
    pub streams: Option<(String, String)>,
    /// What it did to files, in order. It is not done to the tree yet.
    pub changes: Vec<FileChange>,
    /// What it made that no tape holds, such as a socket: where, and its sort.
    pub refused: Vec<(PathBuf, &'static str)>,
    /// How it came about.
    pub how: How,
    /// Whether its words are those that the tool would say; else only the rest counts.
    pub words: Words,
    /// Of a tool that did not do it, why, where that is a reason that tools have in common.
    pub refusal: Option<Refusal>,
    /// It failed, and what it says tells that it wanted the network.
    pub needs_network: bool,
    /// How long its command ran, in microseconds.
    pub duration: Option<Micros>,
}

/// How an answer came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As a function of the tree.
    Computed,
    /// By a command in the sandbox.
    Ran,
}

/// Whose words the output of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// The tool says just this.
    Exact,
    /// The tool says just these lines, in an order that no tree knows.
    AnyOrder,
    /// The tool says it in words of its own, which differ from one version to the next.
    Own,
}

/// Why a call was not attempted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotAttempted {
    /// It is no function of files.
    #[error("{0}")]
    Unanswerable(#[from] Unanswerable),
    /// It depends on a file that is not known exactly.
    #[error("it depends on {}, which is {certainty} here{}", path.to_text(), more_files(*more))]
    Inexact {
        /// The file.
        path: TapePath,
        /// How well it is known.
        certainty: Certainty,
        /// How many more there are.
        more: usize,
    },
    /// It may depend on any file, and the tape does not hold all of them.
    #[error("a command may read any file, and the tape does not show the whole workspace here")]
    NotWhole,
    /// It depends on which files there are, and the tape does not show all of them.
    #[error("it may find any file, and the tape does not show the whole workspace here")]
    NamesNotWhole,
    /// It goes through a link, and where that leads is not looked up.
    #[error("{} is a link, which is not followed", .0.to_text())]
    ThroughLink(TapePath),
    /// A content cannot be had.
    #[error("{}: {why}", path.to_text())]
    Unreadable {
        /// The file.
        path: TapePath,
        /// Why.
        why: String,
    },
    /// The path is none that a tape holds.
    #[error("`{0}`: {1}")]
    Path(String, PathError),
    /// A file could not be written where the command would see it.
    #[error("{} could not be written for it: {why}", path.to_text())]
    NotWritten {
        /// The file.
        path: TapePath,
        /// Why.
        why: String,
    },
    /// Its time was up.
    #[error("it was ended after {} s", .0.as_secs())]
    TimeUp(Duration),
}

fn more_files(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}

/// A call could be answered, and was not.
#[derive(Debug, thiserror::Error)]
pub enum WorkbenchError {
    /// The machine does not allow it.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(SandboxError),
    /// Its directory could not be written.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Whoever waits does not want to any more.
    #[error("stopped")]
    Stopped,
}

impl From<SandboxError> for WorkbenchError {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Missing(missing) => Self::Missing(missing),
            error => Self::Sandbox(error),
        }
    }
}

/// Calls, answered on a tree.
pub struct Workbench<'a> {
    config: WorkbenchConfig,
    tree: Tree<'a>,
    disk: Option<Disk>,
    /// Where the shell is, as an absolute path of the run.
    directory: String,
    /// What the agent has read.
    session: Session,
}

impl<'a> Workbench<'a> {
    /// A workbench for a tree. Nothing is written or started yet.
    pub fn new(config: WorkbenchConfig, tree: Tree<'a>) -> Self {
        let directory = config.root.clone().unwrap_or_else(|| NOWHERE.to_owned());
        Self {
            config,
            tree,
            disk: None,
            directory,
            session: Session::default(),
        }
    }

    /// The tree.
    pub fn tree(&self) -> &Tree<'a> {
        &self.tree
    }

    /// Brings the tree to another place of the run. What is told with a path is what it is
    /// there; all else is as it was.
    pub fn bring_on(
        &mut self,
        paths: impl IntoIterator<Item = (TapePath, Option<Entry>)>,
        is_whole: bool,
    ) {
        for (path, entry) in paths {
            self.tree.set(&path, entry);
            if let Some(disk) = &mut self.disk {
                disk.mark(path);
            }
        }
        self.tree.set_whole(is_whole);
    }

    /// Makes the tree another one, of which every entry is given. Costs a look at each of
    /// them; what was not changed is not written again.
    pub fn make(&mut self, entries: Vec<Entry>, is_whole: bool) {
        for path in self.tree.make(entries, is_whole) {
            if let Some(disk) = &mut self.disk {
                disk.mark(path);
            }
        }
    }

    /// Takes what a call did as done: calls after it see that.
    pub fn accept(&mut self, call: &Call, answer: &Answer) {
        self.apply(&answer.changes);
        if answer.how == How::Ran {
            self.follow(call);
        }
    }

    /// Takes changes as done that came about elsewhere, such as those of a recorded answer.
    pub fn apply(&mut self, changes: &[FileChange]) {
        for change in changes {
            for path in self.tree.apply(change) {
                if let Some(disk) = &mut self.disk {
                    disk.mark(path);
                }
            }
        }
    }

    /// Goes where a call leaves the shell, if shells stay where they are left.
    pub fn follow(&mut self, call: &Call) {
        let Asked::Run(command) = Asked::of(&call.name, &call.arguments) else {
            return;
        };
        let Program::Script(script) = command.program else {
            return;
        };
        if !self.config.keeps_directory {
            return;
        }
        match shell::read(&script).shell {
            Directory::Same => {}
            Directory::At(path) => self.directory = seen_from(&self.directory, &path),
            Directory::Elsewhere => self.directory = self.root().to_owned(),
        }
    }

    /// Says what the agent has read: the tools of some agents go by it.
    pub fn set_session(&mut self, session: Session) {
        self.session = session;
    }

    /// Where the shell is, as an absolute path of the run.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// Puts the shell into a directory, named by an absolute path of the run.
    pub fn enter(&mut self, directory: &str) {
        directory.clone_into(&mut self.directory);
    }

    /// The program that makes commands believe in the time of their call, if there is one.
    pub fn clock(&self) -> Option<&'static str> {
        let mut variables = self.config.environment.iter();
        let (_, path) = variables.find(|(name, _)| name == "PATH")?;
        disk::is_on_path(path, disk::FAKETIME).then_some(disk::FAKETIME)
    }

    /// Where commands see the workspace; `None` before the first of them.
    pub fn seen_at(&self) -> Option<&Path> {
        self.disk.as_ref()?.seen_at()
    }

    /// Answers a call. It is given up when `is_stopped` says so.
    pub fn answer(
        &mut self,
        call: &Call,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Result<Answer, NotAttempted>, WorkbenchError> {
        let asked = Asked::of(&call.name, &call.arguments);
        let place = Place {
            root: self.config.root.as_deref().unwrap_or(NOWHERE),
            directory: &self.directory,
        };
        match asked {
            Asked::Unknown(why) => Ok(Err(why.into())),
            Asked::Read {
                path,
                first,
                lines,
                form,
            } => Ok(look::read(
                (&self.tree, &self.session),
                place,
                &path,
                (first, lines),
                form,
            )),
            Asked::Find(find) => Ok(find::answer(&self.tree, place, &find)),
            Asked::Run(command) => self.run(call, command, is_stopped),
            asked => Ok(edit::answer(
                (&self.tree, &self.session),
                place,
                &call.name,
                &asked,
            )),
        }
    }

    fn run(
        &mut self,
        call: &Call,
        command: crate::tools::Command,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Result<Answer, NotAttempted>, WorkbenchError> {
        if !self.tree.is_whole() {
            return Ok(Err(NotAttempted::NotWhole));
        }
        if let Some((entry, more)) = self.tree.first_inexact() {
            return Ok(Err(NotAttempted::Inexact {
                path: entry.path.clone(),
                certainty: entry.certainty,
                more,
            }));
        }
        let directory = match &command.directory {
            Some(directory) => seen_from(&self.directory, directory),
            None => self.directory.clone(),
        };
        let root = self.root().to_owned();
        let wish = Wish {
            shell: shell_of(&call.name),
            program: command.program,
            // Of the workspace itself nothing is left of the path.
            directory: match below(&directory, &root) {
                Some(below) => PathBuf::from(below),
                None => PathBuf::from(directory),
            },
            timeout: command.timeout.unwrap_or(self.config.timeout),
            time: call.time,
        };
        let disk = match &mut self.disk {
            Some(disk) => disk,
            None => self.disk.insert(Disk::new(&self.config)?),
        };
        disk.run(&self.config, &self.tree, wish, is_stopped)
    }

    fn root(&self) -> &str {
        self.config.root.as_deref().unwrap_or(NOWHERE)
    }
}

/// From where paths are seen.
#[derive(Clone, Copy)]
struct Place<'a> {
    root: &'a str,
    directory: &'a str,
}

impl Place<'_> {
    fn path(self, path: &str) -> Result<TapePath, NotAttempted> {
        TapePath::resolve(path, self.directory, self.root)
            .map_err(|why| NotAttempted::Path(path.to_owned(), why))
    }
}

fn seen_from(directory: &str, path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", directory.trim_end_matches('/'))
    }
}

/// What of a path lies below the root; nothing for the root itself.
fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    match rest.strip_prefix('/') {
        Some(below) => Some(below.trim_start_matches('/')),
        None => rest.is_empty().then_some(""),
    }
}

/// The shell that a tool of this name gives a text to.
fn shell_of(name: &str) -> &'static str {
    match name {
        "sh" => "sh",
        _ => "bash",
    }
}
