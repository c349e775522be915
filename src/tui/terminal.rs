//! The terminal, borrowed and given back.
//!
//! While a [`Terminal`] lives, the terminal is ours: raw mode, the alternate screen, no
//! cursor, bracketed paste, focus and, if wanted, the mouse. Dropped, for whatever reason,
//! it is as it was. What was switched on is known in one place that a panic hook can reach
//! as well, so it is switched off exactly once, whoever comes first; after that nothing is
//! written any more.
//!
//! The kitty keyboard protocol is never switched on: all it would add here are the
//! releases of keys, which nobody wants, and one more thing to leave behind.
//!
//! Nothing here reads keys, draws or knows the state of the screen.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, QueueSelector, Termios};

/// Sizes beyond this are cut: a terminal may claim any, and each cell costs memory.
const LARGEST: Size = Size::new(2000, 1000);

const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1004h";
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";
/// The mouse comes first, since some terminals keep its modes per screen, and all of its
/// modes: a program that was killed before us may have left some on.
const LEAVE: &str = concat!(
    "\x1b[?1006l\x1b[?1015l\x1b[?1003l\x1b[?1002l\x1b[?1000l",
    "\x1b[?1004l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l",
);

/// What there is to undo; `None` while the terminal is not ours.
static HELD: Mutex<Option<Held>> = Mutex::new(None);

/// Why there is no screen.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// Standard output is no terminal, or there is none to read keys from.
    #[error("the screen needs a terminal; `jukebox log TAPE` prints the steps")]
    NotATerminal,
    /// The terminal refused.
    #[error("the terminal cannot be used: {0}")]
    Io(#[from] io::Error),
}

/// Whether the mouse is reported to us. Off, the terminal selects text with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mouse {
    /// It is.
    #[default]
    On,
    /// It is the terminal's.
    Off,
}

/// The guard: while it lives, the terminal is ours.
#[derive(Debug)]
pub(super) struct Terminal {
    keys: OwnedFd,
    mouse: Mouse,
}

impl Terminal {
    /// Takes the terminal of standard output; keys come from standard input or, where that
    /// is something else, from the controlling terminal.
    pub(super) fn open(mouse: Mouse) -> Result<Self, TerminalError> {
        if !rustix::termios::isatty(rustix::stdio::stdout()) {
            return Err(TerminalError::NotATerminal);
        }
        let stdin = rustix::stdio::stdin();
        let keys = if rustix::termios::isatty(stdin) {
            stdin.try_clone_to_owned()?
        } else {
            let controlling = File::options().read(true).write(true).open("/dev/tty");
            controlling
                .map_err(|_no_terminal| TerminalError::NotATerminal)?
                .into()
        };
        let terminal = Self { keys, mouse };
        terminal.enter()?;
        Ok(terminal)
    }

    /// Makes the terminal ours again after [`leave`]. Where it is ours already, everything
    /// is set anew: somebody else may have changed it.
    pub(super) fn enter(&self) -> io::Result<()> {
        let mut held = held();
        let saved = match held.take() {
            Some(earlier) => earlier.saved,
            None => rustix::termios::tcgetattr(&self.keys)?,
        };
        let mut raw = saved.clone();
        raw.make_raw();
        rustix::termios::tcsetattr(&self.keys, OptionalActions::Now, &raw)?;
        *held = Some(Held {
            keys: self.keys.try_clone()?,
            saved,
            mouse: self.mouse,
        });
        drop(held);
        write(ENTER.as_bytes())?;
        match self.mouse {
            Mouse::On => write(MOUSE_ON.as_bytes()),
            Mouse::Off => Ok(()),
        }
    }

    /// Takes the mouse, or leaves it to the terminal.
    pub(super) fn set_mouse(&mut self, mouse: Mouse) -> io::Result<()> {
        self.mouse = mouse;
        if let Some(held) = held().as_mut() {
            held.mouse = mouse;
        }
        write(match mouse {
            Mouse::On => MOUSE_ON.as_bytes(),
            Mouse::Off => MOUSE_OFF.as_bytes(),
        })
    }

    /// Where keys come from.
    pub(super) fn keys(&self) -> BorrowedFd<'_> {
        self.keys.as_fd()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        leave();
    }
}

/// The size in cells; nothing by nothing after a hangup.
pub(super) fn size() -> Size {
    rustix::termios::tcgetwinsize(rustix::stdio::stdout()).map_or(Size::ZERO, |size| {
        Size::new(
            size.ws_col.min(LARGEST.width),
            size.ws_row.min(LARGEST.height),
        )
    })
}

/// Gives the terminal back as it was, if it is ours. What cannot be written any more is
/// not: the terminal may be gone.
pub(super) fn leave() {
    give_back(&mut held());
}

/// The same, unless somebody hangs in a write to it.
pub(super) fn leave_unless_busy() {
    if let Ok(mut held) = HELD.try_lock() {
        give_back(&mut held);
    }
}

fn give_back(held: &mut Option<Held>) {
    let Some(earlier) = held.take() else {
        return;
    };
    let _gone = write_all(LEAVE.as_bytes());
    if earlier.mouse == Mouse::On {
        // Reports that are on their way would be typed into the shell.
        let _gone = rustix::termios::tcflush(&earlier.keys, QueueSelector::IFlush);
    }
    let _gone = rustix::termios::tcsetattr(&earlier.keys, OptionalActions::Now, &earlier.saved);
}

/// Writes to the terminal while it is ours, and nothing at all otherwise.
pub(super) fn write(bytes: &[u8]) -> io::Result<()> {
    let held = held();
    if held.is_some() {
        write_all(bytes)?;
    }
    Ok(())
}

struct Held {
    keys: OwnedFd,
    saved: Termios,
    mouse: Mouse,
}

fn held() -> MutexGuard<'static, Option<Held>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Past the standard library's buffer, whose lock a panicking thread may hold, and patient
/// with a terminal that some other program has made non-blocking.
fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    let stdout = rustix::stdio::stdout();
    while !bytes.is_empty() {
        match rustix::io::write(stdout, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.split_at(written).1,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                rustix::event::poll(&mut [PollFd::new(&stdout, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
