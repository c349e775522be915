//! Runs that can be opened: those that were open before, the one that is built in, and the
//! transcripts that Claude Code left where it leaves them.
//!
//! To find them, directories are listed and the starts of some files are read. Nothing is
//! imported, and nothing is written.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Debugger, OpenError, OpenOptions, Places, RecentRun, Rest, Source};
use crate::import::claude_code::Preview;
use crate::model::WallTime;
use crate::text::SafeText;

/// Where a run lies that can be opened more than once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RunSource {
    /// In a file.
    File(PathBuf),
    /// In the program.
    Demo,
}

impl From<RunSource> for Source {
    fn from(source: RunSource) -> Self {
        match source {
            RunSource::File(path) => Self::Path(path),
            RunSource::Demo => Self::Demo,
        }
    }
}

/// The sort of a run in a list, in the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunSort {
    /// It was open before.
    Recent,
    /// It is built in.
    Demo,
    /// A transcript that was never opened.
    Transcript,
}

/// A row of a list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// What to open.
    pub source: RunSource,
    /// Of which sort it is.
    pub sort: RunSort,
    /// The name of the file.
    pub name: SafeText,
    /// The directory it lies in; of a transcript, the one the agent worked in.
    pub directory: SafeText,
    /// The first words of its first prompt, as far as they are known.
    pub words: SafeText,
    /// The agent, as far as it is known.
    pub agent: SafeText,
    /// Its steps and those that failed, as they were when it was open.
    pub steps: Option<(u32, u32)>,
    /// The step at which it was left.
    pub step: Option<u32>,
    /// Bytes of the file.
    pub bytes: Option<u64>,
    /// How long ago it was open last; of a transcript, written.
    pub age: Option<Duration>,
    /// The file is there.
    pub is_there: bool,
}

/// Transcripts that are listed at most: the latest.
pub const MAX_TRANSCRIPTS: usize = 300;

/// Entries of directories that are looked at, at most.
const MAX_ENTRIES: usize = 50_000;

/// Bytes of a transcript that are read for its first prompt.
const START: u64 = 64 << 10;

/// Rows are told in parcels of this many.
const PARCEL: usize = 25;

impl Places {
    /// Opens a run of the list.
    pub fn open(&self, source: &RunSource) -> Result<Debugger, OpenError> {
        let source = Source::from(source.clone());
        let options = self.options_for(&source);
        Debugger::open(source, &options)
    }

    /// Opens a run of the list as far as it takes to show something.
    pub fn begin(&self, source: &RunSource) -> Result<(Debugger, Option<Rest>), OpenError> {
        let source = Source::from(source.clone());
        let options = self.options_for(&source);
        Debugger::begin(source, &options)
    }

    fn options_for(&self, source: &Source) -> OpenOptions {
        OpenOptions {
            places: self.clone(),
            file_history: self.file_history_of(source),
            ..OpenOptions::default()
        }
    }

    /// Where the files are kept that the agent of a run edited. Only a transcript that lies
    /// among the agent's own files has its history there.
    pub fn file_history_of(&self, source: &Source) -> Option<PathBuf> {
        let claude = self.claude.as_deref()?.canonicalize().ok()?;
        match source {
            Source::Path(path) if path.canonicalize().ok()?.starts_with(&claude) => {
                Some(claude.join("file-history"))
            }
            _ => None,
        }
    }

    /// Finds the runs and tells them in parcels: first those that were open before and the
    /// demo, then the transcripts, the latest first. A transcript is told twice, the second
    /// time with its first words.
    pub fn runs(
        &self,
        now: WallTime,
        is_cancelled: &dyn Fn() -> bool,
        found: &mut dyn FnMut(Vec<RunRow>),
    ) {
        let recent = self.recent();
        let known: HashSet<PathBuf> = recent.iter().map(|run| run.path.clone()).collect();
        let mut rows: Vec<RunRow> = recent.iter().map(|run| recent_row(run, now)).collect();
        rows.push(demo_row());
        found(rows);
        let mut transcripts = self.transcripts(is_cancelled);
        transcripts.retain(|transcript| !known.contains(&transcript.path));
        transcripts.truncate(MAX_TRANSCRIPTS);
        let row = |transcript: &Transcript| transcript.row(now, Preview::default());
        found(transcripts.iter().map(row).collect());
        for parcel in transcripts.chunks(PARCEL) {
            if is_cancelled() {
                return;
            }
            let row = |transcript: &Transcript| transcript.row(now, preview(&transcript.path));
            found(parcel.iter().map(row).collect());
        }
    }

