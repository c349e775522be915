//! From differences to the operations that lead from the one tree to the other.
//!
//! What is gone here and came there with one inode was moved, where that is beyond doubt:
//! the content is the same, and nothing else stood at the new place. Files are read here, one
//! at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::disk::{self, Held, Reading, Seen, Sort};
use super::known::{Known, KnownDirectory, KnownFile, Left, split};
use super::walk::{Differences, Walk};
use super::{Caps, Found};
use crate::model::{BlobHash, Content, FileChange, FileOp, TapePath};

/// Takes what is found, and says whether to go on.
pub(super) type Tell<'a, E> = &'a mut dyn FnMut(Found) -> Result<(), E>;

/// Device and inode.
type Inode = (u64, u64);

/// What one look came to, on its way into the known tree and out to whoever asked.
pub(super) struct Settle<'a> {
    pub(super) root: &'a OwnedFd,
    pub(super) known: &'a mut KnownDirectory,
    pub(super) caps: &'a Caps,
    /// The path as a tape calls it.
    pub(super) name: &'a dyn Fn(&[u8]) -> Option<TapePath>,
}

/// Operations that need no content.
#[derive(Default)]
struct Moves {
    /// From and to, in an order in which they can be done.
    renamed: Vec<(Vec<u8>, Vec<u8>)>,
    made: BTreeMap<Vec<u8>, u32>,
    /// New files and links that are no moved ones.
    written: BTreeMap<Vec<u8>, Seen>,
    /// Modes of moved files that are others now.
    modes: Vec<(Vec<u8>, u32)>,
}

