//! The open transaction: what has become of it is seen, an end of it is shown before it is done,
//! and nothing but a clear yes does it.

use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use jukebox::debugger::{
    Committed, Conflict, Debugger, EndedTransaction, Fingerprint, HeldState, OpenOptions, Proposed,
    Prospect, RolledBack, Sent, Source, TransactionEnd, TransactionEnded, TransactionStanding,
};
use jukebox::model::{BlobHash, TapePath};
use jukebox::text::SafeText;
use jukebox::tui::app::{App, AppOptions};
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::job::{Answer, Answered, Job, PatchRow, PatchSort, TransactionAnswer};
use jukebox::tui::job::{Reply, TransactionJob};
use jukebox::tui::key::Key;
use jukebox::tui::worker::InlineWorker;

use crate::walks::{LENGTH, walk_with};
use crate::{Run, SIZES, Screen};

/// A run whose transaction somebody holds who answers as a test wants.
struct Held {
    worker: InlineWorker,
    standing: Answered<Option<TransactionStanding>>,
    /// What an end would do, and what comes of it; nothing: no answer comes.
    prospect: Option<Answered<Prospect>>,
    ended: Option<Answered<TransactionEnded>>,
    /// What was asked to be ended.
    ends: Vec<TransactionEnd>,
}

impl Run for Held {
    fn settle(&mut self, app: &mut App, event: Event) -> Vec<Effect> {
        let Self {
            worker,
            standing,
            prospect,
            ended,
            ends,
        } = self;
        worker.settle_but(app, event, &mut |job, reply| {
            let Job::Transaction(job) = job else {
                return false;
            };
            let answer = match job {
                TransactionJob::Standing => TransactionAnswer::Standing(standing.clone()),
                TransactionJob::Prospect(end) => {
                    let Some(prospect) = prospect.clone() else {
                        return true;
                    };
                    let prospect = prospect.map(|it| Box::new(Prospect { end: *end, ..it }));
                    TransactionAnswer::Prospect(prospect)
                }
                TransactionJob::End(shown) => {
                    ends.push(shown.end);
                    let Some(ended) = ended.clone() else {
                        return true;
                    };
                    TransactionAnswer::Ended(ended.map(Box::new))
                }
                TransactionJob::Patch { .. } => TransactionAnswer::Patch(vec![PatchRow {
                    sort: PatchSort::Added,
                    text: SafeText::literal("+the line that came"),
                }]),
                TransactionJob::Stop => return true,
                TransactionJob::View { .. } => return false,
            };
            reply(Answer::Transaction(answer));
            true
        })
    }
}

fn standing(state: HeldState) -> TransactionStanding {
    TransactionStanding {
        id: "b3f2".to_owned(),
        workspace: PathBuf::from("/w"),
        state,
        is_within_reach: true,
    }
}

fn file(words: &str) -> Fingerprint {
    Fingerprint::File {
        hash: BlobHash::of(words.as_bytes()),
        len: Some(words.len() as u64),
        mode: Some(0o644),
    }
}

fn prospect(paths: &[&str]) -> Prospect {
    let change = |path: &&str| Proposed {
        path: TapePath::new(*path).unwrap(),
        base: file("old"),
        ours: file("new"),
        content: None,
    };
    Prospect {
        end: TransactionEnd::Commit,
        transaction: standing(HeldState::Open),
        changes: paths.iter().map(change).collect(),
        conflicts: Vec::new(),
        effects: Vec::new(),
    }
}

fn committed() -> TransactionEnded {
    TransactionEnded::Committed(EndedTransaction {
        committed: Committed {
            id: Some(1),
            changed: 2,
            late: Vec::new(),
        },
        told: Ok(()),
        sent: Ok(Sent::default()),
    })
}

fn screen(columns: u16, rows: u16) -> Screen<Held> {
    let tape = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/cli/effects.jsonl"
    );
    let source = Source::Path(tape.into());
    let run = Debugger::open(source, &OpenOptions::default()).unwrap();
    let held = Held {
        worker: InlineWorker::new(Arc::new(RwLock::new(run))),
        standing: Ok(Some(standing(HeldState::Open))),
        prospect: Some(Ok(prospect(&["a.txt", "b.txt"]))),
        ended: Some(Ok(committed())),
        ends: Vec::new(),
    };
    Screen::on(held, AppOptions::default(), columns, rows)
}

