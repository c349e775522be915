//! Cases on disk: written as a whole or not at all, and read without following a link.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::case::{Case, CaseFile, CaseItem};
use super::form::Form;
use super::manifest;
use super::readme;
use crate::checkout::{CheckoutError, Entry, Item, OutsideLinks, Plan};
use crate::model::{BlobHash, Certainty, TapePath, Tell};
use crate::tape::{BlobError, BlobSource};

/// The manifest's name.
pub const MANIFEST: &str = "case.json";
const OUTPUT: &str = "output.txt";
/// What the call said in the run, where a smaller set of files says something else.
const RECORDED: &str = "recorded.txt";
const FILES: &str = "files";
/// Bytes of a file of a case that are read.
const LARGEST: u64 = 256 << 20;

/// A case could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// There is something in its place.
    #[error("`{}` is there already", .0.display())]
    Exists(PathBuf),
    /// It is not there.
    #[error("there is no `{}`", .0.display())]
    Missing(PathBuf),
    /// There is no case.
    #[error("`{}` holds no test case", .0.display())]
    NotACase(PathBuf),
    /// It is no case that is understood.
    #[error("`{}` cannot be used: {why}", path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Whoever was told broke it off.
    #[error("stopped")]
    Stopped,
    /// A file could not be read or written.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> CaseError {
    let path = path.to_owned();
    move |source| CaseError::Io { path, source }
}

/// Of a place that somebody named.
fn not_there(path: &Path) -> impl FnOnce(io::Error) -> CaseError {
    let path = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::NotFound => CaseError::Missing(path),
        _ => CaseError::Io { path, source },
    }
}

/// Where the contents of entries come from.
#[derive(Default)]
pub(super) struct Contents(RefCell<HashMap<BlobHash, Arc<[u8]>>>);

impl BlobSource for Contents {
    fn blob(&self, hash: &BlobHash) -> Result<Arc<[u8]>, BlobError> {
        let bytes = self.0.borrow().get(hash).cloned();
        bytes.ok_or(BlobError::Missing(*hash))
    }
}

impl Contents {
    /// Files as entries, whose contents are had from here.
    pub(super) fn entries(&self, files: &BTreeMap<TapePath, CaseFile>) -> Vec<Entry> {
        let entries = files.iter().map(|(path, file)| {
            let (certainty, item) = match &file.item {
                CaseItem::Directory => (Certainty::Exact, Item::Directory),
                CaseItem::Link(target) => (Certainty::Exact, Item::Link(target.clone())),
                CaseItem::File(bytes) => {
                    let hash = BlobHash::of(bytes);
                    self.0.borrow_mut().insert(hash, Arc::clone(bytes));
                    (Certainty::Exact, Item::File(Some(hash)))
                }
                CaseItem::Nothing => (Certainty::Absent, Item::File(None)),
                CaseItem::Unknown => (Certainty::Unknown, Item::File(None)),
            };
            Entry {
                path: path.clone(),
                mode: file.mode,
                certainty,
                item,
            }
        });
        entries.collect()
    }
}

/// Writes a case into a directory that is not there yet, or empty; the one above it is. It is
/// there as a whole, or not at all, and not after a break of `tell`. `more`: files beside it, by
/// their plain names.
pub fn write(
    case: &Case,
    form: Form,
    more: &[(&str, Vec<u8>)],
    directory: &Path,
    tell: &mut Tell<'_>,
) -> Result<(), CaseError> {
    write_whole(directory, |place| fill(case, form, more, place, tell))
}

/// Writes files into a directory that is not there yet, or empty: by their paths, which are
/// plain names below plain names. All of them are there, or none.
pub fn write_files(files: &[(String, Vec<u8>)], directory: &Path) -> Result<(), CaseError> {
    write_whole(directory, |place| {
        for (name, bytes) in files {
            let path = place.join(name);
            if let Some(above) = path.parent() {
                fs::create_dir_all(above).map_err(failed(above))?;
            }
            fs::write(&path, bytes).map_err(failed(&path))?;
        }
        Ok(())
    })
}

/// Fills a new directory beside the one that is named, and gives it that name.
fn write_whole(
    directory: &Path,
    fill: impl FnOnce(&Path) -> Result<(), CaseError>,
) -> Result<(), CaseError> {
    // No name can be given to where somebody is, or to what is above.
    let has_name = directory.file_name().is_some();
    if !has_name || fs::symlink_metadata(directory).is_ok_and(|it| !it.is_dir()) {
        return Err(CaseError::Exists(directory.to_owned()));
    }
    let above = match directory.parent() {
        Some(above) if above.as_os_str().is_empty() => Path::new("."),
        Some(above) => above,
        None => return Err(CaseError::Exists(directory.to_owned())),
    };
    fs::metadata(above).map_err(not_there(above))?;
    let staged = tempfile::Builder::new()
        .prefix(".jukebox-case-")
        .tempdir_in(above);
    // It says where the directory would have been, which is nobody's wish.
    let staged = staged.map_err(|error| io::Error::from(error.kind()));
    let mut staged = staged.map_err(failed(above))?;
    fill(staged.path())?;
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(staged.path(), open).map_err(failed(directory))?;
    match fs::rename(staged.path(), directory) {
        Ok(()) => {
            // It has another name now.
            staged.disable_cleanup(true);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Err(CaseError::Exists(directory.to_owned()))
        }
        Err(error) => Err(failed(directory)(error)),
    }
}

