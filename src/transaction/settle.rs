//! Bringing the tree to one side of a journal, from wherever between both it is.
//!
//! Forward, every path becomes its `after`, backward its `before`; the two are the same
//! work with the sides swapped. A path that is there already is left alone, so it can be
//! done again after it was cut off anywhere. What is on neither side was written by
//! somebody else: it is never replaced or removed, and is reported.
//!
//! The bytes of both sides have second names in `.jukebox`, and keep them: nothing here can
//! lose either. Nothing here makes anything survive a crash; the caller does.

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;

use super::fs::{self, Fs, Kind, Node};
use super::journal::{Entry, Journal};
use super::layout;
use super::plan::{Conflict, Fingerprint};

/// To which side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Toward {
    After,
    Before,
}

/// Whether a deletion looks first at what sort of thing it deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KindGuard {
    On,
    /// To show that the tests see it missing.
    #[cfg(test)]
    Off,
}

/// Brings the tree to a side; what stands in the way.
pub(super) fn settle(
    fs: &dyn Fs,
    journal: &Journal,
    toward: Toward,
    guard: KindGuard,
) -> io::Result<Vec<Conflict>> {
    let steps = journal.changes.iter().enumerate();
    let steps = steps.map(|(number, change)| {
        let before = Side {
            entry: &change.before,
            held: Held::Displaced,
        };
        let after = Side {
            entry: &change.after,
            held: Held::Staged,
        };
        let (from, to) = match toward {
            Toward::After => (before, after),
            Toward::Before => (after, before),
        };
        Step {
            number,
            path: change.path.as_bytes(),
            from,
            to,
        }
    });
    let mut settling = Settling {
        fs,
        journal,
        guard,
        steps: steps.collect(),
        conflicts: BTreeMap::new(),
    };
    settling.take_up_what_was_left()?;
    settling.open_directories()?;
    settling.delete()?;
    settling.make_directories()?;
    settling.put()?;
    settling.close_directories()?;
    Ok(settling.conflicts.into_values().collect())
}

#[derive(Clone, Copy)]
struct Step<'a> {
    number: usize,
    path: &'a [u8],
    from: Side<'a>,
    to: Side<'a>,
}

/// A side of a change, and where the second name of its bytes is.
#[derive(Clone, Copy)]
struct Side<'a> {
    entry: &'a Entry,
    held: Held,
}

#[derive(Clone, Copy)]
enum Held {
    Staged,
    Displaced,
}

impl Step<'_> {
    /// Whether what was must go before what is to be can come. A file or a link is
    /// exchanged for another in one go.
    fn deletes(&self) -> bool {
        let is_replaced = self.from.entry.is_leaf() && self.to.entry.is_leaf();
        let stays = self.from.entry.is_directory() && self.to.entry.is_directory();
        *self.from.entry != Entry::Absent && !is_replaced && !stays
    }
}

struct Settling<'a> {
    fs: &'a dyn Fs,
    journal: &'a Journal,
    guard: KindGuard,
    steps: Vec<Step<'a>>,
    /// By the number of the change.
    conflicts: BTreeMap<usize, Conflict>,
}

