//! The agent's settings, with the hooks in them or without. Pure: text in, text out, and
//! nothing that is not ours is lost on the way.

use serde_json::{Map, Value, json};

use crate::text::command_line;

/// The records that are asked for, and whether they are of a tool: those have a matcher.
const EVENTS: [(&str, bool); 10] = [
    ("SessionStart", false),
    ("UserPromptSubmit", false),
    ("PreToolUse", true),
    ("PostToolUse", true),
    ("PostToolUseFailure", true),
    ("PermissionDenied", true),
    ("SubagentStart", false),
    ("SubagentStop", false),
    ("Stop", false),
    ("SessionEnd", false),
];

/// Seconds that the agent waits for a hook. A first look at a large workspace takes its time.
const TIMEOUT: u64 = 60;
/// What the command of a hook ends with.
const VERB: &str = " hook";
const HOOKS: &str = "hooks";
const COMMAND: &str = "command";

/// Settings cannot be edited. They are untouched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// They cannot be read.
    #[error("the settings are no JSON object: {0}")]
    NotSettings(String),
    /// They would be lost in part.
    #[error("the settings hold a key twice, or a number that would be written differently")]
    NotFaithful,
    /// Something else stands where hooks should.
    #[error("`{0}` in the settings is not what it should be")]
    Shape(String),
}

/// What becomes of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// They are as they should be.
    Nothing,
    /// They are to be this.
    Write(Vec<u8>),
    /// The file is to go: it holds nothing, and was not there before.
    Remove,
}

/// What of the hooks stands in the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installed {
    /// The events that have the hook.
    pub events: Vec<&'static str>,
    /// Those that lack it.
    pub missing: Vec<&'static str>,
    /// The command that is called.
    pub command: Option<String>,
}

/// The settings with every hook calling this program. `before` is `None` where there are none.
pub fn install(before: Option<&[u8]>, program: &str) -> Result<Edit, EditError> {
    let mut settings = parse(before.unwrap_or(b"{}"))?;
    let found = settings.clone();
    let command = format!("{}{VERB}", command_line([program]));
    let hooks = settings.entry(HOOKS).or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut().ok_or_else(|| shape(HOOKS))?;
    for (event, is_of_tool) in EVENTS {
        let groups = hooks.entry(event).or_insert_with(|| json!([]));
        let groups = groups.as_array_mut().ok_or_else(|| shape(event))?;
        let mut is_there = false;
        for ours in groups.iter_mut().flat_map(ours_of) {
            ours.insert(COMMAND.to_owned(), command.clone().into());
            is_there = true;
        }
        if is_there {
            continue;
        }
        let hook = json!({"type": COMMAND, COMMAND: command, "timeout": TIMEOUT});
        groups.push(if is_of_tool {
            json!({"matcher": "*", HOOKS: [hook]})
        } else {
            json!({HOOKS: [hook]})
        });
    }
    Ok(match before {
        Some(_) if settings == found => Edit::Nothing,
        before => Edit::Write(text(&settings, before)),
    })
}

/// The settings without the hooks. `backup` is what they were before they were installed; where
/// nothing else has changed since, they are that again, to the byte.
pub fn uninstall(before: &[u8], backup: Option<&[u8]>) -> Result<Edit, EditError> {
    let mut settings = parse(before)?;
    if installed_in(&settings).events.is_empty() {
        return Ok(Edit::Nothing);
    }
    if let Some(Value::Object(hooks)) = settings.get_mut(HOOKS) {
        for (event, _) in EVENTS {
            let Some(Value::Array(groups)) = hooks.get_mut(event) else {
                continue;
            };
            groups.retain_mut(|group| {
                let had = ours_of(group).count();
                if let Some(Value::Array(list)) = group.get_mut(HOOKS) {
                    list.retain(|hook| !is_ours(hook));
                    return had == 0 || !list.is_empty();
                }
                true
            });
            if groups.is_empty() {
                hooks.shift_remove(event);
            }
        }
        if hooks.is_empty() {
            settings.shift_remove(HOOKS);
        }
    }
    let old = backup.and_then(|backup| Some((backup, parse(backup).ok()?)));
    Ok(match old {
        Some((backup, old)) if pruned(&old) == pruned(&settings) => Edit::Write(backup.to_vec()),
        None if settings.is_empty() => Edit::Remove,
        _ => Edit::Write(text(&settings, Some(before))),
    })
}

