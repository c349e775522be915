//! Habits of this project that neither the compiler nor clippy knows: who may import whom,
//! what each file says of itself, and what stands nowhere.
//!
//! This reads text, not syntax: it finds what people write, not what they could hide.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use memchr::memmem;

/// The layers, from the vocabulary up. A module imports from the rows before its own, and
/// within its row from those that stand before it.
const LAYERS: [&[&str]; 7] = [
    &["model", "text", "redact"],
    &["tape"],
    &["tools", "state"],
    &["capture", "checkout", "sandbox", "effects", "transaction"],
    &["import", "hook", "replay", "models", "export"],
    &["debugger"],
    &["cli", "tui"],
];

/// What the shells may import beside what stands in their own row.
const FOR_SHELLS: [&str; 3] = ["debugger", "model", "text"];

/// Lines of a file at most. Most have far fewer.
const LONGEST: usize = 600;

/// Lines of `main.rs` at most.
const LONGEST_MAIN: usize = 40;

/// Words that only the tape's own fields are called, so that they stand in its wire alone.
const FIELDS: [&str; 8] = [
    "at_byte",
    "path_raw",
    "from_raw",
    "target_raw",
    "prev",
    "enc",
    "cache_read_tokens",
    "cache_write_tokens",
];

#[test]
fn modules_import_only_from_layers_below() {
    let mut found = BTreeSet::new();
    for source in sources("src") {
        let Some(module) = source.module() else {
            continue;
        };
        let Some(home) = place(module) else {
            found.insert(format!("{}: `{module}` stands in no layer", source.name));
            continue;
        };
        for import in source.imports() {
            let Some(target) = place(&import) else {
                continue;
            };
            let is_shell = home.0 + 1 == LAYERS.len();
            let is_for_it = !is_shell || target.0 == home.0 || FOR_SHELLS.contains(&&*import);
            if import != module && !(target < home && is_for_it) {
                found.insert(format!("{}: imports `{import}`", source.name));
            }
        }
    }
    assert_none(found);
}

#[test]
fn every_file_says_what_it_is_for() {
    let mut found = BTreeSet::new();
    for source in sources("src").chain(sources("tests")) {
        let first = source.text.lines().next().unwrap_or_default();
        if !first.starts_with("//! ") {
            found.insert(format!("{}: begins without `//!`", source.name));
        }
        if source.text.lines().any(|line| line.trim() == "///") && !source.parts_paragraphs() {
            found.insert(format!("{}: an empty `///`", source.name));
        }
        if source.name.ends_with("/mod.rs") {
            found.insert(format!("{}: `foo.rs` stands beside `foo/`", source.name));
        }
    }
    assert_none(found);
}

#[test]
fn files_are_short() {
    let mut found = BTreeSet::new();
    for source in sources("src").chain(sources("tests")) {
        let longest = match source.name.as_str() {
            "src/main.rs" => LONGEST_MAIN,
            _ => LONGEST,
        };
        let lines = source.text.lines().count();
        if lines > longest {
            found.insert(format!("{}: {lines} lines", source.name));
        }
    }
    assert_none(found);
}

#[test]
fn lints_are_expected_and_never_silenced() {
    let mut found = BTreeSet::new();
    for source in sources("src").chain(sources("tests")) {
        let attribute = ["#", "[allow("].concat();
        let inner = ["#", "![allow("].concat();
        if source.text.contains(&attribute) || source.text.contains(&inner) {
            found.insert(format!(
                "{}: `expect` says why, `allow` does not",
                source.name
            ));
        }
    }
    assert_none(found);
}

#[test]
fn nothing_below_the_shells_knows_the_world_around_it() {
    let shells = ["cli", "tui"];
    let pure = ["model", "text", "tools", "state"];
    let timeless = ["model", "tools", "state"];
    let mut found = BTreeSet::new();
    for source in sources("src") {
        let module = source.module().unwrap_or("main");
        let code: String = source.code().flat_map(|line| [line, "\n"]).collect();
        let mut refuse = |words: &[&str], why: &str| {
            for word in words {
                if memmem::find(code.as_bytes(), word.as_bytes()).is_some() {
                    found.insert(format!("{}: `{word}`: {why}", source.name));
                }
            }
        };
        if !shells.contains(&module) && module != "main" {
            refuse(
                &["std::env", "env::var", "IsTerminal", "is_terminal"],
                "only a shell knows the environment",
            );
            refuse(
                &["println!", "print!", "io::stdout", "io::stderr"],
                "only a shell prints",
            );
        }
        if pure.contains(&module) {
            refuse(&["std::fs", "fs::File", "std::os"], "no I/O here");
        }
        if timeless.contains(&module) {
            refuse(
                &["SystemTime", "Instant::now", "Timestamp::now"],
                "no clock here",
            );
        }
        // The recorder of hooks outlives the hook that starts it; a person's editor is theirs; and
        // a service runs where the agent that wants it would have run it.
        let may_start = [
            "src/cli/hook.rs",
            "src/cli/fork/editor.rs",
            "src/cli/stream.rs",
            "src/models/link.rs",
        ]
        .contains(&&*source.name);
        if !["tui", "sandbox", "transaction", "effects"].contains(&module) && !may_start {
            refuse(
                &["process::Command", "Command::new("],
                "nothing is run here",
            );
        }
        if module == "models" {
            refuse(&["UdpSocket"], "endpoints of models speak HTTP");
        } else {
            refuse(
                &["std::net", "TcpStream", "UdpSocket", "tokio", "hyper"],
                "no network but to a model",
            );
        }
    }
    assert_none(found);
}

