//! What differs between two JSON documents, path by path.
//!
//! [`between`] never gives a wrong answer: its changes turn the document before into the one
//! after, and there are none exactly where the two are equal. Equal means the same to a
//! reader of JSON, with two exceptions to be on the safe side: a number is its text, so that
//! nothing is rounded (`1` and `1.0` differ, in their writing only), and of members with one
//! name all count, in their order. The order of other members and the blanks between values
//! mean nothing.
//!
//! No depth of nesting is too much. Where time runs out or a text is no JSON there is no
//! answer, and the two are better compared as text ([`FileDiff`](super::FileDiff)).

mod in_order;
mod lines;
mod number;
mod tree;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, Instant};

use super::diff::{self, align};
use tree::{Identities, Kind, Tree};

pub use in_order::in_order;
pub use lines::{ChangeLine, LineKind, change_lines};

/// Longer documents are not compared by path.
pub const LONGEST: usize = 8 << 20;

/// One difference between two documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonChange {
    /// Where it is. Elements are counted in the document after; of what was removed, the last
    /// step counts in the one before.
    pub path: JsonPath,
    /// What became of the value there.
    pub kind: JsonChangeKind,
    /// The value before, as it was written; `None` where there was none.
    pub before: Option<String>,
    /// The value after, as it was written; `None` where there is none.
    pub after: Option<String>,
}

/// What became of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonChangeKind {
    /// There was none.
    Added,
    /// There is none any more.
    Removed,
    /// It is another.
    Changed,
    /// It is the same number, written otherwise.
    Rewritten,
    /// It is the same, and stood elsewhere in its array.
    Moved {
        /// Where, in the document before.
        from: usize,
    },
}

/// The way from a whole document to a value in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonPath(pub Vec<JsonStep>);

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JsonStep {
    /// Into a member of an object.
    Member {
        /// Its name.
        name: String,
        /// Which of those with this name, from 0.
        nth: usize,
    },
    /// Into an element of an array, from 0.
    Element(usize),
}

/// As people write it: `edits[2].new_string`. The whole document is `.`, a name that is no
/// plain word stands in quotes, and `#2` is the second member of a name.
impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(".");
        }
        for (index, step) in self.0.iter().enumerate() {
            match step {
                JsonStep::Element(element) => write!(f, "[{element}]")?,
                JsonStep::Member { name, nth } => {
                    let dot = if index > 0 { "." } else { "" };
                    if is_plain(name) {
                        write!(f, "{dot}{name}")?;
                    } else {
                        write!(f, "{dot}{}", serde_json::Value::from(name.as_str()))?;
                    }
                    if *nth > 0 {
                        write!(f, "#{}", nth + 1)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl JsonPath {
    /// As a JSON pointer (RFC 6901): `/edits/2/new_string`; the whole document is empty.
    pub fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.0 {
            pointer.push('/');
            match step {
                JsonStep::Element(element) => pointer.push_str(&element.to_string()),
                JsonStep::Member { name, .. } => {
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                }
            }
        }
        pointer
    }
}

fn is_plain(name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
    !name.is_empty() && name.chars().all(is_word)
}

/// The differences between two documents, in the order of the one after; what an object or
/// an array lost comes before what it got. `None` where one of the texts is no JSON or longer
/// than [`LONGEST`], or where `budget` was not enough; for small ones it always is.
pub fn between(before: &str, after: &str, budget: Duration) -> Option<Vec<JsonChange>> {
    let deadline = diff::deadline(budget, before.len() + after.len());
    if before.len().max(after.len()) > LONGEST {
        return None;
    }
    let (old, new) = (Tree::read(before)?, Tree::read(after)?);
    let mut identities = Identities::default();
    let old_ids = identities.of(&old, deadline)?;
    let new_ids = identities.of(&new, deadline)?;
    let mut comparison = Comparison {
        old: Side {
            tree: old,
            ids: old_ids,
        },
        new: Side {
            tree: new,
            ids: new_ids,
        },
        deadline,
        paths: Vec::new(),
        work: vec![Work::Compare(None, 0, 0)],
        changes: Vec::new(),
    };
    while let Some(work) = comparison.work.pop() {
        if Instant::now() > deadline {
            return None;
        }
        match work {
            Work::Compare(path, old, new) => comparison.compare(path, old, new),
            Work::Tell(path, kind, old, new) => comparison.tell(path, kind, old, new),
        }
    }
    Some(comparison.changes)
}

/// A document and the numbers of its values: equal values have equal ones.
struct Side<'a> {
    tree: Tree<'a>,
    ids: Vec<u32>,
}

impl Side<'_> {
    fn id(&self, index: usize) -> u32 {
        self.ids.get(index).copied().unwrap_or(u32::MAX)
    }

    /// What a value is likely to be still when something in it changed: for an object, what
    /// its names and sorts say; for others, only their sort. A chance likeness costs nothing
    /// but a longer answer.
    fn likeness(&self, index: usize) -> u64 {
        const TELLING: [&str; 6] = ["id", "call", "name", "role", "type", "path"];
        let mut hasher = DefaultHasher::new();
        let kind = self.tree.kind(index);
        kind.hash(&mut hasher);
        if kind == Kind::Object {
            for member in self.tree.inside(index) {
                let name = self.tree.name(member);
                if TELLING.contains(&name) {
                    (name, self.id(member)).hash(&mut hasher);
                }
            }
        }
        hasher.finish()
    }
}

/// The place of a path's last step among all steps; the whole document has none.
type PathEnd = Option<usize>;

/// What is still to be done.
enum Work {
    /// Compare a value before with the one after in its place.
    Compare(PathEnd, usize, usize),
    /// Tell of a change.
    Tell(PathEnd, JsonChangeKind, Option<usize>, Option<usize>),
}

struct Comparison<'a> {
    old: Side<'a>,
    new: Side<'a>,
    deadline: Instant,
    /// Steps, each with the one before it: a path is written out only for a change.
    paths: Vec<(PathEnd, JsonStep)>,
    /// A stack, so that no nesting uses up the thread's own.
    work: Vec<Work>,
    changes: Vec<JsonChange>,
}

