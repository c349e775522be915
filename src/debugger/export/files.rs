//! The files that a case of a call holds, and what is not known of them.

use std::collections::BTreeMap;

use super::super::Debugger;
use super::super::replay::CallRecord;
use super::{CaseFiles, ExportError};
use crate::checkout::{Entry, Item};
use crate::export::{CaseError, CaseFile, CaseItem, Touched};
use crate::model::{Certainty, Cursor, Progress, TapePath, Tell, Unit};
use crate::tape::BlobSource as _;
use crate::tools::{Asked, Refusal};

/// Which files are wanted of a workspace.
pub(super) struct Wanted {
    /// All of them.
    pub(super) all: bool,
    /// Those at these paths.
    pub(super) paths: Vec<TapePath>,
    /// Those that are named in these texts.
    pub(super) touched: Touched,
    /// What the call itself told of its file.
    pub(super) told: Option<(TapePath, CaseItem)>,
    /// Whether it is a command, for which `.gitignore` counts.
    pub(super) runs: bool,
    /// The file of which the call itself says what made it fail, and that in words.
    pub(super) proven: Option<(TapePath, &'static str)>,
}

/// Something that is not known, and need not be.
pub(super) struct Settled {
    /// As a doubt.
    pub(super) doubt: String,
    /// Why it does not matter.
    pub(super) remark: String,
}

/// The files that a case of a call holds.
#[derive(Default)]
pub(super) struct Found {
    pub(super) files: BTreeMap<TapePath, CaseFile>,
    /// How many there are beside them.
    pub(super) others: usize,
    /// What is not known.
    pub(super) doubts: Vec<String>,
    /// What is not known, and does not matter where the call fails on these files as it did:
    /// what it says itself decides.
    pub(super) settled: Vec<Settled>,
}

impl Debugger {
    /// Which files a case of a call is to hold.
    pub(super) fn wanted(
        &self,
        step: u32,
        record: &CallRecord,
        directory: &str,
        files: CaseFiles,
    ) -> Wanted {
        let asked = Asked::of(&record.call.name, &record.call.arguments);
        let runs = matches!(asked, Asked::Run(_));
        let mut touched = Touched::default();
        if runs || files == CaseFiles::Touched {
            touched.take_value(&record.call.arguments);
            touched.take(&record.output);
        }
        let named = asked.paths().into_iter();
        let named = named.filter_map(|path| self.path_from(&path, directory));
        let changed = self.files_after(step).into_keys();
        Wanted {
            all: files == CaseFiles::All || runs && files != CaseFiles::Touched,
            told: (!runs).then(|| self.told(record, directory)).flatten(),
            proven: (!runs).then(|| self.proven(record, directory)).flatten(),
            paths: named.chain(changed).collect(),
            touched,
            runs,
        }
    }

    /// What a call that failed told of its file: that it is there, or is not, or is a directory.
    fn told(&self, record: &CallRecord, directory: &str) -> Option<(TapePath, CaseItem)> {
        let item = match record.refusal()? {
            Refusal::Unread => CaseItem::Unknown,
            Refusal::NoFile => CaseItem::Nothing,
            Refusal::Directory => CaseItem::Directory,
            _ => return None,
        };
        let path = self.only_path(record, directory)?;
        (!path.is_outside()).then_some((path, item))
    }

    /// What a call that failed said of the content of its file: whoever wrote it since it was
    /// last known, that much of it is sure.
    fn proven(&self, record: &CallRecord, directory: &str) -> Option<(TapePath, &'static str)> {
        let words = match record.refusal()? {
            Refusal::NotFound => "the text to replace was not in it",
            Refusal::Ambiguous => "the text to replace was in it more than once",
            Refusal::Exists => "it was there",
            Refusal::Same => "nothing of it would change",
            _ => return None,
        };
        Some((self.only_path(record, directory)?, words))
    }

