//! Foreign transcripts: imported to a tape of their own, or on the way to being opened.
//!
//! A transcript that is opened is kept as a tape among the user's data, under an id made of
//! its bytes, so that the same transcript is imported once. The transcript itself is only read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::begun::Begun;
use super::behind::{Behind, Task};
use super::open::Opened;
use super::{OpenError, OpenOptions, Source};
use crate::import::Report;
use crate::import::base::{BaseError, open_base, proposed_base};
use crate::import::claude_code::{self, Options, Survey, Transcript};
use crate::model::{
    Body, Certainty, Cursor, EntryKind, Event, Header, Outcome, Problem, ProblemKind, Progress,
    Tell,
};
use crate::state::State;
use crate::tape::{
    RecordError, Recorder, RecorderOptions, SnapshotPolicy, SyncPolicy, Tape, TapeBytes, Untimed,
};
use crate::text::human;

pub use crate::import::{EditCounts, Report as ImportReport};

/// Problems of a transcript that are kept in its tape; more are counted.
const MAX_PROBLEMS: usize = 1000;
/// The fields of a note in which they are kept, and what was not understood.
const PROBLEMS: &str = "problems";
const NOT_UNDERSTOOD: &str = "not_understood";

/// A transcript cannot be imported. What was begun was removed again.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is no transcript that can be imported.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The base cannot be used.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// The transcript could not be read.
    #[error("{0}")]
    Read(String),
    /// Whoever was told how far it had come broke it off.
    #[error("the import was stopped")]
    Stopped,
    /// There is a file already where the tape should be.
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// The tape could not be written.
    #[error("the tape could not be written: {0}")]
    Write(RecordError),
    /// The tape could not be put in its place.
    #[error("the tape could not be put in its place: {0}")]
    Place(#[from] io::Error),
}

type Imported = claude_code::ImportError<RecordError>;

impl From<RecordError> for ImportError {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Exists(path) => Self::Exists(path),
            error => Self::Write(error),
        }
    }
}

impl From<Imported> for ImportError {
    fn from(error: Imported) -> Self {
        match error {
            Imported::Write(error) => error.into(),
            Imported::Stopped => Self::Stopped,
            read @ Imported::Read { .. } => Self::Read(read.to_string()),
        }
    }
}

/// What is done, in percent, when a transcript was surveyed.
const SURVEYED: u64 = 10;

/// Imports a transcript to a new tape at `out`, which must not exist yet. A break of `tell`
/// leaves nothing behind.
pub fn import(
    source: Source,
    out: &Path,
    options: &OpenOptions,
    tell: &mut Tell<'_>,
) -> Result<Report, ImportError> {
    let opened = Opened::expect_transcript(source)?;
    let importer = importer_options(options)?;
    let survey = survey(opened.transcript(), &importer, tell)?;
    let mut begun = Begun::default();
    let surveyed = Surveyed {
        transcript: opened.transcript(),
        importer: &importer,
        survey: &survey,
    };
    let mut report = surveyed.import_to(out, &mut begun, tell)?;
    report.files = census(TapeBytes::File(File::open(out)?.into()))?;
    begun.keep();
    Ok(report)
}

/// Imports a transcript into memory, to see what the import makes of it.
pub fn import_report(
    source: Source,
    options: &OpenOptions,
    tell: &mut Tell<'_>,
) -> Result<Report, ImportError> {
    let opened = Opened::expect_transcript(source)?;
    let importer = importer_options(options)?;
    let survey = survey(opened.transcript(), &importer, tell)?;
    let surveyed = Surveyed {
        transcript: opened.transcript(),
        importer: &importer,
        survey: &survey,
    };
    let (mut report, bytes) = surveyed.import_into_memory(tell)?;
    report.files = census(bytes)?;
    Ok(report)
}

/// How many files are known how well at the end of a tape, as everything else shows them:
/// the importer's own view does not count what a gap puts in doubt.
fn census(bytes: TapeBytes) -> io::Result<BTreeMap<Certainty, u64>> {
    let mut state = State::default();
    let tape = Tape::read(bytes, &mut state)?;
    let end = Cursor {
        position: tape.index.events.len(),
        branch: tape.index.current_line,
    };
    let mut files = BTreeMap::new();
    state.walk(&tape.index.blobs, end, &mut |child| {
        if child.state.kind != EntryKind::Directory {
            *files.entry(child.state.certainty).or_default() += 1;
        }
    });
    Ok(files)
}

