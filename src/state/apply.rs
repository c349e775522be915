//! What each event does to the version table.

use std::collections::HashSet;

use super::entry::{ContentRef, Entry};
use super::paths::PathId;
use super::table::{Branch, State};
use crate::model::{Cursor, EntryKind, Kind, TapePath};
use crate::tape::wire::{Enc, RawHead};
use crate::tape::{Index, IndexSink, Indexed, Record};

impl IndexSink for State {
    fn indexed(&mut self, index: &mut Index, event: Indexed, record: Option<&Record<'_>>) {
        self.follow_branches(index);
        // Most events are about no files, and nothing grows by them.
        if !may_tell_of_files(event.kind) && record.is_some() {
            return;
        }
        self.apply(index, event, record);
        self.note_growth(event.position);
    }

    fn caught_up(&mut self) {
        for branch in &mut self.branches {
            branch.log.settle();
        }
        self.below.settle();
    }
}

impl State {
    fn apply(&mut self, index: &mut Index, event: Indexed, record: Option<&Record<'_>>) {
        let Some(record) = record else {
            self.suspect_all(event.view, event.position);
            return;
        };
        let head = record.head;
        let Some(mode_of) = Op::of(event.kind) else {
            match event.kind {
                Kind::Gap => self.suspect_all(event.view, event.position),
                Kind::FsSuspect => self.suspect(event, head),
                Kind::TxnSavepoint => self.savepoint(event, head),
                Kind::TxnCommit => self.commit(index, event),
                Kind::TxnRollback => self.roll_back(event, head),
                Kind::Snapshot => self.prove(index, event, record),
                _ => {}
            }
            return;
        };
        // A path that no tape may hold changes nothing; its event is on the timeline all the same.
        let Ok(Some(path)) = head.tape_path() else {
            return;
        };
        let path = self.paths.intern(&path);
        match mode_of {
            Op::Write => self.write(event, path, head),
            Op::Remove => self.remove(event, path, head.is_outside),
            Op::Rename => {
                if let Ok(Some(from)) = head.tape_path_from() {
                    let from = self.paths.intern(&from);
                    self.rename(event, from, path, head.is_outside);
                }
            }
            Op::Mkdir => {
                let entry = Entry::new(event.position, EntryKind::Directory, ContentRef::Unknown)
                    .with_mode(head.mode)
                    .outside_if(head.is_outside);
                self.put(event.view, path, entry);
            }
            Op::Symlink => {
                let target = ContentRef::Target(event.position);
                let entry =
                    Entry::new(event.position, EntryKind::Link, target).outside_if(head.is_outside);
                self.put(event.view, path, entry);
            }
            Op::Chmod => self.chmod(event, path, head),
            Op::Observe => self.observe(index, event, path, head),
        }
    }
}

/// Whether events of this kind can change what is known of files.
const fn may_tell_of_files(kind: Kind) -> bool {
    Op::of(kind).is_some()
        || matches!(
            kind,
            Kind::Gap
                | Kind::FsSuspect
                | Kind::TxnSavepoint
                | Kind::TxnCommit
                | Kind::TxnRollback
                | Kind::Snapshot
        )
}

#[derive(Clone, Copy)]
enum Op {
    Write,
    Remove,
    Rename,
    Mkdir,
    Symlink,
    Chmod,
    Observe,
}

impl Op {
    const fn of(kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::FsWrite => Self::Write,
            Kind::FsRemove => Self::Remove,
            Kind::FsRename => Self::Rename,
            Kind::FsMkdir => Self::Mkdir,
            Kind::FsSymlink => Self::Symlink,
            Kind::FsChmod => Self::Chmod,
            Kind::FsObserve => Self::Observe,
            _ => return None,
        })
    }
}

/// What an event says of a file's content.
const fn told(event: Indexed, head: &RawHead<'_>) -> ContentRef {
    match (head.enc, event.blob) {
        (Enc::Lines, _) => ContentRef::Lines(event.position),
        (_, Some(id)) => ContentRef::Blob(id),
        (_, None) => ContentRef::Unknown,
    }
}

impl State {
    /// Enters the branches that the index knows by now.
    fn follow_branches(&mut self, index: &Index) {
        for branch in index.branches.iter().skip(self.branches.len()) {
            let entered = match branch.parent {
                None => Branch::main(),
                Some(parent) => Branch::leaving(parent),
            };
            self.branches.push(entered);
        }
    }

