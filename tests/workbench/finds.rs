//! Searches for files: what they find, in which words, and when they are not answered.

use jukebox::model::{FileChange, FileOp};
use jukebox::replay::workbench::{Tree, Words, Workbench};
use serde_json::{Value, json};

use super::{Nothing, ROOT, World, answer, call, path, refusal};

/// Files of a project, some of which its rules leave out.
const FILES: [(&str, &str); 7] = [
    (".gitignore", "target/\n"),
    ("README.md", "fn is a word\n"),
    ("lib/deep/more.rs", "// nothing\nfn more() {}\n"),
    ("lib/one.rs", "fn one() {\n    two();\n}\n"),
    ("lib/two.rs", "fn Two() {}"),
    ("target/built.rs", "fn built() {}\n"),
    ("top.rs", "fn\ttop() {}\n"),
];

#[track_caller]
fn check(bench: &mut Workbench<'_>, tool: &str, arguments: Value, expected: &[&str]) {
    let answer = answer(bench, &call(tool, arguments)).unwrap();
    let found: Vec<&str> = answer.output.lines().collect();
    assert_eq!(found, expected);
    assert_eq!(answer.words, Words::AnyOrder);
    assert!(answer.changes.is_empty());
}

#[test]
fn names_are_found_below_a_directory() {
    let world = World::new();
    let mut bench = world.workbench(&FILES);
    let mut glob = |arguments: Value, expected: &[&str]| {
        let expected: Vec<String> = expected.iter().map(|it| format!("{ROOT}/{it}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check(&mut bench, "Glob", arguments, &expected);
    };
    let all = [
        "lib/deep/more.rs",
        "lib/one.rs",
        "lib/two.rs",
        "target/built.rs",
        "top.rs",
    ];
    glob(json!({"pattern": "**/*.rs"}), &all);
    glob(
        json!({"pattern": "lib/*.rs"}),
        &["lib/one.rs", "lib/two.rs"],
    );
    glob(
        json!({"pattern": "lib/{one,two}.r?"}),
        &["lib/one.rs", "lib/two.rs"],
    );
    glob(json!({"pattern": "*.md"}), &["README.md"]);
    let below = json!({"pattern": "**/m*", "path": format!("{ROOT}/lib")});
    glob(below, &["lib/deep/more.rs"]);
    check(
        &mut bench,
        "Glob",
        json!({"pattern": "lib/*.md"}),
        &["No files found"],
    );
}

#[test]
fn lines_are_found_where_no_rule_leaves_them_out() {
    let world = World::new();
    let mut bench = world.workbench(&FILES);
    let mut grep = |arguments, expected: &[&str]| check(&mut bench, "Grep", arguments, expected);
    let found = [
        "Found 3 files",
        "lib/deep/more.rs",
        "lib/one.rs",
        "lib/two.rs",
    ];
    grep(json!({"pattern": "^fn ", "path": "lib"}), &found);
    grep(
        json!({"pattern": "^fn two", "-i": true}),
        &["Found 1 file", "lib/two.rs"],
    );
    grep(json!({"pattern": "^fn two"}), &["No files found"]);
    let content = |more: Value| {
        let mut arguments = json!({"pattern": r"\bfn\b", "output_mode": "content"});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        arguments
    };
    let lines = [
        "lib/deep/more.rs:2:fn more() {}",
        "lib/one.rs:1:fn one() {",
        "lib/two.rs:1:fn Two() {}",
    ];
    grep(content(json!({"glob": "lib/**"})), &lines);
    grep(
        content(json!({"glob": "*.md", "-n": false})),
        &["README.md:fn is a word"],
    );
    let around = json!({"pattern": "two", "path": "lib", "output_mode": "content", "-A": 1});
    grep(around, &["lib/one.rs:2:    two();", "lib/one.rs-3-}"]);
    let apart =
        json!({"pattern": "^fn|^}", "path": "lib", "output_mode": "content", "-C": 0, "-n": false});
    let all = [
        "lib/deep/more.rs:fn more() {}",
        "lib/one.rs:fn one() {",
        "lib/one.rs:}",
        "lib/two.rs:fn Two() {}",
    ];
    grep(apart, &all);
    let marked =
        json!({"pattern": "more|one", "output_mode": "content", "context": 1, "glob": "*.rs"});
    let all = [
        "lib/deep/more.rs-1-// nothing",
        "lib/deep/more.rs:2:fn more() {}",
        "--",
        "lib/one.rs:1:fn one() {",
        "lib/one.rs-2-    two();",
    ];
    grep(marked, &all);
    // Of one file, its name is not told; that it is left out elsewhere is of no matter then.
    grep(
        content(json!({"path": "target/built.rs"})),
        &["1:fn built() {}"],
    );
    grep(content(json!({"glob": "*.txt"})), &["No matches found"]);
    let counts = json!({"pattern": "o", "output_mode": "count", "glob": "one.rs"});
    grep(counts, &["lib/one.rs:2"]);
}

#[test]
fn what_is_not_known_of_a_search_is_not_guessed() {
    let world = World::new();
    let mut bench = world.workbench(&FILES);
    let mut refused = |tool: &str, arguments: Value, expected: &str| {
        let said = refusal(&mut bench, &call(tool, arguments));
        assert_eq!(said, expected);
    };
    let versions = "the versions of this tool answer it in different ways";
    let options = "what its options mean is not known here";
    // Some look at the top only; some take small letters for capital ones.
    refused("Glob", json!({"pattern": "*.rs"}), versions);
    refused("Glob", json!({"pattern": "lib/TWO.rs"}), versions);
    refused(
        "Glob",
        json!({"pattern": "*", "path": "not/there"}),
        versions,
    );
    refused("Glob", json!({"pattern": "*", "path": "~/x"}), options);
    refused("Grep", json!({"pattern": "x", "offset": 3}), options);
    refused("Grep", json!({"pattern": "x", "type": "rust"}), options);
    refused("Grep", json!({"pattern": "(", "path": "lib"}), options);
    let order = "the order of its answer is not known from files";
    let cut = json!({"pattern": "fn", "output_mode": "content", "head_limit": 2});
    refused("Grep", cut, order);
    let listing = "it leaves names out and directories closed by lists that differ from version to \
                   version, and shows files that a tape leaves out";
    refused("LS", json!({"path": ROOT}), listing);
    refused("LS", json!({"path": ROOT, "ignore": ["*.md"]}), listing);
    let many: Vec<String> = (0..101).map(|number| format!("many/{number}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "")).collect();
    let mut bench = world.workbench(&many);
    assert_eq!(
        refusal(&mut bench, &call("Glob", json!({"pattern": "many/*"}))),
        order
    );

    let mut bench = world.workbench(&[("a", "x")]);
    bench.apply(&[FileChange::write(path("binary"), b"fn\0".as_slice())]);
    let said = refusal(&mut bench, &call("Grep", json!({"pattern": "fn"})));
    assert!(said.contains("not known"), "{said}");
    let target = b"binary".to_vec();
    bench.apply(&[FileChange::new(FileOp::Symlink { target }, path("link"))]);
    let said = refusal(&mut bench, &call("Glob", json!({"pattern": "./**/link"})));
    assert_eq!(said, "link is a link, which is not followed");

    let tree = Tree::new(Vec::new(), false, &Nothing);
    let mut bench = Workbench::new(world.config(), tree);
    let said = refusal(&mut bench, &call("Glob", json!({"pattern": "**/*"})));
    assert!(said.contains("does not show the whole workspace"), "{said}");
    // Of one file, no other need be known.
    bench.apply(&[FileChange::write(path("a"), b"one\ntwo\n".as_slice())]);
    let one = json!({"pattern": "o$", "path": "a", "output_mode": "content"});
    check(&mut bench, "Grep", one, &["2:two"]);
}
