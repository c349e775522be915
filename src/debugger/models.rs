//! Models for a command that is recorded: real ones, or what a tape says that they said.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use serde_json::{Map, Value};

pub use crate::models::{
    AddressError, Api, Divergence, RecordedError, Report as ModelReport, Upstream, VolatileParts,
};
use crate::models::{Recorded, Server, Source};
use crate::tape::Tape;

/// Parts of a request that say who asks and not what is asked: of another run they are others.
const WHO_ASKS: [&str; 4] = [
    "/metadata/user_id",
    "/prompt_cache_key",
    "/safety_identifier",
    "/user",
];

/// Under this name a header lists the parts of requests that do not count.
const VOLATILE: &str = "volatile";

/// What a command has to talk to.
#[derive(Clone, Debug)]
pub struct Models {
    /// Who answers.
    pub from: ModelsFrom,
    /// Parts of requests that differ from run to run by themselves, as JSON Pointer names them;
    /// `*` is any name or number. Those that the tape lists are added.
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
    /// A volatile part has no name.
    #[error("a part of a request begins with `/`, as in `/metadata/user_id`")]
    Volatile,
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
    /// Reads the tape, if one answers. Nothing is connected to.
    pub(super) fn prepare(&self) -> Result<Prepared, ModelsError> {
        let mut paths = self.volatile.clone();
        paths.extend(WHO_ASKS.map(str::to_owned));
        let (source, said) = match &self.from {
            ModelsFrom::Endpoints(upstreams) => {
                let address = |it: &Upstream| format!("{} at {}", it.api().as_str(), it.address());
                let addresses: Vec<String> = upstreams.iter().map(address).collect();
                let said = format!(
                    "recorded: {}; nothing else is reached",
                    addresses.join(", ")
                );
                (Source::Endpoints(upstreams.clone()), said)
            }
            ModelsFrom::Tape(path) => {
                let broken = |source| ModelsError::Tape {
                    path: path.clone(),
                    source,
                };
                let tape = Tape::open(path, &mut ()).map_err(|source| ModelsError::Open {
                    path: path.clone(),
                    source,
                })?;
                let header = tape.header().map_err(|error| broken(error.into()))?;
                let listed = header.covers.get(VOLATILE).and_then(Value::as_array);
                let listed = listed.into_iter().flatten().filter_map(Value::as_str);
                paths.extend(listed.map(str::to_owned));
                let volatile = VolatileParts::new(&paths).ok_or(ModelsError::Volatile)?;
                let recorded = Recorded::read(&tape, volatile).map_err(broken)?;
                let said = format!("answered from the tape {}; nothing is reached", header.id);
                (Source::Tape(recorded), said)
            }
        };
        VolatileParts::new(&paths).ok_or(ModelsError::Volatile)?;
        paths.sort();
        paths.dedup();
        let mut covers = Map::new();
        covers.insert("models".to_owned(), said.into());
        covers.insert(VOLATILE.to_owned(), paths.into());
        Ok(Prepared { source, covers })
    }
}

impl Prepared {
    /// Begins to serve, and tells the command where.
    pub(super) fn serve(
        self,
        listener: OwnedFd,
        environment: &mut Vec<(OsString, OsString)>,
    ) -> Result<Server, ModelsError> {
        let server = Server::start(listener, self.source).map_err(ModelsError::Server)?;
        for api in Api::ALL {
            environment.retain(|(name, _)| name != api.variable());
            environment.push((api.variable().into(), server.address(api).into()));
        }
        Ok(server)
    }
}
