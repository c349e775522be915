//! The walk that writes a tape again, line for line.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::history::Cut;
use crate::model::{BlobHash, Body, Content, Event, FileChange, Kind, LineHash, Problem, Seq};
use crate::tape::lines::{Piece, read_line, to_text};
use crate::tape::manifest::{Manifest, Node};
use crate::tape::pack::{Effort, Packer, cost, is_base, splice};
use crate::tape::scan::{Record, ScanEnd, ScanSink, is_event};
use crate::tape::wire::v1::{
    Carried, DirectoryEntry, Stored, carry_line, decode_directory, decode_event, encode_event,
    parse_record,
};
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
    cut: Option<Cut>,
    /// Directories that the new tape holds, where the old history was dropped.
    directories: HashSet<BlobHash>,
    /// What the header says of this compacting.
    remark: Option<Value>,
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
    pub(super) fn new(
        tape: &'a Tape,
        out: W,
        cut: Option<Cut>,
        remark: Option<Value>,
    ) -> io::Result<Self> {
        Ok(Self {
            tape,
            out,
            packer: Packer::new(Effort::Thorough)?,
            manifest: Manifest::default(),
            stored: HashMap::new(),
            prev: None,
            last_t: 0,
            cut,
            directories: HashSet::new(),
            remark,
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
            _ if self.is_history(at.offset) => return Ok(()),
            _ => return self.write(bytes),
        };
        let offset = at.offset + range.start as u64;
        let record = to_text(bytes.get(range).unwrap_or_default());
        let Ok((line, _)) = parse_record(&record) else {
            return self.write(bytes);
        };
        let seq = Seq(line.head.seq.unwrap_or_default());
        match self.standing(&line, offset)? {
            Standing::Counts => {}
            Standing::Repeats => return Ok(()),
            Standing::Conflicts => return self.write(bytes),
        }
        let event = decode_event(&line);
        if event.kind() != Kind::Tape && self.is_history(offset) {
            self.last_t = line.head.t.unwrap_or(self.last_t);
            self.manifest.apply(seq, &event);
            return self.keep_up_to(seq.0);
        }
        if self.cut.as_ref().is_some_and(|cut| seq >= cut.from) {
            self.keep_up_to(seq.0 - 1)?;
        }
        let content = self.content(&line, &event)?;
        let packed = match &content {
            Some((name, bytes)) => Some(self.pack(*name, bytes, &event)?),
            None => None,
        };
        let is_better = |packed: &&Packed<'_>| {
            whole_cost(&line).is_none_or(|(known, name)| cost(&packed.stored) + name < known)
        };
        self.last_t = line.head.t.unwrap_or(self.last_t);
        let field = match &event.body {
            Body::Tape(_) => self.remark.take().map(|remark| ("compacted", remark)),
            Body::Snapshot {
                root, directories, ..
            } if self.cut.is_some() => Some(("dirs", self.directories_of(*root, directories))),
            _ => None,
        };
        let carried = Carried {
            t: self.last_t,
            prev: self.prev,
            content: packed
                .as_ref()
                .filter(is_better)
                .map(|packed| (packed.name, packed.len, &packed.stored)),
            field: field.as_ref().map(|(key, value)| (*key, value)),
            // With what it shares, it has no parent any more.
            without: matches!(event.body, Body::Tape(_)).then_some("parent"),
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
        self.manifest.apply(seq, &event);
        self.write(written.as_deref().unwrap_or(bytes))
    }

    /// Whether a line at this offset is of the history that is dropped.
    fn is_history(&self, offset: u64) -> bool {
        self.cut.as_ref().is_some_and(|cut| {
            let events = &self.tape.index.events;
            let first = events
                .position(cut.from)
                .and_then(|first| events.get(first));
            offset > 0 && first.is_some_and(|first| offset < first.offset)
        })
    }

    /// Writes what is kept of the history, up to this number.
    fn keep_up_to(&mut self, seq: u64) -> io::Result<()> {
        let Some(cut) = &mut self.cut else {
            return Ok(());
        };
        let mut due: Vec<u64> = cut
            .kept
            .keys()
            .copied()
            .filter(|kept| *kept <= seq)
            .collect();
        due.sort_unstable();
        let due: Vec<(u64, Event)> = due
            .into_iter()
            .filter_map(|seq| Some((seq, cut.kept.remove(&seq)?)))
            .collect();
        for (seq, mut event) in due {
            event.head.seq = Some(Seq(seq));
            event.head.t = Some(self.last_t);
            let content = match &event.body {
                Body::File(FileChange { content, .. }) | Body::Blob(content) => Some(content),
                _ => None,
            };
            let bytes = match content {
                Some(Content::Blob { hash, .. }) => self.tape.blob(hash).ok(),
                _ => None,
            };
            let stored = match (&bytes, content) {
                (Some(bytes), Some(Content::Blob { hash, .. })) => {
                    self.stored.insert(*hash, 0);
                    self.packer.whole(bytes)?
                }
                _ => Stored::Elsewhere,
            };
            if let Body::Snapshot { directories, .. } = &event.body {
                self.directories
                    .extend(directories.iter().map(|(hash, _)| *hash));
            }
            let line = encode_event(&event, &stored, self.prev);
            self.write(&line)?;
        }
        Ok(())
    }

    /// The directories that travel in a snapshot: its own, and those that only dropped
    /// snapshots held.
    fn directories_of(&mut self, root: BlobHash, own: &[(BlobHash, Arc<[u8]>)]) -> Value {
        let dropped = self.cut.as_ref().map(|cut| &cut.directories);
        let mut texts = Map::new();
        let mut waiting = vec![root];
        while let Some(hash) = waiting.pop() {
            if !self.directories.insert(hash) {
                continue;
            }
            let here = own.iter().find(|(known, _)| *known == hash);
            let text = here.map(|(_, text)| text);
            let text = text.or_else(|| dropped.and_then(|dropped| dropped.get(&hash)));
            let Some(text) = text else { continue };
            for (_, entry) in decode_directory(text).unwrap_or_default() {
                if let DirectoryEntry::Directory { hash, .. } = entry {
                    waiting.push(hash);
                }
            }
            let text = String::from_utf8_lossy(text).into_owned();
            texts.insert(hash.to_string(), text.into());
        }
        texts.into()
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
        // Its bytes may have stood in the history that is dropped.
        let is_dropped = self.cut.is_some()
            && line.head.enc == Enc::Elsewhere
            && !self.stored.contains_key(hash)
            && self.is_stored_in_history(hash);
        if !is_here && !is_dropped {
            return Ok(None);
        }
        match self.tape.blob(hash) {
            Ok(bytes) => Ok(Some((Some(*hash), bytes))),
            Err(crate::tape::BlobError::Io(error)) => Err(error),
            // Damaged: carried over as it stands.
            Err(_) => Ok(None),
        }
    }

    fn is_stored_in_history(&self, name: &BlobHash) -> bool {
        let (blobs, events) = (&self.tape.index.blobs, &self.tape.index.events);
        let holder = blobs.find(name).and_then(|id| blobs.position(id));
        let offset = holder.and_then(|holder| events.get(holder));
        offset.is_some_and(|holder| self.is_history(holder.offset))
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

/// What a whole content takes in its line, and what its name would add where it has none.
fn whole_cost(line: &Line<'_>) -> Option<(usize, usize)> {
    const NAME: usize = 96;
    let field = match line.head.enc {
        Enc::Text | Enc::Elsewhere => "text",
        Enc::Zstd => "data",
        _ => return None,
    };
    let is_named = line.head.blob.is_some() || line.head.kind() == Kind::Raw;
    let (_, raw) = line.content.iter().rev().find(|(key, _)| key == field)?;
    // Without its quotes.
    let known = raw.get().len().saturating_sub(2);
    Some((known, if is_named { 0 } else { NAME }))
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
