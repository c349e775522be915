//! What cannot be used is said in one line, with its exit code, and nothing is
//! written. What can be read of a damaged tape is read.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use jukebox::debugger::{Debugger, OpenOptions, Source};

use super::world::World;

/// A tape with damage of many sorts: a line of NULs, a line that is no JSON, two records on
/// one line, a missing number, a content that does not hash to its name, a torn tail.
pub(crate) fn damaged() -> Vec<u8> {
    let lines = [
        r#"{"seq":0,"kind":"tape","format":1,"id":"t","name":"agent"}"#,
        r#"{"seq":1,"kind":"prompt","name":"user","text":"go"}"#,
        "\0\0\0\0\0\0\0\0",
        r#"{"seq":3,"kind":"tool.call","call":"c1","name":"Write","args":{"path":"a.txt"}}"#,
        r#"{"seq":4,"kind":"fs.write","call":"c1","path":"a.txt","text":"a\n"}{"seq":5,"kind":"tool.result","call":"c1","outcome":"ok","output":"done"}"#,
        "this is no JSON",
        r#"{"seq":9,"kind":"fs.write","path":"wrong.txt","blob":"b3:0000000000000000000000000000000000000000000000000000000000000000","len":5,"enc":"text","text":"wrong"}"#,
        r#"{"seq":10,"kind":"note","text":"the end of what is whole"}"#,
    ];
    let mut bytes = lines.join("\n").into_bytes();
    bytes.extend(b"\n{\"seq\":11,\"kind\":\"no");
    bytes
}

#[test]
fn bad_input_is_said_in_one_line() {
    let world = World::new(&["run.jsonl"]);
    world.put("empty.jsonl", "");
    world.put("blank.jsonl", "\n\n");
    world.put("image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0");
    world.put("prose.txt", "Dear reader,\nthis is no tape.\n");
    world.put("other.json", "{\"name\":\"package\",\"version\":1}\n");
    world.put(
        "later.jsonl",
        "{\"seq\":0,\"kind\":\"tape\",\"format\":99}\n",
    );
    world.put("gloom.toml", "text = \"grey\"\n[code]\nwords = \"red\"\n");
    fs::create_dir(world.path("directory")).unwrap();
    let commands = [
        "log missing.jsonl",
        "log missing/deep.jsonl",
        "log directory",
        "log empty.jsonl",
        "log blank.jsonl",
        "log image.png",
        "log prose.txt",
        "log other.json",
        "log later.jsonl",
        "log -",
        "tree run.jsonl@99",
        "tree run.jsonl@-99",
        "tree run.jsonl@nonsense",
        "tree run.jsonl@seq:999",
        "tree run.jsonl@mark:gone",
        "tree run.jsonl@nobranch:1",
        "log run.jsonl --branch nobranch",
        "diff run.jsonl@1 @nonsense",
        "diff run.jsonl@1 missing.jsonl@1",
        "compare run.jsonl missing.jsonl",
        "compare run.jsonl @nobranch:1",
        "compare run.jsonl prose.txt",
        "open run.jsonl --against missing.jsonl",
        "open run.jsonl --against @nobranch:1",
        "open run.jsonl",
        "run.jsonl@2",
        "missing.jsonl",
        "demo",
        "open run.jsonl --frame out.pdf",
        "open run.jsonl --frame missing/out.txt",
        "open run.jsonl --theme gloom --frame out.svg",
        "open run.jsonl --theme gloom.toml --frame out.svg",
        "",
        "log",
        "log run.jsonl --no-such-flag",
        "log run.jsonl too much",
    ];
    let before = fs::read(world.path("run.jsonl")).unwrap();
    world.check_golden("bad_input", &commands);
    assert_eq!(fs::read(world.path("run.jsonl")).unwrap(), before);
    let names = fs::read_dir(world.path("")).unwrap().count();
    assert_eq!(names, 9, "nothing was written");
}

/// A device may give bytes for ever: they are looked at, and not collected.
#[test]
fn what_never_ends_is_refused_from_its_start() {
    let world = World::new(&[]);
    for endless in ["/dev/zero", "/dev/urandom"] {
        let run = world.run(&["log", endless]);
        assert_eq!(run.code(), 2);
        assert!(run.stderr().contains("is no tape"), "{}", run.stderr());
    }
}