#[test]
fn what_would_change_is_shown_and_a_clear_yes_commits_it() {
    let mut screen = screen(120, 40);
    screen.shows("▎ transaction open");
    screen.keys("C");
    screen.shows("Change 2 paths in /w?");
    screen.shows("M a.txt");
    screen.shows("Y commit");
    // Neither the key that asked nor any that says yes elsewhere does it.
    screen.keys("C y Enter Esc Space l");
    assert_eq!(screen.run.ends, []);
    screen.keys("Y");
    assert_eq!(screen.run.ends, [TransactionEnd::Commit]);
    screen.shows("Committed: 2 paths changed in /w.");
    screen.shows("`jukebox txn undo b3f2` takes it back");
    // Once.
    screen.keys("Y Y q");
    assert_eq!(screen.run.ends, [TransactionEnd::Commit]);
    screen.hides("Committed");
}

#[test]
fn whoever_backs_out_has_done_nothing() {
    for keys in ["q", "Esc", "Enter q q", "? ?"] {
        let mut screen = screen(120, 40);
        screen.keys("C");
        screen.keys(keys);
        screen.hides("Change 2 paths");
        screen.keys("Y");
        screen.shows("nothing is asked");
        assert_eq!(screen.run.ends, []);
    }
}

#[test]
fn a_yes_that_was_typed_before_anything_was_shown_is_none() {
    let mut screen = screen(120, 40);
    screen.run.prospect = None;
    screen.keys("C Y");
    screen.shows("asking the process that holds the transaction");
    assert_eq!(screen.run.ends, []);
}

#[test]
fn a_path_is_looked_at_and_left_again() {
    let mut screen = screen(120, 40);
    screen.keys("C j Enter");
    screen.shows("b.txt");
    screen.shows("+the line that came");
    screen.hides("a.txt");
    screen.keys("q");
    screen.shows("M a.txt");
    assert_eq!(screen.run.ends, []);
}

#[test]
fn conflicts_are_listed_with_all_three_sides_and_cannot_be_said_yes_to() {
    let mut screen = screen(100, 40);
    let mut with = prospect(&["a.txt"]);
    with.conflicts = vec![Conflict {
        path: TapePath::new("a.txt").unwrap(),
        base: file("old"),
        ours: file("new"),
        theirs: Fingerprint::Link(b"/etc".to_vec()),
        kept: None,
    }];
    screen.run.prospect = Some(Ok(with));
    screen.keys("C");
    screen.shows("Nothing was written: somebody else changed 1 path");
    screen.shows("! a.txt");
    screen.shows(&format!("base    a file {}", BlobHash::of(b"old").short()));
    screen.shows(&format!("ours    a file {}", BlobHash::of(b"new").short()));
    screen.shows("theirs  a link to /etc");
    screen.shows("The transaction is still open.");
    screen.hides("Y commit");
    screen.keys("Y");
    assert_eq!(screen.run.ends, []);
}

#[test]
fn what_somebody_changed_between_the_question_and_the_yes_is_asked_again() {
    let mut screen = screen(120, 40);
    screen.run.ended = Some(Ok(TransactionEnded::Changed));
    screen.keys("C");
    screen.run.prospect = Some(Ok(prospect(&["a.txt", "b.txt", "c.txt"])));
    screen.keys("Y");
    screen.shows("It changed since it was shown; nothing was done.");
    screen.shows("Change 3 paths in /w?");
    screen.run.ended = Some(Ok(committed()));
    screen.keys("Y");
    screen.shows("Committed");
    assert_eq!(screen.run.ends.len(), 2);
}

#[test]
fn a_rollback_says_what_it_leaves_and_then_what_it_left() {
    let mut screen = screen(120, 40);
    screen.run.ended = Some(Ok(TransactionEnded::RolledBack(RolledBack {
        not_sent: vec![2],
        compensated: vec![1],
        residue: Vec::new(),
    })));
    screen.keys("U");
    screen.shows("Forget what changed? Nothing in /w was touched.");
    screen.shows("Y roll back");
    screen.keys("Y");
    assert_eq!(screen.run.ends, [TransactionEnd::RollBack]);
    screen.shows("Rolled back: the workspace is as it was.");
    screen.shows("taken back: effect 1");
    screen.shows("never sent: effect 2");
}

