//! A path at a cursor, and how well it is known.

use super::entry::{ContentRef, Entry, FileState};
use super::log::Log;
use super::paths::PathId;
use super::table::{Branch, State};
use crate::model::{Certainty, Cursor, EntryKind, TapePath};
use crate::tape::BlobTable;

impl State {
    /// What a path is at a cursor. `None`: the tape never named it there, and it is no
    /// directory of something that it named.
    pub fn file(&self, blobs: &BlobTable, cursor: Cursor, path: &TapePath) -> Option<FileState> {
        self.at(blobs, cursor, self.paths.find(path)?)
    }

    /// What a node is at a cursor.
    pub fn at(&self, blobs: &BlobTable, cursor: Cursor, path: PathId) -> Option<FileState> {
        let entry = self.entry(cursor.branch, path, cursor.position);
        self.made_of(blobs, cursor, path, entry)
    }

    /// What a node is at a cursor, by its entry there.
    pub(super) fn made_of(
        &self,
        blobs: &BlobTable,
        cursor: Cursor,
        path: PathId,
        entry: Option<Entry>,
    ) -> Option<FileState> {
        if let Some(entry) = entry.or_else(|| self.evidence(cursor, path)) {
            let state = self.known(blobs, cursor, path, entry);
            // A directory that was removed and is there again through its files.
            if entry.kind().is_some() || !self.has_children(cursor.branch, path, cursor.position) {
                return Some(state);
            }
        }
        self.has_children(cursor.branch, path, cursor.position)
            .then(|| self.implied_directory(cursor, path))
    }

    /// The entry that counts for a path: the last one before the cursor on its chain of
    /// branches, without regard to certainty.
    pub(super) fn entry(&self, branch: u16, path: PathId, position: u32) -> Option<Entry> {
        self.chain(branch, position)
            .find_map(|(branch, position)| branch.log.last_of(path, position))
    }

