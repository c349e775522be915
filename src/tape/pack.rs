//! How the bytes of a content travel in a line: as they are, compressed, or as a change of
//! another blob. The smallest that people can still read is preferred.
//!
//! Only chooses: what is on the tape already and which base fits is the caller's to know.

use std::io;

use super::wire::v1::Stored;
use crate::model::BlobHash;

/// Text up to this size stays text: `jq` reads it, and compressing it costs more time than
/// it saves bytes.
const SMALL: usize = 8 << 10;
/// A larger base is not worth its read.
const MAX_BASE: usize = 4 << 20;
/// What a splice takes beside the text it puts in: names, numbers, the base's hash.
const SPLICE_COST: usize = 128;

/// Chooses and compresses. Keeps the compressor between contents.
pub(super) struct Packer {
    zstd: zstd::bulk::Compressor<'static>,
}

impl Packer {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            zstd: zstd::bulk::Compressor::new(3)?,
        })
    }

    /// The whole content: as text where it is text and short, or does not get shorter.
    pub(super) fn whole<'a>(&mut self, bytes: &'a [u8]) -> io::Result<Stored<'a>> {
        let text = std::str::from_utf8(bytes).ok();
        if let Some(text) = text
            && bytes.len() <= SMALL
        {
            return Ok(Stored::Text(text));
        }
        let frame = self.zstd.compress(bytes)?;
        // Base64 makes three bytes four. Half of the text is worth not being able to read it.
        Ok(match text {
            Some(text) if frame.len() / 3 * 4 > bytes.len() / 2 => Stored::Text(text),
            _ => Stored::Zstd(frame),
        })
    }
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}

/// Whether a content of this length may be a base.
pub(super) fn is_base(len: u64) -> bool {
    len <= MAX_BASE as u64
}

/// The content as a change of `base`, where that takes less than a quarter of it.
pub(super) fn splice<'a>(name: BlobHash, base: &[u8], bytes: &'a [u8]) -> Option<Stored<'a>> {
    let shorter = base.len().min(bytes.len());
    let mut start = common(
        base.chunks(CHUNK),
        bytes.chunks(CHUNK),
        base.iter(),
        bytes.iter(),
    );
    let behind = common(
        base.rchunks(CHUNK),
        bytes.rchunks(CHUNK),
        base.iter().rev(),
        bytes.iter().rev(),
    );
    let mut tail = behind.min(shorter - start);
    // What is put in is text: it begins and ends between two characters.
    while start > 0 && !is_boundary(bytes, start) {
        start -= 1;
    }
    while tail > 0 && !is_boundary(bytes, bytes.len() - tail) {
        tail -= 1;
    }
    let ins = bytes.get(start..bytes.len() - tail)?;
    let is_small = (ins.len() + SPLICE_COST).saturating_mul(4) < bytes.len();
    Some(Stored::Splice {
        base: name,
        at: start as u64,
        del: (base.len() - tail - start) as u64,
        ins: std::str::from_utf8(ins).ok().filter(|_| is_small)?,
    })
}

/// Compared at once.
const CHUNK: usize = 256;

/// How many bytes two contents share from one end: whole chunks first, then byte by byte.
fn common<'a>(
    base: impl Iterator<Item = &'a [u8]>,
    bytes: impl Iterator<Item = &'a [u8]>,
    base_bytes: impl Iterator<Item = &'a u8>,
    bytes_bytes: impl Iterator<Item = &'a u8>,
) -> usize {
    let is_equal = |(a, b): &(&[u8], &[u8])| a.len() == CHUNK && a == b;
    let whole = base.zip(bytes).take_while(is_equal).count() * CHUNK;
    let rest = base_bytes.skip(whole).zip(bytes_bytes.skip(whole));
    whole + rest.take_while(|(a, b)| a == b).count()
}

fn is_boundary(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| byte & 0xc0 != 0x80)
}
