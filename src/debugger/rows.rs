//! What the façade answers: plain data, ready to be drawn or printed.
//!
//! Text that comes from a tape is [`SafeText`] here: it was made safe once, at this
//! border. Paths and bytes stay what they are; a shell makes them safe when it shows them.

use std::sync::Arc;

use crate::model::{
    BlobHash, Certainty, ChangeKind, Cursor, EntryKind, Kind, KnownLines, Micros, Outcome, Seq,
    StepKind, StepNumber, TapePath, Via,
};
use crate::text::{FileDiff, JsonChange, SafeText};

/// A place on the timeline: the step the playhead is on, and the event after which files
/// are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Spot {
    /// The step's number on its branch; 0 is before the first step.
    pub step: StepNumber,
    /// After which event, and on which branch.
    pub cursor: Cursor,
}

/// What the head of the screen says of a run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The tape's file name.
    pub name: SafeText,
    /// The agent, such as `claude-code 2.1`.
    pub agent: SafeText,
    /// The branches, in the order they appeared; the first is the main line.
    pub branches: Vec<BranchRow>,
    /// The branch that holds the last line.
    pub current: u16,
    /// Events on the tape.
    pub events: u32,
    /// Microseconds from the first event to the latest.
    pub duration: Micros,
    /// Bytes of the tape.
    pub bytes: u64,
    /// Problems found so far.
    pub problems: usize,
    /// Whether calls did anything outside the files.
    pub has_effects: bool,
    /// Whether it has a transaction.
    pub has_transactions: bool,
    /// Of a fork, what it is a fork of.
    pub fork: Option<ForkOf>,
    /// What a person should know before trusting the view, one sentence each.
    pub notices: Vec<SafeText>,
}

/// What a run is a fork of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkOf {
    /// The parent's file, or its id where that was not found.
    pub parent: SafeText,
    /// The step at which it differs, where the header says that.
    pub step: Option<StepNumber>,
    /// What was changed.
    pub title: SafeText,
}

/// One line of events with its own numbering of steps.
#[derive(Clone, Debug)]
pub struct BranchRow {
    /// The index's number of the branch.
    pub id: u16,
    /// The name, `main` for the main line.
    pub name: SafeText,
    /// The branch it left, and the last step it shares with it.
    pub parent: Option<(u16, StepNumber)>,
    /// Steps, the inherited ones included.
    pub steps: u32,
    /// Steps that failed, were refused or interrupted, the inherited ones included.
    pub failed: u32,
}

/// One row of the timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRow {
    /// The number on the branch that was asked for.
    pub number: StepNumber,
    /// After the last event of the step.
    pub spot: Spot,
    /// The event that opened it.
    pub seq: Seq,
    /// The sort of the step.
    pub kind: StepKind,
    /// How it ended.
    pub outcome: Outcome,
    /// What was done: the command, the path, the first words.
    pub title: SafeText,
    /// The tool's or the role's name; empty where there is none.
    pub actor: SafeText,
    /// Microseconds from the start of the run to the opening of the step.
    pub t: Micros,
    /// Microseconds from its opening to its result, if both are known.
    pub duration: Option<Micros>,
    /// The sub-agent whose step it is.
    pub agent: Option<SafeText>,
    /// How deep the agent is nested: 0 for the main agent.
    pub depth: u8,
    /// File events in the step.
    pub file_events: u32,
    /// A call in it may have written files that nobody saw.
    pub is_suspect: bool,
    /// It shows an outside change.
    pub has_outside_change: bool,
    /// Branches or forks leave here.
    pub has_branches: bool,
    /// A problem of the file lies in it.
    pub has_problem: bool,
    /// Characters that nobody sees (bidi, zero width, tags) stand in what was said or done,
    /// as far as the first 64 kB of each of its first lines show.
    pub has_hidden: bool,
    /// In a fork, how its answer came about.
    pub via: Option<Via>,
    /// The transaction it belongs to.
    pub transaction: Option<TransactionMark>,
}

