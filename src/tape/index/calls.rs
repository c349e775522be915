//! Which step an id of a call means: that of the last call that began with it, until 64
//! further calls have returned after it did.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::{Equivalent, HashMap};

use crate::tape::cache::{Keep, Reader, Writer};
use crate::tape::wire::Text;

/// Calls that have returned and still find their step.
pub(super) const RETURNED: usize = 64;

/// Calls that still find their step.
///
/// Most calls return before the next one begins: the newest stands apart, and those that
/// have returned wait in line to be forgotten, so that such calls are never hashed and
/// their ids never allocated.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    newest: Option<Call>,
    /// Older ones that have not returned.
    running: HashMap<Id, u32, FixedState>,
    /// Those that have, the last one last.
    returned: VecDeque<Call>,
    /// An id began a call before the one that it named had returned.
    is_ambiguous: bool,
}

/// A call that has returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tape) struct Returned {
    /// Its line.
    pub(in crate::tape) line: u16,
    /// Its id, as it stands on the tape.
    pub(in crate::tape) id: Vec<u8>,
    /// Its step.
    pub(in crate::tape) step: u32,
}

/// A call by its line and its id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Id(u16, Vec<u8>);

/// The same, borrowed.
#[derive(Hash)]
struct IdRef<'a>(u16, &'a [u8]);

impl Equivalent<Id> for IdRef<'_> {
    fn equivalent(&self, id: &Id) -> bool {
        self.0 == id.0 && *self.1 == *id.1
    }
}

#[derive(Clone, Debug)]
struct Call {
    id: Id,
    step: u32,
}

impl Calls {
    /// A call begins. An id that is used again means the new call from now on.
    pub(super) fn begin(&mut self, line: u16, call: Text<'_>, step: u32) {
        let id = IdRef(line, call.as_inside());
        if !self.running.is_empty() && self.running.remove(&id).is_some() {
            self.is_ambiguous = true;
        }
        let spare = if self.returned.len() > RETURNED {
            self.returned.pop_front()
        } else {
            None
        };
        let mut name = spare.map_or_else(Vec::new, |spare| spare.id.1);
        name.clear();
        name.extend_from_slice(id.1);
        let begun = Call {
            id: Id(line, name),
            step,
        };
        if let Some(older) = self.newest.replace(begun) {
            if id.equivalent(&older.id) {
                self.is_ambiguous = true;
            } else {
                self.running.insert(older.id, older.step);
            }
        }
    }

    /// Whether which calls were running at an earlier place can no longer be told.
    pub(super) const fn is_ambiguous(&self) -> bool {
        self.is_ambiguous
    }

    /// The calls as they were before the first of so many steps whose events stand all behind
    /// it. These had returned by then, the last one last.
    pub(super) fn cut(&self, steps: u32, returned: Vec<Returned>) -> Self {
        let newest = self.newest.iter().map(|call| (&call.id, call.step));
        let running = self.running.iter().map(|(id, step)| (id, *step));
        let begun_before = |(_, step): &(&Id, u32)| *step < steps;
        let running = newest.chain(running).filter(begun_before);
        let call = |call: Returned| Call {
            id: Id(call.line, call.id),
            step: call.step,
        };
        Self {
            newest: None,
            running: running.map(|(id, step)| (id.clone(), step)).collect(),
            returned: returned.into_iter().map(call).collect(),
            is_ambiguous: false,
        }
    }

    /// A call returns: its step.
    pub(super) fn end(&mut self, line: u16, call: Text<'_>) -> Option<u32> {
        let id = IdRef(line, call.as_inside());
        let ended = match self.newest.take_if(|newest| id.equivalent(&newest.id)) {
            Some(newest) => newest,
            None => match self.running.remove_entry(&id) {
                Some((id, step)) => Call { id, step },
                // It has returned before.
                None => return self.find_returned(&id),
            },
        };
        let step = ended.step;
        // One more than are found: the next call takes over its room.
        if self.returned.len() > RETURNED {
            self.returned.pop_front();
        }
        self.returned.push_back(ended);
        Some(step)
    }

    /// The step of a call.
    pub(super) fn find(&self, line: u16, call: Text<'_>) -> Option<u32> {
        let id = IdRef(line, call.as_inside());
        let newest = self.newest.as_ref();
        if let Some(newest) = newest.filter(|newest| id.equivalent(&newest.id)) {
            return Some(newest.step);
        }
        let running = self.running.get(&id).copied();
        running.or_else(|| self.find_returned(&id))
    }

