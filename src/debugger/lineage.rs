//! The forks of a run as a tree: the tape it left, the ones that left it, and where they lie.
//!
//! Where tapes with forks, and forks, were last seen stands in one small file of the user's
//! state directory. Forks that lie beside a tape are found without it. A fork's tape is
//! deleted here if the user says so, and no other one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::parents::{Ancestor, neighbours, short_name, tape_at};
use super::recent::{path_fields, path_of};
use super::state_file::{Fields, StateFile};
use super::{Debugger, Places};
use crate::model::{Edit, EditOf, Header, Seq, StepNumber, TapePath};
use crate::text::SafeText;

/// A tape in the tree of forks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkRow {
    /// The tape's id.
    pub id: String,
    /// Where it lies, or was last seen.
    pub path: Option<PathBuf>,
    /// It lies there.
    pub is_there: bool,
    /// It is the run that was asked.
    pub is_this: bool,
    /// How many forks lead to it: 0 is the tape that is none.
    pub depth: u16,
    /// The last event that it shares with the tape above it.
    pub seq: Option<Seq>,
    /// What makes it differ from that.
    pub edit: Option<Edit>,
    /// What the user calls it; else what was changed, or its file's name.
    pub title: SafeText,
    /// Whether the user called it so.
    pub is_named: bool,
}

/// Something cannot be done with a fork. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum LineageError {
    /// The run is no fork.
    #[error("{0} is no fork; only forks are deleted here")]
    NotAFork(String),
    /// It comes from no file of its own.
    #[error("{0} is in no file of its own")]
    NoFile(String),
    /// Other forks share its events.
    #[error("{name} has forks, which share its events: {}", forks.join(", "))]
    HasForks {
        /// The run.
        name: String,
        /// Its forks.
        forks: Vec<String>,
    },
    /// Nobody knows where to keep a name.
    #[error("there is no state directory to keep a name in")]
    NoState,
    /// A file could not be changed.
    #[error("{0}: {1}")]
    Io(String, io::Error),
}

/// What is remembered of a tape.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) path: PathBuf,
    parent: Option<(String, Seq)>,
    edit: Option<Edit>,
    name: Option<String>,
}

const FILE: &str = "forks.json";
const TAPES: &str = "tapes";
/// Generations and forks that a tree shows at most.
const MAX_ROWS: usize = 4_096;

