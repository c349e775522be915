//! Why a command ends, in one line, and the code it ends with.
//!
//! The line says what happened, what is still safe where that is in doubt, and what to type
//! next. Faults of the program itself are another matter: [`report_faults`] prints them.

use std::io;

use color_eyre::config::{HookBuilder, Theme};

use crate::debugger::{
    BisectError, CheckoutError, CommandError, CompactError, ConfigError, EffectError, HoldError,
    ImportError, LocateError, LookUpError, ModelsError, OpenError, OpenTransactionError,
    PredicateError, QueryError, ReadError, RecordError, RecordingError, RedactError, SalvageError,
    SandboxError, SecretsError, TellError, TransactionError, UnfinishedError,
};
use crate::model::{PathError, PlaceError};
use crate::text::sanitize_block;

/// How a command ended, where all went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done.
    Yes,
    /// Done, and the answer is no: trees differ, a problem was found.
    No,
    /// Somebody else ended it, with this code, and there is nothing to say about it.
    Ended(u8),
}

impl Answer {
    /// A fault of the program ended it. It was reported when it happened.
    pub const FAULT: Self = Self::Ended(101);

    /// The signal of this number ended it: the code is the one that shells use.
    pub fn signal(number: i32) -> Self {
        Self::Ended(u8::try_from(128 + number).unwrap_or(u8::MAX))
    }

    /// `No` if something stands against a yes.
    pub(super) fn no_if(is_no: bool) -> Self {
        if is_no { Self::No } else { Self::Yes }
    }

    /// The code that the program ends with.
    pub fn code(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
            Self::Ended(code) => code,
        }
    }
}

/// Why a command ended before it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    kind: Kind,
    line: String,
}

/// The sort of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nobody reads any more, which is no error.
    NobodyReads,
    /// Done, and the answer is no.
    No,
    /// The call or its input is unusable.
    Unusable,
    /// What is there must not be overwritten. Nothing was written.
    Conflict,
    /// The machine does not allow it.
    Machine,
    /// A signal ended it, of this number.
    Signal(i32),
}

impl Failure {
    /// The answer is no, for this reason.
    pub fn no(line: impl Into<String>) -> Self {
        Self::new(Kind::No, line)
    }

    /// The call or its input is unusable.
    pub fn unusable(line: impl Into<String>) -> Self {
        Self::new(Kind::Unusable, line)
    }

    /// What is there must not be overwritten.
    pub fn conflict(line: impl Into<String>) -> Self {
        Self::new(Kind::Conflict, line)
    }

    /// The machine does not allow it.
    pub fn machine(line: impl Into<String>) -> Self {
        Self::new(Kind::Machine, line)
    }

    /// It ended early, and there is nothing to say about it.
    pub(super) fn stopped() -> Self {
        Self::new(Kind::NobodyReads, "")
    }

    /// The same, because of this signal: the code is the one that shells use.
    pub(super) fn ended_by(self, signal: i32) -> Self {
        Self::new(Kind::Signal(signal), self.line)
    }

    fn new(kind: Kind, line: impl Into<String>) -> Self {
        Self {
            kind,
            line: line.into(),
        }
    }

    /// The code that the program ends with.
    pub fn code(&self) -> u8 {
        match self.kind {
            Kind::NobodyReads => 0,
            Kind::No => 1,
            Kind::Unusable => 2,
            Kind::Conflict => 3,
            Kind::Machine => 4,
            Kind::Signal(number) => Answer::signal(number).code(),
        }
    }

    /// What to say of it, not yet made safe; `None` where there is nothing to say.
    pub(super) fn line(&self) -> Option<&str> {
        (!self.line.is_empty()).then_some(&self.line)
    }
}

