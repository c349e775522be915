//! Contents: found by hash, decoded, followed through splices, checked.
//!
//! A blob is handed out only if its bytes hash to its name. One of hostile size is refused
//! before anything is allocated for it.

use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::Tape;
use super::index::BlobId;
use super::wire::Enc;
use super::wire::v1::{BlobParts, decode_blob};
use crate::model::{BlobHash, Body, Content};

/// The largest blob that is read: 1 GiB.
pub const MAX_BLOB: u64 = 1 << 30;
/// The longest chain of splices that the format allows.
pub const MAX_CHAIN: usize = 32;

/// Why a blob cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// It is named and nowhere stored.
    #[error("{0} is not on the tape")]
    Missing(BlobHash),
    /// Its bytes were not kept.
    #[error("the bytes of {0} were not kept")]
    NotKept(BlobHash),
    /// What is stored does not hash to its name.
    #[error("the stored bytes of {0} are damaged: {1}")]
    Damaged(BlobHash, String),
    /// It is larger than this reader takes.
    #[error("{0} says that it holds {1} bytes; more than {MAX_BLOB} are not read")]
    TooLarge(BlobHash, u64),
    /// The tape could not be read.
    #[error("the tape could not be read: {0}")]
    Io(#[from] io::Error),
}

/// Where bytes come from, for layers that do no I/O themselves.
pub trait BlobSource {
    /// The bytes of a blob, checked.
    fn blob(&self, hash: &BlobHash) -> Result<Arc<[u8]>, BlobError>;
}

impl BlobSource for Tape {
    fn blob(&self, hash: &BlobHash) -> Result<Arc<[u8]>, BlobError> {
        if let Some(bytes) = self.cache.get(hash) {
            return Ok(bytes);
        }
        let bytes: Arc<[u8]> = self.decode(hash)?.into();
        self.cache.put(*hash, &bytes);
        Ok(bytes)
    }
}

/// A blob as it stands on the tape, where it is a change of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The blob that is changed.
    pub base: BlobHash,
    /// Where, in bytes.
    pub at: u64,
    /// How many bytes are taken out.
    pub del: u64,
    /// What is put in.
    pub ins: String,
}

impl Tape {
    /// The change as which a blob stands on the tape; `None` where it is none, or cannot be
    /// read. Nothing is checked: whoever makes the change looks whether it gives the blob.
    pub fn splice(&self, hash: &BlobHash) -> Option<Splice> {
        let blobs = &self.index.blobs;
        let position = blobs.position(blobs.find(hash)?)?;
        let told = self.with_head(position, |head| (head.base_hash(), head.blob_hash()));
        let (base, named) = told.ok()?.ok()?;
        base?;
        if named.is_some_and(|named| named != *hash) {
            return None;
        }
        match self.with_line(position, decode_blob).ok()?.ok()?? {
            BlobParts::Splice { base, at, del, ins } => Some(Splice { base, at, del, ins }),
            BlobParts::Whole(_) | BlobParts::Zstd(_) => None,
        }
    }

    /// How many splices lead from a blob to a whole one; of a longer chain than is allowed,
    /// no more than that.
    pub(super) fn chain(&self, hash: &BlobHash) -> usize {
        let base = |hash: &BlobHash| {
            let blobs = &self.index.blobs;
            let position = blobs.position(blobs.find(hash)?)?;
            let told = self.with_head(position, |head| (head.enc, head.base_hash()));
            let (enc, base) = told.ok()?.ok()?;
            base.filter(|_| enc == Enc::Splice)
        };
        std::iter::successors(base(hash), base)
            .take(MAX_CHAIN)
            .count()
    }

    /// The hash and the length of a blob, from the line that holds it, or that named it.
    pub fn blob_head(&self, id: BlobId, named_at: u32) -> (Option<BlobHash>, Option<u64>) {
        let blobs = &self.index.blobs;
        let positions = [blobs.position(id), Some(named_at)];
        for position in positions.into_iter().flatten() {
            let told = self.with_head(position, |head| (head.blob_hash(), head.len));
            let Ok(Ok((hash, len))) = told else { continue };
            if let Some(hash) = hash
                && blobs.find(&hash) == Some(id)
            {
                return (Some(hash), len);
            }
            // Written by hand: the event names no hash, its content does.
            let content = match self.event(position).map(|event| event.body) {
                Ok(Body::File(change)) => change.content,
                Ok(Body::Blob(content)) => content,
                _ => continue,
            };
            if let Content::Blob { hash, len, .. } = content
                && blobs.find(&hash) == Some(id)
            {
                return (Some(hash), Some(len));
            }
        }
        (None, None)
    }

