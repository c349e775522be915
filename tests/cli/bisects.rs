//! `bisect` with real commands in the real sandbox, and questions that the tape answers.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use super::world::{Run, World};

/// A run of so many steps, each of which appends a line to `log`; from one on, `state` says
/// that it is broken. Every third step changes nothing.
fn tape(steps: u32, broken_from: u32) -> String {
    let mut tape = String::from("{\"seq\":0,\"kind\":\"tape\",\"format\":1,\"id\":\"t\"}\n");
    let mut seq = 0;
    let mut say = |mut event: Value| {
        seq += 1;
        event["seq"] = seq.into();
        let _ = writeln!(tape, "{event}");
    };
    say(json!({"kind": "prompt", "name": "user", "text": "go"}));
    say(json!({"kind": "fs.write", "path": "state", "text": "fine\n", "mode": "644"}));
    let mut log = String::new();
    for step in 2..=steps {
        let call = format!("c{step}");
        let title = format!("step {step}");
        say(json!({"kind": "tool.call", "call": call, "name": "Edit", "title": title}));
        if step == broken_from {
            say(json!({"kind": "fs.write", "call": call, "path": "state", "text": "broken\n"}));
        } else if step % 3 != 0 {
            let _ = writeln!(log, "{step}");
            say(json!({"kind": "fs.write", "call": call, "path": "log/all", "text": log}));
        }
    }
    tape
}

fn world(steps: u32, broken_from: u32) -> World {
    let world = World::new(&[]);
    world.put("run.jsonl", tape(steps, broken_from));
    world
}

fn bisect(world: &World, flags: &[&str], script: &str) -> Run {
    let mut words = vec!["bisect", "run.jsonl"];
    words.extend(flags);
    words.extend(["--", "/bin/sh", "-c", script]);
    world.run(&words)
}

fn object(run: &Run) -> Value {
    serde_json::from_str(&run.stdout()).unwrap()
}

#[test]
fn the_first_step_that_fails_is_found_with_few_runs() {
    let world = world(200, 77);
    let run = bisect(
        &world,
        &["--from", "1", "--json"],
        "grep -q fine state || { echo it is broken; exit 1; }",
    );
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let found = object(&run);
    assert_eq!(
        (&found["outcome"], &found["bad"]),
        (&json!("found"), &json!(77))
    );
    assert_eq!(found["good"], json!(76));
    assert_eq!(found["said"], json!(["it is broken"]));
    let patch = found["patches"][0]["patch"].as_str().unwrap();
    assert!(patch.contains("-fine\n+broken\n"), "{patch}");
    let probes = found["probes"].as_array().unwrap();
    let trees = found["trees"].as_u64().unwrap();
    assert!(
        probes.len() <= trees.ilog2() as usize + 5,
        "{} of {trees}",
        probes.len()
    );
    // No tree is asked about twice but the two at the edge and, before, the ends.
    let run = bisect(&world, &["--from", "1"], "grep -q fine state");
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let text = run.stdout();
    assert!(text.contains("the first bad step is 77"), "{text}");
    assert!(text.contains("jukebox diff run.jsonl@76 @77"), "{text}");
}

/// The tape, of a run whose workspace lay there.
fn rooted(root: &str, tape: &str) -> String {
    tape.replacen(
        "\"id\":\"t\"",
        &format!("\"id\":\"t\",\"root\":\"{root}\""),
        1,
    )
}

#[test]
fn the_command_sees_the_files_where_the_run_had_them() {
    let world = World::new(&[]);
    world.put("run.jsonl", rooted("/elsewhere/app/", &tape(12, 7)));
    let script = "[ \"$(pwd)\" = /elsewhere/app ] || exit 200; \
                  [ -e /elsewhere/app/state ] || exit 201; grep -q fine state";
    let flags = ["--from", "1", "--json"];
    let run = bisect(&world, &flags, script);
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let found = object(&run);
    assert_eq!(
        (&found["bad"], &found["seen_at"]),
        (&json!(7), &Value::Null)
    );
    // Among what belongs to the kernel, nothing can be shown.
    world.put("run.jsonl", rooted("/proc/app", &tape(12, 7)));
    let script = "grep -q fine state || { pwd; exit 1; }";
    let found = object(&bisect(&world, &flags, script));
    assert_eq!(found["bad"], json!(7));
    assert_eq!(found["said"], json!([found["seen_at"]]));
    let run = bisect(&world, &["--from", "1"], script);
    let words = "not where the run had them";
    assert!(run.stdout().contains(words), "{}", run.stdout());
}

