//! What the process that holds a transaction would say, what making a fork would come to, and
//! who writes a test case, for views of them: nothing is held, run or written here.

use std::path::PathBuf;
use std::sync::Arc;

use jukebox::debugger::{
    CaseCut, CaseKept, CaseOffer, Committed, Conflict, Debugger, EffectState, EndedTransaction,
    ExportedCase, Fate, Fingerprint, ForkedStep, HeldState, LedgerRow, Proposed, Prospect,
    RolledBack, Sent, Shrinking, Standing, StepRow, Stopped, TransactionEnd, TransactionEnded,
    TransactionStanding,
};
use jukebox::model::{BlobHash, EffectClass, StepNumber, TapePath, Via};
use jukebox::text::SafeText;
use jukebox::tui::job::{
    Answer, CaseOffered, ExportAnswer, ExportJob, ForkAnswer, ForkJob, ForkMade, ForkUnmade, Job,
    LineCount, PatchRow, PatchSort, Prepared, TransactionAnswer, TransactionJob,
};

use super::{Cut, Holder, Making};

/// Answers what is asked of the holder; whether it was that.
pub(crate) fn answer(holder: Holder, job: &Job, reply: &mut dyn FnMut(Answer)) -> bool {
    let Job::Transaction(job) = job else {
        return false;
    };
    let gone = || SafeText::literal(ABANDONED);
    let mut say = |answer| reply(Answer::Transaction(answer));
    match (job, holder) {
        (TransactionJob::Standing, _) => {
            say(TransactionAnswer::Standing(Ok(Some(standing(holder)))));
        }
        (TransactionJob::Prospect(_) | TransactionJob::End(_), Holder::Silent)
        | (TransactionJob::Stop, _) => {}
        (TransactionJob::Prospect(_), Holder::Gone) => {
            say(TransactionAnswer::Prospect(Err(gone())));
        }
        (TransactionJob::Prospect(end), _) => {
            let prospect = prospect(holder, *end);
            let count = prospect.changes.len();
            say(TransactionAnswer::Prospect(Ok(Box::new(prospect))));
            let counts = [(3, 1), (12, 0), (0, 0), (0, 4)];
            let counts = counts.map(|(added, removed)| LineCount { added, removed });
            let counts = counts.into_iter().take(count).collect();
            say(TransactionAnswer::Counted(counts));
        }
        (TransactionJob::End(_), Holder::Gone) => say(TransactionAnswer::Ended(Err(gone()))),
        (TransactionJob::End(shown), _) => {
            say(TransactionAnswer::Ended(Ok(Box::new(ended(shown.end)))));
        }
        (TransactionJob::Patch { .. }, _) => say(TransactionAnswer::Patch(patch())),
        (TransactionJob::View { .. }, _) => return false,
    }
    true
}

/// Says that a test case was written, where it could be; whether it was asked.
pub(crate) fn say_written(job: &Job, reply: &mut dyn FnMut(Answer)) -> bool {
    let Job::Export(ExportJob::Write {
        offered,
        form,
        directory,
        ..
    }) = job
    else {
        return false;
    };
    let written = if directory.exists() {
        let why = format!(
            "`{}` is there already, and nothing was written: choose another directory",
            directory.display()
        );
        Err(SafeText::line(&why))
    } else {
        let Prepared::Case(case, offer) = &offered.prepared else {
            return false;
        };
        Ok(Box::new(ExportedCase {
            form: *form,
            name: case.name().to_owned(),
            directory: directory.clone(),
            step: offer.step,
            tool: offer.tool.clone(),
            files: offer.files,
            doubts: offer.doubts.clone(),
            remarks: Vec::new(),
            secrets: 0,
            moved: 0,
            cut: offer.cut.clone(),
        }))
    };
    reply(Answer::Export(ExportAnswer::Written(written)));
    true
}

