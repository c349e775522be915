//! The server that agents are led to instead of a model's endpoint: it listens on a loopback,
//! answers from the endpoints that the user named or from a tape, and tells all that happens.
//!
//! One thread, on which everything waits for several things at once. A request is
//! on the tape before it goes anywhere; an answer, before the agent has all of it. What cannot be
//! told is not done. Answers come from the tape alone or from endpoints alone: nothing falls
//! back from one to the other. Only a fork may go on with endpoints that the user named, and
//! only behind the answer that it replaces.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use super::api::{Api, Dialect};
use super::body::Decoder;
use super::door::{self, StreamDoor, StreamsReport};
use super::exchange::{Asked, Exchange, NotWritten, Teller};
use super::flushes::{Counted, Flushes};
use super::headers;
use super::passage::{Passage, Piece};
use super::recorded::{Divergence, Found, Recorded, RecordedReply};
use super::telling::Telling;
use super::upstream::{Trust, Upstream};
use crate::model::Via;
use crate::transaction::beside::{Aside, Beside};

/// Bytes of a request's body at most.
pub(super) const LARGEST: usize = 64 << 20;

/// Who answers.
#[derive(Debug)]
pub enum Source {
    /// The endpoints at these addresses.
    Endpoints(Vec<Upstream>),
    /// A tape.
    Tape(Recorded),
    /// A tape up to the answer that a fork replaces, and behind it the endpoints at these
    /// addresses; where none is named, nobody.
    Fork(Recorded, Vec<Upstream>),
}

/// What became of the requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many were answered.
    pub answered: usize,
    /// Of a tape: how many exchanges it holds.
    pub recorded: usize,
    /// Requests that the tape has no answer to, in order.
    pub divergences: Vec<Divergence>,
    /// Of a fork: whether the other answer was given.
    pub is_edited: bool,
    /// Of a fork: how many of those that were answered an endpoint did.
    pub live: usize,
    /// Of a fork: how many came behind the other answer, and nobody could answer.
    pub behind: usize,
    /// What became of the streams that a tape holds.
    pub streams: StreamsReport,
}

/// The server. Dropped, it is gone, and what was under way is cut off.
#[derive(Debug)]
pub struct Server {
    port: u16,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
    telling: Telling,
}

#[derive(Debug)]
pub(super) struct Shared {
    answers: Answers,
    pub(super) streams: StreamDoor,
    pub(super) teller: Arc<Teller>,
    next: AtomicU64,
    report: Mutex<Report>,
}

#[derive(Debug)]
struct Answers {
    tape: Option<Mutex<Recorded>>,
    is_fork: bool,
    by_api: BTreeMap<Api, Upstream>,
    trust: Trust,
}

/// Who is to answer a request.
enum Next<'a> {
    Endpoint(&'a Upstream),
    Tape(RecordedReply),
    /// Nobody, for this reason.
    Nobody(StatusCode, String, Option<Divergence>),
}

impl Answers {
    fn of(source: Source) -> Self {
        let (tape, is_fork, endpoints) = match source {
            Source::Endpoints(endpoints) => (None, false, endpoints),
            Source::Tape(recorded) => (Some(recorded), false, Vec::new()),
            Source::Fork(recorded, endpoints) => (Some(recorded), true, endpoints),
        };
        Self {
            tape: tape.map(Mutex::new),
            is_fork,
            by_api: endpoints.into_iter().map(|it| (it.api(), it)).collect(),
            trust: Trust::default(),
        }
    }

    /// Who is to answer, and how the answer comes about where that is not the same for all.
    fn next(&self, asked: &Asked) -> (Next<'_>, Option<Via>) {
        let Some(tape) = &self.tape else {
            return (self.endpoint(asked.api), None);
        };
        let found = {
            let mut recorded = tape.lock().unwrap_or_else(PoisonError::into_inner);
            recorded.reply(asked.api, (&asked.method, &asked.path), &asked.body)
        };
        let (next, via) = match found {
            Ok(Found::Recorded(reply)) => (Next::Tape(reply), Via::Recorded),
            Ok(Found::Edited(reply)) => (Next::Tape(reply), Via::Edit),
            Ok(Found::Behind) if self.by_api.is_empty() => {
                let line = "the fork stops here: nobody can say how the model goes on";
                let nobody = Next::Nobody(StatusCode::BAD_REQUEST, line.to_owned(), None);
                (nobody, Via::Unknown)
            }
            Ok(Found::Behind) => match self.endpoint(asked.api) {
                endpoint @ Next::Endpoint(_) => (endpoint, Via::Live),
                nobody => (nobody, Via::Unknown),
            },
            Err(divergence) => {
                let line = format!("the tape has no answer to this: {}", divergence.why);
                let nobody = Next::Nobody(StatusCode::BAD_REQUEST, line, Some(divergence));
                (nobody, Via::Unknown)
            }
        };
        (next, Some(via).filter(|_| self.is_fork))
    }