/// What of the hooks stands in settings.
pub fn installed(settings: &[u8]) -> Result<Installed, EditError> {
    Ok(installed_in(&parse(settings)?))
}

fn installed_in(settings: &Map<String, Value>) -> Installed {
    let mut found = Installed::default();
    for (event, _) in EVENTS {
        let groups = settings.get(HOOKS).and_then(|hooks| hooks.get(event));
        let groups = groups.and_then(Value::as_array).into_iter().flatten();
        let lists = groups.filter_map(|group| group.get(HOOKS)?.as_array());
        match lists.flatten().find(|hook| is_ours(hook)) {
            Some(hook) => {
                found.events.push(event);
                let command = hook.get(COMMAND).and_then(Value::as_str);
                found.command = command.map(str::to_owned);
            }
            None => found.missing.push(event),
        }
    }
    found
}

/// The hooks of a group that are ours.
fn ours_of(group: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    let list = group.get_mut(HOOKS).and_then(Value::as_array_mut);
    let ours = list.into_iter().flatten().filter(|hook| is_ours(hook));
    ours.filter_map(Value::as_object_mut)
}

/// Whether a hook calls this program, wherever it lies.
fn is_ours(hook: &Value) -> bool {
    let command = hook.get(COMMAND).and_then(Value::as_str);
    let program = command.and_then(|command| command.trim().strip_suffix(VERB));
    let program = program.map(|program| program.trim_matches(['\'', '"']));
    program.is_some_and(|program| program.rsplit('/').next() == Some("jukebox"))
}

/// Settings without lists and objects that hold nothing, to be compared.
fn pruned(settings: &Map<String, Value>) -> Map<String, Value> {
    let mut settings = settings.clone();
    if let Some(hooks) = settings.get_mut(HOOKS).and_then(Value::as_object_mut) {
        hooks.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
        if hooks.is_empty() {
            settings.shift_remove(HOOKS);
        }
    }
    settings
}

fn parse(text: &[u8]) -> Result<Map<String, Value>, EditError> {
    let failed = |error: serde_json::Error| EditError::NotSettings(error.to_string());
    let settings: Map<String, Value> = serde_json::from_slice(text).map_err(failed)?;
    let again = serde_json::to_vec(&settings).map_err(failed)?;
    if bare(text) != bare(&again) {
        return Err(EditError::NotFaithful);
    }
    Ok(settings)
}

/// A JSON text without blanks, and without what stands in its strings.
fn bare(text: &[u8]) -> Vec<u8> {
    let mut bare = Vec::new();
    let (mut is_inside, mut is_escaped) = (false, false);
    for byte in text {
        if is_inside {
            is_inside = is_escaped || *byte != b'"';
            is_escaped = !is_escaped && *byte == b'\\';
        } else if !byte.is_ascii_whitespace() {
            bare.push(*byte);
            is_inside = *byte == b'"';
        }
    }
    bare
}

/// The text, indented as it was before.
fn text(settings: &Map<String, Value>, before: Option<&[u8]>) -> Vec<u8> {
    let before = before.unwrap_or(b"{\n  \n");
    let indented = before.split(|byte| *byte == b'\n').nth(1);
    let is_blank = |byte: &&u8| matches!(**byte, b' ' | b'\t');
    let indent: Vec<u8> = indented
        .into_iter()
        .flatten()
        .take_while(is_blank)
        .copied()
        .collect();
    let indent = if indent.is_empty() {
        b"  ".to_vec()
    } else {
        indent
    };
    let mut out = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(&indent);
    let mut writer = serde_json::Serializer::with_formatter(&mut out, format);
    // Strings and maps of strings have a text, and memory takes what is written.
    let _always = serde::Serialize::serialize(settings, &mut writer);
    if before.ends_with(b"\n") {
        out.push(b'\n');
    }
    out
}

fn shape(what: &str) -> EditError {
    EditError::Shape(what.to_owned())
}