    /// The transcripts in the directories of the projects, the latest first. Those of
    /// sub-agents are parts of others.
    fn transcripts(&self, is_cancelled: &dyn Fn() -> bool) -> Vec<Transcript> {
        let projects = self.claude.as_ref().map(|claude| claude.join("projects"));
        let projects = projects.into_iter().flat_map(|path| entries(&path));
        let files = projects.flat_map(|project| entries(&project));
        let mut found = Vec::new();
        for path in files.take(MAX_ENTRIES).take_while(|_| !is_cancelled()) {
            found.extend(Transcript::at(path));
        }
        found.sort_by(|one, two| (two.written, &one.path).cmp(&(one.written, &two.path)));
        found
    }
}

/// A transcript that was found.
struct Transcript {
    path: PathBuf,
    bytes: u64,
    written: SystemTime,
}

impl Transcript {
    /// A file that is called as transcripts are, and holds something. Links are not followed.
    fn at(path: PathBuf) -> Option<Self> {
        let is_one = path.extension().is_some_and(|end| end == "jsonl");
        let of_agent = path.file_name()?.as_bytes().starts_with(b"agent-");
        if !is_one || of_agent {
            return None;
        }
        let metadata = fs::symlink_metadata(&path).ok()?;
        let holds_something = metadata.is_file() && metadata.len() > 0;
        let written = metadata.modified().ok().filter(|_| holds_something)?;
        Some(Self {
            path,
            bytes: metadata.len(),
            written,
        })
    }

    fn row(&self, now: WallTime, preview: Preview) -> RunRow {
        let since = self.written.duration_since(SystemTime::UNIX_EPOCH);
        let written = since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(0));
        let above = self.path.parent().unwrap_or(&self.path);
        let directory = preview
            .directory
            .map_or_else(|| safe(above), |directory| SafeText::line(&directory));
        RunRow {
            source: RunSource::File(self.path.clone()),
            sort: RunSort::Transcript,
            name: name_of(&self.path),
            directory,
            words: SafeText::line(&preview.words.unwrap_or_default()),
            agent: SafeText::default(),
            steps: None,
            step: None,
            bytes: Some(self.bytes),
            age: Some(Duration::from_micros(now.since(WallTime(written)))),
            is_there: true,
        }
    }
}

/// What a directory holds; nothing where it cannot be read.
fn entries(path: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(path).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

fn preview(path: &Path) -> Preview {
    let mut start = Vec::new();
    let read = File::open(path).map(|file| file.take(START).read_to_end(&mut start));
    match read {
        Ok(Ok(_)) => Preview::of(&start),
        _ => Preview::default(),
    }
}

fn recent_row(run: &RecentRun, now: WallTime) -> RunRow {
    let metadata = fs::metadata(&run.path).ok().filter(fs::Metadata::is_file);
    RunRow {
        source: RunSource::File(run.path.clone()),
        sort: RunSort::Recent,
        name: name_of(&run.path),
        directory: run.path.parent().map_or_else(SafeText::default, safe),
        words: SafeText::line(&run.words),
        agent: SafeText::line(&run.agent),
        steps: Some((run.steps, run.failed)),
        step: Some(run.step),
        bytes: metadata.as_ref().map(fs::Metadata::len),
        age: Some(Duration::from_micros(now.since(run.opened))),
        is_there: metadata.is_some(),
    }
}

fn demo_row() -> RunRow {
    RunRow {
        source: RunSource::Demo,
        sort: RunSort::Demo,
        name: SafeText::literal("demo"),
        directory: SafeText::default(),
        words: SafeText::literal("an agent mends a discount, and somebody edits behind its back"),
        agent: SafeText::default(),
        steps: None,
        step: None,
        bytes: None,
        age: None,
        is_there: true,
    }
}

fn name_of(path: &Path) -> SafeText {
    safe(Path::new(path.file_name().unwrap_or(path.as_os_str())))
}

fn safe(path: &Path) -> SafeText {
    SafeText::from_bytes(path.as_os_str().as_bytes())
}
