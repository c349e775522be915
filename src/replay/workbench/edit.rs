//! Edit tools, as functions of the tree.
//!
//! What they say is known for some tools, as far as those say the same in every version; it
//! is never what two runs are told apart by.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::session::Session;
use super::tree::{Found, Tree};
use super::{Answer, How, NotAttempted, Place, Words};
use crate::model::{BlobHash, FileChange, FileOp, Outcome, TapePath};
use crate::tools::{
    Asked, EditError, EditorAct, Exchange, Hunk, Known, Patch, PatchError, Refusal, Replacement,
    StrReplace, Tabs, Unanswerable,
};

/// Answers a call of an edit tool.
pub(super) fn answer(
    (tree, session): (&Tree<'_>, &Session),
    place: Place<'_>,
    name: &str,
    asked: &Asked,
) -> Result<Answer, NotAttempted> {
    let mut edits = Edits {
        tool: name,
        tree,
        session,
        changed: BTreeMap::new(),
    };
    let said = match asked {
        Asked::Write { path, text } => edits.write(&place.path(path)?, path, text),
        Asked::Edit { path, edits: list } => edits.edit(&place.path(path)?, path, list),
        Asked::Editor { path, act, tabs } => edits.editor(&place.path(path)?, path, act, *tabs),
        Asked::Patch(text) => edits.patch(place, text),
        Asked::Read { .. } | Asked::Find(_) | Asked::Run(_) | Asked::Unknown(_) => {
            return Err(Unanswerable::Tool.into());
        }
    }?;
    let (outcome, output, refusal) = match said {
        Ok(words) => (Outcome::Ok, words, None),
        Err(why) => (Outcome::Failed, failure(name, &why.words), why.refusal),
    };
    Ok(Answer {
        outcome,
        exit: None,
        output,
        streams: None,
        changes: edits.into_changes(),
        refused: Vec::new(),
        how: How::Computed,
        words: Words::Own,
        refusal,
        needs_network: false,
        duration: None,
    })
}

/// How a tool says that it failed.
fn failure(name: &str, words: &str) -> String {
    match name {
        "Write" | "Edit" | "MultiEdit" => format!("<tool_use_error>{words}</tool_use_error>"),
        _ => words.to_owned(),
    }
}

/// What a tool says: that it did it, or why it did not.
type Said = Result<String, Failure>;

/// Why a tool did not do it.
struct Failure {
    words: String,
    refusal: Option<Refusal>,
}

impl Failure {
    fn new(refusal: Refusal, words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            refusal: Some(refusal),
        }
    }

    /// For a reason of its own.
    fn other(error: &PatchError) -> Self {
        Self {
            words: error.to_string(),
            refusal: None,
        }
    }

    /// In words that begin with a path.
    fn at(self, path: &str) -> Self {
        Self {
            words: format!("{path}: {}", self.words),
            ..self
        }
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        Self {
            words: error.to_string(),
            refusal: error.refusal(),
        }
    }
}

/// Files on their way from what they were.
struct Edits<'a> {
    tool: &'a str,
    tree: &'a Tree<'a>,
    session: &'a Session,
    /// What each is by now; `None`: it is gone.
    changed: BTreeMap<TapePath, Option<Arc<[u8]>>>,
}

