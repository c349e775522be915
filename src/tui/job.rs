//! What the screen may ask of the worker, and what comes back.
//!
//! A request carries a generation and its reply carries the same one, so that an answer
//! nobody waits for any more is told from one that somebody does. Nothing here works.

mod export;
mod fork;
mod fork_tree;
mod opened;
mod places;
mod probing;
mod progress;
mod slot;
mod transaction;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::conversation::TurnLines;
use super::difference::OpenDiff;
use super::document::Document;
use super::highlight::Painted;
use super::reading::{ContextLines, ReadingRow, RequestReading, StepReading};
use crate::debugger::{
    AgentRow, Alignment, BlameView, ChangeList, ChangeRow, Expanded, FileView, HitRow, Left,
    NamedFile, Refresh, RunRow, RunSource, Spot, Statistics, StepRow, StripCell, Summary, TreeRow,
};
use crate::model::{Cursor, Seq, TapePath};
use crate::text::SafeText;

pub use self::export::{CaseOffered, ExportAnswer, ExportJob, Keep, NoCase, Prepared};
pub use self::fork::{ForkAnswer, ForkJob, ForkMade, ForkUnmade, ForkUnread, PlannedFork};
pub use self::fork_tree::{ForkTreeAnswer, ForkTreeJob};
pub use self::opened::{Changes, OpenFile, OpenedRun, SharedRun};
pub use self::places::{Base, Counterpart, Jump, Landmark, Stop};
pub use self::probing::BisectStep;
pub use self::progress::{Progress, Reading, ReadingState};
pub use self::slot::Slot;
pub use self::transaction::{
    LineCount, PatchOf, PatchRow, PatchSort, TransactionAnswer, TransactionJob,
};

/// A job, and the number by which its reply is known.
#[derive(Clone, Debug)]
pub struct Request {
    /// Grows with every request.
    pub generation: u64,
    /// What is asked.
    pub job: Job,
}

