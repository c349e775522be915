//! A call while it runs: what it says and what it changes goes on the tape before it ends.
//!
//! The layer is looked at again and again, seldom enough to cost little. What the call came to
//! is not decided here: a last look tells it when the call has ended.

use std::time::{Duration, Instant};

use super::Workspace;
use super::account::Account;
use super::base::Base;
use super::beside::{Beside, Nested};
use super::call::{Frames, Said};
use super::looks::{Looks, Moment};
use super::open::OpenTransactionError;
use crate::model::{Body, Event};
use crate::sandbox::{Changes, Said as Saying};

/// From one look to the next, at least; and so many times as long as a look took.
const LOOK: Duration = Duration::from_millis(100);
const SHARE: u32 = 10;

/// A call that runs.
pub(super) struct Live<'a> {
    pub(super) account: &'a mut Account,
    pub(super) base: &'a mut Base,
    pub(super) workspace: &'a Workspace,
    pub(super) looks: &'a mut Looks,
    pub(super) call: &'a str,
    /// The calls that it makes itself, as far as that is told.
    nested: Nested,
    next_look: Instant,
    output: Frames,
    /// All that the call said, for its result.
    said: Said,
}

impl<'a> Live<'a> {
    pub(super) fn new(
        (account, base): (&'a mut Account, &'a mut Base),
        workspace: &'a Workspace,
        looks: &'a mut Looks,
        call: &'a str,
    ) -> Self {
        Self {
            account,
            base,
            workspace,
            looks,
            call,
            nested: Nested::default(),
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
            self.look_at(changes, Moment::Running)?;
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
                self.look_at(changes, Moment::Between)?;
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

    fn look_at(
        &mut self,
        changes: Changes<'_>,
        moment: Moment,
    ) -> Result<(), OpenTransactionError> {
        let whose = self.nested.whose(self.call);
        let places = (&mut *self.account, &mut *self.base, self.workspace);
        self.looks.look(changes, places, (whose, moment))?;
        Ok(())
    }
}