    fn endpoint(&self, api: Api) -> Next<'_> {
        if let Some(upstream) = self.by_api.get(&api) {
            Next::Endpoint(upstream)
        } else {
            let line = format!("no address of {} was named", api.as_str());
            Next::Nobody(StatusCode::NOT_FOUND, line, None)
        }
    }
}

impl Server {
    /// Begins to serve at a socket that listens. A request goes on when it was taken from here, as [`Beside`], and
    /// recorded.
    pub fn start(listener: OwnedFd, source: Source) -> io::Result<Self> {
        let listener = TcpListener::from(listener);
        let port = listener.local_addr()?.port();
        listener.set_nonblocking(true)?;
        let (woken, wake) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        wake.set_nonblocking(true)?;
        let (happenings, heard) = std::sync::mpsc::channel();
        let mut source = source;
        let streams = StreamDoor::new(match &mut source {
            Source::Tape(recorded) | Source::Fork(recorded, _) => Some(recorded.take_streams()),
            Source::Endpoints(_) => None,
        });
        let answers = Answers::of(source);
        let recorded = answers.tape.as_ref().map_or(0, |tape| {
            let recorded = tape.lock().unwrap_or_else(PoisonError::into_inner);
            recorded.counts().0
        });
        let report = Report {
            recorded,
            ..Report::default()
        };
        let tools = answers.is_fork.then_some(Via::Rerun);
        let shared = Arc::new(Shared {
            answers,
            streams,
            teller: Arc::new(Teller {
                happenings,
                wake: Arc::new(wake),
            }),
            next: AtomicU64::new(1),
            report: Mutex::new(report),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("models".to_owned())
            .spawn(move || {
                runtime.spawn(accept(listener, served));
                // Nothing is ever sent: it ends when the other end is gone.
                let _ = runtime.block_on(stopped);
                runtime.shutdown_background();
            })?;
        Ok(Self {
            port,
            shared,
            stop: Some(stop),
            thread: Some(thread),
            telling: Telling::new(heard, woken, tools),
        })
    }

    /// Where an agent finds an endpoint.
    pub fn address(&self, api: Api) -> String {
        let socket = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        format!("http://{socket}{}", api.prefix())
    }

    /// Where an agent finds the streams of a tape, each below it by its address.
    pub fn streams(&self) -> String {
        let socket = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        format!("http://{socket}{}", door::PREFIX)
    }

    /// What became of the requests so far.
    pub fn report(&self) -> Report {
        Report {
            streams: self.shared.streams.report(),
            ..self.shared.report().clone()
        }
    }

    fn stop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked is at its end, too.
            let _ = thread.join();
        }
    }
}

impl Beside for Server {
    fn wake(&self) -> BorrowedFd<'_> {
        self.telling.wake()
    }

    fn next(&mut self) -> Option<Aside> {
        self.telling.next()
    }

    fn recorded(&mut self) {
        self.telling.recorded();
    }

    fn end(&mut self) {
        self.stop();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn accept(listener: tokio::net::TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        // Chunks go out as they come, however small.
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        let flushes = Flushes::default();
        let connection = Counted {
            connection: TokioIo::new(stream),
            flushes: flushes.clone(),
        };
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let (shared, flushes) = (Arc::clone(&shared), flushes.clone());
                async move { Ok::<_, Infallible>(serve(shared, request, flushes).await) }
            });
            let mut builder = http1::Builder::new();
            let serving = builder.auto_date_header(false);
            // An answer that was cut off ends so, as does an agent that hangs up.
            let _ = serving.serve_connection(connection, service).await;
        });
    }
}

