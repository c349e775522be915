//! How the bytes of a content travel in a line: as they are, compressed, or as a change of
//! another blob. The smallest that people can still read is preferred.
//!
//! Only chooses: what is on the tape already and which base fits is the caller's to know.

use std::io;

use super::wire::v1::Stored;
use crate::model::BlobHash;

/// How much is done for a smaller tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// As much as a run may wait for: text up to 8 KiB stays text, which `jq` reads, and
    /// compressing it would cost more time than it saves bytes. Larger text is compressed
    /// where that halves it.
    Quick,
    /// As much as it takes.
    Thorough,
}

impl Effort {
    const fn level(self) -> i32 {
        match self {
            Self::Quick => 3,
            Self::Thorough => 15,
        }
    }

    /// Text up to this size stays text.
    const fn small(self) -> usize {
        match self {
            Self::Quick => 8 << 10,
            Self::Thorough => 256,
        }
    }

    /// Bytes that compressed text of this length may take.
    const fn worth_it(self, text: usize) -> usize {
        match self {
            Self::Quick => text / 2,
            Self::Thorough => text / 8 * 7,
        }
    }
}

/// A larger base is not worth its read.
const MAX_BASE: usize = 4 << 20;
/// What a splice takes beside the text it puts in: names, numbers, the base's hash.
const SPLICE_COST: usize = 128;

/// Chooses and compresses. Keeps the compressor between contents.
pub(super) struct Packer {
    effort: Effort,
    zstd: zstd::bulk::Compressor<'static>,
}

impl Packer {
    pub(super) fn new(effort: Effort) -> io::Result<Self> {
        Ok(Self {
            effort,
            zstd: zstd::bulk::Compressor::new(effort.level())?,
        })
    }

    /// The whole content: as text where it is text and short, or does not get shorter.
    pub(super) fn whole<'a>(&mut self, bytes: &'a [u8]) -> io::Result<Stored<'a>> {
        let text = std::str::from_utf8(bytes).ok();
        if let Some(text) = text
            && bytes.len() <= self.effort.small()
        {
            return Ok(Stored::Text(text));
        }
        let frame = self.zstd.compress(bytes)?;
        Ok(match text {
            Some(text) if base64_len(frame.len()) > self.effort.worth_it(bytes.len()) => {
                Stored::Text(text)
            }
            _ => Stored::Zstd(frame),
        })
    }
}

/// About how many bytes a content takes in its line.
pub(super) fn cost(stored: &Stored<'_>) -> usize {
    match stored {
        Stored::Elsewhere => 0,
        Stored::Text(text) => text.len(),
        Stored::Zstd(frame) => base64_len(frame.len()),
        Stored::Splice { ins, .. } => ins.len() + SPLICE_COST,
    }
}

const fn base64_len(len: usize) -> usize {
    len.div_ceil(3) * 4
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

/// The content as a change of `base`, where that takes fewer than `limit` bytes.
pub(super) fn splice<'a>(
    name: BlobHash,
    base: &[u8],
    bytes: &'a [u8],
    limit: usize,
) -> Option<Stored<'a>> {
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
    let stored = Stored::Splice {
        base: name,
        at: start as u64,
        del: (base.len() - tail - start) as u64,
        ins: std::str::from_utf8(ins).ok()?,
    };
    (cost(&stored) < limit).then_some(stored)
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
