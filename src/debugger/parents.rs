//! Finding what a fork shares: its parent by the id and the line that it names, and that one's
//! parent.
//!
//! Looked at are, in this order, the files that the user named, the place that the fork's
//! header tells, the fork's own directory, and where the parent was last seen. Only regular
//! files are opened, and only read. A tape that is not the one the fork left is never taken
//! for it. What is known of the parent by the index cache, or because it is open, is known of
//! the fork as well; else the parent is read once.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{Debugger, OpenError, OpenOptions};
use crate::model::{Header, Parent, Problem, ProblemKind};
use crate::state::State;
use crate::tape::{Shared, Tape, TapeBytes, header_of};

/// Files of a directory that are looked at for a tape, at most.
const MAX_NEIGHBOURS: usize = 1_000;
/// A fork of a fork, and so on, as far as that is followed.
const MAX_GENERATIONS: usize = 64;

/// The tape that a fork left.
#[derive(Clone, Debug)]
pub(super) struct Ancestor {
    pub(super) header: Header,
    pub(super) path: PathBuf,
}

/// A tape with what it shares with its parents, as far as they were found.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) bytes: TapeBytes,
    /// Of a fork, what is known of it by its parent.
    pub(super) known: Option<(Tape, State)>,
    /// What is wrong with its parents.
    pub(super) problems: Vec<Problem>,
    /// Its parent, that one's parent, and so on.
    pub(super) ancestors: Vec<Ancestor>,
}

/// Puts what a fork shares before its own lines. Anything that is no fork stays as it is.
/// `kin` is open and may be the parent.
pub(super) fn join(
    bytes: &TapeBytes,
    path: Option<&Path>,
    options: &OpenOptions,
    kin: Option<&Debugger>,
) -> Result<Joined, OpenError> {
    for parent in &options.parents {
        if !parent.is_file() {
            return Err(OpenError::NotFound(parent.display().to_string()));
        }
    }
    let search = Search { options, kin };
    let name = || path.map_or_else(String::new, |path| path.display().to_string());
    search
        .join(bytes, path, &mut Vec::new())
        .map_err(|error| OpenError::Io(name(), error))
}

struct Search<'a> {
    options: &'a OpenOptions,
    kin: Option<&'a Debugger>,
}

