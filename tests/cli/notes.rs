//! Notes from the command line: where they stay, and where they cannot be kept.

use std::fs;

use super::world::World;

#[test]
fn a_note_stays_when_its_transcript_has_grown() {
    let world = World::new(&["session.jsonl"]);
    assert_eq!(world.type_in("note session.jsonl@main:2 here").code(), 0);
    let path = world.path("session.jsonl");
    let mut transcript = fs::read_to_string(&path).unwrap();
    let more = serde_json::json!({"type": "user", "uuid": "later", "sessionId": "s",
        "timestamp": "2027-01-01T00:00:00Z", "message": {"role": "user", "content": "more"}});
    transcript += &more.to_string();
    transcript.push('\n');
    fs::write(&path, transcript).unwrap();
    let run = world.type_in("note session.jsonl@main:2");
    assert!(run.stdout().contains("here"), "{}", run.stderr());
    let log = world.type_in("log session.jsonl --branch main").stdout();
    let noted: Vec<&str> = log.lines().filter(|line| line.contains('¶')).collect();
    assert_eq!(noted.len(), 1, "{log}");
}

#[test]
fn what_is_no_note_is_refused_and_what_cannot_be_kept_is_said() {
    let world = World::new(&["run.jsonl"]);
    let (long, longest) = ("x".repeat(4097), "x".repeat(4096));
    let run = world.run(&["note", "run.jsonl@4", &long]);
    assert_eq!(run.code(), 2);
    assert!(
        run.stderr().contains("nothing was written"),
        "{}",
        run.stderr()
    );
    assert_eq!(world.type_in("note run.jsonl@4").code(), 1);
    assert_eq!(world.run(&["note", "run.jsonl@4", &longest]).code(), 0);

    let world = World::new(&["run.jsonl"]);
    world.put("../home/state", "a file stands in the way");
    let run = world.type_in("note run.jsonl@4 x");
    assert_eq!(run.code(), 4);
    assert!(
        run.stderr().contains("the tape is untouched"),
        "{}",
        run.stderr()
    );
}
