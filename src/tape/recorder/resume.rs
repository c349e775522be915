//! Going on with a tape that is there: what is torn is set aside, what is known is read again.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::clock::Clock;
use super::sink::{Sink, open_error};
use super::written::Scanned;
use super::{History, RecordError, Recorder, RecorderOptions};
use crate::model::{Body, Event, Kind, LineHash};
use crate::tape::redaction::EventRedaction;
use crate::tape::scan::ScanEnd;
use crate::tape::{Tape, TapeBytes};

pub(super) fn resume(path: &Path, options: RecorderOptions) -> Result<Recorder, RecordError> {
    let mut sink = Sink::open(path)?;
    let failed = |source| open_error(path, source);
    let mut scanned = Scanned::new(sink.bytes());
    let mut tape = Tape::read(sink.bytes(), &mut scanned).map_err(failed)?;
    if tape.index.events.kind(0) != Some(Kind::Tape) {
        return Err(RecordError::NotATape(path.to_owned()));
    }
    let torn = match tape.end.torn {
        0 => None,
        _ => Some(set_aside(path, &mut sink, &tape).map_err(failed)?),
    };
    tape.end.torn = 0;
    let header = tape.header().map_err(failed)?;
    let last_line = tape.bytes.line_before(tape.end.offset).map_err(failed)?;
    let last = tape.index.events.len().saturating_sub(1);
    let next_seq = match (&header.parent, last) {
        (Some(parent), 0) => parent.seq.0 + 1,
        _ => tape.index.events.seq(last).0 + 1,
    };
    let last_t = tape.index.events.get(last).map_or(0, |event| event.t);
    let mut recorder = Recorder {
        clock: Clock::going_on(header.started, last_t),
        history: History::of(&header),
        next_seq,
        last_t,
        prev: Some(LineHash::of(&last_line)),
        ..Recorder::new(sink, tape, options).map_err(failed)?
    };
    recorder.written = scanned.finish(recorder.tape.end.offset);
    if let Some(redaction) = &mut recorder.redaction {
        remember(&recorder.tape, redaction).map_err(failed)?;
    }
    if let Some((bytes, aside)) = torn {
        let name = aside.file_name().unwrap_or_default().to_string_lossy();
        let why = format!("a line of {bytes} bytes was cut; it was set aside as {name}");
        recorder.append(Event::new(Body::Gap { why }))?;
    }
    Ok(recorder)
}

/// Takes in which placeholders stand on the tape, and for what.
pub(in crate::tape) fn remember(tape: &Tape, redaction: &mut EventRedaction) -> io::Result<()> {
    each_telling(tape, 0, &mut |event| redaction.remember(event))
}

/// Gives out each event from this position on that may tell of placeholders. Costs a search
/// through their bytes, and the reading of those that are given out.
pub(super) fn each_telling(
    tape: &Tape,
    first: u32,
    take: &mut dyn FnMut(&Event),
) -> io::Result<()> {
    let events = &tape.index.events;
    let Some(start) = events.get(first).map(|event| event.offset) else {
        return Ok(());
    };
    // Lines of a tape may stand out of order.
    let start = if first == 0 { 0 } else { start };
    // Any event may have needed a new one; most need none.
    let lines = telling_lines(&tape.bytes, start)?;
    if lines.is_empty() {
        return Ok(());
    }
    for position in first..events.len() {
        let offset = events.get(position).map_or(0, |event| event.offset);
        let behind = lines.partition_point(|line| line.end <= offset);
        // Several events may stand on one line.
        if lines.get(behind).is_some_and(|line| line.start <= offset) {
            take(&tape.event(position)?);
        }
    }
    Ok(())
}

