//! What a shell command would do to files, read from its text. Nothing is ever run.
//!
//! A command is *understood* when all it consists of is plain: `cat > f <<'EOF'`, `rm`,
//! `mv`, `cp`, `mkdir -p`, `touch`, with literal paths, and commands that only read. One
//! variable, pattern or substitution in the wrong place, one unknown program, and the whole
//! is [`Effect::Unclear`]: any file may have been written. The paths it names are listed
//! all the same, as those to look at first.
//!
//! The reading holds for a command that *succeeded*: an operation counts as done only if
//! the exit code 0 of the whole says so, or if it cannot fail in a way that matters.

mod directory;
mod lex;
mod names;
mod operations;
mod read_only;
mod script;

pub use operations::{Destination, Operation};

/// Reads a command.
pub fn read(command: &str) -> Reading {
    let script = lex::script(command);
    let reads = script.commands.iter().all(read_only::is_read_only);
    let effect = if !script.is_plain || script.commands.is_empty() {
        Effect::Unclear
    } else if reads {
        Effect::ReadOnly
    } else {
        operations::of(&script).map_or(Effect::Unclear, Effect::Operations)
    };
    let paths = match effect {
        Effect::ReadOnly => Vec::new(),
        Effect::Operations(_) | Effect::Unclear => names::of(&script),
    };
    Reading {
        effect,
        paths,
        shell: directory::after(&script),
    }
}

/// What a command does, as far as its text tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it does to files.
    pub effect: Effect,
    /// The literal paths that it names and may write, as seen from where it was started.
    pub paths: Vec<String>,
    /// Where the shell is left, for the command that comes after.
    pub shell: Directory,
}

/// Where a command leaves the shell that ran it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directory {
    /// Where it was.
    Same,
    /// At this path, as seen from where it was.
    At(String),
    /// Somewhere else; the text does not tell where.
    Elsewhere,
}

/// What a command does to files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing, for sure.
    ReadOnly,
    /// These operations and no others, if it succeeded.
    Operations(Vec<Operation>),
    /// It may write any file.
    Unclear,
}

/// A path as seen from where the command was started: what follows a literal `cd`.
fn seen_from(directory: &str, path: &str) -> String {
    if directory.is_empty() || path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", directory.trim_end_matches('/'))
    }
}
