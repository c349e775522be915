//! Which step last wrote each line of a file.
//!
//! The versions of the file are gone through from the first on, over renames and into the
//! transactions that were committed; each costs what differs from the one before, where the
//! tape tells it as a change of that. What the tape cannot know is said of each line: that
//! nobody's call wrote it, that it stood there before, that something unseen may have.

mod history;

use std::sync::Arc;

use self::history::Version;
use super::{Debugger, FileContent, ReadError, Spot};
use crate::model::{
    BlobHash, Body, Certainty, Content, Cursor, EntryKind, KnownLines, StepKind, TapePath,
};
use crate::state::{ContentRef, FileState, PathId};
use crate::tape::{BlobSource as _, Splice};
use crate::text::{Lineage, SafeText, diff};

/// Who last wrote the lines of a file.
#[derive(Clone, Debug)]
pub struct BlameView {
    /// The file.
    pub path: TapePath,
    /// How well it is known.
    pub certainty: Certainty,
    /// The lines that are known, in order: all, unless it is known in part.
    pub lines: Vec<BlameLine>,
    /// What they came with, the earliest first.
    pub origins: Vec<BlameOrigin>,
    /// Their text, one line after the other.
    pub text: Arc<[u8]>,
    /// What to know of it, one sentence each.
    pub remarks: Vec<SafeText>,
}

/// A line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlameLine {
    /// Its number, from 1.
    pub number: u64,
    /// What it came with: a place among the origins.
    pub origin: u32,
}

/// What lines came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameOrigin {
    /// The step; `None`: they stood there before the tape tells of any change.
    pub spot: Option<Spot>,
    /// Who wrote them.
    pub writer: Writer,
    /// Whether it is certain. If not, something may have written them before, unseen.
    pub is_certain: bool,
    /// What the file was called then, where that is not its name now.
    pub path: Option<TapePath>,
}

/// Who wrote lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// They stood there before.
    Before,
    /// What was done in the step.
    Step,
    /// Nobody's call: the step found them there.
    Outside,
}

impl Writer {
    /// The fixed word, as printed by `--json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Step => "step",
            Self::Outside => "outside",
        }
    }
}

impl BlameOrigin {
    /// One character that marks what is special about it; a space where nothing is.
    pub const fn sign(&self) -> char {
        match self.writer {
            Writer::Outside => '≠',
            _ if !self.is_certain => '?',
            Writer::Before | Writer::Step => ' ',
        }
    }
}

impl BlameView {
    /// The origin of a line, counted from 0 among those that are known.
    pub fn origin_of(&self, line: usize) -> Option<&BlameOrigin> {
        let origin = self.lines.get(line)?.origin;
        self.origins.get(origin as usize)
    }
}

/// How the contents on a tape are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// As changes of each other where they are told so, and looked at when a row of these
    /// has ended.
    Changes,
    /// Each of them whole and checked.
    Whole,
}

impl Debugger {
    /// Which step last wrote each line of a file at a place. Costs, for each of its versions,
    /// what differs from the one before, and a read of every content that is told whole.
    pub fn blame(&self, at: Cursor, path: &TapePath) -> Result<BlameView, ReadError> {
        let view = self.file(at, path)?;
        if view.certainty == Certainty::Absent {
            return Err(ReadError::NoFile(SafeText::from_bytes(path.as_bytes())));
        }
        let mut blame = BlameView {
            path: path.clone(),
            certainty: view.certainty,
            lines: Vec::new(),
            origins: Vec::new(),
            text: [].into(),
            remarks: view.remarks,
        };
        let node = self.state.paths.find(path);
        let mut say = |words: &str| blame.remarks.push(SafeText::line(words));
        match (&view.content, node) {
            _ if view.kind != EntryKind::File => say("only a file has lines"),
            (FileContent::Nothing(why), _) => say(why.as_str()),
            (FileContent::Bytes(bytes), Some(_)) if diff::is_binary(bytes) => {
                let versions = view.versions.rows.iter().rev();
                let mut last = versions.filter(|row| row.spot.cursor.position <= at.position);
                say(&match last.next() {
                    Some(row) => format!("no text: step {} wrote it last", row.spot.step),
                    None => "no text: it stood there before".to_owned(),
                });
            }
            (content, Some(node)) => self.trace((at, node), content, &mut blame),
            (_, None) => {}
        }
        Ok(blame)
    }

    /// The model's turn that asked for what a step did: the last one of the same agent before
    /// it. Costs a look at the steps between.
    pub fn asked_for_by(&self, spot: Spot) -> Option<Spot> {
        let index = &self.tape.index;
        let line = self.line_of(spot);
        let agent = index.steps.get(index.step_on(line, spot.step)?)?.lane.agent;
        let mut steps = index.stretches(line, 1..spot.step.0).flatten();
        let turn = steps.rfind(|step| {
            let entry = index.steps.get(*step);
            entry.is_some_and(|entry| entry.kind == StepKind::Model && entry.lane.agent == agent)
        });
        Some(self.spot(line, index.number_of(turn?)?))
    }

