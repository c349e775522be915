//! Says when a file may have changed: told by the system where it can, and by looking at the
//! file's size and time four times a second, because some file systems accept a watch and
//! never tell.
//!
//! It reads no contents. The directory is watched, not the file, so that a file that takes
//! its place is seen.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Between two calls at least this much time passes, however fast the file is written.
const CALM: Duration = Duration::from_millis(33);

/// A watch over a file. It ends when it is dropped.
#[derive(Debug)]
pub struct Watch {
    // Before the thread: it pokes it.
    watcher: Option<RecommendedWatcher>,
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
    may_have_changed: bool,
    is_ending: bool,
}

impl Watch {
    /// Watches the file at `path`, whether it is there yet or not. `call` is called once at
    /// once, for what happened before, and after each change; never twice at a time.
    pub fn start(path: &Path, call: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let mut watch = Self::poll(path, call)?;
        watch.watcher = watcher(path, Arc::clone(&watch.shared));
        Ok(watch)
    }

    /// Like [`start`](Self::start), without asking the system to tell.
    pub fn poll(path: &Path, call: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        shared.poke();
        let (its, path) = (Arc::clone(&shared), path.to_owned());
        let thread = std::thread::Builder::new().name("tape-watch".to_owned());
        Ok(Self {
            watcher: None,
            shared,
            thread: Some(thread.spawn(move || its.run(&path, &call))?),
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watcher = None;
        self.shared.lock().is_ending = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic of the callback was reported by its thread.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poke(&self) {
        self.lock().may_have_changed = true;
        self.changed.notify_one();
    }

    /// Waits at most this long; whether the watch goes on.
    fn wait(&self, time: Duration, is_enough: impl Fn(&State) -> bool) -> bool {
        let is_quiet = |state: &mut State| !state.is_ending && !is_enough(state);
        let waited = self.changed.wait_timeout_while(self.lock(), time, is_quiet);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.is_ending
    }

    fn run(&self, path: &Path, call: &impl Fn()) {
        let mut seen = Looks::of(path);
        while self.wait(LOOK, |state| state.may_have_changed) {
            let was_told = std::mem::take(&mut self.lock().may_have_changed);
            let looks = Looks::of(path);
            if was_told || looks != seen {
                seen = looks;
                call();
                if !self.wait(CALM, |_| false) {
                    return;
                }
            }
        }
    }
}

/// What a file looks like from outside; `None` where there is none.
#[derive(PartialEq, Eq)]
struct Looks(Option<(u64, u64, u64, i64, i64)>);

impl Looks {
    fn of(path: &Path) -> Self {
        let metadata = std::fs::metadata(path).ok();
        Self(metadata.map(|metadata| {
            (
                metadata.dev(),
                metadata.ino(),
                metadata.len(),
                metadata.mtime(),
                metadata.mtime_nsec(),
            )
        }))
    }
}

/// A watcher over the directory of the path, and over that of the file that a link at the
/// path leads to. `None` where the system has no more of them.
fn watcher(path: &Path, shared: Arc<Shared>) -> Option<RecommendedWatcher> {
    let mut places = vec![place_of(path)?];
    let target = path.canonicalize().ok();
    places.extend(target.as_deref().and_then(place_of));
    let names: Vec<OsString> = places.iter().map(|place| place.1.clone()).collect();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // An error may mean that events were lost: then a look is worth it, too.
        let concerns = event.map_or(true, |event| {
            let is_ours = |path: &PathBuf| names.iter().any(|name| path.file_name() == Some(name));
            // Reading is no change, or reading would never end.
            let is_read = event.kind.is_access() && !is_written(event.kind);
            !is_read && (event.paths.is_empty() || event.paths.iter().any(is_ours))
        });
        if concerns {
            shared.poke();
        }
    })
    .ok()?;
    let watched = places
        .iter()
        .flat_map(|(directory, _)| watcher.watch(directory, RecursiveMode::NonRecursive))
        .count();
    (watched > 0).then_some(watcher)
}

const fn is_written(kind: notify::EventKind) -> bool {
    use notify::event::{AccessKind, AccessMode};
    matches!(
        kind,
        notify::EventKind::Access(AccessKind::Close(AccessMode::Write))
    )
}

/// The directory of a path, and the name in it.
fn place_of(path: &Path) -> Option<(PathBuf, OsString)> {
    let name = path.file_name()?.to_owned();
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    Some((directory, name))
}
