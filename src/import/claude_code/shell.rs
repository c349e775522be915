//! What a shell call did to files: applied where its text is plain, suspected otherwise.

use serde_json::Value;

use crate::model::{Content, FileChange, FileOp, Outcome, Scope, TapePath};
use crate::tools::Known;
use crate::tools::shell::{Destination, Effect, Operation, read};

use super::effects::{Effects, text};
use super::record::Returned;
use super::view::{Change, View};

/// Works out what a shell call did.
pub(super) fn run(
    arguments: &Value,
    outcome: Outcome,
    returned: &Returned<'_>,
    view: &mut View<'_>,
    effects: &mut Effects,
) {
    let reading = read(text(arguments, "command").unwrap_or_default());
    let is_done = outcome == Outcome::Ok && returned.background_task_id.get().is_none();
    let why = match &reading.effect {
        Effect::ReadOnly => return,
        Effect::Operations(operations) if is_done => match apply(operations, view) {
            Some(changes) => {
                effects.during.extend(changes);
                return;
            }
            None => "a shell command may have written files",
        },
        Effect::Operations(_) => "a shell command that did not succeed may have written files",
        Effect::Unclear => "a shell command may have written files",
    };
    let mut paths: Vec<TapePath> = reading
        .paths
        .iter()
        .filter_map(|path| view.shell_path(path))
        .collect();
    paths.extend(
        changed_files(returned)
            .iter()
            .filter_map(|path| view.shell_path(path)),
    );
    suspect(paths, why, effects);
}

/// Works out what a command may have done that the user typed.
pub(super) fn typed(command: &str, view: &View<'_>, effects: &mut Effects) {
    let reading = read(command);
    if reading.effect != Effect::ReadOnly {
        let paths = reading
            .paths
            .iter()
            .filter_map(|path| view.shell_path(path));
        suspect(paths.collect(), "the user ran a shell command", effects);
    }
}

/// Everything may have been written, and these paths before all.
fn suspect(paths: Vec<TapePath>, why: &str, effects: &mut Effects) {
    effects.suspects.push((Scope::All, why.to_owned()));
    for path in paths {
        let scope = Scope::Path(path);
        if !effects.suspects.iter().any(|(other, _)| *other == scope) {
            effects.suspects.push((scope, why.to_owned()));
        }
    }
}

/// The files that newer versions say a command changed.
fn changed_files(returned: &Returned<'_>) -> Vec<String> {
    let diff = returned.bash_edit_diff.value();
    let listed = diff.get("changedFiles").and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(Value::as_str);
    listed.map(str::to_owned).collect()
}

/// The changes that plain operations come to; `None` when one of them is not plain after
/// all, because what its path is decides what it does.
fn apply(operations: &[Operation], view: &mut View<'_>) -> Option<Vec<Change>> {
    let mut changes = Vec::new();
    for operation in operations {
        match operation {
            Operation::Write { path, text } => {
                let known = Known::Full(text.as_bytes().into());
                changes.push(view.write(view.shell_path(path)?, known));
            }
            Operation::Append { path, text } => {
                let path = view.shell_path(path)?;
                let known = match view.known(&path) {
                    Known::Full(before) => Known::Full([&before, text.as_bytes()].concat().into()),
                    Known::Absent => Known::Full(text.as_bytes().into()),
                    Known::Sparse(_) | Known::Unknown => Known::Unknown,
                };
                changes.push(view.write(path, known));
            }
            Operation::Touch { path } => {
                let path = view.shell_path(path)?;
                if view.known(&path) == Known::Absent {
                    changes.push(view.write(path, Known::Full([].into())));
                }
            }
            Operation::MakeDirectory { path } => {
                // Wherever it is, a new directory changes no file.
                if let Some(path) = view.shell_path(path) {
                    changes.push(view.make_directory(path));
                }
            }
            Operation::Remove { path } => changes.push(remove(view.shell_path(path)?, view)),
            Operation::Copy { from, to } => {
                let from = view.shell_path(from)?;
                let to = destination(&from, to, view)?;
                let known = match view.known(&from) {
                    Known::Full(bytes) => Known::Full(bytes),
                    _ if view.is_directory(&from) => return None,
                    _ => Known::Unknown,
                };
                changes.push(view.write(to, known));
            }
            Operation::Rename { from, to } => {
                let from = view.shell_path(from)?;
                let to = destination(&from, to, view)?;
                changes.push(rename(from, to, view)?);
            }
        }
    }
    Some(changes)
}

/// A path is gone, and all that is known below it.
fn remove(path: TapePath, view: &mut View<'_>) -> Change {
    let below = view.below(&path);
    let change = FileChange {
        was: view.hash(&path),
        ..FileChange::new(FileOp::Remove, path.clone())
    };
    let mut removed = view.change(change, path, Known::Absent);
    for path in below {
        let change = FileChange::new(FileOp::Remove, path.clone());
        removed
            .known
            .extend(view.change(change, path, Known::Absent).known);
    }
    removed
}

/// A path has another name, and all that is known below it.
fn rename(from: TapePath, to: TapePath, view: &mut View<'_>) -> Option<Change> {
    let below = view.below(&from);
    let known = view.known(&from);
    let change = FileChange {
        content: match &known {
            Known::Full(bytes) => Content::Bytes(bytes.clone()),
            _ => Content::None,
        },
        ..FileChange::new(FileOp::Rename { from: from.clone() }, to.clone())
    };
    let moved = |path: &TapePath| {
        let rest = path.as_bytes().strip_prefix(from.as_bytes())?;
        TapePath::new([to.as_bytes(), rest].concat()).ok()
    };
    let mut renamed = view.change(change.clone(), to.clone(), known);
    for path in below {
        let (target, known) = (moved(&path)?, view.known(&path));
        renamed
            .known
            .extend(view.change(change.clone(), target, known).known);
        renamed
            .known
            .extend(view.change(change.clone(), path, Known::Absent).known);
    }
    renamed
        .known
        .extend(view.change(change.clone(), from, Known::Absent).known);
    Some(renamed)
}

/// Where a file goes; `None` when that depends on what is not known.
fn destination(from: &TapePath, to: &Destination, view: &View<'_>) -> Option<TapePath> {
    let to = match to {
        Destination::At(to) => return view.shell_path(to),
        Destination::AtOrBelow(to) => view.shell_path(to)?,
    };
    if view.is_directory(&to) {
        return to.join(from.name()).ok();
    }
    let is_file = matches!(view.known(&to), Known::Full(_) | Known::Sparse(_));
    let has_extension = to.name().iter().skip(1).any(|byte| *byte == b'.');
    (is_file || has_extension || view.is_directory(from)).then_some(to)
}
