//! Secrets: what counts as one on this machine, which there are on a tape, and the tape
//! without them.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Debugger;
use crate::effects::{ConfigError, Declarations};
use crate::model::{Seq, StepNumber, Tell};
pub use crate::redact::Rules as SecretRules;
use crate::redact::{Redactor, RuleError, Rules};
use crate::tape;
pub use crate::tape::{RedactError, Redacted, Redacting};

/// What is taken out cannot be said.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// A rule cannot be used.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The key that placeholders are known by cannot be read or made.
    #[error("{}: {source}", path.display())]
    Key {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Where it is said what is a secret, for those who may have to know and mostly do not: nothing
/// is read before it is asked for.
#[derive(Clone)]
pub struct SecretSource {
    /// The user's configuration, which need not be there.
    pub configuration: Option<PathBuf>,
    /// The variables of the environment.
    pub variables: Vec<(OsString, OsString)>,
    /// The user's state directory.
    pub state: Option<PathBuf>,
}

impl fmt::Debug for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretSource")
            .field("configuration", &self.configuration)
            .field("variables", &self.variables.len())
            .field("state", &self.state)
            .finish()
    }
}

impl SecretSource {
    /// What is taken out. A configuration of the workspace is refused.
    pub fn redacting(&self, workspace: Option<&Path>) -> Result<Redacting, SecretsError> {
        let declared = self.declared(workspace)?;
        redacting(declared.secrets(), &self.variables, self.state.as_deref())
    }

    /// The same, for what is no tape and needs no key.
    pub fn redactor(&self, workspace: Option<&Path>) -> Result<Arc<Redactor>, SecretsError> {
        redactor(self.declared(workspace)?.secrets(), &self.variables)
    }

    fn declared(&self, workspace: Option<&Path>) -> Result<Declarations, SecretsError> {
        let mut declared = match &self.configuration {
            Some(file) => Declarations::read_if_there(file)?,
            None => Declarations::default(),
        };
        if let Some(workspace) = workspace {
            declared = declared.keep_out_of(workspace)?;
        }
        Ok(declared)
    }
}

/// What recorders take out: the built-in shapes, what the user declared, and the values of
/// variables that are named like secrets. The key lies in the user's state directory, and is
/// made where there is none; without a directory, it is forgotten with the process.
pub fn redacting(
    declared: &Rules,
    variables: &[(OsString, OsString)],
    state: Option<&Path>,
) -> Result<Redacting, SecretsError> {
    let redactor = redactor(declared, variables)?;
    let key = match state {
        Some(state) => {
            let path = state.join("redact.key");
            kept_key(&path).map_err(|source| SecretsError::Key { path, source })?
        }
        None => new_key().map_err(|source| SecretsError::Key {
            path: RANDOM.into(),
            source,
        })?,
    };
    Ok(Redacting { redactor, key })
}

/// The same, for what is no tape and needs no key.
pub fn redactor(
    declared: &Rules,
    variables: &[(OsString, OsString)],
) -> Result<Arc<Redactor>, SecretsError> {
    Ok(Arc::new(Redactor::new(&rules(declared, variables))?))
}

fn rules(declared: &Rules, variables: &[(OsString, OsString)]) -> Rules {
    let mut rules = declared.clone();
    rules.known.extend(rules.secrets_among(variables));
    rules
}

/// Where the system gives what nobody can guess.
const RANDOM: &str = "/dev/urandom";

fn new_key() -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    File::open(RANDOM)?.read_exact(&mut key)?;
    Ok(key)
}

fn kept_key(path: &Path) -> io::Result<[u8; 32]> {
    match read_key(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read,
    }
    if let Some(above) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(above)?;
    }
    // Whole before it has its name: another process may make one at the same time.
    let above = path.parent().unwrap_or(Path::new("."));
    let mut part = tempfile::Builder::new()
        .prefix("redact")
        .tempfile_in(above)?;
    part.write_all(&new_key()?)?;
    match part.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => read_key(path),
    }
}

fn read_key(path: &Path) -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    let mut file = File::open(path)?;
    file.read_exact(&mut key)?;
    Ok(key)
}

/// A secret on a tape: where it stands and what it is, and not what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakRow {
    /// The number of its event.
    pub seq: Seq,
    /// The step that the event belongs to.
    pub step: Option<StepNumber>,
    /// In which field, in words.
    pub field: &'static str,
    /// What sort of secret, in words.
    pub kind: String,
}

impl Debugger {
    /// Finds the secrets on the tape; whether it came to the end. Costs a read of all of it.
    pub fn find_secrets(
        &self,
        redacting: &Redacting,
        tell: &mut Tell<'_>,
        found: &mut dyn FnMut(LeakRow),
    ) -> io::Result<bool> {
        tape::find_leaks(&self.tape, redacting, tell, &mut |place| {
            let index = &self.tape.index;
            let step = index
                .events
                .get(place.position)
                .and_then(|event| event.step);
            found(LeakRow {
                seq: place.seq,
                step: step.and_then(|step| index.number_of(step)),
                field: place.leak.field,
                kind: place.leak.kind.to_string(),
            });
        })
    }

    /// Writes the tape without its secrets to a new file. The old one is left alone. Costs
    /// several passes over both. A break of `tell` leaves nothing behind.
    pub fn redact(
        &self,
        out: &Path,
        redacting: &Redacting,
        tell: &mut Tell<'_>,
    ) -> Result<Redacted, RedactError> {
        tape::redact(&self.tape, out, redacting, &self.fork_points(), tell)
    }
}
