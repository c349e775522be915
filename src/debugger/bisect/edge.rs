//! Where a row of good things turns bad, found with few looks.
//!
//! Knows no tree and no command: things are numbers, and a closure says how each is. Looks at
//! both ends first, at the middle of what is left then, and at both sides of the edge once
//! more in the end: who answers otherwise the second time cannot be relied on.

use std::collections::BTreeSet;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// Not so.
    Bad,
    /// Nobody can say.
    Skip,
}

impl Verdict {
    /// The fixed word, as printed by `--json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Skip => "skip",
        }
    }
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// The last that is good, and the first behind it that is bad. Nobody can say how those
    /// between them are.
    Found { good: usize, bad: usize },
    /// The first is not good.
    NotGood(Verdict),
    /// The last is not bad.
    NotBad(Verdict),
    /// Asked twice, it was not the same.
    Flaky(usize, [Verdict; 2]),
}

/// Looks for the edge among so many things, at least one.
pub(super) fn find<E>(
    count: usize,
    mut look: impl FnMut(usize) -> Result<Verdict, E>,
) -> Result<Edge, E> {
    let first = look(0)?;
    if first != Verdict::Good {
        return Ok(Edge::NotGood(first));
    }
    let (mut good, mut bad) = (0, count.saturating_sub(1));
    if bad == 0 {
        return Ok(Edge::NotBad(first));
    }
    let last = look(bad)?;
    if last != Verdict::Bad {
        return Ok(Edge::NotBad(last));
    }
    let mut skipped = BTreeSet::new();
    while let Some(middle) = middle(good, bad, &skipped) {
        match look(middle)? {
            Verdict::Good => good = middle,
            Verdict::Bad => bad = middle,
            Verdict::Skip => {
                skipped.insert(middle);
            }
        }
    }
    for (side, before) in [(good, Verdict::Good), (bad, Verdict::Bad)] {
        let again = look(side)?;
        if again != before {
            return Ok(Edge::Flaky(side, [before, again]));
        }
    }
    Ok(Edge::Found { good, bad })
}

/// The one nearest to the middle between two that was not skipped.
fn middle(good: usize, bad: usize, skipped: &BTreeSet<usize>) -> Option<usize> {
    let middle = good + (bad - good) / 2;
    let up = (middle..bad).filter(|at| *at > good);
    let down = (good + 1..middle).rev();
    let is_open = |at: &usize| !skipped.contains(at);
    let (up, down) = (up.into_iter().find(is_open), down.into_iter().find(is_open));
    match (up, down) {
        (Some(up), Some(down)) if middle - down < up - middle => Some(down),
        (Some(up), _) => Some(up),
        (None, down) => down,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is found, and how many looks it took.
    fn search(row: &[Verdict]) -> (Edge, usize) {
        let mut looks = 0;
        let found = find(row.len(), |at| {
            looks += 1;
            Ok::<_, ()>(row[at])
        });
        (found.unwrap(), looks)
    }

    proptest! {
        #[test]
        fn the_edge_is_found_with_few_looks(good in 1..5000_usize, bad in 1..5000_usize) {
            let row = [vec![Verdict::Good; good], vec![Verdict::Bad; bad]].concat();
            let (edge, looks) = search(&row);
            prop_assert_eq!(edge, Edge::Found { good: good - 1, bad: good });
            prop_assert!(looks <= row.len().ilog2() as usize + 5, "{} of {}", looks, row.len());
        }

        #[test]
        fn whatever_the_row_an_edge_is_one(
            inner in prop::collection::vec(
                prop::sample::select(vec![Verdict::Good, Verdict::Bad, Verdict::Skip]),
                0..60,
            ),
        ) {
            let row = [vec![Verdict::Good], inner, vec![Verdict::Bad]].concat();
            let (Edge::Found { good, bad }, looks) = search(&row) else {
                panic!("it is there");
            };
            prop_assert_eq!((row[good], row[bad]), (Verdict::Good, Verdict::Bad));
            prop_assert!(row[good + 1..bad].iter().all(|verdict| *verdict == Verdict::Skip));
            prop_assert!(looks <= row.len() + 2);
        }
    }

    #[test]
    fn both_ends_are_looked_at_first() {
        use Verdict::{Bad, Good, Skip};
        assert_eq!(search(&[Bad, Bad]), (Edge::NotGood(Bad), 1));
        assert_eq!(search(&[Skip]), (Edge::NotGood(Skip), 1));
        assert_eq!(search(&[Good]), (Edge::NotBad(Good), 1));
        assert_eq!(search(&[Good, Bad, Good]), (Edge::NotBad(Good), 2));
    }

    #[test]
    fn who_answers_otherwise_the_second_time_is_found_out() {
        let mut looks = 0;
        let found = find(3, |at| {
            looks += 1;
            // The one in the middle is good the first time only.
            Ok::<_, ()>(match at {
                1 if looks == 3 => Verdict::Good,
                0 => Verdict::Good,
                _ => Verdict::Bad,
            })
        });
        let expected = Edge::Flaky(1, [Verdict::Good, Verdict::Bad]);
        assert_eq!(found, Ok(expected));
    }
}