    /// The files that a case of a call holds.
    pub(super) fn case_files(
        &self,
        before: Cursor,
        wanted: &Wanted,
        tell: &mut Tell<'_>,
    ) -> Result<Found, ExportError> {
        let is_wanted = |path: &TapePath| {
            let is_rules = wanted.runs && path.name() == b".gitignore";
            wanted.all || is_rules || wanted.paths.contains(path) || wanted.touched.names(path)
        };
        let told = wanted.told.as_ref();
        // Whether the tape leaves open what is at the path of which the call told.
        let mut is_open = !self.state.is_whole(before);
        let mut found = Found::default();
        let files = &mut found.files;
        let mut directories = BTreeMap::new();
        let entries = self.entries(before);
        let of = entries.len() as u64;
        for (done, entry) in (0..).zip(entries) {
            let unit = Unit::Entries;
            if tell(Progress { done, of, unit }).is_break() {
                return Err(CaseError::Stopped.into());
            }
            if entry.path.is_outside() {
                continue;
            }
            let is_wanted = is_wanted(&entry.path);
            if !is_wanted && !matches!(entry.item, Item::Directory) {
                found.others += 1;
                continue;
            }
            match self.case_file(&entry) {
                Ok(file) if file.item == CaseItem::Directory && !is_wanted => {
                    directories.insert(entry.path, file);
                }
                Ok(file) if is_wanted => {
                    files.insert(entry.path, file);
                }
                // The call itself says enough of it.
                Err(_) if told.is_some_and(|(path, _)| *path == entry.path) => is_open = true,
                Err(why) if is_wanted => {
                    let file = self.uncertain_file(&entry);
                    let proven = wanted
                        .proven
                        .as_ref()
                        .filter(|(path, _)| *path == entry.path);
                    match proven.filter(|_| file.is_some()) {
                        Some((path, said)) => {
                            let path = path.to_text();
                            let remark = format!(
                                "{path} may have been written since it was last known: whatever it \
                                 held, its tool says that {said}"
                            );
                            let doubt = why;
                            found.settled.push(Settled { doubt, remark });
                        }
                        None => found.doubts.push(why),
                    }
                    if let Some(file) = file {
                        files.insert(entry.path, file);
                    }
                }
                Ok(_) | Err(_) => {}
            }
        }
        if let Some((path, item)) = told
            && is_open
            && !files.contains_key(path)
        {
            files.insert(path.clone(), CaseFile::of(item.clone()));
        }
        // What lies above a file of the case is as it was.
        let mut above: Vec<TapePath> = files.keys().filter_map(TapePath::parent).collect();
        while let Some(path) = above.pop() {
            if let Some(file) = directories.remove(&path) {
                above.extend(path.parent());
                files.insert(path, file);
            }
        }
        Ok(found)
    }

    /// A file as a case holds it; or why it cannot.
    pub(super) fn case_file(&self, entry: &Entry) -> Result<CaseFile, String> {
        let path = entry.path.to_text();
        let item = match &entry.item {
            Item::Directory => CaseItem::Directory,
            _ if entry.certainty != Certainty::Exact => {
                return Err(format!("{path} is {} here", entry.certainty));
            }
            Item::Link(target) => CaseItem::Link(target.clone()),
            Item::File(None) => return Err(format!("the content of {path} is not known")),
            Item::File(Some(hash)) => match self.tape.blob(hash) {
                Ok(bytes) => CaseItem::File(bytes),
                Err(why) => return Err(format!("{path}: {why}")),
            },
        };
        let mode = entry.mode;
        Ok(CaseFile { mode, item })
    }

    /// A file as it was last known, though something may have written it since.
    fn uncertain_file(&self, entry: &Entry) -> Option<CaseFile> {
        match &entry.item {
            Item::File(Some(hash)) if entry.certainty == Certainty::Uncertain => Some(CaseFile {
                mode: entry.mode,
                item: CaseItem::File(self.tape.blob(hash).ok()?),
            }),
            _ => None,
        }
    }
}
