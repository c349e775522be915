//! A call while it runs: what it says and what it changes goes on the tape before it ends.
//!
//! The layer is looked at again and again, seldom enough to cost little. A file goes on the
//! tape once it has come to rest, that is when two looks found the same; one that never does
//! is told as it was found, from time to time. What the call came to is not decided here: a
//! last look tells it when the call has ended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::account::Account;
use super::base::Base;
use super::beside::{Beside, Nested};
use super::call::{Frames, Said};
use super::open::OpenTransactionError;
use super::outcome::{Outcome, Outcomes, Written, outcomes};
use super::{TransactionError, Workspace};
use crate::model::{Body, Event, TapePath};
use crate::sandbox::{Changes, Said as Saying};

/// From one look to the next, at least; and so many times as long as a look took.
const LOOK: Duration = Duration::from_millis(100);
const SHARE: u32 = 10;
/// A file that is written all the time is told so often.
const RESTLESS: Duration = Duration::from_secs(2);

/// A call that runs.
pub(super) struct Live<'a> {
    pub(super) account: &'a mut Account,
    pub(super) base: &'a mut Base,
    pub(super) workspace: &'a Workspace,
    /// What the tape says of the files.
    pub(super) told: &'a mut Outcomes,
    pub(super) call: &'a str,
    /// The calls that it makes itself, as far as that is told.
    nested: Nested,
    rest: Rest,
    next_look: Instant,
    output: Frames,
    /// All that the call said, for its result.
    said: Said,
}

impl<'a> Live<'a> {
    pub(super) fn new(
        (account, base): (&'a mut Account, &'a mut Base),
        workspace: &'a Workspace,
        told: &'a mut Outcomes,
        call: &'a str,
    ) -> Self {
        Self {
            account,
            base,
            workspace,
            told,
            call,
            nested: Nested::default(),
            rest: Rest::default(),
            next_look: Instant::now() + LOOK,
            output: Frames::default(),
            said: Said::default(),
        }
    }

    /// Takes what the call says, and looks at what it changed, if it is time to.
    pub(super) fn hear(
        &mut self,
        saying: Saying<'_>,
        changes: Changes<'_>,
    ) -> Result<(), OpenTransactionError> {
        let now = Instant::now();
        if let Saying::Bytes(stream, bytes) = saying {
            self.said.take(bytes);
            let before = self.output.take(stream, bytes, now);
            self.tell(before)?;
        }
        let frame = self.output.pass(now);
        self.tell(frame)?;
        if now >= self.next_look {
            self.look_at(changes, Haste::AtRest)?;
            self.next_look = Instant::now() + LOOK.max(now.elapsed() * SHARE);
        }
        Ok(())
    }

    /// Tells what happened beside the call. Before a call inside it begins or returns, all that
    /// changed is told, so that it is not taken for the other's.
    pub(super) fn beside(
        &mut self,
        beside: &mut dyn Beside,
        changes: Changes<'_>,
    ) -> Result<(), OpenTransactionError> {
        while let Some(aside) = beside.next() {
            if let Body::ToolCall { .. } | Body::ToolResult { .. } = aside.event.body {
                self.look_at(changes, Haste::Now)?;
            }
            self.nested.take(&aside.event);
            self.account.aside(aside)?;
        }
        beside.recorded();
        Ok(())
    }

    /// All that it said.
    pub(super) fn finish(mut self) -> Result<Said, OpenTransactionError> {
        let rest = self.output.flush();
        self.tell(rest)?;
        Ok(self.said)
    }

    fn tell(&mut self, frame: Option<Event>) -> Result<(), OpenTransactionError> {
        match frame {
            Some(frame) => Ok(self.account.append(frame, Some(self.call))?),
            None => Ok(()),
        }
    }

    fn look_at(&mut self, changes: Changes<'_>, haste: Haste) -> Result<(), OpenTransactionError> {
        let set = changes.read()?;
        let mut now = outcomes(&set, self.base);
        if haste == Haste::AtRest {
            now = self.rest.of(self.told, now, Instant::now());
        }
        pin(self.base, self.workspace, self.told, &now)?;
        let whose = self.nested.whose(self.call);
        let told = self.account.changes((self.told, now), self.base, whose)?;
        *self.told = told.outcomes;
        Ok(())
    }
}

/// Which files are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Haste {
    /// Those that have come to rest.
    AtRest,
    /// All, since what is told next comes after them.
    Now,
}

/// Reads the base of what is new among what is now.
pub(super) fn pin(
    base: &mut Base,
    workspace: &Workspace,
    told: &Outcomes,
    now: &Outcomes,
) -> Result<(), TransactionError> {
    for path in now.keys().filter(|path| !told.contains_key(*path)) {
        base.pin(path, workspace)?;
    }
    Ok(())
}

/// Files that are being written.
#[derive(Default)]
struct Rest {
    /// What each was when it was last looked at, and since when it has not come to rest.
    waiting: BTreeMap<TapePath, (Written, Instant)>,
}

impl Rest {
    /// What is now, but files that have not come to rest as they were told.
    fn of(&mut self, told: &Outcomes, mut now: Outcomes, at: Instant) -> Outcomes {
        let waited = std::mem::take(&mut self.waiting);
        let restless = now.iter().filter_map(|(path, outcome)| match outcome {
            Outcome::File(written) if told.get(path) != Some(outcome) => {
                Some((path.clone(), written.clone()))
            }
            _ => None,
        });
        let restless: Vec<_> = restless.collect();
        for (path, written) in restless {
            let since = match waited.get(&path) {
                Some((before, _)) if *before == written => continue,
                Some((_, since)) => *since,
                None => at,
            };
            if at.saturating_duration_since(since) >= RESTLESS {
                now.insert(path, Outcome::File(written.unsure()));
                continue;
            }
            match told.get(&path) {
                Some(before) => now.insert(path.clone(), before.clone()),
                None => now.remove(&path),
            };
            self.waiting.insert(path, (written, since));
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> TapePath {
        TapePath::new(b"a").unwrap()
    }

    fn file(len: u64) -> Outcomes {
        [(path(), Outcome::File(Written::sample(len)))].into()
    }

    #[test]
    fn a_file_is_told_when_two_looks_find_the_same() {
        let (mut rest, at) = (Rest::default(), Instant::now());
        let told = Outcomes::new();
        assert_eq!(rest.of(&told, file(1), at), told);
        assert_eq!(rest.of(&told, file(2), at), told);
        assert_eq!(rest.of(&told, file(2), at), file(2));
        // As it was told, until it comes to rest again.
        assert_eq!(rest.of(&file(2), file(3), at), file(2));
        assert_eq!(rest.of(&file(2), Outcomes::new(), at), Outcomes::new());
    }

    #[test]
    fn a_file_without_rest_is_told_in_the_end_and_looked_at_again() {
        let (mut rest, at) = (Rest::default(), Instant::now());
        let told = Outcomes::new();
        assert_eq!(rest.of(&told, file(1), at), told);
        let found = rest.of(&told, file(2), at + RESTLESS);
        assert!(found.contains_key(&path()));
        assert_ne!(found, file(2), "what was read may be half of it");
    }
}