#[test]
fn a_file_whose_name_is_no_text_has_places_too() {
    let world = World::new(&["run.jsonl"]);
    let odd = OsStr::from_bytes(b"r\xffn.jsonl");
    fs::rename(world.path("run.jsonl"), world.path(odd)).unwrap();
    let all = world.run(&[OsStr::new("tree"), odd]).stdout();
    let place = OsStr::from_bytes(b"r\xffn.jsonl@0");
    let run = world.run(&[OsStr::new("tree"), place]);
    assert_eq!((run.code(), run.stderr().as_str()), (0, ""));
    assert_ne!(run.stdout(), all);
    // A file that is called so wins.
    fs::rename(world.path(odd), world.path(place)).unwrap();
    assert_eq!(world.run(&[OsStr::new("tree"), place]).stdout(), all);
}

/// The source is evidence: looking at it must not change it.
#[test]
fn looking_leaves_the_tape_as_it_was() {
    let world = World::new(&[]);
    let path = world.put("damaged.jsonl", damaged());
    let stamp = || {
        let meta = fs::metadata(&path).unwrap();
        (fs::read(&path).unwrap(), meta.modified().unwrap())
    };
    let before = stamp();
    for words in [
        "log damaged.jsonl",
        "show damaged.jsonl@1",
        "tree damaged.jsonl",
        "diff damaged.jsonl",
        "verify damaged.jsonl",
        "search damaged.jsonl go",
    ] {
        let run = world.type_in(words);
        assert!(run.code() <= 1, "{words}");
        assert!(run.stdout().contains(char::is_alphabetic), "{words}");
    }
    assert_eq!(stamp(), before);
}

/// A transcript whose last line is cut off, too: it is imported, and stays as it is.
#[test]
fn looking_leaves_a_torn_transcript_as_it_was() {
    let world = World::new(&[]);
    let record = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"hello"}}"#;
    let torn = format!("{record}\n{{\"type\":\"assis");
    let path = world.put("session.jsonl", &torn);
    let stamp = || {
        let meta = fs::metadata(&path).unwrap();
        (fs::read(&path).unwrap(), meta.modified().unwrap())
    };
    let before = stamp();
    let said = format!(
        "line 2 (byte {}): the last line is cut off",
        record.len() + 1
    );
    for (words, code) in [
        ("log session.jsonl", 0),
        ("tree session.jsonl", 0),
        ("verify session.jsonl", 1),
        ("open session.jsonl --frame out.txt", 0),
    ] {
        let run = world.type_in(words);
        assert_eq!(run.code(), code, "{words}: {}", run.stderr());
        let all = run.stdout() + &run.stderr();
        assert!(
            words.starts_with("open") || all.contains(&said),
            "{words}: {all}"
        );
    }
    let picture = fs::read_to_string(world.path("out.txt")).unwrap();
    assert!(picture.contains("! 1 problem"), "{picture}");
    assert_eq!(stamp(), before);
}

/// A name that holds an `@` is a file first.
#[test]
fn a_file_that_is_called_like_a_place_wins() {
    let world = World::new(&["run.jsonl"]);
    fs::rename(world.path("run.jsonl"), world.path("run@2.jsonl")).unwrap();
    assert_eq!(world.type_in("log run@2.jsonl").code(), 0);
    assert_eq!(world.type_in("show run@2.jsonl@2").code(), 0);
    assert_eq!(world.type_in("show run@3.jsonl").code(), 2);
}

/// However a tape is cut, what is whole is read, and what is lost is said.
#[test]
fn a_tape_cut_at_every_byte_opens_or_says_why() {
    let world = World::new(&["run.jsonl"]);
    let tape = fs::read_to_string(world.path("run.jsonl")).unwrap();
    let lines: Vec<&str> = tape.lines().take(10).collect();
    let tape = (lines.join("\n") + "\n").into_bytes();
    let mut opened = 0;
    for cut in 0..tape.len() {
        let (whole, _) = tape.split_at(cut);
        let path = world.put("cut.jsonl", whole);
        let lines = whole.split(|byte| *byte == b'\n').count() - 1;
        match Debugger::open(Source::Path(path), &OpenOptions::default()) {
            Ok(run) => {
                opened += 1;
                let events = run.summary().events as usize;
                assert_eq!(events, lines, "cut at {cut}");
                let is_torn = !whole.ends_with(b"\n");
                assert_eq!(run.problems().len(), usize::from(is_torn), "cut at {cut}");
            }
            Err(error) => {
                assert_eq!(lines, 0, "cut at {cut}: {error}");
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!(opened > 0);
}

/// An import that fails takes back what it began, and nothing else.
#[test]
fn a_failed_import_leaves_a_file_that_was_there() {
    let world = World::new(&["session.jsonl"]);
    let mine = world.put("mine.jsonl", "mine");
    let run = world.type_in("import session.jsonl -o mine.jsonl --base nowhere");
    assert_eq!(run.code(), 2);
    assert_eq!(fs::read(mine).unwrap(), b"mine");
}
