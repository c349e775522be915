//! `jukebox record --stdin`: events from standard input, written as a tape while they come.

use std::io::{self, BufRead as _};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::super::failure::{Answer, Failure};
use super::super::output::Output;
use crate::debugger::{Recording, RecordingOptions, Reply};
use crate::model::Outcome;

/// Lines that wait to be recorded: whoever writes faster waits.
const QUEUE: usize = 64;

/// What happens next.
enum Next {
    /// A line, with its newline where it has one.
    Line(Vec<u8>),
    /// The input is at its end, or cannot be read any further.
    End(Option<io::Error>),
    /// Somebody wants it to stop.
    Signal(i32),
}

/// Records what comes in, in this way.
pub(super) fn run(options: RecordingOptions, out: &mut Output) -> Result<Answer, Failure> {
    let recording = Recording::prepare(options)?;
    let (sender, next) = sync_channel(QUEUE);
    listen(sender.clone())?;
    read(sender)?;
    record(recording, &next, out)
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
