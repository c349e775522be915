//! The manifest of a case, as JSON: the one file that knows its fields.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::case::{Altered, Case, CaseFile, CaseItem, LeftOut};
use super::minimal::{Cut, Kept};
use super::placeholders::Placeholders;
use crate::model::{BlobHash, Outcome, TapePath};
use crate::replay::workbench::{Seen, Session};
use crate::replay::{CallContent, FileAfter, Predicate, Standing, Test, VolatileSort};

const FORMAT: &str = "jukebox-case";
const VERSION: u32 = 1;

/// The words of the sorts of volatile parts.
const VOLATILE: [(&str, VolatileSort); 4] = [
    ("time", VolatileSort::Time),
    ("id", VolatileSort::Id),
    ("temporary", VolatileSort::Temporary),
    ("duration", VolatileSort::Duration),
];

#[derive(Serialize, Deserialize)]
struct Manifest {
    format: String,
    version: u32,
    name: String,
    call: Call,
    directory: String,
    placeholders: Words,
    expected: Expected,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    check: Option<Check>,
    volatile: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    session: Vec<Read>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    largest: Option<u64>,
    files: Vec<File>,
    whole: bool,
    left_out: Vec<String>,
    doubts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
    #[serde(default)]
    secrets: u32,
    #[serde(default)]
    moved: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    minimal: Option<Minimal>,
}

/// What is to be so of a file after the call.
#[derive(Serialize, Deserialize)]
struct Check {
    path: Bytes,
    is: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    word: Option<String>,
    #[serde(default)]
    not: bool,
}

/// What the agent had seen of a file; without a hash, nothing.
#[derive(Serialize, Deserialize)]
struct Read {
    path: Bytes,
    seen: Option<BlobHash>,
}

#[derive(Serialize, Deserialize)]
struct Minimal {
    least: bool,
    cut: Vec<Less>,
}

/// A file of which less is left: `lines` of it of `of`; without `lines`, nothing.
#[derive(Serialize, Deserialize)]
struct Less {
    path: Bytes,
    lines: Option<usize>,
    of: Option<usize>,
}

#[derive(Serialize, Deserialize)]
struct Call {
    tool: String,
    arguments: Value,
}

#[derive(Serialize, Deserialize)]
struct Words {
    root: String,
    home: String,
}

#[derive(Serialize, Deserialize)]
struct Expected {
    outcome: String,
    exit: Option<i32>,
    output: bool,
    trimmed: bool,
    files: Option<Vec<After>>,
}

#[derive(Serialize, Deserialize)]
struct After {
    path: Bytes,
    what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<BlobHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<Bytes>,
    mode: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct File {
    path: Bytes,
    kind: Kind,
    mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<Bytes>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    Directory,
    Link,
    Nothing,
    Unknown,
}

/// Bytes that are a text most of the time.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Bytes {
    Text(String),
    Other { base64: String },
}

impl Bytes {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Other {
                base64: STANDARD.encode(bytes),
            },
        }
    }

    fn read(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Other { base64 } => STANDARD
                .decode(base64)
                .map_err(|why| format!("a path that is no base64: {why}")),
        }
    }

    fn path(&self) -> Result<TapePath, String> {
        let path = TapePath::new(self.read()?).map_err(|why| format!("a path: {why}"))?;
        if path.is_outside() {
            return Err(format!("{} lies outside of the workspace", path.to_text()));
        }
        Ok(path)
    }
}

fn octal(mode: u32) -> String {
    format!("{mode:o}")
}

fn read_mode(mode: Option<&String>) -> Result<Option<u32>, String> {
    let read =
        |mode: &String| u32::from_str_radix(mode, 8).map_err(|why| format!("mode `{mode}`: {why}"));
    mode.map(read).transpose()
}

