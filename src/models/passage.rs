//! The body of an answer on its way to the agent: the pieces that came, one chunk each, and a
//! connection that breaks where the answer was cut off.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame};
use tokio::sync::mpsc;

use super::flushes::Flushes;

/// What is handed on.
#[derive(Debug)]
pub(super) enum Piece {
    /// Some bytes.
    Bytes(Bytes),
    /// Nothing more, and that is not its end.
    Cut,
}

/// A body whose pieces come from elsewhere.
#[derive(Debug)]
pub(super) struct Passage {
    pieces: mpsc::Receiver<Piece>,
    flushes: Flushes,
    /// It was cut off, and this many flushes had been done by then.
    is_cut: Option<u64>,
}

impl Passage {
    pub(super) fn new(flushes: Flushes) -> (mpsc::Sender<Piece>, Self) {
        // An agent that reads slowly slows down the other side, as it would without us.
        let (sender, pieces) = mpsc::channel(4);
        let passage = Self {
            pieces,
            flushes,
            is_cut: None,
        };
        (sender, passage)
    }
}

impl Body for Passage {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.is_cut.is_none() {
            match ready!(self.pieces.poll_recv(context)) {
                None => return Poll::Ready(None),
                Some(Piece::Bytes(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Some(Piece::Cut) => self.is_cut = Some(self.flushes.done()),
            }
        }
        ready!(self.flushes.poll_after(self.is_cut.unwrap_or(0), context));
        Poll::Ready(Some(Err(io::ErrorKind::ConnectionAborted.into())))
    }
}