fn survey(
    transcript: Transcript<'_>,
    importer: &Options,
    tell: &mut Tell<'_>,
) -> Result<Survey, ImportError> {
    let tell = &mut |progress: Progress| tell(progress.within(0, SURVEYED));
    Ok(claude_code::survey::<RecordError>(
        transcript, importer, tell,
    )?)
}

/// A transcript that can be imported.
struct Surveyed<'a> {
    transcript: Transcript<'a>,
    importer: &'a Options,
    survey: &'a Survey,
}

impl Surveyed<'_> {
    fn import_to(
        &self,
        out: &Path,
        begun: &mut Begun,
        tell: &mut Tell<'_>,
    ) -> Result<Report, ImportError> {
        let recorder = Recorder::create(out, self.survey.header(), recorder_options())?;
        *begun = Begun::at(out.to_owned());
        self.import_with(recorder, tell)
    }

    fn import_into_memory(&self, tell: &mut Tell<'_>) -> Result<(Report, TapeBytes), ImportError> {
        let recorder = Recorder::in_memory(self.survey.header(), recorder_options())?;
        let bytes = recorder.bytes();
        Ok((self.import_with(recorder, tell)?, bytes))
    }

    fn import_with(&self, recorder: Recorder, tell: &mut Tell<'_>) -> Result<Report, ImportError> {
        let tell = &mut |progress: Progress| tell(progress.within(SURVEYED, 100));
        let (transcript, survey) = (self.transcript, self.survey);
        let (report, recorder) =
            claude_code::import_surveyed(transcript, survey, self.importer, recorder, tell)?;
        finish(recorder, &report)?;
        Ok(report)
    }

    /// Imports beside the place where the tape is kept, and moves it there when it is whole.
    fn keep(&self, kept: &Path, tell: &mut Tell<'_>) -> Result<File, ImportError> {
        let directory = kept.parent().unwrap_or(kept);
        fs::create_dir_all(directory)?;
        let part = tempfile::Builder::new()
            .prefix(".part-")
            .tempdir_in(directory)?;
        let tape = part.path().join("tape.jsonl");
        let mut begun = Begun::default();
        self.import_to(&tape, &mut begun, tell)?;
        let file = put_in_place(&tape, kept)?;
        begun.keep();
        Ok(file)
    }
}

/// Moves a tape that is whole to where it is kept.
pub(super) fn put_in_place(tape: &Path, kept: &Path) -> io::Result<File> {
    let file = File::open(tape)?;
    // After a crash of the machine, half a tape must not stand there for the whole run.
    file.sync_all()?;
    fs::rename(tape, kept)?;
    Ok(file)
}

/// Where the tape of a transcript comes from.
pub(super) enum TapeOf {
    /// It is there.
    Whole(TapeBytes),
    /// It is being written.
    Behind(Behind),
}

/// How much of a transcript is imported before anything of it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Haste {
    /// All of it.
    None,
    /// Of a large one, not more than it takes.
    ShowSoon,
}

/// A transcript smaller than this is imported in no time.
const LARGE: u64 = 4 << 20;

/// The tape of a transcript: the one that is kept, or a new one.
pub(super) fn imported(
    opened: &Opened,
    options: &OpenOptions,
    haste: Haste,
    tell: &mut Tell<'_>,
) -> Result<TapeOf, ImportError> {
    let importer = importer_options(options)?;
    let survey = survey(opened.transcript(), &importer, tell)?;
    // Another base gives another tape, and so does every growth of the transcript: such a
    // one is kept only where the user says so.
    let directory = options.places.imports.as_ref();
    let directory = directory.filter(|_| options.base.is_none() && !options.awaits_content);
    let kept = directory.map(|directory| directory.join(format!("{}.jsonl", survey.header().id)));
    if let Some(kept) = &kept
        && let Ok(file) = File::open(kept)
    {
        return Ok(TapeOf::Whole(TapeBytes::File(file.into())));
    }
    if haste == Haste::ShowSoon && survey.bytes >= LARGE {
        let task = Task {
            source: opened.lasting(),
            options: importer,
            survey,
            kept,
        };
        return Ok(TapeOf::Behind(task.begin()?));
    }
    let surveyed = Surveyed {
        transcript: opened.transcript(),
        importer: &importer,
        survey: &survey,
    };
    let kept = kept.as_deref().map(|kept| surveyed.keep(kept, tell));
    let bytes = match kept {
        Some(Ok(file)) => TapeBytes::File(file.into()),
        // A full disk or a read-only home must not keep anybody from looking.
        None | Some(Err(ImportError::Write(_) | ImportError::Place(_))) => {
            surveyed.import_into_memory(tell)?.1
        }
        Some(Err(error)) => return Err(error),
    };
    Ok(TapeOf::Whole(bytes))
}

