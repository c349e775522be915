//! Models for a command that is recorded: real ones, or what a tape says that they said.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::model::{Header, ModelBlock};
pub use crate::models::{
    AddressError, Api, Divergence, Link as StreamLink, LinkError as StreamLinkError, LinkMode,
    RecordedError, Report as ModelReport, StreamsReport, Upstream,
};
use crate::models::{Recorded, Server, Source};
use crate::replay::request::{UnknownPart, VolatileParts};
use crate::tape::Tape;

/// Parts of a request that say who asks and not what is asked: of another run they are others.
const WHO_ASKS: [&str; 4] = [
    "/metadata/user_id",
    "/prompt_cache_key",
    "/safety_identifier",
    "/user",
];

/// Under this name a header says who answered as a model.
pub(super) const MODELS: &str = "models";

/// Under this name a header lists the parts of requests that do not count.
const VOLATILE: &str = "volatile";

/// The variable that tells a command where its streams are recorded, or answered from a tape.
pub const STREAMS: &str = "JUKEBOX_STREAMS";

/// What a command has to talk to.
#[derive(Clone, Debug)]
pub struct Models {
    /// Who answers.
    pub from: ModelsFrom,
    /// Parts of requests that differ from run to run by themselves, as [`VolatileParts`] names
    /// them. Those that the tape lists are added.
    pub volatile: Vec<String>,
}

/// Who answers.
#[derive(Clone, Debug)]
pub enum ModelsFrom {
    /// Real endpoints, and nobody else.
    Endpoints(Vec<Upstream>),
    /// A tape, and nobody else.
    Tape(PathBuf),
}

/// A run whose model says something else once.
#[derive(Clone, Debug)]
pub(super) struct OtherAnswer<'a> {
    /// The call of the model's turn.
    pub(super) call: &'a str,
    /// What it says.
    pub(super) blocks: &'a [ModelBlock],
    /// Real endpoints behind it; without one, nobody answers there.
    pub(super) live: Vec<Upstream>,
}

/// A command cannot be given models.
#[derive(Debug, thiserror::Error)]
pub enum ModelsError {
    /// The tape cannot be opened.
    #[error("`{}`: {source}", path.display())]
    Open {
        /// The tape.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No request can be answered from the tape.
    #[error("`{}`: {source}", path.display())]
    Tape {
        /// The tape.
        path: PathBuf,
        /// Why.
        source: RecordedError,
    },
    /// What may differ is not named right.
    #[error(transparent)]
    Volatile(#[from] UnknownPart),
    /// The server cannot be started.
    #[error("the server for models could not be started: {0}")]
    Server(io::Error),
}

/// All that must be known before anything is run.
#[derive(Debug)]
pub(super) struct Prepared {
    source: Source,
    /// What the header of the command's tape says of it.
    pub(super) covers: Map<String, Value>,
}

impl Models {
    /// Reads the tape, if one answers. Nothing is connected to. `workspace` is where the
    /// command sees its files.
    pub(super) fn prepare(&self, workspace: &Path) -> Result<Prepared, ModelsError> {
        match &self.from {
            ModelsFrom::Endpoints(upstreams) => {
                let parts = parts(None, &self.volatile);
                VolatileParts::read(parts.iter().map(String::as_str), None, None)?;
                let said = format!("recorded: {}; nothing else is reached", told(upstreams));
                let source = Source::Endpoints(upstreams.clone());
                Ok(Prepared::new(source, said, parts))
            }
            ModelsFrom::Tape(path) => {
                let tape = Tape::open(path, &mut ()).map_err(|source| ModelsError::Open {
                    path: path.clone(),
                    source,
                })?;
                let (recorded, header, parts) = recorded(&tape, path, &self.volatile, workspace)?;
                let said = format!("answered from the tape {}; nothing is reached", header.id);
                Ok(Prepared::new(Source::Tape(recorded), said, parts))
            }
        }
    }
}

/// The exchanges of a tape, its header, and the parts of requests that do not count.
fn recorded(
    tape: &Tape,
    path: &Path,
    named: &[String],
    workspace: &Path,
) -> Result<(Recorded, Header, Vec<String>), ModelsError> {
    let broken = |source| ModelsError::Tape {
        path: path.to_owned(),
        source,
    };
    let header = tape.header().map_err(|error| broken(error.into()))?;
    let parts = parts(Some(&header), named);
    let words = parts.iter().map(String::as_str);
    let workspace = workspace.to_string_lossy();
    let volatile = VolatileParts::read(words, header.root.as_deref(), Some(&workspace))?;
    let recorded = Recorded::read(tape, volatile).map_err(broken)?;
    Ok((recorded, header, parts))
}

/// The parts of requests that do not count: those that are named, those that a tape lists,
/// and what says who asks.
fn parts(header: Option<&Header>, named: &[String]) -> Vec<String> {
    let listed = header.and_then(|header| header.covers.get(VOLATILE)?.as_array());
    let listed = listed.into_iter().flatten().filter_map(Value::as_str);
    let mut parts: Vec<String> = WHO_ASKS
        .into_iter()
        .chain(listed)
        .map(str::to_owned)
        .collect();
    parts.extend(named.iter().cloned());
    parts.sort();
    parts.dedup();
    parts
}

/// Which endpoints these are.
fn told(upstreams: &[Upstream]) -> String {
    let address = |it: &Upstream| format!("{} at {}", it.api().as_str(), it.address());
    let addresses: Vec<String> = upstreams.iter().map(address).collect();
    addresses.join(", ")
}

impl Prepared {
    /// The same for a fork of a run, whose agent goes through it again.
    pub(super) fn fork(
        (tape, path): (&Tape, &Path),
        other: OtherAnswer<'_>,
        volatile: &[String],
        workspace: &Path,
    ) -> Result<Self, ModelsError> {
        let (recorded, header, parts) = recorded(tape, path, volatile, workspace)?;
        let recorded = recorded.fork(other.call, other.blocks);
        let recorded = recorded.map_err(|source| ModelsError::Tape {
            path: path.to_owned(),
            source,
        })?;
        let behind = match other.live.as_slice() {
            [] => "nobody; nothing is reached".to_owned(),
            live => format!("{}; nothing else is reached", told(live)),
        };
        let id = header.id;
        let said = format!("answered from the tape {id} up to the edit, behind it by {behind}");
        Ok(Self::new(Source::Fork(recorded, other.live), said, parts))
    }

    fn new(source: Source, said: String, parts: Vec<String>) -> Self {
        let mut covers = Map::new();
        covers.insert(MODELS.to_owned(), said.into());
        covers.insert(VOLATILE.to_owned(), parts.into());
        Self { source, covers }
    }

    /// Begins to serve, and tells the command where.
    pub(super) fn serve(
        self,
        listener: OwnedFd,
        environment: &mut Vec<(OsString, OsString)>,
    ) -> Result<Server, ModelsError> {
        let server = Server::start(listener, self.source).map_err(ModelsError::Server)?;
        environment.retain(|(name, _)| name != STREAMS);
        environment.push((STREAMS.into(), server.streams().into()));
        for api in Api::ALL {
            environment.retain(|(name, _)| name != api.variable());
            environment.push((api.variable().into(), server.address(api).into()));
        }
        Ok(server)
    }
}
