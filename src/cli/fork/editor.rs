//! What a step gave, in the user's own editor.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::super::environment::Environment;
use super::super::failure::Failure;
use crate::debugger::{Debugger, Document, Editable, Reading, Spot};

/// Opens the document of an output in the user's editor, and reads it when that has ended. A
/// document in which no section is left changes nothing; one with a mistake is kept.
pub(super) fn edited(
    run: &Debugger,
    at: Spot,
    editable: &Editable,
    around: &Environment,
) -> Result<Document, Failure> {
    if !around.can_ask {
        return Err(Failure::unusable(
            "there is no terminal to edit on; nothing was run: --show prints the document, and \
             --response FILE takes it back",
        ));
    }
    let failed = |error| Failure::machine(format!("the document could not be edited: {error}"));
    let directory = tempfile::Builder::new()
        .prefix("jukebox-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(&around.temporary)
        .map_err(failed)?;
    let noun = editable.output.noun();
    let path = directory
        .path()
        .join(format!("step-{}-{noun}.txt", editable.step));
    let mut file = fs::File::create(&path).map_err(failed)?;
    file.write_all(run.edit_document(at, editable).as_bytes())
        .map_err(failed)?;
    drop(file);
    let mut script = command(around);
    script.push(" \"$@\"");
    let status = Command::new("sh")
        .arg("-c")
        .arg(script)
        .arg("jukebox")
        .arg(&path)
        .status()
        .map_err(failed)?;
    if !status.success() {
        return Err(Failure::no("the editor did not end well; nothing was run"));
    }
    let text = fs::read_to_string(&path).map_err(failed)?;
    let has_sections = text.lines().any(|line| line.starts_with("== "));
    let is_empty = text
        .lines()
        .all(|line| line.trim().is_empty() || line.starts_with('#'));
    if !has_sections && is_empty {
        return Ok(Document {
            output: editable.output.clone(),
            lines: Vec::new(),
        });
    }
    Document::read(&text, &editable.output, Reading::Sections).map_err(|error| {
        // What was typed is worth more than the place it takes.
        let kept = directory.keep().join(path.file_name().unwrap_or_default());
        let kept = kept.display();
        Failure::unusable(format!(
            "{error}; nothing was run: mend {kept}, and give it to --{noun}"
        ))
    })
}

/// The editor of `VISUAL` or `EDITOR`, or `vi`: a command for the shell.
fn command(around: &Environment) -> OsString {
    let named = |wanted: &str| {
        let mut variables = around.variables.iter();
        let found = variables.find(|(name, value)| name == wanted && !value.is_empty());
        found.map(|(_, value)| value.clone())
    };
    let command = named("VISUAL").or_else(|| named("EDITOR"));
    command.unwrap_or_else(|| "vi".into())
}
