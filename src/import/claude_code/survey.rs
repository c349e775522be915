//! A first pass over a transcript and what lies beside it, before any event is written.
//!
//! It finds what the header says (the hash, the root, the version), the sub-agents' files in
//! each of the three layouts, and which call started which agent. It holds one line at a
//! time and parses as few as it can.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::beside::Beside;
use super::record::{Block, Message, Record, Returned};
use super::{FORMAT, GIT_BRANCH, IMPORTER_VERSION, Options, Transcript};
use crate::import::lines::Lines;
use crate::model::{BlobHash, Header, Progress, Tell, WallTime};

/// How much of a file is read at once: so little that it stays in the cache of the processor,
/// where it is hashed and looked through.
pub(super) const BLOCK: usize = 1 << 18;
/// The same for a sub-agent's file: there may be hundreds.
pub(super) const SMALL_BLOCK: usize = 1 << 16;
/// So many bytes are looked through between two tellings of how far it came.
const TOLD: u64 = 1 << 20;

/// What is known of a transcript before it is imported.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The name of the file, without its directory.
    pub name: String,
    /// The hash of its bytes.
    pub hash: BlobHash,
    /// How many there are.
    pub bytes: u64,
    /// The working directory of its first record that has one.
    pub root: Option<String>,
    /// The program's version in its first record that has one.
    pub version: Option<String>,
    /// The git branch in its first record that has one.
    pub branch: Option<String>,
    /// The time of its first record that has one.
    pub started: Option<WallTime>,
    pub(super) agents: Vec<AgentFile>,
    pub(super) beside: Beside,
    /// The agents that a result ends, by the place of the result: whose file (`None` is
    /// the transcript itself), and the line.
    pub(super) ends: HashMap<(Option<usize>, u64), Vec<usize>>,
}

/// A sub-agent's own file.
#[derive(Clone, Debug)]
pub(super) struct AgentFile {
    pub(super) id: String,
    pub(super) path: PathBuf,
    hash: BlobHash,
    /// The call that started it, where a result names it.
    pub(super) call: Option<String>,
    pub(super) started: Option<WallTime>,
}

impl Survey {
    /// Looks at a transcript and at what lies beside it. A break of `tell` ends it early:
    /// what was surveyed by then is of no use.
    pub fn of(
        transcript: Transcript<'_>,
        options: &Options,
        tell: &mut Tell<'_>,
    ) -> io::Result<Self> {
        let file = transcript.file()?;
        let of = file.metadata()?.len();
        let main = Pass::over(file, BLOCK, &mut |done| tell(Progress::bytes(done, of)))?;
        let session = main.session.as_deref();
        let history = options.file_history.as_deref();
        let agents = transcript.path().map(|path| agent_files(path, &main));
        let mut survey = Self {
            name: transcript.name(),
            hash: main.hash,
            bytes: main.bytes,
            root: main.root.clone(),
            version: main.version.clone(),
            branch: main.branch.clone(),
            started: main.started,
            agents: Vec::new(),
            beside: Beside::of(transcript.path(), session, history),
            ends: HashMap::new(),
        };
        let mut passes = vec![(None, main)];
        for (id, path) in agents.unwrap_or_default() {
            // A file that vanishes or cannot be read is a sub-agent without a log.
            // Together they are told as what the transcript was.
            let pass = File::open(&path).and_then(|file| {
                Pass::over(file, SMALL_BLOCK, &mut |_| tell(Progress::bytes(of, of)))
            });
            let Ok(pass) = pass else {
                continue;
            };
            let number = survey.agents.len();
            survey.agents.push(AgentFile {
                id,
                path,
                hash: pass.hash,
                call: None,
                started: pass.started,
            });
            passes.push((Some(number), pass));
        }
        let by_id: HashMap<String, usize> = survey
            .agents
            .iter()
            .enumerate()
            .map(|(number, agent)| (agent.id.clone(), number))
            .collect();
        for (file, pass) in passes {
            for ended in pass.ended {
                let Some(number) = by_id.get(&ended.agent).copied() else {
                    continue;
                };
                if let Some(agent) = survey.agents.get_mut(number) {
                    agent.call.get_or_insert(ended.call);
                }
                if !ended.is_launched {
                    survey
                        .ends
                        .entry((file, ended.line))
                        .or_default()
                        .push(number);
                }
            }
        }
        Ok(survey)
    }