#[test]
fn a_run_leaves_nothing_for_the_next_one() {
    let world = world(60, 41);
    let script = "for place in . log /tmp $HOME; do \
                  [ -e $place/trace ] && exit 200; echo x > $place/trace || exit 201; done; \
                  [ $(wc -l < state) = 1 ] || exit 202; echo broken > state; rm -rf log; \
                  mkdir -p sub/dir; chmod 0 sub; cat ../tree/trace >/dev/null || exit 203; \
                  exit $(test -e seen && echo 1 || echo 0)";
    let run = bisect(&world, &["--from", "2"], script);
    // Good everywhere: nobody ever writes `seen`.
    assert_eq!(run.code(), 1, "{}{}", run.stdout(), run.stderr());
    assert!(run.stderr().contains("no step is bad"), "{}", run.stderr());
    let left = fs::read_dir(world.path("..")).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left
        .filter(|name| name.starts_with("jukebox-bisect"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn every_tree_that_is_asked_about_is_what_a_checkout_writes() {
    let world = World::new(&["run.jsonl"]);
    let script = "find . -path ./.jukebox -prune -o -type f -printf '%p %m\\n' -exec cksum {} + \
                  -o -type l -printf '%p %l\\n' | sort; exit 1";
    for step in ["0", "2", "4", "5", "8", "13"] {
        let expected = format!("expected-{step}");
        let checkout = world.type_in(&format!("checkout run.jsonl@main:{step} {expected}"));
        assert_eq!(checkout.code(), 0, "{}", checkout.stderr());
        let mut find = std::process::Command::new("/bin/sh");
        find.args(["-c", script]).current_dir(world.path(&expected));
        let expected = find.output().unwrap();
        let expected = String::from_utf8(expected.stdout).unwrap();
        // Asked about in an order that goes to and fro.
        let probe = format!("{{ {script}; }} > /tmp/found; cat /tmp/found; exit 200");
        let probe = probe.replace("exit 1;", "");
        let from = format!("main:{step}");
        let run = bisect(&world, &["--from", &from, "--to", "main:13"], &probe);
        assert_eq!(run.code(), 2, "{}", run.stderr());
        let said: String = run
            .stderr()
            .lines()
            .filter_map(|line| Some(line.strip_prefix("jukebox: ")?.to_owned() + "\n"))
            .filter(|line| !line.starts_with("the command"))
            .collect();
        assert_eq!(said, expected, "{step}");
    }
}

#[test]
fn codes_mean_what_they_mean_to_git() {
    let world = world(30, 20);
    let check = |flags: &[&str], script: &str, code: i32, said: &str| {
        let run = bisect(&world, flags, script);
        let all = run.stdout() + &run.stderr();
        assert_eq!(run.code(), code, "{script}: {all}");
        assert!(all.contains(said), "{script}: {all}");
    };
    let broken = "grep -q broken state";
    check(
        &[],
        &format!("{broken} && exit 127; exit 0"),
        0,
        "the first bad step is 20",
    );
    check(
        &[],
        &format!("{broken} && kill -9 $$; exit 0"),
        2,
        "code 137",
    );
    check(&[], "exit 1", 2, "at step 0 already (code 1)");
    check(&[], "exit 125", 2, "nobody can say how step 0 is");
    check(&[], "exit 0", 1, "no step is bad");
    check(
        &["--from", "25", "--to", "3"],
        "exit 0",
        2,
        "nothing was run",
    );
    // Few are asked about: each that is bad takes its whole time.
    check(
        &["--from", "19", "--to", "20", "--timeout", "2"],
        &format!("{broken} && sleep 60; exit 0"),
        0,
        "step is 20",
    );
    // Nobody can say how it is at 19.
    let some = "[ -e log/all ] && last=$(tail -n 1 log/all); \
                [ \"$last\" = 19 ] && ! grep -q broken state && exit 125; grep -q fine state";
    check(&["--from", "1"], some, 0, "nobody can say how it is at 19");
    let run = world.type_in("bisect run.jsonl -- ./there/is/none");
    assert_eq!(run.code(), 2, "{}", run.stderr());
    assert!(
        run.stderr().contains("127: it is not there"),
        "{}",
        run.stderr()
    );
}

#[test]
fn a_command_that_cannot_be_relied_on_is_told_of() {
    let world = world(40, 30);
    // Nothing is left from run to run that a command could know the second one by: it has to
    // toss a coin where it is bad.
    let script = "grep -q fine state || [ $(od -An -N1 -tu1 /dev/urandom) -lt 128 ]";
    let is_told = (0..300).any(|_| {
        let run = bisect(&world, &["--from", "1"], script);
        assert!([0, 1].contains(&run.code()), "{}", run.stderr());
        run.stderr()
            .contains("does not always answer the same: of step 30 it said bad, then good")
    });
    assert!(is_told);
}

#[test]
fn all_trees_show_whether_the_answer_changes_once() {
    let world = world(25, 12);
    let run = bisect(&world, &["--all"], "! grep -q broken state");
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let text = run.stdout();
    assert!(
        text.contains("good  from 0") && text.contains("bad   from 12"),
        "{text}"
    );
    let run = bisect(
        &world,
        &["--all", "--json"],
        "[ ! -e log/all ] || [ $(wc -l < log/all) != 5 ]",
    );
    assert_eq!(run.code(), 1);
    let found = object(&run);
    let verdicts: Vec<&str> = found["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["good", "bad", "good"]);
    assert_eq!(
        found["probes"].as_array().unwrap().len() as u64,
        found["trees"].as_u64().unwrap()
    );
}

#[test]
fn the_tape_answers_questions_about_a_file() {
    let world = world(90, 50);
    let check = |words: &str, code: i32, said: &str| {
        let run = world.type_in(&format!("bisect run.jsonl {words}"));
        let all = run.stdout() + &run.stderr();
        assert_eq!(run.code(), code, "{words}: {all}");
        assert!(all.contains(said), "{words}: {all}");
    };
    check(
        "--from 1 --grep ^fine$ state",
        0,
        "the first bad step is 50",
    );
    check(
        "--grep ^fine$ state",
        2,
        "--from 1 names the first one that is good",
    );
    check("--not --grep broken state", 0, "the first bad step is 50");
    check("--absent log/all", 0, "the first bad step is 2");
    check("--exists log/all", 2, "--from 2 names");
    check("--exists nowhere", 2, "it is not so at any step");
    check("--absent nowhere", 1, "no step is bad");
    check("--grep ( state", 2, "no pattern");
    check("--hash state 1234", 2, "no hash");
    let tree = world.type_in("tree run.jsonl@3 --json").stdout();
    let state = tree
        .lines()
        .find(|line| line.contains("\"state\""))
        .unwrap();
    let state: Value = serde_json::from_str(state).unwrap();
    let hash = state["blob"].as_str().unwrap();
    check(
        &format!("--from 1 --hash state {hash}"),
        0,
        "the first bad step is 50",
    );
    check(
        &format!("--from 1 --hash state {}", hash.get(3..13).unwrap()),
        0,
        "the first bad step is 50",
    );
    check("--grep a b -- true", 2, "cannot be used with");
    check("", 2, "what makes a step good?");
}

#[test]
fn what_nobody_saw_is_said() {
    let world = World::new(&[]);
    let lines = [
        r#"{"seq":0,"kind":"tape","format":1,"id":"t"}"#,
        r#"{"seq":1,"kind":"prompt","name":"user","text":"go"}"#,
        r#"{"seq":2,"kind":"fs.write","path":"a","text":"fine\n"}"#,
        r#"{"seq":3,"kind":"fs.write","path":"b","text":"b\n"}"#,
        r#"{"seq":4,"kind":"tool.call","call":"c1","name":"Bash"}"#,
        r#"{"seq":5,"kind":"fs.suspect","call":"c1","why":"a command ran"}"#,
        r#"{"seq":6,"kind":"tool.call","call":"c2","name":"Write"}"#,
        r#"{"seq":7,"kind":"fs.write","call":"c2","path":"a","text":"broken\n"}"#,
    ];
    world.put("run.jsonl", lines.join("\n") + "\n");
    let run = bisect(&world, &["--from", "1"], "grep fine a");
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let text = run.stdout();
    assert!(text.contains("the first bad step is 3"), "{text}");
    assert!(text.contains("unseen, by step 2"), "{text}");
    assert!(text.contains("not known exactly then: b\n"), "{text}");
}

#[test]
fn a_tree_that_comes_back_is_not_asked_about_again() {
    let world = World::new(&[]);
    let mut lines = vec![
        r#"{"seq":0,"kind":"tape","format":1,"id":"t"}"#.to_owned(),
        r#"{"seq":1,"kind":"prompt","name":"user","text":"go"}"#.to_owned(),
    ];
    for (step, text) in (2..).zip(["one", "two", "one", "two", "three"]) {
        let [asked, wrote] = [2 * step - 2, 2 * step - 1];
        lines.push(format!(
            r#"{{"seq":{asked},"kind":"tool.call","call":"c{step}","name":"Edit"}}"#
        ));
        lines.push(format!(
            r#"{{"seq":{wrote},"kind":"fs.write","call":"c{step}","path":"a","text":"{text}"}}"#
        ));
    }
    world.put("run.jsonl", lines.join("\n") + "\n");
    let run = bisect(&world, &["--from", "2", "--all", "--json"], "true");
    let found = object(&run);
    assert_eq!(found["trees"], 3, "{found:#}");
    assert_eq!(found["probes"].as_array().unwrap().len(), 3, "{found:#}");
}

#[test]
fn the_end_of_what_a_command_said_is_told() {
    let world = world(3, 3);
    let script = "grep -q fine state || { seq 1 30; exit 1; }";
    let found = object(&bisect(&world, &["--from", "1", "--json"], script));
    let last: Vec<String> = (11..=30).map(|number| number.to_string()).collect();
    assert_eq!(found["said"], json!(last));
}

#[test]
fn of_what_is_not_known_nothing_is_told() {
    let world = World::new(&[]);
    let lines = [
        r#"{"seq":0,"kind":"tape","format":1,"id":"t"}"#,
        r#"{"seq":1,"kind":"prompt","name":"user","text":"go"}"#,
        r#"{"seq":2,"kind":"fs.observe","path":"part","enc":"lines","lines":[[10,"ten\n"]],"total":40}"#,
        r#"{"seq":3,"kind":"fs.write","path":"d/a","text":"word\n"}"#,
        r#"{"seq":4,"kind":"tool.call","call":"c1","name":"Edit"}"#,
        r#"{"seq":5,"kind":"fs.write","call":"c1","path":"part","text":"ten\nword\n"}"#,
    ];
    world.put("run.jsonl", lines.join("\n") + "\n");
    let verdict = |words: &str| {
        let run = world.type_in(&format!("bisect run.jsonl --from 1 --all --json {words}"));
        object(&run)["probes"][0]["verdict"].clone()
    };
    // The lines that nobody saw may hold it.
    assert_eq!(verdict("--grep word part"), "skip");
    assert_eq!(verdict("--grep ten part"), "good");
    // A directory has no lines, and that is known.
    assert_eq!(verdict("--grep word d"), "bad");
    assert_eq!(verdict("--grep word d/a"), "good");
}