/// How a step lies in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionMark {
    /// Where in the bracket.
    pub edge: TransactionEdge,
    /// It was rolled back.
    pub is_rolled_back: bool,
    /// It was neither committed nor rolled back, as far as the tape tells.
    pub is_open: bool,
}

/// Where in the bracket of a transaction a step lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEdge {
    /// The step that begins it.
    Begin,
    /// A step in it.
    Inside,
    /// The commit or rollback that ends it.
    End,
}

/// One column of the strip: a stretch of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StripCell {
    /// The first step of the stretch, and the last.
    pub steps: (u32, u32),
    /// Events in it.
    pub events: u32,
    /// File events in it.
    pub file_events: u32,
    /// A step failed, was refused or interrupted.
    pub has_failure: bool,
    /// A stretch of the run is missing.
    pub has_gap: bool,
    /// An outside change.
    pub has_outside_change: bool,
    /// A branch or a fork leaves here.
    pub has_branches: bool,
}

/// One event, for going event by event and for the raw view.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// Its number on the tape.
    pub seq: Seq,
    /// The place just after it.
    pub spot: Spot,
    /// Its kind.
    pub kind: Kind,
    /// The kind's name as written, known or not.
    pub kind_name: SafeText,
    /// Microseconds from the start of the run.
    pub t: Micros,
    /// One line that says what it holds.
    pub title: SafeText,
    /// The length of its line, in bytes.
    pub bytes: u64,
}

/// A step, whole: what was said and done, as sections to read.
#[derive(Clone, Debug)]
pub struct StepDetail {
    /// The row of the timeline.
    pub row: StepRow,
    /// What there is to read, in order.
    pub sections: Vec<Section>,
    /// Its events.
    pub events: Vec<EventRow>,
    /// Events behind these that were left out, with what there is to read in them, because
    /// there were too many.
    pub omitted_events: usize,
    /// The files it changed.
    pub changes: Vec<ChangeRow>,
}

/// A part of a step to read.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// What it is: `prompt`, `response`, `thinking`, `arguments`, `output`, `usage`, `note` …
    pub name: SafeText,
    /// Its lines, made safe.
    pub lines: Vec<SafeText>,
    /// Lines that were left out because there were too many.
    pub omitted: usize,
    /// Hidden characters (bidi, zero width, tags) were made visible in it.
    pub has_hidden: bool,
}

/// What the model was sent, beside what it was sent before.
#[derive(Clone, Debug, Default)]
pub struct RequestView {
    /// The model's turn; `None` where there is none up to the place.
    pub step: Option<StepNumber>,
    /// The turn it is compared with; `None` where there is none.
    pub before: Option<StepNumber>,
    /// What the tape holds of the requests.
    pub basis: RequestBasis,
    /// How they differ, path by path.
    pub changes: Vec<JsonChange>,
    /// What there is to read besides, or instead.
    pub sections: Vec<Section>,
    /// What to know of it, one sentence each.
    pub remarks: Vec<SafeText>,
}

/// What a tape holds of the requests to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestBasis {
    /// Nothing.
    #[default]
    Nothing,
    /// What was new in each.
    Added,
    /// All that was sent.
    Whole,
}

/// One row of the file tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeRow {
    /// The path.
    pub path: TapePath,
    /// The last component, made safe.
    pub name: SafeText,
    /// 0 at the top.
    pub depth: u16,
    /// What it is.
    pub kind: EntryKind,
    /// Permission bits, where known.
    pub mode: Option<u32>,
    /// Bytes, of a file whose content is known, where that was asked for.
    pub size: Option<u64>,
    /// The content's hash, where known.
    pub blob: Option<BlobHash>,
    /// How well it is known.
    pub certainty: Certainty,
    /// How it differs from the place compared with; of a directory, whether anything below does.
    pub change: Option<ChangeKind>,
    /// Of a directory: its children follow.
    pub is_expanded: bool,
    /// Of a link: its text, made safe. Never followed.
    pub target: Option<SafeText>,
}