/// What went wrong in writing the output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Kind::NobodyReads, ""),
            _ => Self::machine(format!("the output could not be written: {error}")),
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let hint = match &error {
            OpenError::NotFound(_) => "; `jukebox demo` opens one that is built in",
            OpenError::IsDirectory(_) => "; name a file in it, or choose one by `jukebox` alone",
            OpenError::Empty(_) => "; nothing was recorded in it yet",
            OpenError::IsTape(_) => "; `jukebox open TAPE` opens it",
            OpenError::UnknownFormat(_)
            | OpenError::NotYet { .. }
            | OpenError::NothingReadable { .. } => "; the file is untouched",
            OpenError::Import(_) | OpenError::Io(..) | OpenError::Stopped(_) => "",
        };
        match error {
            OpenError::Import(error) => (*error).into(),
            OpenError::Stopped(_) => Self::stopped(),
            error => Self::unusable(format!("{error}{hint}")),
        }
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Open(error) => error.into(),
            ImportError::Base(error) => {
                Self::unusable(format!("{error}; --base takes a directory, or git:COMMIT"))
            }
            ImportError::Stopped => Self::no(format!("{error}; nothing was written")),
            ImportError::Read(_) => Self::unusable(format!("{error}; nothing was written")),
            ImportError::Exists(_) => {
                Self::conflict(format!("{error}; nothing was written: name a new file"))
            }
            ImportError::Write(_) | ImportError::Place(_) => {
                Self::machine(format!("{error}; the transcript is untouched"))
            }
        }
    }
}

impl From<PlaceError> for Failure {
    fn from(error: PlaceError) -> Self {
        Self::unusable(error.to_string())
    }
}

impl From<LocateError> for Failure {
    fn from(error: LocateError) -> Self {
        let hint = match &error {
            LocateError::NothingFailed | LocateError::NoMark(_) => "",
            _ => "; `jukebox log TAPE` lists the steps",
        };
        match error {
            LocateError::NothingFailed => Self::no(error.to_string()),
            error => Self::unusable(format!("{error}{hint}")),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NoFile(_) => Self::no(format!(
                "{error}; `jukebox tree TAPE@STEP` lists what is there"
            )),
            error => Self::unusable(error.to_string()),
        }
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self::unusable(error.to_string())
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        Self::unusable(error.to_string())
    }
}

impl From<CheckoutError> for Failure {
    fn from(error: CheckoutError) -> Self {
        match error {
            CheckoutError::NotEmpty(_) | CheckoutError::NotADirectory(_) => Self::conflict(
                format!("{error}; nothing was written: name a new or an empty directory"),
            ),
            CheckoutError::Directory { .. } | CheckoutError::NotRemoved { .. } => {
                Self::unusable(format!("{error}; nothing was written"))
            }
            CheckoutError::BrokenOff { .. } => Self::no(format!(
                "{error}; they are still there, and nothing else was touched"
            )),
            CheckoutError::Stopped { .. } => Self::machine(format!(
                "{error}; they are still there, and nothing else was touched"
            )),
        }
    }
}

impl From<TransactionError> for Failure {
    fn from(error: TransactionError) -> Self {
        let line = error.advised();
        match error {
            TransactionError::Open { .. }
            | TransactionError::State
            | TransactionError::Refused { .. } => Self::unusable(line),
            TransactionError::Locked
            | TransactionError::Conflicts(_)
            | TransactionError::Damaged => Self::conflict(line),
            TransactionError::NothingToUndo => Self::no(line),
            TransactionError::Unsupported
            | TransactionError::Prepare(_)
            | TransactionError::TakenBack(_)
            | TransactionError::Interrupted(_) => Self::machine(line),
        }
    }
}

impl From<LookUpError> for Failure {
    fn from(error: LookUpError) -> Self {
        let line = error.advised();
        match error {
            LookUpError::Io { .. } => Self::machine(line),
            LookUpError::None(_) | LookUpError::Several(..) => Self::unusable(line),
        }
    }
}

impl From<HoldError> for Failure {
    fn from(error: HoldError) -> Self {
        let line = error.advised();
        match error {
            HoldError::LookUp(error) => error.into(),
            HoldError::Open(error) => error.into(),
            HoldError::Abandoned(_) | HoldError::Committed(_) | HoldError::RolledBack(_) => {
                Self::unusable(line)
            }
            HoldError::Busy
            | HoldError::Attended(_)
            | HoldError::CutOff(_)
            | HoldError::Unclear(_) => Self::conflict(line),
            HoldError::Lost | HoldError::Words(_) | HoldError::Talk(_) | HoldError::Output(_) => {
                Self::machine(line)
            }
        }
    }
}

