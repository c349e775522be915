//! A column of plain numbers: in memory, or where it lies in a file of the cache.
//!
//! Who reads it need not know which. It is copied into memory when it is first changed,
//! which happens only to the index of a tape that grows; the file is never changed.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;

use super::map::Map;

/// A column of plain numbers.
#[derive(Clone)]
pub(crate) struct Column<T> {
    memory: Vec<T>,
    /// Where the numbers lie instead.
    mapped: Option<Mapped<T>>,
}

#[derive(Clone)]
struct Mapped<T> {
    map: Arc<Map>,
    bytes: Range<usize>,
    numbers: PhantomData<T>,
}

impl<T: Pod> Column<T> {
    /// A column of which nothing is in memory. `None` where these bytes of the file are not
    /// there, or are no numbers of this sort.
    pub(super) fn mapped(map: &Arc<Map>, bytes: Range<usize>) -> Option<Self> {
        let numbers: &[T] = bytemuck::try_cast_slice(map.bytes().get(bytes.clone())?).ok()?;
        if numbers.is_empty() {
            return Some(Self::default());
        }
        Some(Self {
            memory: Vec::new(),
            mapped: Some(Mapped {
                map: Arc::clone(map),
                bytes,
                numbers: PhantomData,
            }),
        })
    }

    /// The numbers in memory, to be changed.
    pub(crate) fn to_mut(&mut self) -> &mut Vec<T> {
        if self.mapped.is_some() {
            self.bring();
        }
        &mut self.memory
    }

    /// The first of these numbers; where they lie in a file, they stay there.
    pub(crate) fn cut(&self, len: usize) -> Self {
        let len = len.min(self.deref().len());
        let mapped = self.mapped.as_ref().map(|mapped| Mapped {
            map: Arc::clone(&mapped.map),
            bytes: mapped.bytes.start..mapped.bytes.start + len * size_of::<T>(),
            numbers: PhantomData,
        });
        let memory = self.memory.get(..len).unwrap_or_default();
        Self {
            memory: memory.to_vec(),
            mapped: mapped.filter(|_| len > 0),
        }
    }

    #[cold]
    fn bring(&mut self) {
        self.memory = self.to_vec();
        self.mapped = None;
    }
}

impl<T: Pod> Deref for Column<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let Some(mapped) = &self.mapped else {
            return &self.memory;
        };
        let bytes = mapped.map.bytes().get(mapped.bytes.clone());
        // They were there, and of this sort, when the column was made.
        let numbers = bytes.and_then(|bytes| bytemuck::try_cast_slice(bytes).ok());
        numbers.unwrap_or_default()
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(memory: Vec<T>) -> Self {
        Self {
            memory,
            mapped: None,
        }
    }
}

impl<T: Pod> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Self {
        numbers.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
