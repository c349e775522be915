//! A record on its way from a hook process to the recorder of its session.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::{Door, HookPlaces, Spool};
use crate::model::WallTime;

/// So long a hook waits for the capture of its call.
const PATIENCE: Duration = Duration::from_secs(50);
/// What the recorder says when a record is on the tape.
pub(super) const DONE: &[u8] = b"done\n";

/// A hook's record, and what the recorder has to know beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// The id of this delivery: the same record may come twice.
    pub id: String,
    /// When the hook was called.
    pub at: WallTime,
    /// The directory of the project, where the agent says it.
    pub project: Option<PathBuf>,
    /// The record, as it was given.
    pub record: Map<String, Value>,
    /// It was spooled: what it tells of happened before the recorder ran.
    pub is_late: bool,
}

impl Delivery {
    /// Reads what a hook was given; `None` for what is no record of a session.
    pub fn of_record(bytes: &[u8], project: Option<PathBuf>) -> Option<Self> {
        let record: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let delivery = Self {
            id: format!("{}-{}", std::process::id(), since.as_nanos()),
            at: WallTime(i64::try_from(since.as_micros()).ok()?),
            project,
            record,
            is_late: false,
        };
        delivery.is_usable().then_some(delivery)
    }

    /// Reads a line of a socket or a spool.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let mut fields: Map<String, Value> = serde_json::from_slice(line).ok()?;
        let Some(Value::Object(record)) = fields.remove("record") else {
            return None;
        };
        let delivery = Self {
            id: fields.get("id")?.as_str()?.to_owned(),
            at: WallTime(fields.get("at")?.as_i64()?),
            project: fields
                .get("project")
                .and_then(Value::as_str)
                .map(PathBuf::from),
            record,
            is_late: false,
        };
        delivery.is_usable().then_some(delivery)
    }

    fn is_usable(&self) -> bool {
        !self.session().is_empty() && !self.event().is_empty()
    }

    /// The line.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = json!({
            "id": self.id,
            "at": self.at.0,
            "project": self.project.as_ref().map(|path| path.to_string_lossy()),
            "record": self.record,
        })
        .to_string()
        .into_bytes();
        line.push(b'\n');
        line
    }

    /// A string of the record; empty where there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        let value = self.record.get(name).and_then(Value::as_str);
        value.unwrap_or_default()
    }

    /// The id of the session.
    pub fn session(&self) -> &str {
        self.text("session_id")
    }

    /// What happened, such as `PreToolUse`.
    pub fn event(&self) -> &str {
        self.text("hook_event_name")
    }

    /// The sub-agent that it happened to.
    pub(super) fn agent(&self) -> Option<&str> {
        Some(self.text("agent_id")).filter(|agent| !agent.is_empty())
    }

    /// The call that it is about.
    pub(super) fn call(&self) -> Option<&str> {
        Some(self.text("tool_use_id")).filter(|call| !call.is_empty())
    }
}

/// Hands a record to the recorder of its session, which `start` starts where there is none,
/// and waits until it is on the tape; or spools it. Fails only where it can be kept nowhere.
pub fn deliver(
    places: &HookPlaces,
    delivery: &Delivery,
    start: &dyn Fn() -> io::Result<()>,
) -> io::Result<()> {
    // Twice: a recorder that is about to end lets go of what it has not heard yet.
    if let Some(door) = Door::of(places, delivery.session()) {
        for _ in 0..2 {
            let Ok(stream) = door.reach(start) else { break };
            match hand_over(stream, &delivery.line()) {
                Ok(()) => return Ok(()),
                Err(error) if is_timeout(&error) => break,
                Err(_) => {}
            }
        }
    }
    Spool::of(places, delivery.session()).append(&delivery.line())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn hand_over(mut stream: UnixStream, line: &[u8]) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(line)?;
    let mut answer = Vec::new();
    stream.take(DONE.len() as u64).read_to_end(&mut answer)?;
    if answer == DONE {
        Ok(())
    } else {
        Err(io::ErrorKind::ConnectionReset.into())
    }
}
