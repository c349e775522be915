//! The transcripts of a session, read on as they grow: the agent's own, and those of its
//! sub-agents. Only read, and only what is whole lines.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::import::claude_code::Turn;
use crate::model::{Event, WallTime};

/// Bytes that are read at once; a longer line is not looked at.
const MOST: u64 = 64 << 20;
/// Of a transcript that was there before the tape, so many bytes may hold the turn that the
/// first call belongs to.
const BEFORE: u64 = 1 << 20;

/// The transcripts of a session.
#[derive(Debug, Default)]
pub(super) struct Turns {
    tails: HashMap<Option<String>, Tail>,
    /// Records whose turns are on the tape.
    known: HashSet<String>,
    /// Results that the transcript shows, by call.
    results: HashMap<String, Event>,
    /// What is older is of no concern, unless it asks for a call of the tape.
    since: WallTime,
    /// All of a transcript is read: part of it may be on the tape, and part not.
    reads_all: bool,
}

/// How far a transcript was read.
#[derive(Debug)]
struct Tail {
    path: PathBuf,
    /// The file's device and inode: another file under the name is read from its start.
    file: Option<(u64, u64)>,
    offset: u64,
}

impl Turns {
    /// Those of a new tape.
    pub(super) fn of_new(since: WallTime) -> Self {
        Self {
            since,
            ..Self::default()
        }
    }

    /// Those of a tape that holds the turns of these records.
    pub(super) fn of_known(since: WallTime, known: HashSet<String>) -> Self {
        Self {
            since,
            known,
            reads_all: true,
            ..Self::default()
        }
    }

    /// Says where the transcript of an agent lies; `None` is the main agent.
    pub(super) fn at(&mut self, agent: Option<&str>, path: &Path) {
        let agent = agent.map(str::to_owned);
        let is_same = |tail: &Tail| tail.path == path;
        if !path.is_absolute() || self.tails.get(&agent).is_some_and(is_same) {
            return;
        }
        let len = path.metadata().map_or(0, |found| found.len());
        // A sub-agent's transcript begins with it.
        let is_whole = agent.is_some() || self.reads_all || len <= BEFORE;
        let tail = Tail {
            path: path.to_owned(),
            file: None,
            offset: if is_whole { 0 } else { len - BEFORE },
        };
        self.tails.insert(agent, tail);
    }

    /// Whether there is a transcript of an agent.
    pub(super) fn is_there(&self, agent: Option<&str>) -> bool {
        let tail = self.tails.get(&agent.map(str::to_owned));
        tail.is_some_and(|tail| tail.path.is_file())
    }

    /// The agents whose transcripts are read.
    pub(super) fn agents(&self) -> Vec<Option<String>> {
        let mut agents: Vec<_> = self.tails.keys().cloned().collect();
        agents.sort();
        agents
    }

    /// The turns of an agent that are new. What cannot be read now may be later.
    pub(super) fn new_of(
        &mut self,
        agent: Option<&str>,
        is_call: &dyn Fn(&str) -> bool,
    ) -> Vec<Turn> {
        let Some(tail) = self.tails.get_mut(&agent.map(str::to_owned)) else {
            return Vec::new();
        };
        let bytes = tail.read().unwrap_or_default();
        let mut new = Vec::new();
        for turn in bytes.split(|byte| *byte == b'\n').filter_map(Turn::read) {
            for result in &turn.results {
                if let Some(call) = result.head.call.clone().filter(|call| is_call(call)) {
                    self.results.insert(call, result.clone());
                }
            }
            let is_recent = turn.time.is_none_or(|time| time >= self.since);
            let is_ours = is_recent || turn.asks.iter().any(|call| is_call(call));
            let is_known = |id: &String| self.known.contains(id);
            if turn.response.is_some() && is_ours && !turn.id.as_ref().is_some_and(is_known) {
                self.known.extend(turn.id.clone());
                new.push(turn);
            }
        }
        new
    }

    /// The result of a call, if a transcript showed one.
    pub(super) fn take_result(&mut self, call: &str) -> Option<Event> {
        self.results.remove(call)
    }
}

impl Tail {
    /// The whole lines that were written since.
    fn read(&mut self) -> io::Result<Vec<u8>> {
        use std::os::unix::fs::MetadataExt as _;
        let mut file = File::open(&self.path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Ok(Vec::new());
        }
        let inode = (found.dev(), found.ino());
        let is_other = self.file.replace(inode).is_some_and(|file| file != inode);
        if is_other || found.len() < self.offset {
            self.offset = 0;
        }
        if found.len() == self.offset {
            return Ok(Vec::new());
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes)?;
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        if whole == 0 && bytes.len() as u64 == MOST {
            self.offset += MOST;
        }
        bytes.truncate(whole);
        self.offset += whole as u64;
        Ok(bytes)
    }
}
