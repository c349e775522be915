//! A program in a pseudo-terminal: what it writes, what a terminal would show of it, and
//! how it leaves the terminal.
//!
//! The program is started through `setsid --ctty` of util-linux, which makes the terminal
//! its controlling one and then becomes the program: the process id stays the same.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal};
use rustix::pty::OpenptFlags;
use rustix::termios::{Termios, Winsize};

/// A program in a pseudo-terminal.
pub(crate) struct Pty {
    /// The terminal's side; `None` after a hangup.
    master: Option<OwnedFd>,
    /// The program's side, kept open to ask for its modes afterwards.
    terminal: File,
    before: Termios,
    child: Child,
    bytes: Vec<u8>,
    screen: vt100::Parser,
}

impl Pty {
    /// Starts the program with a screen of so many columns and rows. Its environment is
    /// what `environment` says and nothing else.
    pub(crate) fn spawn<A: AsRef<OsStr>>(
        (columns, rows): (u16, u16),
        arguments: impl IntoIterator<Item = A>,
        environment: &[(&str, &str)],
    ) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags)?;
        rustix::pty::grantpt(&master)?;
        rustix::pty::unlockpt(&master)?;
        let name = rustix::pty::ptsname(&master, Vec::new())?;
        let terminal = {
            use rustix::fs::{Mode, OFlags, open};
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            File::from(open(&name, flags, Mode::empty())?)
        };
        rustix::termios::tcsetwinsize(&master, size(columns, rows))?;
        // Asked for before the program can change it.
        let before = rustix::termios::tcgetattr(&terminal)?;
        let child = Command::new("setsid")
            .arg("--ctty")
            .args(arguments)
            .env_clear()
            .envs(environment.iter().copied())
            .stdin(Stdio::from(terminal.try_clone()?))
            .stdout(Stdio::from(terminal.try_clone()?))
            .stderr(Stdio::from(terminal.try_clone()?))
            .spawn()?;
        Ok(Self {
            master: Some(master),
            before,
            terminal,
            child,
            bytes: Vec::new(),
            screen: vt100::Parser::new(rows, columns, 0),
        })
    }

    /// Types these bytes.
    pub(crate) fn send(&mut self, mut keys: &[u8]) -> io::Result<()> {
        while !keys.is_empty() {
            let written = rustix::io::write(self.master()?, keys)?;
            keys = keys.split_at(written).1;
        }
        Ok(())
    }

    /// Reads what the program writes until the screen is as wanted; whether it came so far
    /// within the time.
    pub(crate) fn wait_for(
        &mut self,
        patience: Duration,
        is_wanted: impl Fn(&vt100::Screen) -> bool,
    ) -> io::Result<bool> {
        self.wait_until(patience, |pty| is_wanted(pty.screen()))
    }

    /// Reads what the program writes until that is as wanted; whether it came so far within
    /// the time.
    pub(crate) fn wait_until(
        &mut self,
        patience: Duration,
        is_wanted: impl Fn(&Self) -> bool,
    ) -> io::Result<bool> {
        let end = Instant::now() + patience;
        while !is_wanted(self) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.read(left)? {
                return Ok(is_wanted(self));
            }
        }
        Ok(true)
    }

    /// Reads until the program has written nothing for this long, and says when it last did.
    pub(crate) fn settle(&mut self, quiet: Duration) -> io::Result<Instant> {
        let mut last = Instant::now();
        while self.read(quiet)? {
            last = Instant::now();
        }
        Ok(last)
    }

    /// Reads until this moment.
    pub(crate) fn settle_until(&mut self, end: Instant) -> io::Result<()> {
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.read(left)?;
        }
    }

    /// Reads once; false when nothing came in that time, or nothing can come any more.
    pub(crate) fn read(&mut self, patience: Duration) -> io::Result<bool> {
        let timeout = Timespec::try_from(patience).map_err(io::Error::other)?;
        let mut buffer = [0; 1 << 14];
        let length = {
            let master = self.master()?;
            let mut fds = [PollFd::new(master, PollFlags::IN)];
            if rustix::event::poll(&mut fds, Some(&timeout))? == 0 {
                return Ok(false);
            }
            match rustix::io::read(master, &mut buffer) {
                Ok(length) => length,
                Err(rustix::io::Errno::IO) => 0,
                Err(error) => return Err(error.into()),
            }
        };
        self.bytes.extend_from_slice(&buffer[..length]);
        self.screen.process(&buffer[..length]);
        Ok(length > 0)
    }

    /// The window gets another size.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) -> io::Result<()> {
        rustix::termios::tcsetwinsize(self.master()?, size(columns, rows))?;
        self.screen
            .screen_mut()
            .set_size(rows.max(1), columns.max(1));
        Ok(())
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(rustix::process::kill_process(self.id(), signal)?)
    }

    /// The program's process.
    pub(crate) fn id(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The terminal goes away.
    pub(crate) fn hang_up(&mut self) {
        self.master = None;
    }

    /// Waits for the program's end, and reads what it says until then; `None` when it
    /// still runs after this time.
    pub(crate) fn wait(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let end = Instant::now() + patience;
        while self.master.is_some() {
            if let Some(status) = self.child.try_wait()? {
                while self.read(Duration::from_millis(20))? {}
                return Ok(Some(status));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            self.read(Duration::from_millis(5))?;
        }
        self.wait_unread(patience)
    }

    /// Waits for the program's end without reading anything: its terminal fills up.
    pub(crate) fn wait_unread(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let end = Instant::now() + patience;
        loop {
            let status = self.child.try_wait()?;
            if status.is_some() || Instant::now() >= end {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// All that the program wrote.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the terminal shows.
    pub(crate) fn screen(&self) -> &vt100::Screen {
        self.screen.screen()
    }

    /// The terminal's modes, as they print: the type has no equality.
    pub(crate) fn modes(&self) -> io::Result<String> {
        let now = rustix::termios::tcgetattr(&self.terminal)?;
        Ok(format!("{now:?}"))
    }

    /// The terminal's modes from before the program.
    pub(crate) fn modes_before(&self) -> String {
        format!("{:?}", self.before)
    }

    fn master(&self) -> io::Result<&OwnedFd> {
        self.master
            .as_ref()
            .ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
