//! The door to the streams of a tape: what a client says and hears there, over HTTP.
//!
//! An agent finds each below `/streams/ADDRESS`, its address as a URL has it. What goes
//! through is MCP's way over HTTP ("Streamable HTTP"), which any client of JSON documents can go:
//!
//! * `POST` says one frame. The first one has no `mcp-session-id` and opens the next recorded
//!   stream to that address; its answer brings the id that all others have. A request of
//!   JSON-RPC is answered by what the service says to it: one document, or a stream of events
//!   that stays open until its answer came. Any other frame is answered by 202.
//! * `GET` hears what the service says of its own accord, as a stream of events. Without an id,
//!   it opens a stream of which the service says the first word.
//! * `DELETE` says that nothing more comes.
//!
//! Lines over one request that stays open are another way: [`lines`].
//!
//! What is answered, and when, [`Stream`] decides. A frame that it does not know ends the stream:
//! that request gets an error, what is open breaks off, and the report says where it differs.
//! Nothing is connected to. Both sides of a stream go on the tape that is recorded now, before
//! the client hears of it.

pub(super) mod lines;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::flushes::Flushes;
use super::passage::{Passage, Piece};
use super::recorded::Divergence;
use super::server::{Shared, refuse, whole};
use crate::model::{Frame, FrameSide, JSON_FRAMES, StreamFrame};
use crate::replay::stream::{FrameMiss, Stream, Streams};

/// What stands before an address.
pub(super) const PREFIX: &str = "/streams";
/// The header that says which stream is meant.
const SESSION: &str = "mcp-session-id";

/// The address of a path; `None`: it leads elsewhere.
pub(super) fn address_of(path: &str) -> Option<String> {
    let path = path.split('?').next().unwrap_or_default();
    let rest = path.strip_prefix(PREFIX)?.strip_prefix('/')?;
    let mut bytes = Vec::new();
    let mut rest = rest.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let digits = str::from_utf8(&digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(bytes).ok().filter(|it| !it.is_empty())
}

/// What became of the streams that a tape holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamsReport {
    /// How many there are.
    pub recorded: usize,
    /// How many were opened.
    pub opened: usize,
    /// Frames of the clients of those that were recorded and did not come.
    pub awaited: usize,
}

/// The streams, and who is connected to them.
#[derive(Debug)]
pub(super) struct StreamDoor(Mutex<Within>);

#[derive(Debug)]
struct Within {
    streams: Streams,
    open: HashMap<String, Open>,
    /// How many were recorded to each address, where none is answered from a tape.
    recorded: Option<HashMap<String, usize>>,
}

/// A stream that was opened.
#[derive(Debug)]
struct Open {
    address: String,
    stream: Stream,
    /// Who hears what the service says of its own accord.
    listener: Option<Sender<Piece>>,
    /// Who waits for an answer, by the id of the request.
    waiting: Vec<(Value, Sender<Piece>)>,
    /// What nobody was there to hear.
    held: Vec<Frame>,
    is_over: bool,
}

/// Pieces for somebody.
type Delivery = (Sender<Piece>, Vec<Piece>);

impl StreamDoor {
    /// The streams of a tape; without one, what is said is recorded.
    pub(super) fn new(streams: Option<Streams>) -> Self {
        Self(Mutex::new(Within {
            recorded: streams.is_none().then(HashMap::new),
            streams: streams.unwrap_or_default(),
            open: HashMap::new(),
        }))
    }

    /// The number of a stream that is to be recorded; `None`: a tape answers.
    fn record(&self, address: &str) -> Option<usize> {
        let mut within = self.lock();
        let count = within.recorded.as_mut()?;
        let count = count.entry(address.to_owned()).or_default();
        *count += 1;
        Some(*count)
    }

    pub(super) fn report(&self) -> StreamsReport {
        let within = self.lock();
        let mut report = StreamsReport::default();
        for (recorded, opened) in within.streams.counts().into_values() {
            report.recorded += recorded;
            report.opened += opened;
        }
        let open = within.open.values();
        report.awaited = open.map(|open| open.stream.awaited()).sum();
        report
    }

