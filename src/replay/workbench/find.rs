//! Tools that search for files, as functions of the tree: `Glob` and `Grep` of Claude Code.
//!
//! What they find is known from names and contents; in which order they tell it is not, for they
//! go by the times of files, which no tape holds. Here it is told in the order of names, and said
//! so ([`Words::AnyOrder`]). Where versions of a tool mean different things by the same
//! arguments, a call is answered only if all of them find the same. A search that is cut off
//! depends on the order, and is not answered.

use std::sync::Arc;

use gix::bstr::BStr;
use gix::glob::pattern::Case;
use gix::glob::wildmatch;
use gix::glob::wildmatch::Mode;
use regex::bytes::{Regex, RegexBuilder};

use super::look;
use super::tree::{Found, Tree};
use super::{Answer, NotAttempted, Place, Words};
use crate::capture::IgnoreRules;
use crate::checkout::{Entry, Item};
use crate::model::{Certainty, Outcome, TapePath};
use crate::tools::{Find, Sought, Unanswerable};

/// Files that `Glob` names at most.
const MOST_NAMES: usize = 100;
/// Lines that `Grep` tells at most in any version, where nobody says how many.
const MOST_LINES: usize = 250;
/// A line that is longer is cut by some versions.
const LONGEST: usize = 500;
/// Alternatives that braces of a pattern may stand for.
const MOST_ALTERNATIVES: usize = 64;
/// Files with rules that are not read here.
const OTHER_RULES: [&[u8]; 2] = [b".ignore", b".rgignore"];

/// Answers a search.
pub(super) fn answer(
    tree: &Tree<'_>,
    place: Place<'_>,
    find: &Find,
) -> Result<Answer, NotAttempted> {
    let lines = match find {
        Find::Names { pattern, path } => names(tree, place, pattern, path.as_deref())?,
        Find::Lines {
            pattern,
            path,
            glob,
            ignores_case,
            shown,
            most,
        } => {
            let expression = RegexBuilder::new(pattern)
                .case_insensitive(*ignores_case)
                .build()
                .map_err(|_error| Unanswerable::Options)?;
            let search = Search {
                tree,
                place,
                expression,
                glob: glob.as_deref().map(alternatives).transpose()?,
            };
            let lines = search.lines(path.as_deref(), *shown)?;
            let most = most.map_or(MOST_LINES, |most| {
                usize::try_from(most).unwrap_or(MOST_LINES)
            });
            if most > 0 && lines.len() > most.min(MOST_LINES) {
                return Err(Unanswerable::Order.into());
            }
            told(lines, *shown)
        }
    };
    Ok(Answer {
        output: lines.join("\n"),
        words: Words::AnyOrder,
        outcome: Outcome::Ok,
        ..look::answer(String::new())
    })
}

/// The files of the workspace whose paths fit.
fn names(
    tree: &Tree<'_>,
    place: Place<'_>,
    pattern: &str,
    path: Option<&str>,
) -> Result<Vec<String>, NotAttempted> {
    let base = base(tree, place, path)?;
    if pattern.starts_with(['/', '~', '!']) {
        return Err(Unanswerable::Options.into());
    }
    let patterns = alternatives(pattern)?;
    let mut found = Vec::new();
    for entry in tree.entries() {
        let Some(below) = base.below(&entry.path) else {
            continue;
        };
        let at = |is_deep: bool, case: Case| {
            let mut patterns = patterns.iter();
            patterns.any(|pattern| fits(pattern, below, is_deep, case))
        };
        let fits = at(true, Case::Fold);
        if !fits || matches!(entry.item, Item::Directory) {
            continue;
        }
        // Some look at the top only where a pattern has no slash, and some at small letters.
        if !at(false, Case::Sensitive) {
            return Err(Unanswerable::Versions.into());
        }
        match &entry.item {
            Item::Link(_) => return Err(NotAttempted::ThroughLink(entry.path.clone())),
            _ => found.push(absolute(place.root, &entry.path)),
        }
    }
    if found.len() > MOST_NAMES {
        return Err(Unanswerable::Order.into());
    }
    if found.is_empty() {
        found.push("No files found".to_owned());
    }
    Ok(found)
}

/// Where a search begins.
enum Base {
    /// The whole workspace.
    Root,
    /// A directory of it.
    Directory(TapePath),
    /// A file alone.
    File(TapePath),
}

