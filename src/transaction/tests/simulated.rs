//! A file system in memory that keeps apart what was written and what will survive.
//!
//! In a crash each name of a directory and each content that was not synced survives or
//! not, by itself; of a content, perhaps only a beginning. That is harsher than any real
//! file system. A call can be made to fail, or to be the last one before a crash.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::rc::Rc;

use rustix::io::Errno;

use crate::transaction::fs::{Fs, Kind, Node, Time};

/// The number of the directory at the top.
const ROOT: u64 = 1;

/// What somebody else writes.
pub(super) const FOREIGN: &[u8] = b"written by somebody else";

/// Small random numbers, the same for a seed.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end.max(1)
    }

    pub(super) fn is(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inode {
    kind: Kind,
    bytes: Vec<u8>,
    mode: u32,
    mtime: Time,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct World {
    names: Rc<BTreeMap<(u64, Vec<u8>), u64>>,
    inodes: Rc<BTreeMap<u64, Rc<Inode>>>,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trouble {
    /// The call of this number and all later ones fail: the process is gone.
    pub(super) dies_at: Option<usize>,
    /// The call of this number fails with this error.
    pub(super) fails_at: Option<(usize, Errno)>,
    /// From the call of this number on, nothing new finds room.
    pub(super) full_from: Option<usize>,
    /// At the call of this number somebody else writes this file.
    pub(super) foreign: Option<(usize, &'static str)>,
    /// The barrier of this number does nothing.
    pub(super) deaf_to: Option<usize>,
}

#[derive(Debug)]
struct Inner {
    live: World,
    durable: World,
    next: u64,
    calls: usize,
    writes: usize,
    barriers: usize,
    clock: i64,
    trouble: Trouble,
}

/// The file system. Clones are the same one.
#[derive(Clone, Debug)]
pub(super) struct Simulated(Rc<RefCell<Inner>>);

impl Simulated {
    pub(super) fn new() -> Self {
        let root = Inode {
            kind: Kind::Directory,
            bytes: Vec::new(),
            mode: 0o755,
            mtime: (0, 0),
        };
        let world = World {
            names: Rc::default(),
            inodes: Rc::new(BTreeMap::from([(ROOT, Rc::new(root))])),
        };
        Self(Rc::new(RefCell::new(Inner {
            live: world.clone(),
            durable: world,
            next: ROOT + 1,
            calls: 0,
            writes: 0,
            barriers: 0,
            clock: 1000,
            trouble: Trouble::default(),
        })))
    }

    /// From here on this goes wrong, counted from the next call.
    pub(super) fn trouble(&self, trouble: Trouble) {
        let mut inner = self.0.borrow_mut();
        inner.calls = 0;
        inner.writes = 0;
        inner.barriers = 0;
        inner.trouble = trouble;
    }

    /// Calls since then.
    pub(super) fn calls(&self) -> usize {
        self.0.borrow().calls
    }

    /// Those that changed something.
    pub(super) fn writes(&self) -> usize {
        self.0.borrow().writes
    }

    pub(super) fn settle_down(&self) {
        let mut inner = self.0.borrow_mut();
        inner.durable = inner.live.clone();
    }

    /// The same file system, with a life of its own.
    pub(super) fn copy(&self) -> Self {
        let inner = self.0.borrow();
        Self(Rc::new(RefCell::new(Inner {
            live: inner.live.clone(),
            durable: inner.durable.clone(),
            trouble: Trouble::default(),
            ..*inner
        })))
    }

    /// The power goes: what was not synced survives in part. Percent of it.
    pub(super) fn crash(&self, chance: &mut Chance, percent: usize) {
        let mut inner = self.0.borrow_mut();
        let live = std::mem::take(&mut inner.live);
        let mut world = inner.durable.clone();
        let numbers: BTreeSet<u64> = live.inodes.keys().copied().collect();
        for number in numbers {
            let (now, then) = (&live.inodes[&number], world.inodes.get(&number));
            if then == Some(now) {
                continue;
            }
            let mut left = Inode::clone(now);
            if now.kind == Kind::File && !chance.is(percent) {
                match then {
                    Some(then) => left = Inode::clone(then),
                    None => left.bytes.truncate(chance.below(now.bytes.len() + 1)),
                }
            } else if let Some(then) = then
                && !chance.is(percent)
            {
                left = Inode::clone(then);
            }
            world.inodes_mut().insert(number, Rc::new(left));
        }
        let names: BTreeSet<_> = live
            .names
            .keys()
            .chain(world.names.keys())
            .cloned()
            .collect();
        for name in names {
            let (now, then) = (live.names.get(&name), world.names.get(&name));
            if now == then || !chance.is(percent) {
                continue;
            }
            match now.copied() {
                Some(now) => world.names_mut().insert(name, now),
                None => world.names_mut().remove(&name),
            };
        }
        inner.live = world.clone();
        inner.durable = world;
        inner.trouble = Trouble::default();
    }

    fn read<T>(&self, ask: impl FnOnce(&World) -> Result<T, Errno>) -> io::Result<T> {
        let mut inner = self.0.borrow_mut();
        inner.call(false)?;
        Ok(ask(&inner.live)?)
    }

    fn write<T>(
        &self,
        takes_room: bool,
        act: impl FnOnce(&mut Inner) -> Result<T, Errno>,
    ) -> io::Result<T> {
        let mut inner = self.0.borrow_mut();
        inner.call(takes_room)?;
        inner.writes += 1;
        Ok(act(&mut inner)?)
    }
}

impl Inner {
    fn call(&mut self, takes_room: bool) -> Result<(), Errno> {
        let number = self.calls;
        self.calls += 1;
        if self.trouble.dies_at.is_some_and(|at| number >= at) {
            return Err(Errno::CANCELED);
        }
        if let Some((at, path)) = self.trouble.foreign
            && at == number
        {
            self.foreign_write(path.as_bytes());
        }
        if let Some((at, errno)) = self.trouble.fails_at
            && at == number
        {
            return Err(errno);
        }
        if takes_room && self.trouble.full_from.is_some_and(|at| number >= at) {
            return Err(Errno::NOSPC);
        }
        Ok(())
    }

    /// Somebody else writes a file anew, where a file or nothing is.
    fn foreign_write(&mut self, path: &[u8]) {
        let is_directory = |inode: &Inode| inode.kind == Kind::Directory;
        if self.live.inode(path).is_ok_and(is_directory) {
            return;
        }
        if let Ok(name) = self.live.above(path) {
            let number = self.fresh(Kind::File, FOREIGN.to_vec(), 0o644);
            self.live.names_mut().insert(name, number);
        }
    }

    fn fresh(&mut self, kind: Kind, bytes: Vec<u8>, mode: u32) -> u64 {
        let number = self.next;
        self.next += 1;
        self.clock += 1;
        let inode = Inode {
            kind,
            bytes,
            mode,
            mtime: (self.clock, 0),
        };
        self.live.inodes_mut().insert(number, Rc::new(inode));
        number
    }

    fn touch(&mut self, directory: u64) {
        self.clock += 1;
        self.inode_mut(directory).mtime = (self.clock, 0);
    }

    fn inode_mut(&mut self, number: u64) -> &mut Inode {
        Rc::make_mut(self.live.inodes_mut().get_mut(&number).unwrap())
    }

    fn add(&mut self, path: &[u8], number: u64) -> Result<(), Errno> {
        let (above, name) = self.live.above(path)?;
        if self.live.names.contains_key(&(above, name.clone())) {
            return Err(Errno::EXIST);
        }
        self.live.names_mut().insert((above, name), number);
        self.touch(above);
        Ok(())
    }

    fn take(&mut self, path: &[u8]) -> Result<u64, Errno> {
        let (above, name) = self.live.above(path)?;
        let number = self
            .live
            .names_mut()
            .remove(&(above, name))
            .ok_or(Errno::NOENT)?;
        self.touch(above);
        Ok(number)
    }
}

impl World {
    fn names_mut(&mut self) -> &mut BTreeMap<(u64, Vec<u8>), u64> {
        Rc::make_mut(&mut self.names)
    }

    fn inodes_mut(&mut self) -> &mut BTreeMap<u64, Rc<Inode>> {
        Rc::make_mut(&mut self.inodes)
    }

    fn find(&self, path: &[u8]) -> Result<u64, Errno> {
        if path.is_empty() {
            return Ok(ROOT);
        }
        let mut at = ROOT;
        for name in path.split(|byte| *byte == b'/') {
            match self.inodes[&at].kind {
                Kind::Directory => {}
                Kind::Link => return Err(Errno::LOOP),
                _ => return Err(Errno::NOTDIR),
            }
            at = *self.names.get(&(at, name.to_vec())).ok_or(Errno::NOENT)?;
        }
        Ok(at)
    }

    fn above(&self, path: &[u8]) -> Result<(u64, Vec<u8>), Errno> {
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let (above, name) = match slash {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b""[..], path),
        };
        let above = self.find(above)?;
        match self.inodes[&above].kind {
            Kind::Directory => Ok((above, name.to_vec())),
            Kind::Link => Err(Errno::LOOP),
            _ => Err(Errno::NOTDIR),
        }
    }

    fn inode(&self, path: &[u8]) -> Result<&Inode, Errno> {
        Ok(&self.inodes[&self.find(path)?])
    }

    fn children(&self, directory: u64) -> impl Iterator<Item = &[u8]> {
        let from = (directory, Vec::new());
        let names = self.names.range(from..);
        names
            .take_while(move |((above, _), _)| *above == directory)
            .map(|((_, name), _)| name.as_slice())
    }
}

impl Fs for Simulated {
    fn look(&self, path: &[u8]) -> io::Result<Option<Node>> {
        self.read(|world| {
            let number = match world.find(path) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                found => found?,
            };
            let inode = &world.inodes[&number];
            Ok(Some(Node {
                kind: inode.kind,
                mode: inode.mode,
                len: inode.bytes.len() as u64,
                mtime: inode.mtime,
                inode: number,
            }))
        })
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.read(|world| match world.find(path) {
            Err(Errno::NOENT) => Ok(Vec::new()),
            found => Ok(world.children(found?).map(<[u8]>::to_vec).collect()),
        })
    }

    fn open(&self, path: &[u8]) -> io::Result<Box<dyn Read>> {
        self.read(|world| {
            let bytes = world.inode(path)?.bytes.clone();
            Ok(Box::new(io::Cursor::new(bytes)) as Box<dyn Read>)
        })
    }

    fn target(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        self.read(|world| Ok(world.inode(path)?.bytes.clone()))
    }

    fn create(&self, path: &[u8], content: &mut dyn Read, mode: u32) -> io::Result<()> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        self.write(true, |inner| {
            let number = inner.fresh(Kind::File, bytes, mode);
            inner.add(path, number)
        })
    }

    fn make_directory(&self, path: &[u8]) -> io::Result<()> {
        self.write(true, |inner| {
            let number = inner.fresh(Kind::Directory, Vec::new(), 0o700);
            inner.add(path, number)
        })
    }

    fn make_link(&self, path: &[u8], target: &[u8]) -> io::Result<()> {
        self.write(true, |inner| {
            let number = inner.fresh(Kind::Link, target.to_vec(), 0o777);
            inner.add(path, number)
        })
    }

    fn add_name(&self, path: &[u8], name: &[u8]) -> io::Result<()> {
        self.write(true, |inner| {
            let number = inner.live.find(path)?;
            inner.add(name, number)
        })
    }

    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.write(false, |inner| {
            let number = inner.live.find(from)?;
            inner.add(to, number)?;
            inner.take(from).map(drop)
        })
    }

    fn replace(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.write(false, |inner| {
            let number = inner.take(from)?;
            let (above, name) = inner.live.above(to)?;
            inner.live.names_mut().insert((above, name), number);
            Ok(())
        })
    }

    fn exchange(&self, one: &[u8], two: &[u8]) -> io::Result<()> {
        self.write(false, |inner| {
            let (first, second) = (inner.live.find(one)?, inner.live.find(two)?);
            let (one, two) = (inner.live.above(one)?, inner.live.above(two)?);
            inner.touch(one.0);
            inner.touch(two.0);
            inner.live.names_mut().insert(one, second);
            inner.live.names_mut().insert(two, first);
            Ok(())
        })
    }

    fn remove(&self, path: &[u8]) -> io::Result<()> {
        self.write(false, |inner| {
            if inner.live.inode(path)?.kind == Kind::Directory {
                return Err(Errno::ISDIR);
            }
            inner.take(path).map(drop)
        })
    }

    fn remove_directory(&self, path: &[u8]) -> io::Result<()> {
        self.write(false, |inner| {
            let number = inner.live.find(path)?;
            if inner.live.inodes[&number].kind != Kind::Directory {
                return Err(Errno::NOTDIR);
            }
            if inner.live.children(number).next().is_some() {
                return Err(Errno::NOTEMPTY);
            }
            inner.take(path).map(drop)
        })
    }

    fn set_mode(&self, path: &[u8], mode: u32) -> io::Result<()> {
        self.write(false, |inner| {
            let number = inner.live.find(path)?;
            inner.inode_mut(number).mode = mode;
            Ok(())
        })
    }

    fn set_mtime(&self, path: &[u8], mtime: Time) -> io::Result<()> {
        self.write(false, |inner| {
            let number = inner.live.find(path)?;
            inner.inode_mut(number).mtime = mtime;
            Ok(())
        })
    }

    fn sync(&self, path: &[u8]) -> io::Result<()> {
        self.write(false, |inner| {
            let number = inner.live.find(path)?;
            let inode = inner.live.inodes[&number].clone();
            if inode.kind == Kind::Directory {
                let is_here = |name: &(u64, Vec<u8>)| name.0 == number;
                inner.durable.names_mut().retain(|name, _| !is_here(name));
                let live = inner.live.names.iter();
                let here: Vec<_> = live
                    .filter(|(name, _)| is_here(name))
                    .map(|(name, number)| (name.clone(), *number))
                    .collect();
                for (name, child) in here {
                    // A name that survives leads to something, if not to its content.
                    if !inner.durable.inodes.contains_key(&child) {
                        let mut empty = Inode::clone(&inner.live.inodes[&child]);
                        if empty.kind == Kind::File {
                            empty.bytes.clear();
                        }
                        inner.durable.inodes_mut().insert(child, Rc::new(empty));
                    }
                    inner.durable.names_mut().insert(name, child);
                }
            }
            inner.durable.inodes_mut().insert(number, inode);
            Ok(())
        })
    }

    fn barrier(&self) -> io::Result<()> {
        self.write(false, |inner| {
            let number = inner.barriers;
            inner.barriers += 1;
            if inner.trouble.deaf_to != Some(number) {
                inner.durable = inner.live.clone();
            }
            Ok(())
        })
    }

    fn lock(&self, _path: &[u8]) -> io::Result<bool> {
        Ok(true)
    }
}
