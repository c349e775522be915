//! Opening a run: a tape, or a foreign transcript that is imported on the way.
//!
//! Opening runs nothing, connects to nothing, and does not write to what is opened. What it
//! read of a large tape is kept in the user's cache, where there is one.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Sandboxing;
use super::behind::{self, Behind};
use super::effects::LedgerSoFar;
use super::follow::{Origin, Sort};
use super::import::{self, Haste, ImportError, TapeOf};
use super::parents::{Ancestor, join};
use super::reading::Rest;
use crate::import::claude_code::Transcript;
use crate::import::{Format, sniff};
use crate::model::{Header, Problem, Tell};
use crate::state::State;
use crate::tape::cache::CacheEntry;
use crate::tape::{Tape, TapeBytes};

pub use crate::tape::IndexCache;

/// An open run.
#[derive(Debug)]
pub struct Debugger {
    pub(super) name: String,
    pub(super) tape: Tape,
    pub(super) state: Arc<State>,
    /// Where this is kept once all of it is read.
    pub(super) cached: Option<CacheEntry>,
    pub(super) header: Header,
    pub(super) notices: Vec<String>,
    /// Of a transcript, what was wrong with it.
    pub(super) transcript_problems: Vec<Problem>,
    /// Of a fork, what is wrong with its parents.
    pub(super) parent_problems: Vec<Problem>,
    /// Of a fork, its parent, that one's parent, and so on.
    pub(super) ancestors: Vec<Ancestor>,
    /// Of a run that came from a file, where to look again.
    pub(super) origin: Option<Origin>,
    pub(super) places: Places,
    /// Whether all of it was read.
    pub(super) is_whole: bool,
    pub(super) made: Made,
    pub(super) ledger: LedgerSoFar,
}

/// How a tape was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// While the run was.
    Recorded,
    /// From a transcript; its end tells what was wrong with that.
    Imported,
}

/// Where a run comes from.
#[derive(Debug)]
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Bytes that come once. They are kept in a file without a name.
    Stream(io::Stdin),
    /// The tape that is built into the program.
    Demo,
    /// Nothing: a run without events, for a screen that shows none yet.
    Nothing,
}

/// The user's directories, as the shell found them. Without one, what would be kept there
/// is not kept.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Where imported transcripts are kept as tapes.
    pub imports: Option<PathBuf>,
    /// Where is kept what a person left at tapes, such as marks.
    pub state: Option<PathBuf>,
    /// Where Claude Code keeps what is its own.
    pub claude: Option<PathBuf>,
    /// Where the indexes of large tapes are kept.
    pub cache: Option<IndexCache>,
    /// The current directory: what paths are named relative to.
    pub here: Option<PathBuf>,
    /// What a sandbox is made of, for commands that a person wants to be run.
    pub sandboxing: Option<Sandboxing>,
}

/// How to open a run.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The user's directories.
    pub places: Places,
    /// Files that may hold the parents of a fork, which are looked at first.
    pub parents: Vec<PathBuf>,
    /// Where the files come from that a transcript never shows: a directory, or `git:COMMIT`.
    pub base: Option<String>,
    /// Where the agent's program keeps the files it edited, if that may be read.
    pub file_history: Option<PathBuf>,
    /// The run is followed while it is written: an empty file is waited for, and a growing
    /// transcript is not kept as a tape.
    pub awaits_content: bool,
}

/// A run cannot be opened. Nothing was written, and nothing was lost.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such file.
    #[error("there is no file {0}")]
    NotFound(String),
    /// It is a directory.
    #[error("{0} is a directory, not a tape")]
    IsDirectory(String),
    /// It is empty.
    #[error("{0} is empty")]
    Empty(String),
    /// It is no format that is known here.
    #[error("{0} is no tape and no transcript of Claude Code")]
    UnknownFormat(String),
    /// It is a format that is recognised, and not read yet.
    #[error("{name} is {format}; that is not read yet")]
    NotYet {
        /// The file.
        name: String,
        /// What it is.
        format: &'static str,
    },
    /// It is a tape already.
    #[error("{0} is a tape already; there is nothing to import")]
    IsTape(String),
    /// Nothing in it can be read.
    #[error("nothing in {name} can be read: {first}")]
    NothingReadable {
        /// The file.
        name: String,
        /// The first of its problems.
        first: String,
    },
    /// It is a transcript, and cannot be imported.
    #[error(transparent)]
    Import(Box<ImportError>),
    /// It could not be read.
    #[error("{0} could not be read: {1}")]
    Io(String, io::Error),
    /// Whoever was told how far it had come broke it off.
    #[error("{0} was not read to its end")]
    Stopped(String),
}