#[test]
fn what_was_begun_goes_on_when_nobody_looks_and_is_told() {
    let mut screen = screen(120, 40);
    screen.run.ended = None;
    screen.keys("C");
    let asked = screen
        .app
        .update(Event::Key("Y".parse::<Key>().unwrap().press()));
    let generation = asked.iter().find_map(|effect| match effect {
        Effect::Request(request) if matches!(request.job, Job::Transaction(_)) => {
            Some(request.generation)
        }
        _ => None,
    });
    screen.shows("committing");
    screen.shows("It goes on when this is closed.");
    screen.keys("q l C");
    screen.shows("the transaction is being ended already");
    let answer = Answer::Transaction(TransactionAnswer::Ended(Ok(Box::new(committed()))));
    let generation = generation.unwrap();
    screen.send(Event::Reply(Reply { generation, answer }));
    screen.shows("2 paths changed in /w");
}

#[test]
fn who_cannot_be_asked_says_why_and_what_to_do() {
    let mut screen = screen(100, 30);
    screen.run.standing = Ok(Some(standing(HeldState::Abandoned)));
    let words = "the transaction `b3f2` is abandoned: `jukebox txn recover b3f2` …";
    screen.run.prospect = Some(Err(SafeText::literal(words)));
    screen.keys("C");
    screen.shows("`jukebox txn recover b3f2`");
    screen.keys("Y q");
    assert_eq!(screen.run.ends, []);
    screen.shows("▎ abandoned");
    // There is nothing to be ended: no hint offers it.
    screen.hides("commit…");
}

#[test]
fn a_run_without_a_transaction_has_none_to_end() {
    let mut screen = Screen::new(120, 40, 20);
    screen.keys("C");
    screen.shows("this run has no transaction");
    screen.keys("V V V V");
    screen.shows("2 Numbers");
}

#[test]
fn an_end_can_be_asked_for_before_anything_of_the_run_is_known() {
    let mut app = App::new(AppOptions::default());
    let (columns, rows) = (100, 30);
    app.update(Event::Resize { columns, rows });
    let asked = app.update(Event::Key("C".parse::<Key>().unwrap().press()));
    let is_asked = |effect: &Effect| match effect {
        Effect::Request(request) => matches!(
            request.job,
            Job::Transaction(TransactionJob::Prospect(TransactionEnd::Commit))
        ),
        _ => false,
    };
    assert!(asked.iter().any(is_asked), "{asked:?}");
}

#[test]
fn the_view_follows_the_playhead() {
    let mut screen = screen(160, 45);
    screen.keys("G V V V V");
    screen.shows("2 Transaction @");
    screen.shows("here       open");
    screen.keys(": 1 Enter");
    screen.shows("No transaction has begun up to here.");
}

#[test]
fn no_walk_ends_anything_but_by_a_yes() {
    let keys = "C U y Enter j k g G q Esc ? ! l h V v : x d u 3 Tab";
    let keys: Vec<Key> = keys.split(' ').map(|key| key.parse().unwrap()).collect();
    for (seed, (columns, rows)) in SIZES.into_iter().enumerate() {
        let mut screen = screen(columns, rows);
        walk_with(&mut screen, &keys, seed as u64 + 77, LENGTH);
        assert_eq!(screen.run.ends, []);
        let with_yes = [&keys[..], &["Y".parse().unwrap()]].concat();
        walk_with(&mut screen, &with_yes, seed as u64 + 177, LENGTH);
    }
}

#[test]
fn the_question_can_be_read_and_answered_on_every_screen() {
    for (columns, rows) in SIZES {
        let mut screen = screen(columns, rows);
        screen.keys("C");
        screen.shows("2 paths");
        screen.shows("Y commit");
        screen.shows("q cancel");
        screen.keys("Y");
        screen.shows("Committed");
        assert_eq!(
            screen.run.ends,
            [TransactionEnd::Commit],
            "{columns}x{rows}"
        );
    }
}