    /// The step of a call that may be on any line.
    pub(super) fn find_on_any_line(&self, call: Text<'_>) -> Option<u32> {
        let is_it = |id: &Id| *id.1 == *call.as_inside();
        let newest = self.newest.iter().find(|newest| is_it(&newest.id));
        let step = newest.map(|newest| newest.step);
        let running = || {
            let mut all = self.running.iter();
            all.find(|(id, _)| is_it(id)).map(|(_, step)| *step)
        };
        let returned = || self.found().find(|call| is_it(&call.id));
        step.or_else(running)
            .or_else(|| returned().map(|call| call.step))
    }

    fn find_returned(&self, id: &IdRef<'_>) -> Option<u32> {
        let mut latest_first = self.found();
        let found = latest_first.find(|call| id.equivalent(&call.id));
        found.map(|call| call.step)
    }

    /// The calls that have returned and are still found, the last one first.
    fn found(&self) -> impl Iterator<Item = &Call> {
        self.returned.iter().rev().take(RETURNED)
    }
}

impl Keep for Calls {
    fn write(&self, out: &mut Writer<'_>) {
        let newest = self.newest.iter().map(|call| (&call.id, call.step));
        let running = self.running.iter().map(|(id, step)| (id, *step));
        let returned = self.returned.iter().map(|call| (&call.id, call.step));
        let all: Vec<(&Id, u32)> = newest.chain(running).chain(returned).collect();
        out.column(&[
            u64::from(self.newest.is_some()),
            self.running.len() as u64,
            u64::from(self.is_ambiguous),
        ]);
        out.lists(all.iter().map(|(id, _)| id.1.as_slice()));
        out.pairs(all.iter().map(|(id, step)| (id.0, *step)));
    }

    fn read(from: &mut Reader) -> Self {
        let [newest, running, is_ambiguous] = from.numbers::<u64, 3>();
        let names: Vec<Vec<u8>> = from.lists().collect();
        let places: Vec<(u16, u32)> = from.pairs().collect();
        from.require(names.len() == places.len());
        let mut all = names
            .into_iter()
            .zip(places)
            .map(|(name, (line, step))| Call {
                id: Id(line, name),
                step,
            });
        Self {
            newest: all.by_ref().take(newest as usize).last(),
            running: all
                .by_ref()
                .take(running as usize)
                .map(|call| (call.id, call.step))
                .collect(),
            returned: all.collect(),
            is_ambiguous: is_ambiguous == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(id: &str) -> Text<'_> {
        Text::from_inside(id.as_bytes())
    }

    #[test]
    fn calls_are_found_in_whatever_order_they_return() {
        let mut calls = Calls::default();
        for (step, id) in ["a", "b", "c"].into_iter().enumerate() {
            calls.begin(0, text(id), step as u32);
        }
        calls.begin(1, text("a"), 7);
        assert_eq!(calls.find(0, text("a")), Some(0));
        assert_eq!(calls.find(1, text("a")), Some(7));
        assert_eq!(calls.find(1, text("b")), None);
        assert_eq!(calls.end(0, text("b")), Some(1));
        assert_eq!(calls.end(0, text("b")), Some(1), "a second result");
        assert_eq!(calls.end(1, text("a")), Some(7));
        assert_eq!(calls.end(0, text("a")), Some(0));
        assert_eq!(calls.end(0, text("d")), None);
        assert_eq!(calls.find(0, text("c")), Some(2));
        assert_eq!(calls.find_on_any_line(text("b")), Some(1));
    }

    #[test]
    fn an_id_that_is_used_again_means_the_new_call() {
        let mut calls = Calls::default();
        calls.begin(0, text("a"), 1);
        calls.end(0, text("a"));
        calls.begin(0, text("a"), 2);
        assert_eq!(calls.find(0, text("a")), Some(2));
        calls.begin(0, text("b"), 3);
        calls.begin(0, text("a"), 4);
        assert_eq!(calls.find(0, text("a")), Some(4));
        assert_eq!(calls.end(0, text("a")), Some(4));
        assert_eq!(
            calls.end(0, text("a")),
            Some(4),
            "the last of them returned"
        );
    }

    #[test]
    fn a_call_is_found_until_64_further_calls_have_returned() {
        let mut calls = Calls::default();
        calls.begin(0, text("first"), 0);
        calls.begin(0, text("second"), 1);
        calls.end(0, text("first"));
        calls.end(0, text("second"));
        for step in 2..65 {
            let id = format!("c{step}");
            calls.begin(0, text(&id), step);
            assert_eq!(calls.find(0, text("first")), Some(0), "before {step}");
            calls.end(0, text(&id));
        }
        assert_eq!(calls.find(0, text("first")), None);
        assert_eq!(calls.find(0, text("second")), Some(1));
        assert!(calls.returned.len() <= RETURNED + 1);
    }
}
