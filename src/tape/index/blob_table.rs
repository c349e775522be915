//! Which event holds which blob.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::model::BlobHash;
use crate::tape::cache::{Column, Keep, Reader, Writer};

/// The index's number of a blob: equal bytes have equal numbers.
///
/// It is the position of the event that first named the blob. Blobs that a snapshot was the
/// first to name have numbers from the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(pub u32);

/// The blobs of a tape by the first 64 bits of their hash: some 16 bytes a blob.
///
/// Two blobs that share these bits are taken for one; whoever reads a blob checks its
/// whole hash, so such a pair shows as damage and never as wrong bytes.
#[derive(Clone, Debug, Default)]
pub struct BlobTable {
    /// Where each is found: at the slot that its prefix is mapped to, or the first free one
    /// behind it. A slot that holds [`FREE`] is free.
    prefixes: Column<u64>,
    /// The number of the blob in each slot.
    numbers: Column<u32>,
    len: usize,
    /// A bit for each event that holds the bytes of the blob of its number.
    here: Column<u64>,
    /// Of other numbers, the event that holds the bytes.
    elsewhere: HashMap<u32, u32, FixedState>,
    /// Of each blob that a snapshot was the first to name, that snapshot.
    listed: Column<u32>,
}

/// The prefix of no blob; one that has it is taken for its neighbour.
const FREE: u64 = 0;
/// Slots of the first table.
const FIRST: usize = 64;

impl BlobTable {
    /// How many different blobs were named.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether none was named.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of a blob, if it was named.
    pub fn find(&self, hash: &BlobHash) -> Option<BlobId> {
        self.seek(key(hash.prefix())).ok()
    }

    /// The event that holds the bytes; `None` when they were not kept, or not yet.
    pub fn position(&self, id: BlobId) -> Option<u32> {
        let word = self.here.get(id.0 as usize / 64).copied().unwrap_or(0);
        if word >> (id.0 % 64) & 1 == 1 {
            return Some(id.0);
        }
        self.elsewhere.get(&id.0).copied()
    }

    /// The number of a blob that the event at this position names.
    pub(super) fn name(&mut self, prefix: u64, position: u32) -> BlobId {
        self.seek_or_enter(prefix, BlobId(position))
    }

    /// The number of a blob that a snapshot lists.
    pub(super) fn list(&mut self, prefix: u64, position: u32) -> BlobId {
        let next = BlobId(u32::MAX - self.listed.len() as u32);
        let id = self.seek_or_enter(prefix, next);
        if id == next {
            self.listed.to_mut().push(position);
        }
        id
    }

    /// The table as it was after so many events.
    pub(super) fn cut(&self, len: u32) -> Self {
        let listed = self.listed.partition_point(|position| *position < len);
        let lowest_listed = u32::MAX - listed as u32;
        let is_known = |number: u32| number < len || number > lowest_listed;
        let slots = self
            .prefixes
            .iter()
            .copied()
            .zip(self.numbers.iter().copied());
        let known = slots.filter(|(key, number)| *key != FREE && is_known(*number));
        let known: Vec<(u64, u32)> = known.collect();
        let mut here = self.here.cut((len as usize).div_ceil(64));
        if here.len() * 64 > len as usize
            && let Some(last) = here.to_mut().last_mut()
        {
            *last &= (1 << (len % 64)) - 1;
        }
        let elsewhere = self.elsewhere.iter();
        let elsewhere = elsewhere.filter(|(number, at)| is_known(**number) && **at < len);
        let mut cut = Self {
            len: known.len(),
            here,
            elsewhere: elsewhere.map(|(number, at)| (*number, *at)).collect(),
            listed: self.listed.cut(listed),
            ..Self::default()
        };
        let mut slots = 0;
        while cut.len * 5 > slots * 4 {
            slots = larger(slots);
        }
        cut.fill(slots, known.into_iter());
        cut
    }

    /// Notes that the event at this position holds the bytes. The first one counts.
    pub(super) fn store(&mut self, id: BlobId, position: u32) {
        if id.0 != position {
            if self.position(id).is_none() {
                self.elsewhere.insert(id.0, position);
            }
            return;
        }
        let at = position as usize / 64;
        if self.here.len() <= at {
            self.here.to_mut().resize(at + 1, 0);
        }
        if let Some(word) = self.here.to_mut().get_mut(at) {
            *word |= 1 << (position % 64);
        }
    }

    fn seek_or_enter(&mut self, prefix: u64, next: BlobId) -> BlobId {
        let key = key(prefix);
        let free = match self.seek(key) {
            Ok(id) => return id,
            Err(free) => free,
        };
        self.len += 1;
        // Four of five slots at most are taken.
        if self.len * 5 > self.prefixes.len() * 4 {
            self.grow();
            if let Err(free) = self.seek(key) {
                self.put(free, key, next.0);
            }
        } else {
            self.put(free, key, next.0);
        }
        next
    }

