//! What the calls on a tape say of its tools: which there are, and what each takes.
//!
//! A tape holds no schemas; the calls that were made are what is known of them. So a call
//! that does not fit is remarked upon, and never refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::model::{BlockKind, ModelBlock};

/// The tools that were called, by name.
#[derive(Clone, Debug, Default)]
pub struct ToolFields(BTreeMap<String, Tool>);

#[derive(Clone, Debug, Default)]
struct Tool {
    calls: usize,
    fields: BTreeMap<String, Field>,
}

#[derive(Clone, Debug, Default)]
struct Field {
    calls: usize,
    sorts: BTreeSet<&'static str>,
}

impl ToolFields {
    /// Takes a call that was made.
    pub fn take(&mut self, name: &str, arguments: &Value) {
        let tool = self.0.entry(name.to_owned()).or_default();
        tool.calls += 1;
        for (name, value) in arguments.as_object().into_iter().flatten() {
            let field = tool.fields.entry(name.clone()).or_default();
            field.calls += 1;
            field.sorts.insert(sort(value));
        }
    }

    /// How many calls of a tool were taken.
    pub fn calls_of(&self, name: &str) -> usize {
        self.0.get(name).map_or(0, |tool| tool.calls)
    }

    /// A line for each tool that says what it takes: `Edit: path (text), old_string (text)`.
    /// A field that not every call had stands in brackets.
    pub fn lines(&self) -> Vec<String> {
        let line = |(name, tool): (&String, &Tool)| {
            let fields = tool.fields.iter().map(|(name, field)| {
                let sorts: Vec<&str> = field.sorts.iter().copied().collect();
                let said = format!("{name} ({})", sorts.join(" or "));
                if field.calls < tool.calls {
                    format!("[{said}]")
                } else {
                    said
                }
            });
            format!("{name}: {}", fields.collect::<Vec<_>>().join(", "))
        };
        self.0.iter().map(line).collect()
    }

    /// What is odd about the calls of a response, each remark with the number of its block.
    pub fn remarks(&self, blocks: &[ModelBlock]) -> Vec<(usize, String)> {
        let mut remarks = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            if block.kind == BlockKind::ToolCall {
                let found = self.remarks_on(&block.text, &block.data);
                remarks.extend(found.into_iter().map(|remark| (index, remark)));
            }
        }
        remarks
    }

    fn remarks_on(&self, name: &str, arguments: &Value) -> Vec<String> {
        let Some(tool) = self.0.get(name) else {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            let remark = if known.is_empty() {
                format!("no tool was called on this tape, so {name} is not known")
            } else {
                format!(
                    "no call of {name} is on this tape; tools called: {}",
                    known.join(", ")
                )
            };
            return vec![remark];
        };
        let Some(given) = arguments.as_object() else {
            let is_odd = !tool.fields.is_empty();
            return is_odd
                .then(|| format!("{name} takes an object, and this is {}", sort(arguments)))
                .into_iter()
                .collect();
        };
        let missing = tool.fields.iter().filter(|(field, known)| {
            known.calls == tool.calls && !given.contains_key(field.as_str())
        });
        let missing =
            missing.map(|(field, _)| format!("every call of {name} on this tape has `{field}`"));
        let odd = given.iter().filter_map(|(field, value)| {
            let Some(known) = tool.fields.get(field) else {
                return Some(format!("no call of {name} on this tape has `{field}`"));
            };
            let sorts: Vec<&str> = known.sorts.iter().copied().collect();
            (!known.sorts.contains(sort(value))).then(|| {
                format!(
                    "`{field}` of {name} is {} here, and {} in the calls on this tape",
                    sort(value),
                    sorts.join(" or ")
                )
            })
        });
        missing.chain(odd).collect()
    }
}

fn sort(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "yes or no",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_that_does_not_fit_is_remarked_upon() {
        let mut tools = ToolFields::default();
        tools.take("Bash", &json!({"command": "ls"}));
        tools.take("Bash", &json!({"command": "ls", "timeout": 5}));
        let check = |name: &str, arguments: Value, expected: &[&str]| {
            assert_eq!(tools.remarks_on(name, &arguments), expected);
        };
        check("Bash", json!({"command": "ls -l"}), &[]);
        check("Bash", json!({"command": "ls", "timeout": 6}), &[]);
        check(
            "Bash",
            json!({"cmd": "ls", "timeout": "6"}),
            &[
                "every call of Bash on this tape has `command`",
                "no call of Bash on this tape has `cmd`",
                "`timeout` of Bash is a text here, and a number in the calls on this tape",
            ],
        );
        check(
            "Bash",
            json!("ls"),
            &["Bash takes an object, and this is a text"],
        );
        check(
            "Brush",
            json!({}),
            &["no call of Brush is on this tape; tools called: Bash"],
        );
        assert_eq!(
            tools.lines(),
            ["Bash: command (a text), [timeout (a number)]"]
        );
    }
}
