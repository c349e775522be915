//! A user with a workspace, and the program as that user runs it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::who;

/// The workspace `W`, a home, and all that the program keeps elsewhere.
pub(crate) struct World {
    place: TempDir,
}

/// How the program ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// What a path is: mode, time of its last change, bytes.
pub(crate) type Tree = BTreeMap<PathBuf, (u32, (i64, i64), Vec<u8>)>;

impl World {
    /// A workspace with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let place = tempfile::Builder::new().prefix("txn-").tempdir().unwrap();
        let world = Self { place };
        for below in ["W", "home", "state", "run"] {
            fs::create_dir(world.path(below)).unwrap();
        }
        fs::set_permissions(world.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
        for (name, text) in files {
            let path = world.path("W").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        world
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("W")
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.workspace().join(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.workspace().join(name), text).unwrap();
    }

    /// A program as the user runs it.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("JUKEBOX", who::program())
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("SECRET_TOKEN", "hidden")
            .current_dir(self.place.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs `jukebox txn …`, a word an argument.
    #[track_caller]
    pub(crate) fn txn(&self, words: &str) -> Ran {
        let mut command = self.command(who::program());
        command.arg("txn").args(words.split_whitespace());
        Ran::of(&mut command)
    }

    /// Begins a transaction; its id.
    #[track_caller]
    pub(crate) fn begin(&self, more: &str) -> String {
        let ran = self.txn(&format!("begin --dir W {more}"));
        assert_eq!((ran.code, &*ran.err), (0, ""));
        let id = ran.out.strip_suffix('\n').unwrap().to_owned();
        assert!(id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        id
    }

    /// Runs a script in a transaction.
    #[track_caller]
    pub(crate) fn exec(&self, id: &str, script: &str) -> Ran {
        let mut command = self.command(who::program());
        command.args(["txn", "exec", id, "--", "sh", "-c", script]);
        Ran::of(&mut command)
    }

    /// Runs a script in a transaction, which must end well; what it said.
    #[track_caller]
    pub(crate) fn say(&self, id: &str, script: &str) -> String {
        let ran = self.exec(id, script);
        assert_eq!(ran.code, 0, "{script}\n{}", ran.err);
        ran.out
    }

    /// Everything in the workspace but what is the program's own.
    pub(crate) fn tree(&self) -> Tree {
        tree(&self.workspace())
    }

    /// The process that holds a transaction.
    pub(crate) fn holder(&self, id: &str) -> rustix::process::Pid {
        let lock = self
            .path("state/jukebox/transactions")
            .join(id)
            .join("lock");
        let holds = |process: &PathBuf| {
            let mut files = links(&process.join("fd"));
            files.any(|file| file == lock)
        };
        let process = processes().into_iter().find(holds).unwrap();
        let number = process.file_name().unwrap().to_str().unwrap();
        rustix::process::Pid::from_raw(number.parse().unwrap()).unwrap()
    }

    /// The process that owns the sandbox of a transaction.
    pub(crate) fn helper(&self, id: &str) -> rustix::process::Pid {
        let holder = self.holder(id).as_raw_nonzero();
        let children = format!("/proc/{holder}/task/{holder}/children");
        let children = fs::read_to_string(children).unwrap();
        let child = children.split_whitespace().next().unwrap();
        rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap()
    }

    /// Kills the holder of a transaction, and waits until it and all that it owned is gone.
    pub(crate) fn kill_holder(&self, id: &str) {
        let holder = self.holder(id);
        rustix::process::kill_process(holder, rustix::process::Signal::KILL).unwrap();
        self.wait_until_nobody_is_there();
    }

    /// Waits until no process has anything of this world open. Whoever was killed is gone
    /// soon, and who is not never will be.
    #[track_caller]
    pub(crate) fn wait_until_nobody_is_there(&self) {
        for _ in 0..600 {
            if self.who_is_there().is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("still there: {:?}", self.who_is_there());
    }

    fn who_is_there(&self) -> Vec<PathBuf> {
        let is_here = |path: &PathBuf| path.starts_with(self.place.path());
        let is_there = |process: &PathBuf| {
            let one = |name| fs::read_link(process.join(name));
            let mut links = links(&process.join("fd"))
                .chain(one("cwd"))
                .chain(one("root"));
            process.file_name() != Some(OsStr::new(&std::process::id().to_string()))
                && links.any(|path| is_here(&path))
        };
        processes().into_iter().filter(is_there).collect()
    }

    /// No process, no mount and no file is left, but those of `.jukebox` that stay and what is
    /// remembered of commits.
    #[track_caller]
    pub(crate) fn nothing_is_left(&self) {
        self.wait_until_nobody_is_there();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(self.place.path().to_str().unwrap()));
        let names = |path: &str| -> Vec<_> {
            let entries = fs::read_dir(self.path(path)).into_iter().flatten();
            entries.map(|entry| entry.unwrap().file_name()).collect()
        };
        assert!(names("run/jukebox").is_empty(), "a socket");
        assert!(names("W/.jukebox/sandboxes").is_empty(), "layers");
        assert!(names("W/.jukebox/staged").is_empty(), "staged files");
        let status = self.txn("status --json");
        let status: serde_json::Value = serde_json::from_str(&status.out).unwrap();
        for row in status["transactions"].as_array().unwrap() {
            assert_eq!(row["state"], "committed");
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // A test that failed leaves nobody behind either.
        let entries = fs::read_dir(self.path("state/jukebox/transactions"));
        for entry in entries.into_iter().flatten() {
            let id = entry.unwrap().file_name();
            let mut command = self.command(who::program());
            let _ = command.args(["txn", "rollback"]).arg(id).output();
        }
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Everything below a directory but what is the program's own.
pub(crate) fn tree(top: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![top.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".jukebox") {
                continue;
            }
            let found = fs::symlink_metadata(&path).unwrap();
            let bytes = if found.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else if found.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                fs::read(&path).unwrap_or_default()
            };
            let below = path.strip_prefix(top).unwrap().to_owned();
            let time = (found.mtime(), found.mtime_nsec());
            tree.insert(below, (found.mode(), time, bytes));
        }
    }
    tree
}

fn processes() -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc")
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_process = |path: &PathBuf| path.join("fd").exists();
    entries.filter(is_process).collect()
}

/// What the links in a directory lead to; none where nobody may look.
fn links(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| fs::read_link(entry.path()).ok())
}
