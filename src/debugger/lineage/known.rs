//! Where tapes with forks, and forks, were last seen: one small file of the user's state
//! directory. No tape is read or written here, and what the file holds of one is a hint.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::Places;
use super::super::parents::{Ancestor, short_name};
use super::super::recent::{path_fields, path_of};
use super::super::state_file::{Fields, StateFile};
use crate::model::{Edit, EditOf, Header, Seq, StepNumber, TapePath};

/// What is remembered of a tape.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::debugger) struct Known {
    pub(in crate::debugger) path: PathBuf,
    pub(super) parent: Option<(String, Seq)>,
    pub(super) edit: Option<Edit>,
    pub(super) name: Option<String>,
}

/// The name of the file.
pub(super) const FILE: &str = "forks.json";
const TAPES: &str = "tapes";

impl Known {
    pub(super) fn of(header: &Header, path: PathBuf) -> Self {
        let parent = header.parent.as_ref();
        Self {
            path,
            parent: parent.map(|parent| (parent.id.clone(), parent.seq)),
            edit: header.edit.clone(),
            name: None,
        }
    }

    fn of_fields(fields: &Fields) -> Option<Self> {
        let text = |name: &str| Some(fields.get(name)?.as_str()?.to_owned());
        let number = |name: &str| fields.get(name).and_then(Value::as_u64);
        let edit = || {
            Some(Edit {
                of: EditOf::parse(&text("of")?)?,
                step: StepNumber(u32::try_from(number("step")?).ok()?),
                branch: text("branch"),
                seq: number("place").map(Seq),
                path: text("file").and_then(|file| TapePath::new(file).ok()),
                title: text("title").unwrap_or_default(),
                then: text("then"),
            })
        };
        Some(Self {
            path: path_of(fields)?,
            parent: text("parent").zip(number("seq").map(Seq)),
            edit: edit(),
            name: text("name"),
        })
    }

    fn to_fields(&self) -> Fields {
        let mut fields = path_fields(&self.path);
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        };
        put("parent", self.parent.as_ref().map(|(id, _)| json!(id)));
        put("seq", self.parent.as_ref().map(|(_, seq)| json!(seq.0)));
        if let Some(edit) = &self.edit {
            put("of", Some(json!(edit.of.as_str())));
            put("step", Some(json!(edit.step.0)));
            put("branch", edit.branch.as_ref().map(|name| json!(name)));
            put("place", edit.seq.map(|seq| json!(seq.0)));
            put("file", edit.path.as_ref().map(|path| json!(path.to_text())));
            put("title", Some(json!(edit.title)));
            put("then", edit.then.as_ref().map(|then| json!(then)));
        }
        put("name", self.name.as_ref().map(|name| json!(name)));
        fields
    }

    pub(super) fn title(&self) -> String {
        let edit = self.edit.as_ref().map(|edit| edit.title.clone());
        let said = self.name.clone().or(edit).filter(|title| !title.is_empty());
        said.unwrap_or_else(|| short_name(&self.path))
    }
}

impl Places {
    /// The tapes that have forks, and the forks, by their ids.
    pub(in crate::debugger) fn known_tapes(&self) -> BTreeMap<String, Known> {
        let Some(directory) = &self.state else {
            return BTreeMap::new();
        };
        let fields = StateFile::new(directory, FILE).read();
        let tapes = fields.get(TAPES).and_then(Value::as_object);
        let known = |(id, fields): (&String, &Value)| {
            let known = Known::of_fields(fields.as_object()?)?;
            Some((id.clone(), known))
        };
        tapes.into_iter().flatten().filter_map(known).collect()
    }

    /// Remembers where a fork and its parents lie. Nothing is written where that is known.
    pub(in crate::debugger) fn note_fork(
        &self,
        header: &Header,
        path: &Path,
        ancestors: &[Ancestor],
    ) -> io::Result<()> {
        let parents = ancestors
            .iter()
            .map(|parent| (&parent.header, &*parent.path));
        let tapes = std::iter::once((header, path)).chain(parents);
        let tapes: Vec<(String, Known)> = tapes
            .map(|(header, path)| (header.id.clone(), Known::of(header, self.lasting(path))))
            .collect();
        let Some(directory) = &self.state else {
            return Ok(());
        };
        let file = StateFile::new(directory, FILE);
        // What is said of others stays as it is, unread.
        let noted = |known: Option<&Fields>| {
            let noted = tapes.iter().map(|(id, tape)| {
                let before = known.and_then(|known| known.get(id)?.as_object());
                let name = before.and_then(|before| Some(before.get("name")?.as_str()?.to_owned()));
                let tape = Known {
                    name,
                    ..tape.clone()
                };
                (id.clone(), Value::Object(tape.to_fields()))
            });
            noted.collect::<Vec<_>>()
        };
        let known = file.read();
        let known = known.get(TAPES).and_then(Value::as_object);
        let is_known = |(id, tape): &(String, Value)| known.and_then(|it| it.get(id)) == Some(tape);
        if noted(known).iter().all(is_known) {
            return Ok(());
        }
        file.change(|fields| {
            let mut known = match fields.remove(TAPES) {
                Some(Value::Object(known)) => known,
                _ => Fields::new(),
            };
            // Others may have changed it since.
            known.extend(noted(Some(&known)));
            fields.insert(TAPES.into(), known.into());
        })
    }

    pub(super) fn change_known(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, Known>),
    ) -> io::Result<()> {
        let Some(directory) = &self.state else {
            return Ok(());
        };
        let mut known = self.known_tapes();
        let before = known.clone();
        change(&mut known);
        if known == before {
            return Ok(());
        }
        StateFile::new(directory, FILE).change(|fields| {
            // Others may have changed it since.
            let is_new = |id: &String| before.get(id) != known.get(id);
            let mut tapes = match fields.remove(TAPES) {
                Some(Value::Object(tapes)) => tapes,
                _ => Fields::new(),
            };
            for (id, tape) in known.iter().filter(|(id, _)| is_new(id)) {
                tapes.insert(id.clone(), tape.to_fields().into());
            }
            for gone in before.keys().filter(|id| !known.contains_key(*id)) {
                tapes.remove(gone);
            }
            fields.insert(TAPES.into(), tapes.into());
        })
    }

    /// The path of a file from anywhere: its directory is named by its real name, and a link to
    /// the file stays a link.
    pub(in crate::debugger) fn lasting(&self, path: &Path) -> PathBuf {
        let here = self.here.as_deref().unwrap_or(Path::new("/"));
        let path = here.join(path);
        let real = path.parent().and_then(|above| above.canonicalize().ok());
        match real.zip(path.file_name()) {
            Some((above, name)) => above.join(name),
            None => path,
        }
    }
}
