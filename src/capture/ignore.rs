//! Which files are left out because the people who work there leave them out: `.gitignore`.
//!
//! Read once, when the watch begins, so that what is covered does not change with what an
//! agent writes. Only the files in the tree count: no configuration of the user's, none of
//! the repository's own.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use gix::bstr::BStr;
use gix::glob::{Pattern, pattern::Case, wildmatch::Mode};

use super::Caps;
use super::disk::{self, Held};
use super::known::split;
use crate::model::TapePath;

/// The name of the files that hold the rules.
const FILE: &[u8] = b".gitignore";
/// Rules of one file that are read.
const MOST: usize = 10_000;

/// The rules of a tree.
#[derive(Debug, Default)]
pub struct IgnoreRules {
    /// By the directory that the file with them lies in.
    by_directory: BTreeMap<Box<[u8]>, Vec<Pattern>>,
}

impl IgnoreRules {
    /// Reads the file in a directory, if there is one.
    pub(super) fn read(&mut self, at: &OwnedFd, directory: &[u8]) {
        const LONGEST: u64 = 1 << 20;
        let caps = Caps {
            hash: LONGEST,
            ..Caps::default()
        };
        if let Some(reading) = disk::read(at, FILE, &caps, LONGEST)
            && let Held::Bytes(text, _) = reading.held
        {
            self.take(directory, &text);
        }
    }

    /// Takes the rules of the file in a directory; at the top, that is called nothing.
    pub fn take(&mut self, directory: &[u8], text: &[u8]) {
        let lines = text.split(|byte| *byte == b'\n').map(trimmed);
        let rules = lines.filter(|line| !line.starts_with(b"#"));
        let rules: Vec<Pattern> = rules.filter_map(Pattern::from_bytes).take(MOST).collect();
        if !rules.is_empty() {
            self.by_directory.insert(directory.into(), rules);
        }
    }

    /// Whether the rules name a file or a link, or a directory that it lies in.
    pub fn leave_out(&self, path: &TapePath) -> bool {
        let above = std::iter::successors(path.parent(), TapePath::parent);
        self.names(path.as_bytes(), false)
            || above
                .into_iter()
                .any(|directory| self.names(directory.as_bytes(), true))
    }

    /// How many files with rules there are.
    pub(super) fn files(&self) -> usize {
        self.by_directory.len()
    }

    /// Whether the rules name this entry itself; what lies below one that they name is not
    /// asked about.
    pub(super) fn names(&self, path: &[u8], is_directory: bool) -> bool {
        if self.by_directory.is_empty() {
            return false;
        }
        // The last rule of the deepest file that says anything decides.
        let mut directory = split(path).0;
        loop {
            if let Some(rules) = self.by_directory.get(directory) {
                let below = match directory.len() {
                    0 => path,
                    len => path.get(len + 1..).unwrap_or_default(),
                };
                let name_at = memchr::memrchr(b'/', below).map(|slash| slash + 1);
                let says = |rule: &&Pattern| {
                    rule.matches_repo_relative_path(
                        BStr::new(below),
                        name_at,
                        Some(is_directory),
                        Case::Sensitive,
                        Mode::NO_MATCH_SLASH_LITERAL,
                    )
                };
                if let Some(rule) = rules.iter().rev().find(says) {
                    return !rule.is_negative();
                }
            }
            if directory.is_empty() {
                return false;
            }
            directory = split(directory).0;
        }
    }
}

/// A line without its line end, and without blanks at its end that no backslash keeps.
fn trimmed(line: &[u8]) -> &[u8] {
    let mut line = line.strip_suffix(b"\r").unwrap_or(line);
    while let Some(shorter) = line.strip_suffix(b" ") {
        if shorter.ends_with(b"\\") {
            break;
        }
        line = shorter;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_mean_what_they_mean_to_git() {
        let mut rules = IgnoreRules::default();
        rules.take(
            b"",
            b"# a remark\ntarget/\n*.log\n!keep.log\n/only-top\ndocs/*.html\nend  \n",
        );
        rules.take(b"sub", b"*.tmp\n!*.log\n");
        let check = |path: &str, is_directory, expected| {
            assert_eq!(
                rules.names(path.as_bytes(), is_directory),
                expected,
                "{path}"
            );
        };
        check("target", true, true);
        check("target", false, false);
        check("deep/target", true, true);
        check("a.log", false, true);
        check("keep.log", false, false);
        check("only-top", false, true);
        check("sub/only-top", false, false);
        check("docs/a.html", false, true);
        check("docs/deep/a.html", false, false);
        check("sub/a.tmp", false, true);
        check("a.tmp", false, false);
        check("sub/a.log", false, false);
        check("end", false, true);
        check("# a remark", false, false);
        let left_out = |path: &str| rules.leave_out(&TapePath::new(path).unwrap());
        assert!(left_out("target/debug/x") && left_out("a/b.log"));
        assert!(!left_out("src/x") && !left_out("target"));
    }
}
