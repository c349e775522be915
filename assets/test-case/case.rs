//! Makes the recorded call beside this file again. It passes only if the call succeeds now.
//!
//! JUKEBOX names the program, JUKEBOX_WITH a directory of sources that are laid over the files,
//! JUKEBOX_CASE this directory, where it is not found by itself.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_recorded_call_succeeds() {
    let here = env::var_os("JUKEBOX_CASE").map(PathBuf::from);
    let here = here.unwrap_or_else(|| {
        let beside = Path::new(file!()).parent().unwrap();
        Path::new(option_env!("CARGO_MANIFEST_DIR").unwrap_or(".")).join(beside)
    });
    let program = env::var_os("JUKEBOX").unwrap_or_else(|| "jukebox".into());
    let mut command = Command::new(program);
    command.arg("test").arg(here);
    if let Some(sources) = env::var_os("JUKEBOX_WITH") {
        command.arg("--with").arg(sources);
    }
    let run = command.output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    let error = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{}{}", said, error);
}
