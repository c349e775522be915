//! Nothing of a tape, a path or an argument reaches a terminal as more than text: not from
//! standard output, not from standard error, not through a pipe either.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::world::{Run, World};

/// What terminals obey, in the escapes of JSON.
const PAYLOADS: [&str; 12] = [
    r"\u001b]52;c;aGVsbG8=\u0007",
    r"\u001b]0;owned\u0007",
    r"\u001b]8;;http://bad.example/\u001b\\safe\u001b]8;;\u001b\\",
    r"\u001b[2J\u001b[H\u001b[?1049l\u001b[?1003h",
    r"\u001bP+q544e\u001b\\",
    r"\u009b31m\u009d0;x\u009c",
    r"\u001b]52;c;aGVs",
    r"rm -rf /\b\b\b\b\b\b\b\becho ok  ",
    r"real line\rfake line",
    r"\u001b[6n\u001b[>0q\u001bc\u0007\u0007",
    r"\u001b]1337;File=inline=1:AAAA\u0007\u000e\u000f\u007f",
    r"\ud83d\u001b\udc00",
];

/// A tape with payloads in every field that can hold a text.
fn tape() -> String {
    let mut lines = vec![
        r#"{"seq":0,"kind":"tape","name":"PAYLOAD","format":1,"id":"PAYLOAD","root":"/PAYLOAD"}"#
            .replace("PAYLOAD", PAYLOADS[1]),
    ];
    let templates = [
        r#""kind":"prompt","name":"user P","text":"say P""#,
        r#""kind":"model.response","call":"mN","name":"P","blocks":[{"type":"text","text":"P"},{"type":"thinking","text":"P\nP"},{"type":"P","P":"P"}],"stop":"P""#,
        r#""kind":"tool.call","call":"N P","name":"Bash P","agent":"P","args":{"command":"P","P":["P",{"P":1}]}"#,
        r#""kind":"fs.write","call":"N P","path":"dir P/N P","mode":"644","text":"P\nP\n""#,
        r#""kind":"fs.symlink","call":"N P","path":"link N P","target":"P""#,
        r#""kind":"tool.result","call":"N P","outcome":"failed","output":"P\nP","detail":{"P":"P"}"#,
        r#""kind":"fs.suspect","path":"dir P","why":"P""#,
        r#""kind":"txn.begin","txn":"P""#,
        r#""kind":"raw","name":"P","text":"P""#,
        r#""kind":"P","P":"P""#,
        r#""kind":"note","text":"P","title":"P""#,
        r#""kind":"branch","branch":"b P","at":1,"why":"P""#,
        r#""kind":"gap","why":"P""#,
    ];
    for (number, payload) in PAYLOADS.iter().enumerate() {
        for template in templates {
            let body = template
                .replace('N', &number.to_string())
                .replace('P', payload);
            lines.push(format!("{{\"seq\":{},{body}}}", lines.len()));
        }
        // Damage that a report may want to quote.
        lines.push(format!("no JSON {payload}"));
        lines.push("raw \x1b]0;damage\x07 \u{9b}31m".to_owned());
    }
    lines.join("\n") + "\n\x1b]0;torn tail\x07"
}

/// The names of what reached the terminal.
fn trouble(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let bad = |character: &char| {
        (character.is_control() && !matches!(character, '\n'))
            || *character == char::REPLACEMENT_CHARACTER && !bytes.contains(&0xef)
    };
    let at = text.chars().position(|character| bad(&character))?;
    let around: String = text.chars().skip(at.saturating_sub(60)).take(80).collect();
    Some(format!("{around:?}"))
}

#[track_caller]
fn check(run: &Run, what: &str) {
    for bytes in run.bytes() {
        assert_eq!(trouble(bytes), None, "{what}");
    }
}

