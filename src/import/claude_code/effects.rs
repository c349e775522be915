//! What a call did to files, from its arguments and what came back.
//!
//! Edit tools are exact; a shell command is believed where its text is plain, and otherwise
//! makes everything uncertain; nothing is ever run. What a result shows of the file *before*
//! the call comes first.

use serde_json::Value;

use crate::model::{Outcome, Scope, TapePath};
use crate::tools::{Anchor, DisplayHunk, Evidence, Known, Occurrences, Replacement};

use super::record::{EditItem, FilePart, PatchHunk, Raw, Returned};
use super::seen::Seen;
use super::shell;
use super::view::{Change, Sight, View};
use crate::import::EditCounts;

/// What a call did to files.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// What its result shows of the time before it.
    pub(super) before: Vec<Change>,
    /// What it did, or showed.
    pub(super) during: Vec<Change>,
    /// What it may have done, and why that is thought.
    pub(super) suspects: Vec<(Scope, String)>,
    /// The files that it showed whole.
    pub(super) whole: Vec<TapePath>,
    pub(super) edits: EditCounts,
    /// What was assumed.
    pub(super) guessed: Vec<&'static str>,
}

/// A call, as far as it matters for files.
pub(super) struct Asked<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: &'a Value,
    /// The files of which its agent has had the whole content.
    pub(super) had_whole: &'a dyn Fn(&TapePath) -> bool,
}