impl Settle<'_> {
    /// Enters what a walk found into the known tree, and tells it, in an order in which the
    /// operations can be done one after the other. Says whether a file among it has other
    /// names.
    pub(super) fn settle<E>(mut self, mut walk: Walk<'_>, tell: Tell<'_, E>) -> Result<bool, E> {
        let mut moves = Moves::default();
        self.directories(&mut walk, &mut moves);
        let Differences {
            gone,
            came,
            touched,
            modes,
            left,
        } = walk.found;
        let mut changed = came.iter().chain(&touched);
        let has_shared = changed.any(|(_, seen)| seen.sort == Sort::File && seen.is_shared);
        let gone = self.files(gone, came, &mut moves);
        for (from, to) in &moves.renamed {
            if let Some(from) = (self.name)(from) {
                self.say(FileOp::Rename { from }, to, None, tell)?;
            }
        }
        for (path, known) in &gone {
            if !matches!(known, Known::Left(_)) {
                self.say(FileOp::Remove, path, None, tell)?;
            }
        }
        for (path, mode) in &moves.made {
            self.say(FileOp::Mkdir, path, Some(*mode), tell)?;
        }
        let touched = touched.into_iter().chain(moves.written);
        let touched: BTreeMap<Vec<u8>, Seen> = touched.collect();
        for (path, seen) in &touched {
            self.content(path, seen, tell)?;
        }
        for (path, mode) in modes.iter().chain(&moves.modes) {
            self.say(FileOp::Chmod, path, Some(*mode), tell)?;
        }
        for (path, left) in left {
            if let (Left::Special(sort), Some(path)) = (left, (self.name)(&path)) {
                tell(Found::Special { path, sort })?;
            }
        }
        Ok(has_shared)
    }

    /// Takes in the directories that came, those that were moved with what was known of them,
    /// and looks at what is in them; that may bring further ones.
    fn directories(&mut self, walk: &mut Walk<'_>, moves: &mut Moves) {
        loop {
            let is_directory = |(_, seen): &mut (Vec<u8>, Seen)| seen.sort == Sort::Directory;
            let mut came: Vec<_> = walk.found.came.extract_if(.., is_directory).collect();
            if came.is_empty() {
                return;
            }
            came.sort_by(|one, two| one.0.cmp(&two.0));
            for (path, seen) in came {
                let Ok(opened) = disk::open_beneath(self.root, &path) else {
                    continue;
                };
                let before = moved_directory(&mut walk.found.gone, &path, &seen, &opened);
                let mut below = if let Some((from, mut below)) = before {
                    moves.renamed.push((from, path.clone()));
                    if below.mode != seen.mode {
                        walk.found.modes.push((path.clone(), seen.mode));
                    }
                    below.mode = seen.mode;
                    below.stat = seen.stat;
                    below
                } else {
                    moves.made.insert(path.clone(), seen.mode);
                    KnownDirectory::new(seen.stat, seen.mode)
                };
                walk.directory(&opened, &mut path.clone(), &mut below);
                self.known.put(&path, Known::Directory(below));
            }
        }
    }

    /// Parts the files that came from those that were moved; what is left of the gone.
    fn files(
        &mut self,
        gone: Vec<(Vec<u8>, Known)>,
        came: Vec<(Vec<u8>, Seen)>,
        moves: &mut Moves,
    ) -> BTreeMap<Vec<u8>, Known> {
        let mut gone: BTreeMap<Vec<u8>, Known> = gone.into_iter().collect();
        let mut sources: HashMap<Inode, (Vec<u8>, KnownFile)> = HashMap::new();
        for (path, known) in &gone {
            let mut take = |path: &[u8], file: &KnownFile| {
                let inode = (file.stat.device, file.stat.inode);
                sources.insert(inode, (path.to_vec(), *file));
            };
            match known {
                Known::File(file) => take(path, file),
                Known::Directory(below) => below.each_file(&mut path.clone(), &mut take),
                Known::Link { .. } | Known::Left(_) => {}
            }
        }
        let taken: BTreeSet<Vec<u8>> = gone.keys().cloned().collect();
        let taken: BTreeSet<&[u8]> = taken.iter().map(Vec::as_slice).collect();
        for (path, seen) in came {
            let inode = (seen.stat.device, seen.stat.inode);
            let source = sources.get(&inode).filter(|_| !is_taken(&path, &taken));
            let moved = source.and_then(|(_, before)| {
                let reading = self.read(&path, 0)?;
                let hash = reading.hash()?;
                (before.hash == Some(hash)).then_some((reading, *before))
            });
            let Some((reading, before)) = moved else {
                moves.written.insert(path, seen);
                continue;
            };
            if let Some((from, _)) = sources.remove(&inode) {
                gone.remove(&from);
                moves.renamed.push((from, path.clone()));
            }
            if reading.seen.mode != before.mode {
                moves.modes.push((path.clone(), reading.seen.mode));
            }
            self.known.put(&path, Known::File(reading.known()));
        }
        gone
    }

    /// Tells what a file or link holds now, where it is another than before.
    fn content<E>(&mut self, path: &[u8], seen: &Seen, tell: Tell<'_, E>) -> Result<(), E> {
        if seen.sort == Sort::Link {
            return self.link(path, seen, tell);
        }
        let Some(reading) = self.read(path, self.caps.keep) else {
            return Ok(());
        };
        let before = match self.known.get(path) {
            Some(Known::File(file)) => Some(*file),
            _ => None,
        };
        let hash = reading.hash();
        self.known.put(path, Known::File(reading.known()));
        let is_same = before.is_some_and(|before| match hash {
            Some(hash) => before.hash == Some(hash),
            None => before.hash.is_none() && !reading.seen.stat.has_other_content(&before.stat),
        });
        let mode = reading.seen.mode;
        if !is_same {
            let Some(path) = (self.name)(path) else {
                return Ok(());
            };
            return tell(Found::Change(FileChange {
                mode: Some(mode),
                content: reading.content(),
                remark: reading.remark(),
                ..FileChange::new(FileOp::Write, path)
            }));
        }
        if before.is_some_and(|before| before.mode != mode) {
            return self.say(FileOp::Chmod, path, Some(mode), tell);
        }
        Ok(())
    }

    fn link<E>(&mut self, path: &[u8], seen: &Seen, tell: Tell<'_, E>) -> Result<(), E> {
        let (above, name) = split(path);
        let opened = disk::open_beneath(self.root, above);
        let Ok(target) = opened.and_then(|at| disk::target(at, name)) else {
            return Ok(());
        };
        let before = self.known.get(path);
        let is_same = matches!(before, Some(Known::Link { target: known, .. }) if *known == target);
        let stat = seen.stat;
        self.known.put(
            path,
            Known::Link {
                target: target.clone(),
                stat,
            },
        );
        if is_same {
            return Ok(());
        }
        self.say(FileOp::Symlink { target }, path, None, tell)
    }

    fn read(&self, path: &[u8], keep: u64) -> Option<Reading> {
        let (above, name) = split(path);
        let at = disk::open_beneath(self.root, above).ok()?;
        disk::read(&at, name, self.caps, keep)
    }

    fn say<E>(
        &self,
        op: FileOp,
        path: &[u8],
        mode: Option<u32>,
        tell: Tell<'_, E>,
    ) -> Result<(), E> {
        let Some(path) = (self.name)(path) else {
            return Ok(());
        };
        tell(Found::Change(FileChange {
            mode,
            ..FileChange::new(op, path)
        }))
    }
}