    fn trace(&self, (at, node): (Cursor, PathId), content: &FileContent, blame: &mut BlameView) {
        let versions = self.history(at, node);
        let line = self.line_of_branch(at.branch);
        blame.origins = self.origins(&versions, (line, node));
        let known = match content {
            FileContent::Lines(known) => Some(known),
            _ => None,
        };
        let lineage = self
            .lineage(&versions, Reading::Changes)
            .or_else(|| self.lineage(&versions, Reading::Whole))
            .unwrap_or_default();
        if lineage.is_coarse() {
            let words = "two versions differ too much: some lines may be older than is told";
            blame.remarks.push(SafeText::literal(words));
        }
        let numbers: Vec<u64> = match known {
            Some(known) => numbers_of(known),
            None => (1..=lineage.origins().len() as u64).collect(),
        };
        let lines = numbers.into_iter().zip(lineage.origins());
        blame.lines = lines
            .map(|(number, origin)| BlameLine {
                number,
                origin: *origin,
            })
            .collect();
        blame.text = lineage.text().into();
    }

    /// What the lines of each version come with, in the order of the versions.
    fn origins(&self, versions: &[Version], (line, node): (u16, PathId)) -> Vec<BlameOrigin> {
        let mut is_known = false;
        let mut origins = Vec::with_capacity(versions.len());
        for version in versions {
            let (writer, spot) = match version.event {
                None => (Writer::Before, None),
                Some(event) if version.state.is_outside => {
                    (Writer::Outside, Some(self.spot_of_change(line, event)))
                }
                Some(event) => (Writer::Step, Some(self.spot_of_change(line, event))),
            };
            let is_whole = matches!(version.state.content, ContentRef::Blob(_))
                && version.state.certainty != Certainty::Unstored;
            let is_base_known = version.is_base_certain && (version.is_first || is_known);
            origins.push(BlameOrigin {
                spot,
                writer,
                is_certain: writer != Writer::Step || is_base_known,
                path: (version.node != node)
                    .then(|| self.state.paths.path(version.node))
                    .flatten(),
            });
            is_known = is_whole;
        }
        origins
    }

    /// The last version, with what each of its lines came with; `None` where the changes did
    /// not come to what the tape says.
    fn lineage(&self, versions: &[Version], reading: Reading) -> Option<Lineage> {
        let mut lineage = Lineage::default();
        let mut hash = None;
        let mut is_checked = true;
        for (number, version) in versions.iter().enumerate() {
            let origin = number as u32;
            let state = &version.state;
            let ContentRef::Blob(id) = state.content else {
                if let Some(known) = self.lines_known(state) {
                    lineage.rewrite(known.as_bytes(), origin);
                    hash = None;
                }
                continue;
            };
            let Some(named) = self.blob_head(id, state.since).0 else {
                continue;
            };
            if hash == Some(named) {
                continue;
            }
            let splice = match reading {
                Reading::Changes => self.tape.splice(&named),
                Reading::Whole => None,
            };
            if let Some(splice) = splice.filter(|splice| Some(splice.base) == hash) {
                if !replace(&mut lineage, &splice, origin) {
                    return None;
                }
                is_checked = false;
            } else {
                if !is_checked && !is_named(&lineage, hash) {
                    return None;
                }
                is_checked = true;
                let Ok(bytes) = self.tape.blob(&named) else {
                    hash = None;
                    continue;
                };
                lineage.rewrite(&bytes, origin);
            }
            hash = Some(named);
        }
        (is_checked || is_named(&lineage, hash)).then_some(lineage)
    }

    /// The lines that are known of a file that is known in part, one after the other.
    fn lines_known(&self, state: &FileState) -> Option<String> {
        let ContentRef::Lines(position) = state.content else {
            return None;
        };
        match self.tape.event(position).ok()?.body {
            Body::File(change) => match change.content {
                Content::Lines(known) => Some(joined(&known)),
                _ => None,
            },
            _ => None,
        }
    }
}

fn replace(lineage: &mut Lineage, splice: &Splice, origin: u32) -> bool {
    let (Ok(at), Ok(del)) = (usize::try_from(splice.at), usize::try_from(splice.del)) else {
        return false;
    };
    lineage.replace(at, del, splice.ins.as_bytes(), origin)
}

fn is_named(lineage: &Lineage, hash: Option<BlobHash>) -> bool {
    hash == Some(BlobHash::of(lineage.text()))
}

/// The known lines, each with an end.
fn joined(known: &KnownLines) -> String {
    let lines = known.ranges.iter().flat_map(|(_, text)| text.lines());
    lines.fold(String::new(), |joined, line| joined + line + "\n")
}

/// The numbers of the known lines.
fn numbers_of(known: &KnownLines) -> Vec<u64> {
    let ranges = known.ranges.iter();
    let numbers = ranges.flat_map(|(first, text)| (*first..).zip(text.lines()));
    numbers.map(|(number, _)| number).collect()
}