#[test]
fn no_command_prints_what_a_terminal_obeys() {
    let world = World::new(&[]);
    world.put("run.jsonl", tape());
    let other = tape().replace("say ", "tell ").replace("dir ", "there ");
    world.put("other.jsonl", other.replace("Bash ", "Zsh "));
    for words in [
        "log run.jsonl",
        "log run.jsonl --all",
        "log run.jsonl --json",
        "tree run.jsonl",
        "tree run.jsonl --json",
        "tree run.jsonl --strict",
        "diff run.jsonl",
        "diff run.jsonl --json",
        "diff run.jsonl@1 @-1 --response",
        "compare run.jsonl other.jsonl",
        "compare run.jsonl other.jsonl@2",
        "compare run.jsonl other.jsonl --json",
        "checkout run.jsonl out",
        "checkout run.jsonl json --json",
        "search run.jsonl echo",
        "search run.jsonl owned --json",
        "verify run.jsonl",
        "verify run.jsonl --json",
        "open run.jsonl",
    ] {
        let run = world.type_in(words);
        check(&run, words);
        let said: usize = run.bytes().map(<[u8]>::len).iter().sum();
        assert!(said > 0 && run.code() < 3, "{words}: {}", run.code());
    }
    let steps = world.type_in("log run.jsonl --branch main").stdout();
    let steps = steps.lines().count();
    assert!(steps > PAYLOADS.len());
    for step in (1..=steps).step_by(3) {
        check(
            &world.type_in(&format!("show run.jsonl@main:{step}")),
            "show",
        );
        let run = world.type_in(&format!("show run.jsonl@main:{step} --json"));
        check(&run, "show --json");
    }
}

#[test]
fn a_picture_of_the_screen_holds_only_text() {
    let world = World::new(&[]);
    world.put("run.jsonl", tape());
    for keys in ["g", "gllllll", "e", "2j<enter>", "g3l3", "/echo<enter>n"] {
        let run = world.run(&[
            "open",
            "run.jsonl@main:end",
            "--frame",
            "out.txt",
            "--keys",
            keys,
        ]);
        assert_eq!(run.code(), 0, "{keys}: {}", run.stderr());
        check(&run, keys);
        let picture = std::fs::read(world.path("out.txt")).unwrap();
        assert_eq!(trouble(&picture), None, "{keys}");
    }
}

#[test]
fn what_could_not_be_shown_stays_readable() {
    let world = World::new(&[]);
    world.put("run.jsonl", tape());
    let log = world.type_in("log run.jsonl --branch main").stdout();
    assert!(log.contains("^[]52;c;aGVsbG8=^G"), "{log}");
    assert!(log.contains("rm -rf /^H^H^H^H^H^H^H^Hecho ok"));
    assert!(log.contains("real line^Mfake line"));
}

#[test]
fn hostile_names_and_arguments_are_only_text() {
    let world = World::new(&[]);
    let name = OsStr::from_bytes(b"run\x1b]0;owned\x07\xff\xc2\x9b31m.jsonl");
    world.put(name, tape());
    let words = |words: &[&str], name: &OsStr| {
        let mut all: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        all.push(name);
        world.run(&all)
    };
    for verb in ["log", "tree", "verify", "open", "diff"] {
        let run = words(&[verb], name);
        check(&run, verb);
        assert!(run.code() < 3);
    }
    let missing = OsStr::from_bytes(b"\x1b[2Jgone\x07\xff");
    for before in [
        &["log"][..],
        &["--help"],
        &["log", "--help"],
        &["log", "--no-such-flag"],
        &["diff", "gone"],
        &["log", "--branch"],
        &["log", "x", "--color"],
        &[],
    ] {
        check(&words(before, missing), &format!("{before:?}"));
    }
    let place = OsStr::from_bytes(b"gone@\x1b[2J\x07");
    check(&words(&["show"], place), "a place");
    let flag = OsStr::from_bytes(b"--\x1b]0;x\x07");
    check(&words(&["log"], flag), "a flag");
}
