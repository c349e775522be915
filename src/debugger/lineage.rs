//! The forks of a run as a tree: the tape it left, the ones that left it, and where they lie.
//!
//! Forks that lie beside a tape are found by looking at the files there, others by what the
//! user's state directory remembers. Tapes are only read here, but for one that the user wants
//! to be called otherwise or to be gone: see [`LineageError`] for what is refused.

mod account;
mod change;
mod known;
mod points;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use self::known::Known;
use super::follow::Origin;
use super::parents::{Ancestor, neighbours, tape_at};
use super::{Debugger, Places};
use crate::model::{Edit, Header, Seq};
use crate::text::SafeText;

pub use account::ForkAccount;
pub use change::LineageError;
pub use points::{ForkPoint, ForkPoints};

/// A tape in the tree of forks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkRow {
    /// The tape's id.
    pub id: String,
    /// Where it lies, or was last seen.
    pub path: Option<PathBuf>,
    /// Whether it lies there.
    pub presence: Presence,
    /// It is the run that was asked.
    pub is_this: bool,
    /// How many forks lead to it: 0 is the tape that is none.
    pub depth: u16,
    /// The last event that it shares with the tape above it.
    pub seq: Option<Seq>,
    /// What makes it differ from that.
    pub edit: Option<Edit>,
    /// What the user calls it; else what was changed, or its file's name.
    pub title: SafeText,
    /// Whether the user called it so.
    pub is_named: bool,
}

/// Whether a tape lies where it was last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It does.
    There,
    /// No file is there any more.
    Gone,
    /// What is there is another tape, or cannot be read.
    Other,
    /// Nobody knows where it lies.
    Nowhere,
}

impl ForkRow {
    /// Whether it lies where it was last seen.
    pub fn is_there(&self) -> bool {
        self.presence == Presence::There
    }
}

/// Generations and forks that a tree shows at most.
const MAX_ROWS: usize = 4_096;

/// What has to be known of a run to find the tapes that belong to it. The run itself is not
/// needed for that: whoever looks for them keeps nobody from reading on in it.
#[derive(Clone, Debug)]
pub struct ForkSearch {
    header: Header,
    ancestors: Vec<Ancestor>,
    places: Places,
    /// The file that the run came from, or what would be its file.
    path: PathBuf,
    /// Whether that is its tape: forks may lie beside it.
    is_tape: bool,
}

impl Debugger {
    /// The tree of forks that the run belongs to, each tape behind the one it left. Costs a
    /// look at the files that may belong to it.
    pub fn forks(&self) -> Vec<ForkRow> {
        self.fork_search().forks()
    }

    /// What has to be known of the run to find the tapes that belong to it.
    pub fn fork_search(&self) -> ForkSearch {
        let own = self.origin.as_ref().map(Origin::path);
        ForkSearch {
            header: self.header.clone(),
            ancestors: self.ancestors.clone(),
            places: self.places.clone(),
            path: own.map_or_else(|| PathBuf::from(&self.name), Path::to_owned),
            is_tape: self.tape_file().is_some(),
        }
    }
}

impl ForkSearch {
    /// The tree of forks, each tape behind the one it left. Costs a look at the files that may
    /// belong to it.
    pub fn forks(&self) -> Vec<ForkRow> {
        let known = self.relatives();
        let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (id, tape) in &known {
            if let Some((parent, _)) = &tape.parent {
                children.entry(parent).or_default().push(id);
            }
        }
        for forks in children.values_mut() {
            let place = |id: &&str| {
                known
                    .get(*id)
                    .and_then(|tape| Some(tape.parent.as_ref()?.1))
            };
            forks.sort_by_key(|id| (place(id), *id));
        }
        let mut rows = Vec::new();
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(self.root(&known), 0)];
        while let Some((id, depth)) = waiting.pop() {
            if !seen.insert(id) || rows.len() == MAX_ROWS {
                continue;
            }
            let (tape, forks) = (known.get(id), children.get(id));
            let is_replaced = tape.is_some_and(|tape| is_replaced(id, &tape.path, &known));
            if depth > 0 && forks.is_none() && is_replaced {
                continue;
            }
            rows.push(self.row(id, tape, depth));
            let forks = forks.into_iter().flatten().rev();
            waiting.extend(forks.map(|id| (*id, depth + 1)));
        }
        rows
    }

    /// The tape at the top: the last parent whose name is known.
    fn root<'a>(&'a self, known: &'a BTreeMap<String, Known>) -> &'a str {
        let mut root: &str = &self.header.id;
        let mut seen = BTreeSet::new();
        while seen.insert(root)
            && let Some((parent, _)) = known.get(root).and_then(|tape| tape.parent.as_ref())
        {
            root = parent;
        }
        root
    }

    /// Every tape that may belong to the tree.
    fn relatives(&self) -> BTreeMap<String, Known> {
        let mut known = self.places.known_tapes();
        let mut add = |header: &Header, path: &Path| {
            let path = self.places.lasting(path);
            let name = known.get(&header.id).and_then(|before| before.name.clone());
            let before = known
                .get(&header.id)
                .filter(|before| tape_at(&before.path).is_some());
            if before.is_none_or(|before| before.path == path) {
                let tape = Known::of(header, path);
                known.insert(header.id.clone(), Known { name, ..tape });
            }
        };
        let path = self.places.lasting(&self.path);
        let above = path.parent().filter(|_| self.is_tape);
        for path in above.into_iter().flat_map(neighbours) {
            if let Some((_, header)) = tape_at(&path) {
                add(&header, &path);
            }
        }
        for ancestor in &self.ancestors {
            add(&ancestor.header, &ancestor.path);
        }
        let name = known
            .get(&self.header.id)
            .and_then(|tape| tape.name.clone());
        let this = Known {
            name,
            ..Known::of(&self.header, path)
        };
        known.insert(self.header.id.clone(), this);
        known
    }

    fn row(&self, id: &str, known: Option<&Known>, depth: u16) -> ForkRow {
        let is_this = id == self.header.id;
        let path = known.map(|known| known.path.clone());
        ForkRow {
            id: id.to_owned(),
            presence: match &path {
                _ if is_this => Presence::There,
                Some(path) => presence(id, path),
                None => Presence::Nowhere,
            },
            path,
            is_this,
            depth,
            seq: known.and_then(|known| Some(known.parent.as_ref()?.1)),
            edit: known.and_then(|known| known.edit.clone()),
            title: SafeText::line(&known.map_or_else(|| format!("tape {id}"), Known::title)),
            is_named: known.is_some_and(|known| known.name.is_some()),
        }
    }
}

/// Whether the tape with this id lies there.
fn presence(id: &str, path: &Path) -> Presence {
    match tape_at(path) {
        Some((_, header)) if header.id == id => Presence::There,
        None if fs::symlink_metadata(path).is_err() => Presence::Gone,
        _ => Presence::Other,
    }
}

/// Whether another fork of the same parent was made in the place of this one.
fn is_replaced(id: &str, path: &Path, known: &BTreeMap<String, Known>) -> bool {
    let parent_of = |id: &str| Some(&known.get(id)?.parent.as_ref()?.0);
    let Some((_, there)) = tape_at(path) else {
        return false;
    };
    let place = known.get(&there.id).map(|tape| &*tape.path);
    there.id != id && place == Some(path) && parent_of(&there.id) == parent_of(id)
}
