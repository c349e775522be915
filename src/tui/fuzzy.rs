//! Finds a few typed letters in a short line: in their order, best where words start.
//!
//! A pure function for lists of some dozens of lines. It knows nothing of what they name.

/// Where the letters stand in a line, and how well they fit there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Higher is better; always above 0.
    pub(super) score: i32,
    /// The bytes at which the letters start, in ascending order.
    pub(super) places: Vec<usize>,
}

/// A letter that starts a word.
const START: i32 = 8;

/// A letter right behind the one before it.
const NEXT: i32 = 9;

/// A letter in the middle of a word.
const INSIDE: i32 = -3;

/// The best way to find all letters of a word in a line. None where they are not there in
/// this order, or so scattered that nobody would think of the line.
pub(super) fn find(word: &str, line: &str) -> Option<Found> {
    let letters: Vec<(usize, char)> = line.char_indices().collect();
    // For each letter of the word, for each letter of the line it may be: the best score so
    // far, and which letter of the line the one before it is.
    let mut rows: Vec<Vec<Option<(i32, usize)>>> = Vec::new();
    for wanted in word.chars() {
        let before = rows.last();
        let mut row = Vec::with_capacity(letters.len());
        // The best end of what came before, in the letters passed.
        let mut best = before.is_none().then_some((0, 0));
        for (index, &(_, letter)) in letters.iter().enumerate() {
            let last = index.checked_sub(1);
            let is_start = last
                .is_none_or(|last| letters.get(last).is_some_and(|(_, c)| !c.is_alphanumeric()));
            let apart = best.map(|(score, from)| {
                let worth = if is_start { START } else { INSIDE };
                (score + worth, from)
            });
            let right_behind = last.and_then(|last| {
                let (score, _) = before?.get(last).copied().flatten()?;
                Some((score + NEXT, last))
            });
            row.push(apart.max(right_behind).filter(|_| is_same(letter, wanted)));
            let here = before.and_then(|before| before.get(index).copied().flatten());
            best = best.max(here.map(|(score, _)| (score, index)));
        }
        rows.push(row);
    }
    let ends = rows.last()?.iter().enumerate();
    let (score, mut index) = ends
        .filter_map(|(index, end)| Some((end.as_ref()?.0, index)))
        .max_by_key(|(score, index)| (*score, std::cmp::Reverse(*index)))?;
    let mut places = Vec::with_capacity(rows.len());
    for row in rows.iter().rev() {
        places.push(letters.get(index)?.0);
        index = row.get(index).copied().flatten()?.1;
    }
    places.reverse();
    (score > 0).then_some(Found { score, places })
}

/// Whether two letters differ in nothing but their case.
fn is_same(one: char, other: char) -> bool {
    if one.is_ascii() && other.is_ascii() {
        one.eq_ignore_ascii_case(&other)
    } else {
        one.to_lowercase().eq(other.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn letters_are_found_where_a_person_means_them() {
        let check = |word: &str, line: &str, places: Option<&[usize]>| {
            let found = find(word, line).map(|found| found.places);
            assert_eq!(found.as_deref(), places, "{word} in {line}");
        };
        check("nf", "next-failure", Some(&[0, 5]));
        check("fail", "next-failure", Some(&[5, 6, 7, 8]));
        check("FAIL", "To the next failure", Some(&[12, 13, 14, 15]));
        check("flr", "failure", Some(&[0, 3, 5]));
        check("pa", "page-pane", Some(&[0, 1]));
        check("pp", "page-pane", Some(&[0, 5]));
        check("é", "Été", Some(&[0]));
        check("x", "next-failure", None);
        check("fn", "next-failure", None);
        check("", "next-failure", None);
        check("a", "", None);
    }

    #[test]
    fn whole_words_are_better_than_pieces() {
        let score = |word, line| find(word, line).unwrap().score;
        assert!(score("step", "step-back") > score("step", "s-t-e-p"));
        assert!(score("go", "go-to-mark") > score("go", "get-out"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_found_stands_there_in_order(word in "[a-cé]{0,4}", line in "[a-cÉ -]{0,12}") {
            if let Some(found) = find(&word, &line) {
                prop_assert!(found.places.is_sorted_by(|a, b| a < b));
                let letters = found.places.iter().filter_map(|at| line.get(*at..)?.chars().next());
                let spelled: String = letters.flat_map(char::to_lowercase).collect();
                prop_assert_eq!(spelled, word);
            }
        }
    }
}
