//! What the user and the model said.

use super::calls::Call;
use super::effects::Effects;
use super::importer::{Importer, raw};
use super::record::{Message, Record};
use super::scene::Scene;
use super::shell;
use super::title;
use super::words::UserWords;
use crate::import::report::count;
use crate::import::sink::EventSink;
use crate::model::{Body, Event};

impl<S: EventSink> Importer<S> {
    /// What a record of the user holds: results first, then words.
    pub(super) fn user_at(
        &mut self,
        scene: &Scene,
        words: UserWords<'_>,
        record: &Record<'_>,
    ) -> Result<(), S::Error> {
        for block in &words.results {
            self.result(scene, block, record.tool_use_result)?;
        }
        for (kind, text) in &words.other {
            count(&mut self.report.not_understood, kind);
            let event = Event::new(raw(text)).titled("a block that is not understood");
            self.emit(scene, event)?;
        }
        let is_silent = words.text.is_empty() && words.images.is_empty();
        if is_silent && !(words.results.is_empty() && words.other.is_empty()) {
            return Ok(());
        }
        let attachments = self.images(scene, &words.images)?;
        let title = if words.is_compact_summary {
            "summary of the conversation so far".to_owned()
        } else {
            title::prompt(&words.text, words.images.len())
        };
        let mut effects = Effects::default();
        if let Some(command) = words.typed() {
            shell::typed(command, &self.view(scene, &|_| None), &mut effects);
        }
        let prompt = Body::Prompt {
            role: words.role.to_owned(),
            text: words.text,
            attachments,
        };
        self.emit(scene, Event::new(prompt).titled(title))?;
        self.write_suspects(scene, effects.suspects, None)
    }

    /// What a record adds to an answer; the calls in it wait for their results.
    pub(super) fn assistant(&mut self, scene: &Scene, record: &Record<'_>) -> Result<(), S::Error> {
        let message: Message<'_> = record.message.read();
        let call = self.call_of(&message, record);
        let part = self.with_reply(scene, call.as_deref(), |reply| {
            let mut part = reply.push(record, &message, scene);
            // What starts a sub-agent is written with the answer: its records come before
            // its result.
            let (starts, waiting) = part.calls.drain(..).partition(Call::starts_agent);
            reply.calls.extend::<Vec<Call>>(starts);
            part.calls = waiting;
            part
        })?;
        for kind in &part.not_understood {
            count(&mut self.report.not_understood, kind);
        }
        for mut call in part.calls {
            if self.calls.take_early(&call.id) {
                self.emit(&call.scene.clone(), call.event(&self.root))?;
                call.is_written = true;
            } else {
                self.calls.put(call);
            }
        }
        Ok(())
    }

    /// What tells an answer from others: its message's id, with the request's where two
    /// requests share one.
    fn call_of(&mut self, message: &Message<'_>, record: &Record<'_>) -> Option<String> {
        let id = message.id.get()?;
        let Some(request) = record.request_id.get() else {
            return Some(id.to_owned());
        };
        let first = self.requests.entry(id.to_owned());
        let first = first.or_insert_with(|| request.to_owned());
        Some(if first == request {
            id.to_owned()
        } else {
            format!("{id} {request}")
        })
    }
}