/// Something to find out. Of the jobs that share a [`Slot`] only the newest matters.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// Tell me when the file may have changed, from now on.
    Watch,
    /// Do not tell me any more.
    Unwatch,
    /// Read what was written since, of both runs.
    Refresh,
    /// Read on where the reading of the run is, to its end.
    ReadOn,
    /// Stop there.
    StopReading,
    /// What the head of the screen says.
    Summary,
    /// What is wrong with the file, as far as anybody reads.
    Problems,
    /// What was left at the run.
    Left,
    /// Keep this for the next time, and the run in the list of those that were opened.
    Keep(Box<Left>),
    /// The runs that can be opened.
    Runs,
    /// Stop looking for them.
    StopRuns,
    /// Open another run.
    OpenRun(RunSource),
    /// Where the playhead goes.
    Jump(Jump),
    /// These rows of the timeline.
    Timeline {
        /// The branch that numbers the steps.
        branch: u16,
        /// From 1.
        steps: Range<u32>,
    },
    /// The rows of these steps of the timeline.
    Steps {
        /// The branch that numbers them.
        branch: u16,
        /// From 1, in order.
        steps: Vec<u32>,
    },
    /// The sub-agents with steps on a branch.
    Agents {
        /// The branch.
        branch: u16,
    },
    /// The files that a step may be about.
    FilesOfStep {
        /// Which step.
        at: Spot,
    },
    /// What was said and done in these steps, set in lines.
    Conversation {
        /// The branch that numbers the steps.
        branch: u16,
        /// From 1.
        steps: Range<u32>,
        /// Those that are wanted whole.
        whole: BTreeSet<u32>,
        /// Nothing of this event or later ones, where a step is not looked at as a whole.
        until: Option<u32>,
        /// How long a line may be.
        columns: u16,
    },
    /// What the model saw, set in lines.
    Context {
        /// Where.
        at: Spot,
        /// How long a line may be.
        columns: u16,
    },
    /// The context over the whole run.
    ContextRun {
        /// The branch.
        branch: u16,
        /// In how many columns, and how long a line may be.
        columns: u16,
    },
    /// Stop counting it.
    StopContextRun,
    /// What is around the run, set in lines.
    Environment {
        /// Where.
        at: Spot,
        /// How long a line may be.
        columns: u16,
    },
    /// What calls did outside the files, set in lines.
    Effects {
        /// Up to where.
        at: Spot,
        /// How long a line may be.
        columns: u16,
    },
    /// The whole run in one row.
    Strip {
        /// The branch.
        branch: u16,
        /// Into how many columns.
        columns: u16,
    },
    /// Which files differ.
    Changes {
        /// From where.
        base: Base,
        /// To where.
        at: Spot,
    },
    /// The file tree.
    Tree {
        /// Where.
        at: Spot,
        /// What its changes are measured from.
        since: Cursor,
        /// Which these are.
        changes: Arc<ChangeList>,
        /// Which directories are open.
        expanded: Expanded,
        /// The rows that are in view, and some around them: only these are completed with
        /// what has to be read.
        in_view: Range<usize>,
    },
    /// One file.
    File {
        /// Where.
        at: Cursor,
        /// Which.
        path: TapePath,
    },
    /// Which step wrote each line of a file.
    Blame {
        /// Where.
        at: Cursor,
        /// Which.
        path: TapePath,
    },
    /// One file, to be given to the editor.
    Fetch {
        /// Where.
        at: Cursor,
        /// Which.
        path: TapePath,
    },
    /// How one file differs.
    Diff {
        /// From where.
        from: Cursor,
        /// To where.
        to: Cursor,
        /// Which file, and how it differs.
        change: ChangeRow,
    },
    /// One step, whole, set in lines.
    Detail {
        /// Which.
        at: Spot,
        /// How long a line may be.
        columns: u16,
    },
    /// Do not begin with that difference any more.
    StopDiff,
    /// The difference of two contents by paths, set in lines.
    DiffByPath {
        /// The text before and after.
        sides: [Arc<Document>; 2],
        /// How long a line may be.
        columns: u16,
    },
    /// A call or an answer beside the last one like it, by paths, set in lines.
    Like {
        /// Which step.
        at: Spot,
        /// From where back the other one is looked for.
        base: Base,
        /// How long a line may be.
        columns: u16,
    },
    /// What the model was sent, beside what it was sent before, set in lines.
    Request {
        /// Where.
        at: Spot,
        /// What it is compared with.
        base: Base,
        /// How long a line may be.
        columns: u16,
    },
    /// One event as it stands on the tape, set in lines.
    Raw {
        /// Which.
        seq: Seq,
        /// How long a line may be.
        columns: u16,
    },
    /// The colours of some lines of a file.
    Paint {
        /// The file's text.
        document: Arc<Document>,
        /// Its path, which says the language.
        path: TapePath,
        /// Which lines, from 0.
        lines: Range<usize>,
    },
    /// The colours of some lines of both sides of a difference.
    PaintDiff {
        /// The text before and after.
        sides: [Arc<Document>; 2],
        /// The file's path, which says the language.
        path: TapePath,
        /// Which lines of each, from 0.
        lines: [Range<usize>; 2],
    },
    /// The first step that is bad. What is asked may be a command: a person typed and entered
    /// it.
    Bisect {
        /// What was typed.
        question: String,
        /// On which branch.
        branch: u16,
        /// From where; `None`: the start of the branch.
        from: Option<Spot>,
        /// To where.
        to: Spot,
    },
    /// Stop looking for it.
    StopBisect,
    /// Every place where the words stand.
    Search {
        /// The words.
        query: String,
        /// On which branch.
        branch: u16,
    },
    /// Stop searching.
    StopSearch,
    /// The branch in numbers.
    Statistics {
        /// The branch.
        branch: u16,
    },
    /// Stop counting.
    StopStatistics,
    /// Something about the transaction whose tape this is.
    Transaction(TransactionJob),
    /// About a fork of the run that is made.
    Fork(ForkJob),
    /// About a test case of a step.
    Export(ExportJob),
    /// About the forks that it has, and what it is a fork of.
    ForkTree(ForkTreeJob),
    /// Open a run to hold this one against, by what was typed.
    OpenRight(String),
    /// Nobody holds this run against another any more.
    CloseRight,
    /// What the head of the screen says of the right run.
    RightSummary,
    /// Which step of one run is which of the other.
    Align {
        /// The branch of the left run, and that of the right one.
        branches: (u16, u16),
    },
    /// These rows of the right timeline.
    RightTimeline {
        /// The branch that numbers the steps.
        branch: u16,
        /// From 1.
        steps: Range<u32>,
    },
    /// One step of the right run, whole, set in lines.
    RightDetail {
        /// Which.
        of: Counterpart,
        /// How long a line may be.
        columns: u16,
    },
    /// Which files differ from those of the right run.
    ChangesAgainst {
        /// Where.
        at: Spot,
        /// Where there.
        of: Counterpart,
    },
    /// The file tree, its changes measured against the right run.
    TreeAgainst {
        /// Where.
        at: Spot,
        /// Where there.
        of: Counterpart,
        /// Which these are.
        changes: Arc<ChangeList>,
        /// Which directories are open.
        expanded: Expanded,
        /// The rows that are in view, and some around them.
        in_view: Range<usize>,
    },
    /// How one file differs from the right run's.
    DiffAgainst {
        /// Where.
        at: Cursor,
        /// Where there.
        of: Counterpart,
        /// Which file, and how it differs.
        change: ChangeRow,
    },
    /// How what was said and done in a step differs from its counterpart.
    StepAgainst {
        /// Which step.
        at: Spot,
        /// Its counterpart.
        of: Counterpart,
    },
}