pub(super) fn known_tapes(places: &Places) -> BTreeMap<String, Known> {
    let Some(directory) = &places.state else {
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

impl Known {
    fn of(header: &Header, path: PathBuf) -> Self {
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
        let edit = self.edit.as_ref();
        put("of", edit.map(|edit| json!(edit.of.as_str())));
        put("step", edit.map(|edit| json!(edit.step.0)));
        put(
            "branch",
            edit.and_then(|edit| edit.branch.as_ref())
                .map(|name| json!(name)),
        );
        put(
            "place",
            edit.and_then(|edit| edit.seq).map(|seq| json!(seq.0)),
        );
        put(
            "file",
            edit.and_then(|edit| edit.path.as_ref())
                .map(|path| json!(path.to_text())),
        );
        put("title", edit.map(|edit| json!(edit.title)));
        put("name", self.name.as_ref().map(|name| json!(name)));
        fields
    }

    fn title(&self) -> String {
        let edit = self.edit.as_ref().map(|edit| edit.title.clone());
        let said = self.name.clone().or(edit).filter(|title| !title.is_empty());
        said.unwrap_or_else(|| short_name(&self.path))
    }
}

impl Places {
    /// Remembers where a fork and its parents lie. Nothing is written where that is known.
    pub(super) fn note_fork(
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
        self.change_known(|known| {
            for (id, tape) in tapes {
                let name = known.get(&id).and_then(|before| before.name.clone());
                known.insert(id, Known { name, ..tape });
            }
        })
    }

    fn change_known(&self, change: impl FnOnce(&mut BTreeMap<String, Known>)) -> io::Result<()> {
        let Some(directory) = &self.state else {
            return Ok(());
        };
        let mut known = known_tapes(self);
        let before = written(&known);
        change(&mut known);
        if written(&known) == before {
            return Ok(());
        }
        StateFile::new(directory, FILE).change(|fields| {
            // Others may have changed it since.
            let is_new = |id: &String| before.get(id) != written(&known).get(id);
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
    pub(super) fn lasting(&self, path: &Path) -> PathBuf {
        let here = self.here.as_deref().unwrap_or(Path::new("/"));
        let path = here.join(path);
        let real = path.parent().and_then(|above| above.canonicalize().ok());
        match real.zip(path.file_name()) {
            Some((above, name)) => above.join(name),
            None => path,
        }
    }
}

fn written(known: &BTreeMap<String, Known>) -> BTreeMap<String, Fields> {
    let fields = |(id, known): (&String, &Known)| (id.clone(), known.to_fields());
    known.iter().map(fields).collect()
}

impl Debugger {
    /// The tree of forks that the run belongs to, each tape behind the one it left. Costs a
    /// look at the files that may belong to it.
    pub fn forks(&self) -> Vec<ForkRow> {
        let known = self.relatives();
        let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (id, tape) in &known {
            if let Some((parent, _)) = &tape.parent {
                children.entry(parent).or_default().push(id);
            }
        }
        for forks in children.values_mut() {
            let place = |id: &&str| {
                known
                    .get(*id)
                    .and_then(|tape| Some(tape.parent.as_ref()?.1))
            };
            forks.sort_by_key(|id| (place(id), *id));
        }
        let mut rows = Vec::new();
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(self.root(&known), 0)];
        while let Some((id, depth)) = waiting.pop() {
            if !seen.insert(id) || rows.len() == MAX_ROWS {
                continue;
            }
            rows.push(self.fork_row(id, known.get(id), depth));
            let forks = children.get(id).into_iter().flatten().rev();
            waiting.extend(forks.map(|id| (*id, depth + 1)));
        }
        rows
    }

    /// The tape at the top: the last parent whose name is known.
    fn root<'a>(&'a self, known: &'a BTreeMap<String, Known>) -> &'a str {
        let mut root: &str = &self.header.id;
        let mut seen = BTreeSet::new();
        while seen.insert(root)
            && let Some((parent, _)) = known.get(root).and_then(|tape| tape.parent.as_ref())
        {
            root = parent;
        }
        root
    }

    /// Every tape that may belong to the tree.
    fn relatives(&self) -> BTreeMap<String, Known> {
        let mut known = known_tapes(&self.places);
        let mut add = |header: &Header, path: &Path| {
            let path = self.places.lasting(path);
            let name = known.get(&header.id).and_then(|before| before.name.clone());
            let before = known
                .get(&header.id)
                .filter(|before| tape_at(&before.path).is_some());
            if before.is_none_or(|before| before.path == path) {
                let tape = Known::of(header, path);
                known.insert(header.id.clone(), Known { name, ..tape });
            }
        };
        let own = self.tape_file();
        for path in own
            .and_then(Path::parent)
            .into_iter()
            .flat_map(|above| neighbours(&self.places.lasting(above)))
        {
            if let Some((_, header)) = tape_at(&path) {
                add(&header, &path);
            }
        }
        for ancestor in &self.ancestors {
            add(&ancestor.header, &ancestor.path);
        }
        let path = own.map_or_else(|| PathBuf::from(&self.name), Path::to_owned);
        let name = known
            .get(&self.header.id)
            .and_then(|tape| tape.name.clone());
        let this = Known {
            name,
            ..Known::of(&self.header, self.places.lasting(&path))
        };
        known.insert(self.header.id.clone(), this);
        known
    }

    fn fork_row(&self, id: &str, known: Option<&Known>, depth: u16) -> ForkRow {
        let is_this = id == self.header.id;
        let path = known.map(|known| known.path.clone());
        let is_of = |path: &PathBuf| tape_at(path).is_some_and(|(_, header)| header.id == id);
        ForkRow {
            id: id.to_owned(),
            is_there: is_this || path.as_ref().is_some_and(is_of),
            path,
            is_this,
            depth,
            seq: known.and_then(|known| Some(known.parent.as_ref()?.1)),
            edit: known.and_then(|known| known.edit.clone()),
            title: SafeText::line(&known.map_or_else(|| format!("tape {id}"), Known::title)),
            is_named: known.is_some_and(|known| known.name.is_some()),
        }
    }

    /// Where forks leave the run, as far as they are known.
    pub(super) fn fork_points(&self) -> Vec<Seq> {
        let known = self.relatives();
        let parents = known.values().filter_map(|tape| tape.parent.as_ref());
        let own = parents.filter(|(id, _)| *id == self.header.id);
        let points: BTreeSet<Seq> = own.map(|(_, seq)| *seq).collect();
        points.into_iter().collect()
    }

    /// Calls the run so in the tree of forks; without words, what was changed says it again.
    pub fn rename(&self, name: &str) -> Result<(), LineageError> {
        if self.places.state.is_none() {
            return Err(LineageError::NoState);
        }
        let path = self.tape_file();
        let path = path.ok_or_else(|| LineageError::NoFile(self.name.clone()))?;
        let known = Known {
            name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            ..Known::of(&self.header, self.places.lasting(path))
        };
        let id = self.header.id.clone();
        let changed = self.places.change_known(|tapes| {
            tapes.insert(id, known);
        });
        changed.map_err(|error| LineageError::Io(FILE.to_owned(), error))
    }

    /// Deletes the fork's tape. Refused of what is no fork, and of one that has forks itself.
    pub fn delete_fork(&self) -> Result<PathBuf, LineageError> {
        let name = self.name.clone();
        if self.header.parent.is_none() {
            return Err(LineageError::NotAFork(name));
        }
        let Some(path) = self.tape_file() else {
            return Err(LineageError::NoFile(name));
        };
        let rows = self.forks();
        let is_fork = |row: &&ForkRow| row.is_there && !row.is_this;
        let this = rows.iter().position(|row| row.is_this);
        let below = this.and_then(|this| Some((rows.get(this)?.depth, rows.get(this + 1..)?)));
        let forks: Vec<String> = below.map_or_else(Vec::new, |(depth, rows)| {
            let below = rows.iter().take_while(|row| row.depth > depth);
            let paths = below.filter(is_fork).filter_map(|row| row.path.as_ref());
            paths.map(|path| path.display().to_string()).collect()
        });
        if !forks.is_empty() {
            return Err(LineageError::HasForks { name, forks });
        }
        let failed = |error| LineageError::Io(path.display().to_string(), error);
        fs::remove_file(path).map_err(failed)?;
        // A name that is left of it does no harm.
        let _ = self.places.change_known(|tapes| {
            tapes.remove(&self.header.id);
        });
        Ok(path.to_owned())
    }
}