    /// The way to a cursor, for the lookup of many paths.
    pub(super) fn way(&self, cursor: Cursor) -> Way<'_> {
        let chain = self.chain(cursor.branch, cursor.position);
        Way(chain
            .map(|(branch, to)| (&branch.log, branch.log.before(to)))
            .collect())
    }

    /// Where there is no entry yet, what a later look at the file showed: it was there all
    /// along, unless something wrote it in between.
    fn evidence(&self, cursor: Cursor, path: PathId) -> Option<Entry> {
        let firsts = self
            .chain(cursor.branch, u32::MAX)
            .filter_map(|(branch, limit)| {
                let first = branch.log.of_path(path).next()?;
                (first.position < limit).then_some(first)
            });
        let first = firsts.min_by_key(|first| first.position)?;
        first.shows_the_past().then_some(first)
    }

    /// Whether a path that was not named yet at a cursor was not there, for certain: the whole
    /// tree had been looked at, or the first who looked later found nothing; and nothing that
    /// may have written it came between.
    pub fn is_known_absent(&self, cursor: Cursor, path: PathId) -> bool {
        let Cursor { position, branch } = cursor;
        let proof = self
            .chain(branch, position)
            .find_map(|(branch, position)| branch.last_standing(&branch.proofs, position));
        if let Some(proof) = proof {
            let suspect = self.suspect_among(branch, path, proof, proof, position);
            return suspect.is_none();
        }
        let firsts = self.chain(branch, u32::MAX).filter_map(|(branch, limit)| {
            let first = branch.log.of_path(path).next()?;
            (first.position < limit).then_some(first)
        });
        let first = firsts.min_by_key(|first| first.position);
        first.is_some_and(|first| {
            let looked = first.kind().is_none() && first.is_observed();
            let suspect = self.suspect_among(branch, path, position, position, first.position);
            looked && first.position >= position && suspect.is_none()
        })
    }

    /// The last event before a cursor that may have written any file, unless the whole tree was
    /// looked at since.
    pub fn doubt(&self, cursor: Cursor) -> Option<u32> {
        for (branch, to) in self.chain(cursor.branch, cursor.position) {
            let proof = branch.last_standing(&branch.proofs, to);
            let suspect = branch.last_standing(&branch.suspects, to);
            let since = suspect.filter(|at| *at >= proof.unwrap_or(0));
            if since.is_some() || proof.is_some() {
                return since;
            }
        }
        None
    }

    /// Whether what nobody named at a cursor is known not to be there: the whole tree was
    /// looked at, and nothing that may have written any file came since.
    pub fn is_whole(&self, cursor: Cursor) -> bool {
        let mut chain = self.chain(cursor.branch, cursor.position);
        let is_proven =
            chain.any(|(branch, to)| branch.last_standing(&branch.proofs, to).is_some());
        is_proven && self.doubt(cursor).is_none()
    }

    fn known(&self, blobs: &BlobTable, cursor: Cursor, path: PathId, entry: Entry) -> FileState {
        let suspect = if entry.position < cursor.position {
            self.suspect_since(cursor, path, entry)
        } else {
            let from = cursor.position;
            self.suspect_among(cursor.branch, path, from, from, entry.position)
        };
        FileState {
            kind: entry.kind().unwrap_or(EntryKind::File),
            certainty: certainty(blobs, entry, suspect.is_some()),
            mode: entry.mode(),
            content: entry.content(),
            since: entry.position,
            suspect,
            is_outside: entry.is_outside(),
            is_observed: entry.is_observed(),
        }
    }

    fn implied_directory(&self, cursor: Cursor, path: PathId) -> FileState {
        FileState {
            since: self
                .entry(cursor.branch, path, cursor.position)
                .map_or(0, |entry| entry.position),
            ..FileState::directory()
        }
    }

    /// The last event before the cursor that may have written a path since its entry.
    ///
    /// That a path is gone is doubted only by an event that names it: else every command
    /// would bring back every file that was ever deleted.
    pub(super) fn suspect_since(&self, cursor: Cursor, path: PathId, entry: Entry) -> Option<u32> {
        let any_from = match entry.kind() {
            Some(_) => entry.position + 1,
            None => u32::MAX,
        };
        self.suspect_among(
            cursor.branch,
            path,
            any_from,
            entry.position,
            cursor.position,
        )
    }

    /// The last suspect event before `to` that no whole-tree proof follows: from `any_from`
    /// on one about any file, from `named_from` on one about this path.
    fn suspect_among(
        &self,
        branch: u16,
        path: PathId,
        any_from: u32,
        named_from: u32,
        to: u32,
    ) -> Option<u32> {
        self.chain(branch, to).find_map(|(branch, to)| {
            let proof = branch.last_standing(&branch.proofs, to).unwrap_or(0);
            let any = branch
                .last_standing(&branch.suspects, to)
                .filter(|at| *at >= any_from.max(proof));
            let named = branch
                .last_naming(self, path, to)
                .filter(|at| *at >= named_from.max(proof));
            any.max(named)
        })
    }

    /// Whether anything below a path is there. On the main line that is known nearly always;
    /// else one has to look. Keeps its own stack: a tape chooses how deep its directories are.
    /// Those that were not filled yet are not looked into.
    pub(super) fn has_children(&self, branch: u16, path: PathId, position: u32) -> bool {
        if self.is_empty_before(path, position) {
            return false;
        }
        if branch == State::MAIN
            && let Some(is_any) = self.below.is_any(path, position)
        {
            return is_any;
        }
        let cursor = Cursor { position, branch };
        let way = self.way(cursor);
        let mut open = vec![self.paths.children(path)];
        while let Some(children) = open.last_mut() {
            match children.next() {
                Some(child) => {
                    let entry = way.entry(child).or_else(|| self.evidence(cursor, child));
                    if entry.is_some_and(|entry| entry.kind().is_some()) {
                        return true;
                    }
                    if !self.is_empty_before(child, position) {
                        open.push(self.paths.children(child));
                    }
                }
                None => drop(open.pop()),
            }
        }
        false
    }
}

/// The branches on the way to a cursor, each with how many of its entries come before: found
/// once, where many paths are looked up.
pub(super) struct Way<'a>(Vec<(&'a Log, usize)>);

impl Way<'_> {
    /// The entry of a path that counts at the cursor.
    pub(super) fn entry(&self, path: PathId) -> Option<Entry> {
        let mut branches = self.0.iter();
        branches.find_map(|(log, before)| log.last_among(path, *before))
    }
}

impl Branch {
    /// The last event before `to` that may have written this path, by its name or that of a
    /// directory above it.
    fn last_naming(&self, state: &State, path: PathId, to: u32) -> Option<u32> {
        if self.path_suspects.is_empty() {
            return None;
        }
        let mut last = None;
        let mut node = Some(path);
        while let Some(at) = node {
            last = last.max(
                self.path_suspects
                    .get(&at)
                    .and_then(|list| self.last_standing(list, to)),
            );
            node = state.paths.parent(at);
        }
        last
    }
}

fn certainty(blobs: &BlobTable, entry: Entry, is_suspect: bool) -> Certainty {
    match (entry.kind(), entry.content()) {
        (None, _) if is_suspect => Certainty::Uncertain,
        (None, _) => Certainty::Absent,
        (Some(EntryKind::File), ContentRef::Unknown) => Certainty::Unknown,
        (Some(EntryKind::Directory), _) => Certainty::Exact,
        _ if is_suspect => Certainty::Uncertain,
        (_, ContentRef::Lines(_)) => Certainty::Partial,
        (_, ContentRef::Blob(id)) if blobs.position(id).is_none() => Certainty::Unstored,
        _ if entry.is_redacted() => Certainty::Redacted,
        _ => Certainty::Exact,
    }
}