impl Reading {
    /// The hash of the content, where it is known.
    pub(super) const fn hash(&self) -> Option<BlobHash> {
        match &self.held {
            Held::Bytes(_, hash) | Held::Hash(hash) => Some(*hash),
            Held::Nothing(_) => None,
        }
    }

    /// What the event says of the content.
    fn content(&self) -> Content {
        match &self.held {
            Held::Bytes(bytes, _) => Content::Bytes(Arc::clone(bytes)),
            Held::Hash(_) | Held::Nothing(_) => Content::Unstored {
                hash: self.hash(),
                len: Some(self.seen.stat.size),
            },
        }
    }

    /// What is remembered of it.
    pub(super) const fn known(&self) -> KnownFile {
        KnownFile {
            stat: self.seen.stat,
            mode: self.seen.mode,
            hash: self.hash(),
            is_settled: self.is_settled,
        }
    }

    fn remark(&self) -> Option<String> {
        match &self.held {
            _ if self.is_moving => Some("it was being written while it was read".to_owned()),
            Held::Bytes(..) => None,
            Held::Hash(_) => Some("larger than what is kept".to_owned()),
            Held::Nothing(None) => Some("larger than what is read".to_owned()),
            Held::Nothing(Some(error)) => Some(format!("it could not be read: {error}")),
        }
    }
}

/// The directory that is gone elsewhere and came here. An inode may have been used again
/// for another one, so something in it must have come along.
fn moved_directory(
    gone: &mut Vec<(Vec<u8>, Known)>,
    path: &[u8],
    seen: &Seen,
    opened: &OwnedFd,
) -> Option<(Vec<u8>, KnownDirectory)> {
    let came_along = |(name, known): (&[u8], &Known)| match known {
        Known::File(file) => {
            disk::look(opened, name).is_ok_and(|seen| seen.stat.is_same_inode(&file.stat))
        }
        Known::Directory(below) => {
            disk::look(opened, name).is_ok_and(|seen| seen.stat.is_same_inode(&below.stat))
        }
        Known::Link { .. } | Known::Left(_) => false,
    };
    let found = gone.iter().position(|(_, known)| match known {
        Known::Directory(below) => {
            below.stat.is_same_inode(&seen.stat) && below.entries().any(came_along)
        }
        _ => false,
    })?;
    if is_taken(
        path,
        &gone.iter().map(|(path, _)| path.as_slice()).collect(),
    ) {
        return None;
    }
    match gone.swap_remove(found) {
        (from, Known::Directory(below)) => Some((from, below)),
        _ => None,
    }
}

/// Whether something stood at a path or above it that is gone: nothing is moved there, since
/// what stood there has to make room first.
fn is_taken(path: &[u8], gone: &BTreeSet<&[u8]>) -> bool {
    let slashes = memchr::memchr_iter(b'/', path);
    let mut above = slashes
        .chain([path.len()])
        .filter_map(|end| path.get(..end));
    above.any(|above| gone.contains(above))
}
