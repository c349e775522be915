//! What a watch covers, in words: how much there is, and what is left out, by name.

use std::os::fd::OwnedFd;

use serde_json::{Map, Value};

use super::disk::{self, Sort};
use super::known::{Known, KnownDirectory, Left, push, split};
use super::{Caps, Capture, IgnorePolicy};
use crate::text::human;

/// Names of one sort that are told; more are counted.
const TOLD: usize = 20;
/// Files below directories that are left out: so many are counted.
const COUNTED: usize = 100_000;

/// What was there when the watch began, and what of it is left out.
#[derive(Debug, Default)]
pub(super) struct Survey {
    files: usize,
    directories: usize,
    links: usize,
    ignored: Vec<String>,
    oversized: Vec<String>,
    special: Vec<String>,
    unreadable: Vec<String>,
    elsewhere: Vec<String>,
    too_deep: Vec<String>,
}

impl Survey {
    pub(super) fn of(
        root: &OwnedFd,
        known: &KnownDirectory,
        left: &[(Vec<u8>, Left)],
        caps: &Caps,
    ) -> Self {
        let mut survey = Self::default();
        survey.count(root, known, &mut Vec::new(), caps);
        let mut budget = COUNTED;
        for (path, left) in left {
            let name = String::from_utf8_lossy(path).into_owned();
            match left {
                Left::Own => {}
                Left::Ignored => survey.ignored.push(below(root, path, &name, &mut budget)),
                Left::Special(sort) => survey.special.push(format!("{name} ({sort})")),
                Left::OtherDevice => survey.elsewhere.push(name),
                Left::TooDeep => survey.too_deep.push(name),
            }
        }
        survey
    }

    fn count(&mut self, at: &OwnedFd, known: &KnownDirectory, path: &mut Vec<u8>, caps: &Caps) {
        for (name, known) in &known.entries {
            let len = path.len();
            push(path, name);
            let told = || String::from_utf8_lossy(path).into_owned();
            match known {
                Known::File(file) => {
                    self.files += 1;
                    if file.stat.size > caps.keep {
                        let size = human::size(file.stat.size);
                        self.oversized.push(format!("{} ({size})", told()));
                    }
                    if !disk::is_readable(at, name) {
                        self.unreadable.push(told());
                    }
                }
                Known::Directory(below) => {
                    self.directories += 1;
                    match disk::open_directory(at, name) {
                        Ok(opened) => self.count(&opened, below, path, caps),
                        Err(_) => self.unreadable.push(format!("{}/", told())),
                    }
                }
                Known::Link { .. } => self.links += 1,
                Known::Left(_) => {}
            }
            path.truncate(len);
        }
    }
}

impl Capture {
    /// What is covered and what is not, for the header of a tape: what, and the words.
    pub fn covers(&self) -> Map<String, Value> {
        let survey = &self.survey;
        let caps = &self.options.caps;
        let hears = self.watcher.as_ref().is_some_and(super::Watcher::hears_all);
        let mut covers = Map::new();
        let mut say = |what: &str, words: String| {
            covers.insert(what.to_owned(), words.into());
        };
        say(
            "files",
            format!(
                "{}, {} and {} of {}, with content and mode; read before and after each call, \
                 {}",
                human::plural(survey.files as u64, "file", "files"),
                human::plural(survey.directories as u64, "directory", "directories"),
                human::plural(survey.links as u64, "link", "links"),
                self.path.display(),
                if hears {
                    "where the system says that something happened"
                } else {
                    "wherever size or times differ"
                },
            ),
        );
        say(
            "kept",
            format!(
                "contents up to {} each, {} of what was there at the start; of others the \
                 hash, up to {}",
                human::size(caps.keep),
                human::size(caps.start),
                human::size(caps.hash),
            ),
        );
        say(
            "repositories",
            "what is called .git is not looked into; nested repositories are plain files"
                .to_owned(),
        );
        say(
            "not recorded",
            "owners, times, extended attributes, access lists; a file written through shared \
             memory is noticed when its times change"
                .to_owned(),
        );
        let ignored = match (self.options.ignore, self.coverage.rules.files()) {
            (IgnorePolicy::Nothing, _) => "nothing: .gitignore was not asked".to_owned(),
            (IgnorePolicy::AtStart, 0) => "nothing: there is no .gitignore".to_owned(),
            (IgnorePolicy::AtStart, files) => format!(
                "by {} as at the start: {}",
                human::plural(files as u64, ".gitignore", ".gitignore files"),
                list(&survey.ignored).unwrap_or_else(|| "nothing".to_owned()),
            ),
        };
        say("ignored", ignored);
        for (what, names) in [
            ("oversized", &survey.oversized),
            ("special", &survey.special),
            ("unreadable", &survey.unreadable),
            ("other file systems", &survey.elsewhere),
            ("too deep", &survey.too_deep),
        ] {
            if let Some(names) = list(names) {
                say(what, names);
            }
        }
        covers
    }
}

/// The first names, and how many more there are; `None` if there are none.
fn list(names: &[String]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let told: Vec<&str> = names.iter().take(TOLD).map(String::as_str).collect();
    let told = told.join(", ");
    Some(match names.len().saturating_sub(TOLD) {
        0 => told,
        more => format!("{told}, and {more} more"),
    })
}

/// A name that is left out; of a directory with how many files are below it.
fn below(root: &OwnedFd, path: &[u8], name: &str, budget: &mut usize) -> String {
    let (above, last) = split(path);
    let at = disk::open_beneath(root, above);
    let Some(directory) = at.and_then(|at| disk::open_directory(at, last)).ok() else {
        return name.to_owned();
    };
    let before = *budget;
    count_files(&directory, budget, 0);
    let files = human::plural((before - *budget) as u64, "file", "files");
    match *budget {
        0 => format!("{name}/ (more than {files})"),
        _ => format!("{name}/ ({files})"),
    }
}

fn count_files(at: &OwnedFd, budget: &mut usize, depth: usize) {
    const DEEPEST: usize = 100;
    for name in disk::names(at).unwrap_or_default() {
        if *budget == 0 {
            return;
        }
        match disk::look(at, &name) {
            Ok(seen) if seen.sort == Sort::Directory => {
                if depth < DEEPEST
                    && let Ok(opened) = disk::open_directory(at, &name)
                {
                    count_files(&opened, budget, depth + 1);
                }
            }
            _ => *budget -= 1,
        }
    }
}
