//! What came back from a call: the call, what it did to files, and its result are written.

use std::sync::Arc;

use super::calls::Call;
use super::effects::{Asked, Effects, text};
use super::importer::Importer;
use super::paths::resolve;
use super::record::{Block, Raw, Returned};
use super::results::Outcomes;
use super::scene::Scene;
use super::title;
use super::view::{Shell, View};
use crate::import::report::count;
use crate::import::sink::EventSink;
use crate::model::{BlobHash, Body, Event, Outcome, Problem, ProblemKind, Scope, TapePath};
use crate::tools::shell::{Directory, read};

impl<S: EventSink> Importer<S> {
    /// What a tool returned: its call is written before it, and what it did to files.
    pub(super) fn result(
        &mut self,
        scene: &Scene,
        block: &Block<'_>,
        beside: Raw<'_>,
    ) -> Result<(), S::Error> {
        self.flush_reply()?;
        let id = block.tool_use_id.or_empty();
        let came = Outcomes::read(block, beside);
        let call = self.calls.take(id, scene.agent);
        let call = call.unwrap_or_else(|| {
            self.calls.put_early(id);
            count(&mut self.report.lost, "calls whose results are there");
            Call::of_orphan(scene.clone(), id, &came.returned)
        });
        let effects = self.effects(&call, scene, came.outcome, &came.returned, &came.output);
        self.follow_shell(&call, came.outcome);
        self.add_edits(&effects);
        self.had_whole
            .entry(call.scene.agent)
            .or_default()
            .extend(effects.whole);
        for change in effects.before {
            self.write_change(&call.scene, change, None)?;
        }
        if !call.is_written {
            self.write(&call.scene, call.event(&self.root))?;
        }
        let scene = &Scene {
            agent: call.scene.agent,
            ..scene.clone()
        };
        for change in effects.during {
            self.write_change(scene, change, Some(id))?;
        }
        self.write_suspects(scene, effects.suspects, Some(id))?;
        if call.starts_agent() {
            self.end_agents_of(scene, &call, &came)?;
        }
        let mut attachments = self.images(scene, &came.images)?;
        attachments.extend(self.kept_output(scene, &came.returned)?);
        let title = title::cut(&came.output);
        let result = Body::ToolResult {
            outcome: came.outcome,
            exit: came.exit,
            output: came.output,
            duration: came.duration,
            attachments,
            detail: came.detail,
        };
        self.write(scene, Event::new(result).in_call(id).titled(title))?;
        Ok(())
    }

    /// A call whose result never came: it may have done what it was to do.
    pub(super) fn give_up(&mut self, call: &Call) -> Result<(), S::Error> {
        let returned = Returned::default();
        let effects = self.effects(call, &call.scene, Outcome::Pending, &returned, "");
        count(&mut self.report.lost, "results of calls");
        self.write_suspects(&call.scene, effects.suspects, Some(&call.id))
    }

    pub(super) fn effects(
        &self,
        call: &Call,
        scene: &Scene,
        outcome: Outcome,
        returned: &Returned<'_>,
        output: &str,
    ) -> Effects {
        let had_whole = |path: &TapePath| {
            let had = self.had_whole.get(&call.scene.agent);
            had.is_some_and(|paths| paths.contains(path))
        };
        let asked = Asked {
            name: &call.name,
            arguments: &call.arguments,
            had_whole: &had_whole,
        };
        let blobs = |hash: &BlobHash| self.sink.blob(hash);
        let base = |path: &TapePath| self.first_content(path);
        let (branch, cwd) = (scene.branch, &call.scene.cwd);
        let mut view = View::of(
            &self.files,
            &blobs,
            branch,
            &self.root,
            cwd,
            self.shell_of(&call.scene),
        );
        Effects::of(&asked, outcome, returned, output, &mut view, &base)
    }