#[test]
fn only_the_wire_knows_the_fields_of_the_tape() {
    let mut found = BTreeSet::new();
    for source in sources("src").filter(|source| !source.name.starts_with("src/tape/wire")) {
        let code: String = source.code().flat_map(|line| [line, "\n"]).collect();
        for field in FIELDS {
            let quoted = format!("\"{field}\"");
            if memmem::find(code.as_bytes(), quoted.as_bytes()).is_some() {
                found.insert(format!("{}: names the field {quoted}", source.name));
            }
        }
    }
    assert_none(found);
}

#[test]
fn every_fixture_is_named_by_a_test() {
    let texts: Vec<String> = sources("src")
        .chain(sources("tests"))
        .map(|source| source.text)
        .collect();
    let mut found = BTreeSet::new();
    for path in files_below(&root().join("tests/fixtures")) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let stem = format!("\"{}\"", path.file_stem().unwrap().to_string_lossy());
        let names = [name.as_bytes(), stem.as_bytes()];
        let is_named = |text: &String| {
            let mut names = names.iter();
            names.any(|name| memmem::find(text.as_bytes(), name).is_some())
        };
        if !texts.iter().any(is_named) {
            found.insert(format!("{}: no test names it", path.display()));
        }
    }
    assert_none(found);
}

/// A file of the project.
struct Source {
    /// From the root of the project, such as `src/tape/open.rs`.
    name: String,
    text: String,
}

impl Source {
    /// The module of the top level that it belongs to.
    fn module(&self) -> Option<&str> {
        let below = self.name.strip_prefix("src/")?;
        let first = below.split(['/', '.']).next()?;
        (!matches!(first, "lib" | "main")).then_some(first)
    }

    /// The lines that are neither comments nor tests.
    fn code(&self) -> impl Iterator<Item = &str> {
        let is_tests = self.name.ends_with("/tests.rs");
        let lines = self.text.lines().filter(move |_| !is_tests);
        lines
            .take_while(|line| line.trim() != "#[cfg(test)]")
            .filter(|line| !line.trim_start().starts_with("//"))
    }

    /// The modules of the top level that its code names.
    fn imports(&self) -> BTreeSet<String> {
        let code: Vec<&str> = self.code().collect();
        let code = code.join("\n");
        let mut imports = BTreeSet::new();
        let mut rest = code.as_str();
        while let Some((_, after)) = rest.split_once("crate::") {
            match after.strip_prefix('{') {
                Some(group) => imports.extend(heads_of_group(group)),
                None => imports.extend(word(after)),
            }
            rest = after;
        }
        imports
    }

    /// Whether each empty `///` parts two paragraphs, and is no doc by itself.
    fn parts_paragraphs(&self) -> bool {
        let lines: Vec<&str> = self.text.lines().map(str::trim).collect();
        lines
            .windows(3)
            .filter(|lines| lines[1] == "///")
            .all(|lines| lines[0].starts_with("/// ") && lines[2].starts_with("/// "))
    }
}

/// The first words of `a::b, c::{d, e}, f}`, up to the brace that closes the group.
fn heads_of_group(group: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let mut depth = 0;
    let mut item = String::new();
    for character in group.chars() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.extend(word(&std::mem::take(&mut item))),
            character => item.push(character),
        }
    }
    heads.extend(word(&item));
    heads
}

fn word(text: &str) -> Option<String> {
    let is_part = |character: &char| character.is_alphanumeric() || *character == '_';
    let word: String = text.trim_start().chars().take_while(is_part).collect();
    (!word.is_empty()).then_some(word)
}

/// The row of a module, and where it stands in it.
fn place(module: &str) -> Option<(usize, usize)> {
    LAYERS.iter().enumerate().find_map(|(row, modules)| {
        let column = modules.iter().position(|name| *name == module)?;
        Some((row, column))
    })
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(directory: &str) -> impl Iterator<Item = Source> {
    let files = files_below(&root().join(directory)).into_iter();
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|end| end == "rs");
    files.filter(is_rust).map(|path| Source {
        name: path.strip_prefix(root()).unwrap().display().to_string(),
        text: fs::read_to_string(&path).unwrap(),
    })
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[track_caller]
fn assert_none(found: BTreeSet<String>) {
    let list: Vec<String> = found.into_iter().collect();
    assert!(list.is_empty(), "\n  {}\n", list.join("\n  "));
}