fn fill(
    case: &Case,
    form: Form,
    more: &[(&str, Vec<u8>)],
    directory: &Path,
    tell: &mut Tell<'_>,
) -> Result<(), CaseError> {
    let put = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        fs::write(&path, bytes).map_err(failed(&path))
    };
    let unusable = |why: String| CaseError::Unusable {
        path: directory.to_owned(),
        why,
    };
    let manifest = manifest::to_json(case).map_err(|why| unusable(why.to_string()))?;
    put(MANIFEST, &manifest)?;
    if let Some(output) = &case.expected.output {
        put(OUTPUT, output.as_bytes())?;
    }
    put("README.md", readme::of(case).as_bytes())?;
    if let Some(cut) = &case.cut {
        put(RECORDED, cut.said.as_bytes())?;
    }
    put(".gitattributes", b"* -text\n")?;
    if let Some((name, text)) = form.harness() {
        put(name, text.as_bytes())?;
        if form == Form::Sh {
            let path = directory.join(name);
            let runs = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&path, runs).map_err(failed(&path))?;
        }
    }
    for (name, bytes) in more {
        put(name, bytes)?;
    }
    // The manifest has the modes and the links: here is what people read and edit.
    let contents = Contents::default();
    let mut entries = contents.entries(&case.files);
    entries.retain(|entry| matches!(entry.item, Item::Directory | Item::File(Some(_))));
    for entry in &mut entries {
        entry.mode = None;
    }
    let files = directory.join(FILES);
    let plan = Plan::new(entries, OutsideLinks::Skip);
    let report = match plan.write(&files, &contents, tell) {
        Err(CheckoutError::BrokenOff { .. }) => return Err(CaseError::Stopped),
        written => written.map_err(|why| unusable(why.to_string()))?,
    };
    match report.skipped().next() {
        Some(row) => Err(unusable(format!(
            "{} cannot be written",
            row.path.to_text()
        ))),
        None => Ok(()),
    }
}

/// Says why something is no case, without saying where.
enum Why {
    Words(String),
    Case(CaseError),
}

impl From<String> for Why {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

/// Reads a case.
pub fn read(directory: &Path) -> Result<Case, CaseError> {
    let manifest = directory.join(MANIFEST);
    let text = match read_file(&manifest) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(CaseError::NotACase(directory.to_owned()));
        }
        Err(error) => return Err(failed(&manifest)(error)),
    };
    let content = |path: &TapePath| {
        let bytes = read_below(&directory.join(FILES), path).map_err(Why::Case)?;
        Ok(Arc::from(bytes))
    };
    let words = |name: &str| {
        let path = directory.join(name);
        let bytes = read_file(&path).map_err(|error| Why::Case(failed(&path)(error)))?;
        String::from_utf8(bytes).map_err(|why| Why::Words(format!("{name} is no text: {why}")))
    };
    let output = || words(OUTPUT);
    manifest::from_json(&text, content, output, || words(RECORDED)).map_err(|why| {
        CaseError::Unusable {
            path: directory.to_owned(),
            why: match why {
                Why::Case(error) => error.to_string(),
                Why::Words(why) => why,
            },
        }
    })
}

/// Reads a file, if it is one and no link.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    if found.len() > LARGEST {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    fs::read(path)
}

/// Reads a file below a directory, if no link leads there.
pub(super) fn read_below(directory: &Path, path: &TapePath) -> Result<Vec<u8>, CaseError> {
    let mut place = directory.to_owned();
    for component in path.components() {
        let found = fs::symlink_metadata(&place).map_err(failed(&place))?;
        if !found.is_dir() {
            return Err(failed(&place)(io::Error::from(
                io::ErrorKind::NotADirectory,
            )));
        }
        place.push(std::ffi::OsStr::from_bytes(component));
    }
    read_file(&place).map_err(failed(&place))
}

/// The cases at a path: it is one, or its manifest, or holds some; in the order of their names.
pub fn cases_at(path: &Path) -> Result<Vec<PathBuf>, CaseError> {
    let is_case = |path: &Path| path.join(MANIFEST).is_file();
    if is_case(path) {
        return Ok(vec![path.to_owned()]);
    }
    if path.is_file() {
        return match path.parent() {
            Some(above) if path.ends_with(MANIFEST) && above.as_os_str().is_empty() => {
                Ok(vec![PathBuf::from(".")])
            }
            Some(above) if path.ends_with(MANIFEST) => Ok(vec![above.to_owned()]),
            _ => Err(CaseError::NotACase(path.to_owned())),
        };
    }
    let entries = fs::read_dir(path).map_err(not_there(path))?;
    let mut cases: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_case(path))
        .collect();
    if cases.is_empty() {
        return Err(CaseError::NotACase(path.to_owned()));
    }
    cases.sort();
    Ok(cases)
}
