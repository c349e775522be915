//! `jukebox hook install` and `uninstall`: the agent's settings, edited with a backup.

use std::fs::{self, File};
use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::program;
use crate::cli::environment::Environment;
use crate::cli::failure::{Answer, Failure};
use crate::cli::output::{Output, Style};
use crate::debugger::{Edit, EditError, install, uninstall};
use crate::text::SafeText;
use crate::text::diff::{FileDiff, GitMode, Named, unified};

/// So long the difference that is shown may take.
const BUDGET: Duration = Duration::from_millis(200);

/// Which settings.
#[derive(Debug, clap::Args)]
pub(super) struct FileArgs {
    /// The settings; without it, settings.json in ~/.claude
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

/// What may be typed at both.
#[derive(Debug, clap::Args)]
struct EditArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Say what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Have Claude Code call the hook: a change to its settings, shown before it is written
#[derive(Debug, clap::Args)]
#[command(after_help = INSTALL)]
pub(super) struct InstallArgs {
    #[command(flatten)]
    edit: EditArgs,
}

/// Take the hook out of the settings of Claude Code
#[derive(Debug, clap::Args)]
#[command(after_help = UNINSTALL)]
pub(super) struct UninstallArgs {
    #[command(flatten)]
    edit: EditArgs,
}

const INSTALL: &str = "\
Everything else in the settings stays as it is; settings that cannot be read are not touched.
What they were is kept beside them, as FILE.before-jukebox. Sessions that begin from then on are
recorded. Installed twice, it is there once, and calls this program.

JSON, one object: settings (the file), changed (it differs), written, backup.";

const UNINSTALL: &str = "\
Only hooks that call jukebox are taken out. Where nothing else was changed since, the settings
are what they were before, to the byte. Tapes stay.

JSON, one object: settings (the file), changed (it differs), written, backup.";

impl FileArgs {
    /// The file, by its own name: a link to it stays one.
    pub(super) fn path(&self, around: &Environment) -> Result<PathBuf, Failure> {
        let claude = || Some(around.places.claude.as_ref()?.join("settings.json"));
        let named = self.settings.clone().or_else(claude).ok_or_else(|| {
            Failure::unusable("there is no home directory: --settings FILE names the settings")
        })?;
        Ok(named.canonicalize().unwrap_or(named))
    }
}

impl InstallArgs {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let program = program(around)?;
        let program = program.to_string_lossy();
        self.edit
            .run(around, out, |before, _| install(before, &program))
    }
}

impl UninstallArgs {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        self.edit.run(around, out, |before, backup| match before {
            Some(before) => uninstall(before, backup),
            None => Ok(Edit::Nothing),
        })
    }
}

impl EditArgs {
    fn run(
        &self,
        around: &Environment,
        out: &mut Output,
        edit: impl Fn(Option<&[u8]>, Option<&[u8]>) -> Result<Edit, EditError>,
    ) -> Result<Answer, Failure> {
        if !self.yes && !self.dry_run && (self.json || !around.can_ask) {
            return Err(Failure::unusable(
                "there is nobody to ask; nothing was written: --dry-run shows it, --yes does it",
            ));
        }
        let path = self.file.path(around)?;
        let backup = backup_of(&path);
        let before = read(&path)?;
        let kept = read(&backup)?;
        let edit =
            edit(before.as_deref(), kept.as_deref()).map_err(|error| unusable(&path, &error))?;
        let after = match &edit {
            Edit::Nothing => {
                self.tell(&path, false, false, out)?;
                return Ok(Answer::Yes);
            }
            Edit::Write(after) => Some(after.as_slice()),
            Edit::Remove => None,
        };
        if !self.json {
            show(&path, before.as_deref(), after, out)?;
        }
        if self.dry_run || !(self.yes || is_wanted(&path, out)?) {
            self.tell(&path, true, false, out)?;
            return Ok(Answer::Yes);
        }
        // Somebody else may have written them while a person looked at the difference.
        if read(&path)? != before {
            let path = path.display();
            return Err(Failure::conflict(format!(
                "{path} was changed meanwhile; nothing was written: try again"
            )));
        }
        let written = keep(&backup, before.as_deref(), kept.as_deref(), after)
            .and_then(|()| write(&path, after));
        written.map_err(|error| {
            let path = path.display();
            Failure::machine(format!(
                "{path} could not be written: {error}; it is as before"
            ))
        })?;
        self.tell(&path, true, true, out)?;
        Ok(Answer::Yes)
    }

    fn tell(
        &self,
        path: &Path,
        changed: bool,
        written: bool,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let backup = backup_of(path);
        let backup = Some(backup).filter(|backup| backup.is_file());
        if self.json {
            return Ok(out.json(&json!({
                "settings": path.to_string_lossy(),
                "changed": changed,
                "written": written,
                "backup": backup.map(|backup| backup.to_string_lossy().into_owned()),
            }))?);
        }
        let path = path.display();
        let line = match (changed, written) {
            (false, _) => format!("{path} is as it should be; nothing was written"),
            (true, false) => "nothing was written".to_owned(),
            (true, true) => format!("{path} is written; sessions that begin now know of it"),
        };
        Ok(out.line(Style::Strong, &SafeText::line(&line))?)
    }
}

/// What the settings were before they were first edited.
fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".before-jukebox");
    name.into()
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    Failure::unusable(format!("{path} cannot be read: {error}; it is untouched"))
}

pub(super) fn unusable(path: &Path, error: &EditError) -> Failure {
    let path = path.display();
    Failure::unusable(format!(
        "{path}: {error}; it is untouched: mend it, or name another"
    ))
}

/// Shows what would be written.
fn show(
    path: &Path,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
    out: &mut Output,
) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let named = Named {
        path: name,
        mode: GitMode::File,
    };
    let diff = FileDiff::between(before, after, BUDGET);
    Ok(out.bytes(&unified(named, named, &diff))?)
}

fn is_wanted(path: &Path, out: &mut Output) -> Result<bool, Failure> {
    let question = format!("Write {}? [y/N]", path.display());
    out.line(Style::Strong, &SafeText::line(&question))?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Keeps what the settings were before the hooks first stood in them; when they are that
/// again, it is not needed any more.
fn keep(
    backup: &Path,
    before: Option<&[u8]>,
    kept: Option<&[u8]>,
    after: Option<&[u8]>,
) -> io::Result<()> {
    let had_hooks = |bytes: &[u8]| {
        crate::debugger::installed(bytes).is_ok_and(|found| !found.events.is_empty())
    };
    let will = after.is_some_and(had_hooks);
    match before {
        Some(before) if will && !had_hooks(before) => write(backup, Some(before)),
        None if will && kept.is_some() => write(backup, None),
        _ => Ok(()),
    }
}

/// Writes a file whole or not at all, with the mode that it had.
fn write(path: &Path, bytes: Option<&[u8]>) -> io::Result<()> {
    let Some(bytes) = bytes else {
        return fs::remove_file(path);
    };
    let above = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(above)?;
    let mut file = tempfile::NamedTempFile::new_in(above)?;
    file.write_all(bytes)?;
    if let Ok(found) = fs::metadata(path) {
        file.as_file().set_permissions(found.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(above)?.sync_all()
}
