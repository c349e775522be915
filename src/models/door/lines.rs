//! A stream whose frames are lines, over one request that stays open: what a [`Link`] speaks.
//!
//! `POST` with lines of any length as its body (`application/x-ndjson`), which need not be
//! there yet when the answer begins. The header `jukebox-stream` of the answer says what follows:
//!
//! * `tape`: each line is a frame of the client, and each line of the answer one of the service.
//!   Where the tape knows no answer, a request of JSON-RPC gets an error that says so, and the
//!   answer breaks off.
//! * `record`: each line begins with `>` for a frame of the client or `<` for one of the service.
//!   Where nothing is behind it, that side says nothing more. Each is answered by an empty line
//!   as soon as it is on the tape.
//!
//! [`Link`]: crate::models::Link

use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{Response, StatusCode};
use serde_json::json;
use tokio::sync::mpsc::Sender;

use super::{Refusal, answer, close_stream, frame_of, hear, request_in, tell, tell_of};
use crate::model::{Frame, FrameSide};
use crate::models::flushes::Flushes;
use crate::models::passage::{Passage, Piece};
use crate::models::server::{LARGEST, Shared};

/// The type of such bodies.
pub(in crate::models) const LINES: &str = "application/x-ndjson";
/// The header that says what follows.
pub(in crate::models) const MODE: &str = "jukebox-stream";
/// A tape answers.
pub(in crate::models) const TAPE: &str = "tape";
/// What is said is recorded.
pub(in crate::models) const RECORD: &str = "record";
/// How a line of either side begins.
pub(in crate::models) const CLIENT: u8 = b'>';
pub(in crate::models) const SERVICE: u8 = b'<';

/// Answers such a request.
pub(super) fn serve(
    shared: Arc<Shared>,
    address: &str,
    body: Incoming,
    flushes: Flushes,
) -> Result<Response<Passage>, Refusal> {
    let (sender, passage) = Passage::new(flushes);
    let address = address.to_owned();
    let mode = if let Some(ordinal) = shared.streams.record(&address) {
        tokio::spawn(record(shared, (address, ordinal), body, sender));
        RECORD
    } else {
        let (session, greeting) = shared.streams.enter(&address, None)?;
        tokio::spawn(speak(shared, (address, session), greeting, (body, sender)));
        TAPE
    };
    let mut response = answer(StatusCode::OK, Some(LINES), passage);
    let headers = response.headers_mut();
    headers.insert(MODE, HeaderValue::from_static(mode));
    Ok(response)
}

/// A client speaks to the tape.
async fn speak(
    shared: Arc<Shared>,
    (address, session): (String, String),
    greeting: Vec<Frame>,
    (body, sender): (Incoming, Sender<Piece>),
) {
    let at = (&*address, &*session);
    let greeted = [(FrameSide::Service, greeting.clone())];
    if tell(&shared, at, greeted).await.is_err() {
        let _ = sender.send(Piece::Cut).await;
        return;
    }
    if !hand(&sender, greeting).await {
        return;
    }
    let mut lines = Lines::of(body);
    while let Some(line) = lines.next().await {
        match hear(&shared, at, &line, Vec::new()).await {
            Ok(told) => {
                if !hand(&sender, told).await {
                    return;
                }
            }
            Err(refusal) => {
                if let Some(id) = request_in(&line) {
                    let message = format!("jukebox: {}", refusal.line);
                    let error = json!({"code": -32000, "message": message});
                    let line = json!({"jsonrpc": "2.0", "id": id, "error": error});
                    let _ = hand(&sender, vec![Frame::Text(line.to_string())]).await;
                }
                shared
                    .report()
                    .divergences
                    .extend(refusal.divergence.map(|it| *it));
                let _ = sender.send(Piece::Cut).await;
                return;
            }
        }
    }
    if let Ok(told) = close_stream(&shared, at).await {
        hand(&sender, told).await;
    }
}

/// Puts what either side says on the tape.
async fn record(
    shared: Arc<Shared>,
    (address, ordinal): (String, usize),
    body: Incoming,
    sender: Sender<Piece>,
) {
    let mut lines = Lines::of(body);
    while let Some(line) = lines.next().await {
        let (side, said) = match line.split_first() {
            Some((&CLIENT, said)) => (FrameSide::Client, said),
            Some((&SERVICE, said)) => (FrameSide::Service, said),
            _ => break,
        };
        let frame = if said.is_empty() {
            Frame::End(None)
        } else {
            frame_of(said)
        };
        let told = tell_of(&shared, (&address, ordinal), [(side, vec![frame])]).await;
        let written = Piece::Bytes(Bytes::from_static(b"\n"));
        if told.is_err() || sender.send(written).await.is_err() {
            break;
        }
    }
    if !lines.is_whole {
        let _ = sender.send(Piece::Cut).await;
    }
}

/// Hands frames to the client, a line each; whether more may come.
async fn hand(sender: &Sender<Piece>, frames: Vec<Frame>) -> bool {
    for frame in frames {
        let piece = match frame {
            Frame::End(None) => return false,
            Frame::End(Some(_)) => Piece::Cut,
            frame => {
                let line = frame.as_bytes();
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                Piece::Bytes([line, b"\n"].concat().into())
            }
        };
        let is_last = matches!(piece, Piece::Cut);
        if sender.send(piece).await.is_err() || is_last {
            return false;
        }
    }
    true
}

/// The lines of a body, as they come.
struct Lines {
    body: Incoming,
    held: Vec<u8>,
    /// Bytes of what is held in which no line ends.
    searched: usize,
    /// It came to its end.
    is_whole: bool,
}

impl Lines {
    fn of(body: Incoming) -> Self {
        Self {
            body,
            held: Vec::new(),
            searched: 0,
            is_whole: false,
        }
    }

    /// The next one that is not empty; a last one needs no newline. `None` as well for one that
    /// is longer than any frame may be.
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            while let Some(end) = self.end_of_line() {
                let rest = self.held.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.held, rest);
                self.searched = 0;
                line.pop();
                line.pop_if(|byte| *byte == b'\r');
                if !line.is_empty() {
                    return Some(line);
                }
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        self.held.extend_from_slice(&bytes);
                    }
                    if self.held.len() > LARGEST {
                        return None;
                    }
                }
                Some(Err(_)) => return None,
                None => {
                    self.is_whole = true;
                    let last = std::mem::take(&mut self.held);
                    return Some(last).filter(|line| !line.is_empty());
                }
            }
        }
    }

    fn end_of_line(&mut self) -> Option<usize> {
        let fresh = self.held.get(self.searched..)?;
        let end = memchr::memchr(b'\n', fresh).map(|at| self.searched + at);
        self.searched = self.held.len();
        end
    }
}
