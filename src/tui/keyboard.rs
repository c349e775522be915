//! Reads what is typed, on a thread of its own, and can be told to keep its hands off.
//!
//! Nothing here knows what a key does.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crossterm::event::Event;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::decode::Decoder;

/// What comes from a keyboard.
#[derive(Clone, Debug)]
pub(super) enum Typed {
    /// A key, the mouse, a paste, focus.
    Event(Event),
    /// The terminal is gone; nothing follows.
    Gone,
}

/// The thread that reads.
#[derive(Debug)]
pub(super) struct Keyboard {
    bell: OwnedFd,
    turns: SyncSender<()>,
}

impl Keyboard {
    /// Starts to read from this terminal.
    pub(super) fn spawn(
        terminal: OwnedFd,
        tell: impl FnMut(Typed) + Send + 'static,
    ) -> io::Result<Self> {
        let (doorstep, bell) = rustix::pipe::pipe()?;
        // No room in it: who sends knows that the other side has come to receive.
        let (turns, turns_taken) = sync_channel(0);
        let reader = Reader {
            terminal,
            doorstep,
            turns: turns_taken,
        };
        thread::Builder::new()
            .name("keyboard".into())
            .spawn(move || reader.read(tell))?;
        Ok(Self { bell, turns })
    }

    /// Reads no key while this runs: they belong to another program.
    pub(super) fn leave_to<T>(&self, other: impl FnOnce() -> T) -> T {
        // Where the thread has ended, nobody reads anyway.
        let _ended = rustix::io::write(&self.bell, b"!");
        let _ended = self.turns.send(());
        let value = other();
        let _ended = self.turns.send(());
        value
    }
}

struct Reader {
    terminal: OwnedFd,
    doorstep: OwnedFd,
    turns: Receiver<()>,
}

impl Reader {
    fn read(self, mut tell: impl FnMut(Typed)) {
        let mut decoder = Decoder::default();
        let mut buffer = [0; 4096];
        loop {
            let mut tell_event = |event| tell(Typed::Event(event));
            match self.wait(&decoder) {
                Ok(Ready::Nothing) => decoder.settle(&mut tell_event),
                Ok(Ready::Bell) => {
                    decoder.settle(&mut tell_event);
                    if !self.stand_aside() {
                        return;
                    }
                }
                Ok(Ready::Bytes) => match rustix::io::read(&self.terminal, &mut buffer) {
                    Ok(0) => break,
                    Ok(length) => decoder.push(&buffer[..length], &mut tell_event),
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    Err(_) => break,
                },
                Err(_) => break,
            }
        }
        tell(Typed::Gone);
    }

    fn wait(&self, decoder: &Decoder) -> rustix::io::Result<Ready> {
        let timeout = decoder
            .patience()
            .and_then(|wait| Timespec::try_from(wait).ok());
        let mut fds = [
            PollFd::from_borrowed_fd(self.terminal.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.doorstep.as_fd(), PollFlags::IN),
        ];
        loop {
            match rustix::event::poll(&mut fds, timeout.as_ref()) {
                Ok(0) => return Ok(Ready::Nothing),
                Ok(_) if fds[1].revents().is_empty() => return Ok(Ready::Bytes),
                Ok(_) => return Ok(Ready::Bell),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until it is our turn again. False when the screen is no more.
    fn stand_aside(&self) -> bool {
        let rung = rustix::io::read(&self.doorstep, &mut [0; 1]);
        rung == Ok(1) && self.turns.recv().is_ok() && self.turns.recv().is_ok()
    }
}

/// What there is to read.
enum Ready {
    /// Nothing, for as long as the decoder would wait.
    Nothing,
    /// Bytes, or the end of them.
    Bytes,
    /// Somebody else wants the keys.
    Bell,
}
