//! The walk that writes a tape again, line for line.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::model::{BlobHash, Body, Content, Event, Kind, LineHash, Problem, Seq};
use crate::tape::lines::{Piece, read_line, to_text};
use crate::tape::manifest::{Manifest, Node};
use crate::tape::pack::{Effort, Packer, cost, is_base, splice};
use crate::tape::scan::{Record, ScanEnd, ScanSink, is_event};
use crate::tape::wire::v1::{Carried, Stored, carry_line, decode_event, parse_record};
use crate::tape::wire::{Enc, Line};
use crate::tape::{BlobSource as _, MAX_CHAIN, Tape};

/// Writes the lines of a tape again, smaller. What cannot be read is carried over as it
/// stands.
pub(super) struct Rewriter<'a, W> {
    tape: &'a Tape,
    out: W,
    packer: Packer,
    manifest: Manifest,
    /// Blobs that the new tape holds, and how many splices lead from each to a whole one.
    stored: HashMap<BlobHash, usize>,
    prev: Option<LineHash>,
    last_t: u64,
    pub(super) failure: Option<io::Error>,
}

/// The bytes of a content. A raw record has no name.
type Bytes = (Option<BlobHash>, Arc<[u8]>);

/// A content and how it will travel.
struct Packed<'a> {
    name: Option<BlobHash>,
    len: u64,
    stored: Stored<'a>,
}

impl<'a, W: Write> Rewriter<'a, W> {
    pub(super) fn new(tape: &'a Tape, out: W) -> io::Result<Self> {
        Ok(Self {
            tape,
            out,
            packer: Packer::new(Effort::Thorough)?,
            manifest: Manifest::default(),
            stored: HashMap::new(),
            prev: None,
            last_t: 0,
            failure: None,
        })
    }

    /// What was written to.
    pub(super) fn into_out(self) -> W {
        self.out
    }

