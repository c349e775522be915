//! Random change sets: the committed tree is what was seen inside, a rolled back one is what
//! was there before, and the tape tells of both.

use std::fs;
use std::ops::ControlFlow;
use std::process::{Command as Program, Stdio};

use jukebox::sandbox::{Backend, Command, Config, Policy, Said, Status, Stream};
use jukebox::transaction::{Begin, Isolation, Transaction};

use super::dice::Dice;
use super::who::{self, as_root_and_as_user};
use super::world::{World, tree};

as_root_and_as_user!(random_changes_are_committed_as_they_were_seen);

/// Change sets that are tried by each of the two users in every run.
const SETS: u64 = 20;
/// Operations in each.
const OPERATIONS: usize = 25;

/// What there is, and what it holds.
const LOOK: &str = "find . -mindepth 1 ! -path './.jukebox*' -printf '%P %y %m %l\\n' | sort
    find . -type f ! -path './.jukebox*' -exec cksum {} + | sort";

/// Far more, for whoever changes anything here: `cargo test --test txn -- --ignored`.
#[test]
#[ignore = "takes three minutes: for whoever changes the sandbox or the commit"]
fn a_thousand_random_change_sets() {
    try_sets(1..=1_000);
}

fn random_changes_are_committed_as_they_were_seen() {
    try_sets(1..=SETS);
}

fn try_sets(seeds: std::ops::RangeInclusive<u64>) {
    let world = World::new(&[]);
    let workspace = world.workspace();
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let tape = world.path(format!("tapes/{seed}.jsonl"));
        let begin = Begin {
            id: format!("set{seed}"),
            sandbox: Config {
                workspace: workspace.clone(),
                seen_at: None,
                helper: who::program(),
                backend: Backend::Overlay,
                layers: None,
                policy: Policy::for_home(Some(&world.path("home"))),
            },
            isolation: Isolation::Writes,
            tape: tape.clone(),
            surroundings: jukebox::effects::Surroundings::default(),
            prompt: None,
            covers: serde_json::Map::new(),
            redacting: None,
            fork: None,
        };
        let mut transaction = Transaction::begin(&begin).unwrap();
        let before = tree(&workspace);
        let mut script = Vec::new();
        let mut seen = String::new();
        for number in 1..=OPERATIONS {
            script.push(dice.operation());
            if dice.below(12) == 0 || number == OPERATIONS {
                say(&mut transaction, &script.join("\n"));
                script.clear();
                match dice.below(6) {
                    0 => transaction.savepoint(&format!("s{number}")).unwrap(),
                    1 if number < OPERATIONS => {
                        let name = format!("r{number}");
                        transaction.savepoint(&name).unwrap();
                        say(&mut transaction, &dice.operation());
                        transaction.roll_back_to(&name).unwrap();
                    }
                    _ => {}
                }
                seen = say(&mut transaction, LOOK);
            }
        }
        if dice.below(4) == 0 {
            transaction.roll_back().unwrap();
            assert_eq!(tree(&workspace), before, "seed {seed}, rolled back");
            continue;
        }
        transaction.commit().unwrap();
        drop(transaction);
        let now = look(&workspace);
        assert_eq!(now, seen, "seed {seed}, committed");
        let copy = world.path("copy");
        let checked = world
            .command(who::program())
            .args(["checkout".as_ref(), tape.as_os_str(), copy.as_os_str()])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "seed {seed}: {said}");
        assert_eq!(look(&copy), seen, "seed {seed}, as the tape tells it");
        fs::remove_dir_all(copy).unwrap();
    }
}

/// Runs a script that may fail; what it said.
fn say(transaction: &mut Transaction, script: &str) -> String {
    let mut command = Command::new(["/bin/sh", "-c", script]);
    command.environment = vec![
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("LC_ALL".into(), "C".into()),
    ];
    let mut output = Vec::new();
    let exit = transaction.exec(&command, &mut |said| {
        if let Said::Bytes(Stream::Output, bytes) = said {
            output.extend_from_slice(bytes);
        }
        ControlFlow::Continue(())
    });
    assert!(matches!(exit.unwrap().status, Status::Code(_)));
    String::from_utf8(output).unwrap()
}

fn look(directory: &std::path::Path) -> String {
    let output = Program::new("/bin/sh")
        .args(["-c", LOOK])
        .current_dir(directory)
        .env("LC_ALL", "C")
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}