impl Job {
    /// The slot of the job.
    pub fn slot(&self) -> Slot {
        match self {
            Self::Watch | Self::Unwatch => Slot::Watch,
            Self::Refresh => Slot::Refresh,
            Self::ReadOn | Self::StopReading => Slot::Reading,
            Self::Summary => Slot::Summary,
            Self::Problems => Slot::Problems,
            Self::Left => Slot::Left,
            Self::Keep(_) => Slot::Keep,
            Self::Runs | Self::StopRuns => Slot::Runs,
            Self::OpenRun(_) => Slot::OpenRun,
            Self::Jump(_) => Slot::Jump,
            Self::Timeline { .. } | Self::Steps { .. } => Slot::Timeline,
            Self::Agents { .. } => Slot::Agents,
            Self::FilesOfStep { .. } => Slot::FilesOfStep,
            Self::Conversation { .. } => Slot::Conversation,
            Self::Context { .. } => Slot::Context,
            Self::ContextRun { .. } | Self::StopContextRun => Slot::ContextRun,
            Self::Environment { .. } => Slot::Environment,
            Self::Effects { .. } => Slot::Effects,
            Self::Strip { .. } => Slot::Strip,
            Self::Changes { .. } | Self::ChangesAgainst { .. } => Slot::Changes,
            Self::Tree { .. } | Self::TreeAgainst { .. } => Slot::Tree,
            Self::File { .. } => Slot::File,
            Self::Blame { .. } => Slot::Blame,
            Self::Fetch { .. } => Slot::Fetch,
            Self::Diff { .. }
            | Self::StopDiff
            | Self::DiffAgainst { .. }
            | Self::StepAgainst { .. } => Slot::Diff,
            Self::DiffByPath { .. } => Slot::DiffByPath,
            Self::Detail { .. } | Self::RightDetail { .. } => Slot::Detail,
            Self::Like { .. } => Slot::Like,
            Self::Request { .. } => Slot::Request,
            Self::Raw { .. } => Slot::Raw,
            Self::Paint { .. } => Slot::Paint,
            Self::PaintDiff { .. } => Slot::PaintDiff,
            Self::Bisect { .. } | Self::StopBisect => Slot::Bisect,
            Self::Search { .. } | Self::StopSearch => Slot::Search,
            Self::Statistics { .. } | Self::StopStatistics => Slot::Statistics,
            Self::Transaction(job) => job.slot(),
            Self::Fork(_) => Slot::Fork,
            Self::Export(ExportJob::Enough) => Slot::ExportEnough,
            Self::Export(_) => Slot::Export,
            Self::ForkTree(job) => job.slot(),
            Self::OpenRight(_) | Self::CloseRight | Self::Align { .. } => Slot::Right,
            Self::RightSummary => Slot::RightSummary,
            Self::RightTimeline { .. } => Slot::RightTimeline,
        }
    }
}

/// What came back. A search, a list of runs and the reading of a run reply many times, watching
/// never, everything else once unless a newer job of its slot takes its place.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The generation of the request.
    pub generation: u64,
    /// The answer.
    pub answer: Answer,
}

