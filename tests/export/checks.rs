//! A call after which a file is not as it should be, whatever its outcome: the case asks the same.

use super::world::{World, demo, verdicts};

#[test]
fn a_step_after_which_something_is_not_so_is_a_case() {
    let world = World::new();
    let tape = demo("bug-hunt.jsonl");
    // The edit that charges shipping where nobody asked for it.
    let edit = format!("{tape}@12");
    let check = ["--check-grep", "shipping && total < 100", "src/cart.awk"];
    let run = world.run(&[&["export", &edit, "-o", "edit"][..], &check].concat());
    assert_eq!(run.code, 0, "{}", run.error);
    let (code, report) = world.test(&["edit"]).unwrap();
    assert_eq!(
        (code, verdicts(&report)),
        (1, vec!["reproduces"]),
        "{report:#}"
    );
    // On other sources the same edit gives what was asked for.
    let text = world
        .run(&["cat", &format!("{tape}@11"), "src/cart.awk"])
        .output;
    world.put("other/src/cart.awk", text + "# shipping && total < 100\n");
    let (code, report) = world.test(&["edit", "--with", "other"]).unwrap();
    assert_eq!((code, verdicts(&report)), (0, vec!["fixed"]), "{report:#}");
    // A command that went well, and left a file that awk refuses.
    let command = format!("{tape}@17");
    let check = ["--check-grep", r"total < 100\)", "src/cart.awk"];
    let run = world.run(&[&["export", &command, "-o", "command"][..], &check].concat());
    assert_eq!(run.code, 0, "{}", run.error);
    if let Some((code, report)) = world.test(&["command"]) {
        assert_eq!(
            (code, verdicts(&report)),
            (1, vec!["reproduces"]),
            "{report:#}"
        );
    }
    let words = ["--check-absent", "data/large.csv"];
    let write = format!("{tape}@13");
    let run = world.run(&[&["export", &write, "-o", "write"][..], &words].concat());
    assert_eq!(run.code, 0, "{}", run.error);
    let (_, report) = world.test(&["write"]).unwrap();
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
    // What is to be otherwise is asked otherwise, too.
    let words = ["--check-exists", "data/large.csv", "--check-not"];
    let run = world.run(&[&["export", &write, "-o", "not"][..], &words].concat());
    assert_eq!(run.code, 0, "{}", run.error);
    let (_, report) = world.test(&["not"]).unwrap();
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
}

#[test]
fn what_is_so_or_no_call_is_refused() {
    let world = World::new();
    let tape = demo("bug-hunt.jsonl");
    let check = |step: &str, words: &[&str], said: &str| {
        let place = format!("{tape}@{step}");
        let run = world.run(&[&["export", &place, "-o", "case"][..], words].concat());
        assert_eq!(run.code, 2, "{}", run.output);
        assert!(run.error.contains(said), "{}", run.error);
        assert!(run.error.contains("nothing was written"), "{}", run.error);
    };
    let exists = ["--check-exists", "src/cart.awk"];
    check("12", &exists, "it is as it should be");
    check("11", &exists, "step 11 is no tool call");
    let not = ["--check-exists", "nowhere", "--check-not"];
    check("12", &not, "it is as it should be");
}
