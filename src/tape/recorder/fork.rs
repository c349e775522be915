//! Beginning a fork: a tape that goes on behind lines of another one.
//!
//! What the shared lines say is known of the parent, so that the fork's steps, contents, calls
//! and placeholders go on from there: only a few of them are read. The parent is only read.

use std::path::Path;

use super::clock::Clock;
use super::files::{Behind, Files};
use super::resume::{each_telling, remember};
use super::written::Written;
use super::{History, RecordError, Recorder, RecorderOptions, Sink, Untimed, sync_new};
use crate::model::{Header, Parent};
use crate::tape::Tape;

impl Recorder {
    /// Begins a fork at `path`, with mode 0600, behind the lines that it shares. A file that is
    /// there is never written over. `parent_path` is where the header says that its parent
    /// lies.
    ///
    /// The first event has the number behind the last shared one. Contents that stand on
    /// shared lines are named and not carried again. Costs a copy of what is known of the
    /// shared lines, and the reading of a few.
    pub fn fork<F: Files + 'static>(
        path: &Path,
        behind: Behind<'_, F>,
        parent_path: Option<String>,
        header: Header,
        options: RecorderOptions,
    ) -> Result<Self, RecordError> {
        let sink = Sink::create(path)?;
        sync_new(path, options.sync)?;
        let started = header.started;
        let begun = Self::begin_fork(sink, behind, parent_path, header, options.clone());
        let mut recorder = begun.inspect_err(|_| {
            // It is ours, it is new, and it has no event.
            let _ = std::fs::remove_file(path);
        })?;
        if options.untimed == Untimed::Now {
            recorder.clock = Clock::going_on(started, recorder.last_t);
        }
        Ok(recorder)
    }

    /// Takes in the placeholders of a tape from this position on: its events may be copied, and
    /// each placeholder stands for one secret then, too. Costs one reading of them, if anything
    /// is taken out at all.
    pub fn foresee(&mut self, tape: &Tape, first: u32) -> std::io::Result<()> {
        let Some(redaction) = &mut self.redaction else {
            return Ok(());
        };
        each_telling(tape, first, &mut |event| redaction.foresee(event))
    }

    fn begin_fork<F: Files + 'static>(
        sink: Sink,
        Behind {
            parent,
            files,
            shared,
        }: Behind<'_, F>,
        parent_path: Option<String>,
        header: Header,
        options: RecorderOptions,
    ) -> Result<Self, RecordError> {
        let header = Header {
            parent: Some(Parent {
                path: parent_path,
                ..shared.parent()
            }),
            ..header
        };
        let placeholders = shared.placeholders();
        let mut recorder = Self::begin(sink, header, placeholders, Clock::Still, options)?;
        let bytes = shared
            .before(&recorder.sink.bytes())
            .map_err(RecordError::Write)?;
        let known = parent.known_fork(shared, bytes);
        recorder.tape = known.map_err(RecordError::Write)?;
        let mut files = files.cut(&recorder.tape.index);
        let read = recorder.tape.extend(&mut files);
        read.map_err(RecordError::Write)?;
        recorder.written = Written::behind(Box::new(files));
        recorder.history = History::Shared;
        let events = &recorder.tape.index.events;
        let last = events.len().checked_sub(1);
        let last = last.and_then(|last| events.get(last));
        recorder.last_t = last.map_or(0, |event| event.t);
        if let Some(redaction) = &mut recorder.redaction {
            remember(&recorder.tape, redaction).map_err(RecordError::Write)?;
        }
        Ok(recorder)
    }
}