    fn decode(&self, hash: &BlobHash) -> Result<Vec<u8>, BlobError> {
        // Down the chain to a whole content, then up again with the splices.
        let mut splices = Vec::new();
        let mut wanted = *hash;
        let mut bytes = loop {
            if let Some(bytes) = self.cache.get(&wanted) {
                break bytes.to_vec();
            }
            match self.parts(&wanted)? {
                BlobParts::Whole(bytes) => break bytes,
                BlobParts::Zstd(frame) => {
                    let len = self.blob_len(&wanted)?;
                    break decompress(&frame, len)
                        .map_err(|error| BlobError::Damaged(wanted, error.to_string()))?;
                }
                BlobParts::Splice { base, at, del, ins } => {
                    // Twice the limit: a tape that breaks the rule a little still opens.
                    if splices.len() >= 2 * MAX_CHAIN {
                        let why = "its chain of splices does not end".to_owned();
                        return Err(BlobError::Damaged(*hash, why));
                    }
                    splices.push((wanted, at, del, ins));
                    wanted = base;
                }
            }
        };
        check(&wanted, &bytes)?;
        for (name, at, del, ins) in splices.into_iter().rev() {
            bytes = spliced(&bytes, at, del, ins.as_bytes())
                .ok_or_else(|| BlobError::Damaged(name, "a splice outside its base".to_owned()))?;
            check(&name, &bytes)?;
        }
        Ok(bytes)
    }

    fn parts(&self, hash: &BlobHash) -> Result<BlobParts, BlobError> {
        let blobs = &self.index.blobs;
        let id = blobs.find(hash).ok_or(BlobError::Missing(*hash))?;
        let position = blobs.position(id).ok_or(BlobError::NotKept(*hash))?;
        self.with_line(position, |line| {
            let named = line.head.blob_hash();
            if named.is_some_and(|named| named != *hash) {
                return Err(BlobError::Missing(*hash));
            }
            if let Some(len) = line.head.len
                && len > MAX_BLOB
            {
                return Err(BlobError::TooLarge(*hash, len));
            }
            decode_blob(line)
                .ok_or_else(|| BlobError::Damaged(*hash, "its line cannot be read".to_owned()))
        })?
        .map_err(|reason| BlobError::Damaged(*hash, reason))?
    }

    fn blob_len(&self, hash: &BlobHash) -> Result<u64, BlobError> {
        let blobs = &self.index.blobs;
        let id = blobs.find(hash).ok_or(BlobError::Missing(*hash))?;
        let position = blobs.position(id).ok_or(BlobError::NotKept(*hash))?;
        let len = self.with_line(position, |line| line.head.len)?;
        Ok(len.ok().flatten().unwrap_or(MAX_BLOB))
    }
}

fn check(hash: &BlobHash, bytes: &[u8]) -> Result<(), BlobError> {
    if BlobHash::of(bytes) == *hash {
        return Ok(());
    }
    let why = format!("they hash to {}", BlobHash::of(bytes).short());
    Err(BlobError::Damaged(*hash, why))
}

/// `base` with `del` bytes at `at` replaced by `ins`.
pub(super) fn spliced(base: &[u8], at: u64, del: u64, ins: &[u8]) -> Option<Vec<u8>> {
    let start = usize::try_from(at).ok()?;
    let end = start.checked_add(usize::try_from(del).ok()?)?;
    let before = base.get(..start)?;
    let after = base.get(end..)?;
    Some([before, ins, after].concat())
}

/// Decompresses one zstd frame that is said to hold `len` bytes; never more.
pub(crate) fn decompress(frame: &[u8], len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    zstd::Decoder::new(frame)?
        .take(len.min(MAX_BLOB) + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > len {
        return Err(io::Error::other("more bytes than `len` says"));
    }
    Ok(bytes)
}

/// A small cache of decoded blobs: scrubbing goes back and forth over the same few, and a
/// recorder writes changes of the same few. The oldest leaves first.
#[derive(Debug, Default)]
pub(super) struct BlobCache(Mutex<Cached>);

#[derive(Debug, Default)]
struct Cached {
    blobs: HashMap<BlobHash, Arc<[u8]>, RandomState>,
    order: VecDeque<BlobHash>,
    bytes: usize,
}

/// Bytes that the cache keeps at most.
const CACHE: usize = 32 << 20;
/// What an entry takes beside its bytes.
const ENTRY: usize = 128;

impl BlobCache {
    pub(super) fn get(&self, hash: &BlobHash) -> Option<Arc<[u8]>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.blobs.get(hash).map(Arc::clone)
    }

    pub(super) fn put(&self, hash: BlobHash, bytes: &Arc<[u8]>) {
        if bytes.len() > CACHE / 4 {
            return;
        }
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.blobs.insert(hash, Arc::clone(bytes)).is_some() {
            return;
        }
        cached.order.push_back(hash);
        cached.bytes += bytes.len() + ENTRY;
        while cached.bytes > CACHE {
            let Some(oldest) = cached.order.pop_front() else {
                return;
            };
            if let Some(bytes) = cached.blobs.remove(&oldest) {
                cached.bytes -= bytes.len() + ENTRY;
            }
        }
    }
}
