//! The exchanges that a tape holds, to answer requests with. Nothing else ever answers them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::api::Api;
use super::exchange::header;
use super::identity::{Identity, VolatileParts};
use crate::model::{Body, HttpFrame, Kind, Problem, Seq};
use crate::tape::{BlobError, BlobSource as _, Tape, http_frame};
use crate::text::{JsonPath, JsonStep, json_diff};

/// How long a request without an answer is compared with those that have one.
const BUDGET: Duration = Duration::from_millis(200);

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
    #[error("no exchange with a model is recorded on it")]
    Nothing,
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
}

/// Recorded exchanges, each of which answers one request.
#[derive(Debug)]
pub struct Recorded {
    exchanges: Vec<Exchange>,
    volatile: VolatileParts,
}

#[derive(Debug)]
struct Exchange {
    call: String,
    seq: Seq,
    api: Api,
    identity: Identity,
    reply: RecordedReply,
    is_taken: bool,
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

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// What was asked, in a few words.
    pub asked: String,
    /// How it differs from what was recorded, in a sentence.
    pub why: String,
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
            volatile,
        };
        for position in 0..tape.index.events.len() {
            let entry = tape.index.events.get(position);
            if entry.is_none_or(|entry| entry.kind != Kind::StreamFrame) {
                continue;
            }
            let event = tape.event(position)?;
            let seq = tape.index.events.seq(position);
            let is_of_one = matches!(&event.body, Body::Other { fields, .. }
                if fields.get("name").and_then(Value::as_str) == Some(crate::tape::HTTP));
            if !is_of_one {
                continue;
            }
            let (Some(frame), Some(call)) = (http_frame(&event), &event.head.call) else {
                return Err(RecordedError::Odd(seq));
            };
            recorded.take(tape, seq, call, frame)?;
        }
        if recorded.exchanges.is_empty() {
            return Err(RecordedError::Nothing);
        }
        Ok(recorded)
    }

    fn take(
        &mut self,
        tape: &Tape,
        seq: Seq,
        call: &str,
        frame: HttpFrame,
    ) -> Result<(), RecordedError> {
        if let HttpFrame::Request {
            api,
            method,
            path,
            headers,
            body,
        } = frame
        {
            let body = match body {
                Some(hash) => tape
                    .blob(&hash)
                    .map_err(|source| RecordedError::Request { seq, source })?,
                None => Arc::default(),
            };
            let kind = header(&headers, "content-type");
            self.exchanges.push(Exchange {
                call: call.to_owned(),
                seq,
                api: Api::parse(&api).ok_or(RecordedError::Odd(seq))?,
                identity: Identity::of(&method, &path, kind, &body, &self.volatile),
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
        let reply = &mut exchange.ok_or(RecordedError::Odd(seq))?.reply;
        match frame {
            HttpFrame::Answer { status, headers } if reply.head.is_none() => {
                reply.head = Some((status, headers));
            }
            HttpFrame::Chunk(bytes) if reply.head.is_some() => reply.chunks.push(bytes.into()),
            HttpFrame::End { cut } => reply.cut = cut,
            _ => return Err(RecordedError::Odd(seq)),
        }
        Ok(())
    }

    /// How many there are, and how many of them have answered a request.
    pub fn counts(&self) -> (usize, usize) {
        let taken = self.exchanges.iter().filter(|one| one.is_taken).count();
        (self.exchanges.len(), taken)
    }

    /// What was answered to this request: of equal requests each gets its own answer, in the
    /// order in which they were recorded. A request that was never made gets none.
    pub fn reply(
        &mut self,
        api: Api,
        (method, path): (&str, &str),
        kind: &str,
        body: &[u8],
    ) -> Result<RecordedReply, Divergence> {
        let identity = Identity::of(method, path, kind, body, &self.volatile);
        let mut fresh = self.exchanges.iter_mut().filter(|one| !one.is_taken);
        let same = fresh.find(|one| one.api == api && one.identity == identity);
        if let Some(exchange) = same {
            exchange.is_taken = true;
            return Ok(exchange.reply.clone());
        }
        Err(self.miss(api, &identity, format!("{method} {path}")))
    }

    fn miss(&self, api: Api, identity: &Identity, asked: String) -> Divergence {
        let of_a_kind = |one: &&Exchange| one.api == api && one.identity.is_of_a_kind(identity);
        let again = self.exchanges.iter().filter(of_a_kind);
        if again.clone().any(|one| one.identity == *identity) {
            let why = "it was made more often than it was recorded".to_owned();
            return Divergence { asked, why };
        }
        let next = again.clone().find(|one| !one.is_taken);
        let why = match next {
            None if again.clone().next().is_none() => "no such request was recorded".to_owned(),
            None => "all requests of its kind were answered already".to_owned(),
            Some(next) => match first_difference(next.identity.body(), identity.body()) {
                Some(path) => format!("it differs from the one in event {} at {path}", next.seq),
                None => format!("it differs from the one in event {}", next.seq),
            },
        };
        Divergence { asked, why }
    }
}

/// The path, as JSON Pointer writes it, of the first place where two bodies differ.
fn first_difference(recorded: &[u8], asked: &[u8]) -> Option<String> {
    let (old, new) = (std::str::from_utf8(recorded), std::str::from_utf8(asked));
    let changes = json_diff::between(old.ok()?, new.ok()?, BUDGET)?;
    let mut paths: Vec<&JsonPath> = changes.iter().map(|change| &change.path).collect();
    paths.sort();
    let step = |step: &JsonStep| match step {
        JsonStep::Member { name, .. } => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        JsonStep::Element(index) => format!("/{index}"),
    };
    Some(paths.first()?.0.iter().map(step).collect())
}