    fn lock(&self) -> MutexGuard<'_, Within> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream of a session; without one, the next that was recorded.
    fn enter(&self, address: &str, session: Option<&str>) -> Result<(String, Vec<Frame>), Refusal> {
        let mut within = self.lock();
        if let Some(session) = session {
            let known = within.open.get(session);
            return match known.filter(|open| open.address == address) {
                Some(_) => Ok((session.to_owned(), Vec::new())),
                None => Err(Refusal::plain("there is no such session here")),
            };
        }
        if within.recorded.is_some() {
            let line = "nothing answers here while a run is recorded: `jukebox stream` records";
            return Err(Refusal::plain(line));
        }
        let opened = within.streams.open(address, JSON_FRAMES);
        let mut stream = opened.map_err(|none| Refusal::told(address, none.to_string()))?;
        let session = format!("{}-{}", within.open.len() + 1, stream.ordinal());
        let said = stream.greet();
        let open = Open {
            address: address.to_owned(),
            stream,
            listener: None,
            waiting: Vec::new(),
            held: Vec::new(),
            is_over: false,
        };
        within.open.insert(session.clone(), open);
        Ok((session, said))
    }

    fn of<T>(&self, session: &str, act: impl FnOnce(&mut Open) -> T) -> Option<T> {
        self.lock().open.get_mut(session).map(act)
    }
}

/// Why somebody is not answered.
struct Refusal {
    status: StatusCode,
    line: String,
    divergence: Option<Box<Divergence>>,
}

impl Refusal {
    fn plain(line: &str) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            line: line.to_owned(),
            divergence: None,
        }
    }

    /// It is no answer of the tape, and the report says so.
    fn told(address: &str, why: String) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            line: format!("the tape has no answer to this: {why}"),
            divergence: Some(Box::new(Divergence {
                asked: format!("a frame to {address}"),
                why,
                miss: None,
            })),
        }
    }

    fn missed(miss: &FrameMiss) -> Self {
        let mut refusal = Self::told(&miss.address, miss.to_string());
        if let Some(divergence) = &mut refusal.divergence {
            divergence.miss = miss.leaves.first().cloned();
        }
        refusal
    }
}

/// Answers a request for a stream.
pub(super) async fn serve(
    shared: Arc<Shared>,
    address: &str,
    (head, body): (&Parts, Incoming),
    flushes: Flushes,
) -> Response<Passage> {
    let kind = head.headers.get(CONTENT_TYPE);
    let answered = match head.method {
        Method::POST if kind.is_some_and(|kind| kind == lines::LINES) => {
            lines::serve(Arc::clone(&shared), address, body, flushes.clone())
        }
        Method::POST => match whole(body).await {
            Ok(said) => say(&shared, (address, head), &said, flushes.clone()).await,
            Err(line) => Err(Refusal {
                status: StatusCode::PAYLOAD_TOO_LARGE,
                line,
                divergence: None,
            }),
        },
        Method::GET => listen(&shared, (address, head), flushes.clone()).await,
        Method::DELETE => close(&shared, (address, head), flushes.clone()).await,
        _ => Err(Refusal {
            status: StatusCode::METHOD_NOT_ALLOWED,
            line: "a stream is said something by POST, heard by GET, and closed by DELETE"
                .to_owned(),
            divergence: None,
        }),
    };
    answered.unwrap_or_else(|refusal| {
        shared
            .report()
            .divergences
            .extend(refusal.divergence.map(|it| *it));
        refuse(refusal.status, &refusal.line, flushes)
    })
}

fn session_of(head: &Parts) -> Option<&str> {
    head.headers.get(SESSION)?.to_str().ok()
}

/// A client says a frame: what the service says to it. All of it is on the tape, behind what it
/// said before.
async fn hear(
    shared: &Shared,
    at: (&str, &str),
    said: &[u8],
    before: Vec<Frame>,
) -> Result<Vec<Frame>, Refusal> {
    let hear = |open: &mut Open| {
        let heard = open.stream.hear(said);
        if heard.is_err() {
            open.break_off();
        }
        heard
    };
    let heard = shared.streams.of(at.1, hear);
    let heard = heard.ok_or_else(|| Refusal::plain("there is no such session here"))?;
    let told = heard.map_err(|miss| Refusal::missed(&miss))?;
    let frames = [
        (FrameSide::Service, before),
        (FrameSide::Client, vec![frame_of(said)]),
        (FrameSide::Service, told.clone()),
    ];
    tell(shared, at, frames).await?;
    Ok(told)
}

/// A client says nothing more: what the service says to that. All of it is on the tape.
async fn close_stream(shared: &Shared, at: (&str, &str)) -> Result<Vec<Frame>, Refusal> {
    let told = shared.streams.of(at.1, |open| open.stream.close());
    let told = told.unwrap_or_default();
    let frames = [
        (FrameSide::Client, vec![Frame::End(None)]),
        (FrameSide::Service, told.clone()),
    ];
    tell(shared, at, frames).await?;
    Ok(told)
}

