//! Takes back what a transaction did outside, as far as that can be.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{EffectError, Effects, Entry, Fate, Log};
use crate::model::{Outcome, Seq};

/// Which effects a rollback is about.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Those of this transaction.
    pub txn: &'a str,
    /// Only those asked for behind this event, such as a savepoint.
    pub since: Option<Seq>,
}

/// What a rollback did outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledBack {
    /// What had waited, and is never sent; the last first.
    pub not_sent: Vec<u32>,
    /// What was taken back, the last first.
    pub compensated: Vec<u32>,
    /// What remains, in the order in which it was made.
    pub residue: Vec<Residue>,
}

/// An effect that a rollback leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residue {
    /// Its number on the tape.
    pub number: u32,
    /// What it is called, and what it was asked with.
    pub name: String,
    /// Why it remains.
    pub reason: ResidueReason,
}

/// Why an effect remains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResidueReason {
    /// Nothing takes it back.
    Irreversible,
    /// Nobody knows whether it was made.
    InDoubt,
    /// Taking it back did not work; a further rollback tries again.
    Failed(String),
}

impl Effects {
    /// What a rollback would do about each effect, the last first. Does nothing.
    pub fn preview(&self, scope: Scope<'_>) -> Vec<(&Entry, Fate)> {
        self.fates(|entry| scope.holds(entry)).collect()
    }

    /// What a rollback would do about these effects, the last first.
    fn fates(&self, is_meant: impl Fn(&Entry) -> bool) -> impl Iterator<Item = (&Entry, Fate)> {
        let entries = self.books.ledger.entries().iter().rev();
        let entries = entries.filter(move |entry| is_meant(entry));
        entries.map(|entry| (entry, entry.fate_before(Seq(u64::MAX))))
    }

    /// Takes effects back, the last first. Done again, it tries again what did not work, and
    /// what it was cut off in.
    ///
    /// To be done before `txn.rollback` is recorded. Fails only where nothing can be recorded
    /// any more.
    pub fn roll_back(
        &mut self,
        tape: &mut dyn Log,
        scope: Scope<'_>,
    ) -> Result<RolledBack, EffectError> {
        self.take_back(tape, |entry| scope.holds(entry))
    }

    /// The same for effects that are meant otherwise than by their transaction.
    pub(super) fn take_back(
        &mut self,
        tape: &mut dyn Log,
        is_meant: impl Fn(&Entry) -> bool,
    ) -> Result<RolledBack, EffectError> {
        let fates = self.fates(is_meant);
        let fates: Vec<(Entry, Fate)> = fates.map(|(entry, fate)| (entry.clone(), fate)).collect();
        let mut done = RolledBack::default();
        for (entry, fate) in fates {
            let reason = match fate {
                Fate::Nothing => continue,
                Fate::NotSent => {
                    let remark = "its transaction was rolled back";
                    self.record_settlement(tape, entry.key, Outcome::Refused, remark)?;
                    done.not_sent.push(entry.number);
                    continue;
                }
                Fate::Compensated => match self.compensate(tape, &entry) {
                    Ok(Ok(())) => {
                        done.compensated.push(entry.number);
                        continue;
                    }
                    Ok(Err(reason)) => ResidueReason::Failed(reason),
                    Err(error) if error.is_of_the_tape() => return Err(error),
                    Err(error) => ResidueReason::Failed(error.to_string()),
                },
                Fate::Remains => ResidueReason::Irreversible,
                Fate::Asked => ResidueReason::InDoubt,
            };
            done.residue.push(Residue {
                number: entry.number,
                name: format!("{} {}", entry.name, entry.arguments)
                    .trim_end()
                    .to_owned(),
                reason,
            });
        }
        done.residue.reverse();
        Ok(done)
    }
}

impl Scope<'_> {
    fn holds(&self, entry: &Entry) -> bool {
        entry.txn.as_deref() == Some(self.txn)
            && self.since.is_none_or(|since| entry.asked() > since)
    }
}

/// How a rollback ended, in one line.
impl fmt::Display for RolledBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rolled back")?;
        if self.residue.is_empty() {
            return Ok(());
        }
        let residue: Vec<String> = self.residue.iter().map(ToString::to_string).collect();
        write!(f, ", with residue [{}]", residue.join("; "))
    }
}

impl fmt::Display for Residue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "effect {}, {}, ", self.number, self.name)?;
        match &self.reason {
            ResidueReason::Irreversible => f.write_str("remains: it cannot be undone"),
            ResidueReason::InDoubt => f.write_str("is in doubt"),
            ResidueReason::Failed(reason) => write!(f, "remains: {reason}"),
        }
    }
}
