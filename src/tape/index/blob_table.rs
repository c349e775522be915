//! Which event holds which blob.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::model::BlobHash;

/// The index's number of a blob: equal bytes have equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(pub u32);

const NOWHERE: u32 = u32::MAX;

/// The blobs of a tape by the first 64 bits of their hash.
///
/// Two blobs that share these bits are taken for one; whoever reads a blob checks its
/// whole hash, so such a pair shows as damage and never as wrong bytes.
#[derive(Clone, Debug, Default)]
pub struct BlobTable {
    prefixes: Vec<u64>,
    positions: Vec<u32>,
    by_prefix: HashTable<u32>,
}

impl BlobTable {
    /// How many different blobs were named.
    pub const fn len(&self) -> usize {
        self.prefixes.len()
    }

    /// Whether none was named.
    pub const fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// The number of a blob, if it was named.
    pub fn find(&self, hash: &BlobHash) -> Option<BlobId> {
        self.find_prefix(hash.prefix())
    }

    /// The first 64 bits of a blob's hash.
    pub fn prefix(&self, id: BlobId) -> Option<u64> {
        self.prefixes.get(id.0 as usize).copied()
    }

    /// The event that holds the bytes; `None` when they were not kept, or not yet.
    pub fn position(&self, id: BlobId) -> Option<u32> {
        let position = self.positions.get(id.0 as usize).copied()?;
        (position != NOWHERE).then_some(position)
    }

    /// The number of a blob, new or known.
    pub(super) fn intern(&mut self, prefix: u64) -> BlobId {
        if let Some(id) = self.find_prefix(prefix) {
            return id;
        }
        let id = self.prefixes.len() as u32;
        self.prefixes.push(prefix);
        self.positions.push(NOWHERE);
        let prefixes = &self.prefixes;
        self.by_prefix.insert_unique(hash(prefix), id, |id| {
            hash(prefixes.get(*id as usize).copied().unwrap_or_default())
        });
        BlobId(id)
    }

    /// Notes that the event at this position holds the bytes. The first one counts.
    pub(super) fn store(&mut self, id: BlobId, position: u32) {
        if let Some(slot) = self.positions.get_mut(id.0 as usize)
            && *slot == NOWHERE
        {
            *slot = position;
        }
    }

    fn find_prefix(&self, prefix: u64) -> Option<BlobId> {
        self.by_prefix
            .find(hash(prefix), |id| {
                self.prefixes.get(*id as usize) == Some(&prefix)
            })
            .map(|id| BlobId(*id))
    }
}

/// Prefixes are hash bits already, but come from a file: a fixed mix keeps a hostile tape
/// from choosing the buckets trivially.
fn hash(prefix: u64) -> u64 {
    FixedState::with_seed(0x6a75_6b65).hash_one(prefix)
}
