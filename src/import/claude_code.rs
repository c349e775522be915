//! Transcripts of Claude Code, from 1.0 on.
//!
//! One session is a file of JSON lines, with sub-agents in it, beside it or in a directory
//! of its own. [`import`] reads all of it; [`Importer`] takes line after line, for a
//! transcript that is still growing.
//!
//! What is not understood is kept byte for byte. What a record shows of a file is weighed
//! against what the calls made of it; where they disagree, an outside change stands between.
//!
//! Nothing here reads the home directory: where backups lie is said in the options.

mod agents;
mod aside;
mod beside;
mod calls;
mod effects;
mod files;
mod importer;
mod lineage;
mod merge;
mod messages;
mod paths;
mod placing;
mod preview;
mod record;
mod reply;
mod results;
mod returns;
mod scene;
mod seen;
mod shell;
mod survey;
mod title;
mod turns;
mod view;
mod words;
mod writing;

use std::fmt;
use std::fs::File;
use std::io::{self, Seek as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub use crate::import::lines::{Ending, Line};
pub use importer::Importer;
pub use preview::Preview;
pub use survey::Survey;
pub use turns::{Turn, returned, title_of_call, title_of_words};

use crate::import::base::Base;
use crate::import::{EventSink, Report};
use crate::model::{Header, Tell};

/// The name of the format, as headers and raw events carry it.
pub const FORMAT: &str = "claude-code";
/// The field of a header's source that names the git branch the run was on.
pub const GIT_BRANCH: &str = "git_branch";
/// Part of the tape's id: another importer may give other events for the same bytes.
const IMPORTER_VERSION: &str = "claude-code-importer 1";

/// A transcript to be imported. It is surveyed first, and then read again.
#[derive(Clone, Copy, Debug)]
pub enum Transcript<'a> {
    /// A file by its path. What lies beside it by the format's layout is read, too.
    At(&'a Path),
    /// An open file, and what to call it. Nothing lies beside it.
    Open(&'a File, &'a str),
}

impl Transcript<'_> {
    /// The file, from its start.
    fn file(self) -> io::Result<File> {
        match self {
            Self::At(path) => File::open(path),
            Self::Open(file, _) => {
                let mut file = file.try_clone()?;
                file.rewind()?;
                Ok(file)
            }
        }
    }

    /// What to call it: the name of the file, without its directory.
    fn name(self) -> String {
        match self {
            Self::At(path) => path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            Self::Open(_, name) => name.to_owned(),
        }
    }

    /// Where it lies, if it is known.
    fn path(&self) -> Option<&Path> {
        match self {
            Self::At(path) => Some(path),
            Self::Open(..) => None,
        }
    }
}

/// Where to look for what the transcript does not hold.
#[derive(Clone, Default)]
pub struct Options {
    /// The files as they were before the run.
    pub base: Option<Base>,
    /// The directory of the program's file history.
    pub file_history: Option<PathBuf>,
    /// The transcript is still being written: its unfinished last line is a problem for
    /// now, and leaves no gap.
    pub awaits_rest: bool,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("base", &self.base.is_some())
            .field("file_history", &self.file_history)
            .field("awaits_rest", &self.awaits_rest)
            .finish()
    }
}

/// An import came to an end before its time.
#[derive(Debug, thiserror::Error)]
pub enum ImportError<E> {
    /// A file could not be read.
    #[error("{name} could not be read: {source}")]
    Read {
        /// Which.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// Whoever was told how far it had come broke it off.
    #[error("the import was stopped")]
    Stopped,
    /// An event could not be written.
    #[error(transparent)]
    Write(E),
}

/// Reads a transcript and all that belongs to it. Its events go to the sink that is opened
/// with the tape's header.
pub fn import<S: EventSink>(
    transcript: Transcript<'_>,
    options: &Options,
    open: impl FnOnce(Header) -> Result<S, S::Error>,
) -> Result<(Report, S), ImportError<S::Error>> {
    let tell: &mut Tell<'_> = &mut |_| ControlFlow::Continue(());
    let survey = survey(transcript, options, tell)?;
    let sink = open(survey.header()).map_err(ImportError::Write)?;
    import_surveyed(transcript, &survey, options, sink, tell)
}

/// Looks at a transcript before it is imported: what its tape is called, and what belongs to
/// it. Costs a pass over all its files; `tell` is told of their bytes.
pub fn survey<E>(
    transcript: Transcript<'_>,
    options: &Options,
    tell: &mut Tell<'_>,
) -> Result<Survey, ImportError<E>> {
    let mut is_stopped = false;
    let survey = Survey::of(transcript, options, &mut |progress| {
        let flow = tell(progress);
        is_stopped |= flow.is_break();
        flow
    });
    match survey {
        _ if is_stopped => Err(ImportError::Stopped),
        Ok(survey) => Ok(survey),
        Err(source) => Err(ImportError::Read {
            name: transcript.name(),
            source,
        }),
    }
}

/// Imports a transcript that was surveyed; `tell` is told how many of its bytes were read.
pub fn import_surveyed<S: EventSink>(
    transcript: Transcript<'_>,
    survey: &Survey,
    options: &Options,
    sink: S,
    tell: &mut Tell<'_>,
) -> Result<(Report, S), ImportError<S::Error>> {
    merge::run(transcript, survey, options, sink, tell)
}
