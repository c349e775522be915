//! One session and its tape: records come in, events go on.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::agents::Agents;
use super::door::{Door, entries};
use super::events::{self, HOOK, RECORD};
use super::neighbours::Neighbours;
use super::resume::resume;
use super::turns::Turns;
use super::{Delivery, HookPlaces};
use crate::capture::{Capture, CaptureOptions, Session, holds_home};
use crate::import::claude_code::Turn;
use crate::model::{Body, Event, Header, Outcome, WallTime};
use crate::redact::Redactor;
use crate::tape::{RecordError, Recorder, RecorderOptions};
use crate::text::human;

/// So long a call waits for the turn that asked for it, at most.
const FOR_TURN: Duration = Duration::from_millis(12);
const PAUSE: Duration = Duration::from_millis(2);
/// Tapes of one session and second, of which all but the last could not be begun.
const MOST_TRIES: u32 = 9;

/// A session that is being recorded.
#[derive(Debug)]
pub(super) struct HookRun {
    session: Session,
    tape: PathBuf,
    root: String,
    started: WallTime,
    /// Deliveries that are on the tape.
    known: HashSet<String>,
    /// The calls, and whether they have a result.
    calls: HashMap<String, bool>,
    agents: Agents,
    turns: Turns,
    neighbours: Neighbours,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is on the tape.
    Recorded,
    /// It could not be written.
    Lost,
    /// It is on the tape, and nothing follows it.
    Last,
}

/// What is a secret, where any is taken out.
fn redactor_of(options: &RecorderOptions) -> Option<Arc<Redactor>> {
    let redacting = options.redacting.as_ref()?;
    Some(Arc::clone(&redacting.redactor))
}