    fn write(&mut self, event: Indexed, path: PathId, head: &RawHead<'_>) {
        let before = self.latest(event.view, path);
        let mode = head.mode.or_else(|| before.and_then(Entry::mode));
        let entry = Entry::new(event.position, EntryKind::File, told(event, head))
            .with_mode(mode)
            .outside_if(head.is_outside)
            .redacted_if(head.is_redacted);
        self.put(event.view, path, entry);
    }

    /// A path and all below it that was ever named. A tape pays for such looks with its
    /// events: without that, a line that moves a large directory to and fro could be repeated
    /// until no memory is left. `None`: it did not pay, and any file may be another now.
    fn subtree(&mut self, branch: u16, position: u32, path: PathId) -> Option<Vec<PathId>> {
        const FREE: usize = 1 << 16;
        const FOR_AN_EVENT: usize = 64;
        const FOR_A_NAME: usize = 16;
        let paid = FOR_AN_EVENT * position as usize + FOR_A_NAME * self.directories.lines();
        if self.looked_at > FREE + paid {
            self.suspect_all(branch, position);
            return None;
        }
        let subtree = self.paths.subtree(path);
        self.looked_at += subtree.len() - 1;
        Some(subtree)
    }

    fn remove(&mut self, event: Indexed, path: PathId, is_outside: bool) {
        let subtree = self.subtree(event.view, event.position, path);
        // The path itself is gone even if it was never seen.
        for node in subtree.unwrap_or_else(|| vec![path]) {
            let is_there = self
                .latest(event.view, node)
                .is_some_and(|entry| entry.kind().is_some());
            if is_there || node == path {
                let gone = Entry::absent(event.position).outside_if(is_outside);
                self.push(event.view, node, gone);
            }
        }
    }

    fn rename(&mut self, event: Indexed, from: PathId, to: PathId, is_outside: bool) {
        let Some(moved) = self.subtree(event.view, event.position, from) else {
            return;
        };
        let moved: Vec<(PathId, Option<Entry>)> = moved
            .into_iter()
            .map(|node| (node, self.latest(event.view, node)))
            .collect();
        // What stood at the new path is replaced, with all below it.
        let moving: HashSet<PathId> = moved.iter().map(|(node, _)| *node).collect();
        let replaced = self.subtree(event.view, event.position, to);
        for node in replaced.unwrap_or_default() {
            let before = self.latest(event.view, node);
            let is_there = before.is_some_and(|entry| entry.kind().is_some());
            if is_there && node != to && !moving.contains(&node) {
                self.push(event.view, node, Entry::absent(event.position));
            }
        }
        for (node, entry) in &moved {
            let is_there = entry.is_some_and(|entry| entry.kind().is_some());
            if is_there || *node == from {
                let gone = Entry::absent(event.position).outside_if(is_outside);
                self.push(event.view, *node, gone);
            }
        }
        for (node, entry) in moved {
            let known = entry.filter(|entry| entry.kind().is_some());
            let entry = match known {
                Some(entry) => entry,
                // Never seen, and yet it was moved: a file of unknown content.
                _ if node == from && !self.has_children(event.view, from, event.position) => {
                    Entry::new(event.position, EntryKind::File, ContentRef::Unknown)
                }
                _ => continue,
            };
            let Some(target) = self.below(from, node, to) else {
                continue;
            };
            let entry = entry
                .at(event.position)
                .observed_if(false)
                .outside_if(is_outside);
            self.put(event.view, target, entry);
            if let Some(known) = known {
                self.pass_doubt_on(event, (node, known), target);
            }
        }
    }

    /// What made a path uncertain before an event, which did not write it, makes the one
    /// uncertain that it is from then on.
    pub(super) fn pass_doubt_on(
        &mut self,
        event: Indexed,
        (path, entry): (PathId, Entry),
        heir: PathId,
    ) {
        let before = Cursor {
            position: event.position,
            branch: event.view,
        };
        if self.suspect_since(before, path, entry).is_some() {
            self.suspect_path(event.view, event.position, heir);
        }
    }

    fn suspect_path(&mut self, branch: u16, position: u32, path: PathId) {
        if let Some(branch) = self.branches.get_mut(usize::from(branch)) {
            branch.suspect(path, position);
        }
    }

