//! A model that goes on with a fork: asked what the agent would have asked it, until it calls no
//! tool any more.
//!
//! Each request goes on from the last one of the conversation, as it stands on the tape or was
//! sent from here: [`dialogue`](super::dialogue) says how. A request is on the tape before it is
//! sent, and so is all that came back. An answer that is an error, or that did not come to its
//! end, is kept and not acted upon: nobody knows then how the run goes on. Nothing is sent twice.
//!
//! Runs no tool, and writes no tape itself.

use std::io;
use std::time::Instant;

use hyper::body::Bytes;
use hyper::header::HeaderMap;
use serde_json::Value;

use super::answer::{Answer, Assembly};
use super::api::Dialect;
use super::body::Decoder;
use super::client::{Client, Patience, Reply};
use super::dialogue::{Asked, Dialogues, Request, Wish};
use super::draft::text;
use super::endpoint::Endpoint;
use super::question::{Conversations, model_of};
use crate::model::{BlobHash, BlockKind, Body, Content, Event, HttpFrame, Outcome, Seq, Via};
use crate::replay::fork::{Line, Question, Speaker, Stopped, Turn, Wanted};
use crate::tape::{BlobSource, http_event};

/// Characters of what an endpoint says of an error that are told.
const LONGEST: usize = 200;

/// What an answer says that ended for want of room.
const OUT_OF_ROOM: [&str; 4] = ["max_tokens", "length", "max_output_tokens", "incomplete"];

/// Why a model has nothing to go on from.
const NO_REQUEST: &str = "it is not recorded what a model was asked before this step";

/// What would be sent to a model at first, without what the edit adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstRequest {
    /// Turns of the conversation.
    pub turns: usize,
    /// Tools that are described.
    pub tools: usize,
    /// Bytes of it all.
    pub bytes: usize,
}

/// A model that speaks in a fork.
pub struct LiveModel<'a> {
    endpoint: Endpoint,
    client: Client,
    /// How often it may be asked, and was.
    most: u32,
    made: u32,
    /// The number of the fork's first event, which makes the ids of its calls its own.
    first: Seq,
    dialogues: Dialogues,
    conversations: Conversations,
    last: Option<Own>,
    next: Option<Next>,
    is_stopped: &'a dyn Fn() -> bool,
}

/// A request that was sent from here, as it was sent.
struct Own {
    call: String,
    body: Value,
    /// What the model said, as the endpoint put it, where that came as one document.
    said: Option<Vec<Value>>,
}

/// A request that is on the tape, and not sent yet.
struct Next {
    call: String,
    path: String,
    headers: HeaderMap,
    body: Value,
    bytes: Bytes,
}

