//! An open transaction: commands run in a sandbox, and what they changed is committed, all of
//! it, or not at all.
//!
//! It knows what was there when it began, and writes its tape as it goes. Until the commit
//! nothing in the workspace changes but `.jukebox`. It belongs to one process; others reach
//! it through [`hold`](super::hold).

mod outward;

use std::fs::DirBuilder;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::account::{Account, AccountError};
use super::base::{Base, is_forbidden};
use super::beside::{Beside, Whose};
use super::call;
use super::hold::LookUpError;
use super::live::Live;
use super::looks::{Looks, Moment};
use super::outcome::{Outcome, Outcomes, outcomes};
use super::plan::{Fingerprint, Operation, Plan, Supply, Want};
use super::{Committed, Pending, Preview, TransactionError, Workspace};
use crate::capture::CaptureError;
use crate::effects::{ConfigError, EffectError, RolledBack, Sent, Surroundings};
use crate::model::{Body, Edit, Event, Parent, TapePath};
use crate::sandbox::{self, ChangeSet, Exit, Missing, Sandbox, SandboxError};
use crate::tape::{RecordError, Redacting};
use crate::text::SafeText;
pub use outward::EffectCall;
use outward::Outward;

/// How an open transaction is kept apart from what others do to the workspace meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolation {
    /// What it writes must be as it was when it began; what it read may have changed.
    #[default]
    Writes,
    /// Everything must be as it was.
    Base,
}

impl Isolation {
    /// The fixed word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Base => "base",
        }
    }
}

/// What a transaction is to be.
#[derive(Clone, Debug)]
pub struct Begin {
    /// What it is called on its tape.
    pub id: String,
    /// The sandbox; it names the workspace.
    pub sandbox: sandbox::Config,
    /// How it is kept apart.
    pub isolation: Isolation,
    /// The tape, a new file. Directories above it are made.
    pub tape: PathBuf,
    /// What its effects find around them.
    pub surroundings: Surroundings,
    /// What was asked for, where it is one thing: it opens the tape.
    pub prompt: Option<String>,
    /// What else the tape's header says of what is covered.
    pub covers: Map<String, Value>,
    /// What is taken out before the tape is written; `None`: nothing. Effects are made from
    /// what was asked for, and not from what the tape says of it.
    pub redacting: Option<Redacting>,
    /// Of a fork that shares no event with its parent: which it left, and what is other in it.
    pub fork: Option<(Parent, Edit)>,
}

/// An open transaction did not do what it was asked for. What it has done is still there, and
/// the workspace is untouched.
#[derive(Debug, thiserror::Error)]
pub enum OpenTransactionError {
    /// The workspace, or the commit.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// The machine allows no sandbox.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The sandbox.
    #[error(transparent)]
    Sandbox(SandboxError),
    /// The tape cannot be written; without it nothing is run.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The workspace cannot be looked at.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A file cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be written down what is about to happen.
    #[error(transparent)]
    LookUp(#[from] LookUpError),
    /// A commit to this workspace was cut off, and has to be finished first.
    #[error("a commit to this workspace was cut off")]
    CutOff,
    /// An effect.
    #[error(transparent)]
    Effect(#[from] EffectError),
    /// What is declared of effects cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Nobody knows whether these effects were made, and a person is to say so first.
    #[error("{}", in_doubt(.0))]
    InDoubt(Vec<u32>),
    /// It was committed already.
    #[error("the transaction has ended")]
    Over,
    /// It was rolled back, and the tape could not be told.
    #[error("rolled back, and the tape does not say so: {0}")]
    Untold(String),
}

fn in_doubt(numbers: &[u32]) -> String {
    let effects: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("in doubt: effect {}", effects.join(", effect "))
}

/// A transaction that was committed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// What became of the files.
    pub committed: Committed,
    /// Whether the tape says so; or why it could not be told. Then nothing is sent.
    pub told: Result<(), String>,
    /// What became of the effects that waited; or why nobody could be told.
    pub sent: Result<Sent, String>,
}

impl From<SandboxError> for OpenTransactionError {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Missing(missing) => Self::Missing(missing),
            error => Self::Sandbox(error),
        }
    }
}

