//! What a call asks of a tool: read from its name and its arguments.
//!
//! Agents call the same thing by many names. Here each is boiled down to one of a few
//! [`Asked`]s, so that whoever answers a call need not know who made it. What is not known
//! for sure is [`Asked::Unknown`], with the reason: a tool is never taken for another that
//! is called alike and takes other arguments.

mod find;

use std::time::Duration;

use serde_json::Value;

pub use find::{Find, Sought};

use super::{Hunk, Occurrences, Patch, Tabs};

/// What a call asks for. Paths are as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A file with this content, whatever was there.
    Write {
        /// The path.
        path: String,
        /// All it is to hold.
        text: String,
    },
    /// Texts of a file replaced by others, one after the other, all or none.
    Edit {
        /// The path.
        path: String,
        /// The texts.
        edits: Vec<Exchange>,
    },
    /// Something of the `str_replace_editor` family.
    Editor {
        /// The path.
        path: String,
        /// What.
        act: EditorAct,
        /// What the tool does to tabs.
        tabs: Tabs,
    },
    /// A patch in the language of `apply_patch`.
    Patch(String),
    /// A file, or some of its lines, to be shown.
    Read {
        /// The path.
        path: String,
        /// The first line, from 1.
        first: u64,
        /// How many lines; `None`: as many as the tool shows.
        lines: Option<u64>,
        /// How they are shown.
        form: Shown,
    },
    /// A search for files.
    Find(Find),
    /// A command.
    Run(Command),
    /// Something that cannot be answered from a tree.
    Unknown(Unanswerable),
}

/// One text for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The text that goes.
    pub old: String,
    /// The text that comes.
    pub new: String,
    /// Where.
    pub which: Occurrences,
}

/// What the editor of the `str_replace_editor` family is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditorAct {
    /// Make a file, which must not be there.
    Create(String),
    /// Replace a text that occurs once.
    Replace {
        /// The text that goes.
        old: String,
        /// The text that comes.
        new: String,
    },
    /// Insert a text after a line; 0 is the top.
    Insert {
        /// The line.
        line: usize,
        /// The text.
        text: String,
    },
}

/// How a file is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// As it is.
    Plain,
    /// With a number before each line.
    Numbered,
}

/// A command to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What is run.
    pub program: Program,
    /// Where, as it was written; `None`: where the shell is.
    pub directory: Option<String>,
    /// After how long it is ended.
    pub timeout: Option<Duration>,
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A text for a shell.
    Script(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// Why a call cannot be answered from a tree of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswerable {
    /// It reaches a service.
    #[error("it asks a service, and nothing is sent")]
    Service,
    /// It starts another agent.
    #[error("it starts another agent")]
    Agent,
    /// It asks a person, or tells one something.
    #[error("it is for a person")]
    Person,
    /// It is about a command that runs on.
    #[error("it is about a command that runs in the background")]
    Background,
    /// It lists files in an order that depends on times.
    #[error("the order of its answer is not known from files")]
    Order,
    /// It leaves names out, and directories closed, by lists of its own.
    #[error(
        "it leaves names out and directories closed by lists that differ from version to version, \
         and shows files that a tape leaves out"
    )]
    Listing,
    /// It has options that change its answer in a way that is not written down here.
    #[error("what its options mean is not known here")]
    Options,
    /// The versions of a tool answer it in different ways.
    #[error("the versions of this tool answer it in different ways")]
    Versions,
    /// It changes a file in a way that is not written down here.
    #[error("what it makes of a file is not known from its arguments")]
    Form,
    /// Its arguments lack what this tool needs.
    #[error("its arguments are not those of this tool")]
    Arguments,
    /// Nobody here knows the tool.
    #[error("it is not known what this tool does")]
    Tool,
}

impl Asked {
    /// What a call asks for.
    pub fn of(name: &str, arguments: &Value) -> Self {
        let found = match name {
            "Write" | "write_file" | "write_to_file" | "create_file" => write(arguments),
            "Edit" | "edit_file" | "replace" => edit(arguments),
            "MultiEdit" => multi_edit(arguments),
            "str_replace_editor" | "str_replace_based_edit_tool" | "text_editor" => {
                let expands = name == "str_replace_editor";
                return editor(arguments, if expands { Tabs::Expand } else { Tabs::Keep });
            }
            "apply_patch" => text(arguments, &["input", "patch"])
                .or_else(|| arguments.as_str())
                .map(|patch| Self::Patch(patch.to_owned())),
            "Read" | "read_file" | "cat" | "view" => read(arguments),
            "Glob" => return find(Find::names(arguments)),
            "Grep" => return find(Find::lines(arguments)),
            "Bash" | "bash" | "sh" | "shell" | "exec" | "exec_command" | "local_shell"
            | "execute_bash" | "execute_command" | "run_shell_command" | "run_command"
            | "run_terminal_cmd" | "terminal" => return run(arguments),
            other => return Self::Unknown(unanswerable(other)),
        };
        found.unwrap_or(Self::Unknown(Unanswerable::Arguments))
    }

