//! The tree on disk, and the sandbox over it.
//!
//! The tree is written when the first command needs it, and then brought on by what changed.
//! Commands never write it: what they change is a layer of the sandbox, read into changes and
//! thrown away before the next command. What a command left in temporary directories and at
//! home stays for the next one, as it did in the run.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::tree::Tree;
use super::{Answer, How, NotAttempted, Words, WorkbenchConfig, WorkbenchError, network};
use crate::checkout::{
    CheckoutError, Entry, Item, OutsideLinks, Plan, Report, Scratch, Skipped, remove_tree,
};
use crate::model::{BlobHash, Content, FileChange, FileOp, Outcome, TapePath, WallTime};
use crate::sandbox::{
    self, Backend, Below, Cause, Change, Command, Config, Exit, Guarantee, Missing, Policy, Said,
    Sandbox, SandboxError, Status, Stream,
};
use crate::tools::Program;

/// The bits of a mode that are written.
const PERMISSIONS: u32 = 0o777;
/// Bytes of a file that are read; of a larger one only its length is told.
const LARGEST: u64 = 256 << 20;
/// What commands of one answer may say.
const CAPTURE: u64 = Command::CAPTURE;

/// A command, ready to be run.
pub(super) struct Wish {
    pub(super) shell: &'static str,
    pub(super) program: Program,
    pub(super) directory: PathBuf,
    pub(super) timeout: Duration,
    pub(super) time: Option<WallTime>,
}

/// The tree on disk, and the sandbox over it.
pub(super) struct Disk {
    /// Goes before the directory that it lies over.
    sandbox: Option<Sandbox>,
    is_written: bool,
    /// The paths of the tree that are not yet on disk as they are.
    stale: BTreeSet<TapePath>,
    /// Whether commands changed what they see.
    is_changed: bool,
    directory: Scratch,
}

impl Disk {
    /// A place for the tree; nothing is written yet.
    pub(super) fn new(config: &WorkbenchConfig) -> Result<Self, WorkbenchError> {
        let made = || {
            let directory = Scratch::new(&config.place, "replay")?;
            fs::create_dir(directory.path().join("layers"))?;
            Ok(directory)
        };
        Ok(Self {
            sandbox: None,
            is_written: false,
            stale: BTreeSet::new(),
            is_changed: false,
            directory: made().map_err(failed(&config.place))?,
        })
    }

    /// Finds out whether commands can be run: a sandbox is started over nothing, and ended.
    pub(super) fn trial(config: &WorkbenchConfig) -> Result<(), WorkbenchError> {
        let disk = Self::new(config)?;
        let tree = disk.directory.path().join("tree");
        fs::create_dir(&tree).map_err(failed(&tree))?;
        start(config, disk.directory.path()).map(drop)
    }

    /// Notes that a path of the tree is not what it was.
    pub(super) fn mark(&mut self, path: TapePath) {
        if self.is_written {
            self.stale.insert(path);
        }
    }

    /// Where commands see the tree.
    pub(super) fn seen_at(&self) -> Option<&Path> {
        self.sandbox.as_ref().map(Sandbox::seen_at)
    }