/// What a person should know of the base that was named, if there is a better one.
pub(super) fn proposal(header: &Header, options: &OpenOptions) -> Option<String> {
    let named = options.base.as_deref()?;
    let here = options.places.here.as_deref().unwrap_or(Path::new("."));
    let branch = header.source.get(claude_code::GIT_BRANCH)?.as_str()?;
    let better = proposed_base(named, here, branch)?;
    Some(format!(
        "the run was on the branch {branch}; in {named}, `--base {better}` gives the files as committed"
    ))
}

fn importer_options(options: &OpenOptions) -> Result<Options, ImportError> {
    let here = options.places.here.as_deref().unwrap_or(Path::new("."));
    let base = match &options.base {
        Some(named) => Some(open_base(named, here)?),
        None => None,
    };
    Ok(Options {
        base,
        file_history: options.file_history.clone(),
        awaits_rest: options.awaits_content,
    })
}

/// An import can be done again: it need not be on the disk before it goes on. It takes no
/// snapshots: a transcript shows some files, and a snapshot is a word about all of them.
pub(super) fn recorder_options() -> RecorderOptions {
    RecorderOptions {
        sync: SyncPolicy::None,
        snapshots: SnapshotPolicy::Never,
        untimed: Untimed::AsBefore,
        ..RecorderOptions::default()
    }
}

/// Ends a tape that was imported. What was wrong with the transcript, and what of it was
/// not understood, is kept in it.
pub(super) fn finish(mut recorder: Recorder, report: &Report) -> Result<(), RecordError> {
    let problems = report.problems.len();
    if problems > 0 || !report.not_understood.is_empty() {
        let mut note = Event::new(Body::Note {
            text: human::plural(
                problems as u64,
                "problem of the transcript",
                "problems of the transcript",
            ),
        });
        let kept = report.problems.iter().take(MAX_PROBLEMS);
        let kept: Vec<Value> = kept.map(problem_value).collect();
        note.extra.insert(PROBLEMS.to_owned(), kept.into());
        let sorts = json!(report.not_understood);
        note.extra.insert(NOT_UNDERSTOOD.to_owned(), sorts);
        recorder.append(note)?;
    }
    recorder.close(Outcome::None).map(|_| ())
}

fn problem_value(problem: &Problem) -> Value {
    json!({
        "line": problem.line,
        "offset": problem.offset,
        "kind": problem.kind.as_str(),
        "message": problem.message,
    })
}

/// What is to be known of the transcript that a tape was imported from.
#[derive(Default)]
pub(super) struct Provenance {
    /// What was wrong with it.
    pub(super) problems: Vec<Problem>,
    /// What a person should know before trusting the view, one sentence each.
    pub(super) notices: Vec<String>,
}

impl Provenance {
    pub(super) fn of(tape: &Tape) -> Self {
        // The note stands before the end.
        const BACK: u32 = 4;
        let events = tape.index.events.len();
        let mut last = (events.saturating_sub(BACK)..events).rev();
        let note = last.find_map(|position| {
            let event = tape.event(position).ok()?;
            event.extra.contains_key(PROBLEMS).then_some(event.extra)
        });
        let field = |key: &str| note.as_ref().and_then(|fields| fields.get(key));
        let problems = field(PROBLEMS).and_then(Value::as_array);
        let sorts = field(NOT_UNDERSTOOD).and_then(Value::as_object);
        Self {
            problems: problems.into_iter().flatten().filter_map(problem).collect(),
            notices: sorts.and_then(not_understood).into_iter().collect(),
        }
    }
}

fn problem(value: &Value) -> Option<Problem> {
    let (line, offset) = (value.get("line")?, value.get("offset")?);
    let kind = ProblemKind::parse(value.get("kind")?.as_str()?)?;
    let message = value.get("message")?.as_str()?;
    Some(Problem::new(
        line.as_u64()?,
        offset.as_u64()?,
        kind,
        message,
    ))
}

/// One sentence that counts what was kept and not understood.
fn not_understood(sorts: &Map<String, Value>) -> Option<String> {
    let count = |(sort, count): (&String, &Value)| format!("{count} × {sort}");
    let counts: Vec<String> = sorts.iter().map(count).collect();
    let is_empty = counts.is_empty();
    (!is_empty).then(|| format!("not understood, and kept as it is: {}", counts.join(", ")))
}