impl HookRun {
    /// Begins the tape of a session, or goes on with it. `late` were spooled; the first of
    /// them, or else `first`, says where the agent works.
    pub(super) fn begin(
        (places, options): (&HookPlaces, &RecorderOptions),
        door: Door,
        late: Vec<Delivery>,
        first: Option<&Delivery>,
    ) -> Result<Option<Self>, RecordError> {
        let Some(begins) = late.first().or(first) else {
            return Ok(None);
        };
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&places.tapes);
        made.map_err(RecordError::Write)?;
        let end = format!("-{}.jsonl", door.key());
        let is_its = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(&end)
        };
        if let Some(tape) = entries(&places.tapes).filter(is_its).max() {
            match Self::go_on((places, options), door.clone(), tape, &late) {
                // The disk was full when it was begun, say.
                Err(RecordError::NotATape(_)) => {}
                run => return run.map(Some),
            }
        }
        let time = begins.at.to_string().replace(':', "-");
        let time = time.split(['.', 'Z']).next().unwrap_or_default();
        let tape = free(&places.tapes, time, &end);
        Self::create((places, options), door, tape, begins, &late).map(Some)
    }

    fn create(
        (places, options): (&HookPlaces, &RecorderOptions),
        door: Door,
        tape: PathBuf,
        begins: &Delivery,
        late: &[Delivery],
    ) -> Result<Self, RecordError> {
        let directory = begins.project.clone();
        let directory = directory.unwrap_or_else(|| begins.text("cwd").into());
        let mut covers = Map::new();
        let capture = match watch(&directory, places, &tape) {
            Ok(capture) => {
                covers.extend(capture.covers());
                Some(capture)
            }
            Err(why) => {
                covers.insert("files".to_owned(), format!("none: {why}").into());
                None
            }
        };
        let root = capture.as_ref().map_or(directory.as_path(), Capture::path);
        let root = root.to_string_lossy().into_owned();
        let header = Header {
            started: Some(begins.at),
            agent: Some("claude-code".to_owned()),
            root: Some(root.clone()),
            covers,
            source: source(begins),
            ..Header::default()
        };
        let recorder = Recorder::create(&tape, header, options.clone());
        let recorder = recorder.inspect_err(|error| {
            // Nothing is in the file, and it would stand in the way of the next try.
            if let RecordError::Write(_) = error {
                let _is_gone = fs::remove_file(&tape);
            }
        })?;
        let session = Session::begin(recorder, capture.into_iter().collect())?;
        let mut run = Self {
            session,
            tape,
            started: begins.at,
            known: HashSet::new(),
            calls: HashMap::new(),
            agents: Agents::default(),
            turns: Turns::of_new(begins.at),
            neighbours: Neighbours::new(door, root.clone().into(), redactor_of(options), now()),
            root,
        };
        for delivery in late {
            run.take(delivery)?;
        }
        Ok(run)
    }

    fn go_on(
        (places, options): (&HookPlaces, &RecorderOptions),
        door: Door,
        tape: PathBuf,
        late: &[Delivery],
    ) -> Result<Self, RecordError> {
        let (recorder, before) = resume(&tape, options.clone())?;
        let started = before.header.started.unwrap_or_default();
        let root = before.header.root.unwrap_or_default();
        let mut agents = Agents::default();
        for call in &before.open {
            if let (Some(id), Body::ToolCall { name, .. }) = (&call.head.call, &call.body) {
                agents.called(id, name, call.head.agent.as_deref());
            }
        }
        for agent in &before.agents {
            agents.begins(agent);
        }
        let mut run = Self {
            session: Session::resume(recorder, Some(root.clone()), &before.open),
            started,
            known: before.deliveries,
            calls: before.calls,
            agents,
            turns: Turns::of_known(started, before.turns),
            neighbours: Neighbours::new(door, root.clone().into(), redactor_of(options), now()),
            root,
            tape,
        };
        // What changed while nobody looked is theirs who had a call open then: their calls
        // come first, then the changes, and then the results.
        let ends_call = |delivery: &Delivery| delivery.event().starts_with("PostToolUse");
        for delivery in late.iter().filter(|delivery| !ends_call(delivery)) {
            run.take(delivery)?;
        }
        for delivery in late.iter().filter(|delivery| ends_call(delivery)) {
            run.expect_call(delivery)?;
        }
        if let Ok(capture) = watch(Path::new(&run.root), places, &run.tape) {
            run.session.take_up(capture)?;
        }
        for delivery in late.iter().filter(|delivery| ends_call(delivery)) {
            run.take(delivery)?;
        }
        Ok(run)
    }

    /// The tape.
    pub(super) fn tape(&self) -> &Path {
        &self.tape
    }

    /// Takes a record.
    pub(super) fn take(&mut self, delivery: &Delivery) -> Result<Taken, RecordError> {
        if self.known.contains(&delivery.id) {
            return Ok(Taken::Recorded);
        }
        let now = now();
        if looks(delivery.event()) {
            let others = self.neighbours.since_last_look(now);
            self.session.set_others(others);
        }
        self.find_transcripts(delivery);
        let agent = delivery.agent();
        if delivery.event() == "PreToolUse" {
            self.wait_for_turn(delivery)?;
        }
        self.read_turns(agent)?;
        let is_recorded = self.record(delivery)?;
        if is_recorded {
            self.known.insert(delivery.id.clone());
        }
        // Without word of them, others blame nobody for what these calls do.
        let _is_told = self.neighbours.tell(self.session.traces(), now);
        Ok(match (is_recorded, delivery.event()) {
            (true, "SessionEnd") => Taken::Last,
            (true, _) => Taken::Recorded,
            (false, _) => Taken::Lost,
        })
    }

    /// Records a record; whether it could be written.
    fn record(&mut self, delivery: &Delivery) -> Result<bool, RecordError> {
        let agent = delivery.agent();
        if let Some(agent) = agent {
            let is_end = delivery.event() == "SubagentStop";
            if self.agents.begins(agent) {
                let call = self.agents.starter();
                let start = events::agent_start(delivery, agent, call);
                let is_recorded = self.append(start, delivery)?;
                if delivery.event() == "SubagentStart" {
                    return Ok(is_recorded);
                }
            }
            if is_end {
                self.session.look()?;
                self.end_calls(Some(agent))?;
                self.agents.ends(agent);
                return self.append(events::agent_end(delivery), delivery);
            }
        }
        match (delivery.event(), delivery.call()) {
            ("UserPromptSubmit", _) => {
                self.end_calls(None)?;
                self.append(events::prompt(delivery), delivery)
            }
            ("PreToolUse", Some(call)) if !self.calls.contains_key(call) => {
                self.expect_call(delivery)
            }
            ("PostToolUse" | "PostToolUseFailure" | "PermissionDenied", Some(call))
                if self.calls.get(call) != Some(&true) =>
            {
                let call = call.to_owned();
                self.expect_call(delivery)?;
                let mut result = events::result(delivery, &call);
                result.head.agent = self.agents.of_call(&call).map(str::to_owned);
                let is_recorded = self.append(result, delivery)?;
                self.end_call(&call);
                Ok(is_recorded)
            }
            ("Stop" | "SessionEnd", _) => {
                self.session.look()?;
                let is_recorded = self.append(events::raw(delivery), delivery)?;
                self.end_calls(None)?;
                Ok(is_recorded)
            }
            // The first one is in the header.
            ("SessionStart", _) if self.known.is_empty() => Ok(true),
            _ => self.append(events::raw(delivery), delivery),
        }
    }

    /// Records the call that a record is about, if it is not on the tape.
    fn expect_call(&mut self, delivery: &Delivery) -> Result<bool, RecordError> {
        let Some(call) = delivery.call() else {
            return Ok(true);
        };
        if self.calls.contains_key(call) {
            return Ok(true);
        }
        let event = events::call(delivery, call, &self.root);
        let (call, tool) = (call.to_owned(), delivery.text("tool_name"));
        self.agents.called(&call, tool, delivery.agent());
        let is_recorded = self.append(event, delivery)?;
        self.calls.insert(call, false);
        Ok(is_recorded)
    }

    fn end_call(&mut self, call: &str) {
        self.calls.insert(call.to_owned(), true);
        self.agents.returned(call);
        self.turns.take_result(call);
    }

    /// The turn of an agent is over: so are its calls, whatever was told of them.
    fn end_calls(&mut self, agent: Option<&str>) -> Result<(), RecordError> {
        self.read_turns(agent)?;
        let open: Vec<String> = self
            .session
            .open_calls()
            .filter(|head| head.agent.as_deref() == agent)
            .filter_map(|head| head.call.clone())
            .collect();
        for call in open {
            let mut result = self
                .turns
                .take_result(&call)
                .unwrap_or_else(|| events::untold(&call, agent));
            result.head.agent = agent.map(str::to_owned);
            self.session.append(result)?;
            self.end_call(&call);
        }
        Ok(())
    }

    /// Appends an event; whether it could be written.
    fn append(&mut self, event: Event, delivery: &Delivery) -> Result<bool, RecordError> {
        let mut event = event;
        if delivery.is_late {
            event.head.t = Some(delivery.at.since(self.started));
        }
        Ok(self.session.append(event)?.seq.is_some())
    }

    /// Learns from a record where transcripts lie.
    fn find_transcripts(&mut self, delivery: &Delivery) {
        let main = PathBuf::from(delivery.text("transcript_path"));
        self.turns.at(None, &main);
        if let Some(agent) = delivery.agent() {
            let named = PathBuf::from(delivery.text("agent_transcript_path"));
            let beside = main
                .with_extension("")
                .join("subagents")
                .join(format!("agent-{agent}.jsonl"));
            let is_named = named.is_absolute();
            self.turns
                .at(Some(agent), if is_named { &named } else { &beside });
        }
    }

    /// The transcript may be a little behind.
    fn wait_for_turn(&mut self, delivery: &Delivery) -> Result<(), RecordError> {
        let agent = delivery.agent();
        let waits = !delivery.is_late && self.turns.is_there(agent);
        let Some(call) = delivery.call().filter(|_| waits) else {
            return Ok(());
        };
        let began = std::time::Instant::now();
        loop {
            let turns = self.new_turns(agent, Some(call));
            let is_there = turns
                .iter()
                .any(|turn| turn.asks.iter().any(|asked| asked == call));
            self.append_turns(agent, turns)?;
            if is_there || began.elapsed() >= FOR_TURN {
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
    }

    /// Appends the turns of an agent that its transcript shows by now.
    fn read_turns(&mut self, agent: Option<&str>) -> Result<usize, RecordError> {
        let turns = self.new_turns(agent, None);
        let count = turns.len();
        self.append_turns(agent, turns)?;
        Ok(count)
    }

    fn new_turns(&mut self, agent: Option<&str>, coming: Option<&str>) -> Vec<Turn> {
        let calls = &self.calls;
        let is_call = |call: &str| coming == Some(call) || calls.contains_key(call);
        self.turns.new_of(agent, &is_call)
    }

    fn append_turns(&mut self, agent: Option<&str>, turns: Vec<Turn>) -> Result<(), RecordError> {
        for turn in turns {
            let Some(mut event) = turn.response else {
                continue;
            };
            event.head.agent = agent.map(str::to_owned);
            event.head.t = turn.time.map(|time| time.since(self.started));
            event
                .extra
                .insert(HOOK.to_owned(), json!({ RECORD: turn.id }));
            self.session.append(event)?;
        }
        Ok(())
    }

    /// Reads on what the transcripts show; whether there was anything.
    pub(super) fn settle(&mut self) -> Result<bool, RecordError> {
        let mut count = 0;
        for agent in self.turns.agents() {
            count += self.read_turns(agent.as_deref())?;
        }
        Ok(count > 0)
    }

    /// Says that records could be written nowhere.
    pub(super) fn tell_lost(&mut self, count: usize) -> Result<(), RecordError> {
        let records = human::plural(count as u64, "record", "records");
        let why = format!("{records} of hooks could be written nowhere: the disk was full");
        self.session.append(Event::new(Body::Gap { why }))?;
        Ok(())
    }

    /// Ends the tape.
    pub(super) fn close(mut self, outcome: Outcome) -> Result<(), RecordError> {
        self.settle()?;
        let others = self.neighbours.since_last_look(now());
        self.session.set_others(others);
        let agents: HashSet<Option<String>> = self
            .session
            .open_calls()
            .map(|head| head.agent.clone())
            .collect();
        for agent in agents {
            self.end_calls(agent.as_deref())?;
        }
        let _is_told = self.neighbours.tell(Vec::new(), now());
        self.session.close(outcome).map(|_| ())
    }
}

/// A name that no file has: one that could not be begun, or not to the end of its header, may
/// have that of the same second. Those behind it come later in the order of names.
fn free(tapes: &Path, time: &str, end: &str) -> PathBuf {
    let name = |more: &str| tapes.join(format!("{time}Z{more}{end}"));
    let more = (2..=MOST_TRIES).map(|number| format!(".{number}"));
    let mut names = std::iter::once(String::new()).chain(more);
    let is_free = |more: &String| fs::symlink_metadata(name(more)).is_err();
    name(&names.find(is_free).unwrap_or_default())
}

/// Whether a record of this sort has the workspace looked at.
fn looks(event: &str) -> bool {
    matches!(
        event,
        "UserPromptSubmit"
            | "PreToolUse"
            | "PostToolUse"
            | "PostToolUseFailure"
            | "PermissionDenied"
            | "SubagentStop"
            | "Stop"
            | "SessionEnd"
    )
}

/// What the header says of where the record comes from.
fn source(begins: &Delivery) -> Map<String, Value> {
    let mut source = Map::new();
    source.insert("format".to_owned(), "claude-code hooks".into());
    for (name, field) in [("session", "session_id"), ("transcript", "transcript_path")] {
        source.insert(name.to_owned(), begins.text(field).into());
    }
    if begins.event() == "SessionStart" {
        source.insert("start".to_owned(), begins.record.clone().into());
    }
    source
}

fn watch(directory: &Path, places: &HookPlaces, tape: &Path) -> Result<Capture, String> {
    if !directory.is_absolute() {
        return Err("the agent does not say where it works".to_owned());
    }
    if holds_home(directory, places.home.as_deref()) {
        let directory = directory.display();
        return Err(format!("{directory} is or holds the home directory"));
    }
    let options = CaptureOptions {
        tape: Some(tape.to_owned()),
        ..CaptureOptions::default()
    };
    Capture::workspace(directory, options).map_err(|error| error.to_string())
}

pub(super) fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default().as_micros();
    WallTime(i64::try_from(since).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tape_that_could_not_be_begun_keeps_no_other_from_its_second() {
        let place = tempfile::tempdir().unwrap();
        let end = "-key.jsonl";
        let mut names = Vec::new();
        for _ in 0..4 {
            let tape = free(place.path(), "2026-01-01T10-00-00", end);
            let name = tape.file_name().unwrap().to_string_lossy().into_owned();
            assert!(name.ends_with(end), "{name}");
            fs::write(&tape, "").unwrap();
            names.push(name);
        }
        assert_eq!(names[0], "2026-01-01T10-00-00Z-key.jsonl");
        // The last one is that which is gone on with.
        assert!(names.is_sorted_by(|one, two| one < two), "{names:?}");
    }
}
