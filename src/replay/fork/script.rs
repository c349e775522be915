//! Answers that a person supplies: JSON lines, used up in order and never past their end.
//!
//! ```text
//! {"response":"I try B.","calls":[{"name":"Bash","args":{"command":"make"}}]}
//! {"response":[{"type":"text","text":"Done."}]}
//! {"result":"yes","outcome":"ok","exit":0}
//! {"prompt":"Now the tests."}
//! ```
//!
//! A response is its words, with the calls beside them, or its blocks as a tape holds them. A
//! result is taken for the next call that nobody else can answer; its outcome is `ok` where
//! none is said. A prompt is taken where the agent has said its last word. Blank lines and
//! lines that begin with `#` are passed over.

use serde::Deserialize;
use serde_json::Value;

use super::writing::response;
use super::{Question, Speaker, Stopped, Turn, Wanted};
use crate::model::{BlockKind, Event, ModelBlock, Outcome, Via};
use crate::tape::BlobSource;

/// Answers in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    lines: Vec<(usize, Line)>,
    next: usize,
}

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// What the model says.
    Response(Vec<ModelBlock>),
    /// What a tool returns.
    Result {
        /// How it ended.
        outcome: Outcome,
        /// The exit code of its command.
        exit: Option<i32>,
        /// The output.
        output: String,
    },
    /// What the user asks.
    Prompt(String),
}

impl Line {
    const fn sort(&self) -> Wanted {
        match self {
            Self::Response(_) => Wanted::Response,
            Self::Result { .. } => Wanted::Result,
            Self::Prompt(_) => Wanted::Prompt,
        }
    }
}

/// A line that is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    response: Option<Said>,
    #[serde(default)]
    calls: Vec<TypedCall>,
    result: Option<String>,
    outcome: Option<String>,
    exit: Option<i32>,
    prompt: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Words(String),
    Blocks(Vec<Block>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedCall {
    name: String,
    #[serde(default)]
    args: Value,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    name: Option<String>,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    data: Value,
}

impl Script {
    /// Reads a script.
    pub fn read(text: &str) -> Result<Self, ScriptError> {
        let mut lines = Vec::new();
        for (index, text) in text.lines().enumerate() {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let wrong = |what: String| ScriptError {
                line: index + 1,
                what,
            };
            let typed = serde_json::from_str::<Typed>(text);
            let typed = typed.map_err(|error| wrong(format!("no answer: {error}")))?;
            lines.push((index + 1, line(typed).map_err(wrong)?));
        }
        Ok(Self { lines, next: 0 })
    }
}

fn line(typed: Typed) -> Result<Line, String> {
    let is_result_said = typed.outcome.is_some() || typed.exit.is_some();
    match (typed.response, typed.result, typed.prompt) {
        (Some(said), None, None) if !is_result_said => {
            let mut blocks = match said {
                Said::Words(text) if text.is_empty() => Vec::new(),
                Said::Words(text) => vec![block(BlockKind::Text, text, Value::Null)],
                Said::Blocks(blocks) => blocks
                    .into_iter()
                    .map(|typed| match typed.kind.as_str() {
                        "text" => {
                            block(BlockKind::Text, typed.text.unwrap_or_default(), Value::Null)
                        }
                        "thinking" => block(
                            BlockKind::Thinking,
                            typed.text.unwrap_or_default(),
                            Value::Null,
                        ),
                        "tool_call" => block(
                            BlockKind::ToolCall,
                            typed.name.unwrap_or_default(),
                            typed.args,
                        ),
                        kind => block(BlockKind::Other, kind.to_owned(), typed.data),
                    })
                    .collect(),
            };
            let calls = typed.calls.into_iter();
            blocks.extend(calls.map(|call| block(BlockKind::ToolCall, call.name, call.args)));
            Ok(Line::Response(blocks))
        }
        (None, Some(output), None) if typed.calls.is_empty() => {
            let outcome = match typed.outcome.as_deref() {
                None => Outcome::Ok,
                Some(word) => Outcome::parse(word).ok_or_else(|| {
                    format!("`{word}` is no outcome; outcomes: ok, failed, refused, interrupted")
                })?,
            };
            Ok(Line::Result {
                outcome,
                exit: typed.exit,
                output,
            })
        }
        (None, None, Some(text)) if typed.calls.is_empty() && !is_result_said => {
            Ok(Line::Prompt(text))
        }
        _ => Err(
            "an answer is one of `response` (with `calls`), `result` (with `outcome` and \
                  `exit`) and `prompt`"
                .to_owned(),
        ),
    }
}

fn block(kind: BlockKind, text: String, data: Value) -> ModelBlock {
    ModelBlock {
        kind,
        text,
        call: None,
        data,
    }
}

impl Speaker for Script {
    fn ask(&mut self, _agent: Option<&str>, _blobs: &dyn BlobSource) -> Result<Question, Stopped> {
        Ok(Question::default())
    }

    fn respond(&mut self) -> Result<Turn, Stopped> {
        let blocks = match self.next(Wanted::Response) {
            Ok(Line::Response(blocks)) => blocks,
            Ok(_) => Vec::new(),
            Err(why) => return Err(Stopped::NothingToSay(why)),
        };
        Ok(Turn {
            events: vec![Event::new(response(None, blocks, None))],
            stopped: None,
        })
    }

    fn next(&mut self, wanted: Wanted) -> Result<Line, String> {
        match self.lines.get(self.next) {
            None => Err(format!(
                "the script has ended, and a {wanted} is needed here"
            )),
            Some((_, line)) if line.sort() == wanted => {
                self.next += 1;
                Ok(line.clone())
            }
            Some((number, line)) => Err(format!(
                "line {number} of the script is a {}, and a {wanted} is needed here",
                line.sort()
            )),
        }
    }

    fn has(&self, wanted: Wanted) -> bool {
        let next = self.lines.get(self.next);
        next.is_some_and(|(_, line)| line.sort() == wanted)
    }

    fn via(&self) -> Via {
        Via::Script
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_used_up_in_order_and_never_past_their_end() {
        let text = "# a script\n{\"response\":\"a\",\"calls\":[{\"name\":\"Bash\",\"args\":{}}]}\n\n\
                    {\"result\":\"b\",\"exit\":2,\"outcome\":\"failed\"}\n";
        let mut script = Script::read(text).unwrap();
        assert_eq!(
            script.next(Wanted::Prompt).unwrap_err(),
            "line 2 of the script is a response, and a prompt is needed here"
        );
        let Line::Response(blocks) = script.next(Wanted::Response).unwrap() else {
            panic!("a response was asked for");
        };
        assert_eq!(blocks.len(), 2);
        assert!(script.has(Wanted::Result) && !script.has(Wanted::Response));
        let result = Line::Result {
            outcome: Outcome::Failed,
            exit: Some(2),
            output: "b".to_owned(),
        };
        assert_eq!(script.next(Wanted::Result), Ok(result));
        assert_eq!(
            script.next(Wanted::Response).unwrap_err(),
            "the script has ended, and a response is needed here"
        );
    }

    #[test]
    fn a_line_that_is_no_answer_is_found() {
        let check = |text: &str, line: usize| {
            assert_eq!(Script::read(text).unwrap_err().line, line, "{text}");
        };
        check("{\"response\":\"a\"}\nx\n", 2);
        check("{\"respond\":\"a\"}", 1);
        check("{\"response\":\"a\",\"result\":\"b\"}", 1);
        check("{\"prompt\":\"a\",\"exit\":1}", 1);
        check("{\"result\":\"a\",\"outcome\":\"fine\"}", 1);
        check("{}", 1);
    }
}
