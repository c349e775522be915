//! Where what is declared stands, and what commands find around them: for a process that makes
//! effects on behalf of another one.

use std::ffi::OsString;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{ConfigError, Declarations};

/// Where what is declared stands, and the variables of commands.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Surroundings {
    /// The configuration.
    pub configuration: Option<OsString>,
    /// The user named it: then it must be there.
    pub is_named: bool,
    /// The variables of commands.
    pub variables: Vec<(OsString, OsString)>,
}

impl Surroundings {
    /// What is declared now. A configuration in the workspace is refused.
    pub fn declarations(&self, workspace: &Path) -> Result<Declarations, ConfigError> {
        let declarations = match &self.configuration {
            None => Declarations::default(),
            Some(file) if self.is_named => Declarations::read(Path::new(file))?,
            Some(file) => Declarations::read_if_there(Path::new(file))?,
        };
        declarations.keep_out_of(workspace)
    }
}
