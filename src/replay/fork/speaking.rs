//! How a fork goes on where its parent does not answer: somebody speaks, turn by turn, or nobody
//! does.

use std::collections::VecDeque;

use serde_json::Value;

use super::engine::{Engine, has_calls};
use super::{ForkError, Line, Question, Stopped, Then, Wanted};
use crate::model::{Body, Event, ModelBlock, Via};

impl Engine<'_> {
    /// The model must speak, or, where its turn has ended, the user: whoever speaks does, to
    /// their last word.
    pub(super) fn speak(
        &mut self,
        agent: Option<String>,
        mut has_calls: bool,
    ) -> Result<Stopped, ForkError> {
        loop {
            if self.is_broken_off {
                return Ok(Stopped::BrokenOff);
            }
            let Then::Speaker(speaker) = &mut self.then else {
                if has_calls {
                    return self.nobody_speaks(agent, None);
                }
                return Ok(Stopped::TurnEnded);
            };
            let via = speaker.via();
            if !has_calls {
                let is_prompted = agent.is_none() && speaker.has(Wanted::Prompt);
                let Some(Line::Prompt(text)) = is_prompted
                    .then(|| speaker.next(Wanted::Prompt).ok())
                    .flatten()
                else {
                    return Ok(Stopped::TurnEnded);
                };
                let mut event = self.own(Body::Prompt {
                    role: "user".to_owned(),
                    text,
                    attachments: Vec::new(),
                });
                event.head.via = Some(via);
                self.answer_with(event, None)?;
                has_calls = true;
                continue;
            }
            let question = match speaker.ask(agent.as_deref(), self.blobs) {
                Ok(question) => question,
                Err(why) => return self.nobody_speaks(agent, Some(why)),
            };
            self.ask(agent.as_ref(), question)?;
            let Then::Speaker(speaker) = &mut self.then else {
                return self.nobody_speaks(agent, None);
            };
            let turn = match speaker.respond() {
                Ok(turn) => turn,
                Err(why) => return self.nobody_speaks(agent, Some(why)),
            };
            let blocks = self.hear(agent.as_ref(), turn.events, via)?;
            if let Some(why) = turn.stopped {
                return self.nobody_speaks(agent, Some(why));
            }
            if let Some(stopped) = self.calls(agent.as_ref(), &blocks, VecDeque::new())? {
                return Ok(stopped);
            }
            has_calls = self::has_calls(&blocks);
        }
    }

    /// Writes what a model is asked. It is on disk before anybody answers.
    fn ask(&mut self, agent: Option<&String>, question: Question) -> Result<(), ForkError> {
        let is_asked = !question.events.is_empty();
        for event in question.events {
            let event = self.in_lane(event, agent);
            self.put_like(event, question.like)?;
        }
        if is_asked {
            self.recorder.sync()?;
        }
        Ok(())
    }

    /// Writes what a model answered; what it said.
    fn hear(
        &mut self,
        agent: Option<&String>,
        events: Vec<Event>,
        via: Via,
    ) -> Result<Vec<ModelBlock>, ForkError> {
        let mut said = Vec::new();
        for event in events {
            let mut event = self.in_lane(event, agent);
            if let Body::ModelResponse { blocks, .. } = &mut event.body {
                self.name_calls(blocks);
                said.clone_from(blocks);
                event.head.via = Some(via);
                self.answer_with(event, None)?;
            } else {
                self.put(event)?;
            }
        }
        Ok(said)
    }

    pub(super) fn nobody_speaks(
        &mut self,
        agent: Option<String>,
        why: Option<Stopped>,
    ) -> Result<Stopped, ForkError> {
        let miss = self.conversation.get(&agent).cloned();
        let mut event = self.own(Body::ModelRequest {
            model: None,
            request: None,
            added: Value::Null,
        });
        event.head.agent = agent;
        event.head.via = Some(Via::Unknown);
        event.head.title = Some("nobody could answer".to_owned());
        self.answer_with(event, miss.clone())?;
        Ok(why.unwrap_or(Stopped::ModelMustSpeak(miss)))
    }
}
