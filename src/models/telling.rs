//! What a tape says of the exchanges with models, as events in the order in which things
//! happened. Records nothing itself.
//!
//! A turn is a `model.request`, the frames of its exchange, and a `model.response`. The tools that
//! a model calls are calls from there on, and return with the request that brings their result.

use std::collections::{HashMap, VecDeque};
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use serde_json::Value;

use super::answer::Answer;
use super::exchange::{Asked, Happening, Written};
use super::question::{Conversations, Returned, model_of, returned};
use crate::model::{BlobHash, BlockKind, Body, Content, Event, HttpFrame, Via};
use crate::tape::{http_event, stream_events};
use crate::transaction::beside::Aside;

/// Tells of the exchanges of one server.
#[derive(Debug)]
pub(super) struct Telling {
    heard: Receiver<(u64, Happening)>,
    woken: UnixStream,
    /// Exchanges that have not ended.
    open: HashMap<u64, Open>,
    /// Calls of tools that have not returned.
    tools: Vec<String>,
    conversations: Conversations,
    /// The body of the last request.
    last: Option<BlobHash>,
    next: VecDeque<Aside>,
    waiting: Vec<Written>,
    count: u64,
    /// In a fork, how what tools return comes about.
    tools_via: Option<Via>,
}

#[derive(Debug)]
struct Open {
    call: String,
    since: Instant,
    via: Option<Via>,
}

impl Telling {
    pub(super) fn new(
        heard: Receiver<(u64, Happening)>,
        woken: UnixStream,
        tools_via: Option<Via>,
    ) -> Self {
        Self {
            heard,
            woken,
            open: HashMap::new(),
            tools: Vec::new(),
            conversations: Conversations::default(),
            last: None,
            next: VecDeque::new(),
            waiting: Vec::new(),
            count: 0,
            tools_via,
        }
    }

    fn take(&mut self, number: u64, happening: Happening) {
        if let Happening::Asked(asked, written) = happening {
            self.asked(number, &asked);
            self.waiting.push(written);
            return;
        }
        if let Happening::Said(frames, written) = happening {
            let events: Vec<Event> = frames.iter().flat_map(stream_events).collect();
            self.next.extend(events.into_iter().map(Aside::from));
            self.waiting.push(written);
            return;
        }
        let Some(Open { call, since, via }) = self.open.get(&number) else {
            return;
        };
        let (call, since, via) = (call.clone(), *since, *via);
        match happening {
            Happening::Asked(..) | Happening::Said(..) => {}
            Happening::Answered { status, headers } => {
                self.frame(&call, &HttpFrame::Answer { status, headers });
            }
            Happening::Chunk(bytes) => self.frame(&call, &HttpFrame::Chunk(bytes.to_vec())),
            Happening::Complete(answer, written) => {
                self.complete(&call, (since, via), *answer);
                self.waiting.push(written);
            }
            Happening::Ended(cut) => {
                self.frame(&call, &HttpFrame::End { cut });
                self.open.remove(&number);
            }
        }
    }

    fn asked(&mut self, number: u64, asked: &Asked) {
        self.count += 1;
        let document = serde_json::from_slice::<Value>(&asked.body).ok();
        let turn = asked.dialect.zip(document);
        let call = if turn.is_some() {
            format!("m{}", self.count)
        } else {
            format!("h{}", self.count)
        };
        let open = Open {
            call: call.clone(),
            since: Instant::now(),
            via: asked.via,
        };
        self.open.insert(number, open);
        if let Some((dialect, document)) = &turn {
            for result in returned(*dialect, document) {
                self.returned(result);
            }
        }
        let body = (!asked.body.is_empty()).then(|| {
            let body = Content::Bytes(asked.body.clone());
            let (hash, event) = (BlobHash::of(&asked.body), Event::new(Body::Blob(body)));
            let like = self.last.replace(hash);
            let event = event.in_call(&call);
            self.next.push_back(Aside { event, like });
            hash
        });
        if let Some((dialect, document)) = &turn {
            let request = Body::ModelRequest {
                model: model_of(document).map(str::to_owned),
                request: body,
                added: self.conversations.added(*dialect, document),
            };
            // What nobody answers says so itself: no answer of it will.
            let mut event = Event::new(request).in_call(&call);
            event.head.via = asked.via.filter(|via| *via == Via::Unknown);
            self.tell(event);
        }
        let frame = HttpFrame::Request {
            api: asked.api.as_str().to_owned(),
            method: asked.method.clone(),
            path: asked.path.clone(),
            headers: asked.headers.clone(),
            body,
        };
        self.frame(&call, &frame);
    }

    /// A tool that was called has returned; a result that was told before is no news.
    fn returned(&mut self, result: Returned) {
        let Some(at) = self.tools.iter().position(|open| *open == result.call) else {
            return;
        };
        self.tools.remove(at);
        let body = Body::ToolResult {
            outcome: result.outcome,
            exit: None,
            output: result.output,
            duration: None,
            attachments: Vec::new(),
            detail: Value::Null,
        };
        let mut event = Event::new(body).in_call(result.call);
        event.head.via = self.tools_via;
        self.tell(event);
    }

    fn complete(&mut self, call: &str, (since, via): (Instant, Option<Via>), answer: Answer) {
        let micros = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let is_called = |block: &&crate::model::ModelBlock| block.kind == BlockKind::ToolCall;
        let called: Vec<_> = answer
            .blocks
            .iter()
            .filter(is_called)
            .filter_map(|block| Some((block.call.clone()?, block.text.clone(), block.data.clone())))
            .collect();
        let is_whole = answer.outcome == crate::model::Outcome::Ok;
        let mut event = Event::new(answer.into_body(Some(micros))).in_call(call);
        event.head.via = via;
        self.tell(event);
        // Nobody runs what was not said to its end.
        for (call, name, arguments) in called.into_iter().filter(|_| is_whole) {
            if self.tools.contains(&call) {
                continue;
            }
            self.tools.push(call.clone());
            self.tell(Event::new(Body::ToolCall { name, arguments }).in_call(call));
        }
    }

    fn frame(&mut self, call: &str, frame: &HttpFrame) {
        self.tell(http_event(call, frame));
    }

    fn tell(&mut self, event: Event) {
        self.next.push_back(event.into());
    }
}

impl Telling {
    /// Readable when something happened.
    pub(super) fn wake(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }

    /// The next event for the tape.
    pub(super) fn next(&mut self) -> Option<Aside> {
        if self.next.is_empty() {
            // What wakes from here on comes after what is looked for next.
            let mut woken = &self.woken;
            while woken.read(&mut [0; 256]).is_ok_and(|got| got > 0) {}
            while let Ok((number, happening)) = self.heard.try_recv() {
                self.take(number, happening);
            }
        }
        self.next.pop_front()
    }

    /// All that was given out is on the tape: who waited for that goes on.
    pub(super) fn recorded(&mut self) {
        for written in self.waiting.drain(..) {
            // Who waited may be gone.
            let _ = written.send(());
        }
    }
}