impl Settling<'_> {
    /// A change that was cut off may have left something aside. What is on neither side was
    /// taken out of the tree by an exchange that nobody looked at: it goes back.
    fn take_up_what_was_left(&mut self) -> io::Result<()> {
        for step in self.steps.clone() {
            let aside = layout::aside(step.number);
            let Some(node) = self.fs.look(&aside)? else {
                continue;
            };
            if self.is(step.to, &aside, node, &step)? || self.is(step.from, &aside, node, &step)? {
                self.fs.remove(&aside)?;
            } else {
                self.put_back(&step)?;
            }
        }
        Ok(())
    }

    /// Directories that forbid it are opened for what is to happen in them.
    fn open_directories(&self) -> io::Result<()> {
        for step in &self.steps {
            if let Entry::Directory { mode, .. } = step.from.entry
                && mode & OWNER != OWNER
                && let Some(node) = self.fs.look(step.path)?
                && node.kind == Kind::Directory
                && node.mode & OWNER != OWNER
            {
                self.fs.set_mode(step.path, node.mode | OWNER)?;
            }
        }
        Ok(())
    }

    /// What must go, the children first.
    fn delete(&mut self) -> io::Result<()> {
        for step in self.steps.clone().into_iter().rev() {
            if !step.deletes() {
                continue;
            }
            let Some(node) = self.fs.look(step.path)? else {
                continue;
            };
            if Some(node.kind) != step.from.entry.kind() && self.guard == KindGuard::On {
                // What is to be is there already, or something that nobody planned.
                if Some(node.kind) != step.to.entry.kind() {
                    self.is_in_the_way(&step)?;
                }
            } else if node.kind == Kind::Directory {
                match self.fs.remove_directory(step.path) {
                    Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                        self.is_in_the_way(&step)?;
                    }
                    removed => removed?,
                }
            } else {
                self.delete_leaf(&step, node)?;
            }
        }
        Ok(())
    }

    fn delete_leaf(&mut self, step: &Step<'_>, node: Node) -> io::Result<()> {
        if self.guard == KindGuard::On && !self.is(step.from, step.path, node, step)? {
            return self.is_in_the_way(step);
        }
        // Whoever wrote it since is seen once it has left the tree.
        let aside = layout::aside(step.number);
        self.fs.rename(step.path, &aside)?;
        let is_ours = match self.fs.look(&aside)? {
            Some(node) => self.is(step.from, &aside, node, step)?,
            None => true,
        };
        if is_ours || self.guard != KindGuard::On {
            self.fs.remove(&aside)
        } else {
            self.put_back(step)?;
            self.is_in_the_way(step)
        }
    }

    /// Directories, from the top down.
    fn make_directories(&mut self) -> io::Result<()> {
        for step in self.steps.clone() {
            if !step.to.entry.is_directory() {
                continue;
            }
            match self.fs.look(step.path)? {
                Some(node) if node.kind == Kind::Directory => {
                    if node.mode & OWNER != OWNER {
                        self.fs.set_mode(step.path, node.mode | OWNER)?;
                    }
                }
                Some(_) => self.is_in_the_way(&step)?,
                None => match self.fs.make_directory(step.path) {
                    Err(error) if is_blocked(&error) => self.is_in_the_way(&step)?,
                    made => made?,
                },
            }
        }
        Ok(())
    }

    /// Files and links.
    fn put(&mut self) -> io::Result<()> {
        for step in self.steps.clone() {
            if step.to.entry.is_leaf() && !self.conflicts.contains_key(&step.number) {
                match self.put_leaf(&step) {
                    Err(error) if is_blocked(&error) => self.is_in_the_way(&step)?,
                    put => put?,
                }
            }
        }
        Ok(())
    }

    fn put_leaf(&mut self, step: &Step<'_>) -> io::Result<()> {
        let node = self.fs.look(step.path)?;
        if let Some(node) = node {
            if self.is(step.to, step.path, node, step)? {
                return Ok(());
            }
            if !self.is(step.from, step.path, node, step)? {
                return self.is_in_the_way(step);
            }
        }
        let aside = layout::aside(step.number);
        let source = self.copy_of(step.to, step.number);
        self.fs.add_name(&source, &aside)?;
        if node.is_none() {
            let put = self.fs.rename(&aside, step.path);
            if put.is_err() {
                self.fs.remove(&aside)?;
            }
            return put;
        }
        self.fs.exchange(&aside, step.path)?;
        let is_ours = match self.fs.look(&aside)? {
            Some(node) => self.is(step.from, &aside, node, step)?,
            None => true,
        };
        if is_ours {
            return self.fs.remove(&aside);
        }
        self.put_back(step)?;
        self.is_in_the_way(step)
    }

    /// Modes and times of directories, the deepest first: a mode may forbid what is below,
    /// and what happens below sets the time.
    fn close_directories(&self) -> io::Result<()> {
        for step in self.steps.iter().rev() {
            let Entry::Directory { mode, mtime } = step.to.entry else {
                continue;
            };
            if self.conflicts.contains_key(&step.number) {
                continue;
            }
            let Some(node) = self.fs.look(step.path)? else {
                continue;
            };
            if node.kind != Kind::Directory {
                continue;
            }
            let is_wanted = match step.from.entry {
                Entry::Directory { mode: from, .. } => from != mode,
                _ => true,
            };
            let was_opened = node.mode == mode | OWNER;
            if node.mode != *mode && (is_wanted || was_opened) {
                self.fs.set_mode(step.path, *mode)?;
            }
            if let Some(mtime) = mtime
                && node.mtime != *mtime
            {
                self.fs.set_mtime(step.path, *mtime)?;
            }
        }
        Ok(())
    }

    /// Puts what is aside, and somebody else's, to where it was.
    fn put_back(&mut self, step: &Step<'_>) -> io::Result<()> {
        let aside = layout::aside(step.number);
        match self.fs.look(step.path)? {
            None => match self.fs.rename(&aside, step.path) {
                Err(error) if is_blocked(&error) => self.keep_theirs(step),
                put => put,
            },
            Some(node) if self.is(step.to, step.path, node, step)? => {
                self.fs.exchange(&aside, step.path)?;
                // Ours, unless a third came between; that one is kept.
                match self.fs.look(&aside)? {
                    Some(node) if !self.is(step.to, &aside, node, step)? => self.keep_theirs(step),
                    Some(_) => self.fs.remove(&aside),
                    None => Ok(()),
                }
            }
            Some(_) => self.keep_theirs(step),
        }
    }

    fn keep_theirs(&self, step: &Step<'_>) -> io::Result<()> {
        let directory = self.make_place_for_conflicts()?;
        let name = format!("{}.theirs", step.number);
        self.fs.replace(
            &layout::aside(step.number),
            &layout::below(&directory, name),
        )
    }

    /// Somebody else was there first: ours is kept where it can be found.
    fn is_in_the_way(&mut self, step: &Step<'_>) -> io::Result<()> {
        if self.conflicts.contains_key(&step.number) {
            return Ok(());
        }
        let mut kept = None;
        if step.to.entry.is_leaf() {
            let directory = self.make_place_for_conflicts()?;
            let name = layout::below(&directory, step.number.to_string());
            match self.fs.add_name(&self.copy_of(step.to, step.number), &name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                named => named?,
            }
            kept = Some(String::from_utf8_lossy(&name).into_owned());
        }
        let Some(change) = self.journal.changes.get(step.number) else {
            return Ok(());
        };
        let conflict = Conflict {
            path: change.path.clone(),
            base: step.from.entry.fingerprint(),
            ours: step.to.entry.fingerprint(),
            theirs: Fingerprint::take(self.fs, step.path)?.0,
            kept,
        };
        self.conflicts.insert(step.number, conflict);
        Ok(())
    }

    fn make_place_for_conflicts(&self) -> io::Result<Vec<u8>> {
        let directory = layout::conflicts(self.journal.id);
        for path in [layout::CONFLICTS, &directory] {
            if self.fs.look(path)?.is_none() {
                self.fs.make_directory(path)?;
            }
        }
        Ok(directory)
    }

    /// The second name of a side's bytes.
    fn copy_of(&self, side: Side<'_>, number: usize) -> Vec<u8> {
        match side.held {
            Held::Staged => layout::staged(number),
            Held::Displaced => layout::displaced_file(self.journal.id, number),
        }
    }

    /// Whether what a path leads to is this side of a change. A file of the same inode that
    /// nobody wrote since is taken for the same; any other is read.
    fn is(&self, side: Side<'_>, path: &[u8], node: Node, step: &Step<'_>) -> io::Result<bool> {
        match side.entry {
            Entry::File {
                mode,
                mtime,
                len,
                hash,
            } => {
                if node.kind != Kind::File || node.mode != *mode || node.len != *len {
                    return Ok(false);
                }
                if node.mtime == *mtime {
                    let copy = self.fs.look(&self.copy_of(side, step.number))?;
                    if copy.is_some_and(|copy| copy.inode == node.inode) {
                        return Ok(true);
                    }
                }
                Ok(fs::hash(self.fs, path)? == *hash)
            }
            Entry::Link(target) => Ok(node.kind == Kind::Link && self.fs.target(path)? == *target),
            Entry::Directory { .. } => Ok(node.kind == Kind::Directory),
            Entry::Absent => Ok(false),
        }
    }
}

/// What the owner of a directory needs to work in it.
const OWNER: u32 = 0o700;

/// Whether somebody else's doing is why a path cannot be reached or is taken.
fn is_blocked(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(
        errno,
        Some(
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::EXIST | Errno::XDEV | Errno::ISDIR
        )
    )
}
