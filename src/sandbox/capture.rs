//! The two streams of a command, read as they come: handed on up to a number of bytes, then
//! only counted.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use super::config::{Captured, Said, Stream};

/// Bytes read at a time, and held by a pipe, where the system lets it.
const AT_ONCE: usize = 1 << 18;
/// Reads in one turn, so that whoever floods one stream cannot starve the rest.
const IN_A_TURN: usize = 16;

/// One stream.
pub(super) struct Capture {
    stream: Stream,
    /// The end to read; `None`: nobody can write any more.
    source: Option<OwnedFd>,
    most: u64,
    captured: Captured,
}

impl Capture {
    /// The stream, and the end that a command writes.
    pub(super) fn open(stream: Stream, most: u64) -> io::Result<(Self, OwnedFd)> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&read, true)?;
        // It is faster with more, and works with less.
        let _ = rustix::pipe::fcntl_setpipe_size(&read, AT_ONCE);
        let capture = Self {
            stream,
            source: Some(read),
            most,
            captured: Captured::default(),
        };
        Ok((capture, write))
    }

    pub(super) fn source(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }

    pub(super) fn captured(&self) -> Captured {
        self.captured
    }

    /// What is still open when the command is gone: somebody it left may write there.
    pub(super) fn into_source(self) -> Option<OwnedFd> {
        self.source
    }

    /// Reads what there is, for one turn. Whether there may be more.
    pub(super) fn read(
        &mut self,
        buffer: &mut Vec<u8>,
        sink: &mut dyn FnMut(Said<'_>) -> ControlFlow<()>,
    ) -> io::Result<(bool, ControlFlow<()>)> {
        buffer.resize(AT_ONCE, 0);
        for _ in 0..IN_A_TURN {
            let Some(source) = &self.source else {
                return Ok((false, ControlFlow::Continue(())));
            };
            let got = match rustix::io::read(source, buffer.as_mut_slice()) {
                Ok(0) => {
                    self.source = None;
                    return Ok((false, ControlFlow::Continue(())));
                }
                Ok(got) => got,
                Err(Errno::AGAIN) => return Ok((false, ControlFlow::Continue(()))),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let left = self.most.saturating_sub(self.captured.kept);
            let kept = got.min(usize::try_from(left).unwrap_or(usize::MAX));
            self.captured.kept += kept as u64;
            self.captured.dropped += (got - kept) as u64;
            let bytes = buffer.get(..kept).unwrap_or_default();
            if !bytes.is_empty() && sink(Said::Bytes(self.stream, bytes)).is_break() {
                return Ok((true, ControlFlow::Break(())));
            }
        }
        Ok((true, ControlFlow::Continue(())))
    }
}
