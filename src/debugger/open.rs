//! Opening a run: a tape, or a foreign transcript that is imported on the way.
//!
//! Opening runs nothing and connects to nothing.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::{Header, Problem};
use crate::state::State;
use crate::tape::{Tape, TapeBytes};

/// An open run.
#[derive(Debug)]
pub struct Debugger {
    pub(super) name: String,
    pub(super) tape: Tape,
    pub(super) state: State,
    pub(super) header: Header,
    pub(super) notices: Vec<String>,
}

/// Where a run comes from.
#[derive(Debug)]
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Bytes that come once, such as standard input. They are kept in a file without a name.
    Stream(io::Stdin),
    /// The tape that is built into the program.
    Demo,
}

/// The user's directories, as the shell found them. Without one, what would be kept there
/// is not kept.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Where imported transcripts are kept as tapes.
    pub imports: Option<PathBuf>,
}

/// How to open a run.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The user's directories.
    pub places: Places,
    /// Where the files come from that a transcript never shows.
    pub base: Option<String>,
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
    #[error("{0} is no tape and no transcript that is known here: {1}")]
    UnknownFormat(String, String),
    /// Nothing in it can be read.
    #[error("nothing in {name} can be read: {first}")]
    NothingReadable {
        /// The file.
        name: String,
        /// The first of its problems.
        first: String,
    },
    /// It could not be read.
    #[error("{0} could not be read: {1}")]
    Io(String, io::Error),
}

impl Debugger {
    /// Opens a run. Costs one pass over its lines.
    pub fn open(source: Source, options: &OpenOptions) -> Result<Self, OpenError> {
        match source {
            Source::Path(path) => Self::open_path(&path, options),
            Source::Stream(stream) => {
                let name = "standard input".to_owned();
                let file = spool(stream).map_err(|error| OpenError::Io(name.clone(), error))?;
                Self::open_bytes(name, TapeBytes::File(Arc::new(file)), options)
            }
            Source::Demo => {
                let bytes: &[u8] = DEMO;
                Self::open_bytes("demo".to_owned(), TapeBytes::Memory(bytes.into()), options)
            }
        }
    }

    fn open_path(path: &Path, options: &OpenOptions) -> Result<Self, OpenError> {
        let shown = path.display().to_string();
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => OpenError::NotFound(shown.clone()),
            _ => OpenError::Io(shown.clone(), error),
        };
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            return Err(OpenError::IsDirectory(shown));
        }
        let file = File::open(path).map_err(failed)?;
        let name = path.file_name().unwrap_or(path.as_os_str());
        let name = name.to_string_lossy().into_owned();
        if !metadata.is_file() {
            // A pipe, as shells make for <(…): it is read once.
            let file = spool(file).map_err(failed)?;
            return Self::open_bytes(name, TapeBytes::File(Arc::new(file)), options);
        }
        Self::open_bytes(name, TapeBytes::File(Arc::new(file)), options)
    }

    fn open_bytes(
        name: String,
        bytes: TapeBytes,
        _options: &OpenOptions,
    ) -> Result<Self, OpenError> {
        let failed = |error| OpenError::Io(name.clone(), error);
        if bytes.is_empty().map_err(failed)? {
            return Err(OpenError::Empty(name));
        }
        let mut state = State::default();
        let tape = Tape::read(bytes, &mut state).map_err(failed)?;
        let header = tape.header().map_err(failed)?;
        Ok(Self {
            name,
            tape,
            state,
            header,
            notices: Vec::new(),
        })
    }

    /// Everything that is wrong with the tape, in the order of lines.
    pub fn problems(&self) -> Vec<Problem> {
        self.tape.problems()
    }

    /// The header of the tape.
    pub fn header(&self) -> &Header {
        &self.header
    }
}

/// The tape that is built into the program.
const DEMO: &[u8] = b"";

/// Keeps a stream in a file that has no name and is gone with the program.
fn spool(mut stream: impl io::Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut stream, &mut file)?;
    Ok(file)
}
