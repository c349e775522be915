//! Beginning a fork of a run: its tape, beside the run's or among the user's own.
//!
//! The run is only read. What the fork then says is for whoever answers its calls.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::Debugger;
use super::parents::{Ancestor, short_name, tape_at};
use crate::model::{Edit, Header, Parent, Seq};
use crate::tape::{Behind, RecordError, Recorder, RecorderOptions, Shared, SnapshotPolicy};

/// A fork that was begun.
#[derive(Debug)]
pub struct BegunFork {
    /// What its events are given to.
    pub recorder: Recorder,
    /// Its tape.
    pub path: PathBuf,
}

/// A fork was not begun, and left no file behind.
#[derive(Debug, thiserror::Error)]
pub enum BeginForkError {
    /// The run cannot be left there.
    #[error("the run cannot be left behind event {0}: it is not there, or shares its line")]
    NotThere(Seq),
    /// The run is in no file, and there is no place for one.
    #[error("the run is in no file that a fork could name")]
    NoPlace,
    /// The tape cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A file could not be read or written.
    #[error("{0}: {1}")]
    Io(String, #[source] io::Error),
}

/// Names that are tried before it is an error that all of them are taken.
const MOST_NAMES: u32 = 10_000;

impl Debugger {
    /// Begins a fork that shares the events up to this one, at `out`, or else beside the run's
    /// tape as `NAME.fork-N.jsonl`. Where nothing can be written there, and of a transcript,
    /// it is put among the user's own. No file is written over. Costs a copy of what is
    /// known of the shared events, and the reading of a few.
    pub fn begin_fork(
        &self,
        seq: Seq,
        edit: Edit,
        out: Option<&Path>,
        options: RecorderOptions,
    ) -> Result<BegunFork, BeginForkError> {
        self.begin_fork_saying(seq, (edit, Map::new()), out, options)
    }

    /// The same. Of what the header says that the tape covers, these fields take the place of
    /// the run's.
    pub(super) fn begin_fork_saying(
        &self,
        seq: Seq,
        (edit, covers): (Edit, Map<String, Value>),
        out: Option<&Path>,
        options: RecorderOptions,
    ) -> Result<BegunFork, BeginForkError> {
        let failed = |error| BeginForkError::Io(self.name.clone(), error);
        let shared = Shared::of(&self.tape, &self.name, seq).map_err(failed)?;
        let shared = shared.ok_or(BeginForkError::NotThere(seq))?;
        let parent = self.parent_file(&shared)?;
        let mut header = Header {
            edit: Some(edit),
            id: String::new(),
            parent: None,
            recorder: None,
            ..self.header.clone()
        };
        header.covers.extend(covers);
        let options = RecorderOptions {
            snapshots: SnapshotPolicy::Never,
            ..options
        };
        let begin = |path: &Path| {
            let hint = hint(&parent, &self.places.lasting(path));
            let behind = Behind {
                parent: &self.tape,
                files: &*self.state,
                shared: &shared,
            };
            Recorder::fork(path, behind, Some(hint), header.clone(), options.clone())
        };
        let (recorder, path) = match out {
            Some(out) => (begin(out)?, out.to_owned()),
            None => self.begin_beside(&parent, begin)?,
        };
        self.note_new_fork(&path, &parent);
        Ok(BegunFork { recorder, path })
    }

    /// Begins it at the first name that is free.
    fn begin_beside<T>(
        &self,
        parent: &Path,
        begin: impl Fn(&Path) -> Result<T, RecordError>,
    ) -> Result<(T, PathBuf), BeginForkError> {
        let stem = Path::new(&self.name).file_stem().unwrap_or_default();
        let stem = stem.to_string_lossy();
        let beside = self.tape_file().and(parent.parent()).map(Path::to_owned);
        let own = self.own_directory("forks");
        let mut refused = None;
        for directory in beside.into_iter().chain(own) {
            if fs::metadata(&directory).is_err() {
                make_directory(&directory)
                    .map_err(|error| BeginForkError::Io(directory.display().to_string(), error))?;
            }
            let taken = names_in(&directory);
            let names = (1..MOST_NAMES).map(|number| format!("{stem}.fork-{number}.jsonl"));
            for name in names.filter(|name| !taken.contains(OsStr::new(name))) {
                let path = directory.join(name);
                match begin(&path) {
                    Ok(recorder) => return Ok((recorder, path)),
                    Err(RecordError::Exists(_)) => {}
                    Err(error) => {
                        refused = Some(error);
                        break;
                    }
                }
            }
            if !refused.as_ref().is_some_and(is_refused) {
                break;
            }
        }
        Err(refused.map_or(BeginForkError::NoPlace, BeginForkError::Record))
    }