impl From<AccountError> for OpenTransactionError {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::Record(error) => Self::Record(error),
            AccountError::Capture(error) => Self::Capture(error),
            AccountError::Layer { path, source } => Self::Io { path, source },
        }
    }
}

/// A path that a commit would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposed {
    /// The path.
    pub path: TapePath,
    /// What it was when the transaction began.
    pub base: Fingerprint,
    /// What it is to be.
    pub ours: Fingerprint,
    /// Of a file, where its bytes lie; [`sandbox::open`] opens them.
    pub content: Option<std::ffi::OsString>,
}

/// An open transaction. Dropped, it is rolled back.
#[derive(Debug)]
pub struct Transaction {
    isolation: Isolation,
    /// Goes first: nobody may run while the rest is told.
    sandbox: Option<Sandbox>,
    workspace: PathBuf,
    base: Base,
    account: Option<Account>,
    looks: Looks,
    outward: Outward,
}

impl Transaction {
    /// Begins: starts the sandbox, looks at the workspace, and begins the tape.
    pub fn begin(begin: &Begin) -> Result<Self, OpenTransactionError> {
        let workspace = Workspace::open(&begin.sandbox.workspace)?;
        match workspace.status()?.pending {
            Pending::Nothing => {}
            Pending::Commit(_) => return Err(OpenTransactionError::CutOff),
            Pending::Damaged => return Err(TransactionError::Damaged.into()),
        }
        let sandbox = Sandbox::start(&begin.sandbox)?;
        let root = begin.sandbox.workspace.canonicalize();
        let root = root.map_err(io_at(&begin.sandbox.workspace))?;
        let mut base = Base::scan(&root).map_err(io_at(&root))?;
        if let Some(above) = begin.tape.parent() {
            let mut builder = DirBuilder::new();
            let made = builder.recursive(true).mode(0o700).create(above);
            made.map_err(io_at(above))?;
        }
        let mut covers = begin.covers.clone();
        let guard = format!("commands run in a sandbox: {}", sandbox.backend().as_str());
        covers.insert("sandbox".to_owned(), guard.into());
        covers.insert("isolation".to_owned(), begin.isolation.as_str().into());
        let account = Account::begin(begin, &root, covers, &mut base)?;
        if begin.isolation == Isolation::Base {
            base.know_all(&workspace)?;
        }
        Ok(Self {
            isolation: begin.isolation,
            sandbox: Some(sandbox),
            workspace: root,
            base,
            account: Some(account),
            looks: Looks::default(),
            outward: Outward::new(begin.surroundings.clone()),
        })
    }

    /// Where the layers of its sandbox lie.
    pub fn layers(&self) -> Option<&Path> {
        self.sandbox.as_ref().map(Sandbox::layers)
    }

