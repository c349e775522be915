//! A transcript that is imported on a thread of its own, while what that writes is read.
//!
//! The import is never far ahead of the reader: who stops reading stops the import, too.
//! Dropped before it is whole, it is ended, and what it wrote is removed.

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::import::{ImportError, finish, put_in_place, recorder_options};
use crate::import::claude_code::{self, Options, Survey, Transcript};
use crate::model::{Progress, Tell};
use crate::tape::{Block, Recorder, TapeBytes};

/// So many bytes the import may be ahead of the reader.
const LEAD: u64 = 16 << 20;
/// Bytes that are worth a look, if they come soon.
const WORTH: usize = 1 << 16;
/// Bytes that are taken at once.
const MOST: usize = 1 << 21;
/// How soon is soon.
const SOON: Duration = Duration::from_millis(20);

/// A transcript to be imported, by whoever needs no more than this.
pub(super) struct Task {
    pub(super) source: Source,
    pub(super) options: Options,
    pub(super) survey: Survey,
    /// Where the tape is kept; `None`: nowhere.
    pub(super) kept: Option<PathBuf>,
}

/// Where the transcript lies.
pub(super) enum Source {
    At(PathBuf),
    Open(Arc<File>, String),
}

/// An import that goes on.
#[derive(Debug)]
pub(super) struct Behind {
    /// What it writes.
    bytes: TapeBytes,
    /// How much of that was read.
    at: u64,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    progress: Progress,
    /// How much of the tape was read.
    read: u64,
    /// Nobody wants it any more.
    is_dropped: bool,
    /// It has ended, and why, if that was too early.
    is_over: bool,
    failure: Option<String>,
}

/// A tape that is being written.
struct Written {
    recorder: Recorder,
    bytes: TapeBytes,
    /// The directory of its own that it lies in, until it is kept.
    part: Option<tempfile::TempDir>,
}

impl Task {
    /// Begins to import.
    pub(super) fn begin(self) -> Result<Behind, ImportError> {
        let written = self.create()?;
        let shared = Arc::new(Shared::default());
        let bytes = written.bytes.clone();
        let its = Arc::clone(&shared);
        let importer = thread::Builder::new().name("import".into());
        let thread = importer.spawn(move || {
            let done = self.import(written, &its);
            let mut state = its.lock();
            state.is_over = true;
            state.failure = done.err().map(|error| error.to_string());
            its.changed.notify_all();
        })?;
        Ok(Behind {
            bytes,
            at: 0,
            shared,
            thread: Some(thread),
        })
    }

    /// A tape where it can be kept; in memory where it cannot.
    fn create(&self) -> Result<Written, ImportError> {
        let header = self.survey.header();
        let beside = self.kept.as_deref().and_then(|kept| {
            let directory = kept.parent()?;
            fs::create_dir_all(directory).ok()?;
            let part = tempfile::Builder::new()
                .prefix(".part-")
                .tempdir_in(directory)
                .ok()?;
            let path = part.path().join(PART);
            let recorder = Recorder::create(&path, header.clone(), recorder_options()).ok()?;
            let bytes = TapeBytes::File(File::open(&path).ok()?.into());
            let part = Some(part);
            Some(Written {
                recorder,
                bytes,
                part,
            })
        });
        if let Some(written) = beside {
            return Ok(written);
        }
        let recorder = Recorder::in_memory(header, recorder_options())?;
        Ok(Written {
            bytes: recorder.bytes(),
            recorder,
            part: None,
        })
    }

    fn import(self, written: Written, shared: &Shared) -> Result<(), ImportError> {
        let Written {
            recorder,
            bytes,
            part,
        } = written;
        let transcript = match &self.source {
            Source::At(path) => Transcript::At(path),
            Source::Open(file, name) => Transcript::Open(file, name),
        };
        let tell: &mut Tell<'_> = &mut |progress| shared.tell(progress, &bytes);
        let imported =
            claude_code::import_surveyed(transcript, &self.survey, &self.options, recorder, tell);
        let (report, recorder) = imported?;
        finish(recorder, &report)?;
        if let (Some(kept), Some(part)) = (&self.kept, &part) {
            // What cannot be kept can be read all the same, as long as it is open.
            let _ = put_in_place(&part.path().join(PART), kept);
        }
        Ok(())
    }
}

/// The name of a tape in a directory of its own.
const PART: &str = "tape.jsonl";

impl Behind {
    /// What it writes.
    pub(super) fn bytes(&self) -> TapeBytes {
        self.bytes.clone()
    }

    /// How much of the transcript was imported.
    pub(super) fn progress(&self) -> Progress {
        self.shared.lock().progress
    }

    /// What was written next, `None` at the end. Waits for it.
    pub(super) fn next_block(&mut self) -> io::Result<Option<Block>> {
        let mut block = vec![0; MOST];
        let mut filled = 0;
        loop {
            // Asked before it is read: what was written before the end is read in any case.
            let (is_over, failure) = {
                let state = self.shared.lock();
                (state.is_over, state.failure.clone())
            };
            let before = filled;
            while let Some(rest) = block.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                match self.bytes.read_at(self.at, rest)? {
                    0 => break,
                    count => {
                        filled += count;
                        self.at += count as u64;
                    }
                }
            }
            let has_come = filled > before;
            let is_enough = filled >= WORTH || (filled > 0 && (is_over || !has_come));
            if is_enough {
                block.truncate(filled);
                self.shared.lock().read = self.at;
                self.shared.changed.notify_all();
                return Ok(Some(block.into()));
            }
            match failure {
                _ if !is_over => self.shared.wait_soon(),
                None if has_come => {}
                None => return Ok(None),
                Some(why) => return Err(io::Error::other(why)),
            }
        }
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        self.shared.lock().is_dropped = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic was reported by its thread.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_soon(&self) {
        let state = self.lock();
        if !state.is_over {
            drop(self.changed.wait_timeout(state, SOON));
        }
    }

    /// Called by the import: waits while it is too far ahead.
    fn tell(&self, progress: Progress, bytes: &TapeBytes) -> ControlFlow<()> {
        let mut state = self.lock();
        state.progress = progress;
        loop {
            if state.is_dropped {
                return ControlFlow::Break(());
            }
            let written = bytes.len().unwrap_or_default();
            if written <= state.read + LEAD {
                self.changed.notify_all();
                return ControlFlow::Continue(());
            }
            let waited = self.changed.wait_timeout(state, SOON);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}
