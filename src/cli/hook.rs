//! `jukebox hook`: a running Claude Code, recorded through its hooks.

mod settings;

use std::fs;
use std::io::{self, IsTerminal as _, Read as _};
use std::os::unix::process::CommandExt as _;
use std::panic;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::configuration::ConfigArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use crate::debugger::{
    self, Delivery, Inbox, Recorders, SecretRules, Spool, deliver, installed, serve,
};
use crate::model::WallTime;
use crate::text::{SafeText, human};

/// The longest record that is taken.
const LONGEST: u64 = 128 << 20;
/// Seconds after which a recorder that hears nothing ends its tape.
const IDLE: u64 = 3600;

/// Record Claude Code while it runs, through its hooks
#[derive(Debug, clap::Args)]
#[command(after_help = HELP, disable_help_subcommand = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<HookCommand>,
}

#[derive(Debug, Subcommand)]
enum HookCommand {
    Install(settings::InstallArgs),
    Uninstall(settings::UninstallArgs),
    Status(StatusArgs),
    #[command(hide = true)]
    Serve(ServeArgs),
}

/// Say whether the hooks are installed, and what is being recorded
#[derive(Debug, clap::Args)]
#[command(after_help = STATUS)]
struct StatusArgs {
    #[command(flatten)]
    file: settings::FileArgs,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Record one session, until it is over
#[derive(Debug, clap::Args)]
struct ServeArgs {
    /// The session's id
    #[arg(long)]
    session: String,
    /// Seconds without a record after which the tape is ended
    #[arg(long, default_value_t = IDLE)]
    idle: u64,
}

const HELP: &str = "\
`jukebox hook install` has Claude Code call this command. From then on each session is recorded
to a tape of its own in the data directory: each tool call with the file changes that it made,
shell commands included, prompts, sub-agents, and the model's turns from the transcript.
`jukebox recent` lists the tapes, `jukebox open TAPE --follow` shows one while it grows.

Without a command it reads one record of a hook from standard input, and waits until it is on
the tape. It prints nothing and ends with 0 whatever happens, so that the agent is never held up
by its recorder. What cannot be recorded now is kept in the state directory until it can.";

const STATUS: &str = "\
Ends with 1 where not all hooks are installed.

JSON, one object: settings (the file), installed and missing (events), command, recorders
(processes), waiting (sessions with records that wait for a recorder), refused (bytes of what
was no record of a session), tapes (their directory).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        match &self.command {
            None if io::stdin().is_terminal() => Err(Failure::unusable(
                "this reads a hook's record from standard input; \
                 `jukebox hook install` has Claude Code call it",
            )),
            None => {
                take(around);
                Ok(Answer::Yes)
            }
            Some(HookCommand::Install(args)) => args.run(around, out),
            Some(HookCommand::Uninstall(args)) => args.run(around, out),
            Some(HookCommand::Status(args)) => args.run(around, out),
            Some(HookCommand::Serve(args)) => args.run(around),
        }
    }
}

/// Takes one record. An agent waits for this, and must hear of no trouble.
fn take(around: &Environment) {
    panic::set_hook(Box::new(|_| {}));
    let _fault = panic::catch_unwind(|| {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().take(LONGEST).read_to_end(&mut bytes);
        if read.is_err() || bytes.is_empty() {
            return;
        }
        let places = &around.hooks;
        let project = around.project.clone();
        let _nowhere = if let Some(delivery) = Delivery::of_record(&bytes, project) {
            deliver(places, &delivery, &|| start(around, delivery.session()))
        } else {
            let line = json!({ "refused": String::from_utf8_lossy(&bytes) });
            Spool::of_refused(places).append(line.to_string().as_bytes())
        };
    });
}

/// Starts the recorder of a session. It outlives this process, its terminal, and its group.
fn start(around: &Environment, session: &str) -> io::Result<()> {
    let program = around.program.as_ref().ok_or(io::ErrorKind::NotFound)?;
    Command::new(program)
        .args(["hook", "serve"])
        .arg(format!("--session={session}"))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map(|_| ())
}