    pub(super) fn view<'a>(
        &'a self,
        scene: &'a Scene,
        blobs: &'a dyn Fn(&BlobHash) -> Option<Arc<[u8]>>,
    ) -> View<'a> {
        View::of(
            &self.files,
            blobs,
            scene.branch,
            &self.root,
            &scene.cwd,
            self.shell_of(scene),
        )
    }

    /// Whether the shell that a call ran in was where its record says.
    pub(super) fn shell_of(&self, scene: &Scene) -> Shell {
        match scene.agent.and_then(|agent| self.agents.get(agent)) {
            None => self.shell,
            // These shared one shell, and their records were written when all was over.
            Some(agent) if agent.is_inline => Shell::Elsewhere,
            // The shell of these goes back after each command.
            Some(_) => Shell::There,
        }
    }

    /// A command may leave the shell in another directory, and older versions of the program
    /// do not tell.
    pub(super) fn follow_shell(&mut self, call: &Call, outcome: Outcome) {
        let is_own = call.scene.agent.is_none();
        if call.name != "Bash" || outcome == Outcome::Refused || !is_own {
            if self.shell_of(&call.scene) == Shell::Elsewhere {
                self.shell = Shell::Elsewhere;
            }
            return;
        }
        let command = text(&call.arguments, "command").unwrap_or_default();
        let there = |path: &str| resolve(path, &call.scene.cwd, "/");
        self.shell = match read(command).shell {
            Directory::Same => self.shell,
            Directory::At(path)
                if there(&path) == there(".")
                    && (path.starts_with('/') || self.shell == Shell::There) =>
            {
                Shell::There
            }
            Directory::At(_) | Directory::Elsewhere => Shell::Elsewhere,
        };
    }

    /// The content of a file that the transcript does not have: a backup, or the base.
    pub(super) fn first_content(&self, path: &TapePath) -> Option<(Vec<u8>, &'static str)> {
        let backup = self
            .backups
            .get(path)
            .and_then(|name| self.beside.backup(name));
        let base = || self.options.base.as_ref().and_then(|base| base(path));
        let backup = backup.map(|bytes| (bytes, "from the file history"));
        backup.or_else(|| base().map(|bytes| (bytes, "from base")))
    }

    pub(super) fn add_edits(&mut self, effects: &Effects) {
        let (all, more) = (&mut self.report.edits, effects.edits);
        all.all += more.all;
        all.with_preimage += more.with_preimage;
        all.base_known += more.base_known;
        all.matched += more.matched;
        all.partial += more.partial;
        all.unknown += more.unknown;
        for what in &effects.guessed {
            count(&mut self.report.guessed, what);
        }
    }

    /// The agents that a call started are over, now that its result is there.
    pub(super) fn end_agents_of(
        &mut self,
        scene: &Scene,
        call: &Call,
        came: &Outcomes<'_>,
    ) -> Result<(), S::Error> {
        let is_launched = came.returned.status.is("async_launched");
        if !is_launched {
            for agent in self.agents.started_by(&call.id) {
                self.write_agent_end(agent, came.outcome)?;
            }
        }
        let id = came.returned.agent_id.or_empty();
        let is_to_come = is_launched && self.agents.is_filed(id);
        if came.outcome != Outcome::Ok || self.agents.has_of(&call.id) || is_to_come {
            return Ok(());
        }
        let text = "sub-agent log not found";
        let message = format!("{text}: {id}");
        self.report
            .problems
            .push(Problem::new(0, 0, ProblemKind::MissingPart, message));
        count(&mut self.report.lost, "logs of sub-agents");
        let note = Body::Note {
            text: format!("{text}: {id}"),
        };
        self.emit(
            scene,
            Event::new(note).in_call(call.id.clone()).titled(text),
        )?;
        let why = "a sub-agent whose log was not found may have written files".to_owned();
        let suspects = vec![(Scope::All, why)];
        self.write_suspects(scene, suspects, Some(&call.id))
    }

    /// Stores the output of a call that was too large for the transcript.
    pub(super) fn kept_output(
        &mut self,
        scene: &Scene,
        returned: &Returned<'_>,
    ) -> Result<Option<BlobHash>, S::Error> {
        let Some(path) = returned.persisted_output_path.get() else {
            return Ok(None);
        };
        let Some(bytes) = self.beside.output(path) else {
            count(&mut self.report.lost, "outputs kept in files of their own");
            return Ok(None);
        };
        self.blob(scene, bytes, "the whole output").map(Some)
    }
}
