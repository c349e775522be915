//! Thousands of commits on a file system that forgets: whatever happens, the tree is the
//! old or the new one.

use rustix::io::Errno;

use super::simulated::{Chance, FOREIGN, Simulated, Trouble};
use super::trees::{Tree, build, changed_tree, is_cleared, is_kept, plan, random_tree, survey};
use crate::transaction::settle::KindGuard;
use crate::transaction::{Recovery, TransactionError, Workspace};

/// What is missing in the protocol, to show that it is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Nothing,
    FirstBarrier,
    SecondBarrier,
    KindGuard,
}

impl Missing {
    fn workspace(self, fs: &Simulated) -> Workspace {
        let guard = match self {
            Self::KindGuard => KindGuard::Off,
            _ => KindGuard::On,
        };
        Workspace::on(Box::new(fs.clone()), guard)
    }

    fn deaf_to(self) -> Option<usize> {
        match self {
            Self::FirstBarrier => Some(0),
            Self::SecondBarrier => Some(1),
            _ => None,
        }
    }
}

/// A workspace before a commit, and the tree that the commit makes of it.
struct Case {
    fs: Simulated,
    old: Tree,
    new: Tree,
    missing: Missing,
    chance: Chance,
}

/// What the process is doing when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Commit,
    Undo,
}

impl Case {
    fn new(seed: u64, missing: Missing) -> Self {
        let mut chance = Chance::new(seed);
        let fs = Simulated::new();
        let things = 2 + chance.below(10);
        let old = random_tree(&mut chance, things);
        let things = 1 + chance.below(10);
        let new = changed_tree(&mut chance, &old, things);
        build(&fs, &old);
        fs.settle_down();
        Self {
            fs,
            old,
            new,
            missing,
            chance,
        }
    }

    fn act(&self, fs: &Simulated, doing: Doing) -> Result<(), TransactionError> {
        let mut workspace = self.missing.workspace(fs);
        match doing {
            Doing::Commit => workspace.commit(&plan(&self.old, &self.new))?,
            Doing::Undo => workspace.undo()?,
        };
        Ok(())
    }

    /// Dies at a call, forgets, and recovers, perhaps dying again: old or new, and the new
    /// one if that was said.
    fn dies(&mut self, fs: &Simulated, doing: Doing, at: usize) -> Result<(), String> {
        let original = survey(&self.fs).1;
        let (before, after) = match doing {
            Doing::Commit => (&self.old, &self.new),
            Doing::Undo => (&self.new, &self.old),
        };
        fs.trouble(Trouble {
            dies_at: Some(at),
            deaf_to: self.missing.deaf_to(),
            ..Trouble::default()
        });
        let said = self.act(fs, doing);
        let percent = [0, 30, 70, 100][self.chance.below(4)];
        fs.crash(&mut self.chance, percent);
        while self.chance.is(60) {
            fs.trouble(Trouble {
                dies_at: Some(self.chance.below(60)),
                ..Trouble::default()
            });
            let _ = self.missing.workspace(fs).recover();
            let percent = [0, 50, 100][self.chance.below(3)];
            fs.crash(&mut self.chance, percent);
        }
        let context = format!("{doing:?} dies at {at}, {said:?}");
        self.recovers(fs)
            .map_err(|why| format!("{context}: {why}"))?;
        let (tree, times) = survey(fs);
        if tree != *after && (said.is_ok() || tree != *before) {
            return Err(format!(
                "{context}: {before:?}\n to {after:?}\n is {tree:?}"
            ));
        }
        if tree == self.old && times != original {
            return Err(format!("{context}: times {original:?}\n are {times:?}"));
        }
        Ok(())
    }

    /// Recovers once, and has nothing to do a second time.
    fn recovers(&self, fs: &Simulated) -> Result<(), String> {
        fs.trouble(Trouble::default());
        let said = |error: TransactionError| format!("recovery: {error}");
        let found = self.missing.workspace(fs).recover().map_err(said)?;
        if let Recovery::Finished(done) = found
            && !done.late.is_empty()
        {
            return Err(format!("conflicts {:?}", done.late));
        }
        if !is_cleared(fs) {
            return Err("something is left over".into());
        }
        fs.trouble(Trouble::default());
        let again = self.missing.workspace(fs).recover().map_err(said)?;
        if again != Recovery::Nothing || fs.writes() > 0 {
            return Err(format!("the second recovery {again:?}"));
        }
        Ok(())
    }

    /// How many calls it takes.
    fn calls(&self, fs: &Simulated, doing: Doing) -> Result<usize, String> {
        let fs = fs.copy();
        fs.trouble(Trouble::default());
        let done = self.act(&fs, doing);
        done.map_err(|error| format!("{doing:?} without trouble: {error}"))?;
        Ok(fs.calls())
    }

    fn committed(&self) -> Result<Simulated, String> {
        let fs = self.fs.copy();
        let done = self.act(&fs, Doing::Commit);
        done.map_err(|error| format!("commit: {error}"))?;
        if survey(&fs).0 != self.new {
            return Err(format!("{:?}\n is {:?}", self.new, survey(&fs).0));
        }
        Ok(fs)
    }
}