impl ServeArgs {
    fn run(&self, around: &Environment) -> Result<Answer, Failure> {
        // Fails where this leads a group already, which then is its own.
        let _is_own = rustix::process::setsid();
        let inbox = Inbox::default();
        let stop = inbox.stop();
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(no_thread)?;
        let listener = thread::Builder::new().name("signals".into());
        listener
            .spawn(move || signals.forever().for_each(|_| stop.stop()))
            .map_err(no_thread)?;
        let mut note = |tape: &Path| around.places.note_recording(tape, now());
        let idle = Duration::from_secs(self.idle);
        // A configuration that cannot be read must not cost the recording.
        let config = ConfigArgs::default();
        let redacting = config.redacting(around, None);
        let redacting = redacting.or_else(|_| {
            let (variables, state) = (&around.variables, around.places.state.as_deref());
            debugger::redacting(&SecretRules::default(), variables, state)
        })?;
        serve(
            &around.hooks,
            &self.session,
            Some(redacting),
            idle,
            inbox,
            &mut note,
        )
        .map(|_| Answer::Yes)
        .map_err(|error| Failure::machine(error.to_string()))
    }
}

impl StatusArgs {
    fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let path = self.file.path(around)?;
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => b"{}".to_vec(),
            Err(error) => return Err(settings::unreadable(&path, &error)),
        };
        let found = installed(&bytes).map_err(|error| settings::unusable(&path, &error))?;
        let recorders = Recorders::running(&around.hooks).processes;
        let (waiting, refused) = Spool::waiting(&around.hooks);
        if self.json {
            out.json(&json!({
                "settings": path.to_string_lossy(),
                "installed": found.events,
                "missing": found.missing,
                "command": found.command,
                "recorders": recorders,
                "waiting": waiting,
                "refused": refused,
                "tapes": around.hooks.tapes.to_string_lossy(),
            }))?;
            return Ok(Answer::no_if(!found.missing.is_empty()));
        }
        let mut say = |style, line: String| out.line(style, &SafeText::line(&line));
        match (found.events.is_empty(), found.missing.is_empty()) {
            (_, true) => say(Style::Good, format!("installed in {}", path.display()))?,
            (true, _) => {
                say(Style::Doubt, format!("not installed in {}", path.display()))?;
                let next = "`jukebox hook install` installs the hooks";
                say(Style::Faint, next.to_owned())?;
            }
            _ => {
                let missing = found.missing.join(", ");
                let line = format!("installed in {}, but for {missing}", path.display());
                say(Style::Doubt, line)?;
            }
        }
        if let Some(command) = &found.command {
            say(Style::Plain, format!("calls {command}"))?;
        }
        let count = human::plural(recorders.len() as u64, "session", "sessions");
        say(Style::Plain, format!("records {count} now"))?;
        let tapes = around.hooks.tapes.display();
        say(Style::Plain, format!("tapes are kept in {tapes}"))?;
        if waiting > 0 {
            let sessions = human::plural(waiting as u64, "session", "sessions");
            let line = format!("records of {sessions} wait for their next hook");
            say(Style::Doubt, line)?;
        }
        if refused > 0 {
            let line = format!("{} were no records of a session", human::size(refused));
            say(Style::Doubt, line)?;
        }
        Ok(Answer::no_if(!found.missing.is_empty()))
    }
}

/// The program, as a hook calls it.
fn program(around: &Environment) -> Result<&Path, Failure> {
    let unknown = || Failure::machine("where this program lies is unknown; nothing was written");
    around.program.as_deref().ok_or_else(unknown)
}

fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default().as_micros();
    WallTime(i64::try_from(since).unwrap_or(i64::MAX))
}

fn no_thread(error: io::Error) -> Failure {
    Failure::machine(format!("no thread could be started: {error}"))
}
