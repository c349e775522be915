//! A tape that was opened for reading.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::TapeBytes;
use super::blobs::BlobCache;
use super::index::{Growth, Index, IndexSink};
use super::lines::to_text;
use super::read_ahead::{Block, ReadAhead};
use super::scan::ScanEnd;
use super::wire::v1::{decode_event, parse_record, scan_head};
use super::wire::{Line, RawHead};
use crate::model::{Body, Event, Header, Kind, Problem, ProblemKind};

/// A tape that was opened for reading: its bytes and their index.
///
/// Reading it never writes, and takes no lock.
#[derive(Debug)]
pub struct Tape {
    /// Where its bytes come from.
    pub bytes: TapeBytes,
    /// Where everything is. Shared with whoever keeps it in the cache: grown meanwhile, it is
    /// copied first.
    pub index: Arc<Index>,
    /// How far the index reaches.
    pub end: ScanEnd,
    pub(super) cache: BlobCache,
    /// More bytes are known to be there, and are being taken in.
    is_growing: bool,
}

impl Tape {
    /// Opens the tape at `path`, and tells `sink` of each event.
    pub fn open(path: &Path, sink: &mut impl IndexSink) -> io::Result<Self> {
        Self::read(TapeBytes::File(Arc::new(File::open(path)?)), sink)
    }

    /// Reads a tape from these bytes, and tells `sink` of each event.
    pub fn read(bytes: TapeBytes, sink: &mut impl IndexSink) -> io::Result<Self> {
        let mut tape = Self::unread(bytes);
        tape.extend(sink)?;
        Ok(tape)
    }

    /// A tape of which nothing is known yet; it is to [grow](Self::grow).
    pub fn unread(bytes: TapeBytes) -> Self {
        Self {
            bytes,
            index: Arc::default(),
            end: ScanEnd::default(),
            cache: BlobCache::default(),
            is_growing: false,
        }
    }

    /// A tape whose index is known up to there, and may go on.
    pub(super) fn known(bytes: TapeBytes, index: Index, end: ScanEnd) -> Self {
        Self {
            index: index.into(),
            end,
            ..Self::unread(bytes)
        }
    }

    /// Takes in what was appended since; how many events came.
    pub fn extend(&mut self, sink: &mut impl IndexSink) -> io::Result<u32> {
        let before = self.index.events.len();
        let (mut growth, mut blocks) = self.grow()?;
        let mut read = || {
            while let Some(block) = blocks.next_block()? {
                if self.take(&mut growth, &block, sink).is_break() {
                    break;
                }
                blocks.give_back(block);
            }
            Ok(())
        };
        let read = read();
        self.settle(growth, sink);
        read.map(|()| self.index.events.len() - before)
    }

    /// Begins to take in what stands behind the known end, block by block. Until the growth
    /// is [settled](Self::settle), the tape can be read as far as it is known, and nothing
    /// else may make it grow.
    pub fn grow(&mut self) -> io::Result<(Growth, ReadAhead)> {
        let blocks = ReadAhead::start(self.bytes.clone(), self.end.offset)?;
        Ok((self.grow_from_blocks(), blocks))
    }

    /// The same, for whoever has the bytes from elsewhere.
    pub fn grow_from_blocks(&mut self) -> Growth {
        self.is_growing = true;
        Growth::from(self.end)
    }

    /// Takes the next bytes in, and tells `sink` of each event. A break is the sink's.
    pub fn take(
        &mut self,
        growth: &mut Growth,
        block: &Block,
        sink: &mut impl IndexSink,
    ) -> ControlFlow<()> {
        let flow = growth.take(block, Arc::make_mut(&mut self.index), &self.bytes, sink);
        self.end = growth.end();
        flow
    }

    /// Ends a growth: the bytes that were taken are all there are for now.
    pub fn settle(&mut self, growth: Growth, sink: &mut impl IndexSink) {
        self.end = growth.settle(Arc::make_mut(&mut self.index), &self.bytes, sink);
        self.is_growing = false;
    }

    /// Reads the index again, from the first line.
    pub(super) fn reindex(&mut self) -> io::Result<()> {
        self.index = Arc::default();
        self.end = ScanEnd::default();
        self.extend(&mut ())?;
        Ok(())
    }

    /// Every problem, that of a last line without a newline among them.
    pub fn problems(&self) -> Vec<Problem> {
        let problems = self.problems_by_offset().into_iter();
        problems
            .map(|problem| self.bytes.in_its_file(problem))
            .collect()
    }

