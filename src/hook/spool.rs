//! Records that could not be handed over: lines in a file, until a recorder takes them in.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use super::door::entries;
use super::{Delivery, HookPlaces, key_of};
use crate::tape::RecordError;

/// Bytes that wait at most: a disk is not filled because nobody records.
const MOST: u64 = 256 << 20;
/// The spool of what belongs to no session. Kept for a person to look at.
const REFUSED: &str = "refused";

/// The spool of one session.
#[derive(Clone, Debug)]
pub struct Spool {
    path: PathBuf,
}

impl Spool {
    /// The spool of a session.
    pub fn of(places: &HookPlaces, session: &str) -> Self {
        Self::named(places, &key_of(session))
    }

    /// The spool of what no session can be told of.
    pub fn of_refused(places: &HookPlaces) -> Self {
        Self::named(places, REFUSED)
    }

    fn named(places: &HookPlaces, name: &str) -> Self {
        Self {
            path: places.spools.join(format!("{name}.jsonl")),
        }
    }

    /// How many spools wait for a recorder, and how many bytes were refused.
    pub fn waiting(places: &HookPlaces) -> (usize, u64) {
        let refused = Self::of_refused(places).path;
        let len = |path: &PathBuf| fs::metadata(path).map_or(0, |found| found.len());
        let spools = entries(&places.spools).filter(|path| *path != refused && len(path) > 0);
        (spools.count(), len(&refused))
    }

    /// Appends a line, whole or not at all.
    pub fn append(&self, line: &[u8]) -> io::Result<()> {
        if let Some(above) = self.path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(above)?;
        }
        let mut file = File::options()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&self.path)?;
        file.lock()?;
        let before = file.metadata()?.len();
        if before + line.len() as u64 > MOST {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let newline: &[u8] = if line.ends_with(b"\n") { b"" } else { b"\n" };
        let written = file
            .write_all(line)
            .and_then(|()| file.write_all(newline))
            .and_then(|()| file.sync_data());
        written.inspect_err(|_| {
            let _torn_else = file.set_len(before);
        })
    }

    /// Gives what waits to `take`; it is gone when that went well.
    pub(super) fn take(
        &self,
        take: impl FnOnce(Vec<Delivery>) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let mut file = match File::options().read(true).write(true).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return take(Vec::new()),
            Err(error) => return Err(RecordError::Write(error)),
        };
        let mut bytes = Vec::new();
        let read = file.lock().and_then(|()| file.read_to_end(&mut bytes));
        read.map_err(RecordError::Write)?;
        let lines = bytes.split(|byte| *byte == b'\n');
        let late = lines.filter_map(Delivery::read).map(|delivery| Delivery {
            is_late: true,
            ..delivery
        });
        take(late.collect())?;
        // Emptied and not removed: whoever opened it meanwhile waits for the lock.
        file.set_len(0).map_err(RecordError::Write)
    }
}