impl Base {
    /// What of a path lies below it; `None`: it lies elsewhere.
    fn below<'p>(&self, path: &'p TapePath) -> Option<&'p [u8]> {
        if path.is_outside() {
            return None;
        }
        match self {
            Self::Root => Some(path.as_bytes()),
            Self::Directory(base) => path
                .as_bytes()
                .strip_prefix(base.as_bytes())?
                .strip_prefix(b"/"),
            Self::File(file) => (path == file).then(|| path.as_bytes()),
        }
    }
}

/// Where a search begins: at a file that is known, or in a workspace of which every name is.
fn base(tree: &Tree<'_>, place: Place<'_>, path: Option<&str>) -> Result<Base, NotAttempted> {
    let path = path.unwrap_or(place.directory);
    if path.starts_with('~') {
        return Err(Unanswerable::Options.into());
    }
    let absolute = super::seen_from(place.directory, path);
    if super::below(absolute.trim_end_matches("/."), place.root)
        .is_some_and(|below| below.trim_matches(['/', '.']).is_empty())
    {
        return whole(tree).map(|()| Base::Root);
    }
    let path = place.path(path)?;
    if path.is_outside() {
        return Err(NotAttempted::Inexact {
            path,
            certainty: Certainty::Unknown,
            more: 0,
        });
    }
    match tree.get(&path).map(|entry| &entry.item) {
        Some(Item::File(_)) => Ok(Base::File(path)),
        Some(Item::Link(_)) => Err(NotAttempted::ThroughLink(path)),
        Some(Item::Directory) => whole(tree).map(|()| Base::Directory(path)),
        // What is said then differs from version to version.
        None => whole(tree).and(Err(Unanswerable::Versions.into())),
    }
}

fn whole(tree: &Tree<'_>) -> Result<(), NotAttempted> {
    if tree.is_whole() {
        Ok(())
    } else {
        Err(NotAttempted::NamesNotWhole)
    }
}

/// A search for lines.
struct Search<'a> {
    tree: &'a Tree<'a>,
    place: Place<'a>,
    expression: Regex,
    glob: Option<Vec<String>>,
}

impl Search<'_> {
    /// What is told, before it is counted.
    fn lines(&self, path: Option<&str>, shown: Sought) -> Result<Vec<String>, NotAttempted> {
        let base = base(self.tree, self.place, path)?;
        let is_one = matches!(base, Base::File(_));
        // A file that is named is searched whatever the rules say.
        let rules = if is_one {
            IgnoreRules::default()
        } else {
            self.rules()?
        };
        let mut told = Vec::new();
        for entry in self.tree.entries() {
            if base.below(&entry.path).is_none() || !matches!(entry.item, Item::File(_)) {
                continue;
            }
            let path = entry.path.as_bytes();
            let is_wanted = self.glob.as_ref().is_none_or(|patterns| {
                let mut patterns = patterns.iter();
                patterns.any(|pattern| fits(pattern, path, true, Case::Sensitive))
            });
            if !is_wanted || rules.leave_out(&entry.path) {
                continue;
            }
            let around = match shown {
                Sought::Lines { around, .. } => around,
                Sought::Files | Sought::Counts => (0, 0),
            };
            let bytes = self.bytes(entry)?;
            let lines = self.lines_of(&bytes, around)?;
            if lines.is_empty() {
                continue;
            }
            let name = entry.path.to_text();
            match shown {
                Sought::Files => told.push(name),
                Sought::Counts => told.push(format!("{name}:{}", lines.len())),
                Sought::Lines { are_numbered, .. } => {
                    let mut last = None;
                    for Line { number, text, fits } in lines {
                        // Between lines that do not follow one another stands a mark.
                        let is_apart = last.is_some_and(|last| last + 1 < number);
                        let is_first = last.is_none() && !told.is_empty();
                        if around != (0, 0) && (is_apart || is_first) {
                            told.push("--".to_owned());
                        }
                        last = Some(number);
                        let sign = if fits { ':' } else { '-' };
                        let mut line = String::new();
                        if !is_one {
                            line.extend([name.as_str(), sign.encode_utf8(&mut [0; 4])]);
                        }
                        if are_numbered {
                            line.extend([number.to_string(), sign.to_string()]);
                        }
                        line.push_str(&text);
                        told.push(line);
                    }
                }
            }
        }
        Ok(told)
    }

    fn bytes(&self, entry: &Entry) -> Result<Arc<[u8]>, NotAttempted> {
        match self.tree.find(&entry.path)? {
            Found::File(bytes) => Ok(bytes),
            Found::Directory | Found::Nothing => Ok(Arc::default()),
        }
    }

    /// The lines that fit, and so many around each.
    fn lines_of(&self, bytes: &[u8], around: (u64, u64)) -> Result<Vec<Line>, NotAttempted> {
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let fits = |line: &&[u8]| self.expression.is_match(line);
        let found: Vec<bool> = lines.iter().map(fits).collect();
        if !found.contains(&true) {
            return Ok(Vec::new());
        }
        let length = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let (before, behind) = (length(around.0), length(around.1));
        let mut wanted = vec![false; lines.len()];
        for (at, _) in found.iter().enumerate().filter(|(_, fits)| **fits) {
            let range =
                at.saturating_sub(before)..at.saturating_add(behind).min(lines.len() - 1) + 1;
            wanted
                .get_mut(range)
                .into_iter()
                .flatten()
                .for_each(|it| *it = true);
        }
        let is_binary = bytes.contains(&0);
        let mut told = Vec::new();
        for (at, (line, fits)) in lines.into_iter().zip(found).enumerate() {
            if !wanted.get(at).is_some_and(|is_wanted| *is_wanted) {
                continue;
            }
            // What is no text, and what is very long, is told in other ways.
            let text = std::str::from_utf8(line).ok();
            let text = text.filter(|text| text.len() <= LONGEST && !is_binary);
            let text = text.ok_or(Unanswerable::Form)?.to_owned();
            told.push(Line {
                number: at + 1,
                text,
                fits,
            });
        }
        Ok(told)
    }

    /// The rules by which files are passed over.
    fn rules(&self) -> Result<IgnoreRules, NotAttempted> {
        let mut rules = IgnoreRules::default();
        for entry in self.tree.entries().filter(|entry| !entry.path.is_outside()) {
            let name = entry.path.name();
            if OTHER_RULES.contains(&name) {
                return Err(Unanswerable::Options.into());
            }
            if name == b".gitignore" && matches!(entry.item, Item::File(_)) {
                let above = entry.path.parent();
                let above = above.as_ref().map_or(&b""[..], TapePath::as_bytes);
                rules.take(above, &self.bytes(entry)?);
            }
        }
        Ok(rules)
    }
}