impl Search<'_> {
    /// `children` are the ids of the tapes on the way here.
    fn join(
        &self,
        bytes: &TapeBytes,
        path: Option<&Path>,
        children: &mut Vec<String>,
    ) -> io::Result<Joined> {
        let alone = |problems| Joined {
            bytes: bytes.clone(),
            known: None,
            problems,
            ancestors: Vec::new(),
        };
        let Some(header) = header_of(bytes)? else {
            return Ok(alone(Vec::new()));
        };
        let Some(link) = &header.parent else {
            return Ok(alone(Vec::new()));
        };
        children.push(header.id.clone());
        if children.contains(&link.id) || children.len() > MAX_GENERATIONS {
            let why = "its parents lead back to itself; what it holds is shown without them";
            return Ok(alone(vec![of_link(ProblemKind::BrokenReference, why)]));
        }
        let mut changed = None;
        for candidate in self.candidates(link, path) {
            let Some((parent, found)) = open_tape(&candidate, &link.id) else {
                continue;
            };
            let name = short_name(&candidate);
            let mut joined = self.known_by_kin(&name, link, bytes)?;
            if joined.is_none() {
                joined = self.known_by_file(&candidate, (&parent, link), bytes, children)?;
            }
            let Some(mut joined) = joined else {
                changed = changed.or(Some(candidate));
                continue;
            };
            let ancestor = Ancestor {
                header: found,
                path: candidate,
            };
            joined.ancestors.insert(0, ancestor);
            return Ok(joined);
        }
        Ok(alone(vec![match changed {
            Some(path) => of_link(ProblemKind::BrokenReference, &was_changed(link, &path)),
            None => of_link(ProblemKind::MissingPart, &self.was_not_found(link, path)),
        }]))
    }

    /// The fork with these bytes and what it shares, if it left the run that is open.
    fn known_by_kin(
        &self,
        name: &str,
        link: &Parent,
        own: &TapeBytes,
    ) -> io::Result<Option<Joined>> {
        let Some(kin) = self.kin.filter(|kin| kin.header.id == link.id) else {
            return Ok(None);
        };
        let known = known_by((&kin.tape, &kin.state), name, link, own)?;
        Ok(known.map(|known| Joined {
            bytes: known.0.bytes.clone(),
            known: Some(known),
            problems: kin.parent_problems.clone(),
            ancestors: kin.ancestors.clone(),
        }))
    }

    /// The same, if it left the tape in this file.
    fn known_by_file(
        &self,
        path: &Path,
        (parent, link): (&TapeBytes, &Parent),
        own: &TapeBytes,
        children: &mut Vec<String>,
    ) -> io::Result<Option<Joined>> {
        let joined = self.join(parent, Some(path), children)?;
        let begun = joined.known.or_else(|| self.cached(path, &joined.bytes));
        let unread = || (Tape::unread(joined.bytes), State::default());
        let (mut tape, mut state) = begun.unwrap_or_else(unread);
        tape.read_up_to(link.seq, &mut state)?;
        let known = known_by((&tape, &state), &short_name(path), link, own)?;
        Ok(known.map(|known| Joined {
            bytes: known.0.bytes.clone(),
            known: Some(known),
            problems: joined.problems,
            ancestors: joined.ancestors,
        }))
    }

    /// What the cache holds of a tape that is no fork.
    fn cached(&self, path: &Path, bytes: &TapeBytes) -> Option<(Tape, State)> {
        let TapeBytes::File(file) = bytes else {
            return None;
        };
        let cache = self.options.places.cache.as_ref()?;
        cache.entry(path, file)?.open(bytes.clone())
    }

    /// Where the parent may lie, in the order of the search.
    fn candidates(&self, link: &Parent, path: Option<&Path>) -> impl Iterator<Item = PathBuf> {
        let directory = self.directory(path);
        let hint = link.path.as_ref().map(Path::new);
        let mut named = self.options.parents.clone();
        named.extend(hint.map(|hint| directory.join(hint)));
        let name = hint.and_then(Path::file_name);
        named.extend(name.map(|name| directory.join(name)));
        let known = move || self.known(link);
        // What may take many looks comes last, and only if it must.
        let beside = move || neighbours(&directory).filter(|_| !link.id.is_empty());
        let known = std::iter::once_with(known).flatten();
        let beside = std::iter::once_with(beside).flatten();
        let mut seen: Vec<PathBuf> = path.map(Path::to_owned).into_iter().collect();
        named
            .into_iter()
            .chain(known)
            .chain(beside)
            .filter(move |candidate| {
                let is_new = !seen.contains(candidate);
                if is_new {
                    seen.push(candidate.clone());
                }
                is_new
            })
    }

    fn known(&self, link: &Parent) -> Option<PathBuf> {
        let known = self.options.places.known_tapes();
        Some(known.get(&link.id)?.path.clone())
    }

    /// The directory that the fork's hint is relative to.
    fn directory(&self, path: Option<&Path>) -> PathBuf {
        let here = self.options.places.here.clone().unwrap_or_default();
        match path.and_then(Path::parent) {
            Some(directory) => here.join(directory),
            None => here,
        }
    }

    fn was_not_found(&self, link: &Parent, path: Option<&Path>) -> String {
        let directory = self.directory(path);
        let mut places: Vec<String> = Vec::new();
        let named = self.options.parents.iter();
        places.extend(named.map(|parent| format!("at {}", parent.display())));
        places.extend(link.path.as_ref().map(|hint| format!("at {hint}")));
        places.push(format!("in {}", directory.display()));
        let known = self.known(link);
        places.push(match known {
            Some(known) => format!("at {}, where it was last", known.display()),
            None => "among the tapes that were opened before".to_owned(),
        });
        format!(
            "this is a fork, and its parent, the tape {}, was not found: not {}; what the fork \
             holds itself is shown; `--parent FILE` names the parent",
            link.id,
            places.join(", not "),
        )
    }
}

fn was_changed(link: &Parent, path: &Path) -> String {
    format!(
        "this is a fork, and its parent {} was changed: event {} is not the one that the fork \
         left; what the fork holds itself is shown; `--parent FILE` names another copy",
        path.display(),
        link.seq,
    )
}

/// A problem of the line that names the parent.
fn of_link(kind: ProblemKind, message: &str) -> Problem {
    Problem::new(1, 0, kind, message)
}

/// A fork of this tape with what it shares, as far as it is known by that; `None` where this
/// is not the tape that it left.
fn known_by(
    (parent, files): (&Tape, &State),
    name: &str,
    link: &Parent,
    own: &TapeBytes,
) -> io::Result<Option<(Tape, State)>> {
    let shared = Shared::of(parent, name, link.seq)?;
    let Some(shared) = shared.filter(|shared| shared.is_of(link)) else {
        return Ok(None);
    };
    let tape = parent.known_fork(&shared, shared.before(own)?)?;
    let state = files.cut(&tape.index);
    Ok(Some((tape, state)))
}

/// The tape with this id, if it lies there.
fn open_tape(path: &Path, id: &str) -> Option<(TapeBytes, Header)> {
    let (bytes, header) = tape_at(path)?;
    (header.id == id).then_some((bytes, header))
}

/// The tape in a regular file.
pub(super) fn tape_at(path: &Path) -> Option<(TapeBytes, Header)> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let bytes = TapeBytes::File(File::open(path).ok()?.into());
    let header = header_of(&bytes).ok()??;
    Some((bytes, header))
}

/// Files of a directory that may be tapes, by name.
pub(super) fn neighbours(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_tape = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "jsonl")
    };
    let mut paths: Vec<PathBuf> = paths.filter(is_tape).take(MAX_NEIGHBOURS).collect();
    paths.sort();
    paths.into_iter()
}

/// What to call a file where its directory is of no matter.
pub(super) fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
