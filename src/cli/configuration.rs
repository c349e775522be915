//! Which `jukebox.toml` is read: the one that was named, or the user's own. Never one in a
//! workspace or beside a tape.

use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::failure::Failure;
use crate::debugger::Declarations;

/// The configuration.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ConfigArgs {
    /// The configuration, in the place of jukebox/jukebox.toml in the user's configuration
    /// directory
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    /// What the user declared of effects. One of the workspace is refused.
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
