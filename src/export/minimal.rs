//! The smallest set of files on which a command fails in the same way: delta debugging.
//!
//! Files are left out first, then the lines of the texts that remain, then files again, until
//! nothing more can go: without any single one of them the command fails in another way, or
//! not at all. That is not the smallest of all sets, which nobody can find in time; it is one
//! from which nothing can be taken.
//!
//! A set counts if the outcome and the exit code are those recorded, and so is what the output
//! says of the failure (see `decisive`). Where it is known what mended it, that mends it on the
//! smaller set, too: what can never turn green is no test. Whether there is time for another try, whoever asks
//! says; nothing here reads a clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::case::{Case, CaseFile, CaseItem};
use super::check::{Bench, CaseVerdict, check, lacks_program};
use super::decisive::decisive;
use super::directory::Contents;
use super::needed::Touched;
use super::placeholders::{ROOT, Recorded};
use crate::model::{Outcome, TapePath};
use crate::replay::workbench::{Answer, WorkbenchConfig, WorkbenchError};
use crate::replay::{CallContent, Volatile};

/// What a smallest set of files was cut from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The files that are gone, or shorter.
    pub files: BTreeMap<TapePath, Kept>,
    /// Nothing more can be left out.
    pub is_least: bool,
    /// What the call said in the run, with placeholders.
    pub said: String,
}

/// What is left of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing.
    Nothing {
        /// Its lines, if it is a text.
        lines: Option<usize>,
    },
    /// Some lines.
    Lines {
        /// How many.
        kept: usize,
        /// Of how many.
        of: usize,
    },
}

/// What files had become when the same call went well; `None`: they were gone.
pub type Changed = BTreeMap<TapePath, Option<CaseFile>>;

/// There is no smallest set.
#[derive(Debug, thiserror::Error)]
pub enum MinimalError {
    /// The call does not fail twice as it was recorded, on all of its files.
    #[error("{0}")]
    NotReproduced(String),
    /// What was found did not fail twice in the same way.
    #[error("the smallest set of files does not fail twice in the same way")]
    NotStable,
    /// The time was up before anything was known.
    #[error("the time was up before it had failed twice on all of its files")]
    NoTime,
    /// It could not be tried.
    #[error(transparent)]
    Workbench(#[from] WorkbenchError),
}

/// Says when to stop.
pub struct Limits<'a> {
    /// Another try begins.
    pub begins: &'a dyn Fn(),
    /// On these files, fewer than before, it fails in the same way.
    pub holds: &'a dyn Fn(&BTreeMap<TapePath, CaseFile>),
    /// It takes longer than any that failed as recorded: it does not.
    pub is_late: &'a dyn Fn() -> bool,
    /// The time for all tries is up. What is known by then is kept.
    pub is_over: &'a dyn Fn() -> bool,
    /// Whoever waits does not want to any more. Nothing is kept.
    pub is_stopped: &'a dyn Fn() -> bool,
}

/// Makes the set of a case's files as small as can be, in the given time. `mended`: with these
/// changes the call is to go well. Whether it does, with them, on all files: if not, they do not
/// count.
pub fn minimal(
    case: &Case,
    mended: Option<&Changed>,
    config: &WorkbenchConfig,
    limits: &Limits<'_>,
) -> Result<(Case, bool), MinimalError> {
    let contents = Contents::default();
    let mut tries = Tries::new(case, config, limits, &contents);
    for _ in 0..2 {
        // Each time from the beginning: nothing that the first one left may help the second.
        tries.bench = Bench::new(case, config, &contents);
        tries.reproduces()?;
    }
    let mut files = case.files.clone();
    let shrunk = tries
        .take_mended(mended)
        .and_then(|()| tries.shrink(&mut files));
    let turns_green = tries.mended.is_some();
    let is_least = match shrunk {
        Ok(()) => true,
        Err(Halt::Over) => false,
        Err(Halt::Failed(error)) => return Err(error.into()),
    };
    let least = verified(case, files, is_least, config, limits)?;
    Ok((least, turns_green))
}

/// The case with these files and what comes of them, if it does twice.
fn verified(
    case: &Case,
    files: BTreeMap<TapePath, CaseFile>,
    is_least: bool,
    config: &WorkbenchConfig,
    limits: &Limits<'_>,
) -> Result<Case, MinimalError> {
    let mut least = case.clone();
    least.cut = Some(Cut {
        files: cut(&case.files, &files),
        is_least,
        said: case.expected.output.clone().unwrap_or_default(),
    });
    least.files = files;
    let contents = Contents::default();
    let mut tries = Tries::new(case, config, limits, &contents);
    let answer = tries.bench.answer(&least.files, limits.is_stopped)?;
    let Some(answer) = answer.ok().filter(|answer| tries.is_same(answer)) else {
        return Err(MinimalError::NotStable);
    };
    let content = tries.bench.content(&least.files, &answer);
    let here = Recorded::new(Some(ROOT));
    let hide = |output: String| case.placeholders.hide(&output, &here);
    least.expected = CallContent {
        output: content.output.map(hide),
        ..content
    };
    match check(&least, config, limits.is_stopped)?.verdict {
        CaseVerdict::Reproduces => Ok(least),
        _ => Err(MinimalError::NotStable),
    }
}

