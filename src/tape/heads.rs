//! The heads of the lines in a block, found by whoever reads it for whoever takes it in.
//!
//! What is kept of a head is little: numbers, and where each field lies. It holds none of the
//! bytes it was found in, and is read with them alone.

use super::wire::RawHead;
use super::wire::v1::{FieldPlace, find_fields, read_fields};

/// The heads of the whole lines in a block, behind its first newline: the line that ends
/// there may have begun in another block.
#[derive(Debug, Default)]
pub(super) struct Heads {
    found: Vec<Found>,
    places: Vec<FieldPlace>,
}

#[derive(Debug)]
struct Found {
    /// How long the line is, its newline not counted.
    len: u32,
    /// How many fields its head has; none where the line is to be read with care.
    fields: u32,
    numbers: [u64; 2],
}

/// The head of a line, as it was found.
#[derive(Clone, Copy)]
pub(super) struct FoundHead<'a> {
    numbers: [u64; 2],
    places: &'a [FieldPlace],
}

impl Heads {
    /// Finds those in a block, in the place of what was found in another one.
    pub(super) fn find(&mut self, block: &[u8]) {
        self.found.clear();
        self.places.clear();
        let first = memchr::memchr(b'\n', block).map_or(block.len(), |newline| newline + 1);
        let mut rest = block.get(first..).unwrap_or_default();
        for line in lines_of(&mut rest) {
            let Ok(len) = u32::try_from(line.len()) else {
                return;
            };
            let before = self.places.len();
            let numbers = find_fields(line, &mut self.places);
            if numbers.is_none() {
                self.places.truncate(before);
            }
            self.found.push(Found {
                len,
                fields: (self.places.len() - before) as u32,
                numbers: numbers.unwrap_or_default(),
            });
        }
    }

    /// The lines that begin behind the first newline of the block, with their heads; what is
    /// left of `lines` begins with the first one that was not looked at.
    pub(super) fn of<'a>(
        &'a self,
        lines: &mut &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], FoundHead<'a>)> {
        let mut places = self.places.as_slice();
        self.found.iter().map_while(move |found| {
            let (line, after) = lines.split_at_checked(found.len as usize)?;
            let (own, others) = places.split_at_checked(found.fields as usize)?;
            *lines = after.get(1..)?;
            places = others;
            let numbers = found.numbers;
            Some((
                line,
                FoundHead {
                    numbers,
                    places: own,
                },
            ))
        })
    }
}

impl FoundHead<'_> {
    /// Reads it into an empty head, from the line it was found in.
    pub(super) fn read_into<'a>(self, head: &mut RawHead<'a>, line: &'a [u8]) -> Option<()> {
        if self.places.is_empty() {
            return None;
        }
        read_fields(head, line, self.numbers, self.places)
    }
}

/// Whole lines, one by one; what is left of `lines` begins with the next one.
pub(super) fn lines_of<'a>(lines: &mut &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    std::iter::from_fn(|| {
        let (line, after) = lines.split_at(memchr::memchr(b'\n', lines)?);
        *lines = after.get(1..).unwrap_or_default();
        Some(line)
    })
}
