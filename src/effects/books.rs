//! What is known of the effects while they are made: the ledger, and what the tape does not hold.
//!
//! A tape that keeps placeholders in the place of secrets cannot say what is to be sent. So what
//! lost something there is kept here as it was said, for as long as the process lives, and is
//! written nowhere. Whoever goes on with the tape later has the placeholders alone.

use std::collections::HashMap;
use std::fmt;

use super::{EffectError, Ledger, Log};
use crate::model::{EffectEvent, Event, Seq};
use crate::tape::{RecordError, effect_of, is_redacted};

/// The ledger, with what the tape does not hold.
#[derive(Default)]
pub(super) struct Books {
    pub(super) ledger: Ledger,
    /// Events as they were said, which stand on the tape otherwise.
    unredacted: HashMap<Seq, EffectEvent>,
}

impl fmt::Debug for Books {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is kept holds secrets.
        let Self { ledger, unredacted } = self;
        f.debug_struct("Books")
            .field("ledger", ledger)
            .field("unredacted", &unredacted.len())
            .finish()
    }
}

impl Books {
    /// Those of a tape that others wrote.
    pub(super) fn of(ledger: Ledger) -> Self {
        Self {
            ledger,
            unredacted: HashMap::new(),
        }
    }

    /// Records an event of an effect: it is on disk, or this fails.
    pub(super) fn promise(&mut self, tape: &mut dyn Log, event: Event) -> Result<Seq, RecordError> {
        let seq = tape.promise(event.clone())?;
        self.ledger.take(seq, &event);
        // What cannot be read back may have lost something.
        let is_whole = tape.event(seq).is_ok_and(|stored| !is_redacted(&stored));
        if let Some(said) = effect_of(&event).filter(|_| !is_whole) {
            self.unredacted.insert(seq, said);
        }
        Ok(seq)
    }

    /// What was recorded of an effect, as it was said. Fails where a placeholder is all that
    /// is left of it.
    pub(super) fn recall(
        &self,
        tape: &dyn Log,
        number: u32,
        seq: Seq,
    ) -> Result<EffectEvent, EffectError> {
        if let Some(said) = self.unredacted.get(&seq) {
            return Ok(said.clone());
        }
        let event = tape.event(seq);
        let event = event.map_err(|source| EffectError::Read { number, source })?;
        if is_redacted(&event) {
            return Err(EffectError::Redacted(number));
        }
        effect_of(&event).ok_or_else(|| EffectError::unreadable(number))
    }
}
