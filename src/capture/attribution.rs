//! Whose a change is: that of the call that runs, where only one does.
//!
//! Where several run, those that only look at files are left out, and those whose arguments
//! name the path decide; where that leaves more than one, or none, all that may have done it
//! are candidates.
//!
//! Another session may run in the same directory: its calls may have done it as well, and where
//! only they may, the change is one from outside, with them as candidates.

use serde_json::Value;

use crate::model::{Body, Event, Head, Outcome, TapePath};
use crate::tools::shell;

/// Strings of one call's arguments that are looked at for paths.
const MOST_STRINGS: usize = 1000;

/// Tools that are known to write no file, whatever they name, in small letters. Another one is
/// taken for a writer.
const READERS: [&str; 14] = [
    // What a sub-agent does, its own calls tell.
    "agent",
    "glob",
    "grep",
    "list_dir",
    "list_directory",
    "ls",
    "notebookread",
    "read",
    "read_file",
    "task",
    "view",
    "view_image",
    "webfetch",
    "websearch",
];

/// Fields of arguments that hold a command.
const COMMANDS: [&str; 2] = ["command", "cmd"];

/// A call that has not returned.
#[derive(Debug)]
struct OpenCall {
    /// The call's own head: its changes are of the same branch, agent and transaction.
    head: Head,
    /// The paths that its arguments name.
    names: Vec<TapePath>,
    /// It only looks at files, by its tool or by its command.
    only_reads: bool,
}

/// The tool calls that have not returned.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    own: Vec<OpenCall>,
    /// Those of other sessions that may have changed something since the last look.
    others: Vec<OpenCall>,
}

/// What tells whether a call changed a file: what one session lets others know of its calls.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CallTrace {
    /// The call's id.
    pub id: String,
    /// The paths that its arguments name, absolute.
    pub names: Vec<String>,
    /// It only looks at files.
    pub only_reads: bool,
}

/// Whose a change is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Nobody's who is known: no call ran. Or one of these calls of other sessions.
    Outside(Vec<String>),
    /// This call's, by its head.
    Call(Head),
    /// One of these calls'.
    Candidates(Vec<String>),
}

impl OpenCalls {
    /// Takes note of a call. `root` is the workspace, absolute.
    pub(super) fn begin(&mut self, event: &Event, root: Option<&str>) {
        let Body::ToolCall { name, arguments } = &event.body else {
            return;
        };
        let mut names = Vec::new();
        if let Some(root) = root {
            let mut left = MOST_STRINGS;
            paths_in(arguments, root, &mut names, &mut left);
        }
        self.own.push(OpenCall {
            head: event.head.clone(),
            names,
            only_reads: only_reads(name, arguments),
        });
    }

    /// Takes note of a result: its call is over.
    pub(super) fn end(&mut self, event: &Event) {
        if let Some(at) = self.position(&event.head) {
            self.own.remove(at);
        }
    }

    /// Takes a call that did not run out of those that may have done something, before its
    /// result is recorded.
    pub(super) fn clear_refused(&mut self, event: &Event) {
        if matches!(
            &event.body,
            Body::ToolResult {
                outcome: Outcome::Refused,
                ..
            }
        ) {
            self.end(event);
        }
    }

    /// Whether no call runs.
    pub(super) const fn is_quiet(&self) -> bool {
        self.own.is_empty()
    }

    fn position(&self, result: &Head) -> Option<usize> {
        self.own.iter().rposition(|open| {
            let head = &open.head;
            let is_its = match &result.call {
                Some(call) => head.call.as_ref() == Some(call),
                None => head.call.is_none() && head.agent == result.agent,
            };
            is_its && head.branch == result.branch
        })
    }

    /// What others may know of the calls that have not returned.
    pub(super) fn traces(&self, root: &str) -> Vec<CallTrace> {
        let trace = |open: &OpenCall| {
            let absolute = |path: &TapePath| {
                let path_text = path.to_text();
                if path.is_outside() {
                    path_text
                } else {
                    format!("{root}/{path_text}")
                }
            };
            Some(CallTrace {
                id: open.head.call.clone()?,
                names: open.names.iter().map(absolute).collect(),
                only_reads: open.only_reads,
            })
        };
        self.own.iter().filter_map(trace).collect()
    }

    /// Takes note of the calls of other sessions.
    pub(super) fn set_others(&mut self, traces: Vec<CallTrace>, root: &str) {
        let open = |trace: CallTrace| OpenCall {
            names: trace
                .names
                .iter()
                .filter_map(|name| TapePath::resolve(name, root, root).ok())
                .collect(),
            only_reads: trace.only_reads,
            head: Head {
                call: Some(trace.id),
                ..Head::default()
            },
        };
        self.others = traces.into_iter().map(open).collect();
    }

    /// The heads of the calls that have not returned.
    pub(super) fn heads(&self) -> impl Iterator<Item = &Head> {
        self.own.iter().map(|open| &open.head)
    }