impl From<OpenTransactionError> for Failure {
    fn from(error: OpenTransactionError) -> Self {
        let line = error.advised();
        match error {
            OpenTransactionError::Transaction(error) => error.into(),
            OpenTransactionError::Sandbox(
                SandboxError::NoSavepoint(_)
                | SandboxError::SavepointExists(_)
                | SandboxError::NoCommand
                | SandboxError::NotStarted(_),
            ) => Self::unusable(line),
            OpenTransactionError::Effect(error) => error.into(),
            OpenTransactionError::Config(error) => error.into(),
            OpenTransactionError::InDoubt(_) | OpenTransactionError::CutOff => Self::conflict(line),
            OpenTransactionError::Untold(_) => Self::no(line),
            _ => Self::machine(line),
        }
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Open(OpenTransactionError::Record(error @ RecordError::Exists(_))) => {
                Self::conflict(format!("{error}; nothing was run: name a new file"))
            }
            CommandError::Open(error) => error.into(),
            CommandError::TooMuch(_) => Self::unusable(format!(
                "{error}; nothing was run: --dir names the workspace, or say --allow-home"
            )),
            CommandError::Workspace { .. } => {
                Self::unusable(format!("{error}; nothing was run: --dir takes a directory"))
            }
            CommandError::LookUp(error) => error.into(),
            CommandError::Models(error) => error.into(),
        }
    }
}

impl From<ModelsError> for Failure {
    fn from(error: ModelsError) -> Self {
        match error {
            ModelsError::Open { .. } | ModelsError::Volatile(_) => {
                Self::unusable(format!("{error}; nothing was run"))
            }
            ModelsError::Tape { .. } => Self::unusable(format!(
                "{error}; nothing was run and nothing was reached: `jukebox record --model` makes \
                 a tape that can answer, and `jukebox verify` says what is wrong with this one"
            )),
            ModelsError::Server(_) => Self::machine(format!("{error}; nothing was run")),
        }
    }
}

impl From<PredicateError> for Failure {
    fn from(error: PredicateError) -> Self {
        Self::unusable(error.to_string())
    }
}

impl From<BisectError> for Failure {
    fn from(error: BisectError) -> Self {
        match error {
            BisectError::Aborted(..) => Self::unusable(format!(
                "{error}, and from 128 on that means stop; a script around it can end with 1"
            )),
            BisectError::BrokenOff => Self::no(error.to_string()),
            BisectError::Scratch { .. } => {
                Self::machine(format!("{error}; TMPDIR names another place"))
            }
            BisectError::Checkout(CheckoutError::BrokenOff { .. }) => Self::no("stopped"),
            BisectError::Checkout(error) => Self::machine(format!(
                "{error}; nothing of it is left: TMPDIR names another place"
            )),
            BisectError::Sandbox(SandboxError::Missing(_)) => Self::machine(format!(
                "{error}; nothing was run (`jukebox doctor` says more)"
            )),
            BisectError::Sandbox(_) => Self::machine(error.to_string()),
        }
    }
}

impl From<SalvageError> for Failure {
    fn from(error: SalvageError) -> Self {
        match error {
            SalvageError::NotAbandoned(..) => Self::unusable(format!("{error}; nothing was done")),
            SalvageError::NotEmpty(_) => Self::conflict(format!(
                "{error}; nothing was written: name a new or an empty directory"
            )),
            error => Self::machine(format!("{error}; what it had written is still there")),
        }
    }
}

impl From<TellError> for Failure {
    fn from(error: TellError) -> Self {
        match error {
            TellError::NotCommitted(..) => Self::unusable(format!("{error}; nothing was done")),
            TellError::Tape(error) => error.into(),
            TellError::Layers(error) => Self::machine(error.to_string()),
            TellError::LookUp(error) => error.into(),
        }
    }
}

