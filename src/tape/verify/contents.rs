//! Every content of a tape, decoded and hashed, in bounded memory.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use super::Place;
use super::stats::Tally;
use crate::model::{BlobHash, Kind, ProblemKind};
use crate::tape::blobs::{BlobCache, BlobError, BlobSource as _, decompress, spliced};
use crate::tape::index::Index;
use crate::tape::wire::v1::{BlobParts, decode_blob};
use crate::tape::wire::{Enc, Line};
use crate::tape::{MAX_BLOB, MAX_CHAIN, Tape};

#[derive(Debug, Default)]
pub(super) struct Contents {
    cache: BlobCache,
    /// Of each blob that is a splice, how many splices lead to a whole one.
    chains: HashMap<u64, usize>,
    /// Splices whose base is not at hand: looked at when the whole index is known.
    waiting: Vec<(Place, u32)>,
    /// Blobs that were named before they were stored.
    unresolved: Vec<(Place, BlobHash)>,
}

/// What is wrong with a content.
type Fault = (ProblemKind, String);

impl Contents {
    /// Checks the content of a line; `position` is its event's.
    pub(super) fn check(
        &mut self,
        line: &Line<'_>,
        place: Place,
        position: u32,
        index: &Index,
        tally: &mut Tally,
    ) -> Result<Option<Arc<[u8]>>, Fault> {
        let head = &line.head;
        let kind = head.kind();
        if !matches!(
            kind,
            Kind::FsWrite | Kind::FsObserve | Kind::Blob | Kind::Raw
        ) {
            return Ok(None);
        }
        let name = head.blob_hash();
        if head.blob.is_some() && name.is_none() {
            return Err(bad_field("`blob` is not a hash".to_owned()));
        }
        if !head.enc.carries_blob() {
            if name.is_some() || head.enc == Enc::None {
                tally.take_content(head.enc, 0);
            }
            match name {
                Some(name) if head.enc == Enc::Elsewhere => self.refer(place, name, index),
                _ => {}
            }
            return Ok(None);
        }
        if let Some(len) = head.len.filter(|len| *len > MAX_BLOB) {
            return Err(bad_field(format!(
                "`len` says {len} bytes; more than {MAX_BLOB} are not read"
            )));
        }
        let Some(parts) = decode_blob(line) else {
            return Err(bad_field(
                "the fields of its content cannot be read".to_owned(),
            ));
        };
        let bytes = match parts {
            BlobParts::Whole(bytes) => bytes,
            BlobParts::Zstd(frame) => {
                let len = head.len.unwrap_or(MAX_BLOB);
                decompress(&frame, len).map_err(|error| bad_hash(name, &error.to_string()))?
            }
            BlobParts::Splice { base, at, del, ins } => {
                let links = self.chains.get(&base.prefix()).copied().unwrap_or(0) + 1;
                if let Some(name) = name {
                    self.chains.insert(name.prefix(), links);
                }
                let Some(bytes) = self.cache.get(&base) else {
                    self.waiting.push((place, position));
                    return long_chain(links).map(|()| None);
                };
                let bytes = spliced(&bytes, at, del, ins.as_bytes())
                    .ok_or_else(|| bad_hash(name, "a splice outside its base"))?;
                long_chain(links)?;
                bytes
            }
        };
        tally.take_content(head.enc, bytes.len() as u64);
        if let Some(len) = head.len.filter(|len| *len != bytes.len() as u64) {
            return Err(bad_field(format!(
                "`len` says {len} bytes, and there are {}",
                bytes.len()
            )));
        }
        let bytes: Arc<[u8]> = bytes.into();
        if let Some(name) = name {
            check_hash(name, &bytes)?;
            self.cache.put(name, &bytes);
        }
        Ok(Some(bytes))
    }

    /// Notes that a line needs a blob of another one.
    pub(super) fn refer(&mut self, place: Place, name: BlobHash, index: &Index) {
        if !is_stored(&name, index) {
            self.unresolved.push((place, name));
        }
    }

    /// Checks what had to wait, now that the whole tape is known.
    pub(super) fn finish(
        self,
        tape: &Tape,
        mut report: impl FnMut(Place, Fault),
    ) -> io::Result<()> {
        for (place, name) in self.unresolved {
            if !is_stored(&name, &tape.index) {
                let text = format!("{name} is named and nowhere stored");
                report(place, (ProblemKind::MissingBlob, text));
            }
        }
        for (place, position) in self.waiting {
            let checked = tape.with_line(position, |line| {
                let parts = decode_blob(line);
                let (Some(BlobParts::Splice { base, at, del, ins }), Some(name)) =
                    (parts, line.head.blob_hash())
                else {
                    return Ok(());
                };
                let base = match tape.blob(&base) {
                    Ok(base) => base,
                    Err(BlobError::Missing(base) | BlobError::NotKept(base)) => {
                        let text = format!("{base} is changed here and nowhere stored");
                        return Err((ProblemKind::MissingBlob, text));
                    }
                    Err(error) => {
                        let text = format!("what is changed here cannot be read: {error}");
                        return Err((ProblemKind::BadHash, text));
                    }
                };
                let bytes = spliced(&base, at, del, ins.as_bytes())
                    .ok_or_else(|| bad_hash(Some(name), "a splice outside its base"))?;
                check_hash(name, &bytes)
            })?;
            if let Ok(Err(fault)) = checked {
                report(place, fault);
            }
        }
        Ok(())
    }
}

fn is_stored(name: &BlobHash, index: &Index) -> bool {
    let id = index.blobs.find(name);
    id.is_some_and(|id| index.blobs.position(id).is_some())
}

fn check_hash(name: BlobHash, bytes: &[u8]) -> Result<(), Fault> {
    let hash = BlobHash::of(bytes);
    if hash == name {
        return Ok(());
    }
    Err(bad_hash(
        Some(name),
        &format!("they hash to {}", hash.short()),
    ))
}

fn bad_hash(name: Option<BlobHash>, why: &str) -> Fault {
    let name = name.map_or_else(|| "this record".to_owned(), |name| name.to_string());
    let text = format!("the stored bytes of {name} are damaged: {why}");
    (ProblemKind::BadHash, text)
}

fn bad_field(text: String) -> Fault {
    (ProblemKind::BadField, text)
}

fn long_chain(links: usize) -> Result<(), Fault> {
    if links == MAX_CHAIN + 1 {
        let text = format!("a chain of more than {MAX_CHAIN} splices leads to this content");
        return Err(bad_field(text));
    }
    Ok(())
}