    /// Runs a command to its end, and tells the tape what it said and changed. What it writes
    /// goes to `sink` as it comes; a break asks it to end.
    pub fn exec(
        &mut self,
        command: &sandbox::Command,
        sink: &mut dyn FnMut(sandbox::Said<'_>) -> ControlFlow<()>,
    ) -> Result<Exit, OpenTransactionError> {
        self.exec_beside(command, sink, None)
    }

    /// The same, and tells the tape what happens beside it.
    pub fn exec_beside(
        &mut self,
        command: &sandbox::Command,
        sink: &mut dyn FnMut(sandbox::Said<'_>) -> ControlFlow<()>,
        mut beside: Option<&mut dyn Beside>,
    ) -> Result<Exit, OpenTransactionError> {
        let workspace = Workspace::open(&self.workspace)?;
        let (Some(sandbox), Some(account)) = (&mut self.sandbox, &mut self.account) else {
            return Err(OpenTransactionError::Over);
        };
        let call = account.call(command)?;
        let parts = (account, &mut self.base);
        let mut live = Live::new(parts, &workspace, &mut self.looks, &call);
        let mut untold = Ok(());
        let wake = match &beside {
            Some(beside) => Some(beside.wake().try_clone_to_owned().map_err(talk)?),
            None => None,
        };
        let wake = wake.as_ref().map(std::os::fd::AsFd::as_fd);
        let exit = sandbox.exec_watched(command, wake, &mut |said, changes| {
            if untold.is_ok() {
                untold = live.hear(said, changes);
            }
            if untold.is_ok()
                && let Some(beside) = beside.as_deref_mut()
            {
                untold = live.beside(beside, changes);
            }
            match (&untold, sink(said)) {
                // What cannot be told is not to go on.
                (Err(_), _) => ControlFlow::Break(()),
                (Ok(()), wish) => wish,
            }
        });
        untold?;
        if let Some(beside) = beside {
            beside.end();
            live.beside(beside, sandbox.changes())?;
        }
        let said = live.finish()?;
        let is_anybody_left = sandbox.is_anybody_left();
        let left_out = match &exit {
            Err(SandboxError::Lost) => 0,
            _ => self.look(Whose::Call(&call), Moment::Ended { is_anybody_left })?,
        };
        let result = call::ends(&exit, said, left_out);
        self.parts()?.1.append(result, Some(&call))?;
        Ok(exit?)
    }

    /// A socket that listens at the loopback of commands, which nobody else reaches.
    pub fn listen(&mut self) -> Result<std::os::fd::OwnedFd, OpenTransactionError> {
        Ok(self.parts()?.0.listen()?)
    }

    /// The run ends like this, and not well in any case.
    pub fn end_as(&mut self, outcome: crate::model::Outcome) {
        if let Some(account) = &mut self.account {
            account.end_as(outcome);
        }
    }

    /// Remembers what the workspace is, under a name. Every process is killed first.
    pub fn savepoint(&mut self, name: &str) -> Result<(), OpenTransactionError> {
        self.settle()?;
        let (sandbox, account) = self.parts()?;
        sandbox.savepoint(name)?;
        let at = account.edge(Body::TxnSavepoint {
            name: name.to_owned(),
        })?;
        self.outward.saved(name, at);
        Ok(())
    }

    /// Makes the workspace what it was at a savepoint, and takes back what was done outside
    /// since. Every process is killed first.
    pub fn roll_back_to(&mut self, name: &str) -> Result<RolledBack, OpenTransactionError> {
        self.declare_if_needed()?;
        let (sandbox, _) = self.parts()?;
        sandbox.roll_back_to(name)?;
        let account = self.account.as_mut().ok_or(OpenTransactionError::Over)?;
        let done = self.outward.take_back(account, Some(name))?;
        let to = Some(name.to_owned());
        account.edge(Body::TxnRollback { to })?;
        let set = self.change_set()?;
        self.looks.go_back(outcomes(&set, &self.base));
        Ok(done)
    }

    /// What a commit would do to the workspace as it is now. Nothing is written.
    pub fn preview(&mut self) -> Result<Preview, OpenTransactionError> {
        let (plan, _) = self.plan()?;
        Ok(Workspace::open(&self.workspace)?.preview(&plan)?)
    }

    /// What a commit would change of what was there when the transaction began.
    pub fn proposed(&mut self) -> Result<Vec<Proposed>, OpenTransactionError> {
        let (plan, outcomes) = self.plan()?;
        let account = self.account.as_mut().ok_or(OpenTransactionError::Over)?;
        let mut proposed = Vec::new();
        for Operation { path, base, .. } in plan.operations {
            let Some(outcome) = outcomes.get(&path) else {
                continue;
            };
            let content = match outcome {
                Outcome::File(written) => Some(written.content.clone().into()),
                _ => None,
            };
            proposed.push(Proposed {
                ours: fingerprint(outcome, account)?,
                path,
                base,
                content,
            });
        }
        Ok(proposed)
    }

    /// Commits. Every process is killed first. After an error the transaction is still open.
    ///
    /// What waits for the commit is sent after it; what stops it there does not take the commit
    /// back. Nothing is committed as long as an effect is in doubt. Where the tape cannot be told
    /// of the commit, nothing is sent: an effect on it would be one of a transaction that may
    /// still be rolled back, for all that the tape knows.
    pub fn commit(&mut self) -> Result<Ended, OpenTransactionError> {
        self.leave_no_doubt()?;
        self.settle()?;
        let done = match self.commit_files() {
            // It was written through a mapping, and no stat said so.
            Err(OpenTransactionError::Transaction(error)) if error.is_of_other_bytes() => {
                self.looks.doubt_all();
                self.settle()?;
                self.commit_files()?
            }
            done => done?,
        };
        // From here on it is committed, whatever can be told of it.
        self.sandbox = None;
        let mut told = Ok(());
        let mut sent = Ok(Sent::default());
        if let Some(mut account) = self.account.take() {
            told = account.edge(Body::TxnCommit).map(|_| ());
            sent = match &told {
                Ok(()) => self.outward.send(&mut account),
                Err(_) => Ok(self.outward.unsent(&mut account)),
            };
            if told.is_ok() {
                told = account.close();
            }
        }
        Ok(Ended {
            committed: done,
            told: told.map_err(|error| error.to_string()),
            sent: sent.map_err(|error| error.to_string()),
        })
    }

    fn commit_files(&mut self) -> Result<Committed, OpenTransactionError> {
        let (plan, _) = self.plan()?;
        Ok(Workspace::open(&self.workspace)?.commit(&plan)?)
    }

    /// Ends all processes, forgets what they changed, takes back what was done outside, and ends
    /// the tape. Where it cannot be read how to take it back, the transaction is still open.
    pub fn roll_back(&mut self) -> Result<RolledBack, OpenTransactionError> {
        self.declare_if_needed()?;
        self.sandbox = None;
        let done = match &mut self.account {
            Some(account) => self.outward.take_back(account, None),
            None => return Err(OpenTransactionError::Over),
        };
        let told = self.take_back();
        let done = done?;
        told.map_err(|error| OpenTransactionError::Untold(error.to_string()))?;
        Ok(done)
    }

    /// Whether it was committed or rolled back.
    pub const fn is_over(&self) -> bool {
        self.account.is_none()
    }

    /// Ends all processes and the tape, and leaves what was written on disk, for somebody to
    /// look at; `why` stands on the tape.
    pub fn abandon(mut self, why: &str) -> Result<(), OpenTransactionError> {
        if let Some(sandbox) = self.sandbox.take() {
            sandbox.abandon();
        }
        if let Some(mut account) = self.account.take() {
            let text = why.to_owned();
            account.append(Event::new(Body::Note { text }), None)?;
            account.close()?;
        }
        Ok(())
    }

    fn take_back(&mut self) -> Result<(), OpenTransactionError> {
        self.sandbox = None;
        if let Some(mut account) = self.account.take() {
            account.edge(Body::TxnRollback { to: None })?;
            account.close()?;
        }
        Ok(())
    }

    fn parts(&mut self) -> Result<(&mut Sandbox, &mut Account), OpenTransactionError> {
        match (&mut self.sandbox, &mut self.account) {
            (Some(sandbox), Some(account)) => Ok((sandbox, account)),
            _ => Err(OpenTransactionError::Over),
        }
    }

    /// Kills every process, and tells what those did whom the calls had left.
    pub fn settle(&mut self) -> Result<(), OpenTransactionError> {
        self.parts()?.0.stop()?;
        self.look(Whose::Nobody, Moment::Stopped)?;
        Ok(())
    }

    /// Looks at what changed since the last look, and tells the tape; how many paths it leaves
    /// out.
    fn look(&mut self, whose: Whose<'_>, moment: Moment) -> Result<usize, OpenTransactionError> {
        let workspace = Workspace::open(&self.workspace)?;
        let (Some(sandbox), Some(account)) = (&self.sandbox, &mut self.account) else {
            return Err(OpenTransactionError::Over);
        };
        let places = (account, &mut self.base, &workspace);
        self.looks.look(sandbox.changes(), places, (whose, moment))
    }

    fn change_set(&self) -> Result<ChangeSet, OpenTransactionError> {
        let sandbox = self.sandbox.as_ref().ok_or(OpenTransactionError::Over)?;
        Ok(sandbox.change_set()?)
    }

    /// What the transaction wants of the workspace, and what it found there.
    fn plan(&mut self) -> Result<(Plan, Outcomes), OpenTransactionError> {
        let set = self.change_set()?;
        let outcomes = outcomes(&set, &self.base);
        let workspace = Workspace::open(&self.workspace)?;
        let account = self.account.as_mut().ok_or(OpenTransactionError::Over)?;
        let mut plan = Plan {
            transaction: Some(account.parts().1.to_owned()),
            ..Plan::default()
        };
        for (path, sort) in set.refused {
            let path = path.into_os_string().into_encoded_bytes();
            let Ok(named) = TapePath::new(&path) else {
                let path = SafeText::from_bytes(&path);
                let reason = format!("it is a {sort}");
                return Err(TransactionError::Refused { path, reason }.into());
            };
            plan.refused.push((named, sort.to_owned()));
        }
        for (path, outcome) in &outcomes {
            let base = self.base.pin(path, &workspace)?;
            let ours = fingerprint(outcome, account)?;
            if ours == base {
                continue;
            }
            // What cannot be kept while the commit is made, or for its undo, is not replaced.
            let sort = match &base {
                Fingerprint::Other => Some("FIFO, a socket or a device"),
                Fingerprint::Unread => {
                    let found = workspace.look(path);
                    let is_closed = found.is_err_and(|error| is_forbidden(&error));
                    is_closed.then_some("file that cannot be read")
                }
                _ => None,
            };
            if let Some(sort) = sort {
                plan.refused.push((path.clone(), sort.to_owned()));
                continue;
            }
            let want = match outcome {
                Outcome::Absent => Want::Absent,
                Outcome::Directory { mode } => Want::Directory { mode: Some(*mode) },
                Outcome::Link(target) => Want::Link(target.clone()),
                Outcome::File(written) => Want::File {
                    content: Supply::Layer {
                        path: written.content.clone(),
                        hash: account.hash(written).map_err(io_at(&written.content))?,
                        len: written.len,
                    },
                    mode: Some(written.mode),
                    mtime: Some(written.mtime),
                },
            };
            let path = path.clone();
            plan.operations.push(Operation { path, base, want });
        }
        if self.isolation == Isolation::Base {
            plan.reads = self.base.stirred().map_err(io_at(&self.workspace))?;
        }
        Ok((plan, outcomes))
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // The tape says so where it can; the workspace was never touched.
        let _ = self.take_back();
    }
}

fn fingerprint(
    outcome: &Outcome,
    account: &mut Account,
) -> Result<Fingerprint, OpenTransactionError> {
    Ok(match outcome {
        Outcome::Absent => Fingerprint::Absent,
        Outcome::Directory { mode } => Fingerprint::Directory { mode: Some(*mode) },
        Outcome::Link(target) => Fingerprint::Link(target.clone()),
        Outcome::File(written) => Fingerprint::File {
            hash: account.hash(written).map_err(io_at(&written.content))?,
            len: Some(written.len),
            mode: Some(written.mode),
        },
    })
}

fn talk(error: io::Error) -> OpenTransactionError {
    OpenTransactionError::Sandbox(SandboxError::Talk(error))
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> OpenTransactionError {
    let path = path.to_owned();
    move |source| OpenTransactionError::Io { path, source }
}