/// An answer, or the reason why there is none, made safe.
pub type Answered<T> = Result<T, SafeText>;

/// The answer to a job.
#[derive(Clone, Debug)]
pub enum Answer {
    /// To [`Job::Refresh`].
    Refreshed(Answered<Refresh>),
    /// To [`Job::Refresh`], before that: what became of the right run, where anything did.
    RightRefreshed(Answered<Refresh>),
    /// To [`Job::ReadOn`], again and again.
    Read(Reading),
    /// To [`Job::Summary`].
    Summary(Box<Summary>),
    /// To [`Job::Problems`]: the first of them, a sentence each.
    Problems(Vec<SafeText>),
    /// To [`Job::Left`].
    Left(Box<Left>),
    /// To [`Job::Keep`], where it did not work: why.
    NotKept(SafeText),
    /// To [`Job::Runs`]: some of them, or some that were told before and are known better now.
    Runs(Vec<RunRow>),
    /// To [`Job::Runs`]: that was all.
    AllRuns,
    /// To [`Job::OpenRun`].
    OpenedRun(Answered<OpenedRun>),
    /// To [`Job::Jump`]; `None` when there is no such landmark.
    Jump(Answered<Option<Stop>>),
    /// To [`Job::Timeline`] and [`Job::Steps`].
    Timeline(Vec<StepRow>),
    /// To [`Job::Agents`].
    Agents(Vec<AgentRow>),
    /// To [`Job::FilesOfStep`], the likeliest first.
    FilesOfStep(Vec<NamedFile>),
    /// To [`Job::Conversation`].
    Conversation(Vec<TurnLines>),
    /// To [`Job::Context`].
    Context(Vec<ReadingRow>),
    /// To [`Job::ContextRun`].
    ContextRun(Box<ContextLines>),
    /// To [`Job::Environment`].
    Environment(Vec<ReadingRow>),
    /// To [`Job::Effects`].
    Effects(Vec<ReadingRow>),
    /// To [`Job::Strip`].
    Strip(Vec<StripCell>),
    /// To [`Job::Changes`].
    Changes(Changes),
    /// To [`Job::Tree`].
    Tree(Vec<TreeRow>),
    /// To [`Job::File`].
    File(Answered<Box<OpenFile>>),
    /// To [`Job::Blame`].
    Blame(Answered<Box<BlameView>>),
    /// To [`Job::Fetch`].
    Fetched(Answered<Box<FileView>>),
    /// To [`Job::Diff`].
    Diff(Answered<Box<OpenDiff>>),
    /// To [`Job::DiffByPath`]; `None` where the contents are no JSON.
    DiffByPath(Option<Vec<ReadingRow>>),
    /// To [`Job::Like`].
    Like(Answered<Vec<ReadingRow>>),
    /// To [`Job::Request`].
    Request(Answered<Box<RequestReading>>),
    /// To [`Job::Detail`].
    Detail(Answered<Box<StepReading>>),
    /// To [`Job::Raw`].
    Raw(Answered<Vec<ReadingRow>>),
    /// To [`Job::Paint`].
    Painted(Painted),
    /// To [`Job::PaintDiff`]: before and after.
    PaintedDiff(Box<[Painted; 2]>),
    /// To [`Job::Statistics`].
    Statistics(Box<Statistics>),
    /// To [`Job::Transaction`].
    Transaction(TransactionAnswer),
    /// To [`Job::Fork`].
    Fork(ForkAnswer),
    /// To [`Job::Export`].
    Export(ExportAnswer),
    /// To [`Job::ForkTree`].
    ForkTree(ForkTreeAnswer),
    /// To [`Job::OpenRight`]: the branch that was named, if one was.
    RightOpened(Answered<Option<String>>),
    /// To [`Job::RightSummary`].
    RightSummary(Box<Summary>),
    /// To [`Job::Align`].
    Aligned(Arc<Alignment>),
    /// To [`Job::RightTimeline`].
    RightTimeline(Vec<StepRow>),
    /// To [`Job::Bisect`], again and again.
    Bisect(BisectStep),
    /// To [`Job::Search`]: the next hits, in the order of the tape.
    Hits {
        /// Some more.
        hits: Vec<HitRow>,
        /// Whether more may come.
        progress: Progress,
    },
}
