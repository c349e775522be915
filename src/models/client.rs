//! One question to a real endpoint, and its whole answer: for a caller that has nothing else to
//! do meanwhile. What came is kept, whether or not it came to its end.

use std::io;
use std::pin::pin;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::headers;
use super::upstream::{Trust, Upstream};

/// So often it is looked whether the answer is still wanted.
const GLANCE: Duration = Duration::from_millis(100);
/// Bytes of an answer at most.
const LARGEST: usize = 64 << 20;

/// Asks endpoints, one after the other.
#[derive(Debug)]
pub(super) struct Client {
    runtime: Runtime,
    trust: Trust,
}

/// What came of a question.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// The status and the headers that may be told; `None`: there was no answer.
    pub(super) head: Option<(u16, Vec<(String, String)>)>,
    /// The body, in the pieces in which it came.
    pub(super) chunks: Vec<Bytes>,
    /// Why it did not come to its end; `None`: it did.
    pub(super) cut: Option<String>,
}

/// How long an answer is waited for.
#[derive(Clone, Copy)]
pub(super) struct Patience<'a> {
    pub(super) limit: Duration,
    pub(super) is_stopped: &'a dyn Fn() -> bool,
}

impl Client {
    pub(super) fn new() -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        Ok(Self {
            runtime,
            trust: Trust::default(),
        })
    }

    /// Asks, and waits for the end of the answer.
    pub(super) fn ask(
        &self,
        upstream: &Upstream,
        path: &str,
        (headers, body): (HeaderMap, Bytes),
        patience: Patience<'_>,
    ) -> Reply {
        let waiting = Waiting {
            patience,
            since: Instant::now(),
        };
        let mut reply = Reply::default();
        let sent = upstream.send(&self.trust, (Method::POST, path), headers, body);
        let taken = self
            .runtime
            .block_on(reply.take(waiting, sent, &upstream.address()));
        reply.cut = taken.err();
        reply
    }
}

impl Reply {
    async fn take(
        &mut self,
        waiting: Waiting<'_>,
        sent: impl Future<Output = io::Result<hyper::Response<hyper::body::Incoming>>>,
        address: &str,
    ) -> Result<(), String> {
        let answer = waiting.wait(sent).await?;
        let answer = answer.map_err(|error| format!("{address} could not be reached: {error}"))?;
        let (head, mut body) = answer.into_parts();
        let told = headers::told_of_answer(&head.headers);
        self.head = Some((head.status.as_u16(), told));
        let mut length = 0;
        while let Some(frame) = waiting.wait(body.frame()).await? {
            let frame = frame.map_err(|error| format!("the answer was cut off: {error}"))?;
            // Trailers say nothing that is kept.
            let Ok(bytes) = frame.into_data() else {
                continue;
            };
            length += bytes.len();
            if length > LARGEST {
                return Err(format!("the answer has over {LARGEST} bytes"));
            }
            self.chunks.push(bytes);
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Waiting<'a> {
    patience: Patience<'a>,
    since: Instant,
}

impl Waiting<'_> {
    async fn wait<T>(&self, done: impl Future<Output = T>) -> Result<T, String> {
        let Patience { limit, is_stopped } = self.patience;
        let mut done = pin!(done);
        loop {
            match timeout(GLANCE, done.as_mut()).await {
                Ok(done) => return Ok(done),
                Err(_) if is_stopped() => return Err("it was broken off".to_owned()),
                Err(_) if self.since.elapsed() >= limit => {
                    return Err(format!(
                        "there was no whole answer within {} s",
                        limit.as_secs()
                    ));
                }
                Err(_) => {}
            }
        }
    }
}