/// Why no further set is tried.
enum Halt {
    Over,
    Failed(WorkbenchError),
}

/// Sets of files, tried one after the other.
struct Tries<'a> {
    bench: Bench<'a>,
    case: &'a Case,
    limits: &'a Limits<'a>,
    /// What the recorded output says of the failure.
    decisive: Vec<String>,
    /// With what it goes well.
    mended: Option<&'a Changed>,
}

impl<'a> Tries<'a> {
    fn new(
        case: &'a Case,
        config: &WorkbenchConfig,
        limits: &'a Limits<'a>,
        contents: &'a Contents,
    ) -> Self {
        let bench = Bench::new(case, config, contents);
        let said = bench.said().unwrap_or_default();
        Self {
            decisive: decisive_of(case, said),
            bench,
            case,
            limits,
            mended: None,
        }
    }

    /// Takes changes with which the call is to go well, if it does on all files.
    fn take_mended(&mut self, mended: Option<&'a Changed>) -> Result<(), Halt> {
        if let Some(changed) = mended
            && self.goes_well(&self.case.files, changed)?
        {
            self.mended = mended;
        }
        Ok(())
    }

    /// Whether the call goes well on these files with changes in them.
    fn goes_well(
        &mut self,
        files: &BTreeMap<TapePath, CaseFile>,
        changed: &Changed,
    ) -> Result<bool, Halt> {
        let mut files = files.clone();
        for (path, file) in changed {
            match file {
                Some(file) => files.insert(path.clone(), file.clone()),
                None => files.remove(path),
            };
        }
        let answer = self.answer(&files)?;
        Ok(answer.is_ok_and(|answer| answer.outcome == Outcome::Ok))
    }

    /// Sees that the call fails as recorded on all of its files.
    fn reproduces(&mut self) -> Result<(), MinimalError> {
        match self.answer(&self.case.files) {
            Ok(Ok(answer)) if self.is_same(&answer) => Ok(()),
            Ok(Ok(answer)) => {
                if let Some(why) = lacks_program(self.case, &answer) {
                    return Err(MinimalError::NotReproduced(why));
                }
                let exit = answer
                    .exit
                    .map_or_else(String::new, |exit| format!(", exit code {exit}"));
                Err(MinimalError::NotReproduced(format!(
                    "it does not fail twice as it was recorded, on all of its files: {}{exit}",
                    answer.outcome
                )))
            }
            Ok(Err(why)) => Err(MinimalError::NotReproduced(why)),
            Err(Halt::Over) => Err(MinimalError::NoTime),
            Err(Halt::Failed(error)) => Err(error.into()),
        }
    }

    /// Whether an answer is the recorded failure.
    fn is_same(&self, answer: &Answer) -> bool {
        let expected = &self.case.expected;
        answer.outcome == expected.outcome
            && expected.exit.is_none_or(|exit| answer.exit == Some(exit))
            && self.is_said_alike(answer)
    }

    /// Two streams come in any order: each line counts, wherever it stands.
    fn is_said_alike(&self, answer: &Answer) -> bool {
        if self.case.expected.output.is_none() {
            return true;
        }
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        sorted(decisive_of(self.case, &answer.output)) == sorted(self.decisive.clone())
    }

    fn answer(
        &mut self,
        files: &BTreeMap<TapePath, CaseFile>,
    ) -> Result<Result<Answer, String>, Halt> {
        let limits = self.limits;
        (limits.begins)();
        let is_up = || (limits.is_over)() || (limits.is_late)();
        let answer = self
            .bench
            .answer(files, &|| (limits.is_stopped)() || is_up());
        match answer {
            Ok(answer) => Ok(answer),
            Err(WorkbenchError::Stopped) if (limits.is_stopped)() => {
                Err(Halt::Failed(WorkbenchError::Stopped))
            }
            Err(WorkbenchError::Stopped) if (limits.is_over)() => Err(Halt::Over),
            Err(WorkbenchError::Stopped) => Ok(Err("it takes too long".to_owned())),
            Err(error) => Err(Halt::Failed(error)),
        }
    }

