//! The entries of one branch: all of them in the order they came, and each path's own.
//!
//! Sixteen bytes an entry: where it was, whose it is, what it says, and its place in the
//! list of its path. What it leads to is most often told by the event itself; where it is
//! another (a file that was moved, a content that came back), that takes eight bytes more.

use super::entry::Entry;
use super::lists::Lists;
use super::paths::PathId;
use crate::tape::cache::{Column, Keep, Reader, Writer};

/// The entries of a branch.
#[derive(Clone, Debug)]
pub(super) struct Log {
    rows: Column<Row>,
    /// The rows that lead elsewhere than to their own event, in order, and where.
    elsewhere: Column<[u32; 2]>,
    lists: Lists,
}

/// An entry as it is kept: position, path, bits. Its number is its place.
type Row = [u32; 3];

impl Log {
    /// For a branch with entries for most paths.
    pub(super) fn dense() -> Self {
        Self::of(Lists::dense())
    }

    /// For a branch with entries for few paths.
    pub(super) fn sparse() -> Self {
        Self::of(Lists::sparse())
    }

    fn of(lists: Lists) -> Self {
        Self {
            rows: Column::default(),
            elsewhere: Column::default(),
            lists,
        }
    }

    pub(super) fn push(&mut self, path: PathId, entry: Entry) {
        let number = self.rows.len() as u32;
        let is_elsewhere = entry.has_payload() && entry.payload != entry.position;
        if is_elsewhere {
            self.elsewhere.to_mut().push([number, entry.payload]);
        }
        let mark = if is_elsewhere { Entry::ELSEWHERE } else { 0 };
        let row = [entry.position, path.0, entry.bits | mark];
        self.rows.to_mut().push(row);
        self.lists.push(path, number);
    }

    /// All entries of a path, in order.
    pub(super) fn of_path(&self, path: PathId) -> impl Iterator<Item = Entry> {
        let list = self.lists.get(path);
        list.iter().filter_map(|number| self.get(*number))
    }

    /// The entries of a path among the first `position` events, in order.
    pub(super) fn of_path_before(
        &self,
        path: PathId,
        position: u32,
    ) -> impl DoubleEndedIterator<Item = Entry> {
        let (before, _) = self.split(path, position);
        before.iter().filter_map(|number| self.get(*number))
    }

    /// The entries of a path behind the first `position` events, in order.
    pub(super) fn of_path_from(&self, path: PathId, position: u32) -> impl Iterator<Item = Entry> {
        let (_, from) = self.split(path, position);
        from.iter().filter_map(|number| self.get(*number))
    }

    /// The list of a path, cut at an event.
    fn split(&self, path: PathId, position: u32) -> (&[u32], &[u32]) {
        let list = self.lists.get(path);
        let before = self.before(position) as u32;
        list.split_at(list.partition_point(|number| *number < before))
    }

    /// The last entry of a path among the first `position` events.
    pub(super) fn last_of(&self, path: PathId, position: u32) -> Option<Entry> {
        let list = self.lists.get(path);
        let last = *list.last()?;
        if self.rows.get(last as usize)?[0] < position {
            return self.get(last);
        }
        let before = self.before(position) as u32;
        let after = list.partition_point(|number| *number < before);
        self.get(*list.get(after.checked_sub(1)?)?)
    }

    /// The paths of the entries at the events from `from` on and before `to`, in order.
    pub(super) fn paths_between(
        &self,
        from: u32,
        to: u32,
    ) -> impl ExactSizeIterator<Item = PathId> {
        let (start, end) = (self.before(from), self.before(to));
        let rows = self.rows.get(start..end.max(start)).unwrap_or_default();
        rows.iter().map(|[_, path, _]| PathId(*path))
    }

    /// The entries before an event, of the first so many paths; all others have none.
    pub(super) fn cut(&self, position: u32, paths: usize) -> Self {
        let len = self.before(position);
        let end = len as u32;
        let elsewhere = self.elsewhere.partition_point(|[number, _]| *number < end);
        Self {
            rows: self.rows.cut(len),
            elsewhere: self.elsewhere.cut(elsewhere),
            lists: self.lists.cut(end, paths),
        }
    }

    /// Gives back what is not needed when nothing more comes for a while.
    pub(super) fn settle(&mut self) {
        self.lists.settle();
    }

    /// The last entry of a path among the first so many of all.
    pub(super) fn last_among(&self, path: PathId, before: usize) -> Option<Entry> {
        let list = self.lists.get(path);
        let after = list.partition_point(|number| (*number as usize) < before);
        self.get(*list.get(after.checked_sub(1)?)?)
    }

    /// How many entries there are before an event.
    pub(super) fn before(&self, position: u32) -> usize {
        self.rows.partition_point(|[at, ..]| *at < position)
    }

    fn get(&self, number: u32) -> Option<Entry> {
        let [position, _, bits] = *self.rows.get(number as usize)?;
        let mut entry = Entry {
            position,
            payload: position,
            bits: bits & !Entry::ELSEWHERE,
        };
        if bits & Entry::ELSEWHERE != 0 {
            let known = |[row, _]: &[u32; 2]| row.cmp(&number);
            let at = self.elsewhere.binary_search_by(known).ok()?;
            entry.payload = self.elsewhere.get(at)?[1];
        } else if !entry.has_payload() {
            entry.payload = 0;
        }
        Some(entry)
    }
}

impl Keep for Log {
    fn write(&self, out: &mut Writer<'_>) {
        out.column(&self.rows);
        out.column(&self.elsewhere);
        self.lists.write(out);
    }

    fn read(from: &mut Reader) -> Self {
        Self {
            rows: from.column(),
            elsewhere: from.column(),
            lists: Lists::read(from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::ContentRef;
    use super::*;
    use crate::model::EntryKind;
    use crate::tape::BlobId;

    #[test]
    fn entries_come_back_with_what_they_lead_to() {
        let path = PathId(3);
        let entries = [
            Entry::new(2, EntryKind::File, ContentRef::Blob(BlobId(2))).with_mode(Some(0o644)),
            Entry::new(5, EntryKind::File, ContentRef::Blob(BlobId(2))),
            Entry::new(5, EntryKind::Link, ContentRef::Target(5)),
            Entry::new(7, EntryKind::File, ContentRef::Unknown),
            Entry::new(9, EntryKind::File, ContentRef::Lines(0)),
            Entry::absent(11),
        ];
        for mut log in [Log::dense(), Log::sparse()] {
            for entry in entries {
                log.push(path, entry);
                log.push(PathId(0), entry.at(entry.position));
            }
            log.settle();
            assert!(log.of_path(path).eq(entries));
            let check = |position, expected: Option<usize>| {
                let expected = expected.map(|at| entries[at]);
                assert_eq!(log.last_of(path, position), expected, "before {position}");
                let before = log.before(position);
                assert_eq!(log.last_among(path, before), expected, "before {position}");
            };
            check(2, None);
            check(3, Some(0));
            check(5, Some(0));
            check(6, Some(2));
            check(11, Some(4));
            check(u32::MAX, Some(5));
            let between: Vec<_> = log.paths_between(6, 10).collect();
            assert_eq!(between, [path, PathId(0), path, PathId(0)]);
            assert_eq!(log.paths_between(10, 6).count(), 0);
        }
    }
}
