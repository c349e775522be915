//! Records that could not be handed over: lines in a file, until a recorder takes them in.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
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
            .read(true)
            .append(true)
            .mode(0o600)
            .open(&self.path)?;
        file.lock()?;
        let before = file.metadata()?.len();
        if before + line.len() as u64 > MOST {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let written = begin_line(&mut file, before)
            .and_then(|()| file.write_all(line))
            .and_then(|()| file.write_all(newline(line)))
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

/// Ends a line that whoever wrote it was killed in: the next one must not be a part of it.
fn begin_line(file: &mut File, len: u64) -> io::Result<()> {
    if len == 0 {
        return Ok(());
    }
    let mut last = [0];
    file.seek(SeekFrom::Start(len - 1))?;
    file.read_exact(&mut last)?;
    file.write_all(newline(&last))
}

/// What a line lacks to be one.
fn newline(line: &[u8]) -> &'static [u8] {
    if line.ends_with(b"\n") { b"" } else { b"\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_not_written_to_its_end_costs_no_other() {
        let place = tempfile::tempdir().unwrap();
        let places = HookPlaces {
            spools: place.path().to_owned(),
            ..HookPlaces::default()
        };
        let spool = Spool::of(&places, "s");
        let record = |id: &str| {
            let record = r#"{"session_id":"s","hook_event_name":"Stop"}"#;
            format!(r#"{{"id":"{id}","at":1,"record":{record}}}"#)
        };
        spool.append(record("1").as_bytes()).unwrap();
        let mut bytes = fs::read(&spool.path).unwrap();
        bytes.extend(b"{\"id\":\"2\",\"at\":1,\"rec");
        fs::write(&spool.path, bytes).unwrap();
        spool.append(record("3").as_bytes()).unwrap();
        let mut taken = Vec::new();
        let take = |late: Vec<Delivery>| {
            taken.extend(late.into_iter().map(|it| it.id));
            Ok(())
        };
        spool.take(take).unwrap();
        assert_eq!(taken, ["1", "3"]);
        assert_eq!(fs::read(&spool.path).unwrap(), b"");
    }
}
