//! The exchanges that a tape holds, to answer requests with. Nothing else ever answers them.
//!
//! Whether a request is a recorded one is decided by [`crate::replay::request`], here as in
//! every fork. In a fork, one answer is another one, and what was recorded behind it answers
//! nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use super::api::{Api, Dialect};
use super::spoken;
use crate::model::{Body, HttpFrame, Kind, ModelBlock, Problem, Seq};
use crate::replay::request::{self, Miss, VolatileParts};
use crate::replay::stream::{OddFrame, Streams};
use crate::tape::{BlobError, BlobSource as _, Tape, http_frame, later_of};

/// A tape that no request can be answered from.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// The tape cannot be read.
    #[error("the tape could not be read: {0}")]
    Io(#[from] std::io::Error),
    /// It is damaged: an answer might be missing, or another one.
    #[error("the tape is damaged at line {}: {}", .0.line, .0.message)]
    Damaged(Problem),
    /// It is empty, or no tape.
    #[error("it is no tape: it has no header")]
    NoHeader,
    /// Nobody recorded what a model was asked.
    #[error("no exchange with a model is recorded on it, and no stream")]
    Nothing,
    /// A frame of a stream cannot be read.
    #[error(transparent)]
    Frame(#[from] OddFrame),
    /// The body of a request is not there.
    #[error("what was asked in event {seq} is not whole: {source}")]
    Request {
        /// The event.
        seq: Seq,
        /// Why.
        source: BlobError,
    },
    /// A frame stands where it does not belong.
    #[error("the exchange with a model in event {0} is not whole")]
    Odd(Seq),
    /// The answer that a fork replaces belongs to no exchange.
    #[error("it is not recorded what the agent and the model said to each other at this step")]
    NoExchange,
}

/// Recorded exchanges, each of which answers one request.
#[derive(Debug)]
pub struct Recorded {
    exchanges: Vec<Exchange>,
    /// What the run and others said to each other over connections that stayed open.
    streams: Streams,
    volatile: VolatileParts,
    /// The exchange with another answer.
    edited: Option<usize>,
}

#[derive(Debug)]
struct Exchange {
    call: String,
    seq: Seq,
    /// Of which pieces of the body bytes stand in later frames, and how many.
    late: VecDeque<(usize, usize)>,
    api: Api,
    asked: Asked,
    reply: RecordedReply,
    is_taken: bool,
}

/// A request.
#[derive(Debug)]
struct Asked {
    method: String,
    /// With its query.
    path: String,
    body: Arc<[u8]>,
}

/// What is said to a request.
#[derive(Clone, Debug)]
pub enum Found {
    /// What was recorded.
    Recorded(RecordedReply),
    /// What a fork says in its place.
    Edited(RecordedReply),
    /// Nothing: it comes behind the answer that a fork replaced, and nobody was asked it.
    Behind,
}

/// A recorded answer.
#[derive(Clone, Debug, Default)]
pub struct RecordedReply {
    /// The status and the headers; `None`: there was no answer.
    pub head: Option<(u16, Vec<(String, String)>)>,
    /// The body, in the pieces in which it came.
    pub chunks: Vec<Arc<[u8]>>,
    /// Why the body is not whole, or the answer is not there; `None`: it is.
    pub cut: Option<String>,
}

impl Exchange {
    /// Takes a frame of the body. What stood at the ends of earlier pieces comes first, where a
    /// secret might have begun there.
    fn piece(&mut self, mut bytes: &[u8], later: usize) {
        let chunks = &mut self.reply.chunks;
        let has_late = !self.late.is_empty();
        while let Some((at, missing)) = self.late.front_mut() {
            let (end, rest) = bytes.split_at((*missing).min(bytes.len()));
            if let Some(chunk) = chunks.get_mut(*at) {
                *chunk = [chunk, end].concat().into();
            }
            bytes = rest;
            *missing -= end.len();
            if *missing > 0 {
                break;
            }
            self.late.pop_front();
        }
        // A frame that was only added for what was late is no piece.
        if has_late && bytes.is_empty() && later == 0 {
            return;
        }
        if later > 0 {
            self.late.push_back((chunks.len(), later));
        }
        chunks.push(bytes.into());
    }
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// What was asked, in a few words.
    pub asked: String,
    /// How it differs from what was recorded, in a sentence.
    pub why: String,
    /// Where it differs first from the recorded request that was to come next.
    pub miss: Option<Miss>,
}

impl Recorded {
    /// Reads all exchanges of a tape. A tape that is damaged anywhere answers nothing.
    pub fn read(tape: &Tape, volatile: VolatileParts) -> Result<Self, RecordedError> {
        if tape.index.events.kind(0) != Some(Kind::Tape) {
            return Err(RecordedError::NoHeader);
        }
        if let Some(problem) = tape.problems().into_iter().next() {
            return Err(RecordedError::Damaged(problem));
        }
        let mut recorded = Self {
            exchanges: Vec::new(),
            streams: Streams::new(volatile.clone()),
            volatile,
            edited: None,
        };
        for position in 0..tape.index.events.len() {
            let entry = tape.index.events.get(position);
            if entry.is_none_or(|entry| entry.kind != Kind::StreamFrame) {
                continue;
            }
            let event = tape.event(position)?;
            let seq = tape.index.events.seq(position);
            recorded.streams.take(seq, &event)?;
            let is_of_one = matches!(&event.body, Body::Other { fields, .. }
                if fields.get("name").and_then(Value::as_str) == Some(crate::tape::HTTP));
            if !is_of_one {
                continue;
            }
            let (Some(frame), Some(call)) = (http_frame(&event), &event.head.call) else {
                return Err(RecordedError::Odd(seq));
            };
            recorded.take(tape, seq, call, (frame, later_of(&event)))?;
        }
        if recorded.exchanges.is_empty() && recorded.streams.is_empty() {
            return Err(RecordedError::Nothing);
        }
        for exchange in &mut recorded.exchanges {
            exchange.reply.chunks.retain(|chunk| !chunk.is_empty());
        }
        Ok(recorded)
    }

    fn take(
        &mut self,
        tape: &Tape,
        seq: Seq,
        call: &str,
        (frame, later): (HttpFrame, usize),
    ) -> Result<(), RecordedError> {
        if let HttpFrame::Request {
            api,
            method,
            path,
            body,
            ..
        } = frame
        {
            let body = match body {
                Some(hash) => tape
                    .blob(&hash)
                    .map_err(|source| RecordedError::Request { seq, source })?,
                None => Arc::default(),
            };
            self.exchanges.push(Exchange {
                call: call.to_owned(),
                seq,
                late: VecDeque::new(),
                api: Api::parse(&api).ok_or(RecordedError::Odd(seq))?,
                asked: Asked { method, path, body },
                reply: RecordedReply {
                    cut: Some("the tape ends before the answer does".to_owned()),
                    ..RecordedReply::default()
                },
                is_taken: false,
            });
            return Ok(());
        }
        let mut backwards = self.exchanges.iter_mut().rev();
        let exchange = backwards.find(|exchange| exchange.call == call);
        let exchange = exchange.ok_or(RecordedError::Odd(seq))?;
        let reply = &mut exchange.reply;
        match frame {
            HttpFrame::Answer { status, headers } if reply.head.is_none() => {
                reply.head = Some((status, headers));
            }
            HttpFrame::Chunk(bytes) if reply.head.is_some() => exchange.piece(&bytes, later),
            HttpFrame::End { cut } => reply.cut = cut,
            _ => return Err(RecordedError::Odd(seq)),
        }
        Ok(())
    }

    /// The streams, which are opened elsewhere from here on.
    pub(super) fn take_streams(&mut self) -> Streams {
        std::mem::take(&mut self.streams)
    }

    /// How many there are, and how many of them have answered a request.
    pub fn counts(&self) -> (usize, usize) {
        let taken = self.exchanges.iter().filter(|one| one.is_taken).count();
        (self.exchanges.len(), taken)
    }

    /// The same of a fork, which answers the request of this call with other blocks. What was
    /// asked behind it is forgotten: nothing of it may be known in the fork.
    pub fn fork(mut self, call: &str, blocks: &[ModelBlock]) -> Result<Self, RecordedError> {
        let at = self.exchanges.iter().rposition(|one| one.call == call);
        let at = at.ok_or(RecordedError::NoExchange)?;
        self.exchanges.truncate(at + 1);
        let Some(exchange) = self.exchanges.last_mut() else {
            return Err(RecordedError::NoExchange);
        };
        let Asked { method, path, body } = &exchange.asked;
        let dialect = Dialect::of(exchange.api, method, path).ok_or(RecordedError::NoExchange)?;
        exchange.reply = spoken::reply(dialect, body, blocks);
        self.edited = Some(at);
        Ok(self)
    }

    /// Whether the answer that a fork replaces was given. It is not to be waited for where
    /// there is none.
    fn is_behind(&self) -> bool {
        let edited = self.edited.and_then(|at| self.exchanges.get(at));
        edited.is_some_and(|exchange| exchange.is_taken)
    }

    /// What is said to this request: of equal requests each gets its own answer, in the order
    /// in which they were recorded. A request that was never made gets none.
    pub fn reply(
        &mut self,
        api: Api,
        (method, path): (&str, &str),
        body: &[u8],
    ) -> Result<Found, Divergence> {
        let volatile = &self.volatile;
        let mut fresh = self.exchanges.iter_mut().enumerate();
        let same = fresh.find(|(_, one)| {
            !one.is_taken && one.is_for(api, method, path) && one.miss(body, volatile).is_none()
        });
        if let Some((at, exchange)) = same {
            exchange.is_taken = true;
            let reply = exchange.reply.clone();
            return Ok(if self.edited == Some(at) {
                Found::Edited(reply)
            } else {
                Found::Recorded(reply)
            });
        }
        if self.is_behind() {
            return Ok(Found::Behind);
        }
        Err(self.divergence(api, (method, path), body))
    }

    fn divergence(&self, api: Api, (method, path): (&str, &str), body: &[u8]) -> Divergence {
        let of_a_kind = |one: &&Exchange| one.is_for(api, method, path);
        let mut again = self.exchanges.iter().filter(of_a_kind);
        let next = again.clone().find(|one| !one.is_taken);
        let (why, miss) = match next {
            _ if again.any(|one| one.miss(body, &self.volatile).is_none()) => {
                let why = "it was made more often than it was recorded";
                (why.to_owned(), None)
            }
            None if !self.exchanges.iter().any(|one| of_a_kind(&one)) => {
                ("no such request was recorded".to_owned(), None)
            }
            None => {
                let why = "all requests of its kind were answered already";
                (why.to_owned(), None)
            }
            Some(next) => {
                let miss = next.miss(body, &self.volatile);
                let at = miss.as_ref().map_or("", |miss| &miss.path);
                let why = format!("it differs from the one in event {} at {at}", next.seq);
                (why, miss)
            }
        };
        let asked = format!("{method} {path}");
        Divergence { asked, why, miss }
    }
}

impl Exchange {
    /// Whether it asked for the same thing of the same place, whatever it said.
    fn is_for(&self, api: Api, method: &str, path: &str) -> bool {
        self.api == api && self.asked.method == method && self.asked.path == path
    }

    /// Where a request differs from it first.
    fn miss(&self, body: &[u8], volatile: &VolatileParts) -> Option<Miss> {
        request::miss(&self.asked.body, body, volatile)
    }
}