/// The manifest of a case.
pub(super) fn to_json(case: &Case) -> serde_json::Result<Vec<u8>> {
    let files = case.files.iter().map(|(path, file)| File {
        path: Bytes::of(path.as_bytes()),
        kind: match file.item {
            CaseItem::File(_) => Kind::File,
            CaseItem::Directory => Kind::Directory,
            CaseItem::Link(_) => Kind::Link,
            CaseItem::Nothing => Kind::Nothing,
            CaseItem::Unknown => Kind::Unknown,
        },
        mode: file.mode.map(octal),
        target: match &file.item {
            CaseItem::Link(target) => Some(Bytes::of(target)),
            _ => None,
        },
    });
    let expected = &case.expected;
    let after = expected.files.as_ref();
    let after = after.map(|after| after.iter().filter_map(after_of).collect());
    let left_out = [
        ("git", case.left_out.git),
        ("ignored", case.left_out.ignored),
    ];
    let left_out = left_out.into_iter().filter(|(_, is_so)| *is_so);
    let words = VOLATILE.iter();
    let words = words.filter(|(_, sort)| case.volatile.contains(sort));
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        version: VERSION,
        name: case.name.clone(),
        call: Call {
            tool: case.tool.clone(),
            arguments: case.arguments.clone(),
        },
        directory: case.directory.clone(),
        placeholders: Words {
            root: case.placeholders.root.clone(),
            home: case.placeholders.home.clone(),
        },
        expected: Expected {
            outcome: expected.outcome.as_str().to_owned(),
            exit: expected.exit,
            output: expected.output.is_some(),
            trimmed: case.is_trimmed,
            files: after,
        },
        check: case.check.as_ref().map(check_of),
        volatile: words.map(|(word, _)| (*word).to_owned()).collect(),
        session: case.session.iter().map(read_of).collect(),
        largest: case.session.largest(),
        files: files.collect(),
        whole: case.is_whole,
        left_out: left_out.map(|(word, _)| word.to_owned()).collect(),
        doubts: case.doubts.clone(),
        remarks: case.remarks.clone(),
        secrets: case.altered.secrets,
        moved: case.altered.moved,
        minimal: case.cut.as_ref().map(minimal_of),
    };
    let mut text = serde_json::to_vec_pretty(&manifest)?;
    text.push(b'\n');
    Ok(text)
}

fn check_of(check: &Predicate) -> Check {
    let (is, word) = match &check.test {
        Test::Grep(pattern) => ("grep", Some(pattern.as_str().to_owned())),
        Test::Exists => ("exists", None),
        Test::Absent => ("absent", None),
        Test::Hash(digits) => ("hash", Some(digits.clone())),
    };
    Check {
        path: Bytes::of(check.path.as_bytes()),
        is: is.to_owned(),
        word,
        not: check.is_negated,
    }
}

fn read_check(check: &Check) -> Result<Predicate, String> {
    let word = || check.word.as_deref().ok_or("a check without its word");
    let test = match check.is.as_str() {
        "grep" => Test::grep(word()?).map_err(|why| why.to_string())?,
        "hash" => Test::hash(word()?).map_err(|why| why.to_string())?,
        "exists" => Test::Exists,
        "absent" => Test::Absent,
        other => return Err(format!("no check is called `{other}`")),
    };
    Ok(Predicate {
        path: check.path.path()?,
        test,
        is_negated: check.not,
    })
}

fn read_of((path, seen): (&TapePath, Seen)) -> Read {
    Read {
        path: Bytes::of(path.as_bytes()),
        seen: match seen {
            Seen::Never => None,
            Seen::As(hash) => Some(hash),
        },
    }
}

fn read_session(reads: &[Read], largest: Option<u64>) -> Result<Session, String> {
    let mut session = Session::showing(largest);
    for read in reads {
        session.tell(read.path.path()?, read.seen.map_or(Seen::Never, Seen::As));
    }
    Ok(session)
}

fn minimal_of(cut: &Cut) -> Minimal {
    let less = cut.files.iter().map(|(path, kept)| {
        let (lines, of) = match *kept {
            Kept::Nothing { lines } => (None, lines),
            Kept::Lines { kept, of } => (Some(kept), Some(of)),
        };
        let path = Bytes::of(path.as_bytes());
        Less { path, lines, of }
    });
    Minimal {
        least: cut.is_least,
        cut: less.collect(),
    }
}

fn read_minimal(minimal: &Minimal, said: String) -> Result<Cut, String> {
    let files = minimal.cut.iter().map(|less| {
        let kept = match (less.lines, less.of) {
            (Some(kept), Some(of)) => Kept::Lines { kept, of },
            (_, lines) => Kept::Nothing { lines },
        };
        Ok((less.path.path()?, kept))
    });
    Ok(Cut {
        files: files.collect::<Result<_, String>>()?,
        is_least: minimal.least,
        said,
    })
}