async fn say(
    shared: &Shared,
    (address, head): (&str, &Parts),
    said: &[u8],
    flushes: Flushes,
) -> Result<Response<Passage>, Refusal> {
    let (session, greeting) = shared.streams.enter(address, session_of(head))?;
    let told = hear(shared, (address, &session), said, greeting.clone()).await?;
    let id = request_in(said);
    let (sender, passage) = Passage::new(flushes);
    let deliver = |open: &mut Open| open.deliver(greeting, told, id.clone().zip(Some(sender)));
    let delivered = shared.streams.of(&session, deliver);
    let (deliveries, alone) = delivered.unwrap_or_default();
    for (sender, pieces) in deliveries {
        send(sender, pieces);
    }
    let mut response = match (id, alone) {
        (None, _) => answer(StatusCode::ACCEPTED, None, passage),
        (Some(_), true) => answer(StatusCode::OK, Some("application/json"), passage),
        (Some(_), false) => answer(StatusCode::OK, Some("text/event-stream"), passage),
    };
    name_session(&mut response, &session);
    Ok(response)
}

/// A client hears what the service says of its own accord.
async fn listen(
    shared: &Shared,
    (address, head): (&str, &Parts),
    flushes: Flushes,
) -> Result<Response<Passage>, Refusal> {
    let (session, greeting) = shared.streams.enter(address, session_of(head))?;
    let greeted = [(FrameSide::Service, greeting.clone())];
    tell(shared, (address, &session), greeted).await?;
    let (sender, passage) = Passage::new(flushes);
    let attach = |open: &mut Open| {
        open.listener = Some(sender);
        open.deliver(greeting, Vec::new(), None).0
    };
    for (sender, pieces) in shared.streams.of(&session, attach).unwrap_or_default() {
        send(sender, pieces);
    }
    let mut response = answer(StatusCode::OK, Some("text/event-stream"), passage);
    name_session(&mut response, &session);
    Ok(response)
}

/// A client says nothing more.
async fn close(
    shared: &Shared,
    (address, head): (&str, &Parts),
    flushes: Flushes,
) -> Result<Response<Passage>, Refusal> {
    let Some(session) = session_of(head) else {
        return Err(Refusal::plain("it names no session to close"));
    };
    shared.streams.enter(address, Some(session))?;
    let told = close_stream(shared, (address, session)).await?;
    let deliver = |open: &mut Open| {
        let (deliveries, _) = open.deliver(Vec::new(), told, None);
        open.break_off();
        deliveries
    };
    for (sender, pieces) in shared.streams.of(session, deliver).unwrap_or_default() {
        send(sender, pieces);
    }
    let (_, passage) = Passage::new(flushes);
    Ok(answer(StatusCode::OK, None, passage))
}

impl Open {
    /// Nothing is told any more: who waits hears no end.
    fn break_off(&mut self) {
        self.is_over = true;
        let waiting = self.waiting.drain(..).map(|(_, sender)| sender);
        for sender in waiting.chain(self.listener.take()) {
            send(sender, vec![Piece::Cut]);
        }
    }

    /// Who gets what the service says, and whether it is only the answer to the request that
    /// asks now.
    fn deliver(
        &mut self,
        greeting: Vec<Frame>,
        told: Vec<Frame>,
        asking: Option<(Value, Sender<Piece>)>,
    ) -> (Vec<Delivery>, bool) {
        let mut frames = std::mem::take(&mut self.held);
        frames.extend(greeting);
        frames.extend(told);
        let is_answer = |frame: &Frame, id: &Value| answer_in(frame).as_ref() == Some(id);
        if let (Some((id, sender)), [frame]) = (&asking, frames.as_slice())
            && is_answer(frame, id)
        {
            let piece = Piece::Bytes(Bytes::copy_from_slice(frame.as_bytes()));
            return (vec![(sender.clone(), vec![piece])], true);
        }
        let asking_id = asking.as_ref().map(|(id, _)| id.clone());
        self.waiting.extend(asking);
        let mut deliveries = Vec::new();
        for frame in frames {
            if let Frame::End(cut) = frame {
                self.is_over = true;
                for (_, sender) in self.waiting.drain(..) {
                    deliveries.push((sender, vec![Piece::Cut]));
                }
                let ends = self.listener.take();
                let piece = cut.map(|_| Piece::Cut);
                deliveries.extend(ends.map(|sender| (sender, piece.into_iter().collect())));
                continue;
            }
            let id = answer_in(&frame);
            let answered = id.and_then(|id| self.waiting.iter().position(|(of, _)| *of == id));
            let asked = || {
                let mut waiting = self.waiting.iter();
                let (_, sender) = waiting.find(|(of, _)| Some(of) == asking_id.as_ref())?;
                Some(sender.clone())
            };
            let hearer = match answered {
                // That was all it waits for: it ends behind this.
                Some(at) => Some(self.waiting.remove(at).1),
                None => self.listener.clone().or_else(asked),
            };
            match hearer {
                Some(hearer) => deliveries.push((hearer, vec![Piece::Bytes(event(&frame))])),
                None => self.held.push(frame),
            }
        }
        if self.is_over {
            // Whoever still asks is not answered.
            let left = self.waiting.drain(..).map(|(_, sender)| sender);
            deliveries.extend(left.map(|sender| (sender, vec![Piece::Cut])));
        }
        (deliveries, false)
    }
}

