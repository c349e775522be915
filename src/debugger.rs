//! Everything a shell of the program can ask of a run, as plain data.
//!
//! A [`Debugger`] holds an open tape, its index and its files. It answers with the rows of
//! [`rows`](self): text in them is safe to show. What costs file reads is said in each
//! method; none of them costs more because the tape is longer.
//!
//! It never prints, never reads the environment, and knows no terminal. Paths of the
//! user's directories come in as [`Places`].

mod agents;
mod begin_fork;
mod begun;
mod behind;
mod bisect;
mod blame;
mod change_list;
mod checkout;
mod command;
mod compact;
mod compare;
mod context;
mod conversation;
mod detail;
mod difference;
mod effects;
mod environment;
mod export;
mod files;
mod follow;
mod fork;
mod hooks;
mod import;
mod left;
mod like;
mod lineage;
mod marks;
mod models;
mod named;
mod notes;
mod open;
mod own_transaction;
mod parents;
mod patch;
mod paths;
mod reading;
mod recent;
mod recording;
mod replay;
mod requests;
mod restore;
mod rows;
mod runs;
mod sandbox;
mod search;
mod secrets;
mod spots;
mod state_file;
mod statistics;
mod test_cases;
mod timeline;
mod title;
mod transaction_view;
mod transactions;
mod tree;
mod trees;
mod verify;
mod versions;
mod words;

pub use crate::effects::{
    Answer as EffectAnswer, ConfigError, Declarations, EffectError, EffectState,
    Entry as LedgerEntry, Fate, MAX_REQUEST, RolledBack, Sent, Settlement, Source as EffectSource,
    Surroundings, Unfinished, UnfinishedError,
};
pub use begin_fork::{BeginForkError, BegunFork};
pub use bisect::{
    BisectError, BisectNews, BisectOptions, BisectOutcome, BisectScope, Bisection, FirstBad,
    Predicate, PredicateError, ProbeCommand, ProbeRow, Question, QuestionError, Sandboxing, Test,
    Verdict as BisectVerdict,
};
pub use blame::{BlameLine, BlameOrigin, BlameView, Writer};
pub use change_list::ChangeList;
pub use checkout::{
    Checkout, CheckoutError, CheckoutOptions, CheckoutReport, CheckoutRow, Doubt, OutsideLinks,
    Skipped,
};
pub use command::{
    Cause, CommandError, CommandOptions, CommandRun, CommandStatus, Exit, Kept, Said, code_of,
};
pub use compact::{CompactError, CompactOptions, Compacted};
pub use compare::{Alignment, LeafRow, Pair, Parts, Relation, Stretch, Tally};
pub use context::{
    ContextCell, ContextRun, ContextView, LeadingSection, ReadRow, Recorded, Staleness, TurnTokens,
};
pub use conversation::{Spoken, Turn, Utterance};
pub use effects::{LedgerRow, LedgerView, Standing};
pub use environment::{EffectRow, EnvironmentView};
pub use export::{
    CaseCut, CaseFiles, CaseForm, CaseKept, CaseMeans, CaseOffer, CaseOptions, CutRow,
    EvaluationOffer, ExportError, ExportedCase, MinimalError, PreparedCase, PreparedEvaluation,
    Shrinking, Uncertain, WhileShrinking,
};
pub use follow::{Anew, Look, Refresh, Watch};
pub use fork::{
    AgentFailure, AgentForked, Altered, Document, DocumentError, EditRefused, Editable, Endpoint,
    EndpointError, FirstRequest, ForkAgent, ForkEdit, ForkError, ForkFailure, ForkGround,
    ForkModel, ForkOptions, ForkPlan, ForkThen, Forked, ForkedStep, Miss, MissRow, ModelRefused,
    Output as StepOutput, PlannedCall, PlannedHow, Reading, Script, ScriptError, Stopped,
    UnknownPart, VolatileParts,
};
pub use hooks::{
    Delivery, Door, Edit, EditError, Finished, HookPlaces, Inbox, Installed, Recorders, Spool,
    Stop, deliver, install, installed, serve, uninstall,
};
pub use import::{EditCounts, ImportError, ImportReport, import, import_report};
pub use left::{Left, LeftFocus, LeftView};
pub use like::LikeView;
pub use lineage::{
    ForkAccount, ForkPoint, ForkPoints, ForkRow, ForkSearch, LineageError, Presence,
};
pub use marks::is_mark_name;
pub use models::{
    AddressError, Api, Divergence, LinkMode, ModelReport, Models, ModelsError, ModelsFrom,
    RecordedError, STREAMS, StreamLink, StreamLinkError, StreamsReport, Upstream,
};
pub use notes::{MAX_NOTE, Notes};
pub use open::{Debugger, IndexCache, OpenError, OpenOptions, Places, Source};
pub use own_transaction::{
    LinkError, Prospect, TransactionEnd, TransactionEnded, TransactionLink, TransactionStanding,
};
pub use patch::{Patch, PatchForm};
pub use reading::{Rest, Slice};
pub use recent::RecentRun;
pub use recording::{RecordError, Recording, RecordingError, RecordingOptions, Reply, SyncPolicy};
pub use replay::{
    How, Reason, Replay, ReplayOptions, ReplayedCall, Verdict, WorkbenchConfig, WorkbenchError,
};
pub use restore::{
    Committed, Conflict, Done, Fingerprint, LeftAlone, LeftReason, Pending, Plan, Preview,
    Previewed, Recovery, Restore, Status, TransactionError, Workspace,
};
pub use rows::*;
pub use runs::{MAX_TRANSCRIPTS, RunRow, RunSort, RunSource};
pub use sandbox::{
    Backend, Finding, Guarantee, HELPER_VERB, Probe, Tested, probe_sandbox, serve_sandbox,
};
pub use search::{QueryError, Search};
pub use secrets::{
    LeakRow, RedactError, Redacted, Redacting, SecretRules, SecretSource, SecretsError, redacting,
    redactor,
};
pub use spots::{Direction, LocateError};
pub use statistics::{ChurnRow, Count, Statistics, ToolRow};
pub use test_cases::{CaseError, CaseRow, CaseStanding, TestCasesError, TestOptions, test_cases};
pub use transaction_view::TransactionView;
pub use transactions::{
    CallRequest, EffectCall, Ended, EndedTransaction, Entry, HOLDER_VERB, HeldState,
    HeldTransaction, HoldBegin, HoldError, Isolation, LookUpError, OpenTransactionError, Proposed,
    Registry, SalvageError, Salvaged, SandboxError, Stream, TellError, Told, allowed_environment,
    begin_transaction, conflict_patch, proposed_patch, salvage, serve_transaction,
};
pub use tree::Expanded;
pub use verify::{Verified, VerifyStats};

/// Something of a tape could not be read when it was wanted.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("the tape could not be read: {0}")]
    Io(#[from] std::io::Error),
    /// There is no such event.
    #[error("the tape has no event {0}")]
    NoEvent(crate::model::Seq),
    /// The path is not there, at this place.
    #[error("{0} is not there at this place")]
    NoFile(crate::text::SafeText),
}