    /// The tape that the fork is to name. A transcript, and a run that came from no file, is
    /// kept as one first.
    fn parent_file(&self, shared: &Shared) -> Result<PathBuf, BeginForkError> {
        if let Some(path) = self.tape_file() {
            return Ok(self.places.lasting(path));
        }
        let directory = self
            .own_directory("imports")
            .ok_or(BeginForkError::NoPlace)?;
        if self.header.id.is_empty() || self.header.id.contains('/') {
            return Err(BeginForkError::NoPlace);
        }
        let link = shared.parent();
        let is_kept = |path: &Path| {
            let (bytes, _) = tape_at(path)?;
            Some(Shared::find(bytes, "", link.seq).ok()??.is_of(&link))
        };
        let mut path = directory.join(format!("{}.jsonl", link.id));
        if is_kept(&path) == Some(false) {
            // The same transcript, with the files of another base.
            let line = link.line.map_or_else(String::new, |line| line.to_string());
            path = directory.join(format!("{}-{line}.jsonl", link.id));
        }
        let keep = || {
            make_directory(&directory)?;
            let bytes = &self.tape.bytes;
            let mut file = tempfile::NamedTempFile::new_in(&directory)?;
            let (mut at, mut buffer) = (0, vec![0; 1 << 18]);
            while let count @ 1.. = bytes.read_at(at, &mut buffer)? {
                file.write_all(buffer.split_at(count).0)?;
                at += count as u64;
            }
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        if !path.exists() {
            keep().map_err(|error| BeginForkError::Io(path.display().to_string(), error))?;
        }
        Ok(path)
    }

    /// A directory of the user's own, for tapes.
    fn own_directory(&self, name: &str) -> Option<PathBuf> {
        let data = self.places.imports.as_deref().and_then(Path::parent);
        let data = data.or(self.places.state.as_deref())?;
        Some(data.join(name))
    }

    /// What a fork that shares no event says of this run, and the file that it names.
    pub(super) fn whole_parent(&self) -> Result<(Parent, PathBuf), BeginForkError> {
        let none = Seq(0);
        let failed = |error| BeginForkError::Io(self.name.clone(), error);
        let shared = Shared::of(&self.tape, &self.name, none).map_err(failed)?;
        let shared = shared.ok_or(BeginForkError::NotThere(none))?;
        Ok((shared.parent(), self.parent_file(&shared)?))
    }

    /// Where a fork is to be: at `out`, or else where [`begin_fork`](Self::begin_fork) would
    /// put it. Nothing is there yet.
    pub(super) fn place_for_fork(
        &self,
        parent: &Path,
        out: Option<&Path>,
    ) -> Result<PathBuf, BeginForkError> {
        let is_free = |path: &Path| {
            let made = File::create_new(path).and_then(|_| fs::remove_file(path));
            made.map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => RecordError::Exists(path.to_owned()),
                _ => RecordError::Open {
                    path: path.to_owned(),
                    source,
                },
            })
        };
        match out {
            Some(out) => is_free(out).map(|()| out.to_owned()).map_err(Into::into),
            None => Ok(self.begin_beside(parent, is_free)?.1),
        }
    }

    /// What the header of a fork at this place says of where its parent lies.
    pub(super) fn hint_in(&self, fork: &Path, parent: &Path) -> String {
        hint(parent, &self.places.lasting(fork))
    }

    pub(super) fn note_new_fork(&self, path: &Path, parent: &Path) {
        let Some((_, header)) = tape_at(path) else {
            return;
        };
        let mut ancestors = vec![Ancestor {
            header: self.header.clone(),
            path: parent.to_owned(),
        }];
        ancestors.extend(self.ancestors.iter().cloned());
        // It is found again beside its parent, or by its hint.
        let _ = self.places.note_fork(&header, path, &ancestors);
    }
}

/// What a header says of where its parent lies: its name, if it is in the same directory.
fn hint(parent: &Path, fork: &Path) -> String {
    let is_beside = parent.parent() == fork.parent();
    if is_beside {
        short_name(parent)
    } else {
        parent.to_string_lossy().into_owned()
    }
}

/// The names in a directory, as far as it can be read.
fn names_in(directory: &Path) -> HashSet<OsString> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .collect()
}

fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether nothing may be written there.
fn is_refused(error: &RecordError) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    let RecordError::Open { source, .. } = error else {
        return false;
    };
    matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem)
}
