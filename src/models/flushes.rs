//! Knows when a connection has written all that it was given.
//!
//! An answer that was cut off is to arrive as far as it came, and then to break. Who breaks a
//! connection loses what it had not written; so the break waits for the next flush, which
//! comes after everything that was given before.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use hyper::rt::{Read, ReadBufCursor, Write};

/// Counts the flushes of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Flushes(Arc<Mutex<Count>>);

#[derive(Debug, Default)]
struct Count {
    done: u64,
    waiting: Option<Waker>,
}

impl Flushes {
    /// How many there were.
    pub(super) fn done(&self) -> u64 {
        self.lock().done
    }

    /// Waits for one after the first `done`.
    pub(super) fn poll_after(&self, done: u64, context: &mut Context<'_>) -> Poll<()> {
        let mut count = self.lock();
        if count.done > done {
            return Poll::Ready(());
        }
        count.waiting = Some(context.waker().clone());
        Poll::Pending
    }

    fn add(&self) {
        let mut count = self.lock();
        count.done += 1;
        if let Some(waker) = count.waiting.take() {
            waker.wake();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection whose flushes are counted.
#[derive(Debug)]
pub(super) struct Counted<C> {
    pub(super) connection: C,
    pub(super) flushes: Flushes,
}

impl<C: Read + Unpin> Read for Counted<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_read(context, buffer)
    }
}

impl<C: Write + Unpin> Write for Counted<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.connection).poll_flush(context);
        if let Poll::Ready(Ok(())) = flushed {
            self.flushes.add();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}
