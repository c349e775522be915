//! Which `jukebox.toml` is read: the one that was named, or the user's own. Never one in a
//! workspace or beside a tape.

use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::failure::Failure;
use crate::debugger::{self, Declarations, Redacting, Surroundings};

/// The configuration.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ConfigArgs {
    /// The configuration, in the place of jukebox/jukebox.toml in the user's configuration
    /// directory
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    /// What effects find around them that somebody else makes for this command.
    pub(super) fn surroundings(&self, around: &Environment) -> Result<Surroundings, Failure> {
        let named = match &self.config {
            Some(file) => Some(std::path::absolute(file)?),
            None => None,
        };
        let is_named = named.is_some();
        let file = named.or_else(|| around.configuration.clone());
        Ok(Surroundings {
            configuration: file.map(PathBuf::into_os_string),
            is_named,
            variables: around.variables.clone(),
        })
    }

    /// What counts as a secret here: what the user declared, and what variables are named
    /// like one. A configuration of the workspace is refused.
    pub(super) fn redacting(
        &self,
        around: &Environment,
        workspace: Option<&Path>,
    ) -> Result<Redacting, Failure> {
        self.redacting_too(around, workspace, None)
    }

    /// The same, and this key.
    pub(super) fn redacting_too(
        &self,
        around: &Environment,
        workspace: Option<&Path>,
        key: Option<&str>,
    ) -> Result<Redacting, Failure> {
        let declared = self.read(around, workspace)?;
        let state = around.places.state.as_deref();
        let mut secrets = declared.secrets().clone();
        let known = key.map(|key| key.as_bytes().to_vec());
        secrets.known.extend(known);
        Ok(debugger::redacting(&secrets, &around.variables, state)?)
    }

    /// What the user declared. One of the workspace is refused.
    pub(super) fn read(
        &self,
        around: &Environment,
        workspace: Option<&Path>,
    ) -> Result<Declarations, Failure> {
        let declarations = match (&self.config, &around.configuration) {
            (Some(file), _) => Declarations::read(file)?,
            (None, Some(file)) => Declarations::read_if_there(file)?,
            (None, None) => Declarations::default(),
        };
        match workspace {
            Some(workspace) => Ok(declarations.keep_out_of(workspace)?),
            None => Ok(declarations),
        }
    }
}