/// A file at a place.
#[derive(Clone, Debug)]
pub struct FileView {
    /// The path.
    pub path: TapePath,
    /// What it is.
    pub kind: EntryKind,
    /// How well it is known.
    pub certainty: Certainty,
    /// Permission bits, where known.
    pub mode: Option<u32>,
    /// Its last known content.
    pub content: FileContent,
    /// What to know of the content, one sentence each: who may have changed it, what was assumed.
    pub remarks: Vec<SafeText>,
    /// Where it changed.
    pub versions: Versions,
}

/// What is known of a file's content.
#[derive(Clone, Debug)]
pub enum FileContent {
    /// The bytes.
    Bytes(Arc<[u8]>),
    /// Some lines.
    Lines(KnownLines),
    /// Nothing, and why.
    Nothing(SafeText),
}

/// The places where a file changed, around the place it is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// Those nearest to the place, before it and behind it, in order.
    pub rows: Vec<VersionRow>,
    /// There are more before them.
    pub has_earlier: bool,
    /// There are more behind them.
    pub has_later: bool,
    /// How many there are in all; `None` where there are more than anybody counts.
    pub count: Option<usize>,
}

/// One version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionRow {
    /// The step in which it became so.
    pub spot: Spot,
    /// How it differs from the version before.
    pub change: ChangeKind,
    /// Nobody's call did it.
    pub is_outside: bool,
}

/// A path that differs between two places.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeRow {
    /// The path.
    pub path: TapePath,
    /// The path it had, of a rename.
    pub from: Option<TapePath>,
    /// How it differs.
    pub change: ChangeKind,
    /// How well it was known before, and is after.
    pub certainty: (Certainty, Certainty),
    /// The mode before and after, where they differ.
    pub mode: Option<(u32, u32)>,
    /// Nobody's call did it.
    pub is_outside: bool,
}

impl ChangeRow {
    /// One letter, as git prints it.
    pub fn letter(&self) -> char {
        letter_of(self.change, self.from.as_ref())
    }

    /// The path; of a rename, both: `old → new`.
    pub fn names(&self) -> SafeText {
        let path = SafeText::from_bytes(self.path.as_bytes());
        let Some(from) = &self.from else {
            return path;
        };
        let mut both = SafeText::from_bytes(from.as_bytes());
        both.push(&SafeText::literal(" → "));
        both.push(&path);
        both
    }
}

/// One letter for how a path differs, as git prints it; a rename has one of its own.
pub(super) const fn letter_of(change: ChangeKind, from: Option<&TapePath>) -> char {
    match from {
        Some(_) => 'R',
        None => change.letter(),
    }
}

/// The difference of one path between two places.
#[derive(Clone, Debug)]
pub struct DiffView {
    /// Which path, and how it differs.
    pub change: ChangeRow,
    /// The difference of the contents; `None` where one is not known.
    pub diff: Option<Arc<FileDiff>>,
    /// The content before, where it is known and there was one.
    pub before: Option<Arc<[u8]>>,
    /// The content after, where it is known and there is one.
    pub after: Option<Arc<[u8]>>,
    /// What to know of it, one sentence each.
    pub remarks: Vec<SafeText>,
}

/// One hit of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct HitRow {
    /// The step.
    pub spot: Spot,
    /// The event.
    pub seq: Seq,
    /// Where in it: `output`, `arguments`, `path` …
    pub field: SafeText,
    /// The line around the hit.
    pub line: SafeText,
}

/// A sub-agent, as the timeline folds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRow {
    /// The index's number of the agent; it stays the same while the tape grows.
    pub id: u16,
    /// The agent that started it; 0 is the main agent.
    pub parent: u16,
    /// What sort of agent it is, or its id.
    pub name: SafeText,
    /// The step of the call that started it.
    pub call: Option<StepNumber>,
    /// Its own steps, not those of agents it started: the first and the last of each stretch
    /// without a step of another agent, in order.
    pub stretches: Vec<(u32, u32)>,
    /// Its steps that failed, were refused or interrupted.
    pub failed: u32,
    /// Microseconds from the opening of its first step to the end of its last.
    pub duration: Micros,
}

/// A file that a step may be about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Its path.
    pub path: TapePath,
    /// The line that is named with it, from 1.
    pub line: Option<u64>,
}
