//! Small files in the user's state directory: one JSON object each, read whole, and changed
//! whole or not at all.
//!
//! Several programs may change a file at once: each holds the directory's lock from the
//! reading to the renaming. What is damaged, or is of another tape, counts for nothing, and
//! is moved aside before something is written in its place: a person may have typed it.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

/// The fields of a file, in their order.
pub(super) type Fields = Map<String, Value>;

/// More is read of no file here: what is longer is damaged.
const MAX_BYTES: u64 = 16 << 20;

/// So long another program is waited for. It holds the lock for as long as it takes to write
/// a small file; one that holds it longer was stopped.
const PATIENCE: Duration = Duration::from_millis(500);

/// The field that says of which tape a file is.
const TAPE: &str = "tape";

/// A file that may not be there yet.
#[derive(Debug)]
pub(super) struct StateFile<'a> {
    directory: &'a Path,
    name: String,
    tape: Option<String>,
}

impl<'a> StateFile<'a> {
    /// The file of this name, relative to the state directory.
    pub(super) fn new(directory: &'a Path, name: impl Into<String>) -> Self {
        Self {
            directory,
            name: name.into(),
            tape: None,
        }
    }

    /// It holds what was left at this run, and says so.
    pub(super) fn of_tape(self, run: String) -> Self {
        Self {
            tape: Some(run),
            ..self
        }
    }

    /// The fields; none where there is nothing that can be read.
    pub(super) fn read(&self) -> Fields {
        let bytes = read(&self.path()).unwrap_or_default();
        self.fields(&bytes).unwrap_or_default()
    }

    /// Changes the fields. Nothing is written where they come out the same.
    pub(super) fn change(&self, change: impl FnOnce(&mut Fields)) -> io::Result<()> {
        let path = self.path();
        let above = path.parent().unwrap_or(self.directory);
        make_directory(above)?;
        let _lock = lock(&self.directory.join("lock"))?;
        let bytes = match read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            bytes => bytes?,
        };
        let found = self.fields(&bytes);
        if found.is_none() && !bytes.is_empty() {
            let aside = self.directory.join("damaged").join(&self.name);
            make_directory(aside.parent().unwrap_or(self.directory))?;
            fs::rename(&path, aside)?;
        }
        let before = found.unwrap_or_default();
        let mut fields = before.clone();
        if let Some(tape) = &self.tape {
            fields.insert(TAPE.into(), tape.clone().into());
        }
        change(&mut fields);
        if fields == before {
            return Ok(());
        }
        // At one go: each word by itself would be a call of the system's.
        let mut text = serde_json::to_vec_pretty(&fields)?;
        text.push(b'\n');
        let mut file = tempfile::NamedTempFile::new_in(above)?;
        file.write_all(&text)?;
        file.persist(&path)?;
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// `None` for what is no JSON object, or belongs to another tape.
    fn fields(&self, bytes: &[u8]) -> Option<Fields> {
        let fields: Fields = serde_json::from_slice(bytes).ok()?;
        let tape = fields.get(TAPE).and_then(Value::as_str);
        (tape.is_none() || tape == self.tape.as_deref()).then_some(fields)
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes a directory that is the user's alone.
fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Takes the lock; it is given back when the file is closed. Without it after all, because
/// somebody keeps it or the file system knows no locks, a change of somebody else may be
/// lost, and every file is whole all the same.
fn lock(path: &Path) -> io::Result<File> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    let start = Instant::now();
    while let Err(TryLockError::WouldBlock) = file.try_lock() {
        if start.elapsed() > PATIENCE {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(file)
}
