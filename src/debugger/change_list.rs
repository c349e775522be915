//! The paths that differ between two places, packed: as many as there are.
//!
//! Two places may differ in every file of a run, and a screen shows a few of them. So the
//! names stand one behind the other, some bytes stand beside each, and a row is made when
//! somebody looks at it. What is asked of a list costs a search in it, whatever its length.
//! A list never reads a run: it says what was so when it was made.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;
use std::ops::Range;

use super::ChangeRow;
use crate::model::{Certainty, ChangeKind, TapePath};
use crate::state::{Change, ContentRef, FileState};
use crate::tape::BlobId;

/// The paths that differ between two places, in the order of their bytes.
#[derive(Clone, Default)]
pub struct ChangeList {
    names: Vec<u8>,
    packed: Vec<Packed>,
    /// The paths that files had before they were renamed, by where they are packed.
    renamed: BTreeMap<usize, TapePath>,
    /// Which have a row, where not all have: what was renamed has one, for both its paths.
    rows: Option<Vec<usize>>,
}

/// What is known of a path besides its name.
#[derive(Clone, Copy, Debug)]
struct Packed {
    name_end: usize,
    /// Paths up to this one that are known to differ, and not only suspected to.
    known: u32,
    change: ChangeKind,
    certainty: (Certainty, Certainty),
    mode: Option<(u32, u32)>,
    is_outside: bool,
}

/// Of more changes than this, none is told to be a rename: nobody looks through them one by
/// one, and to match their contents would cost as much as all the rest.
const MOST_MATCHED: usize = 1 << 14;

