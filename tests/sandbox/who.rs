//! Each test twice: as root, and as an ordinary user.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A user without an account, a home or a group with rights.
const NOBODY: u32 = 54_321;
/// Where the program is, for the user who cannot see the build directory.
const PROGRAM: &str = "JUKEBOX_TEST_PROGRAM";

/// Makes a test of each function, as root and as an ordinary user.
macro_rules! as_root_and_as_user {
    ($($name:ident),* $(,)?) => {
        mod as_root {
            $(#[test] fn $name() { crate::who::as_root(super::$name); })*
        }
        mod as_user {
            $(#[test] fn $name() {
                let path = concat!(module_path!(), "::", stringify!($name));
                crate::who::as_user(path, super::$name);
            })*
        }
    };
}
pub(crate) use as_root_and_as_user;

/// Runs a test as root.
pub(crate) fn as_root(test: fn()) {
    if is_root() {
        test();
    } else {
        println!("skipped: this is not run by root");
    }
}

/// Runs a test as an ordinary user: in this process, or, for root, in another one.
pub(crate) fn as_user(path: &str, test: fn()) {
    if !is_root() {
        return test();
    }
    let (_, path) = path.split_once("::").unwrap();
    let place = readable_programs();
    let output = Command::new(place.join("tests"))
        .args([path, "--exact", "--nocapture"])
        .env_clear()
        .env(PROGRAM, place.join("jukebox"))
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("1 passed"), "{said}");
}

/// The program under test.
pub(crate) fn program() -> PathBuf {
    let given: Option<OsString> = std::env::var_os(PROGRAM);
    given
        .unwrap_or_else(|| env!("CARGO_BIN_EXE_jukebox").into())
        .into()
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A directory that every user can read, with the program and its tests.
fn readable_programs() -> &'static Path {
    static PLACE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let place = PLACE.get_or_init(|| {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for (from, name) in [
            (std::env::current_exe().unwrap(), "tests"),
            (env!("CARGO_BIN_EXE_jukebox").into(), "jukebox"),
        ] {
            let to = place.path().join(name);
            if fs::hard_link(&from, &to).is_err() {
                fs::copy(&from, &to).unwrap();
            }
        }
        place
    });
    place.path()
}
