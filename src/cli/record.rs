//! `jukebox record`: events from standard input, written as a tape while they come.

use std::io::{self, BufRead as _};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, warn};
use crate::debugger::{Recording, RecordingOptions, Reply, SyncPolicy};
use crate::model::{Outcome, WallTime};

/// Lines that wait to be recorded: whoever writes faster waits.
const QUEUE: usize = 64;

/// Record a run: events as JSON lines from standard input
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Read events from standard input, one JSON object a line
    #[arg(long, required = true)]
    stdin: bool,
    /// The tape, a new file; without it, one here that is called by the time
    #[arg(short, long, value_name = "TAPE")]
    output: Option<PathBuf>,
    /// Record what each tool call changes in this directory; the first one is the workspace
    #[arg(long, value_name = "DIR")]
    watch: Vec<PathBuf>,
    /// Watch the home directory, or one that holds it
    #[arg(long)]
    allow_home: bool,
    /// Record files that .gitignore names, too
    #[arg(long)]
    no_ignore: bool,
    /// When events are on disk, should the machine lose power
    #[arg(long, value_enum, default_value_t = Sync::Effects, value_name = "WHEN")]
    sync: Sync,
}

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
A line is an event of a tape, such as {\"kind\":\"tool.call\",\"call\":\"c1\",\"name\":\"bash\",\"args\":{}};
its number, its time, hashes and lengths are filled in. Each line is answered on standard output
by one JSON object: seq (its number) and changes (files that were found changed before it); or
error (what is wrong, a sentence), kind (a word), line and byte (in the input, from 1 and 0).
Nothing of a line that is refused is recorded, and the run goes on.

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

/// What happens next.
enum Next {
    /// A line, with its newline where it has one.
    Line(Vec<u8>),
    /// The input is at its end, or cannot be read any further.
    End(Option<io::Error>),
    /// Somebody wants it to stop.
    Signal(i32),
}

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let tape = self.output.clone().unwrap_or_else(|| {
            let name = name_of(SystemTime::now());
            warn(&format!("recording to {name}"));
            name.into()
        });
        let recording = Recording::prepare(RecordingOptions {
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
        })?;
        let (sender, next) = sync_channel(QUEUE);
        listen(sender.clone())?;
        read(sender)?;
        record(recording, &next, out)
    }
}

/// A name for a tape that has none: `run-2026-01-01T10-00-00Z.jsonl`.
fn name_of(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = WallTime(i64::try_from(since.as_secs()).unwrap_or(0) * 1_000_000);
    format!("run-{}.jsonl", time.to_string().replace(':', "-"))
}

/// Records what comes until it ends.
fn record(
    mut recording: Recording,
    next: &Receiver<Next>,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let mut is_heard = true;
    while let Ok(next) = next.recv() {
        match next {
            Next::Line(line) => {
                let reply = recording.take(&line)?;
                if is_heard {
                    is_heard = answer(&reply, out)?;
                }
                if let Reply::Ended { .. } = reply {
                    return Ok(Answer::Yes);
                }
            }
            Next::End(error) => {
                recording.close(Outcome::None)?;
                return match error {
                    None => Ok(Answer::Yes),
                    Some(error) => Err(Failure::unusable(format!(
                        "standard input could not be read any further: {error}; the tape holds \
                         all before that"
                    ))),
                };
            }
            Next::Signal(number) => {
                recording.close(Outcome::Interrupted)?;
                return Ok(Answer::signal(number));
            }
        }
    }
    Ok(Answer::Yes)
}

/// Answers a line; whether anybody hears it. A run goes on when nobody does.
fn answer(reply: &Reply, out: &mut Output) -> Result<bool, Failure> {
    let value = match reply {
        Reply::Recorded { seq, changes } | Reply::Ended { seq, changes } => {
            json!({"seq": seq.0, "changes": changes})
        }
        Reply::Refused(problem) => json!({
            "error": problem.message,
            "kind": problem.kind.as_str(),
            "line": problem.line,
            "byte": problem.offset,
        }),
    };
    match out.json(&value).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Hears of signals, for as long as the program runs.
fn listen(sender: SyncSender<Next>) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(no_thread)?;
    let listener = thread::Builder::new().name("signals".into());
    let heard = listener.spawn(move || {
        for signal in signals.forever() {
            if sender.send(Next::Signal(signal)).is_err() {
                return;
            }
        }
    });
    heard.map(|_| ()).map_err(no_thread)
}

/// Reads standard input, for as long as there is any.
fn read(sender: SyncSender<Next>) -> Result<(), Failure> {
    let reader = thread::Builder::new().name("input".into());
    let begun = reader.spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let next = match input.read_until(b'\n', &mut line) {
                Ok(0) => Next::End(None),
                Ok(_) => Next::Line(line),
                Err(error) => Next::End(Some(error)),
            };
            let is_over = matches!(next, Next::End(_));
            if sender.send(next).is_err() || is_over {
                return;
            }
        }
    });
    begun.map(|_| ()).map_err(no_thread)
}

fn no_thread(error: io::Error) -> Failure {
    Failure::machine(format!(
        "no thread could be started: {error}; nothing was recorded"
    ))
}
