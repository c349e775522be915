//! The world around the program. The only file of the shell that reads the environment.
//!
//! Nothing here is read from the current directory or from beside a tape: the places are
//! those of the user, and are made only when something is kept in them.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use crate::debugger::{HookPlaces, IndexCache, Places, Sandboxing, allowed_environment};

/// Columns where nobody says how many there are.
const COLUMNS: usize = 100;

/// What the program knows of its surroundings.
#[derive(Clone, Debug)]
pub(super) struct Environment {
    /// The user's directories.
    pub(super) places: Places,
    /// Where recordings through hooks are kept, and where hooks meet their recorder.
    pub(super) hooks: HookPlaces,
    /// The directory of the project, where a hook was called.
    pub(super) project: Option<PathBuf>,
    /// The user's home directory.
    pub(super) home: Option<PathBuf>,
    /// The user's own configuration, which need not be there.
    pub(super) configuration: Option<PathBuf>,
    /// Where files may lie that nobody needs for long.
    pub(super) temporary: PathBuf,
    /// Where sockets of the user's lie, for nobody else.
    pub(super) runtime: PathBuf,
    /// The variables, as they are.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The program's own file, where the system says which it is.
    pub(super) program: Option<PathBuf>,
    /// Whether standard output is a terminal.
    pub(super) has_terminal: bool,
    /// Whether there is a terminal to read keys from and to draw on.
    pub(super) has_screen: bool,
    /// Whether a question can be asked, and answered.
    pub(super) can_ask: bool,
    /// Whether the user wants no colours anywhere.
    pub(super) no_color: bool,
    /// Columns of the terminal, or as many as a page has.
    pub(super) columns: usize,
    /// Columns of the terminal that standard error is, where it is one that can take a row
    /// back.
    pub(super) error_columns: Option<usize>,
}

impl Environment {
    /// Looks around.
    pub(super) fn read() -> Self {
        let has_terminal = io::stdout().is_terminal();
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            places: Places {
                imports: user_directory("XDG_DATA_HOME", ".local/share")
                    .map(|directory| directory.join("imports")),
                state: user_directory("XDG_STATE_HOME", ".local/state"),
                claude: absolute("CLAUDE_CONFIG_DIR")
                    .or_else(|| Some(absolute("HOME")?.join(".claude"))),
                cache: index_cache(),
                here: env::current_dir().ok(),
                sandboxing: sandboxing(),
            },
            hooks: hook_places(),
            project: absolute("CLAUDE_PROJECT_DIR"),
            home: absolute("HOME"),
            configuration: user_directory("XDG_CONFIG_HOME", ".config")
                .map(|directory| directory.join("jukebox.toml")),
            temporary: env::temp_dir(),
            runtime: runtime(),
            variables: env::vars_os().collect(),
            program: env::current_exe().ok(),
            has_terminal,
            has_screen: has_terminal && has_controlling_terminal(),
            can_ask: has_terminal && io::stdin().is_terminal(),
            no_color: is_dumb || is_unwanted,
            columns: columns(io::stdout()).unwrap_or(COLUMNS),
            error_columns: (io::stderr().is_terminal() && !is_dumb)
                .then(|| columns(io::stderr()).unwrap_or(COLUMNS)),
        }
    }
}

/// What a sandbox is made of; `None` where the system does not say which file the program is.
fn sandboxing() -> Option<Sandboxing> {
    Some(Sandboxing {
        program: env::current_exe().ok()?,
        home: absolute("HOME"),
        hidden: vec![runtime()],
        temporary: env::temp_dir(),
        environment: allowed_environment(env::vars_os()),
    })
}

/// The program's own directory for sockets: the user's by the XDG specification, or one with
/// the user's number among temporary files.
fn runtime() -> PathBuf {
    own_runtime().unwrap_or_else(own_temporary)
}

fn own_runtime() -> Option<PathBuf> {
    Some(absolute("XDG_RUNTIME_DIR")?.join("jukebox"))
}

/// The user's place in the directory for temporary files. Whoever uses it looks whose it is.
fn own_temporary() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    env::temp_dir().join(format!("jukebox-{user}"))
}

/// The index cache of this build, which is known by the program's own file: another one may
/// find other things in the same tape.
fn index_cache() -> Option<IndexCache> {
    let directory = user_directory("XDG_CACHE_HOME", ".cache")?.join("index");
    let program = env::current_exe().ok()?.metadata().ok()?;
    let written = program.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let build = format!("{} {}", program.len(), written.as_nanos());
    Some(IndexCache::new(directory, &build))
}

/// Without a home directory everything is kept in the one for temporary files.
fn hook_places() -> HookPlaces {
    let temporary = own_temporary();
    let kept = |variable, below_home| {
        user_directory(variable, below_home).unwrap_or_else(|| temporary.clone())
    };
    HookPlaces {
        runtime: own_runtime()
            .into_iter()
            .chain([temporary.clone()])
            .collect(),
        spools: kept("XDG_STATE_HOME", ".local/state").join("hooks"),
        tapes: kept("XDG_DATA_HOME", ".local/share").join("recorded"),
        home: absolute("HOME"),
    }
}

/// The program's own directory in one of the user's, by the XDG specification.
fn user_directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    let base = absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)))?;
    Some(base.join("jukebox"))
}

/// The path in a variable; one that is not absolute counts for nothing.
fn absolute(variable: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os(variable)?);
    path.is_absolute().then_some(path)
}

fn has_controlling_terminal() -> bool {
    use rustix::fs::{Mode, OFlags, open};
    io::stdin().is_terminal()
        || open("/dev/tty", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

fn columns(terminal: impl AsFd) -> Option<usize> {
    let asked = env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse::<usize>().ok());
    let measured = || {
        let size = rustix::termios::tcgetwinsize(terminal).ok()?;
        Some(usize::from(size.ws_col))
    };
    asked.or_else(measured).filter(|columns| *columns >= 20)
}
