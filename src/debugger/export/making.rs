//! A call, as a case: without its secrets, and without the place of the recording.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::super::Debugger;
use super::super::replay::CallRecord;
use crate::export::{
    Altered, Anonymous, Case, CaseFile, CaseItem, Changed, LeftOut, Placeholders, Recorded, slug,
};
use crate::model::{BlobHash, Certainty, Cursor, Outcome, StepKind, StepNumber, TapePath};
use crate::replay::workbench::Session;
use crate::replay::{FileAfter, Standing, VolatileSort};
use crate::tape::BlobSource as _;
use crate::text::SafeText;

/// A case on its way.
pub(super) struct Making<'a> {
    pub(super) run: &'a Debugger,
    pub(super) number: StepNumber,
    pub(super) step: u32,
    pub(super) record: CallRecord,
    pub(super) session: Session,
    pub(super) anonymous: Anonymous<'a>,
    pub(super) doubts: Vec<String>,
    pub(super) remarks: Vec<String>,
}

impl Making<'_> {
    /// Files without secrets and places.
    pub(super) fn files(
        &mut self,
        files: BTreeMap<TapePath, CaseFile>,
    ) -> BTreeMap<TapePath, CaseFile> {
        let texts = [
            self.record.output.clone(),
            self.record.call.arguments.to_string(),
        ];
        for text in &texts {
            self.anonymous.remember(text.as_bytes());
        }
        for file in files.values() {
            if let CaseItem::File(bytes) = &file.item {
                self.anonymous.remember(bytes);
            }
        }
        let clean = files.into_iter().map(|(path, mut file)| {
            file.item = match file.item {
                CaseItem::File(bytes) => CaseItem::File(self.content(&path, bytes)),
                CaseItem::Link(target) => {
                    let clean = self.content(&path, Arc::from(target));
                    CaseItem::Link(clean.to_vec())
                }
                item => item,
            };
            (self.anonymous.path(path), file)
        });
        clean.collect()
    }

    /// The later step in which the same call went well, and what the files that changed until
    /// then had become; `None`: there is none, or that is not known of all of them.
    pub(super) fn mended(
        &mut self,
        (line, before): (u16, Cursor),
    ) -> Option<(StepNumber, Changed)> {
        let run = self.run;
        let index = &run.tape.index;
        let (number, entry) = (self.number.0 + 1..)
            .map(StepNumber)
            .map_while(|number| {
                let step = index.step_on(line, number)?;
                Some((number, step, index.steps.get(step)?))
            })
            .filter(|(_, _, entry)| entry.kind == StepKind::Tool && entry.outcome == Outcome::Ok)
            .find(|(_, step, _)| run.recorded_call(*step).call.is_like(&self.record.call))
            .map(|(number, _, entry)| (number, entry))?;
        let at = Cursor {
            position: entry.opened + 1,
            branch: entry.lane.view,
        };
        let blobs = &run.tape.index.blobs;
        let mut changed = Changed::new();
        for id in run.state.touched_between(before, at) {
            let path = run.state.paths.path(id)?;
            let state = run.state.at(blobs, at, id);
            let there = state.filter(|state| state.certainty != Certainty::Absent);
            let file = match there {
                Some(state) => Some(run.case_file(&run.entry(path.clone(), &state)).ok()?),
                None => None,
            };
            match file {
                Some(file) => {
                    let clean = self.files(BTreeMap::from([(path, file)]));
                    changed.extend(clean.into_iter().map(|(path, file)| (path, Some(file))));
                }
                None => {
                    changed.insert(self.anonymous.path(path), None);
                }
            }
        }
        Some((number, changed))
    }

    fn content(&mut self, path: &TapePath, bytes: Arc<[u8]>) -> Arc<[u8]> {
        self.anonymous.bytes(&bytes).unwrap_or_else(|_| {
            let path = path.to_text();
            self.doubts.push(format!(
                "{path} tells of the place of the recording, and is no text in which that could be another"
            ));
            bytes
        })
    }

    /// What the call made of files, as their contents are in the case.
    fn files_after(&mut self) -> BTreeMap<TapePath, FileAfter> {
        let run = self.run;
        let after = run.files_after(self.step).into_iter();
        let after = after.filter(|(path, _)| !path.is_outside());
        let clean = after.map(|(path, mut after)| {
            after.what = match after.what {
                Standing::File(Some(hash)) => {
                    let bytes = run.tape.blob(&hash).ok();
                    let bytes = bytes.map(|bytes| self.content(&path, bytes));
                    Standing::File(Some(bytes.map_or(hash, |bytes| BlobHash::of(&bytes))))
                }
                Standing::Link(target) => {
                    Standing::Link(self.content(&path, Arc::from(target)).to_vec())
                }
                what => what,
            };
            (self.anonymous.path(path), after)
        });
        clean.collect()
    }

    /// The case. Whether its files are all there are, whoever asks for it says.
    pub(super) fn case(&mut self, directory: &str, files: BTreeMap<TapePath, CaseFile>) -> Case {
        let run = self.run;
        let mut expected = self.record.content();
        if self.record.is_cut {
            expected.output = None;
        }
        let is_seen = !self.record.is_suspect && !run.is_doubted(self.step);
        expected.files = is_seen.then(|| self.files_after());
        let mut title = self.title().as_str().to_owned();
        let mut directory = directory.to_owned();
        let mut output = expected.output.clone().unwrap_or_default();
        let mut arguments = self.record.call.arguments.clone();
        self.anonymous.value(&mut arguments);
        for text in [&mut title, &mut directory, &mut output] {
            self.anonymous.text(text);
        }
        for words in self.doubts.iter_mut().chain(&mut self.remarks) {
            self.anonymous.text(words);
        }
        let paths = Recorded::new(run.header.root.as_deref());
        let words = Placeholders::new(&[&output, &directory, &title], &arguments);
        expected.output = expected.output.map(|_| words.hide(&output, &paths));
        let covers = &run.header.covers;
        let ignored = covers.get("ignored").and_then(Value::as_str);
        let title = words.hide(&title, &paths);
        let (number, tool) = (self.number, self.record.call.name.clone());
        let mut session = Session::showing(self.session.largest());
        for (path, seen) in self.session.iter() {
            session.tell(self.anonymous.path(path.clone()), seen);
        }
        Case {
            name: slug(&format!("step-{number}-{tool}-{title}")),
            tool,
            arguments: words.hide_in(&arguments, &paths),
            directory: words.hide(&directory, &paths),
            placeholders: words,
            expected,
            is_trimmed: run.keeps_directory(),
            volatile: VolatileSort::ALL.to_vec(),
            check: None,
            session,
            files,
            is_whole: false,
            left_out: LeftOut {
                git: covers.contains_key("repositories"),
                ignored: ignored.is_some_and(|words| words.starts_with("by ")),
            },
            doubts: std::mem::take(&mut self.doubts),
            remarks: std::mem::take(&mut self.remarks),
            altered: Altered {
                secrets: self.anonymous.secrets(),
                moved: self.anonymous.moved(),
            },
            cut: None,
        }
    }

    /// What the step is called.
    pub(super) fn title(&self) -> SafeText {
        let row = self.run.row(self.line(), self.number);
        row.map(|row| row.title).unwrap_or_default()
    }

    fn line(&self) -> u16 {
        let entry = self.run.tape.index.steps.get(self.step);
        entry.map_or(0, |entry| entry.lane.line)
    }
}