async fn serve(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    flushes: Flushes,
) -> Response<Passage> {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("", |path| path.as_str());
    if let Some(address) = door::address_of(path) {
        return door::serve(shared, &address, (&head, body), flushes).await;
    }
    let Some((api, path)) = Api::of_path(path) else {
        let line = format!("`{path}` belongs to no endpoint that is recorded");
        return refuse(StatusCode::NOT_FOUND, &line, flushes);
    };
    let raw = match whole(body).await {
        Ok(raw) => raw,
        Err(line) => return refuse(StatusCode::PAYLOAD_TOO_LARGE, &line, flushes),
    };
    let coding = head.headers.get(CONTENT_ENCODING);
    let coding = coding.and_then(|it| it.to_str().ok()).unwrap_or_default();
    // What cannot be taken out of its compression is told as it is: its header says so.
    let plain = Decoder::new(coding).push(&raw);
    let mut asked = Asked {
        api,
        dialect: Dialect::of(api, head.method.as_str(), path),
        method: head.method.as_str().to_owned(),
        path: path.to_owned(),
        headers: headers::told_of_request(&head.headers),
        body: plain.unwrap_or_else(|_| raw.to_vec()).into(),
        via: None,
    };
    let (next, via) = shared.answers.next(&asked);
    asked.via = via;
    let number = shared.next.fetch_add(1, Ordering::Relaxed);
    let exchange = Exchange::begin(number, Arc::clone(&shared.teller), asked).await;
    let Ok(exchange) = exchange else {
        let line = "what was asked could not be recorded, and was not sent";
        return refuse(StatusCode::BAD_REQUEST, line, flushes);
    };
    match next {
        Next::Endpoint(upstream) => {
            let handed = headers::of_request(&head.headers);
            let trust = &shared.answers.trust;
            let answer = upstream.send(trust, (head.method, path), handed, raw).await;
            match answer {
                Ok(answer) => {
                    let mut report = shared.report();
                    report.answered += 1;
                    report.live += usize::from(via.is_some());
                    drop(report);
                    hand_on(exchange, answer, flushes)
                }
                Err(error) => {
                    let line = format!("{} could not be reached: {error}", upstream.address());
                    exchange.cut(line.clone());
                    refuse(StatusCode::BAD_GATEWAY, &line, flushes)
                }
            }
        }
        Next::Tape(reply) => {
            let mut report = shared.report();
            report.answered += 1;
            report.is_edited |= via == Some(Via::Edit);
            drop(report);
            hand_on_recorded(exchange, reply, flushes)
        }
        Next::Nobody(status, line, divergence) => {
            exchange.cut(line.clone());
            let mut report = shared.report();
            report.behind += usize::from(via.is_some() && divergence.is_none());
            report.divergences.extend(divergence);
            drop(report);
            refuse(status, &line, flushes)
        }
    }
}

/// All of a request's body, or why it is not there.
pub(super) async fn whole(body: Incoming) -> Result<Bytes, String> {
    match Limited::new(body, LARGEST).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(_) => Err(format!(
            "the request's body did not come, or has over {LARGEST} bytes"
        )),
    }
}

/// An answer of an endpoint, on its way.
fn hand_on(
    mut exchange: Exchange,
    answer: Response<Incoming>,
    flushes: Flushes,
) -> Response<Passage> {
    let (head, mut body) = answer.into_parts();
    exchange.answered(head.status.as_u16(), headers::told_of_answer(&head.headers));
    let (pieces, passage) = Passage::new(flushes);
    tokio::spawn(async move {
        let mut chunks = Chunks::new(exchange, pieces);
        while let Some(frame) = body.frame().await {
            match frame.map(hyper::body::Frame::into_data) {
                // Trailers say nothing that is kept.
                Ok(Err(_)) => {}
                Ok(Ok(bytes)) => {
                    if let Err(gone) = chunks.pass(bytes).await {
                        return chunks.cut(gone.why()).await;
                    }
                }
                Err(error) => return chunks.cut(error.to_string()).await,
            }
        }
        chunks.end().await;
    });
    let mut response = Response::new(passage);
    *response.status_mut() = head.status;
    *response.headers_mut() = headers::of_answer(&head.headers);
    response
}

