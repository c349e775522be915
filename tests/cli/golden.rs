//! What every command prints for a small run, to the letter.

use std::fs;

use super::world::World;

#[test]
fn the_whole_help() {
    let world = World::new(&[]);
    let verbs = [
        "open",
        "demo",
        "recent",
        "log",
        "show",
        "tree",
        "cat",
        "diff",
        "compare",
        "blame",
        "bisect",
        "checkout",
        "restore",
        "record",
        "hook",
        "hook install",
        "hook uninstall",
        "hook status",
        "txn",
        "txn begin",
        "txn exec",
        "txn savepoint",
        "txn diff",
        "txn effect",
        "txn commit",
        "txn rollback",
        "txn undo",
        "txn recover",
        "txn status",
        "replay",
        "export",
        "test",
        "effects",
        "search",
        "stats",
        "verify",
        "doctor",
        "note",
        "mark",
        "import",
        "compact",
        "redact",
        "forks",
        "fork",
    ];
    let helps = verbs.map(|verb| format!("{verb} --help"));
    let mut commands = vec!["--help"];
    commands.extend(helps.iter().map(String::as_str));
    world.check_golden("help", &commands);
}

#[test]
fn log() {
    let world = World::new(&["run.jsonl"]);
    let commands = [
        "log run.jsonl",
        "log run.jsonl --all",
        "log run.jsonl --branch main --json",
        "log run.jsonl --color always",
    ];
    world.check_golden("log", &commands);
}

#[test]
fn blame() {
    let world = World::new(&["run.jsonl"]);
    let commands = [
        "blame run.jsonl@main:13 src/parse.rs",
        "blame run.jsonl@main:4 src/parse.rs --why",
        "blame run.jsonl@main:13 src/parse.rs --why --color always",
        "blame run.jsonl@main:13 src/parse.rs --json",
        "blame run.jsonl@main:13 notes.md",
        "blame run.jsonl@main:13 notes.md --strict",
        "blame run.jsonl@main:13 zero",
        "blame run.jsonl@main:13 src",
        "blame run.jsonl@main:13 src/link",
        "blame run.jsonl@main:13 nowhere",
    ];
    world.check_golden("blame", &commands);
}

#[test]
fn bisect() {
    let world = World::new(&["run.jsonl"]);
    let commands = [
        "bisect run.jsonl --to main:13 --from main:3 --grep todo src/parse.rs",
        "bisect run.jsonl --to main:13 --not --grep u8 src/parse.rs",
        "bisect run.jsonl --to main:13 --absent zero --all",
        "bisect run.jsonl --to main:13 --from main:3 --exists src/parse.rs",
        "bisect run.jsonl --to main:13 --exists try.txt",
    ];
    world.check_golden("bisect", &commands);
}

#[test]
fn effects() {
    let world = World::new(&["effects.jsonl"]);
    let commands = [
        "effects effects.jsonl",
        "effects effects.jsonl@2",
        "effects effects.jsonl@1",
        "effects effects.jsonl@seq:13",
        "effects effects.jsonl --json",
        "show effects.jsonl --effects",
        "show effects.jsonl@3 --effects --json",
        "show effects.jsonl --transaction",
        "show effects.jsonl@5 --transaction --json",
        "show effects.jsonl@1 --transaction",
        "log effects.jsonl",
        "verify effects.jsonl",
    ];
    world.check_golden("effects", &commands);
}

#[test]
fn show() {
    let world = World::new(&["run.jsonl"]);
    let commands = [
        "show run.jsonl@2",
        "show run.jsonl@4",
        "show run.jsonl@fail",
        "show run.jsonl@main:12 --json",
        "show run.jsonl@seq:5 --raw",
        "show run.jsonl@3 --raw",
        "show run.jsonl@0",
    ];
    world.check_golden("show", &commands);
}

