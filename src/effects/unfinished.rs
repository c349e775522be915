//! Goes on with the effects of a tape that nobody writes any more: a process was killed, an outbox
//! stopped, a compensation failed.
//!
//! Which transactions were committed is read from the tape, or said by whoever read the journals
//! of the workspace. Files are none of its business: a workspace is recovered by its own journal.

use std::collections::HashMap;
use std::path::Path;

use super::{
    Declarations, EffectError, EffectState, Effects, Entry, Fate, RolledBack, Sent, Settlement,
};
use crate::model::{Body, Event, Outcome, Seq};
use crate::tape::{RecordError, Recorder, RecorderOptions, Redacting, Tape, TransactionState};

/// The effects of a tape, to be brought to an end. It holds the tape's lock.
#[derive(Debug)]
pub struct Unfinished {
    tape: Recorder,
    effects: Effects,
    /// How the transactions of the tape ended, in their order.
    transactions: Vec<(String, TransactionState)>,
}

/// Why the effects of a tape cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum UnfinishedError {
    /// The tape cannot be written; somebody else may be writing it.
    #[error(transparent)]
    Tape(#[from] RecordError),
    /// What has to be recorded, read or run, is not.
    #[error(transparent)]
    Effect(#[from] EffectError),
    /// It cannot be read.
    #[error("the tape cannot be read: {0}")]
    Read(#[from] std::io::Error),
}

impl Unfinished {
    /// Opens a tape. Nothing is run; what is torn of it is set aside.
    /// Secrets in what is answered are taken out, if it is said which there are.
    pub fn open(
        tape: &Path,
        declarations: Declarations,
        redacting: Option<Redacting>,
    ) -> Result<Self, UnfinishedError> {
        let options = RecorderOptions {
            redacting,
            ..RecorderOptions::default()
        };
        let recorder = Recorder::resume(tape, options)?;
        let effects = Effects::resume(declarations, &recorder)?;
        let tape = Tape::read(recorder.bytes(), &mut ())?;
        let index = &tape.index;
        let transactions = index.transactions.iter().filter_map(|entry| {
            let branch = index.branches.get(usize::from(entry.branch))?;
            Some((branch.name.clone(), entry.state))
        });
        Ok(Self {
            transactions: transactions.collect(),
            tape: recorder,
            effects,
        })
    }

    /// The effects of the tape.
    pub fn effects(&self) -> &Effects {
        &self.effects
    }

    /// What [`retry`](Self::retry) would make again.
    pub fn to_retry(&self) -> Vec<&Entry> {
        let is_meant =
            |entry: &&Entry| entry.state() == EffectState::InDoubt && entry.class.is_repeatable();
        self.entries().filter(is_meant).collect()
    }

    /// Makes again, with the same key, what is in doubt and may be made again; what is in doubt
    /// after that.
    pub fn retry(&mut self) -> Result<Vec<u32>, UnfinishedError> {
        Ok(self.effects.retry_doubts(&mut self.tape)?)
    }

    /// What [`send`](Self::send) would send, if nothing stops it.
    pub fn to_send(&self) -> Vec<&Entry> {
        let committed: Vec<&str> = self.committed().collect();
        let is_meant = |entry: &&Entry| {
            let txn = entry.txn.as_deref();
            entry.is_of_outbox()
                && txn.is_some_and(|txn| committed.contains(&txn))
                && matches!(
                    entry.state(),
                    EffectState::Waiting | EffectState::Failed | EffectState::InDoubt
                )
        };
        self.entries().filter(is_meant).collect()
    }

    /// Sends what still waits of transactions that were committed, in order.
    pub fn send(&mut self) -> Result<Sent, UnfinishedError> {
        let committed: Vec<String> = self.committed().map(str::to_owned).collect();
        let mut all = Sent::default();
        for txn in committed {
            let sent = self.effects.send_waiting(&mut self.tape, &txn)?;
            all.sent.extend(sent.sent);
            all.waiting.extend(sent.waiting);
            if sent.stopped.is_some() {
                all.stopped = sent.stopped;
                break;
            }
        }
        Ok(all)
    }

    /// What [`take_back`](Self::take_back) would do, the last first.
    pub fn to_take_back(&self) -> Vec<(&Entry, Fate)> {
        let committed = self.states();
        let entries = self.effects.ledger().entries().iter().rev();
        let entries = entries.filter(|entry| is_undone(entry, &committed));
        let fates = entries.map(|entry| (entry, entry.fate_before(Seq(u64::MAX))));
        fates.filter(|(_, fate)| *fate != Fate::Nothing).collect()
    }

    /// Whether an effect is not made, made again or sent, since the tape has only placeholders of
    /// what was asked for.
    pub fn cannot_make(&self, entry: &Entry) -> bool {
        self.effects.has_lost_request(&self.tape, entry)
    }

    /// Whether it is not taken back for that reason, of what was asked for or answered.
    pub fn cannot_take_back(&self, entry: &Entry) -> bool {
        self.cannot_make(entry) || self.effects.has_lost_answer(&self.tape, entry)
    }

    /// Whether a transaction is one that the tape tells no end of. Who held it may have died
    /// between the commit of its files and the word about it: then its effects stand, which
    /// the tape cannot know.
    pub fn is_open(&self, txn: &str) -> bool {
        let is_it = |(name, state): &(String, TransactionState)| {
            name == txn && *state == TransactionState::Open
        };
        self.transactions.iter().any(is_it)
    }

    /// The transactions that the tape tells no end of.
    pub fn open_transactions(&self) -> impl Iterator<Item = &str> {
        let transactions = self.transactions.iter();
        let open = transactions.filter(|(_, state)| *state == TransactionState::Open);
        open.map(|(name, _)| name.as_str())
    }

    /// A transaction was committed: from now on that counts. The tape is not told.
    pub fn know_committed(&mut self, txn: &str) {
        for (name, state) in &mut self.transactions {
            if name == txn && *state == TransactionState::Open {
                *state = TransactionState::Committed;
            }
        }
    }

    /// The transactions that were committed.
    pub fn committed_transactions(&self) -> impl Iterator<Item = &str> {
        self.committed()
    }

    /// The commit of a transaction was undone: its effects are from now on those of one that was
    /// rolled back. The tape is not told.
    pub fn know_undone(&mut self, txn: &str) {
        for (name, state) in &mut self.transactions {
            if name == txn && *state == TransactionState::Committed {
                *state = TransactionState::RolledBack;
            }
        }
    }

    /// Tells the tape that a transaction was committed.
    pub fn tell_committed(&mut self, txn: &str) -> Result<(), UnfinishedError> {
        let mut edge = Event::new(Body::TxnCommit);
        edge.head.txn = Some(txn.to_owned());
        self.tape.promise(edge)?;
        self.know_committed(txn);
        Ok(())
    }

    /// Ends the tape, on which nothing is left to be done.
    pub fn close(self, outcome: Outcome) -> Result<(), UnfinishedError> {
        Ok(self.tape.close(outcome).map(|_| ())?)
    }

    /// Takes back, the last first, what was done in transactions that were not committed, and
    /// what a rollback to a savepoint could not take back.
    pub fn take_back(&mut self) -> Result<RolledBack, UnfinishedError> {
        let states = self.states();
        let is_meant = |entry: &Entry| is_undone(entry, &states);
        Ok(self.effects.take_back(&mut self.tape, is_meant)?)
    }

    /// Records what a person says of an effect.
    pub fn settle(&mut self, number: u32, said: Settlement) -> Result<(), UnfinishedError> {
        Ok(self.effects.settle(&mut self.tape, number, said)?)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.effects.ledger().entries().iter()
    }

    fn committed(&self) -> impl Iterator<Item = &str> {
        let transactions = self.transactions.iter();
        let committed = transactions.filter(|(_, state)| *state == TransactionState::Committed);
        committed.map(|(name, _)| name.as_str())
    }

    fn states(&self) -> HashMap<String, TransactionState> {
        self.transactions.iter().cloned().collect()
    }
}

/// Whether an effect is none that stands: its transaction did not commit, or it was to be taken
/// back before that did.
fn is_undone(entry: &Entry, states: &HashMap<String, TransactionState>) -> bool {
    let was_to_go = matches!(
        entry.state(),
        EffectState::CompensationFailed | EffectState::CompensationInDoubt
    );
    let state = entry.txn.as_ref().and_then(|txn| states.get(txn));
    was_to_go || state.is_some_and(|state| *state != TransactionState::Committed)
}