/// Answers what looking for the smallest set of files comes to; whether it was asked.
pub(crate) fn cut(cut: Cut, job: &Job, reply: &mut dyn FnMut(Answer)) -> bool {
    let Job::Export(ExportJob::Shrink { offered, budget }) = job else {
        return false;
    };
    let mut say = |answer| reply(Answer::Export(answer));
    say(ExportAnswer::Shrinks(Shrinking {
        tries: 41,
        files: 3,
        bytes: 892,
        elapsed: *budget / 3,
        budget: *budget,
    }));
    let shrunk = match (cut, &offered.prepared) {
        (Cut::Found, Prepared::Case(case, offer)) => Ok(Arc::new(CaseOffered {
            prepared: Prepared::Case(case.clone(), fewer(offer)),
            directory: offered.directory.clone(),
        })),
        (Cut::None, _) => Err(SafeText::literal(
            "step 18: it does not fail twice as it was recorded, on all of its files: ok, exit \
             code 0",
        )),
        _ => return true,
    };
    say(ExportAnswer::Shrunk(shrunk));
    true
}

/// A case with fewer files.
fn fewer(offer: &CaseOffer) -> CaseOffer {
    let kept = |path, kept| (SafeText::literal(path), kept);
    let gone = |path, lines| kept(path, CaseKept::Nothing { lines: Some(lines) });
    let less = |path, left, of| kept(path, CaseKept::Lines { kept: left, of });
    let files = vec![
        gone("README.md", 6),
        less("data/commented.csv", 2, 4),
        gone("data/large.csv", 2),
        gone("src/cart.awk", 9),
        less("tests/run.sh", 16, 24),
    ];
    let named = [
        ("data/commented.csv", 24),
        ("data/small.csv", 24),
        ("tests/run.sh", 589),
    ];
    CaseOffer {
        files: 3,
        bytes: 637,
        named: named
            .map(|(path, size)| (SafeText::literal(path), size))
            .into(),
        cut: Some(CaseCut {
            is_least: true,
            turns_green: Some(StepNumber(28)),
            files,
        }),
        ..offer.clone()
    }
}

/// The steps from the one on which the views fork, and on.
pub(crate) fn steps_of(run: &Debugger) -> Vec<StepRow> {
    run.timeline(0, 16..20)
}

/// Answers what making a fork comes to, which has these steps; whether it was asked.
pub(crate) fn make(
    making: Making,
    steps: &[StepRow],
    job: &Job,
    reply: &mut dyn FnMut(Answer),
) -> bool {
    let Job::Fork(ForkJob::Make { .. }) = job else {
        return false;
    };
    let mut say = |answer| reply(Answer::Fork(answer));
    for via in [Via::Edit, Via::Recorded, Via::Rerun] {
        say(ForkAnswer::Told(via));
    }
    let stopped = match making {
        Making::Underway => return true,
        Making::Refused => {
            let why = "/srv/runs/run.fork-1.jsonl cannot be opened for writing: Read-only file \
                       system (os error 30)";
            say(ForkAnswer::Made(Err(ForkUnmade {
                what: "No fork was made, and the run is untouched.",
                why: SafeText::literal(why),
                next: "`jukebox fork TAPE@STEP --edit -o FILE` writes it where you say.",
            })));
            return true;
        }
        Making::Made => Stopped::ModelMustSpeak(None),
        Making::BrokenOff => Stopped::BrokenOff,
        Making::NotAnswered => Stopped::NotAnswered {
            tool: "Bash".to_owned(),
            why: "no sandbox: user namespaces: this kernel forbids them to ordinary users; \
                  `jukebox doctor` says more"
                .to_owned(),
        },
    };
    let ways = [Via::Edit, Via::Recorded, Via::Rerun, Via::Unknown];
    let step = |(row, via): (&StepRow, Via)| ForkedStep {
        row: Some(row.clone()),
        seq: row.seq,
        via,
        miss: None,
    };
    say(ForkAnswer::Made(Ok(Box::new(ForkMade {
        path: SafeText::literal("/home/ada/runs/run.fork-1.jsonl"),
        steps: steps.iter().zip(ways).map(step).collect(),
        shares: ways.map(|via| (via, 1)).to_vec(),
        stopped,
        miss: None,
        left_out: 0,
    }))));
    true
}

const ABANDONED: &str = "the transaction `b3f20c41d9a7` is abandoned: the process that held it is \
    gone, and its workspace is untouched: `jukebox txn recover b3f20c41d9a7` with --salvage NEW \
    copies out what it had written, with --drop removes it";

