//! Each test twice: as root, and as an ordinary user.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

/// A user without an account, a home or a group with rights.
const NOBODY: u32 = 54_321;
/// Where the program is, for the user who cannot see the build directory.
const PROGRAM: &str = "JUKEBOX_TEST_PROGRAM";
/// A directory of that user that is neither a temporary one nor anybody's home.
const OUTSIDE: &str = "JUKEBOX_TEST_OUTSIDE";

/// Where a test finds what was mounted for it.
const MOUNTED: &str = "JUKEBOX_TEST_MOUNTED";

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
    if is_root() || mounted().is_some() {
        test();
    } else {
        println!("skipped: this is not run by root");
    }
}

/// Runs a test as an ordinary user: in this process, or, for root, in another one.
pub(crate) fn as_user(path: &str, test: fn()) {
    if !is_root() || mounted().is_some() {
        return test();
    }
    let (_, path) = path.split_once("::").unwrap();
    let place = readable_programs();
    let outside = outside();
    std::os::unix::fs::chown(outside.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let output = Command::new(place.join("tests"))
        .args([path, "--exact", "--nocapture"])
        .env_clear()
        .env(OUTSIDE, outside.path())
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

/// A directory that commands see as it is.
pub(crate) fn outside() -> TempDir {
    let parent = match (std::env::var_os(OUTSIDE), std::env::var_os("HOME")) {
        (Some(given), _) => PathBuf::from(given),
        _ if is_root() => "/var/lib".into(),
        (None, home) => home.unwrap().into(),
    };
    tempfile::Builder::new()
        .prefix("jukebox-")
        .tempdir_in(parent)
        .unwrap()
}

/// Runs a test, given by the path of a function of [`as_root_and_as_user`], once more, among
/// mounts of its own that a script makes first; `$1` is a new directory.
pub(crate) fn among_mounts(test: &str, script: &str) {
    let place = tempfile::tempdir().unwrap();
    let (_, test) = test.split_once("::").unwrap();
    let script = format!("{script} && exec \"$2\" \"$3\" --exact --nocapture");
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-ec", &script, "sh"])
        .arg(place.path())
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(MOUNTED, place.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("1 passed"), "{said}");
}

/// The directory among mounts, for who was started by [`among_mounts`].
pub(crate) fn mounted() -> Option<PathBuf> {
    std::env::var_os(MOUNTED).map(PathBuf::from)
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A directory that every user can read, with the program and its tests.
fn readable_programs() -> &'static Path {
    static PLACE: OnceLock<TempDir> = OnceLock::new();
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
