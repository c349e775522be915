//! `jukebox record`: a run, recorded while it happens: a command that is run in the sandbox,
//! or whatever says on standard input what it does.

mod command;
mod models;
mod screen;
mod stdin;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;

use super::When;
use super::configuration::ConfigArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::open::Screen;
use super::output::{Output, warn};
use crate::debugger::{RecordingOptions, Redacting, SyncPolicy};
use crate::model::WallTime;

pub(super) use models::{own_upstream, upstream};

/// Record a run: a command in the sandbox, or events as JSON lines from standard input
#[derive(Debug, clap::Args)]
#[command(
    after_help = HELP,
    override_usage = "jukebox record [OPTIONS] -- CMD…\n       jukebox record --stdin [OPTIONS]"
)]
pub(super) struct Args {
    /// The tape, a new file; without it, one that is called by the time: of a command in
    /// .jukebox/tapes of the workspace, of events here
    #[arg(short, long, value_name = "TAPE")]
    output: Option<PathBuf>,
    /// Record the home directory, too, or one that holds it
    #[arg(long)]
    allow_home: bool,
    /// Leave secrets in what is recorded
    #[arg(long)]
    keep_secrets: bool,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    command: command::CommandArgs,
    /// Read events from standard input, one JSON object a line
    #[arg(long, required_unless_present = "command", conflicts_with_all = command::OPTIONS)]
    stdin: bool,
    /// Record what each tool call changes in this directory; the first one is the workspace
    #[arg(long, value_name = "DIR", requires = "stdin", help_heading = FROM_STDIN)]
    watch: Vec<PathBuf>,
    /// Record files that .gitignore names, too
    #[arg(long, requires = "stdin", help_heading = FROM_STDIN)]
    no_ignore: bool,
    /// When events are on disk, should the machine lose power
    #[arg(
        long,
        value_enum,
        default_value_t = Sync::Effects,
        value_name = "WHEN",
        help_heading = FROM_STDIN
    )]
    sync: Sync,
}

/// Heads the options of `--stdin`.
const FROM_STDIN: &str = "Options with --stdin";

/// When events are on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sync {
    /// Effects, transactions and model responses before the answer; the rest within 100 ms
    Effects,
    /// Every event before its answer
    Always,
    /// When the system likes
    None,
}

const HELP: &str = "\
A command runs in the workspace, which it sees at its own path, and nothing it does there is real
before it is committed: all of it, or nothing. It has no network, and those variables of the
environment that say how to work and hold no secret, and those of --env. What it writes comes
through as it is, as it comes, and goes on the tape with every file that it changes, while it
runs: `jukebox open TAPE --follow` in another terminal shows it. It reads standard input if that
is a pipe or a file, and nothing from a terminal: programs that want one do not work. What it
leaves running is ended with it.

With --open, the screen shows the run while it is recorded, and what the command writes goes to
the tape alone. Ctrl-C asks the command to end, as ever; when it has ended, the screen says how
and stays until it is closed; then it goes on as below. q while the command runs asks for a
second q: that closes the screen, the command goes on, and what it writes from then on comes
through.

When it has ended, --ask shows what it changed and asks; without a terminal, --commit or
--rollback must say what is to become of it. --commit commits if the command came to its own end,
whatever its code, and not if it was interrupted, killed or out of time. If somebody else changed
the same files meanwhile, that is a conflict: nothing is written, and what the command wrote is
kept for `jukebox txn recover`. --unsafe-no-sandbox runs it with no guard at all: it writes the
workspace itself, and there is nothing to commit or to roll back.

Ends with the command's own code, or 128 and the number of the signal that ended it; 126 if it
cannot be run, 127 if it is not there, 125 if it is Jukebox that failed; 3 after a conflict; 4 if
the machine allows no sandbox (`jukebox doctor` says why). Ctrl-C and --timeout ask it to end
(SIGTERM), and two seconds later kill it.

With --model, the command finds its models at ANTHROPIC_BASE_URL and OPENAI_BASE_URL: a server of
ours, the only thing it can reach, which hands each request on to the endpoint that was named, to
no other place, and records what was asked and what came back, to the byte; the model's turns and
the tools that it calls become steps. Keys that the command sends go through and are not
recorded; --env ANTHROPIC_API_KEY hands it one. Known are Anthropic's Messages and OpenAI's Chat
Completions and Responses, streamed or not; other requests to the same endpoints go through and
are recorded as they are. No proxy is used.