impl Comparison<'_> {
    fn compare(&mut self, path: PathEnd, old: usize, new: usize) {
        if self.old.id(old) == self.new.id(new) {
            return;
        }
        let todo = self.work.len();
        match (self.old.tree.kind(old), self.new.tree.kind(new)) {
            (Kind::Object, Kind::Object) => self.compare_members(path, old, new),
            (Kind::Array, Kind::Array) => self.compare_elements(path, old, new),
            (Kind::Number, Kind::Number)
                if number::is_same_value(
                    self.old.tree.written(old),
                    self.new.tree.written(new),
                ) =>
            {
                self.tell(path, JsonChangeKind::Rewritten, Some(old), Some(new));
            }
            _ => self.tell(path, JsonChangeKind::Changed, Some(old), Some(new)),
        }
        // What was put down first is done first.
        if let Some(added) = self.work.get_mut(todo..) {
            added.reverse();
        }
    }

    fn compare_members(&mut self, path: PathEnd, old: usize, new: usize) {
        let mut before: HashMap<(&str, usize), usize> = HashMap::new();
        let old_members = numbered(&self.old.tree, old);
        for (name, nth, member) in &old_members {
            before.insert((name, *nth), *member);
        }
        let mut kept = Vec::new();
        let mut stays = HashSet::new();
        for (name, nth, member) in numbered(&self.new.tree, new) {
            let old_member = before.get(&(name, nth)).copied();
            stays.extend(old_member);
            kept.push((name.to_owned(), nth, old_member, member));
        }
        let removed: Vec<(String, usize, usize)> = old_members
            .into_iter()
            .filter(|(_, _, member)| !stays.contains(member))
            .map(|(name, nth, member)| (name.to_owned(), nth, member))
            .collect();
        for (name, nth, member) in removed {
            let path = Some(self.step(path, JsonStep::Member { name, nth }));
            let removed = JsonChangeKind::Removed;
            self.work
                .push(Work::Tell(path, removed, Some(member), None));
        }
        for (name, nth, old_member, member) in kept {
            if old_member.is_some_and(|old| self.old.id(old) == self.new.id(member)) {
                continue;
            }
            let path = Some(self.step(path, JsonStep::Member { name, nth }));
            self.work.push(match old_member {
                Some(old) => Work::Compare(path, old, member),
                None => Work::Tell(path, JsonChangeKind::Added, None, Some(member)),
            });
        }
    }

    fn compare_elements(&mut self, path: PathEnd, old: usize, new: usize) {
        let old: Vec<usize> = self.old.tree.inside(old).collect();
        let new: Vec<usize> = self.new.tree.inside(new).collect();
        let fates = fates(&self.old, &old, &self.new, &new, self.deadline);
        for (index, value) in old.iter().enumerate() {
            if fates.removed.contains(&index) {
                let path = Some(self.step(path, JsonStep::Element(index)));
                let removed = JsonChangeKind::Removed;
                self.work
                    .push(Work::Tell(path, removed, Some(*value), None));
            }
        }
        for ((index, value), fate) in new.iter().enumerate().zip(fates.of_new) {
            let (kind, from) = match fate {
                Fate::Same => continue,
                Fate::Added => (JsonChangeKind::Added, None),
                Fate::Moved(from) => (JsonChangeKind::Moved { from }, old.get(from).copied()),
                Fate::Changed(from) => (JsonChangeKind::Changed, old.get(from).copied()),
            };
            let path = Some(self.step(path, JsonStep::Element(index)));
            self.work.push(match (kind, from) {
                (JsonChangeKind::Changed, Some(old)) => Work::Compare(path, old, *value),
                (kind, from) => Work::Tell(path, kind, from, Some(*value)),
            });
        }
    }

    /// A path that goes on from another one.
    fn step(&mut self, before: PathEnd, step: JsonStep) -> usize {
        self.paths.push((before, step));
        self.paths.len() - 1
    }

    fn tell(
        &mut self,
        path: PathEnd,
        kind: JsonChangeKind,
        old: Option<usize>,
        new: Option<usize>,
    ) {
        let step = |end: &usize| self.paths.get(*end);
        let back = std::iter::successors(path, |end| step(end)?.0);
        let mut steps: Vec<JsonStep> = back.filter_map(|end| Some(step(&end)?.1.clone())).collect();
        steps.reverse();
        self.changes.push(JsonChange {
            path: JsonPath(steps),
            kind,
            before: old.map(|index| self.old.tree.written(index).to_owned()),
            after: new.map(|index| self.new.tree.written(index).to_owned()),
        });
    }
}