    fn take(&mut self, bytes: &[u8], at: ScanEnd) -> io::Result<()> {
        let content = read_line(bytes, is_event);
        let range = match content.pieces.as_slice() {
            [Piece::Record(range)] if content.remarks.is_empty() => range.clone(),
            _ => return self.write(bytes),
        };
        let offset = at.offset + range.start as u64;
        let record = to_text(bytes.get(range).unwrap_or_default());
        let Ok((line, _)) = parse_record(&record) else {
            return self.write(bytes);
        };
        match self.standing(&line, offset)? {
            Standing::Counts => {}
            Standing::Repeats => return Ok(()),
            Standing::Conflicts => return self.write(bytes),
        }
        let event = decode_event(&line);
        let content = self.content(&line, &event)?;
        let packed = match &content {
            Some((name, bytes)) => Some(self.pack(*name, bytes, &event)?),
            None => None,
        };
        let is_better = |packed: &&Packed<'_>| {
            whole_cost(&line).is_none_or(|known| cost(&packed.stored) < known)
        };
        self.last_t = line.head.t.unwrap_or(self.last_t);
        let carried = Carried {
            t: self.last_t,
            prev: self.prev,
            content: packed
                .as_ref()
                .filter(is_better)
                .map(|packed| (packed.name, packed.len, &packed.stored)),
            field: None,
        };
        let written = carry_line(&record, carried);
        if let Some(Packed {
            name: Some(name),
            stored,
            ..
        }) = &packed
        {
            let links = match stored {
                Stored::Splice { base, .. } if carried.content.is_some() => self.links(base) + 1,
                _ => 0,
            };
            self.stored.entry(*name).or_insert(links);
        }
        self.manifest
            .apply(Seq(line.head.seq.unwrap_or_default()), &event);
        self.write(written.as_deref().unwrap_or(bytes))
    }

    /// Whether the record at this offset is the one that counts for its number.
    fn standing(&self, line: &Line<'_>, offset: u64) -> io::Result<Standing> {
        let events = &self.tape.index.events;
        let known = line.head.seq.and_then(|seq| events.position(Seq(seq)));
        let Some(known) = known else {
            return Ok(Standing::Counts);
        };
        let stands = events.get(known).map(|event| event.offset);
        if stands == Some(offset) {
            return Ok(Standing::Counts);
        }
        let first = self.tape.record(known)?;
        let this = self.tape.bytes.read_exact_at(offset, first.len());
        Ok(if this.is_ok_and(|this| this == first) {
            Standing::Repeats
        } else {
            Standing::Conflicts
        })
    }

    /// The bytes of a line's content, if they travel in it and can be read.
    fn content(&self, line: &Line<'_>, event: &Event) -> io::Result<Option<Bytes>> {
        let content = match &event.body {
            Body::File(change) => &change.content,
            Body::Blob(content) => content,
            Body::Raw { bytes, .. } => {
                let is_whole = line.head.len == Some(bytes.len() as u64);
                return Ok(is_whole.then(|| (None, Arc::clone(bytes))));
            }
            _ => return Ok(None),
        };
        let Content::Blob { hash, .. } = content else {
            return Ok(None);
        };
        let is_here = line.head.enc.carries_blob() || line.head.blob.is_none();
        if !is_here {
            return Ok(None);
        }
        match self.tape.blob(hash) {
            Ok(bytes) => Ok(Some((Some(*hash), bytes))),
            Err(crate::tape::BlobError::Io(error)) => Err(error),
            // Damaged: carried over as it stands.
            Err(_) => Ok(None),
        }
    }

    fn pack<'b>(
        &mut self,
        name: Option<BlobHash>,
        bytes: &'b [u8],
        event: &Event,
    ) -> io::Result<Packed<'b>> {
        let len = bytes.len() as u64;
        if name.is_some_and(|name| self.stored.contains_key(&name)) {
            let stored = Stored::Elsewhere;
            return Ok(Packed { name, len, stored });
        }
        let mut stored = self.packer.whole(bytes)?;
        if let Some(base) = self.base_of(event)
            && is_base(len)
            && let Ok(base_bytes) = self.tape.blob(&base)
            && let Some(spliced) = splice(base, &base_bytes, bytes, cost(&stored))
        {
            stored = spliced;
        }
        Ok(Packed { name, len, stored })
    }

    /// What the file held before, if that is on the new tape and near enough to a whole one.
    fn base_of(&self, event: &Event) -> Option<BlobHash> {
        let Body::File(change) = &event.body else {
            return None;
        };
        let Some(Node::File(file)) = self.manifest.get(&event.head, &change.path) else {
            return None;
        };
        let base = file.hash.filter(|_| file.len.is_some_and(is_base))?;
        let is_near = self
            .stored
            .get(&base)
            .is_some_and(|links| *links < MAX_CHAIN);
        is_near.then_some(base)
    }

    fn links(&self, name: &BlobHash) -> usize {
        self.stored.get(name).copied().unwrap_or_default()
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.prev = Some(LineHash::of(line));
        self.out.write_all(line)?;
        self.out.write_all(b"\n")
    }
}

/// What a whole content takes in its line, as it stands there with its name.
fn whole_cost(line: &Line<'_>) -> Option<usize> {
    let field = match line.head.enc {
        Enc::Text => "text",
        Enc::Zstd => "data",
        _ => return None,
    };
    let is_named = line.head.blob.is_some() || line.head.kind() == Kind::Raw;
    let (_, raw) = line.content.iter().rev().find(|(key, _)| key == field)?;
    // Without its quotes.
    is_named.then(|| raw.get().len().saturating_sub(2))
}

enum Standing {
    Counts,
    Repeats,
    Conflicts,
}

impl<W: Write> ScanSink for Rewriter<'_, W> {
    fn line(&mut self, line: &[u8], at: ScanEnd) -> ControlFlow<()> {
        match self.take(line, at) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn record(&mut self, _: Record<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn problem(&mut self, _: Problem) {}

    fn wants_whole(&self, _: Kind) -> bool {
        true
    }
}
