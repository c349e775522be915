//! Where the hooks of a session find its recorder: a socket and two locks in a directory that
//! is the user's alone.
//!
//! A recorder holds its session's lock for as long as it lives; the system gives it back
//! whatever ends it. Hooks that find no socket start one, one at a time.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{HookPlaces, key_of};

/// The longest path that a socket may have everywhere.
const LONGEST: usize = 100;
/// So long a recorder that was started is waited for.
const START: Duration = Duration::from_secs(2);
/// So long a recorder waits for the one before it to end.
const END: Duration = Duration::from_mins(1);
/// Permission bits of everybody but the owner.
const OTHERS: u32 = 0o077;
const PAUSE: Duration = Duration::from_millis(1);

/// The meeting place of one session.
#[derive(Clone, Debug)]
pub struct Door {
    directory: PathBuf,
    key: String,
}

/// The right to record a session: nobody else has it.
#[derive(Debug)]
pub(super) struct Claim {
    door: Door,
    pub(super) listener: UnixListener,
    _lock: File,
}

impl Door {
    /// The door of a session; `None` where no directory is the user's alone.
    pub fn of(places: &HookPlaces, session: &str) -> Option<Self> {
        let key = key_of(session);
        let usable = |directory: &&PathBuf| {
            let longest = directory.join(format!("{key}.socket"));
            longest.as_os_str().as_bytes().len() <= LONGEST && is_own(directory)
        };
        let directory = places.runtime.iter().find(usable)?.clone();
        Some(Self { directory, key })
    }

    /// A stream to the recorder, which is started where there is none.
    pub(super) fn reach(&self, start: &dyn Fn() -> io::Result<()>) -> io::Result<UnixStream> {
        if let Ok(stream) = self.knock() {
            return Ok(stream);
        }
        let turn = open(&self.path("start"))?;
        let began = Instant::now();
        while let Err(TryLockError::WouldBlock) = turn.try_lock() {
            if began.elapsed() > START {
                break;
            }
            thread::sleep(PAUSE);
        }
        if let Ok(stream) = self.knock() {
            return Ok(stream);
        }
        start()?;
        loop {
            match self.knock() {
                Err(error) if began.elapsed() > START => return Err(error),
                Err(_) => thread::sleep(PAUSE),
                reached => return reached,
            }
        }
    }

    fn knock(&self) -> io::Result<UnixStream> {
        UnixStream::connect(self.path("socket"))
    }

    /// Becomes the recorder; `None` where there is one that listens.
    pub(super) fn claim(&self) -> io::Result<Option<Claim>> {
        let mut lock = open(&self.path("lock"))?;
        let began = Instant::now();
        while let Err(TryLockError::WouldBlock) = lock.try_lock() {
            // One that does not listen any more is about to end.
            if self.knock().is_ok() || began.elapsed() > END {
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
        lock.set_len(0)?;
        write!(lock, "{}", std::process::id())?;
        let begun = self.path("new");
        let _left_behind = fs::remove_file(&begun);
        let listener = UnixListener::bind(&begun)?;
        fs::set_permissions(&begun, Permissions::from_mode(0o600))?;
        fs::rename(&begun, self.path("socket"))?;
        Ok(Some(Claim {
            door: self.clone(),
            listener,
            _lock: lock,
        }))
    }

    /// A file of the session.
    fn path(&self, end: &str) -> PathBuf {
        self.directory.join(format!("{}.{end}", self.key))
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }
}

impl Claim {
    /// No hook reaches this recorder any more.
    pub(super) fn close_door(&self) {
        let _is_gone = fs::remove_file(self.door.path("socket"));
    }
}

/// The recorders that run now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorders {
    /// Their processes.
    pub processes: Vec<u32>,
}

impl Recorders {
    /// Looks for them. Starts none.
    pub fn running(places: &HookPlaces) -> Self {
        let mut processes = Vec::new();
        let directories = places.runtime.iter().filter(|path| is_own(path));
        for path in directories.flat_map(|path| entries(path)) {
            if path.extension().is_some_and(|end| end == "lock") && is_held(&path) {
                let mut text = String::new();
                let read = File::open(&path).and_then(|mut file| file.read_to_string(&mut text));
                processes.extend(read.ok().and_then(|_| text.trim().parse::<u32>().ok()));
            }
        }
        processes.sort_unstable();
        Self { processes }
    }
}

/// What a directory holds; nothing where it cannot be read.
pub(super) fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

/// Whether a recorder holds this lock.
pub(super) fn is_held(lock: &Path) -> bool {
    let file = File::open(lock);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Whether the directory, made where it is not there, is a directory that nobody else can
/// write to or look into.
fn is_own(directory: &Path) -> bool {
    let made = DirBuilder::new().mode(0o700).create(directory);
    let is_there = made.is_ok() || directory.exists();
    let user = rustix::process::geteuid().as_raw();
    is_there
        && fs::symlink_metadata(directory)
            .is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & OTHERS == 0)
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).read(true).write(true);
    options.mode(0o600).open(path)
}
