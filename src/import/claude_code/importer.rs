//! The importer: record after record becomes events, in the order of the file.
//!
//! It holds back as little as it can: an answer until its last record, a call until its
//! result. Everything else is written at once, so that a transcript that is still growing
//! can be followed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::agents::Agents;
use super::beside::Beside;
use super::calls::{Calls, Whose};
use super::files::Files;
use super::lineage::{Lineage, Role};
use super::record::{ProgressData, Record};
use super::reply::Reply;
use super::scene::AgentId;
use super::survey::Survey;
use super::title;
use super::view::Shell;
use super::words::UserWords;
use super::{FORMAT, Options};
use crate::import::lines::{Ending, Line};
use crate::import::report::{Report, count};
use crate::import::sink::EventSink;
use crate::model::{Body, Event, Micros, Outcome, Problem, ProblemKind, TapePath, WallTime};
use crate::tape::{Piece, read_line, to_text};

/// Turns the records of one transcript into the events of a tape.
#[derive(Debug)]
pub struct Importer<S> {
    pub(super) sink: S,
    pub(super) options: Options,
    pub(super) beside: Beside,
    /// The workspace.
    pub(super) root: Arc<str>,
    pub(super) lineage: Lineage,
    pub(super) files: Files,
    pub(super) calls: Calls,
    pub(super) agents: Agents,
    /// For each file, the last backup that the file history names.
    pub(super) backups: HashMap<TapePath, String>,
    pub(super) report: Report,
    /// For each message of the model, the request that it first answered.
    pub(super) requests: HashMap<String, String>,
    /// For each agent, the files of which it has had the whole content.
    pub(super) had_whole: HashMap<Option<AgentId>, HashSet<TapePath>>,
    /// Whether the shell is where the records say.
    pub(super) shell: Shell,
    /// The answer that is being put together.
    pub(super) reply: Option<Reply>,
    /// The directory of the last record that named one.
    pub(super) cwd: Arc<str>,
    /// The time of the event before, for those that have none of their own.
    pub(super) t: Micros,
    pub(super) started: Option<WallTime>,
}

/// Where a record stands, for problems.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    /// The sub-agent whose file it is.
    pub(super) agent: Option<&'a str>,
    line: u64,
    offset: u64,
}

impl<S: EventSink> Importer<S> {
    /// Begins behind the header ([`Survey::header`]), which the sink was made with.
    pub fn begin(survey: &Survey, options: Options, sink: S) -> Self {
        let root: Arc<str> = survey.root.as_deref().unwrap_or("/").into();
        let mut importer = Self {
            sink,
            options,
            beside: survey.beside.clone(),
            root: Arc::clone(&root),
            lineage: Lineage::default(),
            files: Files::default(),
            calls: Calls::default(),
            agents: Agents::default(),
            backups: HashMap::new(),
            report: Report {
                format: FORMAT,
                ..Report::default()
            },
            requests: HashMap::new(),
            had_whole: HashMap::new(),
            shell: Shell::There,
            reply: None,
            cwd: root,
            t: 0,
            started: survey.started,
        };
        importer.files.begin_branch(None);
        for agent in &survey.agents {
            importer.agents.expect(&agent.id, agent.call.as_deref());
        }
        importer
    }

    /// Takes a line of the transcript. A line that may still be being written is not given
    /// before it is whole, or the file is at its end.
    pub fn push_line(&mut self, line: Line<'_>) -> Result<(), S::Error> {
        self.line(None, line)
    }

    /// Takes a line of a sub-agent's own file.
    pub fn push_agent_line(&mut self, agent: &str, line: Line<'_>) -> Result<(), S::Error> {
        self.line(Some(agent), line)
    }

    /// Whether a call was taken that has no result yet.
    pub fn has_open_call(&self, id: &str) -> bool {
        let is_held = |reply: &Reply| reply.calls.iter().any(|call| call.id == id);
        self.calls.has(id) || self.reply.as_ref().is_some_and(is_held)
    }

    /// Writes what is held back, because nothing more comes for now: calls without a result
    /// appear as pending.
    pub fn flush(&mut self) -> Result<(), S::Error> {
        self.flush_reply()?;
        self.write_pending(Whose::All)
    }

    /// No more lines come from a sub-agent's file.
    pub fn end_agent(&mut self, agent: &str) -> Result<(), S::Error> {
        let Some(agent) = self.agents.id_of(agent) else {
            return Ok(());
        };
        let call = self.agents.get(agent).and_then(|agent| agent.call.clone());
        // The result of its call ends it, if one is to come.
        if call.is_some_and(|call| self.has_open_call(&call)) {
            return Ok(());
        }
        self.write_agent_end(agent, Outcome::None)
    }