    /// Whose a change of this path is, if it happened just now.
    pub(super) fn whose(&self, path: &TapePath) -> Whose {
        let all = || {
            let own = self.own.iter().map(|open| (true, open));
            own.chain(self.others.iter().map(|open| (false, open)))
        };
        let mut open: Vec<(bool, &OpenCall)> = all().filter(|(_, open)| !open.only_reads).collect();
        if open.is_empty() {
            // One that only looks is blamed only for what nobody else may have done.
            open = all().filter(|(is_own, _)| *is_own).collect();
        }
        let exact = |open: &&(bool, &OpenCall)| open.1.names.contains(path);
        let above = |open: &&(bool, &OpenCall)| {
            let names = &open.1.names;
            names.iter().any(|name| path.is_within(name))
        };
        let mut may: Vec<(bool, &OpenCall)> = open.iter().filter(exact).copied().collect();
        if may.is_empty() {
            may = open.iter().filter(above).copied().collect();
        }
        if may.is_empty() {
            may = open;
        }
        let ids = || {
            let ids = may.iter().filter_map(|(_, open)| open.head.call.clone());
            ids.collect()
        };
        match may.as_slice() {
            [(true, one)] => Whose::Call(one.head.clone()),
            several if several.iter().any(|(is_own, _)| *is_own) => Whose::Candidates(ids()),
            _ => Whose::Outside(ids()),
        }
    }
}

fn only_reads(tool: &str, arguments: &Value) -> bool {
    let tool = tool.to_ascii_lowercase();
    let mut commands = COMMANDS
        .iter()
        .filter_map(|field| arguments.get(*field)?.as_str());
    READERS.contains(&&*tool)
        || commands
            .next()
            .is_some_and(|command| shell::read(command).effect == shell::Effect::ReadOnly)
}

/// The paths that a call's arguments name: strings that are one, and what the commands among
/// them may write.
fn paths_in(value: &Value, root: &str, names: &mut Vec<TapePath>, left: &mut usize) {
    const LONGEST: usize = 1 << 16;
    match value {
        Value::String(text) if *left > 0 && text.len() <= LONGEST => {
            *left -= 1;
            let mut take = |path: &str| {
                if let Ok(path) = TapePath::resolve(path, root, root)
                    && path.to_text() != root
                {
                    names.push(path);
                }
            };
            take(text);
            if text.contains(char::is_whitespace) {
                for path in shell::read(text).paths {
                    take(&path);
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                paths_in(value, root, names, left);
            }
        }
        Value::Object(fields) => {
            for value in fields.values() {
                paths_in(value, root, names, left);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str, arguments: Value) -> Event {
        let name = "tool".to_owned();
        Event::new(Body::ToolCall { name, arguments }).in_call(id)
    }

    #[test]
    fn paths_in_arguments_part_calls_that_overlap() {
        let mut calls = OpenCalls::default();
        let path = |path: &str| TapePath::new(path).unwrap();
        assert_eq!(calls.whose(&path("a.txt")), Whose::Outside(vec![]));
        calls.begin(&call("one", json!({"file": "/w/a.txt"})), Some("/w"));
        let one = Whose::Call(call("one", Value::Null).head);
        assert_eq!(calls.whose(&path("z.txt")), one, "the only one that runs");
        let command = json!({"command": "sed s/a/b/ x > src/b.txt && rm c.txt", "cwd": "/w"});
        calls.begin(&call("two", command), Some("/w"));
        calls.begin(&call("three", json!(["src", 5])), Some("/w"));
        let [two, three] = ["two", "three"].map(|id| Whose::Call(call(id, Value::Null).head));
        assert_eq!(calls.whose(&path("a.txt")), one);
        assert_eq!(calls.whose(&path("src/b.txt")), two, "named itself");
        assert_eq!(calls.whose(&path("c.txt")), two);
        assert_eq!(
            calls.whose(&path("src/d.txt")),
            three,
            "named by its directory"
        );
        let all = ["one", "two", "three"].map(str::to_owned).to_vec();
        assert_eq!(calls.whose(&path("z.txt")), Whose::Candidates(all));
        calls.end(&call("two", Value::Null));
        assert_eq!(calls.whose(&path("src/b.txt")), three);
    }

    #[test]
    fn calls_of_other_sessions_may_have_done_it_as_well() {
        let path = |path: &str| TapePath::new(path).unwrap();
        let mut theirs = OpenCalls::default();
        theirs.begin(&call("theirs", json!({"file": "b.txt"})), Some("/w/sub"));
        let mut calls = OpenCalls::default();
        calls.set_others(theirs.traces("/w/sub"), "/w");
        let outside = Whose::Outside(vec!["theirs".to_owned()]);
        assert_eq!(calls.whose(&path("a.txt")), outside);
        calls.begin(&call("own", json!({"file": "/w/c.txt"})), Some("/w"));
        assert_eq!(calls.whose(&path("sub/b.txt")), outside, "named by theirs");
        let own = Whose::Call(call("own", Value::Null).head);
        assert_eq!(calls.whose(&path("c.txt")), own, "named by this one");
        let both = Whose::Candidates(vec!["own".to_owned(), "theirs".to_owned()]);
        assert_eq!(calls.whose(&path("a.txt")), both);
    }

    #[test]
    fn calls_that_only_look_are_blamed_only_where_no_other_runs() {
        let mut calls = OpenCalls::default();
        let path = TapePath::new("a.txt").unwrap();
        let mut looks = call("looks", json!({"command": "cat a.txt | head"}));
        calls.begin(&looks, Some("/w"));
        assert_eq!(calls.whose(&path), Whose::Call(looks.head.clone()));
        calls.begin(&call("writes", json!({"command": "make"})), Some("/w"));
        let writes = Whose::Call(call("writes", Value::Null).head);
        assert_eq!(calls.whose(&path), writes);
        calls.end(&looks);
        looks.body = Body::ToolCall {
            name: "Read".to_owned(),
            arguments: json!({"file_path": "/w/a.txt"}),
        };
        calls.begin(&looks, Some("/w"));
        assert_eq!(calls.whose(&path), writes);
    }
}