/// The lines behind this byte that may tell of placeholders, each with its newline.
fn telling_lines(bytes: &TapeBytes, mut from: u64) -> io::Result<Vec<Range<u64>>> {
    // As much as a field's name is looked at twice: it may stand across the border.
    const BLOCK: usize = 1 << 20;
    const BORDER: usize = 64;
    let mut block = vec![0; BLOCK];
    let mut lines: Vec<Range<u64>> = Vec::new();
    // The line that a block begins in.
    let mut line = from;
    loop {
        let mut count = 0;
        while let Some(rest) = block.get_mut(count..).filter(|rest| !rest.is_empty()) {
            match bytes.read_at(from + count as u64, rest)? {
                0 => break,
                more => count += more,
            }
        }
        let read = block.get(..count).unwrap_or_default();
        // What begins in the border is found in the next block, whole.
        let border = if count > BORDER { BORDER } else { 0 };
        let (done, _) = read.split_at(count - border);
        let found = EventRedaction::telling_at(read);
        for at in found.into_iter().filter(|at| *at < done.len()) {
            let place = from + at as u64;
            if lines.last().is_some_and(|line| line.contains(&place)) {
                continue;
            }
            let before = read.get(..at).unwrap_or_default();
            let newline = memchr::memrchr(b'\n', before);
            let start = newline.map_or(line, |newline| from + newline as u64 + 1);
            lines.push(start..bytes.line_end(place)? + 1);
        }
        if border == 0 {
            return Ok(lines);
        }
        if let Some(newline) = memchr::memrchr(b'\n', done) {
            line = from + newline as u64 + 1;
        }
        from += done.len() as u64;
    }
}

/// Copies the torn bytes to a file beside the tape, and cuts them off.
fn set_aside(path: &Path, sink: &mut Sink, tape: &Tape) -> io::Result<(u64, PathBuf)> {
    let ScanEnd { offset, torn, .. } = tape.end;
    let len = usize::try_from(torn).map_err(io::Error::other)?;
    let bytes = tape.bytes.read_exact_at(offset, len)?;
    let aside = aside_path(path, offset, &bytes)?;
    sink.truncate(offset)?;
    Ok((torn, aside))
}

/// Writes `TAPE.torn-OFFSET`, or finds it there from an earlier try.
fn aside_path(path: &Path, offset: u64, bytes: &[u8]) -> io::Result<PathBuf> {
    let mut tries = 0;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(match tries {
            0 => format!(".torn-{offset}"),
            tries => format!(".torn-{offset}.{tries}"),
        });
        let aside = PathBuf::from(name);
        let mut options = OpenOptions::new();
        match options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&aside)
        {
            Ok(mut file) => {
                file.write_all(bytes)?;
                file.sync_all()?;
                return Ok(aside);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if std::fs::read(&aside)? == bytes {
                    return Ok(aside);
                }
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines are those that hold one of the fields, wherever blocks end.
    #[track_caller]
    fn check(lines: &[String], from: usize) {
        let skipped: usize = lines.iter().take(from).map(String::len).sum();
        let mut at = skipped as u64;
        let mut expected = Vec::new();
        for line in lines.iter().skip(from) {
            let end = at + line.len() as u64;
            if line.contains("\"placeholders\":") || line.contains("\"keyed\":") {
                expected.push(at..end);
            }
            at = end;
        }
        let bytes = TapeBytes::Memory(lines.concat().into_bytes().into());
        let found = telling_lines(&bytes, skipped as u64).unwrap();
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_that_tell_are_found_across_the_borders_of_blocks() {
        let plain = |len: usize| format!("{{{}}}\n", "x".repeat(len));
        let telling = |before: usize, behind: usize| {
            let (before, behind) = ("x".repeat(before), "x".repeat(behind));
            format!("{{\"{before}\",\"placeholders\":[],\"keyed\":\"{behind}\"}}\n")
        };
        check(&[], 0);
        check(&[plain(10), plain(2_000_000)], 0);
        check(&[telling(0, 0)], 0);
        for place in (1_048_480..1_048_600).step_by(17) {
            let lines = [plain(place), telling(5, 0), plain(3), telling(0, 2)];
            check(&lines, 0);
            check(&[telling(place, 1_100_000), plain(1), telling(1, 1)], 0);
        }
        let lines = [telling(1, 1), plain(900_000), telling(300_000, 9), plain(1)];
        check(&lines, 1);
    }
}