/// What no tape holds, no case expects.
fn after_of((path, file): (&TapePath, &FileAfter)) -> Option<After> {
    let (mut hash, mut target) = (None, None);
    let what = match &file.what {
        Standing::Nothing => "nothing",
        Standing::Directory => "directory",
        Standing::File(content) => {
            hash = *content;
            "file"
        }
        Standing::Link(text) => {
            target = Some(Bytes::of(text));
            "link"
        }
        Standing::Special(_) => return None,
    };
    Some(After {
        path: Bytes::of(path.as_bytes()),
        what: what.to_owned(),
        hash,
        target,
        mode: file.mode.map(octal),
    })
}

/// A case from its manifest; the contents of its files and its output are asked for.
pub(super) fn from_json<E: From<String>>(
    text: &[u8],
    content: impl Fn(&TapePath) -> Result<Arc<[u8]>, E>,
    output: impl FnOnce() -> Result<String, E>,
    recorded: impl FnOnce() -> Result<String, E>,
) -> Result<Case, E> {
    let manifest: Manifest =
        serde_json::from_slice(text).map_err(|why| E::from(why.to_string()))?;
    if manifest.format != FORMAT || manifest.version != VERSION {
        let found = format!("{} {}", manifest.format, manifest.version);
        return Err(format!("it is {found}, and {FORMAT} {VERSION} is read here").into());
    }
    let outcome = [Outcome::Failed, Outcome::Ok]
        .into_iter()
        .find(|outcome| outcome.as_str() == manifest.expected.outcome);
    let outcome = outcome.filter(|it| *it == Outcome::Failed || manifest.check.is_some());
    let Some(outcome) = outcome else {
        return Err("it expects no failure".to_owned().into());
    };
    if manifest.placeholders.root.is_empty() || manifest.placeholders.home.is_empty() {
        return Err("a placeholder is empty".to_owned().into());
    }
    let mut files = BTreeMap::new();
    for file in &manifest.files {
        let path = file.path.path()?;
        let item = match (&file.kind, &file.target) {
            (Kind::File, _) => CaseItem::File(content(&path)?),
            (Kind::Directory, _) => CaseItem::Directory,
            (Kind::Link, Some(target)) => CaseItem::Link(target.read()?),
            (Kind::Link, None) => return Err("a link without a target".to_owned().into()),
            (Kind::Nothing, _) => CaseItem::Nothing,
            (Kind::Unknown, _) => CaseItem::Unknown,
        };
        let mode = read_mode(file.mode.as_ref())?;
        files.insert(path, CaseFile { mode, item });
    }
    let after = manifest.expected.files.as_ref();
    let after = after.map(|after| after.iter().map(read_after).collect::<Result<_, String>>());
    let mut volatile = Vec::new();
    for word in &manifest.volatile {
        let found = VOLATILE.iter().find(|(name, _)| name == word);
        let (_, sort) = found.ok_or_else(|| format!("no volatile part is called `{word}`"))?;
        volatile.push(*sort);
    }
    let cut = match &manifest.minimal {
        Some(minimal) => Some(read_minimal(minimal, recorded()?)?),
        None => None,
    };
    let is_left_out = |name: &str| manifest.left_out.iter().any(|word| word == name);
    Ok(Case {
        left_out: LeftOut {
            git: is_left_out("git"),
            ignored: is_left_out("ignored"),
        },
        name: super::slug(&manifest.name),
        tool: manifest.call.tool,
        arguments: manifest.call.arguments,
        directory: manifest.directory,
        placeholders: Placeholders {
            root: manifest.placeholders.root,
            home: manifest.placeholders.home,
        },
        expected: CallContent {
            outcome,
            exit: manifest.expected.exit,
            output: manifest.expected.output.then(output).transpose()?,
            files: after.transpose()?,
        },
        is_trimmed: manifest.expected.trimmed,
        check: manifest.check.as_ref().map(read_check).transpose()?,
        volatile,
        session: read_session(&manifest.session, manifest.largest)?,
        files,
        is_whole: manifest.whole,
        doubts: manifest.doubts,
        remarks: manifest.remarks,
        altered: Altered {
            secrets: manifest.secrets,
            moved: manifest.moved,
        },
        cut,
    })
}

fn read_after(after: &After) -> Result<(TapePath, FileAfter), String> {
    let what = match (after.what.as_str(), &after.target) {
        ("nothing", _) => Standing::Nothing,
        ("directory", _) => Standing::Directory,
        ("file", _) => Standing::File(after.hash),
        ("link", Some(target)) => Standing::Link(target.read()?),
        (word, _) => return Err(format!("no file is a `{word}`")),
    };
    let mode = read_mode(after.mode.as_ref())?;
    Ok((after.path.path()?, FileAfter { what, mode }))
}
