//! Marks from the command line: set, used as places, listed and forgotten.

use serde_json::{Value, json};

use super::world::{Run, World};

fn rows(run: &Run) -> Vec<Value> {
    let stdout = run.stdout();
    let rows = stdout.lines().map(serde_json::from_str);
    rows.map(Result::unwrap).collect()
}

#[test]
fn a_mark_is_a_place_for_every_command_until_it_is_forgotten() {
    let world = World::new(&["run.jsonl"]);
    let before = std::fs::read(world.path("run.jsonl")).unwrap();
    assert_eq!(world.type_in("mark run.jsonl@main:3 a").code(), 0);
    assert_eq!(
        world.type_in("mark run.jsonl@fail before-it-broke").code(),
        0
    );
    let set = world.type_in("mark run.jsonl@seq:5 inside --json");
    assert_eq!(rows(&set)[0]["place"], "seq:5", "{}", set.stderr());
    let shown = |place: &str| {
        world
            .type_in(&format!("show run.jsonl@{place} --json"))
            .stdout()
    };
    assert_eq!(shown("mark:a"), shown("main:3"));
    assert_eq!(shown("mark:before-it-broke"), shown("fail"));

    let listed = rows(&world.type_in("mark run.jsonl --json"));
    let names: Vec<&Value> = listed.iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["a", "before-it-broke", "inside"]);
    assert_eq!(
        listed[0],
        json!({"name": "a", "place": "main:3", "branch": "main", "step": 3})
    );
    let words = world.type_in("mark run.jsonl").stdout();
    assert!(words.starts_with("a                @main:3"), "{words}");

    // A name that is taken moves.
    assert_eq!(world.type_in("mark run.jsonl@main:4 a").code(), 0);
    assert_eq!(shown("mark:a"), shown("main:4"));
    let gone = world.type_in("mark run.jsonl a --remove --json");
    let nothing = json!({"name": "a", "place": null, "branch": null, "step": null});
    assert_eq!(rows(&gone), [nothing]);
    assert_eq!(world.type_in("mark run.jsonl a --remove").code(), 1);
    assert_eq!(world.type_in("show run.jsonl@mark:a").code(), 2);
    assert_eq!(rows(&world.type_in("mark run.jsonl --json")).len(), 2);
    assert_eq!(std::fs::read(world.path("run.jsonl")).unwrap(), before);
}

#[test]
fn what_is_no_mark_is_refused_and_what_cannot_be_kept_is_said() {
    let world = World::new(&["run.jsonl"]);
    for words in ["mark run.jsonl@3", "mark run.jsonl --remove"] {
        let run = world.type_in(words);
        assert_eq!((run.code(), &*run.stdout()), (2, ""), "{words}");
    }
    assert_eq!(world.run(&["mark", "run.jsonl@3", ""]).code(), 2);
    assert_eq!(world.type_in("mark run.jsonl").stdout(), "");
    world.put("../home/state", "a file stands in the way");
    let run = world.type_in("mark run.jsonl@main:3 a");
    assert_eq!(run.code(), 4, "{}", run.stderr());
    assert!(run.stderr().contains("the tape is untouched"));
}
