//! Standard input and output as what they may be: a pipe that closes, a full disk, a terminal.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jukebox::model::BlobHash;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::world::{Run, World};

#[test]
fn a_reader_that_leaves_is_no_error() {
    let world = World::new(&["run.jsonl"]);
    for words in ["log run.jsonl", "tree run.jsonl --json", "--help"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut program = world.program();
        let program = program.args(words.split(' ')).stdout(writer);
        let run = Run::new(program.stderr(Stdio::piped()).output().unwrap());
        assert_eq!((run.code(), run.stderr()), (0, String::new()), "{words}");
    }
}

#[test]
fn output_that_is_lost_is_an_error() {
    let world = World::new(&["run.jsonl"]);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut program = world.program();
    let program = program.args(["log", "run.jsonl"]).stdout(full);
    let run = Run::new(program.stderr(Stdio::piped()).output().unwrap());
    assert_eq!(run.code(), 4);
    assert!(run.stderr().contains("could not be written"));
}

#[test]
fn standard_input_is_a_tape_too() {
    let world = World::new(&["run.jsonl"]);
    let feed = |words: &str| {
        let tape = File::open(world.path("run.jsonl")).unwrap();
        let mut program = world.program();
        Run::new(program.args(words.split(' ')).stdin(tape).output().unwrap())
    };
    let named = world.type_in("log run.jsonl").stdout();
    assert_eq!(feed("log -").stdout(), named);
    let named = world.type_in("cat run.jsonl@4 src/parse.rs").stdout();
    assert_eq!(feed("cat -@4 src/parse.rs").stdout(), named);
}

#[test]
fn bytes_are_exact_in_a_pipe_and_harmless_on_a_terminal() {
    let world = World::new(&[]);
    let bytes = b"\x1b]0;owned\x07 \xff\r\n\tno newline";
    let frame = STANDARD.encode(zstd::encode_all(&bytes[..], 1).unwrap());
    let tape = format!(
        "{}\n{{\"seq\":1,\"kind\":\"fs.write\",\"path\":\"f\",\"blob\":\"{}\",\"len\":{},\"enc\":\"zstd\",\"data\":\"{frame}\"}}\n",
        r#"{"seq":0,"kind":"tape","format":1,"id":"t"}"#,
        BlobHash::of(bytes),
        bytes.len(),
    );
    world.put("run.jsonl", tape);
    assert_eq!(world.type_in("cat run.jsonl f").bytes()[0], bytes);
    let shown = on_a_terminal(&world, "cat run.jsonl f");
    assert_eq!(shown, "^[]0;owned^G \\xff^M\r\n    no newline\r\n");
    let shown = on_a_terminal(&world, "diff run.jsonl --color never");
    assert!(shown.contains("+^[]0;owned^G \\xff^M"), "{shown}");
    let shown = on_a_terminal(&world, "show run.jsonl@1 --raw");
    assert!(!shown.contains('\x1b'), "{shown}");
}

#[test]
fn colors_are_for_terminals_that_want_them() {
    let world = World::new(&["run.jsonl"]);
    let is_colored = |text: &str| text.contains("\x1b[");
    assert!(is_colored(&on_a_terminal(&world, "log run.jsonl")));
    assert!(!is_colored(&on_a_terminal(
        &world,
        "log run.jsonl --color never"
    )));
    assert!(is_colored(
        &world.type_in("--color always log run.jsonl").stdout()
    ));
    assert!(!is_colored(&world.type_in("log run.jsonl").stdout()));
    let mut program = world.program();
    let program = program.args(["log", "run.jsonl"]).env("NO_COLOR", "1");
    let run = Run::new(program.output().unwrap());
    assert!(!is_colored(&run.stdout()));
}

/// What a terminal is told by a command.
fn on_a_terminal(world: &World, words: &str) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let mut command = world.program();
    let program = command.args(words.split(' ')).stdout(theirs);
    program.stderr(Stdio::null()).status().unwrap();
    // With its end closed, what was said is still there, and then reading fails.
    drop(command);
    let mut said = Vec::new();
    let _ = File::from(ours).read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn an_empty_tape_that_is_written_to_is_read_from_its_start() {
    let world = World::new(&["run.jsonl"]);
    let tape = fs::read(world.path("run.jsonl")).unwrap();
    let mut file = File::create(world.path("growing.jsonl")).unwrap();
    assert_eq!(world.type_in("log growing.jsonl").code(), 2);
    file.write_all(&tape).unwrap();
    assert_eq!(world.type_in("log growing.jsonl").code(), 0);
}
