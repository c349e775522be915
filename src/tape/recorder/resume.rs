//! Going on with a tape that is there: what is torn is set aside, what is known is read again.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
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

/// Gives out each event from this position on that may tell of placeholders. Costs one reading
/// of them, and little more where none tells.
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
    if !tells_behind(&tape.bytes, start)? {
        return Ok(());
    }
    for position in first..events.len() {
        // Any event may have needed a new one; most need none.
        if EventRedaction::may_tell(&tape.record(position)?) {
            take(&tape.event(position)?);
        }
    }
    Ok(())
}

/// Whether anything behind this byte tells of placeholders.
fn tells_behind(bytes: &TapeBytes, mut from: u64) -> io::Result<bool> {
    // As much as a field's name is looked at twice: it may stand across the border.
    const BLOCK: usize = 1 << 20;
    const BORDER: usize = 64;
    let mut block = vec![0; BLOCK];
    loop {
        let mut count = 0;
        while let Some(rest) = block.get_mut(count..).filter(|rest| !rest.is_empty()) {
            match bytes.read_at(from + count as u64, rest)? {
                0 => break,
                more => count += more,
            }
        }
        let read = block.get(..count).unwrap_or_default();
        if EventRedaction::may_tell(read) {
            return Ok(true);
        }
        if count <= BORDER {
            return Ok(false);
        }
        from += (count - BORDER) as u64;
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