    /// The node that stands to `to` as `node` stands to `from`; entered if it is new. `None`
    /// where that would be deeper than any path: moves could nest a directory without end.
    fn below(&mut self, from: PathId, node: PathId, to: PathId) -> Option<PathId> {
        let mut names = Vec::new();
        let mut at = node;
        while at != from {
            names.push(self.paths.name(at).to_vec());
            at = self.paths.parent(at)?;
        }
        let above = std::iter::successors(Some(to), |at| self.paths.parent(*at)).count() - 1;
        if above + names.len() > TapePath::MAX_DEPTH {
            return None;
        }
        let mut target = to;
        for name in names.iter().rev() {
            target = self.paths.intern_child(target, name);
        }
        Some(target)
    }

    fn chmod(&mut self, event: Indexed, path: PathId, head: &RawHead<'_>) {
        let known = self
            .latest(event.view, path)
            .filter(|entry| entry.kind().is_some());
        let entry = known
            .unwrap_or_else(|| Entry::new(event.position, EntryKind::File, ContentRef::Unknown))
            .at(event.position)
            .with_mode(head.mode)
            .observed_if(false)
            .outside_if(head.is_outside);
        self.push(event.view, path, entry);
        if let Some(known) = known {
            self.pass_doubt_on(event, (path, known), path);
        }
    }

    fn observe(&mut self, index: &mut Index, event: Indexed, path: PathId, head: &RawHead<'_>) {
        let before = self.latest(event.view, path);
        let seen = if event.blob.is_none() && head.enc == Enc::Elsewhere {
            Entry::absent(event.position)
        } else {
            let mode = head.mode.or_else(|| before.and_then(Entry::mode));
            Entry::new(event.position, EntryKind::File, told(event, head)).with_mode(mode)
        };
        // Knowing less than before is no news, unless something may have happened since.
        if matches!(seen.content(), ContentRef::Unknown)
            && seen.kind().is_some()
            && before.is_some_and(|before| before.kind().is_some())
        {
            return;
        }
        let differs = before.is_some_and(|before| before.contradicts(seen));
        if differs && let Some(step) = event.step {
            index.flag_outside(step);
        }
        let entry = seen
            .observed_if(true)
            .outside_if(differs)
            .redacted_if(head.is_redacted);
        self.put(event.view, path, entry);
    }

    fn suspect_all(&mut self, branch: u16, position: u32) {
        if let Some(branch) = self.branches.get_mut(usize::from(branch)) {
            branch.suspects.push(position);
        }
    }

    fn suspect(&mut self, event: Indexed, head: &RawHead<'_>) {
        let Ok(Some(path)) = head.tape_path() else {
            return self.suspect_all(event.view, event.position);
        };
        let path = self.paths.intern(&path);
        if self.latest(event.view, path).is_none()
            && !self.has_children(event.view, path, event.position)
        {
            // Named, and never seen.
            let named = Entry::new(event.position, EntryKind::File, ContentRef::Unknown);
            self.push(event.view, path, named);
        }
        self.suspect_path(event.view, event.position, path);
    }

    fn savepoint(&mut self, event: Indexed, head: &RawHead<'_>) {
        if let (Some(branch), Some(name)) =
            (self.branches.get_mut(usize::from(event.view)), head.name)
        {
            branch
                .savepoints
                .push((name.decode().as_bytes().into(), event.position));
        }
    }

    /// Brings what a transaction changed to its parent.
    fn commit(&mut self, index: &Index, event: Indexed) {
        let is_transaction = index
            .branches
            .get(usize::from(event.view))
            .is_some_and(|branch| branch.kind == crate::tape::BranchKind::Transaction);
        let Some(parent) = self.parent_of(event.view).filter(|_| is_transaction) else {
            return;
        };
        let inside = Cursor {
            position: event.position,
            branch: event.view,
        };
        let real = Cursor {
            branch: parent,
            ..inside
        };
        let branch = self.branches.get(usize::from(event.view));
        let stands = |own: &Branch, list: &[u32]| own.last_standing(list, event.position).is_some();
        let may_touch_any = branch.is_some_and(|own| stands(own, &own.suspects));
        let mut suspected = Vec::new();
        for (path, entry) in self.ends(event.view, 0, event.position) {
            if entry.is_undone() {
                continue;
            }
            if self.suspect_since(inside, path, entry).is_some() {
                suspected.push(path);
            }
            let before = self.latest(parent, path);
            let known = before.filter(|before| before.says_same(entry));
            // What is no change is told all the same where it was in doubt, or would be now.
            let is_news = known.is_none_or(|known| {
                may_touch_any || self.suspect_since(real, path, known).is_some()
            });
            if is_news {
                let brought = entry.at(event.position);
                let is_seen = entry.is_observed() || known.is_some();
                self.push(parent, path, brought.observed_if(is_seen));
            }
        }
        let Some(own) = self.branches.get(usize::from(event.view)) else {
            return;
        };
        let named = own.path_suspects.iter();
        let named = named.filter(|(path, list)| {
            let last = own.log.last_of(**path, event.position);
            last.is_none_or(Entry::is_undone) && stands(own, list)
        });
        suspected.extend(named.map(|(path, _)| *path));
        if may_touch_any {
            self.suspect_all(parent, event.position);
        }
        for path in suspected {
            self.suspect_path(parent, event.position, path);
        }
    }

