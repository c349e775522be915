//! How many files of the cache are being written, and their giving up.
//!
//! What is in them is not known here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// So long it is waited for that a file which was given up is taken away.
const GIVING_UP: Duration = Duration::from_millis(100);

/// The files that are being written.
#[derive(Debug, Default)]
pub(super) struct Writing {
    now: Mutex<Now>,
    ended: Condvar,
    is_given_up: AtomicBool,
}

#[derive(Debug, Default)]
struct Now {
    count: usize,
    saves: Duration,
}

/// A file of them, until this is dropped.
pub(super) struct One(Arc<Writing>);

impl Writing {
    /// One more, whose tape took so long to be read.
    pub(super) fn begin(this: &Arc<Self>, saves: Duration) -> One {
        let mut now = this.now();
        now.count += 1;
        now.saves = now.saves.max(saves);
        drop(now);
        One(Arc::clone(this))
    }

    /// The longest time that it took to read one of their tapes.
    pub(super) fn saves(&self) -> Duration {
        self.now().saves
    }

    /// Whether nobody waits for them any more.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// Waits for them, but not longer than this, and gives them up.
    pub(super) fn finish(&self, patience: Duration) {
        let now = self.wait(self.now(), patience);
        if now.count > 0 {
            // Whoever writes looks now and then, and takes away what it began.
            self.is_given_up.store(true, Ordering::Relaxed);
            drop(self.wait(now, GIVING_UP));
        }
    }

    fn wait<'a>(&'a self, now: MutexGuard<'a, Now>, patience: Duration) -> MutexGuard<'a, Now> {
        let is_busy = |now: &mut Now| now.count > 0;
        let waited = self.ended.wait_timeout_while(now, patience, is_busy);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.now().count -= 1;
        self.0.ended.notify_all();
    }
}
