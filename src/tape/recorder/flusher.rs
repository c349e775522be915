//! A thread that sees to it that what was written is on disk within 100 ms.
//!
//! It sleeps while nothing is written, and ends with its recorder.

use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Half of what is promised: the other half is for the disk.
const DELAY: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Flusher {
    file: Arc<File>,
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
    is_waiting: bool,
    is_ending: bool,
    failure: Option<io::Error>,
}

impl Flusher {
    pub(super) fn new(file: Arc<File>) -> Self {
        Self {
            file,
            shared: Arc::default(),
            thread: None,
        }
    }

    /// Something was written. Fails if the disk failed since it was asked last.
    pub(super) fn wake(&mut self) -> io::Result<()> {
        let mut state = self.shared.lock();
        if let Some(failure) = state.failure.take() {
            return Err(failure);
        }
        if !state.is_waiting {
            state.is_waiting = true;
            self.shared.changed.notify_one();
        }
        drop(state);
        if self.thread.is_none() {
            let (file, shared) = (Arc::clone(&self.file), Arc::clone(&self.shared));
            let thread = std::thread::Builder::new().name("tape-sync".to_owned());
            self.thread = Some(thread.spawn(move || shared.flush(&file))?);
        }
        Ok(())
    }

    /// The caller syncs now: there is nothing to wait for.
    pub(super) fn settle(&self) {
        self.shared.lock().is_waiting = false;
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.shared.lock().is_ending = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of that thread was reported by it; there is nothing left to do here.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush(&self, file: &File) {
        let mut state = self.lock();
        loop {
            while !state.is_waiting && !state.is_ending {
                let woken = self.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
            }
            if !state.is_ending {
                let is_open = |state: &mut State| !state.is_ending;
                let woken = self.changed.wait_timeout_while(state, DELAY, is_open);
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
            if std::mem::take(&mut state.is_waiting) {
                drop(state);
                let result = file.sync_data();
                state = self.lock();
                if let Err(error) = result {
                    state.failure = Some(error);
                }
            } else if state.is_ending {
                return;
            }
        }
    }
}
