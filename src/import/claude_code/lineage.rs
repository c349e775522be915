//! Which record descends from which, and on which branch that puts it.
//!
//! Records name their parents. Most nodes with several children are no forks: parallel
//! tools, progress and attachments hang where they happen to. A fork is a *rewind*: a user's
//! prompt whose parent has a user's prompt as a child already. Where a parent is missing,
//! the order of the file is followed.

use std::collections::HashMap;

use crate::model::{LineHash, Seq};

/// A branch, by its place in [`Lineage::branches`]; 0 is the main line.
pub(super) type BranchId = usize;

/// The records seen so far.
#[derive(Debug)]
pub(super) struct Lineage {
    nodes: HashMap<LineHash, Node>,
    /// The names of the branches, in the order they began; the main line has none.
    pub(super) branches: Vec<Option<String>>,
    /// The branch of the record before.
    current: BranchId,
    /// Stretches between which the chain is broken: how many records each holds.
    stretches: Vec<u64>,
    current_stretch: usize,
}

/// What is remembered of a record.
#[derive(Clone, Copy, Debug)]
struct Node {
    parent: Option<LineHash>,
    /// The last event that was written for it, if any was.
    seq: Option<Seq>,
    branch: BranchId,
    stretch: usize,
    has_prompt_below: bool,
    /// Tells a record from another of the same id.
    fingerprint: u64,
}

/// What a record is to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A user's own words.
    Prompt,
    /// Anything else.
    Other,
}

/// Where a record belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On this branch.
    On(BranchId),
    /// On a branch of its own, which leaves its parent here.
    Rewind {
        /// The branch it leaves.
        from: BranchId,
        /// The last event they share.
        at: Seq,
    },
    /// Its parent is nowhere; on this branch, by the order of the file.
    Broken(BranchId),
}

impl Default for Lineage {
    fn default() -> Self {
        Self {
            nodes: HashMap::new(),
            branches: vec![None],
            current: 0,
            stretches: vec![0],
            current_stretch: 0,
        }
    }
}

impl Lineage {
    /// The name of a branch.
    pub(super) fn name(&self, branch: BranchId) -> Option<String> {
        self.branches.get(branch).cloned().flatten()
    }

    /// The branch of the record before.
    pub(super) const fn current(&self) -> BranchId {
        self.current
    }

    /// Whether the same record was seen before, byte for byte.
    pub(super) fn has(&self, uuid: &str, record: &str) -> bool {
        let node = self.nodes.get(&key(uuid));
        node.is_some_and(|node| node.fingerprint == fingerprint(record))
    }

    /// Whether a record of this id was seen before.
    pub(super) fn knows(&self, uuid: &str) -> bool {
        self.nodes.contains_key(&key(uuid))
    }

    /// Finds where a record belongs, and remembers it.
    ///
    /// All that was written for the records before must be known by now ([`Self::wrote`]),
    /// if the record is a prompt: a rewind leaves its parent behind the last of it.
    pub(super) fn place(
        &mut self,
        uuid: Option<&str>,
        parent: Option<&str>,
        role: Role,
        record: &str,
    ) -> Place {
        let parent = parent.map(key);
        // Only a prompt can leave: for the others nobody walks up the chain.
        let left_at = match role {
            Role::Prompt => self.written_up_to(parent),
            Role::Other => Seq(0),
        };
        let above = parent.and_then(|parent| self.nodes.get_mut(&parent));
        let place = match above {
            Some(above) => {
                self.current = above.branch;
                self.current_stretch = above.stretch;
                let is_rewind = role == Role::Prompt && above.has_prompt_below;
                above.has_prompt_below |= role == Role::Prompt;
                if is_rewind {
                    Place::Rewind {
                        from: above.branch,
                        at: left_at,
                    }
                } else {
                    Place::On(above.branch)
                }
            }
            None if parent.is_some() => {
                self.current_stretch = self.stretches.len();
                self.stretches.push(0);
                Place::Broken(self.current)
            }
            None => Place::On(self.current),
        };
        if let Place::Rewind { .. } = place {
            self.current = self.branches.len();
            self.branches
                .push(Some(format!("b{}", self.branches.len() + 1)));
        }
        if let Some(stretch) = self.stretches.get_mut(self.current_stretch) {
            *stretch += 1;
        }
        if let Some(uuid) = uuid {
            let node = Node {
                parent,
                seq: None,
                branch: self.current,
                stretch: self.current_stretch,
                has_prompt_below: false,
                fingerprint: fingerprint(record),
            };
            self.nodes.insert(key(uuid), node);
        }
        place
    }

    /// Remembers the last event that was written for a record.
    pub(super) fn wrote(&mut self, uuid: LineHash, seq: Seq) {
        if let Some(node) = self.nodes.get_mut(&uuid) {
            node.seq = node.seq.max(Some(seq));
        }
    }

    /// The last event that was written for a record, or for the nearest one above it.
    fn written_up_to(&self, record: Option<LineHash>) -> Seq {
        // A chain that bites its tail must end, too.
        let mut steps = self.nodes.len();
        let mut next = record.and_then(|record| self.nodes.get(&record));
        while let Some(node) = next.filter(|_| steps > 0) {
            if let Some(seq) = node.seq {
                return seq;
            }
            steps -= 1;
            next = node.parent.and_then(|parent| self.nodes.get(&parent));
        }
        Seq(0)
    }

    /// How many records cannot be reached by walking back from the last one.
    pub(super) fn unreachable(&self) -> u64 {
        let all: u64 = self.stretches.iter().sum();
        all - self.stretches.get(self.current_stretch).unwrap_or(&0)
    }
}

/// A record's id, in 16 bytes.
pub(super) fn key(uuid: &str) -> LineHash {
    LineHash::of(uuid.as_bytes())
}

fn fingerprint(record: &str) -> u64 {
    use std::hash::BuildHasher as _;
    foldhash::quality::FixedState::default().hash_one(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_prompt_below_one_record_is_a_rewind() {
        let mut lineage = Lineage::default();
        let check = |lineage: &mut Lineage, uuid, parent, role, expected| {
            assert_eq!(lineage.place(Some(uuid), parent, role, uuid), expected);
        };
        check(&mut lineage, "a", None, Role::Prompt, Place::On(0));
        lineage.wrote(key("a"), Seq(7));
        check(&mut lineage, "b", Some("a"), Role::Other, Place::On(0));
        check(&mut lineage, "c", Some("b"), Role::Prompt, Place::On(0));
        check(&mut lineage, "d", Some("b"), Role::Other, Place::On(0));
        let rewind = Place::Rewind {
            from: 0,
            at: Seq(7),
        };
        check(&mut lineage, "e", Some("b"), Role::Prompt, rewind);
        check(&mut lineage, "f", Some("e"), Role::Other, Place::On(1));
        check(&mut lineage, "g", Some("c"), Role::Other, Place::On(0));
        assert_eq!(lineage.branches[1].as_deref(), Some("b2"));
    }

    #[test]
    fn a_missing_parent_breaks_the_chain() {
        let mut lineage = Lineage::default();
        let mut place = |uuid, parent| lineage.place(Some(uuid), parent, Role::Prompt, uuid);
        assert_eq!(place("a", None), Place::On(0));
        assert_eq!(place("b", Some("a")), Place::On(0));
        assert_eq!(place("c", Some("gone")), Place::Broken(0));
        assert_eq!(place("d", Some("c")), Place::On(0));
        assert_eq!(lineage.unreachable(), 2);
        assert!(lineage.has("d", "d") && !lineage.has("d", "other") && !lineage.has("e", "e"));
    }
}
