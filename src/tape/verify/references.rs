//! What lines say of each other: calls, transactions, savepoints, branches.

use std::collections::{HashMap, HashSet};

use crate::model::{Body, Event, ProblemKind, Seq};

/// What the lines so far gave names to, which later lines go back to.
#[derive(Debug, Default)]
pub struct References {
    calls: HashSet<String>,
    agents: HashSet<String>,
    lines: HashSet<String>,
    /// The history was dropped: an agent may have begun in it.
    is_cut: bool,
    /// Open transactions with their savepoints.
    transactions: HashMap<String, Vec<String>>,
}

impl References {
    /// What is wrong with what an event refers to. `seq` is its number.
    pub fn check(&mut self, seq: Seq, event: &Event) -> Option<(ProblemKind, String)> {
        self.broken(seq, event)
            .map(|text| (ProblemKind::BrokenReference, text))
    }

    /// Whether there was a call, of a tool or a model, of this id.
    pub fn has_call(&self, call: &str) -> bool {
        self.calls.contains(call)
    }

    fn broken(&mut self, seq: Seq, event: &Event) -> Option<String> {
        let head = &event.head;
        let txn = head.txn.as_deref();
        match &event.body {
            Body::Tape(_) => {
                self.is_cut = event.extra.contains_key("compacted");
                None
            }
            Body::ToolCall { .. }
            | Body::ModelRequest { .. }
            | Body::ModelResponse { .. }
            // A result without its call is told by the index.
            | Body::ToolResult { .. } => {
                self.calls.extend(head.call.clone());
                None
            }
            Body::File(_) | Body::Suspect { .. } => {
                let call = head.call.as_ref()?;
                let text = format!("it belongs to the call `{call}`, which is not on the tape");
                (!self.calls.contains(call)).then_some(text)
            }
            Body::AgentStart { .. } => {
                self.agents.extend(head.agent.clone());
                None
            }
            Body::AgentEnd { .. } => {
                let agent = head.agent.as_deref().unwrap_or_default();
                let text = format!("the agent `{agent}` ends and never began");
                (!self.is_cut && !self.agents.contains(agent)).then_some(text)
            }
            Body::Branch { from, at, .. } => {
                self.lines.extend(head.branch.clone());
                let parent = from.as_deref().filter(|from| *from != "main");
                if let Some(from) = parent.filter(|from| !self.lines.contains(*from)) {
                    return Some(format!("the branch leaves `{from}`, which is not on the tape"));
                }
                (*at >= seq).then(|| format!("the branch leaves its parent at {at}, which is to come"))
            }
            Body::TxnBegin => {
                let name = txn.unwrap_or_default();
                let known = self.transactions.insert(name.to_owned(), Vec::new());
                known.map(|_| format!("the transaction `{name}` begins twice"))
            }
            Body::TxnSavepoint { name } => match self.transactions.get_mut(txn?) {
                Some(savepoints) => {
                    savepoints.push(name.clone());
                    None
                }
                None => Some(not_open(txn)),
            },
            Body::TxnRollback { to: Some(to) } => {
                let Some(savepoints) = self.transactions.get(txn?) else {
                    return Some(not_open(txn));
                };
                let text = format!("it goes back to the savepoint `{to}`, which is not there");
                (!savepoints.contains(to)).then_some(text)
            }
            Body::TxnCommit | Body::TxnRollback { to: None } => {
                let known = self.transactions.remove(txn.unwrap_or_default());
                known.is_none().then(|| not_open(txn))
            }
            _ => None,
        }
    }
}

fn not_open(txn: Option<&str>) -> String {
    format!("the transaction `{}` is not open", txn.unwrap_or_default())
}
