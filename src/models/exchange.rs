//! One exchange, told as it happens to whoever writes the tape.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use hyper::body::Bytes;
use tokio::sync::oneshot;

use super::answer::{Answer, Assembly};
use super::api::{Api, Dialect};
use crate::model::{StreamFrame, Via};

/// What was asked.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) api: Api,
    pub(super) dialect: Option<Dialect>,
    pub(super) method: String,
    /// Below the endpoint's own address, with the query.
    pub(super) path: String,
    /// Those without secrets.
    pub(super) headers: Vec<(String, String)>,
    /// Out of its compression.
    pub(super) body: Arc<[u8]>,
    /// In a fork, how its answer comes about.
    pub(super) via: Option<Via>,
}

/// Something that happened in an exchange. Who holds a [`Written`] goes on when the tape has it.
#[derive(Debug)]
pub(super) enum Happening {
    Asked(Asked, Written),
    Answered {
        status: u16,
        headers: Vec<(String, String)>,
    },
    Chunk(Bytes),
    Complete(Box<Answer>, Written),
    /// What was said on a stream, by either side.
    Said(Vec<StreamFrame>, Written),
    Ended(Option<String>),
}

/// Told when what it came with is on the tape; dropped where it could not be written.
pub(super) type Written = oneshot::Sender<()>;

/// The tape could not be written.
#[derive(Debug)]
pub(super) struct NotWritten;

async fn wait_for(is_written: oneshot::Receiver<()>) -> Result<(), NotWritten> {
    is_written.await.map_err(NotWritten::from)
}

impl From<oneshot::error::RecvError> for NotWritten {
    fn from(_: oneshot::error::RecvError) -> Self {
        Self
    }
}

/// Where happenings are told, and somebody is woken to hear them.
#[derive(Debug)]
pub(super) struct Teller {
    pub(super) happenings: Sender<(u64, Happening)>,
    pub(super) wake: Arc<UnixStream>,
}

impl Teller {
    /// Tells what was said on a stream: it is on the tape when this returns.
    pub(super) async fn said(&self, frames: Vec<StreamFrame>) -> Result<(), NotWritten> {
        let (written, is_written) = oneshot::channel();
        // It is of no exchange.
        self.tell(0, Happening::Said(frames, written));
        wait_for(is_written).await
    }

    fn tell(&self, number: u64, happening: Happening) {
        // Nobody hears it when the run is over; then it is of no tape.
        if self.happenings.send((number, happening)).is_ok() {
            // A full pipe wakes as well.
            let _ = (&*self.wake).write(&[1]);
        }
    }
}

/// An exchange under way. Dropped before its end, it was cut off.
#[derive(Debug)]
pub(super) struct Exchange {
    number: u64,
    teller: Arc<Teller>,
    dialect: Option<Dialect>,
    assembly: Option<Assembly>,
    is_over: bool,
}

impl Exchange {
    /// Begins: what was asked is on the tape when this returns.
    pub(super) async fn begin(
        number: u64,
        teller: Arc<Teller>,
        asked: Asked,
    ) -> Result<Self, NotWritten> {
        let exchange = Self {
            number,
            dialect: asked.dialect,
            teller,
            assembly: None,
            is_over: false,
        };
        let (written, is_written) = oneshot::channel();
        exchange
            .teller
            .tell(number, Happening::Asked(asked, written));
        wait_for(is_written).await?;
        Ok(exchange)
    }

    /// An answer begins.
    pub(super) fn answered(&mut self, status: u16, headers: Vec<(String, String)>) {
        let begin = |dialect| Assembly::new(dialect, status, &headers);
        self.assembly = self.dialect.map(begin);
        self.tell(Happening::Answered { status, headers });
    }

    /// Whether it is known of each chunk whether it completes the answer, as it is of all
    /// where none is awaited.
    pub(super) fn is_stream(&self) -> bool {
        self.assembly.as_ref().is_none_or(Assembly::is_stream)
    }

    /// Bytes of its body came. When this returns and they complete the answer, that is on the
    /// tape: what an agent does upon it comes later.
    pub(super) async fn chunk(&mut self, bytes: Bytes) -> Result<(), NotWritten> {
        if let Some(assembly) = &mut self.assembly {
            assembly.push(&bytes);
        }
        self.tell(Happening::Chunk(bytes));
        match self.assembly.take_if(|assembly| assembly.is_over()) {
            Some(assembly) => self.complete(assembly.finish(false)).await,
            None => Ok(()),
        }
    }

    /// All of it came.
    pub(super) async fn end(mut self) -> Result<(), NotWritten> {
        let complete = match self.assembly.take() {
            Some(assembly) => self.complete(assembly.finish(false)).await,
            None => Ok(()),
        };
        self.over(None);
        complete
    }

    /// It broke off, or never began.
    pub(super) fn cut(mut self, why: String) {
        self.over(Some(why));
    }

    async fn complete(&mut self, answer: Answer) -> Result<(), NotWritten> {
        let (written, is_written) = oneshot::channel();
        self.tell(Happening::Complete(Box::new(answer), written));
        wait_for(is_written).await
    }

    fn over(&mut self, cut: Option<String>) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        if let Some(assembly) = self.assembly.take() {
            // Nobody waits for it: there is nothing to hand on.
            let answer = Box::new(assembly.finish(true));
            self.tell(Happening::Complete(answer, oneshot::channel().0));
        }
        self.tell(Happening::Ended(cut));
    }

    fn tell(&self, happening: Happening) {
        self.teller.tell(self.number, happening);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.over(Some("the agent did not wait for its end".to_owned()));
    }
}