    /// The same, with their places among all bytes of a fork, what it shares included.
    pub fn problems_by_offset(&self) -> Vec<Problem> {
        let mut problems = self.index.problems.clone();
        if self.has_torn_tail() {
            let ScanEnd {
                offset,
                lines,
                torn,
            } = self.end;
            let message = format!("the last line has no newline; its {torn} bytes are not counted");
            problems.push(Problem::new(
                lines + 1,
                offset,
                ProblemKind::TornTail,
                message,
            ));
        }
        problems
    }

    /// How many problems there are.
    pub fn problem_count(&self) -> usize {
        self.index.problems.len() + usize::from(self.has_torn_tail())
    }

    /// Whether the last line has no newline, as far as that can be said: while bytes are
    /// being taken in, its end may be among them.
    fn has_torn_tail(&self) -> bool {
        self.end.torn > 0 && !self.is_growing
    }

    /// The header; a default one where the tape has none that can be read.
    pub fn header(&self) -> io::Result<Header> {
        if self.index.events.kind(0) != Some(Kind::Tape) {
            return Ok(Header::default());
        }
        match self.event(0)?.body {
            Body::Tape(header) => Ok(*header),
            _ => Ok(Header::default()),
        }
    }

    /// The event at a position. What cannot be read is a gap that says why.
    pub fn event(&self, position: u32) -> io::Result<Event> {
        Ok(match self.with_line(position, decode_event)? {
            Ok(event) => event,
            Err(why) => {
                let mut event = Event::new(Body::Gap { why });
                event.head.seq = Some(self.index.events.seq(position));
                event.head.t = self.index.events.get(position).map(|event| event.t);
                event
            }
        })
    }

    /// The record's bytes, as they stand on the tape.
    pub fn record(&self, position: u32) -> io::Result<Vec<u8>> {
        let Some((offset, len)) = self.range(position)? else {
            return Ok(Vec::new());
        };
        let mut bytes = self.bytes.read_exact_at(offset, len)?;
        // What a record reaches over to the next one may hold its newline, and ignored lines.
        if let Some(newline) = memchr::memchr(b'\n', &bytes) {
            bytes.truncate(newline);
        }
        Ok(bytes)
    }

    /// The first bytes of a record, at most so many.
    pub fn start_of_record(&self, position: u32, most: usize) -> io::Result<Vec<u8>> {
        match self.range(position)? {
            Some((offset, len)) => self.bytes.read_exact_at(offset, len.min(most)),
            None => Ok(Vec::new()),
        }
    }

    /// Reads a line with `read`; inside, the reason if it cannot be read.
    pub fn with_line<T>(
        &self,
        position: u32,
        read: impl FnOnce(&Line<'_>) -> T,
    ) -> io::Result<Result<T, String>> {
        let record = self.record(position)?;
        if record.is_empty() {
            let seq = self.index.events.seq(position);
            let is_open = self
                .range(position)?
                .is_some_and(|(at, _)| at == self.end.offset);
            return Ok(Err(if is_open {
                "the line is not whole yet".to_owned()
            } else {
                format!("events from {seq} on are missing")
            }));
        }
        let text = to_text(&record);
        Ok(match parse_record(&text) {
            Ok((line, _)) => Ok(read(&line)),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Reads the head of a line with `read`, without the rest of the line where that is
    /// possible; inside, the reason if it cannot be read.
    pub fn with_head<T>(
        &self,
        position: u32,
        read: impl FnOnce(&RawHead<'_>) -> T,
    ) -> io::Result<Result<T, String>> {
        const FIRST: usize = 1024;
        if let Some((offset, len)) = self.range(position)?
            && len > 0
        {
            let first = self.bytes.read_exact_at(offset, len.min(FIRST))?;
            if let Some(head) = scan_head(&first) {
                return Ok(Ok(read(&head)));
            }
        }
        self.with_line(position, |line| read(&line.head))
    }

    /// The length of the record at a position, in bytes.
    pub fn record_len(&self, position: u32) -> io::Result<u64> {
        Ok(self.range(position)?.map_or(0, |(_, len)| len as u64))
    }

    /// Where the record at a position lies. An empty one is a gap between two lines.
    fn range(&self, position: u32) -> io::Result<Option<(u64, usize)>> {
        let Some(event) = self.index.events.get(position) else {
            return Ok(None);
        };
        let next = position
            .checked_add(1)
            .and_then(|next| self.index.events.get(next))
            .map_or(self.end.offset, |next| next.offset);
        let len = next.saturating_sub(event.offset);
        usize::try_from(len)
            .map(|len| Some((event.offset, len)))
            .map_err(io::Error::other)
    }
}