    /// The files that a tool edits or shows, as they were written; of a command, none.
    pub fn paths(&self) -> Vec<String> {
        match self {
            Self::Write { path, .. }
            | Self::Edit { path, .. }
            | Self::Editor { path, .. }
            | Self::Read { path, .. } => vec![path.clone()],
            Self::Patch(text) => Patch::parse(text).map_or_else(|_| Vec::new(), paths_of),
            Self::Find(_) | Self::Run(_) | Self::Unknown(_) => Vec::new(),
        }
    }
}

fn paths_of(patch: Patch) -> Vec<String> {
    let paths = patch.hunks.into_iter().flat_map(|hunk| match hunk {
        Hunk::Add { path, .. } | Hunk::Delete { path } => vec![path],
        Hunk::Update { path, move_to, .. } => std::iter::once(path).chain(move_to).collect(),
    });
    paths.collect()
}

fn find(found: Option<Find>) -> Asked {
    found.map_or(Asked::Unknown(Unanswerable::Options), Asked::Find)
}

fn unanswerable(name: &str) -> Unanswerable {
    match name {
        "Task" | "Agent" => Unanswerable::Agent,
        "BashOutput" | "KillBash" | "KillShell" | "TaskOutput" | "TaskStop" | "write_stdin"
        | "AgentOutputTool" | "Monitor" => Unanswerable::Background,
        "LS" => Unanswerable::Listing,
        "glob" | "grep" | "list_directory" | "search_file_content" => Unanswerable::Order,
        "NotebookEdit" | "NotebookRead" => Unanswerable::Form,
        "AskUserQuestion" | "ExitPlanMode" | "EnterPlanMode" | "exit_plan_mode" | "TodoWrite"
        | "TodoRead" | "update_plan" | "think" | "finish" => Unanswerable::Person,
        "WebFetch" | "WebSearch" | "web_fetch" | "google_web_search" | "web_search" => {
            Unanswerable::Service
        }
        name if name.starts_with("mcp__") => Unanswerable::Service,
        _ => Unanswerable::Tool,
    }
}

/// The first of these that is a text.
fn text<'a>(arguments: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| arguments.get(name)?.as_str())
}

fn number(arguments: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| arguments.get(name)?.as_u64())
}

fn path(arguments: &Value) -> Option<String> {
    let names = [
        "file_path",
        "path",
        "absolute_path",
        "filename",
        "target_file",
    ];
    text(arguments, &names).map(str::to_owned)
}

fn write(arguments: &Value) -> Option<Asked> {
    Some(Asked::Write {
        path: path(arguments)?,
        text: text(arguments, &["content", "text", "file_text"])?.to_owned(),
    })
}

fn exchange(arguments: &Value) -> Option<Exchange> {
    let is_all = arguments.get("replace_all").and_then(Value::as_bool);
    Some(Exchange {
        old: text(arguments, &["old_string", "old_str"])?.to_owned(),
        new: text(arguments, &["new_string", "new_str"])?.to_owned(),
        which: if is_all.unwrap_or_default() {
            Occurrences::All
        } else {
            Occurrences::Only
        },
    })
}

fn edit(arguments: &Value) -> Option<Asked> {
    // Whoever expects several replacements replaces all there are.
    let several = number(arguments, &["expected_replacements"]).is_some_and(|count| count > 1);
    let mut exchange = exchange(arguments)?;
    if several {
        exchange.which = Occurrences::All;
    }
    Some(Asked::Edit {
        path: path(arguments)?,
        edits: vec![exchange],
    })
}

fn multi_edit(arguments: &Value) -> Option<Asked> {
    let edits = arguments.get("edits")?.as_array()?;
    Some(Asked::Edit {
        path: path(arguments)?,
        edits: edits.iter().map(exchange).collect::<Option<_>>()?,
    })
}

fn read(arguments: &Value) -> Option<Asked> {
    let is_numbered = arguments.get("file_path").is_some();
    Some(Asked::Read {
        path: path(arguments)?,
        first: number(arguments, &["offset", "start_line"])
            .unwrap_or(1)
            .max(1),
        lines: number(arguments, &["limit"]),
        form: if is_numbered {
            Shown::Numbered
        } else {
            Shown::Plain
        },
    })
}

fn editor(arguments: &Value, tabs: Tabs) -> Asked {
    let act = || {
        Some(match text(arguments, &["command"])? {
            "create" => EditorAct::Create(text(arguments, &["file_text"])?.to_owned()),
            "str_replace" => EditorAct::Replace {
                old: text(arguments, &["old_str"])?.to_owned(),
                new: text(arguments, &["new_str"]).unwrap_or_default().to_owned(),
            },
            "insert" => EditorAct::Insert {
                line: usize::try_from(number(arguments, &["insert_line"])?).ok()?,
                text: text(arguments, &["new_str", "insert_text"])?.to_owned(),
            },
            _ => return None,
        })
    };
    match (text(arguments, &["command"]), path(arguments), act()) {
        (Some("view" | "undo_edit"), _, _) => Asked::Unknown(Unanswerable::Form),
        (_, Some(path), Some(act)) => Asked::Editor { path, act, tabs },
        _ => Asked::Unknown(Unanswerable::Arguments),
    }
}