    /// The header of the tape.
    pub fn header(&self) -> Header {
        let covers = [
            ("edits", "exact"),
            (
                "shell",
                "not recorded; read from its text where that is plain, suspected otherwise",
            ),
            ("reads", "as evidence"),
            ("line endings", "as the tools show them"),
            ("modes", "not recorded"),
        ];
        let covers = covers.map(|(what, how)| (what.to_owned(), Value::from(how)));
        let source = [
            ("format", Value::from(FORMAT)),
            ("name", Value::from(self.name.clone())),
            ("blake3", Value::from(self.hash.to_string())),
            ("bytes", Value::from(self.bytes)),
        ];
        let source = source.map(|(what, value)| (what.to_owned(), value));
        let branch = self.branch.clone();
        let branch = branch.map(|name| (GIT_BRANCH.to_owned(), Value::from(name)));
        let version = self.version.as_deref().unwrap_or_default();
        Header {
            format: 1,
            id: self.id(),
            started: self.started,
            agent: Some(format!("{FORMAT} {version}").trim_end().to_owned()),
            root: self.root.clone(),
            recorder: None,
            covers: Map::from_iter(covers),
            parent: None,
            edit: None,
            source: source.into_iter().chain(branch).collect(),
        }
    }

    /// The id of the tape: the same for the same bytes of all files, and the same importer.
    fn id(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.hash.as_bytes());
        for agent in &self.agents {
            hasher.update(agent.hash.as_bytes());
        }
        hasher.update(IMPORTER_VERSION.as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(hasher.finalize().as_bytes().split_at(16).0);
        uuid::Builder::from_custom_bytes(bytes)
            .into_uuid()
            .to_string()
    }
}

/// What one pass over a file finds.
struct Pass {
    hash: BlobHash,
    bytes: u64,
    root: Option<String>,
    version: Option<String>,
    branch: Option<String>,
    started: Option<WallTime>,
    session: Option<String>,
    /// Results that name the agent that a call started.
    ended: Vec<Ended>,
}

struct Ended {
    line: u64,
    call: String,
    agent: String,
    is_launched: bool,
}

/// A file that is hashed as it is read: in whole blocks, several times as fast as by lines.
struct Hashed {
    file: File,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        self.bytes += count as u64;
        Ok(count)
    }
}