impl OpenError {
    /// Why a file of such a format cannot be opened.
    fn unreadable(name: String, format: Format) -> Self {
        match format {
            Format::NotYet(format) => Self::NotYet { name, format },
            Format::Empty => Self::Empty(name),
            Format::NativeTape | Format::ClaudeCode | Format::Unknown => Self::UnknownFormat(name),
        }
    }
}

/// Bytes of a file that are looked at to tell what it is.
const SNIFFED: usize = 256 << 10;
/// The tape that is built into the program.
const DEMO: &[u8] = include_bytes!("../../demo-tapes/bug-hunt.jsonl");

impl Debugger {
    /// Opens a run. Costs one pass over its lines; of a transcript that was not opened
    /// before, its import.
    pub fn open(source: Source, options: &OpenOptions) -> Result<Self, OpenError> {
        Self::open_telling(source, options, &mut |_| ControlFlow::Continue(()))
    }

    /// Opens a run, and tells how far that has come.
    pub fn open_telling(
        source: Source,
        options: &OpenOptions,
        tell: &mut Tell<'_>,
    ) -> Result<Self, OpenError> {
        let (mut run, rest) = Self::begin_telling(source, options, Haste::None, tell)?;
        if let Some(rest) = rest
            && run.read_rest(rest, tell)?.is_break()
        {
            return Err(OpenError::Stopped(run.name));
        }
        Ok(run)
    }

    /// Opens a run as far as it takes to show something. What is still to be read of it comes
    /// beside it, and is to be [taken in](Self::take_in).
    pub fn begin(source: Source, options: &OpenOptions) -> Result<(Self, Option<Rest>), OpenError> {
        let tell = &mut |_| ControlFlow::Continue(());
        Self::begin_telling(source, options, Haste::ShowSoon, tell)
    }

    fn begin_telling(
        source: Source,
        options: &OpenOptions,
        haste: Haste,
        tell: &mut Tell<'_>,
    ) -> Result<(Self, Option<Rest>), OpenError> {
        Self::begin_next_to(None, source, options, haste, tell)
    }

    /// Opens a fork of this run, which is known by what is known of this one. Costs a copy of
    /// that, and the reading of what the fork tells itself.
    pub(super) fn open_fork(&self, path: &Path) -> Result<Self, OpenError> {
        let options = OpenOptions {
            places: self.places().clone(),
            ..OpenOptions::default()
        };
        let source = Source::Path(path.to_owned());
        let tell: &mut Tell<'_> = &mut |_| ControlFlow::Continue(());
        let (mut run, rest) = Self::begin_next_to(Some(self), source, &options, Haste::None, tell)?;
        if let Some(rest) = rest {
            // Nobody breaks it off.
            let _ = run.read_rest(rest, tell)?;
        }
        Ok(run)
    }

    /// `kin` is a run that is open and may be the parent of a fork.
    fn begin_next_to(
        kin: Option<&Self>,
        source: Source,
        options: &OpenOptions,
        haste: Haste,
        tell: &mut Tell<'_>,
    ) -> Result<(Self, Option<Rest>), OpenError> {
        let places = options.places.clone();
        let built_in = |name: &str, bytes: &[u8]| {
            let bytes = TapeBytes::Memory(bytes.into());
            let begun = Begun::unread(bytes);
            let (mut run, rest) = Self::begin_tape(name.to_owned(), begun, Made::Recorded)?;
            run.places = places.clone();
            Ok((run, rest))
        };
        let opened = match source {
            Source::Demo => return built_in("demo", DEMO),
            Source::Nothing => return built_in("", b""),
            source => Opened::open(source)?,
        };
        // Looked at before it is read, so that nothing that is written meanwhile is missed.
        let origin = opened.origin(options)?;
        let bytes = TapeBytes::File(Arc::clone(&opened.file));
        let ((mut run, rest), sort) = match sniffed(&opened.name, &bytes)? {
            Format::NativeTape => {
                let mut joined = join(&bytes, opened.path.as_deref(), options, kin)?;
                // What the cache holds of a fork would outlive a change of its parent.
                let is_fork = joined.bytes.is_stitched();
                let begun = match joined.known.take() {
                    Some(known) => Begun {
                        known,
                        cached: None,
                    },
                    None if is_fork => Begun::unread(joined.bytes),
                    None => Begun::cached(joined.bytes, opened.cache_entry(options)),
                };
                let (mut run, rest) = Self::begin_tape(opened.name, begun, Made::Recorded)?;
                if let Some(path) = opened.path.as_ref().filter(|_| is_fork) {
                    // It is found by its hint as well.
                    let _ = places.note_fork(&run.header, path, &joined.ancestors);
                }
                run.parent_problems = joined.problems;
                run.ancestors = joined.ancestors;
                ((run, rest), Sort::Tape)
            }
            Format::ClaudeCode => {
                let tape = import::imported(&opened, options, haste, tell)
                    .map_err(|error| OpenError::Import(Box::new(error)))?;
                let (mut run, rest) = match tape {
                    TapeOf::Whole(bytes) => {
                        Self::begin_tape(opened.name, Begun::unread(bytes), Made::Imported)?
                    }
                    TapeOf::Behind(import) => Self::begin_behind(opened.name, import)?,
                };
                run.notices.extend(import::proposal(&run.header, options));
                ((run, rest), Sort::Whole)
            }
            Format::Empty if options.awaits_content => {
                let nothing = Begun::unread(TapeBytes::Memory([].into()));
                (
                    Self::begin_tape(opened.name, nothing, Made::Recorded)?,
                    Sort::Whole,
                )
            }
            format => return Err(OpenError::unreadable(opened.name, format)),
        };
        run.origin = origin.map(|origin| origin.read_on_as(sort));
        run.places = places;
        Ok((run, rest))
    }