impl Edits<'_> {
    fn find(&self, path: &TapePath) -> Result<Found, NotAttempted> {
        match self.changed.get(path) {
            Some(Some(bytes)) => Ok(Found::File(Arc::clone(bytes))),
            Some(None) => Ok(Found::Nothing),
            None => self.tree.find(path),
        }
    }

    /// Why the agent's program leaves a file alone that is there, if it does. A file of which
    /// something is told of the agent is there.
    fn refusal(&self, path: &TapePath, found: &Result<Found, NotAttempted>) -> Option<Failure> {
        let bytes = match found {
            Ok(Found::File(bytes)) => Some(&**bytes),
            Err(NotAttempted::Inexact { .. } | NotAttempted::Unreadable { .. }) => None,
            Ok(Found::Directory | Found::Nothing) | Err(_) => return None,
        };
        let why = self.session.refusal(self.tool, path, bytes)?;
        let words = match why {
            Refusal::Unread => "File has not been read yet. Read it first before writing to it.",
            _ => {
                "File has been modified since read, either by the user or by a linter. Read it \
                 again before attempting to write it."
            }
        };
        Some(Failure::new(why, words))
    }

    fn put(&mut self, path: &TapePath, bytes: impl Into<Arc<[u8]>>) {
        self.changed.insert(path.clone(), Some(bytes.into()));
    }

    fn write(&mut self, path: &TapePath, written: &str, text: &str) -> Result<Said, NotAttempted> {
        let found = self.find(path);
        if let Some(why) = self.refusal(path, &found) {
            return Ok(Err(why));
        }
        let is_new = match found {
            Ok(Found::Directory) => return Ok(Err(is_directory(written))),
            Ok(Found::Nothing) => true,
            // Whatever a file held, this is what it holds then.
            Ok(Found::File(_))
            | Err(NotAttempted::Inexact { .. } | NotAttempted::Unreadable { .. }) => false,
            Err(why) => return Err(why),
        };
        self.put(path, text.as_bytes());
        Ok(Ok(if is_new {
            format!("File created successfully at: {written}")
        } else {
            format!("The file {written} has been updated successfully.")
        }))
    }

    fn edit(
        &mut self,
        path: &TapePath,
        written: &str,
        edits: &[Exchange],
    ) -> Result<Said, NotAttempted> {
        let found = self.find(path);
        if let Some(same) = edits.iter().find(|edit| edit.old == edit.new) {
            let words = format!("nothing would change: {:?} is replaced by itself", same.old);
            return Ok(Err(Failure::new(Refusal::Same, words)));
        }
        if let Some(why) = self.refusal(path, &found) {
            return Ok(Err(why));
        }
        let mut known = match found? {
            Found::File(bytes) => Known::Full(bytes),
            Found::Nothing => Known::Absent,
            Found::Directory => return Ok(Err(is_directory(written))),
        };
        let replacements: Vec<Replacement<'_>> = edits.iter().map(borrow).collect();
        if let Err(error) = known.replace(&replacements, None) {
            return Ok(Err(error.into()));
        }
        let Some(bytes) = known.whole() else {
            return Ok(Err(EditError::Unknown.into()));
        };
        self.put(path, Arc::clone(bytes));
        Ok(Ok(format!(
            "The file {written} has been updated successfully."
        )))
    }

    fn editor(
        &mut self,
        path: &TapePath,
        written: &str,
        act: &EditorAct,
        tabs: Tabs,
    ) -> Result<Said, NotAttempted> {
        let before = match self.find(path)? {
            Found::File(bytes) => Some(bytes),
            Found::Nothing => None,
            Found::Directory => return Ok(Err(is_directory(written))),
        };
        let mut editor = StrReplace::open(before, tabs);
        let (done, words) = match act {
            EditorAct::Create(text) => (
                editor.create(text),
                format!("File created successfully at: {written}"),
            ),
            EditorAct::Replace { old, new } => (
                editor.replace(old, new),
                format!("The file {written} has been edited."),
            ),
            EditorAct::Insert { line, text } => (
                editor.insert(*line, text),
                format!("The file {written} has been edited."),
            ),
        };
        if let Err(error) = done {
            return Ok(Err(error.into()));
        }
        if let Some(bytes) = editor.content() {
            self.put(path, Arc::clone(bytes));
        }
        Ok(Ok(words))
    }

    /// A patch does its hunks one after the other, up to the first that cannot be done.
    fn patch(&mut self, place: Place<'_>, text: &str) -> Result<Said, NotAttempted> {
        let patch = match Patch::parse(text) {
            Ok(patch) => patch,
            Err(error) => return Ok(Err(Failure::other(&error))),
        };
        let mut words = "Success. Updated the following files:\n".to_owned();
        for hunk in &patch.hunks {
            match self.hunk(place, hunk)? {
                Ok([letter, path]) => words.extend([letter, " ", path, "\n"]),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(words))
    }

    fn hunk<'h>(
        &mut self,
        place: Place<'_>,
        hunk: &'h Hunk,
    ) -> Result<Result<[&'h str; 2], Failure>, NotAttempted> {
        match hunk {
            Hunk::Add { path, content } => {
                let at = place.path(path)?;
                if let Ok(Found::Directory) = self.find(&at) {
                    return Ok(Err(is_directory(path)));
                }
                self.put(&at, content.as_bytes());
                Ok(Ok(["A", path]))
            }
            Hunk::Delete { path } => {
                let at = place.path(path)?;
                Ok(match self.find(&at)? {
                    Found::File(_) => {
                        self.changed.insert(at, None);
                        Ok(["D", path])
                    }
                    Found::Directory => Err(is_directory(path)),
                    Found::Nothing => Err(Failure::from(EditError::Absent).at(path)),
                })
            }
            Hunk::Update {
                path,
                move_to,
                chunks,
            } => {
                let at = place.path(path)?;
                let before = match self.find(&at)? {
                    Found::File(bytes) => bytes,
                    Found::Directory => return Ok(Err(is_directory(path))),
                    Found::Nothing => return Ok(Err(Failure::from(EditError::Absent).at(path))),
                };
                let edited = match Patch::update(&before, chunks) {
                    Ok(edited) => edited,
                    Err(error) => return Ok(Err(Failure::other(&error).at(path))),
                };
                if let Some(to) = move_to {
                    let to = place.path(to)?;
                    self.changed.insert(at, None);
                    self.put(&to, edited.bytes);
                } else {
                    self.put(&at, edited.bytes);
                }
                Ok(Ok(["M", path]))
            }
        }
    }

    fn into_changes(self) -> Vec<FileChange> {
        let tree = self.tree;
        let change = |(path, after): (TapePath, Option<Arc<[u8]>>)| {
            let was = match tree.get(&path).map(|entry| &entry.item) {
                Some(crate::checkout::Item::File(hash)) => *hash,
                _ => None,
            };
            match after {
                Some(bytes) if was == Some(BlobHash::of(&bytes)) => None,
                Some(bytes) => {
                    let mut change = FileChange::write(path, bytes);
                    change.was = was;
                    Some(change)
                }
                None => {
                    let mut change = FileChange::new(FileOp::Remove, path);
                    change.was = was;
                    Some(change)
                }
            }
        };
        self.changed.into_iter().filter_map(change).collect()
    }
}

fn borrow(exchange: &Exchange) -> Replacement<'_> {
    Replacement {
        old: &exchange.old,
        new: &exchange.new,
        which: exchange.which,
    }
}

fn is_directory(path: &str) -> Failure {
    Failure::new(Refusal::Directory, format!("{path} is a directory"))
}
