//! The files of the made-up run: which step changes which, and what they hold.

use std::fmt::Write as _;
use std::sync::Arc;

use jukebox::debugger::{
    ChangeList, ChangeRow, Expanded, FileContent, FileView, Spot, TreeRow, VersionRow, Versions,
};
use jukebox::model::{Certainty, ChangeKind, Cursor, EntryKind, KnownLines, TapePath};
use jukebox::text::SafeText;
use jukebox::tui::job::{Base, Changes};

use super::{EVENTS, Fake, text};

/// The paths of the run, in order.
pub(super) const PATHS: [&str; 9] = [
    "Cargo.toml",
    "README.md",
    "assets/logo.png",
    "src/ast/node.rs",
    "src/lexer.rs",
    "src/main.rs",
    "src/parse.rs",
    "tests/parse.rs",
    "tests/weird \u{202e}name\u{1b}[2J.rs",
];

impl Fake {
    pub(super) fn changes(&self, base: Base, at: Spot) -> Changes {
        let from = match base {
            Base::Spot(spot) => spot,
            Base::StepStart => self.spot(at.cursor.branch, at.step.0.saturating_sub(1)),
        };
        let (first, last) = (from.step.0.min(at.step.0) + 1, from.step.0.max(at.step.0));
        let mut paths: Vec<&str> = (first..=last)
            .take(1000)
            .flat_map(changed)
            .copied()
            .collect();
        paths.sort_unstable();
        paths.dedup();
        let rows = paths.into_iter().map(|path| ChangeRow {
            path: TapePath::new(path).unwrap(),
            from: None,
            change: ChangeKind::Modified,
            certainty: (Certainty::Exact, Certainty::Exact),
            mode: (path == "tests/parse.rs").then_some((0o644, 0o755)),
            is_outside: path == "README.md",
        });
        Changes {
            from,
            list: Arc::new(rows.collect()),
        }
    }

    /// What a file holds: a program whose lines count the changes.
    pub(super) fn bytes(step: u32, path: &TapePath) -> Vec<u8> {
        let path = path.to_text();
        if path == "assets/logo.png" {
            return [0x89, b'P', 0, step as u8].repeat(9);
        }
        let changes = (1..=step.min(400))
            .filter(|n| changed(*n).contains(&path.as_str()))
            .count();
        let mut program = String::from("//! Reads tokens.\n\nuse std::fmt;\n\n");
        for index in 0..30 {
            let value = if index % 7 == changes % 7 { changes } else { 0 };
            let _ = write!(
                program,
                "/// Returns the token after `{index}`.\nfn next_{index}(&mut self) -> Option<Token> {{\n\
                 \x20   let c = self.peek({value})?; // {path}\n    Some(Token::new(\"text\", c))\n}}\n\n"
            );
        }
        program.push_str("// a very long line, and a hidden character at its end \u{200b}");
        program.into_bytes()
    }

    pub(super) fn file(&self, at: Cursor, path: &TapePath) -> FileView {
        let name = path.to_text();
        let step = at.position / EVENTS;
        let content = if name == "README.md" {
            FileContent::Lines(KnownLines {
                total: Some(60),
                ranges: vec![
                    (3, "# A parser\n\nIt parses.\n".into()),
                    (40, "## Licence\n\nMIT\n".into()),
                ],
            })
        } else if name == "src/ast/node.rs" && step < 10 {
            FileContent::Nothing(text("it was named by a search and never read"))
        } else {
            FileContent::Bytes(Self::bytes(step, path).into())
        };
        let (certainty, remarks) = match &content {
            FileContent::Lines(_) => (Certainty::Partial, vec![]),
            FileContent::Nothing(_) => (Certainty::Unknown, vec![]),
            FileContent::Bytes(_) if step % 10 >= 5 => (
                Certainty::Uncertain,
                vec![text(&format!(
                    "a shell command ran since step {}",
                    step / 10 * 10 + 4
                ))],
            ),
            FileContent::Bytes(_) => (Certainty::Exact, vec![]),
        };
        let steps = (1..=self.steps.min(2000)).filter(|n| changed(*n).contains(&name.as_str()));
        let version = |(index, n)| VersionRow {
            spot: self.spot(at.branch, n),
            change: if index == 0 {
                ChangeKind::Added
            } else {
                ChangeKind::Modified
            },
            is_outside: n % 10 == 9,
        };
        let versions: Vec<VersionRow> = steps.enumerate().map(version).collect();
        FileView {
            path: path.clone(),
            kind: EntryKind::File,
            certainty,
            mode: Some(0o644),
            content,
            remarks,
            versions: Versions {
                count: Some(versions.len()),
                rows: versions,
                ..Versions::default()
            },
        }
    }
}

/// The files a step changes.
pub(super) fn changed(n: u32) -> &'static [&'static str] {
    match n % 10 {
        4 => &["src/lexer.rs"],
        8 if n % 20 == 8 => &["src/lexer.rs", "src/parse.rs", "tests/parse.rs"],
        8 => &["assets/logo.png"],
        9 => &["README.md"],
        _ => &[],
    }
}

pub(super) fn tree(changes: &ChangeList, expanded: &Expanded) -> Vec<TreeRow> {
    let Expanded::Only(expanded) = expanded else {
        panic!("the screen never asks for everything");
    };
    let mut rows: Vec<TreeRow> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for name in PATHS {
        let path = TapePath::new(name).unwrap();
        let mut chain: Vec<TapePath> =
            std::iter::successors(Some(path.clone()), TapePath::parent).collect();
        chain.reverse();
        for (depth, part) in chain.iter().enumerate() {
            let is_directory = *part != path;
            if seen.insert(part.clone()) {
                let below = changes.iter().find(|change| change.path.is_within(part));
                rows.push(TreeRow {
                    path: part.clone(),
                    name: SafeText::from_bytes(part.name()),
                    depth: depth as u16,
                    kind: if is_directory {
                        EntryKind::Directory
                    } else {
                        EntryKind::File
                    },
                    mode: Some(0o644),
                    size: (!is_directory).then_some(name.len() as u64 * 331),
                    blob: None,
                    certainty: match name {
                        "README.md" => Certainty::Partial,
                        "src/parse.rs" if !is_directory => Certainty::Uncertain,
                        _ => Certainty::Exact,
                    },
                    change: below.map(|change| change.change),
                    is_expanded: is_directory && expanded.contains(part),
                    target: None,
                });
            }
            if is_directory && !expanded.contains(part) {
                break;
            }
        }
    }
    rows
}