/// Puts what was said in a session on the tape.
async fn tell(
    shared: &Shared,
    (address, session): (&str, &str),
    frames: impl IntoIterator<Item = (FrameSide, Vec<Frame>)>,
) -> Result<(), Refusal> {
    let ordinal = shared.streams.of(session, |open| open.stream.ordinal());
    let ordinal = ordinal.ok_or_else(|| Refusal::plain("there is no such session here"))?;
    tell_of(shared, (address, ordinal), frames).await
}

/// Puts what was said on a stream on the tape.
async fn tell_of(
    shared: &Shared,
    (address, ordinal): (&str, usize),
    frames: impl IntoIterator<Item = (FrameSide, Vec<Frame>)>,
) -> Result<(), Refusal> {
    let frames = frames.into_iter().filter(|(_, said)| !said.is_empty());
    let frames = frames.map(|(side, said)| StreamFrame {
        address: address.to_owned(),
        protocol: JSON_FRAMES.to_owned(),
        connection: Some(ordinal.into()),
        side,
        said,
    });
    let frames: Vec<StreamFrame> = frames.collect();
    if frames.is_empty() {
        return Ok(());
    }
    shared.teller.said(frames).await.map_err(|_gone| Refusal {
        status: StatusCode::BAD_REQUEST,
        line: "what was said could not be recorded".to_owned(),
        divergence: None,
    })
}

/// Hands pieces on, in their order, to somebody who may read slowly.
fn send(sender: Sender<Piece>, pieces: Vec<Piece>) {
    tokio::spawn(async move {
        for piece in pieces {
            if sender.send(piece).await.is_err() {
                return;
            }
        }
    });
}

fn answer(status: StatusCode, kind: Option<&'static str>, passage: Passage) -> Response<Passage> {
    let mut response = Response::new(passage);
    *response.status_mut() = status;
    if let Some(kind) = kind {
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

fn name_session(response: &mut Response<Passage>, session: &str) {
    // It is made of digits.
    if let Ok(session) = HeaderValue::from_str(session) {
        response.headers_mut().insert(SESSION, session);
    }
}

fn frame_of(said: &[u8]) -> Frame {
    match str::from_utf8(said) {
        Ok(text) => Frame::Text(text.to_owned()),
        Err(_) => Frame::Bytes(said.to_vec()),
    }
}

/// The id of a request of JSON-RPC.
fn request_in(said: &[u8]) -> Option<Value> {
    let frame: Value = serde_json::from_slice(said).ok()?;
    frame.get("method")?;
    frame.get("id").cloned()
}

/// The id of an answer of JSON-RPC.
fn answer_in(frame: &Frame) -> Option<Value> {
    let frame: Value = serde_json::from_slice(frame.as_bytes()).ok()?;
    let is_answer = frame.get("method").is_none();
    frame.get("id").filter(|_| is_answer).cloned()
}

/// A frame as an event of a stream of events.
fn event(frame: &Frame) -> Bytes {
    let text = String::from_utf8_lossy(frame.as_bytes());
    let mut event = String::from("event: message\n");
    for line in text.split('\n') {
        event.extend(["data: ", line.trim_end_matches('\r'), "\n"]);
    }
    event.push('\n');
    event.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stand_in_paths_as_in_urls() {
        let check = |path, expected: Option<&str>| {
            assert_eq!(address_of(path).as_deref(), expected, "{path}");
        };
        check("/streams/files", Some("files"));
        check("/streams/files?a=b", Some("files"));
        check("/streams/https%3A%2F%2Fa.b%2Fmcp", Some("https://a.b/mcp"));
        check("/streams/a/b", Some("a/b"));
        check("/streams/", None);
        check("/streams", None);
        check("/streams/a%2", None);
        check("/anthropic/v1/messages", None);
    }
}