impl Pass {
    fn over(
        file: File,
        block: usize,
        tell: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> io::Result<Self> {
        let mut told = 0;
        let mut lines = Lines::of(
            Hashed {
                file,
                hasher: blake3::Hasher::new(),
                bytes: 0,
            },
            block,
        );
        let mut pass = Self {
            hash: BlobHash::of(b""),
            bytes: 0,
            root: None,
            version: None,
            branch: None,
            started: None,
            session: None,
            ended: Vec::new(),
        };
        while lines.advance()? {
            let read = lines.source().bytes;
            if read >= told + TOLD {
                told = read;
                if tell(told).is_break() {
                    break;
                }
            }
            if let Some(line) = lines.current() {
                pass.look(line.number, line.bytes);
            }
        }
        let Hashed { hasher, bytes, .. } = lines.source();
        pass.hash = BlobHash::from_digest(*hasher.finalize().as_bytes());
        pass.bytes = *bytes;
        Ok(pass)
    }

    fn look(&mut self, number: u64, line: &[u8]) {
        let has = |text: &[u8]| memchr::memmem::find(line, text).is_some();
        let is_complete = self.root.is_some()
            && self.version.is_some()
            && self.started.is_some()
            && self.session.is_some();
        /// Beyond these lines, what was not found is not looked for any more.
        const EARLY: u64 = 256;
        let is_early = !is_complete && number <= EARLY;
        let is_end = has(b"\"agentId\"") && has(b"\"toolUseResult\"");
        if !is_early && !is_end {
            return;
        }
        let text = String::from_utf8_lossy(line);
        let stream = serde_json::Deserializer::from_str(&text).into_iter::<Record<'_>>();
        for record in stream.map_while(Result::ok) {
            let found = |known: &Option<String>, text: Option<&str>| {
                known.clone().or(text.map(str::to_owned))
            };
            self.root = found(&self.root, record.cwd.get());
            self.version = found(&self.version, record.version.get());
            let branch = record.git_branch.get().filter(|name| !name.is_empty());
            self.branch = found(&self.branch, branch);
            self.session = found(&self.session, record.session_id.get());
            let time = || record.timestamp.get().and_then(WallTime::parse);
            self.started = self.started.or_else(time);
            self.look_for_end(number, &record);
        }
    }

    fn look_for_end(&mut self, line: u64, record: &Record<'_>) {
        let returned: Returned<'_> = record.tool_use_result.read();
        let Some(agent) = returned.agent_id.get() else {
            return;
        };
        let message: Message<'_> = record.message.read();
        for item in message.content.items().unwrap_or_default() {
            let block: Block<'_> = item.read();
            if let Some(call) = block.tool_use_id.get() {
                self.ended.push(Ended {
                    line,
                    call: call.to_owned(),
                    agent: agent.to_owned(),
                    is_launched: returned.status.is("async_launched"),
                });
            }
        }
    }
}

/// The files of a transcript's sub-agents: beside it, or in a directory of its name.
fn agent_files(transcript: &Path, main: &Pass) -> Vec<(String, PathBuf)> {
    let directory = transcript.parent().unwrap_or_else(|| Path::new(""));
    let named: HashSet<&str> = main
        .ended
        .iter()
        .map(|ended| ended.agent.as_str())
        .collect();
    let mut found = Vec::new();
    // Beside it lie those of other sessions, too.
    for (id, path) in agents_in(directory) {
        let is_ours = || session_of(&path).is_some_and(|session| Some(session) == main.session);
        if path != transcript && (named.contains(id.as_str()) || is_ours()) {
            found.push((id, path));
        }
    }
    let stem = transcript.file_stem().and_then(|stem| stem.to_str());
    let mut folders: Vec<&str> = stem.into_iter().chain(main.session.as_deref()).collect();
    folders.retain(|name| !name.contains(['/', '\\']) && !matches!(*name, "." | ".."));
    folders.dedup();
    for folder in folders {
        let folder = directory.join(folder).join("subagents");
        found.extend(agents_in(&folder));
        let workflows = directories_in(&folder.join("workflows"));
        found.extend(workflows.iter().flat_map(|workflow| agents_in(workflow)));
    }
    let mut seen = HashSet::new();
    found.retain(|(id, _)| seen.insert(id.clone()));
    found
}

fn agents_in(directory: &Path) -> Vec<(String, PathBuf)> {
    let mut agents: Vec<(String, PathBuf)> = entries(directory)
        .into_iter()
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            let id = name.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
            Some((id.to_owned(), path.clone()))
        })
        .filter(|(_, path)| path.is_file())
        .collect();
    agents.sort();
    agents
}

fn directories_in(directory: &Path) -> Vec<PathBuf> {
    let mut directories = entries(directory);
    directories.retain(|path| path.is_dir());
    directories.sort();
    directories
}

/// What lies in a directory; nothing, if it cannot be read.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}

/// The session of a file's first record that has one.
fn session_of(path: &Path) -> Option<String> {
    /// A record without a session may come first.
    const LINES: usize = 8;
    let mut lines = Lines::open(path, SMALL_BLOCK).ok()?;
    for _ in 0..LINES {
        let line = lines.next().ok()??;
        let record = serde_json::from_slice::<Record<'_>>(line.bytes);
        if let Some(session) = record
            .ok()
            .and_then(|record| record.session_id.get().map(str::to_owned))
        {
            return Some(session);
        }
    }
    None
}
