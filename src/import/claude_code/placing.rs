//! Where records belong: on which branch, to which sub-agent, behind what that has to be
//! said first.

use std::sync::Arc;

use super::importer::{At, Importer};
use super::lineage::{self, Place, Role};
use super::record::Record;
use super::scene::{AgentId, Scene};
use super::title;
use super::view::Shell;
use super::words::UserWords;
use crate::import::sink::EventSink;
use crate::model::{Body, Event, Outcome, ProblemKind, WallTime};

impl<S: EventSink> Importer<S> {
    /// Where a record plays. Writes what has to be said about that first: a sub-agent's
    /// start, a rewind, a break in the chain.
    pub(super) fn scene(
        &mut self,
        at: At<'_>,
        text: &str,
        record: &Record<'_>,
        role: Role,
    ) -> Result<Scene, S::Error> {
        let logical = record.logical_parent_uuid.get();
        let logical = logical.filter(|parent| self.lineage.knows(parent));
        let parent = record.parent_uuid.get().or(logical);
        let place = self.lineage.place(record.uuid.get(), parent, role, text);
        let mut scene = self.unlinked(record);
        scene.agent = self.agent_of(at, record, &scene)?;
        match place {
            Place::On(_) => {}
            Place::Rewind { from, at } => {
                self.files.begin_branch(Some((from, at)));
                let body = Body::Branch {
                    from: self.lineage.name(from),
                    at,
                    why: "the conversation was taken back to here".to_owned(),
                };
                self.emit(&scene, Event::new(body).titled("rewind"))?;
            }
            Place::Broken(_) => {
                let text = format!(
                    "chain broken here: parent {} is missing",
                    parent.unwrap_or_default()
                );
                self.problem(at, ProblemKind::BrokenReference, text.clone());
                let title = title::cut("chain broken here: a parent is missing");
                // What came before it is not in the file: a gap, not a remark.
                self.emit(&scene, Event::new(Body::Gap { why: text }).titled(title))?;
            }
        }
        Ok(scene)
    }

    /// Where a record plays that is no link of the chain.
    pub(super) fn unlinked(&mut self, record: &Record<'_>) -> Scene {
        let time = record.timestamp.get().and_then(WallTime::parse);
        self.started = self.started.or(time);
        let moved = record.cwd.get().filter(|cwd| **cwd != *self.cwd);
        let cwd = moved.map_or_else(|| Arc::clone(&self.cwd), Arc::from);
        if moved.is_some() && !record.is_sidechain.0 {
            // Records that follow the shell tell where it is.
            self.shell = Shell::There;
            self.cwd = Arc::clone(&cwd);
        }
        Scene {
            agent: None,
            branch: self.lineage.current(),
            t: time
                .zip(self.started)
                .map(|(time, started)| time.since(started)),
            record: record.uuid.get().map(lineage::key),
            cwd,
        }
    }

    /// The sub-agent that a record belongs to.
    pub(super) fn agent_of(
        &mut self,
        at: At<'_>,
        record: &Record<'_>,
        scene: &Scene,
    ) -> Result<Option<AgentId>, S::Error> {
        if let Some(agent) = at.agent {
            return self.agent(agent, None, scene).map(Some);
        }
        if !record.is_sidechain.0 {
            return Ok(None);
        }
        let parent = record.parent_uuid.get().map(lineage::key);
        let agent = if let Some(agent) = self.agents.inline(parent) {
            agent
        } else {
            self.flush_reply()?;
            let words = UserWords::read(record);
            let call = self.agents.call_asking(&words.text);
            let number = self.agents.len() + 1;
            let id = record.agent_id.get().map(str::to_owned);
            let id = id.unwrap_or_else(|| format!("agent-{number}"));
            self.agent(&id, call.as_deref(), scene)?
        };
        if let Some(record) = scene.record {
            self.agents.put_inline(record, agent);
        }
        Ok(Some(agent))
    }

    /// The sub-agent of this id; its start is written when it is new.
    pub(super) fn agent(
        &mut self,
        id: &str,
        call: Option<&str>,
        scene: &Scene,
    ) -> Result<AgentId, S::Error> {
        // Its call may be held back with the answer that made it.
        if self.agents.id_of(id).is_none() {
            self.flush_reply()?;
        }
        let (agent, is_new) = self.agents.named(id, call);
        if let Some(name) = is_new {
            let scene = Scene {
                agent: Some(agent),
                ..scene.clone()
            };
            let title = title::cut(&format!("sub-agent {name}"));
            let mut event = Event::new(Body::AgentStart { name }).titled(title);
            event.head.call = self.agents.get(agent).and_then(|agent| agent.call.clone());
            self.emit(&scene, event)?;
        }
        Ok(agent)
    }

    pub(super) fn write_agent_end(
        &mut self,
        agent: AgentId,
        outcome: Outcome,
    ) -> Result<(), S::Error> {
        self.flush_reply()?;
        let mut event = Event::new(Body::AgentEnd { outcome });
        event.head.call = self.agents.get(agent).and_then(|agent| agent.call.clone());
        self.agents.end(agent);
        let mut scene = self.nowhere();
        scene.agent = Some(agent);
        self.write(&scene, event)?;
        Ok(())
    }
}