/// The members of an object: the name, which of those with it, and the value.
fn numbered<'a>(tree: &'a Tree<'_>, object: usize) -> Vec<(&'a str, usize, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let members = tree.inside(object).map(|member| {
        let name = tree.name(member);
        let count = counts.entry(name).or_default();
        let nth = *count;
        *count += 1;
        (name, nth, member)
    });
    members.collect()
}

/// What became of the elements of an array.
struct Fates {
    /// Elements of the array before that are gone.
    removed: HashSet<usize>,
    /// Where each element of the array after comes from.
    of_new: Vec<Fate>,
}

#[derive(Clone, Copy)]
enum Fate {
    Same,
    Added,
    Moved(usize),
    Changed(usize),
}

/// Equal elements in equal order stay; of the others those that are equal to one that went
/// were moved, and those that are like the one in their place were changed.
fn fates(
    old_side: &Side<'_>,
    old: &[usize],
    new_side: &Side<'_>,
    new: &[usize],
    deadline: Instant,
) -> Fates {
    let ids = |side: &Side<'_>, values: &[usize]| -> Vec<u32> {
        values.iter().map(|value| side.id(*value)).collect()
    };
    let (old_ids, new_ids) = (ids(old_side, old), ids(new_side, new));
    let mut fates = Fates {
        removed: HashSet::new(),
        of_new: vec![Fate::Same; new.len()],
    };
    let replaced: Vec<_> = align(&old_ids, &new_ids, deadline)
        .filter(|stretch| !stretch.is_same)
        .collect();
    let mut gone: HashMap<u32, VecDeque<usize>> = HashMap::new();
    for index in replaced.iter().flat_map(|stretch| stretch.old.clone()) {
        fates.removed.insert(index);
        if let Some(id) = old_ids.get(index) {
            gone.entry(*id).or_default().push_back(index);
        }
    }
    for index in replaced.iter().flat_map(|stretch| stretch.new.clone()) {
        let from = new_ids
            .get(index)
            .and_then(|id| gone.get_mut(id)?.pop_front());
        if let Some(from) = from {
            fates.removed.remove(&from);
        }
        if let Some(fate) = fates.of_new.get_mut(index) {
            *fate = from.map_or(Fate::Added, Fate::Moved);
        }
    }
    for stretch in replaced {
        let old_left: Vec<usize> = stretch
            .old
            .filter(|at| fates.removed.contains(at))
            .collect();
        let is_new = |at: &usize| matches!(fates.of_new.get(*at), Some(Fate::Added));
        let new_left: Vec<usize> = stretch.new.filter(is_new).collect();
        let likeness = |side: &Side<'_>, values: &[usize], left: &[usize]| -> Vec<u64> {
            let values = left.iter().filter_map(|at| values.get(*at));
            values.map(|value| side.likeness(*value)).collect()
        };
        let old_likeness = likeness(old_side, old, &old_left);
        let new_likeness = likeness(new_side, new, &new_left);
        for alike in align(&old_likeness, &new_likeness, deadline).filter(|alike| alike.is_same) {
            for (old_at, new_at) in alike.old.zip(alike.new) {
                let (Some(from), Some(to)) = (old_left.get(old_at), new_left.get(new_at)) else {
                    continue;
                };
                fates.removed.remove(from);
                if let Some(fate) = fates.of_new.get_mut(*to) {
                    *fate = Fate::Changed(*from);
                }
            }
        }
    }
    fates
}

#[cfg(test)]
mod tests;
