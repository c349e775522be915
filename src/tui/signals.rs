//! What the system tells the program: to end, to stop, to go on, that the window changed.
//!
//! Signals become plain data on a thread of their own; what they do to the screen is
//! decided elsewhere. Once the screen is closed, they do what they do without one.

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{
    SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGSTOP, SIGTERM, SIGTSTP, SIGWINCH,
};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::terminal;

/// How long an orderly end may take before it is made a hasty one.
const GRACE: Duration = Duration::from_secs(1);

/// Something the system said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// End at once: SIGTERM or SIGHUP, by its number.
    End(i32),
    /// End, as the keyboard asks: SIGINT or SIGQUIT, by its number.
    Interrupt(i32),
    /// Stop until somebody says to go on.
    Stop,
    /// Go on after a stop, asked for or not.
    Continue,
    /// The window has another size.
    Resize,
    /// A child process ended.
    Child,
}

/// The screen is open: it hears of signals for as long as this is there.
#[derive(Debug)]
pub(super) struct Listening(Arc<AtomicBool>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// Listens from now on.
pub(super) fn spawn(mut tell: impl FnMut(Signal) + Send + 'static) -> io::Result<Listening> {
    let is_open = Arc::new(AtomicBool::new(true));
    let listening = Listening(Arc::clone(&is_open));
    let mut signals = Signals::new([
        SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD,
    ])?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for number in signals.forever() {
                match number {
                    _ if !is_open.load(Ordering::SeqCst) => do_as_ever(number),
                    SIGHUP | SIGTERM => {
                        tell(Signal::End(number));
                        end_hastily(number, &is_open);
                    }
                    SIGINT | SIGQUIT => tell(Signal::Interrupt(number)),
                    SIGTSTP => tell(Signal::Stop),
                    SIGCONT => tell(Signal::Continue),
                    SIGWINCH => tell(Signal::Resize),
                    _ => tell(Signal::Child),
                }
            }
        })?;
    Ok(listening)
}

/// Stops the program here until somebody sends SIGCONT, which [`spawn`] tells of.
pub(super) fn stop() -> io::Result<()> {
    signal_hook::low_level::raise(SIGSTOP)
}

/// Whether somebody is there who could send SIGCONT: a program that leads its session, as
/// in a window of its own, has no shell to go on from.
pub(super) fn can_be_continued() -> bool {
    rustix::process::getsid(None).is_ok_and(|leader| leader != rustix::process::getpid())
}

/// Does what the system would have done. To end is the business of whoever goes on after the
/// screen, and listens as well.
fn do_as_ever(number: i32) {
    if let SIGTSTP | SIGQUIT = number {
        let _not_possible = emulate_default_handler(number);
    }
}

/// The drawing thread may hang in a write to a terminal that takes nothing any more. Then
/// the order to end is carried out here.
fn end_hastily(number: i32, is_open: &AtomicBool) {
    thread::sleep(GRACE);
    if !is_open.load(Ordering::SeqCst) {
        return;
    }
    terminal::leave_unless_busy();
    process::exit(128 + number);
}
