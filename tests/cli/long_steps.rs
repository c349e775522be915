//! A step with more events than are listed: nothing is left out without a word.

use std::fmt::Write as _;

use super::world::World;

#[test]
fn events_that_are_not_listed_are_counted_and_are_there_raw() {
    let world = World::new(&[]);
    let mut tape = String::from(concat!(
        r#"{"seq":0,"t":0,"kind":"tape","format":1,"id":"018f3a5c-7e00-7000-8000-000000000000"}"#,
        "\n",
        r#"{"seq":1,"t":1,"kind":"tool.call","call":"a","name":"Bash","title":"make","args":{}}"#,
        "\n",
    ));
    for seq in 2..=2500 {
        let _ = writeln!(
            tape,
            r#"{{"seq":{seq},"t":{seq},"kind":"note","call":"a","text":"part {seq}"}}"#
        );
    }
    world.put("long.jsonl", &tape);
    let shown = world.run(&["show", "long.jsonl@1"]);
    assert!(
        shown
            .stdout()
            .ends_with("… 500 more events; --raw prints them all\n"),
        "{}",
        shown.stdout()
    );
    let json = world.run(&["show", "long.jsonl@1", "--json"]);
    assert!(json.stdout().contains(r#""omitted_events":500"#));
    let raw = world.run(&["show", "long.jsonl@1", "--raw"]);
    assert_eq!(raw.stdout().lines().count(), 2500);
}
