//! A transcript and its sub-agents' files as one stream of lines.
//!
//! Each file keeps its own order. Between files the timestamps decide, within what the calls
//! allow: an agent's lines stand behind the call that started it, and before its result.

use super::importer::Importer;
use super::record::Record;
use super::survey::{AgentFile, BLOCK, SMALL_BLOCK, Survey};
use super::{ImportError, Options, Transcript};
use crate::import::lines::{Line, Lines};
use crate::import::report::Report;
use crate::import::sink::EventSink;
use crate::model::{Progress, Tell, WallTime};

/// Bytes between two words about how far the import has come.
const STEP: u64 = 1 << 18;

type Done<S> = Result<(), ImportError<<S as EventSink>::Error>>;

/// Imports all lines of all files.
pub(super) fn run<S: EventSink>(
    transcript: Transcript<'_>,
    survey: &Survey,
    options: &Options,
    sink: S,
    tell: &mut Tell<'_>,
) -> Result<(Report, S), ImportError<S::Error>> {
    let importer = Importer::begin(survey, options.clone(), sink);
    let agents = survey.agents.iter().map(Source::waiting).collect();
    let mut merge = Merge {
        survey,
        importer,
        agents,
    };
    let failed = |source| ImportError::Read {
        name: transcript.name(),
        source,
    };
    let mut lines = Lines::of(transcript.file().map_err(failed)?, BLOCK);
    let mut time = None;
    let mut told = 0;
    while let Some(line) = lines.next().map_err(failed)? {
        let done = line.offset;
        if done >= told + STEP {
            told = done;
            if tell(Progress::bytes(done, survey.bytes)).is_break() {
                return Err(ImportError::Stopped);
            }
        }
        merge.before(None, &line, &mut time)?;
        merge.importer.push_line(line).map_err(ImportError::Write)?;
    }
    merge.drain_before(None)?;
    merge.importer.finish().map_err(ImportError::Write)
}

struct Merge<'a, S> {
    survey: &'a Survey,
    importer: Importer<S>,
    agents: Vec<Source<'a>>,
}

/// A sub-agent's file.
struct Source<'a> {
    file: &'a AgentFile,
    state: State,
    /// The time of its next line; a line without one follows the line before.
    time: Option<WallTime>,
}

enum State {
    /// Not opened yet: there may be hundreds.
    Waiting,
    /// Its current line is the next one.
    Open(Lines),
    Over,
}

impl<S: EventSink> Merge<'_, S> {
    /// Before a line is pushed: what ends with it, and what is older, comes first.
    fn before(
        &mut self,
        file: Option<usize>,
        line: &Line<'_>,
        time: &mut Option<WallTime>,
    ) -> Done<S> {
        let ends = self.survey.ends.get(&(file, line.number));
        for agent in ends.into_iter().flatten() {
            while self.push_next(*agent)? {}
        }
        let has_more = self
            .agents
            .iter()
            .any(|agent| !matches!(agent.state, State::Over));
        if file.is_none() && has_more {
            *time = time_of(line.bytes).or(*time);
            if time.is_some() {
                self.drain_before(*time)?;
            }
        }
        Ok(())
    }

    /// Pushes the agents' lines that are older than this; with `None` all.
    fn drain_before(&mut self, limit: Option<WallTime>) -> Done<S> {
        while let Some(agent) = self.oldest(limit) {
            self.push_next(agent)?;
        }
        Ok(())
    }

    /// The agent whose next line is the oldest, if it may be pushed.
    fn oldest(&self, limit: Option<WallTime>) -> Option<usize> {
        let agents = self.agents.iter().enumerate();
        let ready = agents.filter(|(_, agent)| match &agent.state {
            State::Over => false,
            State::Open(_) => true,
            // An agent begins behind its call. At the end of all, it begins in any case.
            State::Waiting => {
                let call = agent.file.call.as_deref();
                limit.is_none() || call.is_none_or(|call| self.importer.has_open_call(call))
            }
        });
        let older = ready.filter(|(_, agent)| limit.is_none() || agent.time < limit);
        older.min_by_key(|(_, agent)| agent.time).map(|(at, _)| at)
    }

    /// Pushes an agent's next line; false when there is none.
    fn push_next(&mut self, number: usize) -> Result<bool, ImportError<S::Error>> {
        let Some(source) = self.agents.get_mut(number) else {
            return Ok(false);
        };
        let file = source.file;
        let failed = |source| ImportError::Read {
            name: file.path.display().to_string(),
            source,
        };
        let mut lines = match std::mem::replace(&mut source.state, State::Over) {
            State::Over => return Ok(false),
            State::Open(lines) => lines,
            State::Waiting => {
                let mut lines = Lines::open(&file.path, SMALL_BLOCK).map_err(failed)?;
                lines.advance().map_err(failed)?;
                lines
            }
        };
        let Some(line) = lines.current() else {
            self.importer
                .end_agent(&file.id)
                .map_err(ImportError::Write)?;
            return Ok(false);
        };
        // An agent may itself have started agents, which end within its own lines.
        self.before(Some(number), &line, &mut None)?;
        self.importer
            .push_agent_line(&file.id, line)
            .map_err(ImportError::Write)?;
        let has_more = lines.advance().map_err(failed)?;
        let next = lines.current().and_then(|line| time_of(line.bytes));
        if let Some(source) = self.agents.get_mut(number) {
            source.time = next.max(source.time);
            source.state = State::Open(lines);
        }
        Ok(has_more)
    }
}

impl<'a> Source<'a> {
    fn waiting(file: &'a AgentFile) -> Self {
        Self {
            file,
            state: State::Waiting,
            time: file.started,
        }
    }
}

/// The time of the record on a line.
fn time_of(line: &[u8]) -> Option<WallTime> {
    let text = std::str::from_utf8(line).ok()?;
    let mut records = serde_json::Deserializer::from_str(text).into_iter::<Record<'_>>();
    let record = records.next()?.ok()?;
    record.timestamp.get().and_then(WallTime::parse)
}
