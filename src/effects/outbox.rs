//! What waits for the commit, what is in doubt, and what a person says of it.

use serde::{Deserialize, Serialize};

use super::attempt::how_it_failed;
use super::make::in_doubt;
use super::{Answer, EffectError, EffectState, Effects, Log};
use crate::model::{EffectEvent, EffectResult, Outcome, Seq};
use crate::tape::effect_event;

/// What became of the outbox of a transaction that committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// What was sent, in order.
    pub sent: Vec<u32>,
    /// What stopped it.
    pub stopped: Option<Stopped>,
    /// What still waits behind that.
    pub waiting: Vec<u32>,
}

/// Why an outbox stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// The effect that did not succeed.
    pub number: u32,
    /// Nobody knows whether it was made: it is asked about. Else it is not done, and is
    /// tried again when the outbox is.
    pub is_in_doubt: bool,
    /// Why.
    pub reason: String,
}

/// What a person says of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Settlement {
    /// It was done.
    Done,
    /// It was not done.
    NotDone,
    /// It is not to be made any more.
    Dropped,
}

impl Effects {
    /// Makes again, with the same key, what is in doubt and may be made again; the effects
    /// that are in doubt after that. One that cannot be made keeps no other from it.
    pub fn retry_doubts(&mut self, tape: &mut dyn Log) -> Result<Vec<u32>, EffectError> {
        let is_in_doubt = |entry: &&super::Entry| entry.state() == EffectState::InDoubt;
        let entries = self.books.ledger.entries().iter();
        let doubts: Vec<_> = entries.filter(is_in_doubt).cloned().collect();
        let mut failed = None;
        for entry in doubts.iter().filter(|entry| entry.class.is_repeatable()) {
            let title = format!("effect {}, again: it was in doubt", entry.number);
            match self.make_again(tape, entry, &title) {
                Ok(_) => {}
                Err(error) if error.is_of_the_tape() => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            None => Ok(self.doubts(None)),
            Some(error) => Err(error),
        }
    }

    /// The effects that are in doubt and change something: those of a transaction, or all.
    pub fn doubts(&self, txn: Option<&str>) -> Vec<u32> {
        let entries = self.books.ledger.entries().iter().filter(|entry| {
            entry.state() == EffectState::InDoubt
                && entry.class.changes_something()
                && (txn.is_none() || entry.txn.as_deref() == txn)
        });
        entries.map(|entry| entry.number).collect()
    }

    /// What waits for the commit of a transaction.
    pub fn waiting(&self, txn: &str) -> Vec<u32> {
        let entries = self.books.ledger.entries().iter().filter(|entry| {
            entry.state() == EffectState::Waiting && entry.txn.as_deref() == Some(txn)
        });
        entries.map(|entry| entry.number).collect()
    }

    /// Sends what waited for the commit of a transaction, in order, once it is committed. The
    /// first that does not succeed stops those behind it. Called again, it goes on there.
    pub fn send_waiting(&mut self, tape: &mut dyn Log, txn: &str) -> Result<Sent, EffectError> {
        let entries = self.books.ledger.entries().iter();
        let of_outbox: Vec<_> = entries
            .filter(|entry| entry.txn.as_deref() == Some(txn) && entry.is_of_outbox())
            .cloned()
            .collect();
        let mut sent = Sent::default();
        for entry in of_outbox {
            let is_to_send = match entry.state() {
                EffectState::Waiting | EffectState::Failed => true,
                EffectState::InDoubt => false,
                _ => continue,
            };
            if sent.stopped.is_some() {
                sent.waiting.push(entry.number);
            } else if is_to_send {
                let title = format!("effect {}, sent after the commit", entry.number);
                let made = self.make_again(tape, &entry, &title);
                match made {
                    Ok(answer) if answer.outcome == Outcome::Ok => sent.sent.push(entry.number),
                    Ok(answer) => sent.stopped = Some(Stopped::by(&answer)),
                    Err(error) if error.is_of_the_tape() => return Err(error),
                    Err(error) => {
                        sent.stopped = Some(Stopped {
                            number: entry.number,
                            is_in_doubt: false,
                            reason: error.to_string(),
                        });
                    }
                }
            } else {
                sent.stopped = Some(Stopped {
                    number: entry.number,
                    is_in_doubt: true,
                    reason: in_doubt(&entry).to_string(),
                });
            }
        }
        Ok(sent)
    }

    /// Records what a person says of an effect that is in doubt, or is not to be sent.
    pub fn settle(
        &mut self,
        tape: &mut dyn Log,
        number: u32,
        said: Settlement,
    ) -> Result<(), EffectError> {
        let entry = self.books.ledger.entry(number);
        let entry = entry.ok_or(EffectError::NoEffect(number))?;
        let state = entry.state();
        let can_be_said = match said {
            Settlement::Done | Settlement::NotDone => state == EffectState::InDoubt,
            Settlement::Dropped => {
                state == EffectState::Waiting
                    || (state == EffectState::Failed && entry.is_of_outbox())
            }
        };
        if !can_be_said {
            let state = state.in_words();
            return Err(EffectError::Settled { number, state });
        }
        let (outcome, remark) = match said {
            Settlement::Done => (Outcome::Ok, "a person said that it was done"),
            Settlement::NotDone => (Outcome::Failed, "a person said that it was not done"),
            Settlement::Dropped => (Outcome::Refused, "a person said not to send it"),
        };
        let key = entry.key.clone();
        self.record_settlement(tape, key, outcome, remark)?;
        Ok(())
    }

    /// Records a result that no command told.
    pub(super) fn record_settlement(
        &mut self,
        tape: &mut dyn Log,
        key: String,
        outcome: Outcome,
        remark: &str,
    ) -> Result<Seq, EffectError> {
        let event = effect_event(&EffectEvent::Result(EffectResult {
            key,
            outcome,
            remark: Some(remark.to_owned()),
            ..EffectResult::default()
        }));
        self.books.promise(tape, event).map_err(EffectError::Intent)
    }
}

impl Stopped {
    fn by(answer: &Answer) -> Self {
        let result = EffectResult {
            exit: answer.exit,
            complaint: answer.complaint.clone(),
            remark: answer.remark.clone(),
            outcome: answer.outcome,
            ..EffectResult::default()
        };
        Self {
            number: answer.number,
            is_in_doubt: answer.outcome == Outcome::Interrupted,
            reason: how_it_failed(&result),
        }
    }
}
