//! What a step comes to when it is held against another: the one place that says what
//! counts.

use serde_json::{Map, Value, json};

use crate::model::{BlockKind, Body, Event, ModelBlock, Outcome, StepKind};

/// A step, without what differs from run to run by itself or changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct StepContent {
    /// The sort of the step.
    pub kind: StepKind,
    /// The tool or the role. A model's name is no part of what it does.
    pub actor: String,
    /// What was asked: the words of a prompt, the arguments of a call.
    pub asked: Map<String, Value>,
    /// What came back: what a model said and called, what a tool printed.
    pub answered: Map<String, Value>,
    /// How it ended.
    pub outcome: Outcome,
    /// What became of files, by path.
    pub files: Map<String, Value>,
    /// The tape may end inside it: what is missing is no difference.
    pub is_open: bool,
}

impl StepContent {
    /// A step of which nothing was taken in yet.
    pub fn new(kind: StepKind, outcome: Outcome) -> Self {
        Self {
            kind,
            actor: String::new(),
            asked: Map::new(),
            answered: Map::new(),
            outcome,
            files: Map::new(),
            is_open: false,
        }
    }

    /// Takes in the next event of the step.
    pub fn add(&mut self, event: Event) {
        match event.body {
            Body::Prompt {
                role,
                text,
                attachments,
            } => {
                let hashes = attachments.iter().map(|hash| json!(hash.to_string()));
                push(&mut self.asked, "attachments", hashes);
                push(&mut self.asked, "prompt", [Value::String(text)]);
                self.actor = role;
            }
            Body::ModelResponse { blocks, .. } => {
                for block in blocks {
                    self.add_block(block);
                }
            }
            Body::ToolCall { name, arguments } => {
                self.actor = name;
                self.asked.insert("arguments".to_owned(), arguments);
            }
            Body::ToolResult {
                exit,
                output,
                attachments,
                ..
            } => {
                let hashes = attachments.iter().map(|hash| json!(hash.to_string()));
                push(&mut self.answered, "attachments", hashes);
                push(&mut self.answered, "exit", exit.map(Value::from));
                push(&mut self.answered, "output", [Value::String(output)]);
            }
            Body::TxnBegin => "begin".clone_into(&mut self.actor),
            Body::TxnCommit => "commit".clone_into(&mut self.actor),
            Body::TxnRollback { to } => {
                "roll back".clone_into(&mut self.actor);
                push(&mut self.asked, "savepoint", to.map(Value::String));
            }
            Body::TxnSavepoint { name } => {
                "savepoint".clone_into(&mut self.actor);
                push(&mut self.asked, "savepoint", [Value::String(name)]);
            }
            Body::Note { text } => push(&mut self.asked, "note", [Value::String(text)]),
            Body::Gap { why } => push(&mut self.asked, "gap", [Value::String(why)]),
            Body::AgentStart { name } => push(&mut self.asked, "agent", [Value::String(name)]),
            Body::AgentEnd { outcome } => {
                push(&mut self.answered, "agent", [json!(outcome.as_str())]);
            }
            // What was not understood is full of ids; that it is there can be compared.
            Body::Raw { format, .. } => push(&mut self.asked, "record", [Value::String(format)]),
            Body::Other { kind, fields } => {
                push(&mut self.asked, "event", [Value::String(kind)]);
                push(&mut self.asked, "fields", [Value::Object(fields)]);
            }
            // Files come by their states; a request repeats what was said before.
            Body::File(_)
            | Body::Suspect { .. }
            | Body::ModelRequest { .. }
            | Body::Snapshot { .. }
            | Body::Blob(_)
            | Body::Branch { .. }
            | Body::Tape(_)
            | Body::End { .. } => {}
        }
    }

    fn add_block(&mut self, block: ModelBlock) {
        let (name, value) = match block.kind {
            BlockKind::Text => ("response", Value::String(block.text)),
            BlockKind::ToolCall => (
                "calls",
                json!({"tool": block.text, "arguments": block.data}),
            ),
            BlockKind::Other => ("blocks", block.data),
            BlockKind::Thinking => return,
        };
        push(&mut self.answered, name, [value]);
    }
}

/// Adds values to those of a name: most have one, and that stands for itself.
fn push(into: &mut Map<String, Value>, name: &str, values: impl IntoIterator<Item = Value>) {
    for value in values {
        match into.get_mut(name) {
            Some(Value::Array(values)) => values.push(value),
            Some(one) => *one = Value::Array(vec![one.take(), value]),
            None => drop(into.insert(name.to_owned(), value)),
        }
    }
}