/// An answer of a tape, on its way.
fn hand_on_recorded(
    mut exchange: Exchange,
    reply: RecordedReply,
    flushes: Flushes,
) -> Response<Passage> {
    let cut = reply.cut;
    let Some((status, told)) = reply.head else {
        let line = cut.unwrap_or_else(|| "there was no answer".to_owned());
        exchange.cut(line.clone());
        return refuse(StatusCode::BAD_GATEWAY, &line, flushes);
    };
    let Ok(known) = StatusCode::from_u16(status) else {
        let line = format!("the tape has an answer with the status {status}, which is none");
        exchange.cut(line.clone());
        return refuse(StatusCode::BAD_REQUEST, &line, flushes);
    };
    exchange.answered(status, told.clone());
    let (pieces, passage) = Passage::new(flushes);
    tokio::spawn(async move {
        let mut chunks = Chunks::new(exchange, pieces);
        for chunk in reply.chunks {
            let bytes = Bytes::copy_from_slice(&chunk);
            if let Err(gone) = chunks.pass(bytes).await {
                return chunks.cut(gone.why()).await;
            }
        }
        match cut {
            None => chunks.end().await,
            Some(why) => chunks.cut(why).await,
        }
    });
    let mut response = Response::new(passage);
    *response.status_mut() = known;
    *response.headers_mut() = headers::from_tape(&told);
    response
}

/// The chunks of a body, told and handed on. The last one is held back until the next one came,
/// or until it is on the tape that there is none.
struct Chunks {
    exchange: Exchange,
    pieces: mpsc::Sender<Piece>,
    held: Option<Bytes>,
    is_stream: bool,
}

/// Who does not take more.
enum Gone {
    Agent,
    Tape,
}

impl Gone {
    fn why(self) -> String {
        match self {
            Self::Agent => "the agent did not wait for its end".to_owned(),
            Self::Tape => "it could not be recorded".to_owned(),
        }
    }
}

impl From<mpsc::error::SendError<Piece>> for Gone {
    fn from(_: mpsc::error::SendError<Piece>) -> Self {
        Self::Agent
    }
}

impl From<NotWritten> for Gone {
    fn from(_: NotWritten) -> Self {
        Self::Tape
    }
}

impl Chunks {
    fn new(exchange: Exchange, pieces: mpsc::Sender<Piece>) -> Self {
        Self {
            is_stream: exchange.is_stream(),
            exchange,
            pieces,
            held: None,
        }
    }

    async fn pass(&mut self, bytes: Bytes) -> Result<(), Gone> {
        self.exchange.chunk(bytes.clone()).await?;
        let ready = if self.is_stream {
            // It is known of each whether it completes the answer.
            Some(bytes)
        } else {
            self.held.replace(bytes)
        };
        self.hand(ready).await
    }

    async fn hand(&self, bytes: Option<Bytes>) -> Result<(), Gone> {
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        let handed = self.pieces.send(Piece::Bytes(bytes)).await;
        handed.map_err(Gone::from)
    }

    async fn end(mut self) {
        let last = self.held.take();
        let Self {
            exchange, pieces, ..
        } = self;
        if exchange.end().await.is_err() {
            let _ = pieces.send(Piece::Cut).await;
            return;
        }
        if let Some(last) = last.filter(|bytes| !bytes.is_empty()) {
            // An agent that is gone misses nothing.
            let _ = pieces.send(Piece::Bytes(last)).await;
        }
    }

    async fn cut(mut self, why: String) {
        let last = self.held.take();
        let handed = self.hand(last).await;
        self.exchange.cut(why);
        if handed.is_ok() {
            let _ = self.pieces.send(Piece::Cut).await;
        }
    }
}

/// An answer of our own: an error, in words that the libraries of both companies understand. No
/// library is to try it again.
pub(super) fn refuse(status: StatusCode, line: &str, flushes: Flushes) -> Response<Passage> {
    let error = json!({
        "type": "error",
        "error": {"type": "jukebox_error", "code": "jukebox", "message": format!("jukebox: {line}")},
    });
    let (pieces, passage) = Passage::new(flushes);
    // There is room for it, and nobody else sends.
    let _ = pieces.try_send(Piece::Bytes(error.to_string().into()));
    let mut response = Response::new(passage);
    *response.status_mut() = status;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("x-should-retry", HeaderValue::from_static("false"));
    *response.headers_mut() = headers;
    response
}

impl Shared {
    pub(super) fn report(&self) -> std::sync::MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