/// Where a file's first content may be found, when the transcript does not have it.
pub(super) type Base<'a> = &'a dyn Fn(&TapePath) -> Option<(Vec<u8>, &'static str)>;

/// Tools that write no file of the workspace themselves.
const HARMLESS: &[&str] = &[
    "Glob",
    "Grep",
    "LS",
    "WebFetch",
    "WebSearch",
    "TodoRead",
    "TodoWrite",
    "TaskCreate",
    "TaskUpdate",
    "TaskList",
    "TaskGet",
    "TaskStop",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "exit_plan_mode",
    "Skill",
    "SlashCommand",
    "ToolSearch",
    "NotebookRead",
    "LSP",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
    "SendMessage",
    "Task",
    "Agent",
    "Monitor",
];

/// Tools that tell of a command in the background, which may be writing all the while.
const WATCH: &[&str] = &[
    "BashOutput",
    "KillBash",
    "KillShell",
    "TaskOutput",
    "AgentOutputTool",
];

impl Effects {
    /// Works out what a call did.
    pub(super) fn of(
        asked: &Asked<'_>,
        outcome: Outcome,
        returned: &Returned<'_>,
        output: &str,
        view: &mut View<'_>,
        base: Base<'_>,
    ) -> Self {
        let mut effects = Self::default();
        match (asked.name, outcome) {
            (_, Outcome::Refused) => {}
            ("Bash", _) => shell::run(asked.arguments, outcome, returned, view, &mut effects),
            ("Edit" | "MultiEdit", Outcome::Ok) => effects.edit(asked, returned, view, base),
            ("Write", Outcome::Ok) => effects.write(asked, returned, view),
            ("NotebookEdit", Outcome::Ok) => effects.notebook(asked, returned, view),
            ("Read", Outcome::Ok) => effects.read(asked, returned, output, view),
            (
                "Edit" | "MultiEdit" | "Write" | "NotebookEdit",
                Outcome::Interrupted | Outcome::Pending,
            ) => {
                let path =
                    text(asked.arguments, "file_path").or(text(asked.arguments, "notebook_path"));
                let path = path.and_then(|path| view.path(path));
                effects.suspect(path, "the call did not come to its end");
            }
            ("Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "Read", _) => {}
            (name, _) if HARMLESS.contains(&name) => {}
            (name, _) if WATCH.contains(&name) => {
                effects.suspect(None, "a command in the background may have written files");
            }
            (_, _) => {
                let why = format!("{} may write files", asked.name);
                effects.suspects.push((Scope::All, why));
            }
        }
        effects
    }

    /// A suspect path; everything, where the path is not known.
    fn suspect(&mut self, path: Option<TapePath>, why: &str) {
        let scope = path.map_or(Scope::All, Scope::Path);
        self.suspects.push((scope, why.to_owned()));
    }

    fn edit(
        &mut self,
        asked: &Asked<'_>,
        returned: &Returned<'_>,
        view: &mut View<'_>,
        base: Base<'_>,
    ) {
        self.edits.all = 1;
        let named = returned
            .file_path
            .get()
            .or(text(asked.arguments, "file_path"));
        let Some(path) = named.and_then(|path| view.path(path)) else {
            self.suspect(None, "an edit names no file");
            self.edits.unknown = 1;
            return;
        };
        let items = edits(asked.arguments, returned);
        let replacements: Vec<Replacement<'_>> = items.iter().map(OwnedEdit::borrow).collect();
        let pre_image = returned.original_file.get();
        let pre_image = pre_image.or(returned.original_file_contents.get());
        match pre_image {
            Some(seen) => self.pre_image(&path, seen, asked, view),
            None => self.fill_in(&path, &replacements, view, base),
        }
        let anchor = match replacements.as_slice() {
            [only] => Anchor::find(&hunks(returned.structured_patch), only),
            _ => None,
        };
        let mut known = view.known(&path);
        let mut done = known.replace(&replacements, anchor);
        if let (Err(_), Known::Full(_) | Known::Absent, None) = (&done, &known, pre_image) {
            // The edit succeeded, so the file was not what it was thought to be.
            self.before.push(view.sees_contradiction(&path));
            known = view.known(&path);
            done = known.replace(&replacements, anchor);
        }
        match done {
            Ok(remark) => {
                self.edits.partial = u64::from(known.whole().is_none());
                self.guessed.extend(remark);
                let mut change = view.write(path, known);
                change.change.remark = remark.map(str::to_owned);
                self.during.push(change);
            }
            Err(error) => {
                self.edits.unknown = 1;
                let mut change = view.write(path, Known::Unknown);
                change.change.remark = Some(format!("the edit could not be rebuilt: {error}"));
                self.during.push(change);
            }
        }
    }

    /// The whole file as it was before an edit.
    fn pre_image(&mut self, path: &TapePath, seen: &str, asked: &Asked<'_>, view: &mut View<'_>) {
        let was_known = (asked.had_whole)(path);
        let sight = view.sees_whole(path, seen);
        self.edits.with_preimage = 1;
        self.edits.base_known = u64::from(was_known);
        self.edits.matched = u64::from(was_known && sight == Sight::Agrees);
        self.before
            .extend(sight.remarked("as recorded before the edit"));
    }

    /// Looks elsewhere for the content of a file that is not known whole. It must agree with
    /// what is known, and the edit must fit it.
    fn fill_in(
        &mut self,
        path: &TapePath,
        edits: &[Replacement<'_>],
        view: &mut View<'_>,
        base: Base<'_>,
    ) {
        let mut known = view.known(path);
        if known.whole().is_some() {
            return;
        }
        let Some((bytes, remark)) = base(path) else {
            return;
        };
        let agrees = known.observe_whole(&bytes.into()) == Evidence::New;
        if agrees && known.clone().replace(edits, None).is_ok() {
            self.before.push(view.observe(path, known, Some(remark)));
            self.guessed.push(remark);
        }
    }

    fn write(&mut self, asked: &Asked<'_>, returned: &Returned<'_>, view: &mut View<'_>) {
        let named = returned
            .file_path
            .get()
            .or(text(asked.arguments, "file_path"));
        let content = returned.content.get().or(text(asked.arguments, "content"));
        let (Some(path), Some(content)) = (named.and_then(|path| view.path(path)), content) else {
            self.suspect(None, "a write names no file or no content");
            return;
        };
        let sight = match returned.original_file.get() {
            Some(seen) => Some(view.sees_whole(&path, seen)),
            None if returned.kind.is("create") => Some(view.sees_absent(&path)),
            None => None,
        };
        let before = sight.and_then(|sight| sight.remarked("as recorded before the write"));
        self.before.extend(before);
        let known = Known::Full(content.as_bytes().into());
        self.during.push(view.write(path, known));
    }

    fn notebook(&mut self, asked: &Asked<'_>, returned: &Returned<'_>, view: &mut View<'_>) {
        let named = returned
            .notebook_path
            .get()
            .or(text(asked.arguments, "notebook_path"));
        let Some(path) = named.and_then(|path| view.path(path)) else {
            self.suspect(None, "an edit names no notebook");
            return;
        };
        if let Some(seen) = returned.notebook_before.get() {
            let sight = view.sees_whole(&path, seen);
            self.before
                .extend(sight.remarked("as recorded before the edit"));
        }
        let known = match returned.notebook_after.get() {
            Some(after) => Known::Full(after.as_bytes().into()),
            None => Known::Unknown,
        };
        self.during.push(view.write(path, known));
    }

    /// A read changes nothing; it shows a file, or some lines of it.
    fn read(
        &mut self,
        asked: &Asked<'_>,
        returned: &Returned<'_>,
        output: &str,
        view: &mut View<'_>,
    ) {
        let part: FilePart<'_> = returned.file.read();
        let named = part.file_path.get().or(text(asked.arguments, "file_path"));
        let Some(path) = named.and_then(|path| view.path(path)) else {
            return;
        };
        let is_text = returned.kind.is("text") || returned.kind.get().is_none();
        let seen = Seen::of(&part).or_else(|| Seen::numbered(output));
        if let Some(seen) = seen.filter(|_| is_text) {
            self.sees(&path, &seen, view);
        }
    }

    /// Something showed a file: evidence, or the proof of an outside change.
    pub(super) fn sees(&mut self, path: &TapePath, seen: &Seen<'_>, view: &mut View<'_>) {
        if matches!(seen, Seen::Whole(_)) {
            self.whole.push(path.clone());
        }
        let sight = match seen {
            Seen::Whole(text) => view.sees_whole(path, text),
            Seen::Lines(lines) => view.sees_lines(path, lines),
        };
        match sight {
            Sight::Differs(change) => self.before.push(change),
            Sight::New(change) => self.during.push(change),
            Sight::Agrees if matches!(seen, Seen::Whole(_)) && view.is_uncertain(path) => {
                let known = view.known(path);
                self.during.push(view.observe(path, known, None));
            }
            Sight::Agrees => {}
        }
    }
}

/// One text for another, with texts of its own.
struct OwnedEdit {
    old: String,
    new: String,
    which: Occurrences,
}

impl OwnedEdit {
    fn borrow(&self) -> Replacement<'_> {
        Replacement {
            old: &self.old,
            new: &self.new,
            which: self.which,
        }
    }
}

/// The edits that were made: as returned, since the user may have changed them, or else as
/// asked for.
fn edits(arguments: &Value, returned: &Returned<'_>) -> Vec<OwnedEdit> {
    let which = |all: bool| {
        if all {
            Occurrences::All
        } else {
            Occurrences::Only
        }
    };
    if let Some(items) = returned.edits.items() {
        let items = items.iter().map(Raw::read::<EditItem<'_>>);
        return items
            .map(|item| OwnedEdit {
                old: item.old_string.or_empty().to_owned(),
                new: item.new_string.or_empty().to_owned(),
                which: which(item.replace_all.0),
            })
            .collect();
    }
    let is_all = |arguments: &Value| {
        arguments
            .get("replace_all")
            .and_then(Value::as_bool)
            .unwrap_or_default()
    };
    if let (Some(old), Some(new)) = (returned.old_string.get(), returned.new_string.get()) {
        return vec![OwnedEdit {
            old: old.to_owned(),
            new: new.to_owned(),
            which: which(returned.replace_all.0 || is_all(arguments)),
        }];
    }
    let asked = match arguments.get("edits").and_then(Value::as_array) {
        Some(several) => several.iter().collect(),
        None => vec![arguments],
    };
    asked
        .into_iter()
        .map(|edit| OwnedEdit {
            old: text(edit, "old_string").unwrap_or_default().to_owned(),
            new: text(edit, "new_string").unwrap_or_default().to_owned(),
            which: which(is_all(edit)),
        })
        .collect()
}

fn hunks(patch: Raw<'_>) -> Vec<DisplayHunk> {
    let items = patch.items().unwrap_or_default();
    let items = items.iter().map(Raw::read::<PatchHunk<'_>>);
    items
        .map(|hunk| DisplayHunk {
            old_start: hunk.old_start.0.unwrap_or_default(),
            lines: hunk
                .lines
                .iter()
                .map(|line| line.or_empty().to_owned())
                .collect(),
        })
        .collect()
}

/// A string among a call's arguments.
pub(super) fn text<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    arguments.get(name)?.as_str()
}
