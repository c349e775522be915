//! What differs between two JSON documents, place by place: an element is compared with the
//! one of the same number, whatever became of those before it.

use std::collections::HashMap;

use super::tree::{Kind, Tree, decode};
use super::{JsonChange, JsonChangeKind, JsonPath, JsonStep, number, numbered};

/// The values at which two documents differ, in the order of the one before; what only the
/// one after has in an object or an array comes behind that. `None` where one of the texts
/// is no JSON. Values are equal as they are to [`between`](super::between): a number is its
/// text.
pub fn in_order(before: &str, after: &str) -> Option<Vec<JsonChange>> {
    let (old, new) = (Tree::read(before)?, Tree::read(after)?);
    let mut changes = Vec::new();
    // Steps, each with the one before it: a path is written out only for a change.
    let mut steps: Vec<(Option<usize>, JsonStep)> = Vec::new();
    // A stack, so that no nesting uses up the thread's own.
    let mut work = vec![(None, Some(0), Some(0))];
    while let Some((end, left, right)) = work.pop() {
        let kind = match (left, right) {
            (Some(left), Some(right)) => match compare(&old, left, &new, right) {
                Compared::Same => continue,
                Compared::Inside(inside) => {
                    work.extend(inside.into_iter().rev().map(|(step, left, right)| {
                        steps.push((end, step));
                        (Some(steps.len() - 1), left, right)
                    }));
                    continue;
                }
                Compared::Unlike(kind) => kind,
            },
            (Some(_), None) => JsonChangeKind::Removed,
            (None, _) => JsonChangeKind::Added,
        };
        let step = |end: &usize| steps.get(*end);
        let back = std::iter::successors(end, |end| step(end)?.0);
        let mut path: Vec<JsonStep> = back.filter_map(|end| Some(step(&end)?.1.clone())).collect();
        path.reverse();
        changes.push(JsonChange {
            path: JsonPath(path),
            kind,
            before: left.map(|index| old.written(index).to_owned()),
            after: right.map(|index| new.written(index).to_owned()),
        });
    }
    Some(changes)
}

enum Compared {
    Same,
    /// They may differ in what they hold.
    Inside(Vec<(JsonStep, Option<usize>, Option<usize>)>),
    Unlike(JsonChangeKind),
}

fn compare(old: &Tree<'_>, left: usize, new: &Tree<'_>, right: usize) -> Compared {
    match (old.kind(left), new.kind(right)) {
        (Kind::Object, Kind::Object) => {
            let mut others: HashMap<(&str, usize), usize> = HashMap::new();
            let right = numbered(new, right);
            for (name, nth, member) in &right {
                others.insert((name, *nth), *member);
            }
            let step = |name: &str, nth| JsonStep::Member {
                name: name.to_owned(),
                nth,
            };
            let left = numbered(old, left).into_iter();
            let mut inside: Vec<_> = left
                .map(|(name, nth, member)| {
                    (step(name, nth), Some(member), others.remove(&(name, nth)))
                })
                .collect();
            let added = right.into_iter();
            let added = added.filter(|(name, nth, _)| others.contains_key(&(*name, *nth)));
            inside.extend(added.map(|(name, nth, member)| (step(name, nth), None, Some(member))));
            Compared::Inside(inside)
        }
        (Kind::Array, Kind::Array) => {
            let (mut left, mut right) = (old.inside(left), new.inside(right));
            let mut inside = Vec::new();
            for number in 0.. {
                match (left.next(), right.next()) {
                    (None, None) => break,
                    (one, two) => inside.push((JsonStep::Element(number), one, two)),
                }
            }
            Compared::Inside(inside)
        }
        (Kind::String, Kind::String) => {
            let is_same = decode(old.written(left)) == decode(new.written(right));
            if is_same {
                Compared::Same
            } else {
                Compared::Unlike(JsonChangeKind::Changed)
            }
        }
        (one, two) => {
            let (left, right) = (old.written(left), new.written(right));
            if one == two && left == right {
                Compared::Same
            } else if (one, two) == (Kind::Number, Kind::Number)
                && number::is_same_value(left, right)
            {
                Compared::Unlike(JsonChangeKind::Rewritten)
            } else {
                Compared::Unlike(JsonChangeKind::Changed)
            }
        }
    }
}
