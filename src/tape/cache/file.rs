//! A file of the cache: columns of numbers, one behind the other, under a checksum.
//!
//! ```text
//! magic, checksum, format, first byte of the table, columns in it     a u64 each
//! a column, and zeros up to the next multiple of eight                as often as there are
//! the table: of each column its first byte, its numbers, their width  three u64 each
//! ```
//!
//! Numbers are written as the machine has them: on one that has them otherwise, the magic is
//! another. What the columns mean is told by their order, and known only to those who write
//! and read them. Before the checksum is proven, nothing is believed but where columns lie.

use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytemuck::Pod;
use foldhash::fast::FixedState;

use super::column::Column;
use super::map::Map;
use super::writing::Writing;

const MAGIC: u64 = 0x6a75_6b65_626f_7869;
/// Counts up whenever the columns or their order become others.
const FORMAT: u64 = 3;
/// Bytes before the first column.
const PREAMBLE: u64 = 40;
/// Bytes of it that the checksum does not cover.
const SEAL: usize = 16;
/// Bytes that are written at once.
const AT_ONCE: usize = 1 << 20;
/// Bytes of the table for each column.
const ROW: u64 = 24;

/// Tables that can lie in a file of the cache.
pub(crate) trait Keep: Sized {
    /// Writes the columns.
    fn write(&self, out: &mut Writer<'_>);

    /// Takes the columns in the order in which they were written. They are as they were: where
    /// they are not, [`Reader::is_spoilt`] says so, and what was made of them is thrown away.
    fn read(from: &mut Reader) -> Self;
}

/// Writes columns into a file. The first error is kept, and told at the end.
pub(crate) struct Writer<'a> {
    file: &'a File,
    out: BufWriter<&'a File>,
    at: u64,
    table: Vec<[u64; 3]>,
    failed: Option<io::Error>,
    writing: &'a Writing,
}

impl<'a> Writer<'a> {
    /// Begins an empty file.
    pub(super) fn new(file: &'a File, writing: &'a Writing) -> Self {
        let mut writer = Self {
            file,
            out: BufWriter::with_capacity(AT_ONCE, file),
            at: 0,
            table: Vec::new(),
            failed: None,
            writing,
        };
        writer.put(&[0; PREAMBLE as usize]);
        writer
    }

    /// Writes a column.
    pub(crate) fn column<T: Pod>(&mut self, numbers: &[T]) {
        const ALIGNED: [u8; 8] = [0; 8];
        let row = [self.at, numbers.len() as u64, size_of::<T>() as u64];
        self.table.push(row);
        self.put(bytemuck::cast_slice(numbers));
        let rest = self.at.next_multiple_of(8) - self.at;
        self.put(ALIGNED.split_at(rest as usize).0);
    }

    /// Writes two columns.
    pub(crate) fn pairs<A: Pod, B: Pod>(&mut self, pairs: impl IntoIterator<Item = (A, B)>) {
        let (left, right): (Vec<A>, Vec<B>) = pairs.into_iter().unzip();
        self.column(&left);
        self.column(&right);
    }

    /// Writes lists: where each ends, and all their numbers in one column.
    pub(crate) fn lists<'l, T: Pod>(&mut self, lists: impl IntoIterator<Item = &'l [T]>) {
        let (mut ends, mut numbers) = (Vec::new(), Vec::new());
        for list in lists {
            numbers.extend_from_slice(list);
            ends.push(numbers.len() as u64);
        }
        self.column(&ends);
        self.column(&numbers);
    }

    /// Writes the table, and the checksum over all.
    pub(super) fn seal(mut self) -> io::Result<()> {
        let table = std::mem::take(&mut self.table);
        let rest = [FORMAT, self.at, table.len() as u64];
        self.put(bytemuck::cast_slice(&table));
        self.out.flush()?;
        if let Some(error) = self.failed {
            return Err(error);
        }
        let unsealed = bytemuck::cast_slice(&rest);
        self.file.write_all_at(unsealed, SEAL as u64)?;
        let seal = [MAGIC, checksum(Map::of(self.file)?.bytes())];
        self.file.write_all_at(bytemuck::cast_slice(&seal), 0)
    }

    fn put(&mut self, bytes: &[u8]) {
        self.at += bytes.len() as u64;
        for part in bytes.chunks(AT_ONCE) {
            if self.writing.is_given_up() {
                self.failed = Some(io::ErrorKind::Interrupted.into());
            }
            if self.failed.is_none() {
                self.failed = self.out.write_all(part).err();
            }
        }
    }
}

