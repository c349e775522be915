//! What a person left at a run, to find it there the next time: marks, notes, the place, and
//! what was folded and open.
//!
//! It is kept in the user's state directory, in a file for each tape, and never in the tape.
//! Places are kept as a person would type them, so that they still hold when the tape has
//! grown. What else stands in such a file is left as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde_json::Value;

use super::state_file::{Fields, StateFile};
use super::{Debugger, Notes, Spot};
use crate::model::{BlobHash, Place, TapePath, Target};

/// What a person left at a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Left {
    /// Marks by their names: the line whose steps are meant, and the place.
    pub marks: BTreeMap<String, (u16, Spot)>,
    /// Notes by their steps. To be kept, an empty one takes one away.
    pub notes: Notes,
    /// What was seen last.
    pub view: Option<LeftView>,
}

/// What was seen when a run was left.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftView {
    /// The line whose steps were listed.
    pub line: u16,
    /// The place.
    pub spot: Spot,
    /// Directories that a person opened. Of paths that are no text, nothing is kept.
    pub open: BTreeSet<TapePath>,
    /// Directories that a person closed.
    pub closed: BTreeSet<TapePath>,
    /// The file that was open.
    pub file: Option<TapePath>,
    /// The pane that had the focus.
    pub focus: LeftFocus,
    /// Sub-agents that were folded, by the index's numbers.
    pub folded: BTreeSet<u16>,
}

/// The pane that had the focus when a run was left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeftFocus {
    /// The steps.
    #[default]
    Timeline,
    /// The files.
    State,
    /// What a step did.
    Diff,
}

impl LeftFocus {
    const ALL: [Self; 3] = [Self::Timeline, Self::State, Self::Diff];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Timeline => "timeline",
            Self::State => "state",
            Self::Diff => "diff",
        }
    }
}

/// Directories of a tree that are kept open or closed at most.
const MAX_FOLDS: usize = 1000;

/// The fields.
const AT: &str = "at";
const OPEN: &str = "open";
const CLOSED: &str = "closed";
const FILE: &str = "file";
const FOCUS: &str = "focus";
const FOLDED: &str = "folded";

fn focus_named(name: &Value) -> Option<LeftFocus> {
    let name = name.as_str()?;
    let mut all = LeftFocus::ALL.into_iter();
    all.find(|focus| focus.as_str() == name)
}

impl Debugger {
    /// What was left at this run. Costs the reading of one small file; what cannot be read
    /// there, or names a place that is not there, counts for nothing.
    pub fn left(&self) -> Left {
        let kept = self.kept();
        let marks = self.marks_in(&kept).into_iter();
        Left {
            marks: marks
                .map(|(name, spot)| (name, (self.line_of(spot), spot)))
                .collect(),
            notes: self.notes_in(&kept),
            view: self.view_in(&kept),
        }
    }

    /// Keeps this beside what was kept before: marks and notes are added to those that are
    /// there. The file is written whole or not at all. Of a run that has no file or no id, and
    /// without a directory to keep it in, nothing is kept.
    pub fn keep(&self, left: &Left) -> io::Result<()> {
        let Some(file) = self.state_file() else {
            return Ok(());
        };
        file.change(|kept| {
            if let Some(view) = &left.view {
                self.put_view(view, kept);
            }
            self.put_marks(&left.marks, kept);
            self.put_notes(&left.notes, kept);
        })
    }

    /// Whether something can be kept for this run at all.
    pub fn can_keep(&self) -> bool {
        self.state_file().is_some()
    }

    fn view_in(&self, kept: &Fields) -> Option<LeftView> {
        let place: Place = kept.get(AT)?.as_str()?.parse().ok()?;
        let spot = self.locate_kept(&place)?;
        let path = |value: &Value| TapePath::new(value.as_str()?).ok();
        let paths = |field: &str| {
            let paths = kept.get(field).and_then(Value::as_array);
            let paths = paths.into_iter().flatten().filter_map(path);
            paths.take(MAX_FOLDS).collect()
        };
        Some(LeftView {
            line: self.line_of(spot),
            spot,
            open: paths(OPEN),
            closed: paths(CLOSED),
            file: kept.get(FILE).and_then(path),
            focus: kept.get(FOCUS).and_then(focus_named).unwrap_or_default(),
            folded: self.agents_named(kept.get(FOLDED)),
        })
    }