impl<'a> LiveModel<'a> {
    /// A model that is asked so often at most, in a fork whose first event has this number.
    pub fn new(
        endpoint: Endpoint,
        most: u32,
        first: Seq,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> io::Result<Self> {
        Ok(Self {
            endpoint,
            client: Client::new()?,
            most,
            made: 0,
            first,
            dialogues: Dialogues::default(),
            conversations: Conversations::default(),
            last: None,
            next: None,
            is_stopped,
        })
    }

    /// What would be sent, as far as it is known before the edit is heard; or why nothing can
    /// be.
    pub fn first_request(
        &self,
        agent: Option<&str>,
        blobs: &dyn BlobSource,
    ) -> Result<FirstRequest, String> {
        let asked = self.dialogues.last(agent).map(|dialogue| &dialogue.asked);
        let asked = asked.ok_or(NO_REQUEST)?;
        self.fits(asked)?;
        let bytes = blobs.blob(&asked.body).map_err(|error| error.to_string())?;
        let body: Value = serde_json::from_slice(&bytes)
            .map_err(|error| format!("the last request is no JSON: {error}"))?;
        let count = |field: &str| {
            let list = body.get(field).and_then(Value::as_array);
            list.map_or(0, Vec::len)
        };
        Ok(FirstRequest {
            turns: count(asked.dialect.conversation()),
            tools: count("tools"),
            bytes: bytes.len(),
        })
    }

    fn fits(&self, asked: &Asked) -> Result<(), String> {
        let (spoken, wanted) = (asked.dialect.as_str(), self.endpoint.dialect.as_str());
        if spoken == wanted {
            return Ok(());
        }
        Err(format!(
            "the run speaks `{spoken}` here and it speaks `{wanted}`, and requests are not turned \
             from one into the other"
        ))
    }

    fn question(
        &mut self,
        agent: Option<&str>,
        blobs: &dyn BlobSource,
    ) -> Result<Question, String> {
        let dialogue = self.dialogues.current(agent);
        let dialogue = dialogue.ok_or(NO_REQUEST)?;
        let (asked, wanted) = (&dialogue.asked, self.endpoint.dialect);
        self.fits(asked)?;
        let own = self.last.as_ref().filter(|own| own.call == dialogue.call);
        let recorded;
        let body = if let Some(own) = own {
            &own.body
        } else {
            let bytes = blobs.blob(&asked.body).map_err(|error| error.to_string())?;
            recorded = serde_json::from_slice::<Value>(&bytes)
                .map_err(|error| format!("the last request is no JSON: {error}"))?;
            // What is new in the next request is new since this one.
            self.conversations.added(wanted, &recorded);
            &recorded
        };
        let wish = Wish {
            model: &self.endpoint.model,
            max_tokens: self.endpoint.max_tokens,
            is_stream: self.endpoint.is_stream,
        };
        let said = own.and_then(|own| own.said.as_deref());
        let Request {
            body,
            is_without_thinking,
        } = dialogue.next(body, said, &wish)?;
        let headers = self.endpoint.headers_for(&asked.headers);
        let headers = headers.map_err(|error| error.to_string())?;
        let (path, like) = (asked.path.clone(), asked.body);
        let call = format!("live-{}-{}", self.first, self.made + 1);
        let bytes = Bytes::from(body.to_string());
        let mut events = Vec::new();
        if is_without_thinking {
            let text = "the model is asked not to think: the altered answer calls tools, and \
                        holds no thought that the model would know for its own";
            let note = Body::Note {
                text: text.to_owned(),
            };
            events.push(Event::new(note));
        }
        let content = Content::Bytes(bytes.to_vec().into());
        events.push(Event::new(Body::Blob(content)).in_call(&call));
        let hash = BlobHash::of(&bytes);
        let request = Body::ModelRequest {
            model: model_of(&body).map(str::to_owned),
            request: Some(hash),
            added: self.conversations.added(wanted, &body),
        };
        events.push(Event::new(request).in_call(&call));
        let frame = HttpFrame::Request {
            api: wanted.api().as_str().to_owned(),
            method: "POST".to_owned(),
            path: path.clone(),
            headers: self.endpoint.told(&headers),
            body: Some(hash),
        };
        events.push(http_event(&call, &frame));
        self.next = Some(Next {
            call,
            path,
            headers,
            body,
            bytes,
        });
        Ok(Question {
            events,
            like: Some(like),
        })
    }

    /// What the tape says of a reply, and why nothing follows from it, if nothing does.
    fn turn(&mut self, next: Next, reply: Reply, since: Instant) -> Turn {
        let Next { call, body, .. } = next;
        let frame = |frame: &HttpFrame| http_event(&call, frame);
        let cut = reply.cut;
        let end = frame(&HttpFrame::End { cut: cut.clone() });
        let Some((status, headers)) = reply.head else {
            let why = cut.unwrap_or_else(|| "there was no answer".to_owned());
            return Turn {
                events: vec![end],
                stopped: Some(self.no_answer(&why)),
            };
        };
        let mut assembly = Assembly::new(self.endpoint.dialect, status, &headers);
        let coding = headers.iter().find(|(name, _)| name == "content-encoding");
        let mut decoder = Decoder::new(coding.map_or("", |(_, coding)| coding));
        let mut document = Vec::new();
        let mut events = vec![frame(&HttpFrame::Answer { status, headers })];
        for chunk in reply.chunks {
            assembly.push(&chunk);
            document.extend(decoder.push(&chunk).unwrap_or_default());
            events.push(frame(&HttpFrame::Chunk(chunk.to_vec())));
        }
        let answer = assembly.finish(cut.is_some());
        let why = cut.or_else(|| why_not(status, &answer));
        let stopped = why.map(|why| self.no_answer(&why));
        let micros = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        events.push(Event::new(answer.into_body(Some(micros))).in_call(&call));
        events.push(end);
        self.last = Some(Own {
            said: said(self.endpoint.dialect, &document),
            call,
            body,
        });
        Turn { events, stopped }
    }

    /// The model did not answer, in words without the key.
    fn no_answer(&self, why: &str) -> Stopped {
        let mut why = format!("{} gave no answer: {why}", self.endpoint.name());
        if let Some(key) = self.endpoint.key().filter(|key| !key.is_empty()) {
            why = why.replace(key, "[key]");
        }
        Stopped::NoAnswer(why)
    }
}

impl Speaker for LiveModel<'_> {
    fn hear(&mut self, event: &Event) {
        self.dialogues.hear(event);
    }