    /// Takes a transaction back to a savepoint. A whole rollback changes nothing: its
    /// parent never saw what it did, and its branch stays to be looked at.
    fn roll_back(&mut self, event: Indexed, head: &RawHead<'_>) {
        let Some(to) = head.to else { return };
        let Some(branch) = self.branches.get_mut(usize::from(event.view)) else {
            return;
        };
        let to = to.decode();
        let mut latest_first = branch.savepoints.iter().rev();
        let Some(saved) = latest_first
            .find(|(name, _)| **name == *to.as_bytes())
            .map(|(_, position)| *position)
        else {
            return self.suspect_all(event.view, event.position);
        };
        branch.undone.push((saved, event.position));
        for (path, last) in self.ends(event.view, saved, event.position) {
            let before = self
                .entry(event.view, path, saved)
                .unwrap_or_else(|| Entry::absent(event.position));
            let branch = self.branches.get(usize::from(event.view));
            let own = branch.and_then(|own| own.log.last_of(path, saved));
            let is_undone = own.is_none_or(Entry::is_undone);
            if is_undone || !last.says_same(before) {
                let restored = before.at(event.position).observed_if(false);
                self.push(event.view, path, restored.undone_if(is_undone));
                let then = Cursor {
                    position: saved,
                    branch: event.view,
                };
                if self.suspect_since(then, path, before).is_some() {
                    self.suspect_path(event.view, event.position, path);
                }
            }
        }
    }

    /// The paths with entries on a branch between two events, each with its last entry.
    fn ends(&self, branch: u16, from: u32, to: u32) -> Vec<(PathId, Entry)> {
        let Some(own) = self.branches.get(usize::from(branch)) else {
            return Vec::new();
        };
        let mut paths: Vec<PathId> = own.touched(from, to).collect();
        paths.sort_unstable();
        paths.dedup();
        let last = |path| Some((path, own.log.last_of(path, to)?));
        paths.into_iter().filter_map(last).collect()
    }

    fn parent_of(&self, branch: u16) -> Option<u16> {
        self.branches
            .get(usize::from(branch))?
            .parent
            .map(|(parent, _)| parent)
    }

    /// What a path is after all events so far, as its branch sees it.
    pub(super) fn latest(&self, branch: u16, path: PathId) -> Option<Entry> {
        self.entry(branch, path, u32::MAX)
    }

    /// Adds an entry, and makes room for it: what stood below a path that is no directory
    /// now is gone, and a file above it became a directory.
    pub(super) fn put(&mut self, branch: u16, path: PathId, entry: Entry) {
        if entry.kind() != Some(EntryKind::Directory) && self.paths.children(path).next().is_some()
        {
            let subtree = self.subtree(branch, entry.position, path);
            for node in subtree.into_iter().flatten().skip(1) {
                if self
                    .latest(branch, node)
                    .is_some_and(|below| below.kind().is_some())
                {
                    self.push(branch, node, Entry::absent(entry.position));
                }
            }
        }
        if entry.kind().is_some() {
            let mut above = self.paths.parent(path);
            while let Some(node) = above {
                if self.latest(branch, node).and_then(Entry::kind) == Some(EntryKind::File) {
                    let directory =
                        Entry::new(entry.position, EntryKind::Directory, ContentRef::Unknown);
                    self.push(branch, node, directory);
                }
                above = self.paths.parent(node);
            }
        }
        self.push(branch, path, entry);
    }

    pub(super) fn push(&mut self, number: u16, path: PathId, entry: Entry) {
        let Some(branch) = self.branches.get_mut(usize::from(number)) else {
            return;
        };
        if number == Self::MAIN {
            let log = &branch.log;
            let change = (log.last_of(path, u32::MAX), entry);
            let last = |node| log.last_of(node, u32::MAX);
            let is_there = |node| last(node).is_some_and(|entry| entry.kind().is_some());
            self.below.note(&self.paths, path, change, is_there);
        }
        branch.log.push(path, entry);
        self.note_filled(path, entry);
    }
}