    /// Runs a command on the tree.
    pub(super) fn run(
        &mut self,
        config: &WorkbenchConfig,
        tree: &Tree<'_>,
        wish: Wish,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Result<Answer, NotAttempted>, WorkbenchError> {
        if let Err(why) = self.bring_on(tree, is_stopped)? {
            return Ok(Err(why));
        }
        let sandbox = match &mut self.sandbox {
            Some(sandbox) => sandbox,
            None => self.sandbox.insert(start(config, self.directory.path())?),
        };
        let command = command(config, wish);
        let mut said = Vec::new();
        // Whatever becomes of it, the next one does not see what it leaves.
        self.is_changed = true;
        let exit = sandbox.exec(&command, &mut |saying| {
            if let Said::Bytes(stream, bytes) = saying {
                said.push((stream, bytes.to_vec()));
            }
            if is_stopped() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let exit = match exit {
            Ok(Exit {
                cause: Cause::Asked,
                ..
            }) => return Err(WorkbenchError::Stopped),
            Ok(exit) => Ok(exit),
            Err(error @ SandboxError::NotStarted(_)) => Err(error),
            Err(error) => return Err(error.into()),
        };
        // Whoever is left could go on writing while it is read what was written.
        sandbox.stop()?;
        let found = sandbox.change_set()?;
        self.is_changed = !found.is_empty();
        if let Ok(exit) = &exit
            && exit.cause == Cause::Timeout
        {
            let after = command.timeout.unwrap_or_default();
            return Ok(Err(NotAttempted::TimeUp(after)));
        }
        let changes = changes_of(&found.changes, tree, &self.directory.path().join("tree"))?;
        Ok(Ok(answer(&exit, &said, changes, found.refused)))
    }

    /// Brings what is on disk to what the tree is.
    fn bring_on(
        &mut self,
        tree: &Tree<'_>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Result<(), NotAttempted>, WorkbenchError> {
        let path = self.directory.path().join("tree");
        let report = if self.is_written {
            if self.stale.is_empty() && !self.is_changed {
                return Ok(Ok(()));
            }
            let gone: Vec<TapePath> = std::mem::take(&mut self.stale).into_iter().collect();
            let plan = Plan::new(entries_at(tree, &gone), OutsideLinks::Write);
            match plan.renew(&path, &gone, tree.blobs()) {
                Ok(report) if !has_failed(&report) => Ok(report),
                // Some directory does not let itself be changed: all of it anew.
                _ => {
                    self.sandbox = None;
                    remove_tree(&path).map_err(failed(&path))?;
                    write(tree, &path, is_stopped)
                }
            }
        } else {
            write(tree, &path, is_stopped)
        };
        let report = match report {
            Ok(report) => report,
            Err(CheckoutError::BrokenOff { .. }) => return Err(WorkbenchError::Stopped),
            Err(error) => {
                let source = io::Error::other(error.to_string());
                return Err(WorkbenchError::Io { path, source });
            }
        };
        self.is_written = true;
        if let Some(row) = report
            .skipped()
            .find(|row| is_missing(row.skipped.as_ref()))
        {
            self.stale.insert(row.path.clone());
            let why = row.skipped.as_ref().map(Skipped::to_string);
            return Ok(Err(NotAttempted::NotWritten {
                path: row.path.clone(),
                why: why.unwrap_or_default(),
            }));
        }
        if let Some(sandbox) = &mut self.sandbox {
            sandbox.show_anew()?;
        }
        self.is_changed = false;
        Ok(Ok(()))
    }
}

/// What the tree holds at these paths and below them, with the directories above: their modes
/// may forbid what others need.
fn entries_at(tree: &Tree<'_>, paths: &[TapePath]) -> Vec<Entry> {
    let mut wanted = BTreeSet::new();
    for path in paths {
        let above = std::iter::successors(Some(path.clone()), TapePath::parent);
        wanted.extend(above);
        wanted.extend(tree.below(path).map(|entry| entry.path.clone()));
    }
    let found = wanted.iter().filter_map(|path| tree.get(path));
    found.cloned().collect()
}

fn write(
    tree: &Tree<'_>,
    path: &Path,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Report, CheckoutError> {
    let entries = tree.entries().filter(|entry| !entry.path.is_outside());
    let plan = Plan::new(entries.cloned().collect(), OutsideLinks::Write);
    plan.write(path, tree.blobs(), &mut |_| {
        if is_stopped() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
}

fn has_failed(report: &Report) -> bool {
    report.skipped().any(|row| is_missing(row.skipped.as_ref()))
}

/// Whether something of the workspace is not where it should be.
fn is_missing(skipped: Option<&Skipped>) -> bool {
    !matches!(skipped, None | Some(Skipped::OutsideWorkspace))
}

/// The sandbox over the tree, seen where the run had it; where that cannot be, at its own
/// path.
fn start(config: &WorkbenchConfig, directory: &Path) -> Result<Sandbox, WorkbenchError> {
    let mut policy = Policy::for_home(config.home.as_deref());
    policy.hidden.extend(config.hidden.iter().cloned());
    let mut wanted = Config {
        workspace: directory.join("tree"),
        seen_at: Some(config.root.as_deref().unwrap_or(super::NOWHERE).into()),
        helper: config.program.clone(),
        backend: Backend::Overlay,
        layers: Some(directory.join("layers")),
        policy,
    };
    match Sandbox::start(&wanted) {
        Err(Missing {
            what: Guarantee::Workspace,
            ..
        }) => {
            wanted.seen_at = None;
            Ok(Sandbox::start(&wanted)?)
        }
        started => Ok(started?),
    }
}

fn command(config: &WorkbenchConfig, wish: Wish) -> Command {
    let path = config.environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, path)| path.clone()).unwrap_or_default();
    let mut words: Vec<OsString> = match wish.program {
        Program::Words(words) => words.into_iter().map(OsString::from).collect(),
        Program::Script(script) => {
            let has_shell = is_on_path(&path, wish.shell);
            let shell = if has_shell { wish.shell } else { "sh" };
            vec![shell.into(), "-c".into(), script.into()]
        }
    };
    let mut environment = config.environment.clone();
    if let Some(WallTime(micros)) = wish.time {
        let seconds = micros.div_euclid(1_000_000);
        environment.push(("SOURCE_DATE_EPOCH".into(), seconds.to_string().into()));
        if is_on_path(&path, FAKETIME) {
            let time = format!("@{seconds}");
            words.splice(0..0, [FAKETIME.into(), time.into()]);
        }
    }
    Command {
        arguments: words,
        directory: wish.directory,
        environment,
        input: None,
        timeout: Some(wish.timeout),
        capture: CAPTURE,
    }
}

/// The program that makes others believe in another time.
pub(super) const FAKETIME: &str = "faketime";

/// Whether a program of this name is found in these directories.
pub(super) fn is_on_path(path: &OsStr, name: &str) -> bool {
    let mut directories = path.as_bytes().split(|byte| *byte == b':');
    directories.any(|directory| {
        let directory = Path::new(OsStr::from_bytes(directory));
        let found = fs::metadata(directory.join(name));
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

fn answer(
    exit: &Result<Exit, SandboxError>,
    said: &[(Stream, Vec<u8>)],
    changes: Vec<FileChange>,
    refused: Vec<(PathBuf, &'static str)>,
) -> Answer {
    let joined = |wanted: Option<Stream>| {
        let parts = said.iter();
        let parts = parts.filter(|(stream, _)| wanted.is_none_or(|wanted| wanted == *stream));
        let bytes: Vec<&[u8]> = parts.map(|(_, bytes)| bytes.as_slice()).collect();
        String::from_utf8_lossy(&bytes.concat()).into_owned()
    };
    let mut output = joined(None);
    let (outcome, code) = match exit {
        Ok(exit) => {
            let is_ok = exit.status == Status::Code(0);
            let outcome = if is_ok { Outcome::Ok } else { Outcome::Failed };
            (outcome, exit.status.code())
        }
        Err(error) => {
            output.push_str(&error.to_string());
            (Outcome::Failed, error.code())
        }
    };
    let micros = exit.as_ref().ok().map(|exit| exit.duration.as_micros());
    Answer {
        outcome,
        exit: Some(i32::from(code)),
        needs_network: outcome == Outcome::Failed && network::is_wanted(&output),
        output,
        streams: Some((joined(Some(Stream::Output)), joined(Some(Stream::Error)))),
        changes,
        refused,
        how: How::Ran,
        words: Words::Exact,
        refusal: None,
        duration: micros.and_then(|micros| u64::try_from(micros).ok()),
    }
}

/// What commands changed, as changes of the tree; what is as it was is none. `written` is
/// where the tree was written: of modes that it does not tell, what the system made of them.
fn changes_of(
    found: &[(TapePath, Change)],
    tree: &Tree<'_>,
    written: &Path,
) -> Result<Vec<FileChange>, WorkbenchError> {
    let mut changes = Vec::new();
    for (path, change) in found {
        let before = tree.get(path);
        let stood = fs::symlink_metadata(written.join(OsStr::from_bytes(path.as_bytes())));
        let mode_before = stood.map(|stood| stood.permissions().mode()).ok();
        let remove = || FileChange::new(FileOp::Remove, path.clone());
        match change {
            Change::Deleted => changes.push(remove()),
            Change::Directory { mode, below } => {
                let was_directory = before.is_some_and(|it| matches!(it.item, Item::Directory));
                let stays = was_directory && *below == Below::Kept;
                if before.is_some() && !stays {
                    changes.push(remove());
                }
                let is_same = mode_before.is_none_or(|was| has_same_rights(was, *mode));
                let op = match (stays, is_same) {
                    (true, true) => continue,
                    (true, false) => FileOp::Chmod,
                    (false, _) => FileOp::Mkdir,
                };
                changes.push(with_mode(FileChange::new(op, path.clone()), *mode));
            }
            Change::Link(target) => {
                let target = target.clone();
                let is_same = matches!(before, Some(Entry { item: Item::Link(was), .. })
                    if *was == target);
                if !is_same {
                    changes.push(FileChange::new(FileOp::Symlink { target }, path.clone()));
                }
            }
            Change::File {
                mode, len, content, ..
            } => {
                let was = match before.map(|entry| &entry.item) {
                    Some(Item::File(hash)) => *hash,
                    _ => None,
                };
                let content = read(content, *len).map_err(failed(content))?;
                let hash = match &content {
                    Content::Bytes(bytes) => Some(BlobHash::of(bytes)),
                    _ => None,
                };
                let is_same = mode_before.is_none_or(|was| has_same_rights(was, *mode));
                let op = match (hash.is_some() && hash == was, is_same) {
                    (true, true) => continue,
                    (true, false) => FileOp::Chmod,
                    (false, _) => FileOp::Write,
                };
                let mut change = with_mode(FileChange::new(op, path.clone()), *mode);
                if change.op == FileOp::Write {
                    change.content = content;
                    change.was = was;
                }
                changes.push(change);
            }
        }
    }
    Ok(changes)
}

fn has_same_rights(one: u32, two: u32) -> bool {
    one & PERMISSIONS == two & PERMISSIONS
}

fn with_mode(mut change: FileChange, mode: u32) -> FileChange {
    change.mode = Some(mode);
    change
}

fn read(content: &Path, len: u64) -> io::Result<Content> {
    if len > LARGEST {
        return Ok(Content::Unstored {
            hash: None,
            len: Some(len),
        });
    }
    let mut bytes = Vec::new();
    sandbox::open(content)?.read_to_end(&mut bytes)?;
    Ok(Content::Bytes(bytes.into()))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> WorkbenchError {
    let path = path.to_owned();
    move |source| WorkbenchError::Io {
        path: path.clone(),
        source,
    }
}
