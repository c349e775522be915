//! Who reads from the run, and who makes it grow, take turns.
//!
//! The lock alone would not do: a thread that lets go of it and takes it again is faster
//! than one that wakes up because of that. So whoever takes it many times in a row looks
//! first whether somebody waits. A lookup for a key waits for one slice at most.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::thread;
use std::time::Duration;

use crate::debugger::Debugger;

/// Between two looks whether it is one's turn.
const LOOK: Duration = Duration::from_micros(200);

/// So many looks, then it is one's turn even so: nobody waits for ever.
const PATIENCE: u32 = 100;

/// Whose turn it is.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Threads that wait to look something up.
    readers: AtomicU32,
    /// A thread waits to make the run grow.
    is_growing: AtomicBool,
}

impl Turns {
    /// For a lookup, or a part of one that lasts.
    pub(super) fn read<'a>(&self, run: &'a RwLock<Debugger>) -> RwLockReadGuard<'a, Debugger> {
        self.readers.fetch_add(1, Ordering::Relaxed);
        let guard = run.read().unwrap_or_else(PoisonError::into_inner);
        self.readers.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// Between two parts of a lookup that lasts: lets the run grow, if it wants to.
    pub(super) fn let_grow(&self) {
        wait_while(|| self.is_growing.load(Ordering::Relaxed));
    }

    /// For one slice of growth. It never queues for the lock: whoever came then to look
    /// something up would have to wait behind it, and who reads twice would wait for ever.
    pub(super) fn grow<'a>(&self, run: &'a RwLock<Debugger>) -> RwLockWriteGuard<'a, Debugger> {
        wait_while(|| self.readers.load(Ordering::Relaxed) > 0);
        self.is_growing.store(true, Ordering::Relaxed);
        let guard = loop {
            match run.try_write() {
                Ok(guard) => break guard,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => thread::sleep(LOOK),
            }
        };
        self.is_growing.store(false, Ordering::Relaxed);
        guard
    }
}

fn wait_while(mut is_not_yet: impl FnMut() -> bool) {
    for _ in 0..PATIENCE {
        if !is_not_yet() {
            return;
        }
        thread::sleep(LOOK);
    }
}