/// Takes columns out of a file, in the order in which they were written.
pub(crate) struct Reader {
    map: Arc<Map>,
    table: Column<[u64; 3]>,
    next: usize,
    is_spoilt: bool,
}

impl Reader {
    /// Maps a file. `None` where it is none of this format, or not as long as it says. What
    /// its columns hold is not proven yet.
    pub(super) fn open(file: &File) -> io::Result<Option<Self>> {
        let len = file.metadata()?.len();
        if len < PREAMBLE {
            return Ok(None);
        }
        let map = Arc::new(Map::of(file)?);
        Ok(Self::new(map))
    }

    fn new(map: Arc<Map>) -> Option<Self> {
        let preamble = Column::<u64>::mapped(&map, 0..PREAMBLE as usize)?;
        let [MAGIC, _, FORMAT, start, count] = *preamble else {
            return None;
        };
        let end = count.checked_mul(ROW)?.checked_add(start)?;
        if end != map.bytes().len() as u64 {
            return None;
        }
        let table = usize::try_from(start).ok()?..map.bytes().len();
        Some(Self {
            table: Column::mapped(&map, table)?,
            map,
            next: 0,
            is_spoilt: false,
        })
    }

    /// Whether the file is as it was when it was written. Costs a look at all of its bytes.
    pub(super) fn is_whole(&self) -> bool {
        let preamble = Column::<u64>::mapped(&self.map, 0..PREAMBLE as usize);
        let said = preamble.and_then(|preamble| preamble.get(1).copied());
        said == Some(checksum(self.map.bytes()))
    }

    /// Whether something was taken that did not stand there.
    pub(crate) fn is_spoilt(&self) -> bool {
        self.is_spoilt
    }

    /// Bytes of a number in the next column.
    pub(crate) fn next_width(&self) -> u64 {
        self.table.get(self.next).map_or(0, |row| row[2])
    }

    /// Takes a column; an empty one where it does not stand there.
    pub(crate) fn column<T: Pod>(&mut self) -> Column<T> {
        let column = self.try_column();
        self.next += 1;
        self.require(column.is_some());
        column.unwrap_or_default()
    }

    fn try_column<T: Pod>(&self) -> Option<Column<T>> {
        let [start, count, width] = *self.table.get(self.next)?;
        if width != size_of::<T>() as u64 {
            return None;
        }
        let end = count.checked_mul(width)?.checked_add(start)?;
        let bytes = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
        Column::mapped(&self.map, bytes)
    }

    /// Takes a column of so many numbers.
    pub(crate) fn numbers<T: Pod, const COUNT: usize>(&mut self) -> [T; COUNT] {
        let numbers = <[T; COUNT]>::try_from(&*self.column::<T>()).ok();
        self.require(numbers.is_some());
        numbers.unwrap_or([T::zeroed(); COUNT])
    }

    /// Takes two columns of the same length.
    pub(crate) fn pairs<A: Pod, B: Pod>(&mut self) -> impl Iterator<Item = (A, B)> + use<A, B> {
        let (left, right) = (self.column::<A>(), self.column::<B>());
        self.require(left.len() == right.len());
        (0..left.len()).filter_map(move |at| Some((*left.get(at)?, *right.get(at)?)))
    }

    /// Takes lists.
    pub(crate) fn lists<T: Pod, L: for<'l> From<&'l [T]>>(
        &mut self,
    ) -> impl Iterator<Item = L> + use<T, L> {
        let (ends, numbers) = (self.column::<u64>(), self.column::<T>());
        self.require(ends.last().copied().unwrap_or(0) == numbers.len() as u64);
        let mut start = 0;
        (0..ends.len()).map(move |at| {
            let end = ends.get(at).map_or(start, |end| *end as usize);
            let list = numbers.get(start..end).unwrap_or_default();
            start = end;
            list.into()
        })
    }

    /// Whoever reads found what is read not to be as it should.
    pub(crate) fn require(&mut self, is_sound: bool) {
        self.is_spoilt |= !is_sound;
    }
}

/// Finds damage, not malice: whoever may write here may as well change the program.
fn checksum(file: &[u8]) -> u64 {
    let mut hasher = FixedState::with_seed(FORMAT).build_hasher();
    hasher.write(file.get(SEAL..).unwrap_or_default());
    hasher.finish()
}