    fn ask(&mut self, agent: Option<&str>, blobs: &dyn BlobSource) -> Result<Question, Stopped> {
        if self.made == self.most {
            return Err(Stopped::MostTurns(self.most));
        }
        let question = self.question(agent, blobs);
        question.map_err(|why| Stopped::NotAsked(format!("{}: {why}", self.endpoint.name())))
    }

    fn respond(&mut self) -> Result<Turn, Stopped> {
        let Some(next) = self.next.take() else {
            return Err(self.no_answer("it was asked nothing"));
        };
        self.made += 1;
        let since = Instant::now();
        let said = (next.headers.clone(), next.bytes.clone());
        let patience = Patience {
            limit: self.endpoint.timeout,
            is_stopped: self.is_stopped,
        };
        let reply = self
            .client
            .ask(&self.endpoint.upstream, &next.path, said, patience);
        Ok(self.turn(next, reply, since))
    }

    fn next(&mut self, wanted: Wanted) -> Result<Line, String> {
        Err(format!("a model gives no {wanted}"))
    }

    fn has(&self, _wanted: Wanted) -> bool {
        false
    }

    fn via(&self) -> Via {
        Via::Live
    }
}

/// Why nothing can follow from an answer; `None`: something can.
fn why_not(status: u16, answer: &Answer) -> Option<String> {
    let blocks = &answer.blocks;
    match answer.outcome {
        Outcome::Ok if blocks.is_empty() && answer.stop.is_none() => {
            Some(format!("status {status}, and nothing that is an answer"))
        }
        Outcome::Ok => {
            let has_calls = blocks.iter().any(|block| block.kind == BlockKind::ToolCall);
            let stop = answer.stop.as_deref().unwrap_or_default();
            (has_calls && OUT_OF_ROOM.contains(&stop))
                .then(|| "it had no room for all of its calls (max_tokens)".to_owned())
        }
        Outcome::Interrupted => Some("the answer was cut off".to_owned()),
        _ => {
            let said = blocks.iter().rev().find_map(|block| {
                let is_error = block.kind == BlockKind::Other;
                let message = text(&block.data, "message").or(block.data.as_str());
                message.filter(|_| is_error)
            });
            let said: String = said
                .unwrap_or("it says no more")
                .chars()
                .take(LONGEST)
                .collect();
            Some(format!("status {status}: {}", said.trim()))
        }
    }
}

/// What a model said, as the next request is to hold it, in the words of the endpoint.
fn said(dialect: Dialect, document: &[u8]) -> Option<Vec<Value>> {
    let mut document: Value = serde_json::from_slice(document).ok()?;
    match dialect {
        Dialect::Messages => {
            let content = document.get_mut("content")?.take();
            let is_said = content.as_array().is_some_and(|blocks| !blocks.is_empty());
            is_said.then(|| vec![serde_json::json!({"role": "assistant", "content": content})])
        }
        Dialect::Responses => Some(document.get_mut("output")?.as_array_mut()?.clone()),
        // What it says beside words and calls is not taken back by every endpoint.
        Dialect::ChatCompletions => None,
    }
}