With --model --from TAPE, the same server answers from TAPE, and nothing is reached: a request
that was recorded gets the bytes that were recorded, in the same pieces, of equal ones each its
own, in order. Equal means: the same path, and JSON that says the same; numbers as they are
written; headers do not count, nor do the parts that TAPE's header and --volatile list (`*` is
any name or number). A request that was not recorded gets an error; it is told, and the command's
code is then 1 at least. Streams of TAPE (src/tape/FORMAT.md), such as those to MCP servers, are at
JUKEBOX_STREAMS, each below it by its address as a URL has it, and spoken to as MCP goes over
HTTP: a POST says a frame and gets what the service said to it, with the ids that the command
made up for its requests. The first frame that is not the recorded one ends its stream, and is
told leaf by leaf. `jukebox stream --help` says how services are recorded, and answered, that
speak over their standard input.

Secrets are taken out before anything is on disk, and placeholders stand for them: `jukebox redact
--help` says what is one. A file with one is recorded as redacted, and never restored.

With --stdin, a line is an event of a tape, such as
{\"kind\":\"tool.call\",\"call\":\"c1\",\"name\":\"bash\",\"args\":{}}; its number, its time, hashes and lengths
are filled in. Each line is answered on standard output by one JSON object: seq (its number) and
changes (files that were found changed before it); or error (what is wrong, a sentence), kind (a
word), line and byte (in the input, from 1 and 0). Nothing of a line that is refused is recorded,
and the run goes on.

Kinds: prompt, model.request, model.response, tool.call, tool.result, fs.*, blob, txn.*, branch,
agent.start, agent.end, raw, effect.*, stream.frame, input.*, note; `tape` as the first line
names the agent; `snapshot` asks for one; `end` ends the run. src/tape/STDIN.md has their fields.

With --watch, what changes between a tool.call and its tool.result is recorded as that call's:
write the call and wait for its answer before you run it. What changes while no call runs is
nobody's. Where several run, their arguments decide, or all are candidates. The directory is only
read; .git and .jukebox are not looked into, and what is not covered is said in the header.

What was answered is on the tape, even if this program is killed at once; --sync says what a loss
of power spares. Ends at the end of the input; on SIGINT, SIGTERM and SIGHUP it writes the end
of the tape first, and ends with 128 and the signal's number.";

impl Args {
    /// Whether a person looks at the screen meanwhile.
    pub(super) const fn shows_screen(&self) -> bool {
        self.command.shows_screen()
    }

    pub(super) fn run(
        &self,
        around: &Environment,
        out: &mut Output,
        (screen, colors): (&dyn Screen, When),
    ) -> Result<Answer, Failure> {
        let output = self.output.as_deref();
        if !self.stdin {
            let redacting = self.redacting(around, Some(self.command.workspace()))?;
            let recorded = (output, redacting, self.allow_home);
            return self.command.run(recorded, around, out, (screen, colors));
        }
        let tape = self.output.clone().unwrap_or_else(|| {
            let name = name_of(SystemTime::now());
            warn(&format!("recording to {name}"));
            name.into()
        });
        let options = RecordingOptions {
            tape,
            watch: self.watch.clone(),
            home: around.home.clone(),
            allows_home: self.allow_home,
            covers_ignored: self.no_ignore,
            sync: match self.sync {
                Sync::Effects => SyncPolicy::Effects,
                Sync::Always => SyncPolicy::Always,
                Sync::None => SyncPolicy::None,
            },
            redacting: self.redacting(around, self.watch.first().map(PathBuf::as_path))?,
        };
        stdin::run(options, out)
    }

    /// What is taken out before anything is written.
    fn redacting(
        &self,
        around: &Environment,
        workspace: Option<&Path>,
    ) -> Result<Option<Redacting>, Failure> {
        if self.keep_secrets {
            return Ok(None);
        }
        self.config.redacting(around, workspace).map(Some)
    }
}

/// A name for a tape that has none: `run-2026-01-01T10-00-00Z.jsonl`.
fn name_of(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = WallTime(i64::try_from(since.as_secs()).unwrap_or(0) * 1_000_000);
    format!("run-{}.jsonl", time.to_string().replace(':', "-"))
}
