//! A turn of a model as an evaluation for promptfoo: what it was told, and what is known of the
//! calls that it may answer with.
//!
//! What was recorded lies in files beside the configuration, which names them and holds
//! nothing else. promptfoo takes a prompt for a template, and looks for names in braces in each
//! value of it, too; of a value it takes the space around it away. Here the prompt holds names
//! alone. A word that occurs in no message stands in each of them between two signs that would
//! begin something of a template, and at both ends; the prompt takes that word out again. So what
//! is said to a model is what was recorded, to the byte.

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
        let guard = self.guard();
        let messages = self.messages.iter().zip(1..);
        let mut files: Vec<(String, Vec<u8>)> = messages
            .clone()
            .map(|(message, number)| (file(number), guarded(&message.text, &guard).into_bytes()))
            .collect();
        let prompt = messages.map(|(message, number)| {
            let content = format!("{{{{ message_{number} | replace('{guard}', '') }}}}");
            json!({ "role": message.role.as_str(), "content": content })
        });
        let calls = |calls: &[Asking]| calls.iter().map(Asking::value).collect::<Value>();
        let calls = json!({ "must_not": calls(&self.must_not), "must": calls(&self.must) });
        files.extend([
            ("prompt.json".to_owned(), pretty(&prompt.collect())),
            ("calls.json".to_owned(), pretty(&calls)),
            (CONFIG.to_owned(), self.config().into_bytes()),
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

    /// A word that stands in no message. No end of it is a start of it: put into a text that
    /// lacks it, it stands there as often as it was put there.
    fn guard(&self) -> String {
        let mut guard = "[-]".to_owned();
        while self.messages.iter().any(|it| it.text.contains(&guard)) {
            guard.insert(1, '-');
        }
        guard
    }

    /// The configuration. All in it is made here, or a slug.
    fn config(&self) -> String {
        let mut text = format!(
            "# yaml-language-server: $schema=https://promptfoo.dev/config-schema.json\n\
             description: \"{name}\"\n\
             prompts:\n  - file://prompt.json\n\
             providers:\n  - \"{{{{ env.JUKEBOX_PROVIDER }}}}\"\n\
             tests:\n  - description: \"{name}\"\n    vars:\n",
            name = self.name
        );
        for (_, number) in self.messages.iter().zip(1..) {
            let _ = writeln!(text, "      message_{number}: file://{}", file(number));
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

/// A text in which nothing begins a template, and that neither begins nor ends with a space, once
/// the guard is in it.
fn guarded(text: &str, guard: &str) -> String {
    let mut guarded = guard.to_owned();
    let mut is_open = false;
    for character in text.chars() {
        if is_open && matches!(character, '{' | '%' | '#') {
            guarded.push_str(guard);
        }
        guarded.push(character);
        is_open = character == '{';
    }
    guarded.push_str(guard);
    guarded
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
    fn no_message_holds_a_template() {
        let check = |text: &str, expected: &str| {
            let files = evaluation(&[(Role::User, text)]).files();
            let of = |name: &str| {
                let found = files.iter().find(|(other, _)| other == name).unwrap();
                String::from_utf8(found.1.clone()).unwrap()
            };
            let held = of("messages/0001.txt");
            assert_eq!(held, expected);
            let guard = held.split_inclusive(']').next().unwrap();
            assert_eq!(held.replace(guard, ""), text);
            let content = format!("\"{{{{ message_1 | replace('{guard}', '') }}}}\"");
            assert!(of("prompt.json").contains(&content), "{content}");
        };
        check(" a {b}\n", "[-] a {b}\n[-]");
        check("{{ message_1 }}", "[-]{[-]{ message_1 }}[-]");
        check("{{{% raw", "[-]{[-]{[-]{[-]% raw[-]");
        check("{# [-] [---", "[--]{[--]# [-] [---[--]");
        check("[-] [--]-] {%", "[---][-] [--]-] {[---]%[---]");
    }
}
