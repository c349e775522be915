//! What a tape says of a command that is run: the call, its output as it comes, its result.
//! Makes events; records nothing, and knows no transaction.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::model::{Body, Event, Outcome};
use crate::sandbox::{Cause, Command, Exit, SandboxError, Status, Stream};
use crate::tape::frame_event;
use crate::text::command_line;

/// Output waits so long for more, or until there is so much of it.
const FRAME: Duration = Duration::from_millis(100);
const FRAME_BYTES: usize = 1 << 16;
/// Of one call, output goes on the tape as it comes up to so many bytes in so many frames;
/// the rest is in its result.
const STREAM_BYTES: usize = 1 << 18;
const FRAMES: usize = 1024;

/// A command begins.
pub fn begins(command: &Command) -> Event {
    let words = command.arguments.iter();
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let timeout = command.timeout.map(|timeout| timeout.as_millis() as u64);
    let mut arguments = json!({ "command": words, "timeout_ms": timeout });
    if command.input.is_some() {
        // What it reads there is on no tape.
        arguments["input"] = true.into();
    }
    let mut event = Event::new(Body::ToolCall {
        name: "exec".to_owned(),
        arguments,
    });
    event.head.title = Some(command_line(words.iter().map(AsRef::as_ref)));
    event
}

/// Whether a command did what it was to do.
pub fn outcome_of(exit: &Result<Exit, SandboxError>) -> Outcome {
    match exit {
        Ok(exit) => match (exit.cause, exit.status) {
            (Cause::Timeout | Cause::Asked, _) => Outcome::Interrupted,
            (Cause::Itself, Status::Code(0)) => Outcome::Ok,
            (Cause::Itself, _) => Outcome::Failed,
        },
        Err(SandboxError::NotStarted(_)) => Outcome::Failed,
        Err(_) => Outcome::Interrupted,
    }
}

/// What a command came to. `left_out` changes of its are not on the tape.
pub fn ends(exit: &Result<Exit, SandboxError>, said: Said, left_out: usize) -> Event {
    let mut output = String::from_utf8_lossy(&said.kept).into_owned();
    let mut detail = Map::new();
    let (code, duration) = match exit {
        Ok(exit) => {
            if let Status::Signal(signal) = exit.status {
                detail.insert("signal".to_owned(), signal.into());
            }
            if exit.cause == Cause::Timeout {
                detail.insert("timeout".to_owned(), true.into());
            }
            (Some(exit.status.code()), Some(exit.duration))
        }
        Err(error) => {
            output.push_str(&error.to_string());
            let is_code = matches!(error, SandboxError::NotStarted(_));
            (is_code.then(|| error.code()), None)
        }
    };
    for (what, count) in [("dropped", said.dropped), ("left_out", left_out as u64)] {
        if count > 0 {
            detail.insert(what.to_owned(), count.into());
        }
    }
    Event::new(Body::ToolResult {
        outcome: outcome_of(exit),
        exit: code.map(i32::from),
        output,
        duration: duration.map(micros),
        attachments: Vec::new(),
        detail: if detail.is_empty() {
            Value::Null
        } else {
            Value::Object(detail)
        },
    })
}

/// What a command said, as much of it as a tape keeps.
#[derive(Debug, Default)]
pub struct Said {
    kept: Vec<u8>,
    dropped: u64,
}

impl Said {
    /// Takes in some more.
    pub fn take(&mut self, bytes: &[u8]) {
        let room = Command::CAPTURE as usize - self.kept.len();
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.kept.extend_from_slice(kept);
        self.dropped += (bytes.len() - kept.len()) as u64;
    }
}

/// Output on its way to the tape.
#[derive(Debug, Default)]
pub struct Frames {
    stream: Option<Stream>,
    waiting: Vec<u8>,
    since: Option<Instant>,
    bytes: usize,
    told: usize,
}

impl Frames {
    /// Takes what a command wrote; what must go on the tape before it.
    pub fn take(&mut self, stream: Stream, bytes: &[u8], now: Instant) -> Option<Event> {
        let is_other = self.stream.is_some_and(|waiting| waiting != stream);
        let before = if is_other { self.flush() } else { None };
        self.keep(stream, bytes, now);
        before
    }

    fn keep(&mut self, stream: Stream, bytes: &[u8], now: Instant) {
        let room = STREAM_BYTES.saturating_sub(self.bytes);
        let kept = bytes.get(..room).unwrap_or(bytes);
        if kept.is_empty() || self.told >= FRAMES {
            return;
        }
        self.bytes += kept.len();
        self.stream = Some(stream);
        self.since.get_or_insert(now);
        self.waiting.extend_from_slice(kept);
    }

    /// What has waited long enough, but for a character of which only the beginning is there.
    pub fn pass(&mut self, now: Instant) -> Option<Event> {
        let is_old = |since| now.saturating_duration_since(since) >= FRAME;
        if self.waiting.len() < FRAME_BYTES && !self.since.is_some_and(is_old) {
            return None;
        }
        let torn = match std::str::from_utf8(&self.waiting) {
            Err(error) if error.error_len().is_none() => {
                self.waiting.split_off(error.valid_up_to())
            }
            _ => Vec::new(),
        };
        let whole = self.flush();
        self.waiting = torn;
        whole
    }

    /// All that waits.
    pub fn flush(&mut self) -> Option<Event> {
        let stream = self.stream?;
        let bytes = std::mem::take(&mut self.waiting);
        self.since = None;
        if bytes.is_empty() {
            return None;
        }
        self.told += 1;
        let stream = match stream {
            Stream::Output => "stdout",
            Stream::Error => "stderr",
        };
        Some(frame_event(stream, &bytes))
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::frame_of;

    #[track_caller]
    fn check(frame: Option<Event>, expected: Option<(&str, &str)>) {
        assert_eq!(frame.as_ref().and_then(frame_of), expected);
    }

    #[test]
    fn output_is_cut_between_characters_and_streams() {
        let (mut frames, now) = (Frames::default(), Instant::now());
        check(frames.take(Stream::Output, b"a\xc3", now), None);
        check(frames.pass(now), None);
        check(frames.pass(now + FRAME), Some(("stdout", "a")));
        check(frames.take(Stream::Output, b"\xa4", now), None);
        check(
            frames.take(Stream::Error, b"!", now),
            Some(("stdout", "\u{e4}")),
        );
        check(frames.flush(), Some(("stderr", "!")));
        check(frames.flush(), None);
    }

    #[test]
    fn a_flood_of_output_is_told_up_to_a_number_of_bytes() {
        let (mut frames, now) = (Frames::default(), Instant::now());
        let flood = vec![b'x'; FRAME_BYTES];
        let mut told = 0;
        for _ in 0..100 {
            assert!(frames.take(Stream::Output, &flood, now).is_none());
            let frame = frames.pass(now);
            told += frame.as_ref().and_then(frame_of).map_or(0, |it| it.1.len());
        }
        assert_eq!(told, STREAM_BYTES);
    }
}
