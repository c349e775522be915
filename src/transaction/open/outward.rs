//! What a transaction does outside the files: it is made, waits, is sent and is taken back with
//! the transaction.
//!
//! The commit of the files decides: only after it is sent what waited. Dropping a transaction
//! runs no command: what it did outside stays, and its tape says so.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::account::Account;
use super::{OpenTransactionError, Transaction};
use crate::effects::{
    Answer, Call, Declarations, EffectError, Effects, RolledBack, Scope, Sent, Settlement,
    Surroundings, When,
};
use crate::model::{EffectRequest, Seq};

/// The effects of a transaction.
#[derive(Debug)]
pub(super) struct Outward {
    effects: Effects,
    surroundings: Surroundings,
    /// Savepoints, by the events that made them.
    savepoints: Vec<(String, Seq)>,
}

/// An effect that is asked for in a transaction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EffectCall {
    /// The name it was declared under.
    pub name: String,
    /// Its key; without one, a new one.
    pub key: Option<String>,
    /// Arguments of its command.
    pub arguments: Vec<String>,
    /// It is made now, even if it would wait for the commit.
    pub is_needed_now: bool,
}

impl Outward {
    pub(super) fn new(surroundings: Surroundings) -> Self {
        let effects = Effects::new(Declarations::default());
        Self {
            effects: effects.in_environment(surroundings.variables.clone()),
            surroundings,
            savepoints: Vec::new(),
        }
    }

    pub(super) fn saved(&mut self, name: &str, at: Seq) {
        self.savepoints.push((name.to_owned(), at));
    }

    fn has_none(&self) -> bool {
        self.effects.ledger().entries().is_empty()
    }

    /// Takes back what was done outside since a savepoint, or since the transaction began.
    pub(super) fn take_back(
        &mut self,
        account: &mut Account,
        savepoint: Option<&str>,
    ) -> Result<RolledBack, EffectError> {
        let since = savepoint.and_then(|name| {
            let saved = self
                .savepoints
                .iter()
                .rposition(|(saved, _)| saved == name)?;
            self.savepoints.truncate(saved + 1);
            self.savepoints.last().map(|(_, at)| *at)
        });
        let (tape, txn) = account.parts();
        self.effects.roll_back(tape, Scope { txn, since })
    }

    /// What waited for the commit, of which nothing is sent.
    pub(super) fn unsent(&self, account: &mut Account) -> Sent {
        Sent {
            waiting: self.effects.waiting(account.parts().1),
            ..Sent::default()
        }
    }

    /// Sends what waited for the commit.
    pub(super) fn send(&mut self, account: &mut Account) -> Result<Sent, EffectError> {
        let (tape, txn) = account.parts();
        self.effects.send_waiting(tape, txn)
    }
}

impl Transaction {
    /// Makes an effect, or lets it wait for the commit.
    pub fn effect(
        &mut self,
        call: &EffectCall,
        body: Arc<[u8]>,
    ) -> Result<Answer, OpenTransactionError> {
        self.declare()?;
        let account = self.account.as_mut().ok_or(OpenTransactionError::Over)?;
        let (tape, txn) = account.parts();
        let call = Call {
            name: &call.name,
            key: call.key.as_deref(),
            request: EffectRequest {
                arguments: call.arguments.clone(),
                body,
            },
            txn: Some(txn),
            when: if call.is_needed_now {
                When::Now
            } else {
                When::AtCommit
            },
            call: None,
        };
        Ok(self.outward.effects.call(tape, &call)?)
    }

    /// Records what a person says of an effect.
    pub fn settle_effect(
        &mut self,
        number: u32,
        said: Settlement,
    ) -> Result<(), OpenTransactionError> {
        let account = self.account.as_mut().ok_or(OpenTransactionError::Over)?;
        let tape = account.parts().0;
        Ok(self.outward.effects.settle(tape, number, said)?)
    }

    /// Reads what is declared, as far as anything may have to be run.
    pub(super) fn declare_if_needed(&mut self) -> Result<(), OpenTransactionError> {
        if self.outward.has_none() {
            return Ok(());
        }
        self.declare()
    }

    /// Sees to it that nothing is in doubt: makes again what may be, and refuses the rest.
    pub(super) fn leave_no_doubt(&mut self) -> Result<(), OpenTransactionError> {
        self.declare_if_needed()?;
        let account = self.account.as_mut().ok_or(OpenTransactionError::Over)?;
        let tape = account.parts().0;
        match self.outward.effects.retry_doubts(tape)?.as_slice() {
            [] => Ok(()),
            doubts => Err(OpenTransactionError::InDoubt(doubts.to_vec())),
        }
    }

    fn declare(&mut self) -> Result<(), OpenTransactionError> {
        let declarations = self.outward.surroundings.declarations(&self.workspace)?;
        self.outward.effects.declare(declarations);
        Ok(())
    }
}