    /// Opens another run as this one was opened, to hold this one against it. Files that a
    /// transcript never shows are not looked for: they were named for this run alone.
    pub fn open_other(&self, source: Source) -> Result<Self, OpenError> {
        let options = OpenOptions {
            places: self.places().clone(),
            ..OpenOptions::default()
        };
        Self::open(source, &options)
    }

    /// Begins with what is known of a tape, and what is still to be read of it.
    fn begin_tape(
        name: String,
        begun: Begun,
        made: Made,
    ) -> Result<(Self, Option<Rest>), OpenError> {
        let Begun {
            known: (tape, state),
            cached,
        } = begun;
        let mut run = Self {
            tape,
            state: state.into(),
            cached,
            ..Self::unread(name, TapeBytes::Memory([].into()), made)
        };
        let rest = run.begin_to_read()?;
        run.refuse_if_nothing_is_readable()?;
        Ok((run, rest))
    }

    fn begin_behind(name: String, import: Behind) -> Result<(Self, Option<Rest>), OpenError> {
        let mut run = Self::unread(name, import.bytes(), Made::Imported);
        let rest = run.begin_to_read_behind(import)?;
        run.refuse_if_nothing_is_readable()?;
        Ok((run, rest))
    }

    fn unread(name: String, bytes: TapeBytes, made: Made) -> Self {
        Self {
            name,
            tape: Tape::unread(bytes),
            state: Arc::default(),
            cached: None,
            header: Header::default(),
            notices: Vec::new(),
            transcript_problems: Vec::new(),
            parent_problems: Vec::new(),
            ancestors: Vec::new(),
            origin: None,
            places: Places::default(),
            is_whole: false,
            made,
            ledger: LedgerSoFar::default(),
        }
    }

    fn refuse_if_nothing_is_readable(&self) -> Result<(), OpenError> {
        let events = &self.tape.index.events;
        let is_gap = |position| events.kind(position) == Some(crate::model::Kind::Gap);
        if !(0..events.len()).all(is_gap) {
            return Ok(());
        }
        match self.tape.problems().first() {
            Some(first) => Err(OpenError::NothingReadable {
                name: self.name.clone(),
                first: first.to_string(),
            }),
            None => Ok(()),
        }
    }

    /// Everything that is wrong with the tape or the transcript, in the order of lines.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.transcript_problems.clone();
        problems.extend(self.parent_problems.iter().cloned());
        problems.extend(self.tape.problems());
        problems
    }

    /// The user's directories, as the run was opened with them.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The file of the tape; `None` of a transcript, and of what comes from no file.
    pub fn tape_file(&self) -> Option<&Path> {
        self.origin.as_ref()?.tape()
    }

    /// The header of the tape.
    pub fn header(&self) -> &Header {
        &self.header
    }
}

/// What is known of a tape before it is read.
struct Begun {
    known: (Tape, State),
    /// Where it is kept once all of it is read.
    cached: Option<CacheEntry>,
}

impl Begun {
    fn unread(bytes: TapeBytes) -> Self {
        Self {
            known: (Tape::unread(bytes), State::default()),
            cached: None,
        }
    }