    /// Whether the call fails in the same way on these files.
    fn holds(&mut self, files: &BTreeMap<TapePath, CaseFile>) -> Result<bool, Halt> {
        if (self.limits.is_stopped)() {
            return Err(Halt::Failed(WorkbenchError::Stopped));
        }
        if (self.limits.is_over)() {
            return Err(Halt::Over);
        }
        let answer = self.answer(files)?;
        let is_same = answer.is_ok_and(|answer| self.is_same(&answer));
        let holds = match self.mended {
            Some(changed) if is_same => self.goes_well(files, changed)?,
            _ => is_same,
        };
        if holds {
            (self.limits.holds)(files);
        }
        Ok(holds)
    }

    /// Leaves out what can be, until nothing can. What stands in `files` when it is over holds.
    fn shrink(&mut self, files: &mut BTreeMap<TapePath, CaseFile>) -> Result<(), Halt> {
        self.guess(files)?;
        loop {
            let before = files.clone();
            self.shrink_files(files)?;
            self.shrink_lines(files)?;
            if *files == before {
                return Ok(());
            }
        }
    }

    /// What the call and its output name is a good guess.
    fn guess(&mut self, files: &mut BTreeMap<TapePath, CaseFile>) -> Result<(), Halt> {
        let mut touched = Touched::default();
        touched.take_value(&self.case.arguments);
        touched.take(self.case.expected.output.as_deref().unwrap_or_default());
        let mut fewer = files.clone();
        fewer.retain(|path, file| !file.item.is_leaf() || touched.names(path));
        if fewer.len() < files.len() && self.holds(&fewer)? {
            *files = fewer;
        }
        Ok(())
    }

    /// Leaves out files and links, then directories in which nothing is left.
    fn shrink_files(&mut self, files: &mut BTreeMap<TapePath, CaseFile>) -> Result<(), Halt> {
        let leaves = |files: &BTreeMap<TapePath, CaseFile>| -> Vec<TapePath> {
            let leaves = files.iter().filter(|(_, file)| file.item.is_leaf());
            leaves.map(|(path, _)| path.clone()).collect()
        };
        let all = leaves(files);
        self.leave_out(files, all)?;
        let above: BTreeSet<TapePath> = leaves(files).iter().flat_map(all_above).collect();
        let empty = files.keys().filter(|path| {
            let is_leaf = files.get(*path).is_some_and(|file| file.item.is_leaf());
            !is_leaf && !above.contains(*path)
        });
        let empty = empty.cloned().collect();
        self.leave_out(files, empty)
    }

    fn leave_out(
        &mut self,
        files: &mut BTreeMap<TapePath, CaseFile>,
        paths: Vec<TapePath>,
    ) -> Result<(), Halt> {
        let all = files.clone();
        let mut kept = paths.clone();
        let mut holds = |kept: &[TapePath]| {
            let kept: BTreeSet<&TapePath> = kept.iter().collect();
            let gone = paths.iter().filter(|path| !kept.contains(path));
            let mut fewer = all.clone();
            for path in gone {
                // A directory goes with the directories in it.
                fewer.retain(|below, _| !below.is_within(path));
            }
            let is_so = self.holds(&fewer)?;
            if is_so {
                *files = fewer;
            }
            Ok(is_so)
        };
        leave_out(&mut kept, &mut holds)
    }

    /// Leaves out lines of the texts, the longest one first.
    fn shrink_lines(&mut self, files: &mut BTreeMap<TapePath, CaseFile>) -> Result<(), Halt> {
        let texts = files.iter().filter_map(|(path, file)| {
            let text = text_of(&file.item)?;
            Some((std::cmp::Reverse(text.len()), path.clone(), text.to_owned()))
        });
        let mut texts: Vec<_> = texts.collect();
        texts.sort();
        for (_, path, text) in texts {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let mut kept = lines;
            leave_out(&mut kept, &mut |kept: &[&str]| {
                let mut fewer = files.clone();
                if let Some(file) = fewer.get_mut(&path) {
                    file.item = CaseItem::File(Arc::from(kept.concat().into_bytes()));
                }
                let is_so = self.holds(&fewer)?;
                if is_so {
                    *files = fewer;
                }
                Ok(is_so)
            })?;
        }
        Ok(())
    }
}

fn decisive_of(case: &Case, output: &str) -> Vec<String> {
    decisive(output, &Volatile::new(Some(ROOT)).only(&case.volatile))
}

fn all_above(path: &TapePath) -> impl Iterator<Item = TapePath> {
    std::iter::successors(path.parent(), TapePath::parent)
}

fn text_of(item: &CaseItem) -> Option<&str> {
    match item {
        CaseItem::File(bytes) => std::str::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains('\0')),
        _ => None,
    }
}