#[test]
fn note() {
    let world = World::new(&["run.jsonl"]);
    let commands = [
        "note run.jsonl",
        "note run.jsonl@4",
        "note run.jsonl@4 here",
        "note run.jsonl@4",
        "note run.jsonl@main:12 --json \u{1b}[2Jthe\u{202e}end",
        "note run.jsonl@seq:5 over-it",
        "note run.jsonl",
        "note run.jsonl --json",
        "log run.jsonl",
        "log run.jsonl --branch main",
        "show run.jsonl@4",
        "show run.jsonl@main:12 --json",
        "note run.jsonl@4 --remove --json",
        "note run.jsonl@4 --remove",
        "note run.jsonl@0 nowhere",
        "note - nowhere",
        "note session.jsonl nowhere",
    ];
    world.check_golden("note", &commands);
}

#[test]
fn recent() {
    let world = World::new(&[]);
    world.check_golden("recent", &["recent", "recent --json"]);
}

#[test]
fn around() {
    let world = World::new(&["run.jsonl", "session.jsonl"]);
    let commands = [
        "show run.jsonl@main:9 --conversation",
        "show run.jsonl@2 --conversation --json",
        "show run.jsonl@0 --conversation",
        "show run.jsonl@main:9 --context",
        "show run.jsonl@main:9 --context --json",
        "show run.jsonl@main:9 --environment",
        "show run.jsonl@main:9 --environment --json",
        "show session.jsonl --context",
        "show session.jsonl --environment",
        "show session.jsonl --environment --context",
    ];
    world.check_golden("around", &commands);
}

#[test]
fn stats() {
    let world = World::new(&["run.jsonl", "session.jsonl"]);
    let commands = [
        "stats run.jsonl",
        "stats run.jsonl --branch main --json",
        "stats session.jsonl",
        "stats run.jsonl --color always",
        "stats run.jsonl --branch nobranch",
    ];
    world.check_golden("stats", &commands);
}

#[test]
fn tree() {
    let world = World::new(&["run.jsonl"]);
    let commands = [
        "tree run.jsonl@0",
        "tree run.jsonl@main:end",
        "tree run.jsonl@main:end --json",
        "tree run.jsonl@main:9",
        "tree run.jsonl@main:9 --outside",
        "tree run.jsonl@4 --strict",
        "tree run.jsonl@5 --strict",
    ];
    world.check_golden("tree", &commands);
}

#[test]
fn cat() {
    let world = World::new(&["run.jsonl"]);
    let commands = [
        "cat run.jsonl@3 src/parse.rs",
        "cat run.jsonl@4 /home/dev/demo/src/parse.rs",
        "cat run.jsonl@5 ./src/parse.rs",
        "cat run.jsonl@5 src/parse.rs --strict",
        "cat run.jsonl@main:end src/link",
        "cat run.jsonl@main:end notes.md",
        "cat run.jsonl@main:end notes.md --partial",
        "cat run.jsonl@main:end notes.md --json",
        "cat run.jsonl@main:end zero --json",
        "cat run.jsonl@main:end src",
        "cat run.jsonl src/parse.rs",
        "cat run.jsonl nowhere",
        "cat run.jsonl ../nowhere",
    ];
    world.check_golden("cat", &commands);
}

#[test]
fn diff() {
    let world = World::new(&["run.jsonl"]);
    let commands = [
        "diff run.jsonl@4",
        "diff run.jsonl@3 @6",
        "diff run.jsonl@3 run.jsonl@6",
        "diff run.jsonl@main:11 @main:12",
        "diff run.jsonl@main:11 @main:12 --text",
        "diff run.jsonl",
        "diff run.jsonl@4 @5",
        "diff run.jsonl@4 @4",
        "diff run.jsonl@3 @6 --json",
        "diff run.jsonl@3 @5 --strict",
        "diff run.jsonl@2 @9 --response",
        "diff run.jsonl@2 @9 --response --json",
        "diff run.jsonl@1 @9 --response",
    ];
    world.check_golden("diff", &commands);
}