    /// What the cache holds of it.
    fn cached(bytes: TapeBytes, mut cached: Option<CacheEntry>) -> Self {
        let entry = cached.as_mut();
        let held = entry.and_then(|entry| entry.open::<State>(bytes.clone()));
        Self {
            known: held.unwrap_or_else(|| (Tape::unread(bytes), State::default())),
            cached,
        }
    }
}

/// A file that was opened and not looked into yet.
pub(super) struct Opened {
    name: String,
    /// Where it lies; of what comes once, nowhere.
    path: Option<PathBuf>,
    file: Arc<File>,
}

impl Opened {
    fn open(source: Source) -> Result<Self, OpenError> {
        let path = match source {
            Source::Path(path) => path,
            Source::Stream(stream) => return Self::spool("standard input".to_owned(), stream),
            Source::Demo | Source::Nothing => return Err(OpenError::IsTape("demo".to_owned())),
        };
        let shown = path.display().to_string();
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => OpenError::NotFound(shown.clone()),
            _ => OpenError::Io(shown.clone(), error),
        };
        let file = File::open(&path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(OpenError::IsDirectory(shown));
        }
        let name = path.file_name().unwrap_or(path.as_os_str());
        let name = name.to_string_lossy().into_owned();
        if !metadata.is_file() {
            // A pipe, as shells make for <(…): it is read once.
            return Self::spool(name, file);
        }
        Ok(Self {
            name,
            path: Some(path),
            file: file.into(),
        })
    }

    /// What the cache may hold of it.
    fn cache_entry(&self, options: &OpenOptions) -> Option<CacheEntry> {
        let cache = options.places.cache.as_ref()?;
        cache.entry(self.path.as_ref()?, &self.file)
    }

    /// Where to look again while the run is followed.
    fn origin(&self, options: &OpenOptions) -> Result<Option<Origin>, OpenError> {
        let follow = |path: &PathBuf| Origin::of(path, Arc::clone(&self.file), options);
        self.path
            .as_ref()
            .map(follow)
            .transpose()
            .map_err(|error| OpenError::Io(self.name.clone(), error))
    }

    /// Opens a file that has to be a transcript.
    pub(super) fn expect_transcript(source: Source) -> Result<Self, OpenError> {
        let opened = Self::open(source)?;
        let name = opened.name.clone();
        let bytes = TapeBytes::File(Arc::clone(&opened.file));
        match sniffed(&name, &bytes)? {
            Format::ClaudeCode => Ok(opened),
            Format::NativeTape => Err(OpenError::IsTape(name)),
            format => Err(OpenError::unreadable(name, format)),
        }
    }

    /// The file, as importers take it.
    pub(super) fn transcript(&self) -> Transcript<'_> {
        match &self.path {
            Some(path) => Transcript::At(path),
            None => Transcript::Open(&self.file, &self.name),
        }
    }

    /// The file, as an importer takes it that stays.
    pub(super) fn lasting(&self) -> behind::Source {
        match &self.path {
            Some(path) => behind::Source::At(path.clone()),
            None => behind::Source::Open(Arc::clone(&self.file), self.name.clone()),
        }
    }

    /// Keeps a stream in a file that has no name and is gone with the program. What begins
    /// like nothing that is read here may never end, and is not kept.
    fn spool(name: String, mut stream: impl io::Read) -> Result<Self, OpenError> {
        let mut start = Vec::new();
        let read = stream.by_ref().take(SNIFFED as u64).read_to_end(&mut start);
        if let Err(error) = read {
            return Err(OpenError::Io(name, error));
        }
        match sniff(&start) {
            Format::NativeTape | Format::ClaudeCode => {}
            Format::Empty if start.len() < SNIFFED => {}
            format => return Err(OpenError::unreadable(name, format)),
        }
        let spooled = || {
            let mut file = tempfile::tempfile()?;
            io::copy(&mut start.as_slice().chain(stream), &mut file)?;
            Ok(file)
        };
        match spooled() {
            Ok(file) => Ok(Self {
                name,
                path: None,
                file: file.into(),
            }),
            Err(error) => Err(OpenError::Io(name, error)),
        }
    }
}

fn sniffed(name: &str, bytes: &TapeBytes) -> Result<Format, OpenError> {
    let failed = |error| OpenError::Io(name.to_owned(), error);
    let mut start = vec![0; SNIFFED];
    let mut filled = 0;
    while let Some(rest) = start.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match bytes.read_at(filled as u64, rest).map_err(failed)? {
            0 => break,
            count => filled += count,
        }
    }
    start.truncate(filled);
    Ok(sniff(&start))
}