/// One random end of one random commit.
fn check(seed: u64, missing: Missing) -> Result<(), String> {
    let mut case = Case::new(seed, missing);
    let doing = if case.chance.is(25) && case.old != case.new {
        Doing::Undo
    } else {
        Doing::Commit
    };
    let fs = match doing {
        Doing::Commit => case.fs.copy(),
        Doing::Undo => case.committed()?,
    };
    let calls = case.calls(&fs, doing)?;
    let at = case.chance.below(calls + 1);
    case.dies(&fs, doing, at)
}

/// Ends that are tried in every run of the tests. A part of the protocol that is missing is found
/// by about one in fifty.
const ENDS: u64 = 10_000;

#[test]
fn a_commit_that_dies_anywhere_leaves_the_old_or_the_new_tree() {
    die_anywhere(0..ENDS);
}

/// Far more, for whoever changes anything here: `cargo test --lib transaction -- --ignored`.
#[test]
#[ignore = "takes minutes: for whoever changes the commit"]
fn a_hundred_thousand_commits_that_die_anywhere() {
    die_anywhere(0..100_000);
}

fn die_anywhere(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if let Err(why) = check(seed, Missing::Nothing) {
            panic!("seed {seed}: {why}");
        }
    }
}

#[test]
fn every_call_of_a_commit_and_of_an_undo_may_be_the_last() {
    for seed in 20_000..20_040 {
        let mut case = Case::new(seed, Missing::Nothing);
        for doing in [Doing::Commit, Doing::Undo] {
            if case.old == case.new {
                continue;
            }
            let fs = match doing {
                Doing::Commit => case.fs.copy(),
                Doing::Undo => case.committed().unwrap(),
            };
            for at in 0..=case.calls(&fs, doing).unwrap() {
                if let Err(why) = case.dies(&fs.copy(), doing, at) {
                    panic!("seed {seed}: {why}");
                }
            }
        }
    }
}

#[test]
fn what_the_protocol_consists_of_is_missed_when_it_is_missing() {
    let missing = [
        Missing::FirstBarrier,
        Missing::SecondBarrier,
        Missing::KindGuard,
    ];
    for missing in missing {
        let is_missed = (0..2_000).any(|seed| check(seed, missing).is_err());
        assert!(is_missed, "{missing:?} is not missed");
    }
}

#[test]
fn a_disk_that_fails_or_is_full_leaves_the_old_or_the_new_tree() {
    for seed in 30_000..32_000 {
        let mut case = Case::new(seed, Missing::Nothing);
        let original = survey(&case.fs).1;
        let fs = case.fs.copy();
        let at = case.chance.below(case.calls(&fs, Doing::Commit).unwrap());
        let mut trouble = Trouble::default();
        match case.chance.below(3) {
            0 => trouble.fails_at = Some((at, Errno::NOSPC)),
            1 => trouble.fails_at = Some((at, Errno::IO)),
            _ => trouble.full_from = Some(at),
        }
        fs.trouble(trouble);
        let said = case.act(&fs, Doing::Commit);
        let (tree, times) = survey_without_trouble(&fs);
        match &said {
            Ok(()) => assert_eq!(tree, case.new, "seed {seed}"),
            Err(TransactionError::Interrupted(_)) => {}
            Err(error) => {
                assert_eq!(tree, case.old, "seed {seed}: {error}");
                assert_eq!(times, original, "seed {seed}: {error}");
            }
        }
        if let Err(why) = case.recovers(&fs) {
            panic!("seed {seed}: {said:?}: {why}");
        }
        let (tree, _) = survey(&fs);
        assert!(tree == case.old || tree == case.new, "seed {seed}");
    }
}

fn survey_without_trouble(
    fs: &Simulated,
) -> (Tree, std::collections::BTreeMap<String, (i64, u32)>) {
    fs.trouble(Trouble::default());
    survey(fs)
}

#[test]
fn what_somebody_else_writes_at_any_moment_is_kept() {
    let mut late = 0;
    for seed in 40_000..44_000 {
        let mut case = Case::new(seed, Missing::Nothing);
        let fs = case.fs.copy();
        let path = ["a", "b", "c", "a/a", "b/a", "c/b"][case.chance.below(6)];
        let at = case.chance.below(case.calls(&fs, Doing::Commit).unwrap());
        let has_died = case.chance.is(30);
        fs.trouble(Trouble {
            foreign: Some((at, path)),
            dies_at: has_died.then(|| at + case.chance.below(40)),
            ..Trouble::default()
        });
        let said = Missing::Nothing
            .workspace(&fs)
            .commit(&plan(&case.old, &case.new));
        fs.settle_down();
        fs.trouble(Trouble::default());
        let recovered = Missing::Nothing.workspace(&fs).recover();
        assert!(recovered.is_ok(), "seed {seed}: {said:?}, {recovered:?}");
        let was_written = case.wrote_foreign(at, path);
        if was_written {
            assert!(
                is_kept(&fs, path, FOREIGN),
                "seed {seed}: {path} at {at}: {said:?}\n{:?}",
                survey(&fs).0
            );
        }
        if let Ok(done) = said {
            late += done.late.len();
        }
    }
    assert!(late > 20, "only {late} were late");
}

impl Case {
    /// Whether anybody could write that path at that call.
    fn wrote_foreign(&self, at: usize, path: &'static str) -> bool {
        let fs = self.fs.copy();
        fs.trouble(Trouble {
            foreign: Some((at, path)),
            dies_at: Some(at),
            ..Trouble::default()
        });
        let _ = self.act(&fs, Doing::Commit);
        fs.trouble(Trouble::default());
        is_kept(&fs, path, FOREIGN)
    }
}