    /// Ends the tape: nothing more comes.
    pub fn finish(mut self) -> Result<(Report, S), S::Error> {
        self.flush()?;
        for call in self.calls.take_all() {
            self.give_up(&call)?;
        }
        for agent in self.agents.open() {
            self.write_agent_end(agent, Outcome::None)?;
        }
        let progress = self.report.progress;
        if progress.records > 0 {
            let text = format!(
                "{} progress records, {}",
                progress.records,
                size(progress.bytes)
            );
            self.write_plain(Body::Note { text: text.clone() }, &text)?;
        }
        let blobs = |hash: &_| self.sink.blob(hash);
        self.report.files = self.files.certainties(self.lineage.current(), &blobs);
        self.report.branches = self.lineage.branches.len() as u64 - 1;
        self.report.agents = self.agents.len() as u64;
        self.report.unreachable = self.lineage.unreachable();
        Ok((self.report, self.sink))
    }

    fn line(&mut self, agent: Option<&str>, line: Line<'_>) -> Result<(), S::Error> {
        let at = At {
            agent,
            line: line.number,
            offset: line.offset,
        };
        if let Some((text, record)) = plain(line.bytes) {
            return self.record(at, text, &record);
        }
        let content = read_line(line.bytes, is_record);
        for (offset, kind, message) in content.remarks {
            self.problem(at.behind(offset), kind, message);
        }
        let last = content.pieces.len();
        for (index, piece) in content.pieces.into_iter().enumerate() {
            match piece {
                Piece::Record(range) => {
                    let at = at.behind(range.start);
                    let bytes = line.bytes.get(range).unwrap_or_default();
                    let text = to_text(bytes);
                    match serde_json::from_str(&text) {
                        Ok(record) => self.record(at, &text, &record)?,
                        // A field that stands twice, say.
                        Err(error) => {
                            self.problem(at, ProblemKind::BadField, error.to_string());
                            self.not_understood("a record of another shape", &text)?;
                        }
                    }
                }
                Piece::Bad(range, kind, reason) => {
                    let is_torn = line.ending == Ending::EndOfFile
                        && kind == ProblemKind::NotJson
                        && index + 1 == last;
                    if is_torn && self.options.awaits_rest {
                        let reason = "the last line is not whole yet".to_owned();
                        self.problem(at.behind(range.start), ProblemKind::TornTail, reason);
                        continue;
                    }
                    let (kind, reason) = if is_torn {
                        (ProblemKind::TornTail, "the last line is cut off".to_owned())
                    } else {
                        (kind, reason)
                    };
                    let bytes = line.bytes.get(range.clone()).unwrap_or_default();
                    self.bad(at.behind(range.start), kind, reason, bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Bytes that are no record: a problem, and a gap in their place.
    fn bad(
        &mut self,
        at: At<'_>,
        kind: ProblemKind,
        reason: String,
        bytes: &[u8],
    ) -> Result<(), S::Error> {
        let why = format!("line {} (byte {}): {reason}", at.line, at.offset);
        self.problem(at, kind, reason);
        self.flush_reply()?;
        self.write_plain(Body::Gap { why: why.clone() }, &why)?;
        if kind == ProblemKind::NotAnObject {
            self.not_understood("a line that is no object", &String::from_utf8_lossy(bytes))?;
        }
        Ok(())
    }

    /// Keeps what is not understood, byte for byte.
    fn not_understood(&mut self, what: &str, text: &str) -> Result<(), S::Error> {
        count(&mut self.report.not_understood, what);
        self.flush_reply()?;
        self.write_plain(raw(text), what)
    }

    fn record(&mut self, at: At<'_>, text: &str, record: &Record<'_>) -> Result<(), S::Error> {
        let kind = record.kind.or_empty();
        if record
            .uuid
            .get()
            .is_some_and(|uuid| self.lineage.has(uuid, text))
        {
            self.report.repeated += 1;
            return Ok(());
        }
        let counted = if kind.is_empty() { "no type" } else { kind };
        count(&mut self.report.records, counted);
        match kind {
            "progress" => self.progress(at, text, record),
            "user" => self.user(at, text, record),
            "assistant" => {
                let scene = self.scene(at, text, record, Role::Other)?;
                self.assistant(&scene, record)
            }
            "system" if record.subtype.is("compact_boundary") => {
                let scene = self.scene(at, text, record, Role::Other)?;
                self.compacted(&scene, record)
            }
            "attachment" => {
                let scene = self.scene(at, text, record, Role::Other)?;
                self.attachment(&scene, record, text)
            }
            "file-history-snapshot" | "file-history-delta" => {
                self.name_backups(record);
                self.keep(at, text, record, kind)
            }
            "system" | "summary" | "custom-title" | "ai-title" | "agent-name" | "last-prompt"
            | "mode" | "permission-mode" | "queue-operation" | "pr-link" | "bridge-session" => {
                let subtype = record.subtype.or_empty();
                self.keep(at, text, record, format!("{kind} {subtype}").trim_end())
            }
            _ => {
                count(&mut self.report.not_understood, counted);
                self.keep(at, text, record, counted)
            }
        }
    }

    /// Keeps a record byte for byte.
    fn keep(
        &mut self,
        at: At<'_>,
        text: &str,
        record: &Record<'_>,
        title: &str,
    ) -> Result<(), S::Error> {
        let scene = self.scene(at, text, record, Role::Other)?;
        self.emit(&scene, Event::new(raw(text)).titled(title::cut(title)))?;
        Ok(())
    }

    /// Links a progress record and counts it. Its payload is not even parsed, but where it
    /// holds what a sub-agent did that has no file of its own.
    fn progress(&mut self, at: At<'_>, text: &str, record: &Record<'_>) -> Result<(), S::Error> {
        self.report.progress.records += 1;
        self.report.progress.bytes += text.len() as u64 + 1;
        self.scene(at, text, record, Role::Other)?;
        let data = record.data.text().unwrap_or_default();
        if memchr::memmem::find(data.as_bytes(), b"\"agent_progress\"").is_none() {
            return Ok(());
        }
        let data: ProgressData<'_> = record.data.read();
        let agent = data.agent_id.get().filter(|id| !self.agents.is_filed(id));
        let (Some(agent), Some(nested)) = (agent, data.message.text()) else {
            return Ok(());
        };
        let Ok(mut inner) = serde_json::from_str::<Record<'_>>(nested) else {
            return Ok(());
        };
        // The nested record is no link of the chain: the progress record is.
        inner.parent_uuid = record.parent_uuid.clone();
        if inner.timestamp.get().is_none() {
            inner.timestamp = record.timestamp.clone();
        }
        let mut scene = self.unlinked(&inner);
        scene.agent = Some(self.agent(agent, record.parent_tool_use_id.get(), &scene)?);
        match inner.kind.or_empty() {
            "user" => self.user_at(&scene, UserWords::read(&inner), &inner),
            "assistant" => self.assistant(&scene, &inner),
            _ => Ok(()),
        }
    }

    fn user(&mut self, at: At<'_>, text: &str, record: &Record<'_>) -> Result<(), S::Error> {
        let words = UserWords::read(record);
        let is_main = at.agent.is_none() && !record.is_sidechain.0;
        let role = if is_main && words.is_prompt() {
            self.flush_reply()?;
            self.write_pending(Whose::Main)?;
            Role::Prompt
        } else {
            Role::Other
        };
        let scene = self.scene(at, text, record, role)?;
        self.user_at(&scene, words, record)
    }

    pub(super) fn problem(&mut self, at: At<'_>, kind: ProblemKind, message: String) {
        let message = match at.agent {
            Some(agent) => format!("sub-agent {agent}: {message}"),
            None => message,
        };
        self.report
            .problems
            .push(Problem::new(at.line, at.offset, kind, message));
    }
}

impl At<'_> {
    fn behind(self, offset: usize) -> Self {
        Self {
            offset: self.offset + offset as u64,
            ..self
        }
    }
}

/// The record of a line on which nothing is wrong: the one pass that nearly all lines need.
fn plain(bytes: &[u8]) -> Option<(&str, Record<'_>)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let may_hold_surrogate = || {
        let find = |pattern: &[u8]| memchr::memmem::find(bytes, pattern).is_some();
        find(b"\\ud") || find(b"\\uD")
    };
    if !text.starts_with('{') || may_hold_surrogate() {
        return None;
    }
    Some((text, serde_json::from_str(text).ok()?))
}

/// Whether an object behind a cut record is a record, and not a part of the one that was
/// cut: messages and blocks have types, too, but no session.
fn is_record(text: &str) -> bool {
    let record: Record<'_> = serde_json::from_str(text).unwrap_or_default();
    let is_without_session = matches!(
        record.kind.or_empty(),
        "summary" | "file-history-snapshot" | "file-history-delta"
    );
    is_without_session || (record.kind.get().is_some() && record.session_id.get().is_some())
}

/// A foreign record, byte for byte.
pub(super) fn raw(text: &str) -> Body {
    Body::Raw {
        format: FORMAT.to_owned(),
        bytes: text.as_bytes().into(),
    }
}

/// A size in the unit that leaves it readable, as people say it.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
