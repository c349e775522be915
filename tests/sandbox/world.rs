//! A workspace to run commands in, and what they said.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jukebox::sandbox::{
    Backend, Command, Config, Exit, Policy, Said, Sandbox, SandboxError, Status, Stream,
};
use tempfile::TempDir;

use super::who;

/// A directory with a workspace and a home in it.
pub(crate) struct World {
    place: TempDir,
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: Exit,
    pub(crate) output: Vec<u8>,
    pub(crate) error: Vec<u8>,
}

impl World {
    /// A workspace with these files; a name that ends in `/` is a directory.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::at("workspace", files)
    }

    /// The same, with another name.
    pub(crate) fn at(name: &str, files: &[(&str, &str)]) -> Self {
        let place = tempfile::Builder::new()
            .prefix("sandbox-")
            .tempdir()
            .unwrap();
        // So that the way to the workspace is the same wherever temporary files lie.
        let world = Self { place };
        fs::create_dir_all(world.place.path().join("home")).unwrap();
        let workspace = world.place.path().join(name);
        write_files(&workspace, files);
        world
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        let mut names = fs::read_dir(self.place.path()).unwrap();
        let is_workspace = |path: &PathBuf| !path.ends_with("home") && !path.ends_with("more");
        names
            .find_map(|entry| Some(entry.unwrap().path()).filter(is_workspace))
            .unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    pub(crate) fn config(&self, backend: Backend) -> Config {
        Config {
            workspace: self.workspace(),
            seen_at: None,
            helper: who::program(),
            backend,
            layers: None,
            policy: Policy::for_home(Some(&self.home())),
        }
    }

    pub(crate) fn start(&self) -> Sandbox {
        Sandbox::start(&self.config(Backend::Overlay)).unwrap()
    }
}

/// Makes a directory with these files.
pub(crate) fn write_files(directory: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(directory).unwrap();
    for (name, text) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::write(path, text).unwrap();
        }
    }
}

/// A shell's command.
pub(crate) fn shell(script: &str) -> Command {
    let mut command = Command::new(["/bin/sh", "-c", script]);
    command.environment = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    command
}

/// Runs a command and keeps what it said.
pub(crate) fn run(sandbox: &mut Sandbox, command: &Command) -> Result<Ran, SandboxError> {
    let (mut output, mut error) = (Vec::new(), Vec::new());
    let exit = sandbox.exec(command, &mut |said| {
        match said {
            Said::Bytes(Stream::Output, bytes) => output.extend_from_slice(bytes),
            Said::Bytes(Stream::Error, bytes) => error.extend_from_slice(bytes),
            Said::Nothing => {}
        }
        ControlFlow::Continue(())
    })?;
    Ok(Ran {
        exit,
        output,
        error,
    })
}

/// Runs a script that must end well; what it said.
#[track_caller]
pub(crate) fn say(sandbox: &mut Sandbox, script: &str) -> String {
    let mut command = shell(script);
    command.timeout = Some(Duration::from_mins(1));
    let ran = run(sandbox, &command).unwrap();
    let error = String::from_utf8_lossy(&ran.error);
    assert_eq!(ran.exit.status, Status::Code(0), "{script}\n{error}");
    String::from_utf8(ran.output).unwrap()
}
