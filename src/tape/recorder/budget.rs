//! When a snapshot is worth its bytes, and where it may stand: §7 of the format.

use std::collections::HashSet;

use crate::model::{Body, Event, Kind};

/// What snapshots cost so far, and what there was to go through since the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    /// Bytes of all snapshots.
    spent: u64,
    /// Events since the last one.
    events: u64,
    /// Bytes of the file events among them.
    file_bytes: u64,
}

impl Budget {
    /// An event of this kind was written, in a line of `len` bytes.
    pub(super) const fn take(&mut self, kind: Kind, len: u64) {
        if matches!(kind, Kind::Snapshot) {
            self.spent += len;
            self.events = 0;
            self.file_bytes = 0;
            return;
        }
        self.events += 1;
        if kind.is_file_change() || matches!(kind, Kind::FsObserve) {
            self.file_bytes += len;
        }
    }

    /// Whether a snapshot that takes `cost` bytes is due on a tape of `tape` bytes.
    ///
    /// Snapshots stand sqrt(2 C / r) events apart (Young 1974, Daly 2006, for checkpoints),
    /// with C the cost and r the bytes of file events per event. With n events since the
    /// last one and b bytes of file events in them, r = b / n, and n ≥ sqrt(2 C n / b) is
    /// n b ≥ 2 C. Never more than a tenth of the tape is spent on them.
    pub(super) const fn is_due(&self, cost: u64, tape: u64) -> bool {
        let reached = self.events.saturating_mul(self.file_bytes) >= cost.saturating_mul(2);
        let within = (self.spent + cost).saturating_mul(10) <= tape + cost;
        self.file_bytes > 0 && reached && within
    }
}

/// Calls without their result yet, and transactions without their end.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenCalls {
    calls: HashSet<String>,
    transactions: HashSet<String>,
}

impl OpenCalls {
    /// Whether no call and no transaction is open.
    pub(super) fn is_quiet(&self) -> bool {
        self.calls.is_empty() && self.transactions.is_empty()
    }

    pub(super) fn take(&mut self, event: &Event) {
        let head = &event.head;
        let call = || {
            let branch = head.branch.as_deref().unwrap_or_default();
            let call = head.call.as_ref();
            // A call without an id is answered by the next answer to the same agent.
            call.map_or_else(
                || format!("{branch}\0\0{}", head.agent.as_deref().unwrap_or_default()),
                |call| format!("{branch}\0{call}"),
            )
        };
        match &event.body {
            Body::ToolCall { .. } | Body::ModelRequest { .. } => {
                self.calls.insert(call());
            }
            Body::ToolResult { .. } | Body::ModelResponse { .. } => {
                self.calls.remove(&call());
            }
            Body::TxnBegin => {
                self.transactions.extend(head.txn.clone());
            }
            Body::TxnCommit | Body::TxnRollback { to: None } => {
                if let Some(txn) = &head.txn {
                    self.transactions.remove(txn);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_stand_as_far_apart_as_they_cost_and_within_a_tenth() {
        let mut budget = Budget::default();
        assert!(!budget.is_due(0, 1 << 20), "without file events never");
        budget.take(Kind::FsWrite, 100);
        budget.take(Kind::Note, 100);
        // Two events, 100 bytes: sqrt(2 * 100 / 50) = 2 events apart.
        assert!(budget.is_due(100, 1 << 20));
        assert!(!budget.is_due(101, 1 << 20));
        assert!(!budget.is_due(100, 899), "more than a tenth of the tape");
        assert!(budget.is_due(100, 900));
        budget.take(Kind::Snapshot, 100);
        assert!(!budget.is_due(1, 1 << 20));
        budget.take(Kind::FsWrite, 100);
        assert!(!budget.is_due(50, 1000), "what was spent counts");
    }
}