    /// Sub-agents are kept by the ids that their events carry: those of a transcript that is
    /// imported again are the same, and their numbers need not be.
    fn agents_named(&self, names: Option<&Value>) -> BTreeSet<u16> {
        let names = names.and_then(Value::as_array).into_iter().flatten();
        let names: BTreeSet<&str> = names.filter_map(Value::as_str).collect();
        let agents = self.tape.index.agents.iter().enumerate().skip(1);
        let named = agents.filter(|(_, agent)| names.contains(agent.name.as_str()));
        named.map(|(id, _)| id as u16).collect()
    }

    fn put_view(&self, view: &LeftView, kept: &mut Fields) {
        let text = |path: &TapePath| str::from_utf8(path.as_bytes()).ok().map(Value::from);
        let paths =
            |paths: &BTreeSet<TapePath>| paths.iter().filter_map(text).take(MAX_FOLDS).collect();
        let name = |id: &u16| Some(self.tape.index.agents.get(usize::from(*id))?.name.as_str());
        let folded = view.folded.iter().filter_map(name).map(Value::from);
        let fields: [(&str, Value); 6] = [
            (AT, self.written(view.line, view.spot).into()),
            (OPEN, paths(&view.open)),
            (CLOSED, paths(&view.closed)),
            (FILE, view.file.as_ref().and_then(text).unwrap_or_default()),
            (FOCUS, view.focus.as_str().into()),
            (FOLDED, folded.take(MAX_FOLDS).collect()),
        ];
        for (field, value) in fields {
            kept.insert(field.into(), value);
        }
    }

    /// A place as a person would type it: a step of its line, or an event inside of one.
    pub fn written(&self, line: u16, spot: Spot) -> String {
        let branch = self.tape.index.branches.get(usize::from(line));
        let step = branch.map(|branch| format!("{}:{}", branch.name, spot.step));
        // Some names of branches mean something else before a colon.
        let is_there = |text: &String| {
            let place = text.parse().ok();
            place.and_then(|place| self.locate(&place).ok()) == Some(spot)
        };
        step.filter(is_there).unwrap_or_else(|| {
            let event = spot.cursor.position.saturating_sub(1);
            format!("seq:{}", self.tape.index.events.seq(event))
        })
    }

    /// A place that was kept. Marks in it could go round in circles.
    pub(super) fn locate_kept(&self, place: &Place) -> Option<Spot> {
        match place.target {
            Target::Mark(_) => None,
            _ => self.locate(place).ok(),
        }
    }

    /// What is kept for this tape.
    pub(super) fn kept(&self) -> Fields {
        let file = self.state_file();
        file.map_or_else(Fields::new, |file| file.read())
    }

    /// The file of this run. Its name may be anything, and is no name of a file.
    pub(super) fn state_file(&self) -> Option<StateFile<'_>> {
        self.origin.as_ref()?;
        let directory = self.places.state.as_deref()?;
        let run = Some(self.lasting_name()).filter(|name| !name.is_empty())?;
        let name = BlobHash::of(run.as_bytes()).to_string().replace(':', "-");
        Some(StateFile::new(directory, format!("tapes/{name}.json")).of_tape(run))
    }

    /// What the run is known by as long as it grows: the tape's id, which is made of the bytes
    /// where it is that of a transcript. A transcript is known by what it is called and when
    /// it began.
    fn lasting_name(&self) -> String {
        let source = |field: &str| self.header.source.get(field).and_then(Value::as_str);
        match (source("format"), source("name"), self.header.started) {
            (Some(format), Some(name), Some(started)) => format!("{format} {name} {started}"),
            _ => self.header.id.clone(),
        }
    }
}