#[test]
fn checkout() {
    let world = World::new(&["run.jsonl"]);
    let commands = [
        "checkout run.jsonl@main:end out",
        "checkout run.jsonl@main:end out",
        "checkout run.jsonl@main:end run.jsonl",
        "checkout run.jsonl@main:end no/where",
        "checkout run.jsonl@main:end strict --strict",
        "checkout run.jsonl@main:end json --json",
        "checkout run.jsonl@4 exact --strict --json",
    ];
    world.check_golden("checkout", &commands);
    assert!(!world.path("strict").exists());
    let read = |path| std::fs::read(world.path(path)).unwrap();
    assert_eq!(read("out/zero"), b"\0");
    assert_eq!(read("out/src/link"), read("out/src/parse.rs"));
    assert!(read("exact/src/parse.rs").starts_with(b"fn parse() {\n    let x"));
}

#[test]
fn search() {
    let world = World::new(&["run.jsonl"]);
    let commands = [
        "search run.jsonl parse",
        "search run.jsonl mismatched types --json",
        "search run.jsonl tool:bash status:failed",
        "search run.jsonl --branch main step:11.. lines",
        "search run.jsonl nothing-like-it",
        "search run.jsonl status:odd",
        "search run.jsonl tol:bash",
        "search run.jsonl re:let.*x file:re:x",
        "search run.jsonl path:src/**",
    ];
    world.check_golden("search", &commands);
}

#[test]
fn verify() {
    let world = World::new(&["run.jsonl"]);
    world.put("damaged.jsonl", super::bad_input::damaged());
    let commands = [
        "verify run.jsonl",
        "verify run.jsonl --json",
        "verify run.jsonl --stats",
        "verify run.jsonl --stats --json",
        "verify damaged.jsonl",
        "verify damaged.jsonl --json",
    ];
    world.check_golden("verify", &commands);
}

#[test]
fn damaged() {
    let world = World::new(&[]);
    world.put("damaged.jsonl", super::bad_input::damaged());
    let commands = [
        "log damaged.jsonl",
        "log damaged.jsonl --json",
        "show damaged.jsonl@3",
        "tree damaged.jsonl",
        "cat damaged.jsonl a.txt",
        "cat damaged.jsonl wrong.txt",
        "checkout damaged.jsonl out",
        "diff damaged.jsonl",
    ];
    world.check_golden("damaged", &commands);
}

#[test]
fn import() {
    let world = World::new(&["session.jsonl", "run.jsonl"]);
    let commands = [
        "import session.jsonl --report",
        "import session.jsonl --report --json",
        "import session.jsonl -o tape.jsonl",
        "import session.jsonl -o tape.jsonl",
        "import session.jsonl",
        "import run.jsonl -o other.jsonl",
        "import missing.jsonl -o other.jsonl",
        "import session.jsonl -o other.jsonl --base nowhere",
        "log session.jsonl",
        "log tape.jsonl",
        "tree tape.jsonl",
        "cat tape.jsonl README.md",
        "verify session.jsonl",
    ];
    world.check_golden("import", &commands);
    assert!(!world.path("other.jsonl").exists());
}

#[test]
fn a_transcript_imported_twice_gives_the_same_tape() {
    let world = World::new(&["session.jsonl"]);
    for tape in ["one.jsonl", "two.jsonl"] {
        assert_eq!(
            world.run(&["import", "session.jsonl", "-o", tape]).code(),
            0
        );
    }
    let [one, two] = ["one.jsonl", "two.jsonl"].map(|tape| fs::read(world.path(tape)).unwrap());
    assert!(one == two);
}

#[test]
fn compact() {
    let world = World::new(&["run.jsonl"]);
    world.put("damaged.jsonl", super::bad_input::damaged());
    let commands = [
        "compact run.jsonl -o small.jsonl",
        "compact run.jsonl -o small.jsonl",
        "compact run.jsonl -o json.jsonl --json",
        "compact damaged.jsonl -o mended.jsonl",
        "compact run.jsonl -o no/where.jsonl",
        "compact run.jsonl",
        "verify small.jsonl",
        "cat small.jsonl@main:end src/parse.rs",
        "diff run.jsonl@main:end small.jsonl@main:end",
        "compact run.jsonl -o kept.jsonl --keep-from 2 --json",
        "compact run.jsonl -o kept.jsonl --keep-from 900",
        "compact small.jsonl -o cut.jsonl --keep-from 1",
    ];
    world.check_golden("compact", &commands);
}