impl From<RecordingError> for Failure {
    fn from(error: RecordingError) -> Self {
        let line = error.to_string();
        match error {
            RecordingError::Record(RecordError::Exists(_)) => {
                Self::conflict(format!("{line}: name a new file"))
            }
            RecordingError::Record(RecordError::Lost { .. }) => Self::machine(format!(
                "{line}; the tape is whole but for them, and says where they are missing"
            )),
            RecordingError::Record(_) => Self::machine(line),
            RecordingError::Capture(_) | RecordingError::Nested(..) => {
                Self::unusable(format!("{line}; nothing was recorded"))
            }
            RecordingError::TooMuch(_) => Self::unusable(format!(
                "{line}; nothing was recorded: name the workspace, or say --allow-home"
            )),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::unusable(format!("{error}; nothing was done"))
    }
}

impl From<UnfinishedError> for Failure {
    fn from(error: UnfinishedError) -> Self {
        match error {
            UnfinishedError::Effect(error) => error.into(),
            UnfinishedError::Tape(error @ RecordError::Locked { .. }) => {
                Self::conflict(format!("{error}; nothing was done"))
            }
            UnfinishedError::Tape(RecordError::Open { .. } | RecordError::NotATape(_)) => {
                Self::unusable(format!("{error}; nothing was done"))
            }
            UnfinishedError::Tape(_) | UnfinishedError::Read(_) => {
                Self::machine(format!("{error}; nothing was done"))
            }
        }
    }
}

impl From<EffectError> for Failure {
    fn from(error: EffectError) -> Self {
        let hint = match &error {
            EffectError::InDoubt { number, .. } => {
                format!("; `jukebox effects TAPE --settle {number}=done` says that it was")
            }
            EffectError::Unrecorded { number, .. } => format!(
                "; it is in doubt: `jukebox effects TAPE --settle {number}=done` says that it was"
            ),
            EffectError::KeyReused { .. } | EffectError::TakenBack { .. } => {
                "; nothing was done: take another key".to_owned()
            }
            EffectError::Settled { .. } | EffectError::NoEffect(_) => {
                "; `jukebox effects TAPE` lists them".to_owned()
            }
            _ => "; nothing was done".to_owned(),
        };
        let line = format!("{error}{hint}");
        match error {
            EffectError::InDoubt { .. }
            | EffectError::Redacted(_)
            | EffectError::KeyReused { .. }
            | EffectError::TakenBack { .. }
            | EffectError::Waits { .. } => Self::conflict(line),
            EffectError::Undeclared { .. }
            | EffectError::Arguments { .. }
            | EffectError::TooLarge { .. }
            | EffectError::Key
            | EffectError::Settled { .. }
            | EffectError::NoEffect(_) => Self::unusable(line),
            EffectError::Network(_)
            | EffectError::Intent(_)
            | EffectError::Unrecorded { .. }
            | EffectError::Read { .. } => Self::machine(line),
        }
    }
}

impl From<SecretsError> for Failure {
    fn from(error: SecretsError) -> Self {
        match error {
            SecretsError::Rule(_) => Self::unusable(error.to_string()),
            SecretsError::Config(error) => error.into(),
            SecretsError::Key { .. } => Self::machine(format!(
                "the key of placeholders cannot be read or made: {error}; nothing was written"
            )),
        }
    }
}

impl From<RedactError> for Failure {
    fn from(error: RedactError) -> Self {
        match error {
            RedactError::Record(error @ RecordError::Exists(_)) => {
                Self::conflict(format!("{error}; nothing was written: name a new file"))
            }
            RedactError::Record(error) => {
                Self::machine(format!("{error}; the old tape is untouched"))
            }
            RedactError::Io { ref source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Self::unusable(format!("{error}; nothing was written"))
            }
            RedactError::Io { .. } => Self::machine(format!("{error}; the old tape is untouched")),
            RedactError::Fork => Self::unusable(format!(
                "{error}; `jukebox compact --standalone FORK -o NEW` makes it whole"
            )),
            RedactError::Stopped => Self::no(format!(
                "{error}; nothing was written, and the old tape is untouched"
            )),
            RedactError::Wrong(_) => Self::no(error.to_string()),
        }
    }
}

impl From<CompactError> for Failure {
    fn from(error: CompactError) -> Self {
        match error {
            CompactError::Exists(_) => {
                Self::conflict(format!("{error}; nothing was written: name a new file"))
            }
            CompactError::Io { ref source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Self::unusable(format!("{error}; nothing was written"))
            }
            CompactError::KeepFrom(_) => Self::unusable(format!("{error}; nothing was written")),
            CompactError::Fork => {
                Self::unusable(format!("{error}; nothing was written: add --standalone"))
            }
            CompactError::Alone => Self::unusable(format!(
                "{error}; nothing was written: `--parent FILE` names it"
            )),
            CompactError::Io { .. } => Self::machine(format!("{error}; the old tape is untouched")),
            CompactError::Stopped => Self::no(format!(
                "{error}; nothing was written, and the old tape is untouched"
            )),
            CompactError::Differs(_) => Self::no(error.to_string()),
        }
    }
}

/// From now on a panic prints a report that is safe to show: it may quote a tape.
pub fn report_faults() {
    let (hook, _) = HookBuilder::blank()
        .theme(Theme::new())
        .panic_section("This is a fault of Jukebox, not of the tape, which is untouched.")
        .into_hooks();
    std::panic::set_hook(Box::new(move |panic| {
        let report = format!("{}\n", hook.panic_report(panic));
        super::output::complain(&sanitize_block(report));
    }));
}