fn standing(holder: Holder) -> TransactionStanding {
    TransactionStanding {
        id: "b3f20c41d9a7".to_owned(),
        workspace: PathBuf::from("/home/ada/shop"),
        state: match holder {
            Holder::Gone => HeldState::Abandoned,
            Holder::Willing | Holder::Conflicting | Holder::Silent => HeldState::Open,
        },
        is_within_reach: true,
    }
}

fn prospect(holder: Holder, end: TransactionEnd) -> Prospect {
    let changes = [
        ("src/discount.rs", file("old", 0o644), file("new", 0o644)),
        ("notes/today.md", Fingerprint::Absent, file("note", 0o644)),
        ("run.sh", file("run", 0o644), file("run", 0o755)),
        ("old.txt", file("gone", 0o644), Fingerprint::Absent),
    ];
    let changes = changes.into_iter().filter_map(|(path, base, ours)| {
        let path = TapePath::new(path).ok()?;
        let content = None;
        Some(Proposed {
            path,
            base,
            ours,
            content,
        })
    });
    let changes: Vec<Proposed> = changes.collect();
    let theirs = [
        file("another", 0o600),
        Fingerprint::Directory { mode: Some(0o755) },
    ];
    let conflicts = changes.iter().zip(theirs).map(|(change, theirs)| Conflict {
        path: change.path.clone(),
        base: change.base.clone(),
        ours: change.ours.clone(),
        theirs,
        kept: None,
    });
    let is_conflicting = holder == Holder::Conflicting && end == TransactionEnd::Commit;
    let conflicts = conflicts.filter(|_| is_conflicting).collect();
    let effects = match end {
        TransactionEnd::Commit => vec![effect(2, EffectState::Waiting, Fate::NotSent)],
        TransactionEnd::RollBack => vec![
            effect(1, EffectState::Done, Fate::Compensated),
            effect(2, EffectState::Waiting, Fate::NotSent),
            effect(3, EffectState::Done, Fate::Remains),
        ],
    };
    Prospect {
        end,
        transaction: standing(holder),
        changes,
        conflicts,
        effects,
    }
}

fn file(words: &str, mode: u32) -> Fingerprint {
    Fingerprint::File {
        hash: BlobHash::of(words.as_bytes()),
        len: Some(words.len() as u64 * 700),
        mode: Some(mode),
    }
}

fn effect(number: u32, state: EffectState, fate: Fate) -> LedgerRow {
    let (name, arguments, class) = match fate {
        Fate::Compensated => ("charge", "17", EffectClass::Compensable),
        Fate::NotSent => ("mail", "ops@example.org", EffectClass::Irreversible),
        Fate::Nothing | Fate::Remains | Fate::Asked => ("label", "12", EffectClass::Irreversible),
    };
    LedgerRow {
        number,
        step: StepNumber(4),
        name: SafeText::literal(name),
        arguments: SafeText::literal(arguments),
        class,
        key: SafeText::literal("k"),
        transaction: Some(SafeText::literal("b3f20c41d9a7")),
        state,
        standing: Standing::Open(fate),
    }
}

fn ended(end: TransactionEnd) -> TransactionEnded {
    match end {
        TransactionEnd::Commit => TransactionEnded::Committed(EndedTransaction {
            committed: Committed {
                id: Some(7),
                changed: 4,
                late: Vec::new(),
            },
            told: Ok(()),
            sent: Ok(Sent {
                sent: vec![2],
                ..Sent::default()
            }),
        }),
        TransactionEnd::RollBack => TransactionEnded::RolledBack(RolledBack {
            not_sent: vec![2],
            compensated: vec![1],
            residue: Vec::new(),
        }),
    }
}

fn patch() -> Vec<PatchRow> {
    let rows = [
        (
            PatchSort::Head,
            "diff --git a/src/discount.rs b/src/discount.rs",
        ),
        (PatchSort::Hunk, "@@ -3,3 +3,5 @@"),
        (PatchSort::Kept, " fn total(items: &[Item]) -> u64 {"),
        (PatchSort::Removed, "-    sum(items) - discount"),
        (PatchSort::Added, "+    sum(items).saturating_sub(discount)"),
        (PatchSort::Kept, " }"),
    ];
    let row = |(sort, text)| PatchRow {
        sort,
        text: SafeText::literal(text),
    };
    rows.into_iter().map(row).collect()
}