/// Lists are told apart by where they are: to compare names would cost too much.
impl PartialEq for ChangeList {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl fmt::Debug for ChangeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Rows in any order, each with a path of its own.
impl FromIterator<ChangeRow> for ChangeList {
    fn from_iter<T: IntoIterator<Item = ChangeRow>>(rows: T) -> Self {
        let mut rows: Vec<ChangeRow> = rows.into_iter().collect();
        rows.sort_by(|one, two| one.path.cmp(&two.path));
        let mut list = Self::default();
        for row in rows {
            if let Some(from) = row.from {
                list.renamed.insert(list.packed.len(), from);
            }
            let packed = Packed {
                name_end: 0,
                known: 0,
                change: row.change,
                certainty: row.certainty,
                mode: row.mode,
                is_outside: row.is_outside,
            };
            list.push(row.path.as_bytes(), packed);
        }
        list
    }
}

impl ChangeList {
    /// How many rows there are: one for each path that differs, and for two of a rename.
    pub fn len(&self) -> usize {
        self.rows.as_ref().map_or(self.packed.len(), Vec::len)
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// One of the rows.
    pub fn get(&self, index: usize) -> Option<ChangeRow> {
        let at = match &self.rows {
            Some(rows) => *rows.get(index)?,
            None => index,
        };
        let packed = self.packed.get(at)?;
        Some(ChangeRow {
            path: TapePath::new(self.name(at)).ok()?,
            from: self.renamed.get(&at).cloned(),
            change: packed.change,
            certainty: packed.certainty,
            mode: packed.mode,
            is_outside: packed.is_outside,
        })
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = ChangeRow> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// The index of a path's row, if it has one.
    pub fn index_of(&self, path: &TapePath) -> Option<usize> {
        let at = self.place_of(path)?;
        match &self.rows {
            Some(rows) => rows.binary_search(&at).ok(),
            None => Some(at),
        }
    }

    /// How a path differs, if it does: of a file that was renamed, the one that it had, too.
    pub(super) fn change_of(&self, path: &TapePath) -> Option<ChangeKind> {
        let at = self.place_of(path)?;
        self.packed.get(at).map(|packed| packed.change)
    }

    /// Where a path is packed, if it differs.
    fn place_of(&self, path: &TapePath) -> Option<usize> {
        let at = self.first_from(path.as_bytes(), 0..self.packed.len());
        (self.name(at) == path.as_bytes()).then_some(at)
    }

    /// Whether anything below a directory is known to differ.
    pub(super) fn differs_below(&self, directory: &TapePath) -> bool {
        self.differs_in(&self.below(directory.as_bytes()))
    }

    /// The names of what may be gone from a directory: files that were removed from it, and
    /// directories (`true`) below which something is known to differ, in no order. Without a
    /// directory, of the workspace. Costs a look at each name that differs in it.
    pub(super) fn gone_from<'a>(
        &'a self,
        directory: Option<&[u8]>,
    ) -> impl Iterator<Item = (&'a [u8], bool)> + use<'a> {
        let (range, above) = match directory {
            None => (0..self.packed.len(), 0),
            Some(directory) => (self.below(directory), directory.len() + 1),
        };
        let mut at = range.start;
        let next = move || {
            if at >= range.end {
                return None;
            }
            let path = self.name(at);
            let rest = path.get(above..).unwrap_or_default();
            let Some(end) = rest.iter().position(|byte| *byte == b'/') else {
                let change = self.packed.get(at).map(|packed| packed.change);
                at += 1;
                return Some((change == Some(ChangeKind::Removed)).then_some((rest, false)));
            };
            let (name, _) = rest.split_at(end);
            let (path, _) = path.split_at(above + end);
            let below = self.below_within(path, at..range.end);
            at = below.end.max(at + 1);
            // What lies outside is in no directory of the workspace.
            let is_gone = !name.is_empty() && self.differs_in(&below);
            Some(is_gone.then_some((name, true)))
        };
        std::iter::from_fn(next).flatten()
    }

    /// What is below a directory stands together.
    fn below(&self, directory: &[u8]) -> Range<usize> {
        self.below_within(directory, 0..self.packed.len())
    }

    fn below_within(&self, directory: &[u8], range: Range<usize>) -> Range<usize> {
        let start = [directory, b"/"].concat();
        let first = self.first_from(&start, range.clone());
        // The byte behind the slash: no path below stands behind it, and all others do.
        let end = [directory, b"0"].concat();
        first..self.first_from(&end, first..range.end)
    }

    /// The first place in a range whose path does not stand before this one.
    fn first_from(&self, path: &[u8], range: Range<usize>) -> usize {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.name(middle) < path {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn differs_in(&self, range: &Range<usize>) -> bool {
        let known = |end: usize| {
            let last = end.checked_sub(1).and_then(|last| self.packed.get(last));
            last.map_or(0, |packed| packed.known)
        };
        known(range.end) > known(range.start)
    }

    fn name(&self, index: usize) -> &[u8] {
        let end = |index: usize| self.packed.get(index).map_or(0, |packed| packed.name_end);
        let start = index.checked_sub(1).map_or(0, end);
        self.names.get(start..end(index)).unwrap_or_default()
    }

    fn push(&mut self, path: &[u8], packed: Packed) {
        self.names.extend_from_slice(path);
        let before = self.packed.last().map_or(0, |packed| packed.known);
        self.packed.push(Packed {
            name_end: self.names.len(),
            known: before + u32::from(packed.change != ChangeKind::Suspected),
            ..packed
        });
    }
}

/// A list that is being made.
#[derive(Default)]
pub(super) struct Listing {
    list: ChangeList,
    /// Contents that went, and those that came.
    gone: Vec<(Moved, Place)>,
    came: Vec<(Moved, Place)>,
}

/// What can be renamed: a content, inside the workspace or outside. Nothing is renamed over
/// its border, since what lies outside is not in its patch.
type Moved = (BlobId, bool);

/// Where a path is packed, and the mode of its file.
type Place = (usize, Option<u32>);

impl Listing {
    /// Adds a path behind all that were added before.
    pub(super) fn push(&mut self, path: &[u8], change: &Change) {
        let at = self.list.packed.len();
        let (state, contents) = match change.kind {
            ChangeKind::Removed => (change.before, &mut self.gone),
            ChangeKind::Added => (change.after, &mut self.came),
            ChangeKind::Modified | ChangeKind::Suspected => (None, &mut self.came),
        };
        if let Some(state) = state
            && let ContentRef::Blob(blob) = state.content
        {
            contents.push(((blob, path.starts_with(b"/")), (at, state.mode)));
        }
        let certainty =
            |state: Option<FileState>| state.map_or(Certainty::Absent, |state| state.certainty);
        let mode = |state: Option<FileState>| state.and_then(|state| state.mode);
        let packed = Packed {
            name_end: 0,
            known: 0,
            change: change.kind,
            certainty: (certainty(change.before), certainty(change.after)),
            mode: difference(mode(change.before), mode(change.after)),
            is_outside: change.after.is_some_and(|after| after.is_outside),
        };
        self.list.push(path, packed);
    }

    /// The list. A file that came with the content of one that went is told to have been
    /// renamed, where there are not too many changes: one row for both.
    pub(super) fn finish(self) -> ChangeList {
        let mut list = self.list;
        if list.packed.len() > MOST_MATCHED {
            return list;
        }
        let mut gone: HashMap<Moved, VecDeque<Place>> = HashMap::new();
        for (moved, place) in self.gone {
            gone.entry(moved).or_default().push_back(place);
        }
        let mut sources = HashSet::new();
        for (moved, (at, mode)) in self.came {
            let Some((from, mode_before)) = gone.get_mut(&moved).and_then(VecDeque::pop_front)
            else {
                continue;
            };
            let Ok(path) = TapePath::new(list.name(from)) else {
                continue;
            };
            let certainty = list.packed.get(from).map(|packed| packed.certainty.0);
            if let Some(packed) = list.packed.get_mut(at) {
                packed.certainty.0 = certainty.unwrap_or(packed.certainty.0);
                packed.mode = difference(mode_before, mode);
            }
            list.renamed.insert(at, path);
            sources.insert(from);
        }
        if !sources.is_empty() {
            let all = 0..list.packed.len();
            list.rows = Some(all.filter(|at| !sources.contains(at)).collect());
        }
        list
    }
}

/// Two modes, where they are known and not the same.
fn difference(before: Option<u32>, after: Option<u32>) -> Option<(u32, u32)> {
    before.zip(after).filter(|(before, after)| before != after)
}