fn run(arguments: &Value) -> Asked {
    let is_background = ["run_in_background", "background", "is_background"]
        .iter()
        .any(|name| arguments.get(name).and_then(Value::as_bool) == Some(true));
    if is_background {
        return Asked::Unknown(Unanswerable::Background);
    }
    let given = ["command", "cmd"]
        .iter()
        .find_map(|name| arguments.get(name));
    let program = match given {
        Some(Value::String(script)) => Program::Script(script.clone()),
        Some(Value::Array(words)) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            match words.collect::<Option<Vec<_>>>() {
                Some(words) if !words.is_empty() => Program::Words(words),
                _ => return Asked::Unknown(Unanswerable::Arguments),
            }
        }
        _ => return Asked::Unknown(Unanswerable::Arguments),
    };
    if let Some(patch) = patch_of(&program) {
        return Asked::Patch(patch);
    }
    let directory = text(
        arguments,
        &["workdir", "cwd", "directory", "working_directory"],
    );
    Asked::Run(Command {
        program,
        directory: directory.filter(|it| !it.is_empty()).map(str::to_owned),
        timeout: number(arguments, &["timeout", "timeout_ms"]).map(Duration::from_millis),
    })
}

/// A patch that is given to `apply_patch` as if that was a program.
fn patch_of(program: &Program) -> Option<String> {
    let words = match program {
        Program::Words(words) => words,
        Program::Script(script) => return heredoc(script),
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["apply_patch", patch] => Some((*patch).to_owned()),
        [_, "-c" | "-lc", script] => heredoc(script),
        _ => None,
    }
}

/// `apply_patch <<'EOF'`, and nothing else.
fn heredoc(script: &str) -> Option<String> {
    let rest = script.trim().strip_prefix("apply_patch")?.trim_start();
    let (sign, body) = rest.strip_prefix("<<")?.split_once('\n')?;
    let word = sign.trim().trim_matches(['\'', '"']);
    let patch = body.strip_suffix(word)?;
    (!word.is_empty() && patch.ends_with('\n')).then(|| patch.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_is_asked_by_many_names() {
        let write = Asked::Write {
            path: "a".to_owned(),
            text: "x".to_owned(),
        };
        let check = |name, arguments, expected: &Asked| {
            assert_eq!(&Asked::of(name, &arguments), expected, "{name}");
        };
        check("Write", json!({"file_path": "a", "content": "x"}), &write);
        check("write_file", json!({"path": "a", "content": "x"}), &write);
        let run = |program| {
            Asked::Run(Command {
                program,
                directory: None,
                timeout: None,
            })
        };
        let script = run(Program::Script("ls".to_owned()));
        check(
            "Bash",
            json!({"command": "ls", "description": "d"}),
            &script,
        );
        check("exec_command", json!({"cmd": "ls"}), &script);
        let words = run(Program::Words(vec!["ls".to_owned()]));
        check(
            "exec",
            json!({"command": ["ls"], "timeout_ms": null}),
            &words,
        );
    }

    #[test]
    fn a_patch_is_one_however_it_is_handed_over() {
        let patch = "*** Begin Patch\n*** End Patch\n";
        let heredoc = format!("apply_patch <<'EOF'\n{patch}EOF");
        for (name, arguments) in [
            ("apply_patch", json!({ "input": patch })),
            ("apply_patch", json!(patch)),
            ("shell", json!({"command": ["apply_patch", patch]})),
            ("shell", json!({"command": ["bash", "-lc", heredoc]})),
            ("Bash", json!({ "command": heredoc })),
        ] {
            let asked = Asked::of(name, &arguments);
            assert_eq!(asked, Asked::Patch(patch.to_owned()), "{arguments}");
        }
        let more = json!({"command": format!("{heredoc}\nmake")});
        assert!(matches!(Asked::of("Bash", &more), Asked::Run(_)));
    }

    #[test]
    fn what_cannot_be_answered_says_why() {
        let check = |name, arguments, expected| {
            assert_eq!(
                Asked::of(name, &arguments),
                Asked::Unknown(expected),
                "{name}"
            );
        };
        check("WebFetch", json!({}), Unanswerable::Service);
        check("mcp__files__read", json!({}), Unanswerable::Service);
        check("Task", json!({}), Unanswerable::Agent);
        check("Frobnicate", json!({}), Unanswerable::Tool);
        check("LS", json!({"path": "/p"}), Unanswerable::Listing);
        check("Write", json!({"file_path": "a"}), Unanswerable::Arguments);
        check("Bash", json!({"command": []}), Unanswerable::Arguments);
        check(
            "exec",
            json!({"command": ["a", 1]}),
            Unanswerable::Arguments,
        );
        let background = json!({"command": "serve", "run_in_background": true});
        check("Bash", background, Unanswerable::Background);
        check(
            "str_replace_editor",
            json!({"command": "view", "path": "a"}),
            Unanswerable::Form,
        );
    }
}
