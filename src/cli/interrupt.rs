//! Ctrl-C while something long is done: the work is asked to stop, so that nothing half
//! written is left; what does not hear of it is ended all the same.
//!
//! The screen has its own way with signals: nothing here listens before a command has
//! something to clean up.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// So long work has to stop that says nothing else.
const GRACE: Duration = Duration::from_secs(2);
/// Between two looks whether it has.
const LOOK: Duration = Duration::from_millis(5);

/// What the one listener of the program and the work know of each other. It is there once it
/// listens; before, signals do what they always do.
static STATE: OnceLock<State> = OnceLock::new();

#[derive(Default)]
struct State {
    /// How many pieces of work can be stopped.
    armed: AtomicUsize,
    /// The signal that asks for it, 0 for none.
    asked: AtomicI32,
    /// So many milliseconds the work has to stop.
    grace: AtomicU64,
}

/// Work that can be stopped by a signal, for as long as this is there.
pub(super) struct Interrupt(&'static State);

impl Interrupt {
    /// From now on, signals ask this work to stop.
    pub(super) fn arm() -> Self {
        Self::arm_for(GRACE)
    }

    /// The same, of work that may take so long to stop.
    pub(super) fn arm_for(grace: Duration) -> Self {
        let mut is_first = false;
        let state = STATE.get_or_init(|| {
            is_first = true;
            State::default()
        });
        if is_first {
            listen(state);
        }
        let grace = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        state.grace.store(grace, Ordering::SeqCst);
        state.armed.fetch_add(1, Ordering::SeqCst);
        Self(state)
    }

    /// Asks the work to stop, as this signal would.
    pub(super) fn ask(&self, signal: i32) {
        self.0.asked.store(signal, Ordering::SeqCst);
    }

    /// A way to ask for it as Ctrl-C does, for whoever reads the keys of the terminal.
    pub(super) fn asking(&self) -> impl Fn() + Send + use<> {
        let state = self.0;
        move || state.asked.store(SIGINT, Ordering::SeqCst)
    }

    /// Whether the work is to stop.
    pub(super) fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst) != 0
    }

    /// The signal that stopped the work. Whoever takes it ends the program.
    pub(super) fn take(&self) -> Option<i32> {
        let signal = self.0.asked.swap(0, Ordering::SeqCst);
        (signal != 0).then_some(signal)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.0.armed.fetch_sub(1, Ordering::SeqCst);
    }
}

fn listen(state: &'static State) {
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
        return;
    };
    let listener = thread::Builder::new().name("signals".into());
    let _no_thread = listener.spawn(move || {
        for signal in signals.forever() {
            if state.armed.load(Ordering::SeqCst) > 0 {
                state.asked.store(signal, Ordering::SeqCst);
                state.wait_until_done();
                // Taken: the program ends by itself, with a word about it.
                if state.asked.load(Ordering::SeqCst) == 0 {
                    continue;
                }
            }
            let _ = emulate_default_handler(signal);
        }
    });
}

impl State {
    /// Waits until the work has stopped, or was done anyway, or does not hear.
    fn wait_until_done(&self) {
        let grace = Duration::from_millis(self.grace.load(Ordering::SeqCst));
        let end = Instant::now() + grace;
        while self.armed.load(Ordering::SeqCst) > 0
            && self.asked.load(Ordering::SeqCst) != 0
            && Instant::now() < end
        {
            thread::sleep(LOOK);
        }
    }
}