    /// The number of a blob, or the slot where it would stand.
    fn seek(&self, key: u64) -> Result<BlobId, usize> {
        let mut slot = slot(key, self.prefixes.len());
        loop {
            match self.prefixes.get(slot) {
                Some(found) if *found == key => {
                    return Ok(BlobId(self.numbers.get(slot).copied().unwrap_or(0)));
                }
                Some(&FREE) => return Err(slot),
                Some(_) => slot += 1,
                None if slot == 0 => return Err(0),
                None => slot = 0,
            }
        }
    }

    fn put(&mut self, slot: usize, key: u64, number: u32) {
        let prefix = self.prefixes.to_mut().get_mut(slot);
        let place = self.numbers.to_mut().get_mut(slot);
        if let (Some(prefix), Some(place)) = (prefix, place) {
            *prefix = key;
            *place = number;
        }
    }

    /// Grows by a quarter: a table that doubles is half empty half of the time. Slots keep
    /// the order of what is mapped to them, so both tables are gone through from start to end.
    #[cold]
    fn grow(&mut self) {
        let slots = larger(self.prefixes.len());
        let prefixes = std::mem::take(&mut self.prefixes);
        let numbers = std::mem::take(&mut self.numbers);
        self.fill(slots, prefixes.iter().copied().zip(numbers.iter().copied()));
    }

    /// Becomes a table of so many slots, with those of these that are taken.
    fn fill(&mut self, slots: usize, taken: impl Iterator<Item = (u64, u32)>) {
        self.prefixes = vec![FREE; slots].into();
        self.numbers = vec![0; slots].into();
        for (key, number) in taken {
            if key != FREE
                && let Err(free) = self.seek(key)
            {
                self.put(free, key, number);
            }
        }
    }
}

const fn larger(slots: usize) -> usize {
    let more = slots / 4 * 5;
    if more > FIRST { more } else { FIRST }
}

impl Keep for BlobTable {
    fn write(&self, out: &mut Writer<'_>) {
        out.column(&self.prefixes);
        out.column(&self.numbers);
        out.column(&[self.len as u64]);
        out.column(&self.listed);
        out.column(&self.here);
        out.pairs(self.elsewhere.iter().map(|(number, at)| (*number, *at)));
    }

    fn read(from: &mut Reader) -> Self {
        let prefixes = from.column();
        let numbers = from.column();
        let [len] = from.numbers::<u64, 1>();
        let listed = from.column();
        // There is always a free slot, where a search ends.
        let is_sound = prefixes.is_empty() || len < prefixes.len() as u64;
        from.require(is_sound && prefixes.len() == numbers.len());
        Self {
            prefixes,
            numbers,
            len: len as usize,
            here: from.column(),
            elsewhere: from.pairs().collect(),
            listed,
        }
    }
}

const fn key(prefix: u64) -> u64 {
    if prefix == FREE { FREE + 1 } else { prefix }
}

/// The slot that a key is mapped to. Prefixes are hash bits already, but come from a file: a
/// fixed mix keeps a hostile tape from choosing the slots trivially.
fn slot(key: u64, slots: usize) -> usize {
    let mixed = FixedState::with_seed(0x6a75_6b65).hash_one(key);
    ((u128::from(mixed) * slots as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Prefixes, whether an event or a snapshot names them, and whether the bytes are there.
        #[test]
        fn blobs_are_found_by_their_prefix_and_lead_to_the_first_event_with_their_bytes(
            named in prop::collection::vec((0..2000_u64, 0..4_u8, any::<bool>()), 0..4000),
        ) {
            let mut table = BlobTable::default();
            let mut expected: BTreeMap<u64, (BlobId, Option<u32>)> = BTreeMap::new();
            for (position, (prefix, by, is_here)) in named.into_iter().enumerate() {
                // The lowest prefixes as they are, others all over.
                let prefix = if prefix < 9 { prefix } else { prefix.wrapping_mul(u64::MAX / 2000) };
                let position = position as u32;
                let id = match by {
                    0 => table.list(prefix, position),
                    _ => table.name(prefix, position),
                };
                // Zero is taken for one.
                let known = expected.entry(prefix.max(1)).or_insert((id, None));
                prop_assert_eq!(known.0, id);
                if by > 0 && is_here {
                    table.store(id, position);
                    known.1.get_or_insert(position);
                }
            }
            prop_assert_eq!(table.len(), expected.len());
            let mut ids: Vec<_> = expected.values().map(|(id, _)| *id).collect();
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(ids.len(), expected.len());
            for (prefix, (id, position)) in expected {
                prop_assert_eq!(table.seek(prefix), Ok(id));
                prop_assert_eq!(table.position(id), position);
            }
        }
    }
}