/// A line that is told.
struct Line {
    number: usize,
    text: String,
    /// It is one that was looked for, and not beside one.
    fits: bool,
}

/// What `Grep` says of what it found.
fn told(found: Vec<String>, shown: Sought) -> Vec<String> {
    match shown {
        Sought::Files if found.is_empty() => vec!["No files found".to_owned()],
        Sought::Files => {
            let noun = if found.len() == 1 { "file" } else { "files" };
            let head = format!("Found {} {noun}", found.len());
            std::iter::once(head).chain(found).collect()
        }
        Sought::Lines { .. } | Sought::Counts if found.is_empty() => {
            vec!["No matches found".to_owned()]
        }
        Sought::Lines { .. } | Sought::Counts => found,
    }
}

/// The patterns that one with braces stands for.
fn alternatives(pattern: &str) -> Result<Vec<String>, NotAttempted> {
    if pattern.contains([' ', '\\', '!']) || pattern.is_empty() {
        return Err(Unanswerable::Options.into());
    }
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(pattern) = open.pop() {
        if done.len() + open.len() > MOST_ALTERNATIVES {
            return Err(Unanswerable::Options.into());
        }
        let Some((before, rest)) = pattern.split_once('{') else {
            done.push(pattern);
            continue;
        };
        let Some((inside, behind)) = rest.split_once('}') else {
            return Err(Unanswerable::Options.into());
        };
        if inside.contains('{') {
            return Err(Unanswerable::Options.into());
        }
        let parts = inside.split(',');
        open.extend(parts.map(|part| format!("{before}{part}{behind}")));
    }
    Ok(done)
}

/// Whether a path fits a pattern. `is_deep`: one without a slash fits names at any depth.
fn fits(pattern: &str, path: &[u8], is_deep: bool, case: Case) -> bool {
    let name = match memchr::memrchr(b'/', path) {
        Some(slash) if is_deep && !pattern.contains('/') => path.get(slash + 1..),
        _ => Some(path),
    };
    let mut mode = Mode::NO_MATCH_SLASH_LITERAL;
    if case == Case::Fold {
        mode |= Mode::IGNORE_CASE;
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    name.is_some_and(|name| wildmatch(BStr::new(pattern), BStr::new(name), mode))
}

fn absolute(root: &str, path: &TapePath) -> String {
    format!("{}/{}", root.trim_end_matches('/'), path.to_text())
}
