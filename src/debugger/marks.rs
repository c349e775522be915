//! Marks: names that a person gave to places of a run.
//!
//! They are kept in the user's state directory, in a file for each tape, and never in the
//! tape. A place is kept as a person would type it, so that it still holds when the tape has
//! grown. What else stands in such a file is left as it is.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{Debugger, Spot};
use crate::model::{BlobHash, Place, Target};

/// The field that holds the marks.
const MARKS: &str = "marks";

impl Debugger {
    /// The marks that were kept for this tape and whose places are there. Costs the reading
    /// of one small file; what cannot be read there counts for nothing.
    pub fn marks(&self) -> BTreeMap<String, Spot> {
        let kept = self.kept();
        let marks = kept.get(MARKS).and_then(Value::as_object);
        let spots = marks.into_iter().flatten().filter_map(|(name, place)| {
            let place: Place = place.as_str()?.parse().ok()?;
            match place.target {
                // Marks of marks could go round in circles.
                Target::Mark(_) => None,
                _ => Some((name.clone(), self.locate(&place).ok()?)),
            }
        });
        spots.collect()
    }

    /// Keeps marks, each a name, the line whose steps are meant, and the place, beside those
    /// that were kept before. The file is written whole or not at all. Of a run that has no
    /// file or no id, and without a directory to keep them in, nothing is kept.
    pub fn keep_marks<'a>(
        &self,
        marks: impl IntoIterator<Item = (&'a str, u16, Spot)>,
    ) -> io::Result<()> {
        let Some(path) = self.kept_path() else {
            return Ok(());
        };
        let mut kept = self.kept();
        kept.insert("tape".into(), self.header.id.clone().into());
        let mut all = match kept.remove(MARKS) {
            Some(Value::Object(all)) => all,
            _ => Map::new(),
        };
        let places = marks.into_iter().map(|(name, line, spot)| {
            let place = Value::from(self.written(line, spot));
            (name.to_owned(), place)
        });
        all.extend(places);
        kept.insert(MARKS.into(), all.into());
        let directory = path.parent().unwrap_or(&path);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer_pretty(&mut file, &kept)?;
        file.write_all(b"\n")?;
        file.persist(&path)?;
        Ok(())
    }

    /// A place as a person would type it: a step of its line, or an event inside of one.
    fn written(&self, line: u16, spot: Spot) -> String {
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

    fn kept(&self) -> Map<String, Value> {
        let bytes = self.kept_path().and_then(|path| fs::read(path).ok());
        let value = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        value.unwrap_or_default()
    }

    /// The file of this tape. Its id may be anything, and is no name of a file.
    fn kept_path(&self) -> Option<PathBuf> {
        let directory = self.origin.as_ref()?.state_directory()?;
        let id = Some(self.header.id.as_bytes()).filter(|id| !id.is_empty())?;
        let name = BlobHash::of(id).to_string().replace(':', "-");
        Some(directory.join(format!("tapes/{name}.json")))
    }
}
