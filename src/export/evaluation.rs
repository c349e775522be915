//! A turn of a model as an evaluation for promptfoo: what it was told, and what is known of the
//! calls that it may answer with.
//!
//! What was recorded lies in files beside the configuration, which names them and holds
//! nothing else. A prompt is a template, and so is a value in it: here the one holds only
//! names, and a name that occurs in no value, so that none is ever taken for a template.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// A turn of a model, to be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// A slug.
    pub name: String,
    /// What the model was told before, in order.
    pub messages: Vec<Message>,
    /// Calls that failed.
    pub must_not: Vec<Asking>,
    /// Calls of which one is to be made; none: any but those will do.
    pub must: Vec<Asking>,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// By whom.
    pub role: Role,
    /// The words.
    pub text: String,
}

/// Who speaks. What a tool returned, the user says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Whoever sets the model up.
    System,
    /// Whoever asks it.
    User,
    /// The model.
    Assistant,
}

impl Role {
    const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A call that a model asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Asking {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
}

impl Asking {
    /// As one line of JSON, as it stands in a message.
    pub fn line(&self) -> String {
        self.value().to_string()
    }

    fn value(&self) -> Value {
        json!({ "tool": self.tool, "arguments": self.arguments })
    }
}

impl Evaluation {
    /// Adds something that was said. What one says after itself is one message.
    pub fn say(&mut self, role: Role, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == role => {
                last.text.push_str("\n\n");
                last.text.push_str(text);
            }
            _ => self.messages.push(Message {
                role,
                text: text.to_owned(),
            }),
        }
    }

    /// The files of the evaluation, by their names.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let stem = self.stem();
        let mut files: Vec<(String, Vec<u8>)> = self
            .messages
            .iter()
            .zip(1..)
            .map(|(message, number)| (file(number), message.text.clone().into_bytes()))
            .collect();
        let prompt = self.messages.iter().zip(1..).map(|(message, number)| {
            let content = format!("{{{{ {stem}_{number} }}}}");
            json!({ "role": message.role.as_str(), "content": content })
        });
        let calls = |calls: &[Asking]| calls.iter().map(Asking::value).collect::<Value>();
        let calls = json!({ "must_not": calls(&self.must_not), "must": calls(&self.must) });
        files.extend([
            ("prompt.json".to_owned(), pretty(&prompt.collect())),
            ("calls.json".to_owned(), pretty(&calls)),
            (CONFIG.to_owned(), self.config(&stem).into_bytes()),
        ]);
        let fixed: [(&str, &[u8]); 3] = [
            (
                "assert.cjs",
                include_bytes!("../../assets/evaluation/assert.cjs"),
            ),
            (
                "README.md",
                include_bytes!("../../assets/evaluation/README.md"),
            ),
            (".gitattributes", b"* -text\n"),
        ];
        files.extend(fixed.map(|(name, bytes)| (name.to_owned(), bytes.to_vec())));
        files
    }

    /// What the names of values begin with. It stands in none of them.
    fn stem(&self) -> String {
        let mut stem = "message".to_owned();
        while self
            .messages
            .iter()
            .any(|it| it.text.contains(&format!("{stem}_")))
        {
            stem.push('s');
        }
        stem
    }

    /// The configuration. All in it is made here, or a slug.
    fn config(&self, stem: &str) -> String {
        let mut text = format!(
            "# yaml-language-server: $schema=https://promptfoo.dev/config-schema.json\n\
             description: \"{name}\"\n\
             prompts:\n  - file://prompt.json\n\
             providers:\n  - \"{{{{ env.JUKEBOX_PROVIDER }}}}\"\n\
             tests:\n  - description: \"{name}\"\n    vars:\n",
            name = self.name
        );
        for (_, number) in self.messages.iter().zip(1..) {
            let _ = writeln!(text, "      {stem}_{number}: file://{}", file(number));
        }
        text.push_str("    assert:\n      - type: javascript\n        value: file://assert.cjs\n");
        text
    }
}

/// The configuration's name: promptfoo looks for it.
pub const CONFIG: &str = "promptfooconfig.yaml";

fn file(number: usize) -> String {
    format!("messages/{number:04}.txt")
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluation(texts: &[(Role, &str)]) -> Evaluation {
        let mut evaluation = Evaluation {
            name: "step-1".to_owned(),
            messages: Vec::new(),
            must_not: Vec::new(),
            must: Vec::new(),
        };
        for (role, text) in texts {
            evaluation.say(*role, text);
        }
        evaluation
    }

    #[test]
    fn who_goes_on_speaking_says_one_message() {
        let said = evaluation(&[
            (Role::User, "a"),
            (Role::User, "b"),
            (Role::Assistant, " "),
            (Role::User, "c"),
            (Role::Assistant, "d"),
        ]);
        let texts: Vec<&str> = said.messages.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts, ["a\n\nb\n\nc", "d"]);
    }

    #[test]
    fn no_message_names_a_value() {
        let hostile = "{{ message_1 }} {{messages_2}} {% raw %} {{ env.HOME }}";
        let files = evaluation(&[(Role::User, hostile)]).files();
        let of = |name: &str| {
            let found = files.iter().find(|(other, _)| other == name).unwrap();
            String::from_utf8(found.1.clone()).unwrap()
        };
        assert_eq!(of("messages/0001.txt"), hostile);
        assert!(of("prompt.json").contains("\"{{ messagess_1 }}\""));
        assert!(of(CONFIG).contains("\n      messagess_1: file://messages/0001.txt\n"));
        for name in [CONFIG, "prompt.json"] {
            assert!(!of(name).contains("raw"), "{name}");
        }
    }
}