/// What is left of each file that is not as it was.
fn cut(
    before: &BTreeMap<TapePath, CaseFile>,
    after: &BTreeMap<TapePath, CaseFile>,
) -> BTreeMap<TapePath, Kept> {
    let lines = |text: &str| text.split_inclusive('\n').count();
    let leaves = before.iter().filter(|(_, file)| file.item.is_leaf());
    let kept = leaves.filter_map(|(path, was)| {
        let of = text_of(&was.item).map(lines);
        let kept = match after.get(path) {
            None => Kept::Nothing { lines: of },
            Some(is) => {
                let kept = text_of(&is.item).map(lines);
                let (kept, of) = kept.zip(of).filter(|_| is.item != was.item)?;
                Kept::Lines { kept, of }
            }
        };
        Some((path.clone(), kept))
    });
    kept.collect()
}

/// Leaves out of `kept` what can be left out, so that `holds` of what is left: at last nothing
/// by itself can be. Halves are tried first, then smaller and smaller stretches. What is kept
/// when `holds` gives up is what held last.
fn leave_out<T: Clone, E>(
    kept: &mut Vec<T>,
    holds: &mut dyn FnMut(&[T]) -> Result<bool, E>,
) -> Result<(), E> {
    if kept.is_empty() {
        return Ok(());
    }
    if holds(&[])? {
        kept.clear();
        return Ok(());
    }
    let mut stretch = kept.len().div_ceil(2);
    loop {
        let is_less = leave_out_stretches(kept, stretch, holds)?;
        match stretch {
            1 if !is_less => return Ok(()),
            1 => {}
            _ => stretch = stretch.div_ceil(2).min(kept.len().div_ceil(2)).max(1),
        }
    }
}

/// Tries it without each stretch of this length, from the end; whether anything is less.
fn leave_out_stretches<T: Clone, E>(
    kept: &mut Vec<T>,
    stretch: usize,
    holds: &mut dyn FnMut(&[T]) -> Result<bool, E>,
) -> Result<bool, E> {
    let mut is_less = false;
    let mut end = kept.len();
    while end > 0 {
        let start = end.saturating_sub(stretch);
        let head = kept.get(..start).unwrap_or_default();
        let tail = kept.get(end..).unwrap_or_default();
        let rest = [head, tail].concat();
        // That nothing at all does not do is known.
        if !rest.is_empty() && holds(&rest)? {
            *kept = rest;
            is_less = true;
        }
        end = start;
    }
    Ok(is_less)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is left of `0..count` where `holds`, and how often it was asked.
    fn left(count: u32, holds: impl Fn(&[u32]) -> bool) -> (Vec<u32>, usize) {
        let mut kept: Vec<u32> = (0..count).collect();
        let mut asked = 0;
        let done = leave_out::<_, ()>(&mut kept, &mut |kept| {
            asked += 1;
            Ok(holds(kept))
        });
        assert_eq!(done, Ok(()));
        (kept, asked)
    }

    #[test]
    fn what_is_needed_is_left() {
        let has = |kept: &[u32], wanted: &[u32]| wanted.iter().all(|one| kept.contains(one));
        assert_eq!(left(0, |_| true).0, [0; 0]);
        assert_eq!(left(9, |_| true), (vec![], 1));
        assert_eq!(left(1, |kept| !kept.is_empty()).0, [0]);
        assert_eq!(left(100, |kept| has(kept, &[7, 93])).0, [7, 93]);
        let (kept, asked) = left(1000, |kept| has(kept, &[500]));
        assert_eq!(kept, [500]);
        assert!(asked < 100, "{asked}");
    }

    #[test]
    fn when_it_is_given_up_what_held_last_is_kept() {
        let mut kept: Vec<u32> = (0..64).collect();
        let mut asked = 0;
        let done = leave_out(&mut kept, &mut |kept: &[u32]| {
            asked += 1;
            if asked > 5 {
                Err("over")
            } else {
                Ok(kept.contains(&3))
            }
        });
        assert_eq!(done, Err("over"));
        assert!(kept.contains(&3) && kept.len() < 64, "{kept:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever the question is, in the end nothing by itself can be left out.
        #[test]
        fn nothing_by_itself_can_be_left_out(
            count in 1_u32..24,
            pairs in proptest::collection::vec((0_u32..24, 0_u32..24), 1..6),
        ) {
            // Of each pair, one of the two must be there: no question that only grows.
            let holds = |kept: &[u32]| {
                pairs.iter().all(|(one, two)| kept.contains(&(one % count)) || kept.contains(&(two % count)))
            };
            let (kept, _) = left(count, holds);
            prop_assert!(holds(&kept));
            for gone in &kept {
                let rest: Vec<u32> = kept.iter().copied().filter(|one| one != gone).collect();
                prop_assert!(!holds(&rest), "{kept:?} without {gone}");
            }
        }
    }
}
