//! Events on their way to the sink, with the scene they play in, and what is remembered of
//! them.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;

use super::calls::Whose;
use super::importer::{Importer, raw};
use super::reply::Reply;
use super::scene::Scene;
use super::title;
use super::view::Change;
use crate::import::report::count;
use crate::import::sink::EventSink;
use crate::model::{BlobHash, Body, Content, Event, FileOp, Scope, Seq};

impl<S: EventSink> Importer<S> {
    /// Takes what a record adds to the answer that is being put together.
    pub(super) fn with_reply<T>(
        &mut self,
        scene: &Scene,
        call: Option<&str>,
        push: impl FnOnce(&mut Reply) -> T,
    ) -> Result<T, S::Error> {
        let goes_on = self
            .reply
            .as_ref()
            .is_some_and(|reply| reply.goes_on_with(scene, call));
        if !goes_on {
            self.flush_reply()?;
        }
        let reply = self
            .reply
            .get_or_insert_with(|| Reply::new(scene.clone(), call.map(str::to_owned)));
        Ok(push(reply))
    }

    /// Writes the answer that is being put together, and the calls that do not wait.
    pub(super) fn flush_reply(&mut self) -> Result<(), S::Error> {
        let Some(mut reply) = self.reply.take() else {
            return Ok(());
        };
        let event = reply.event();
        let seq = self.write(&reply.scene, event)?;
        for record in &reply.records {
            self.lineage.wrote(*record, seq);
        }
        for text in &reply.raw {
            let event = Event::new(raw(text)).titled("a block that is not understood");
            self.write(&reply.scene, event)?;
        }
        for mut call in std::mem::take(&mut reply.calls) {
            self.write(&call.scene, call.event(&self.root))?;
            call.is_written = true;
            self.agents.put_start(&call);
            self.calls.put(call);
        }
        Ok(())
    }

    /// Writes calls that wait for their results.
    pub(super) fn write_pending(&mut self, whose: Whose) -> Result<(), S::Error> {
        for call in self.calls.take_unwritten(whose) {
            self.write(&call.scene, call.event(&self.root))?;
        }
        Ok(())
    }

    /// Writes an event, after the answer that came before it.
    pub(super) fn emit(&mut self, scene: &Scene, event: Event) -> Result<Seq, S::Error> {
        self.flush_reply()?;
        self.write(scene, event)
    }

    pub(super) fn write(&mut self, scene: &Scene, mut event: Event) -> Result<Seq, S::Error> {
        self.t = scene.t.unwrap_or(self.t);
        event.head.t = Some(self.t);
        event.head.title = event.head.title.filter(|title| !title.is_empty());
        event.head.branch = self.lineage.name(scene.branch);
        let agent = scene.agent.and_then(|agent| self.agents.get(agent));
        event.head.agent = agent.map(|agent| agent.id.clone());
        let seq = self.sink.append(event)?;
        self.report.events += 1;
        if let Some(record) = scene.record {
            self.lineage.wrote(record, seq);
        }
        Ok(seq)
    }

    /// Writes what belongs to no record that can be read.
    pub(super) fn write_plain(&mut self, body: Body, title: &str) -> Result<(), S::Error> {
        let scene = self.nowhere();
        self.write(&scene, Event::new(body).titled(title::cut(title)))?;
        Ok(())
    }

    /// The scene of what belongs to no record.
    pub(super) fn nowhere(&self) -> Scene {
        Scene {
            agent: None,
            branch: self.lineage.current(),
            t: None,
            record: None,
            cwd: Arc::clone(&self.cwd),
        }
    }

    /// Writes what happened to a file, and remembers what is known of it then. An outside
    /// change is nobody's.
    pub(super) fn write_change(
        &mut self,
        scene: &Scene,
        change: Change,
        call: Option<&str>,
    ) -> Result<(), S::Error> {
        let Change { change, known } = change;
        let mut scene = scene.clone();
        if change.outside {
            scene.agent = None;
            self.report.outside_changes += 1;
        }
        let made = (change.op == FileOp::Mkdir).then(|| change.path.clone());
        let title = title::file(&change);
        let mut event = Event::new(Body::File(change)).titled(title);
        event.head.call = call.map(str::to_owned);
        let seq = self.emit(&scene, event)?;
        for (path, known) in known {
            if known.whole().is_some() {
                self.had_whole
                    .entry(scene.agent)
                    .or_default()
                    .insert(path.clone());
            }
            self.files.put(scene.branch, path, seq, known);
        }
        if let Some(path) = made {
            self.files.put_directory(scene.branch, path);
        }
        Ok(())
    }

    pub(super) fn write_suspects(
        &mut self,
        scene: &Scene,
        suspects: Vec<(Scope, String)>,
        call: Option<&str>,
    ) -> Result<(), S::Error> {
        for (scope, why) in suspects {
            let title = title::suspicion(&scope, &why);
            let body = Body::Suspect {
                scope: scope.clone(),
                why,
            };
            let mut event = Event::new(body).titled(title);
            event.head.call = call.map(str::to_owned);
            let seq = self.emit(scene, event)?;
            let call = call.map(str::to_owned);
            self.files.suspect(scene.branch, seq, scope, call);
        }
        Ok(())
    }

    /// Stores images; gives their names.
    pub(super) fn images(
        &mut self,
        scene: &Scene,
        images: &[Cow<'_, str>],
    ) -> Result<Vec<BlobHash>, S::Error> {
        let mut hashes = Vec::new();
        for image in images {
            let decoded = base64::engine::general_purpose::STANDARD.decode(image.as_bytes());
            if let Ok(bytes) = decoded {
                hashes.push(self.blob(scene, bytes, "an image or a document")?);
            } else {
                count(&mut self.report.lost, "images that cannot be decoded");
            }
        }
        Ok(hashes)
    }

    pub(super) fn blob(
        &mut self,
        scene: &Scene,
        bytes: Vec<u8>,
        title: &str,
    ) -> Result<BlobHash, S::Error> {
        let hash = BlobHash::of(&bytes);
        let body = Body::Blob(Content::Bytes(bytes.into()));
        self.emit(scene, Event::new(body).titled(title))?;
        Ok(hash)
    }
}
