//! Slots: of the jobs that wait for one, only the newest is served. Names only, no work.

/// Jobs of one slot replace each other: the newest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// Moves of the playhead.
    Jump,
    /// Whether the file is watched.
    Watch,
    /// Looking for growth.
    Refresh,
    /// Reading a run that is shown already.
    Reading,
    /// The head of the screen.
    Summary,
    /// What is wrong with the file.
    Problems,
    /// What was left.
    Left,
    /// What is to be kept.
    Keep,
    /// A run to be opened.
    OpenRun,
    /// The runs that can be opened.
    Runs,
    /// The rows of the timeline.
    Timeline,
    /// The sub-agents.
    Agents,
    /// The files that a step may be about.
    FilesOfStep,
    /// The conversation.
    Conversation,
    /// What the model saw.
    Context,
    /// The context over the whole run.
    ContextRun,
    /// What is around the run.
    Environment,
    /// What calls did outside the files.
    Effects,
    /// The strip.
    Strip,
    /// The changed files.
    Changes,
    /// The tree.
    Tree,
    /// The open file.
    File,
    /// Who wrote its lines.
    Blame,
    /// A file for the editor.
    Fetch,
    /// The difference of one file.
    Diff,
    /// That difference by paths.
    DiffByPath,
    /// The step, whole.
    Detail,
    /// A step beside the last one like it.
    Like,
    /// What the model was sent.
    Request,
    /// The raw event.
    Raw,
    /// Colours of the open file.
    Paint,
    /// Colours of the difference.
    PaintDiff,
    /// The search.
    Search,
    /// The step that broke it.
    Bisect,
    /// The numbers.
    Statistics,
    /// What has become of the transaction.
    Standing,
    /// The transaction at the playhead.
    TransactionView,
    /// What an end of the transaction would do, and that end.
    TransactionEnd,
    /// How that would change a path.
    ProposedPatch,
    /// A fork that is made.
    Fork,
    /// A test case that is made.
    Export,
    /// Its files are few enough.
    ExportEnough,
    /// Where forks leave the run.
    ForkPoints,
    /// The tree of forks, and what is done to one.
    ForkTree,
    /// The right run, and its alignment with the left one.
    Right,
    /// What is said of the right run.
    RightSummary,
    /// The rows of the right timeline.
    RightTimeline,
}
