//! Alignments against a simple model: what must hold of any, and how good short ones are.

use proptest::prelude::*;

use super::*;
use crate::model::{Body, Event, Outcome, StepKind};
use crate::replay::{StepContent, Volatile};

const ENOUGH: Duration = Duration::from_mins(1);

/// A step of a few letters: the sort, what is asked, what comes back; `…`: nothing yet.
fn step(letters: &str) -> Fingerprint {
    let is_open = letters.ends_with('…');
    let mut letters = letters.chars();
    let mut next = || letters.next().unwrap_or('-').to_string();
    let mut content = StepContent::new(StepKind::Tool, Outcome::Ok);
    content.add(Event::new(Body::ToolCall {
        name: next(),
        arguments: next().into(),
    }));
    content.add(Event::new(Body::ToolResult {
        outcome: Outcome::Ok,
        exit: None,
        output: next(),
        duration: None,
        attachments: Vec::new(),
        detail: serde_json::Value::Null,
    }));
    content.is_open = is_open;
    Fingerprint::of(&content, &Volatile::default())
}

fn line(words: &str) -> Vec<Fingerprint> {
    words.split_whitespace().map(step).collect()
}

/// The rows as a person would write them: `=`, `≠` with the parts, `-`, `+`.
fn drawn(alignment: &Alignment) -> String {
    let rows = (1..=alignment.rows()).map(|row| {
        let pair = alignment.pair(row).unwrap();
        let number = |step: Option<StepNumber>| step.map_or("·".into(), |step| step.to_string());
        let sign = match pair.relation {
            Relation::Same => "=".to_owned(),
            Relation::Changed(parts) => format!("≠{parts}"),
            Relation::OnlyLeft => "-".to_owned(),
            Relation::OnlyRight => "+".to_owned(),
        };
        format!("{}{sign}{}", number(pair.left), number(pair.right))
    });
    rows.collect::<Vec<String>>().join(" ")
}

#[track_caller]
fn check(left: &str, right: &str, expected: &str) {
    let alignment = Alignment::of(&line(left), &line(right), ENOUGH);
    assert_eq!(drawn(&alignment), expected, "{left} | {right}");
    assert!(!alignment.is_coarse());
}

#[test]
fn steps_are_paired_by_what_they_are_then_by_what_they_ask_then_by_their_sort() {
    check("", "", "");
    check("ab1 cd1", "ab1 cd1", "1=1 2=2");
    check("ab1", "", "1-·");
    check("", "ab1", "·+1");
    check("ab1 cd1 ef1", "ab1 cd2 ef1", "1=1 2≠answer2 3=3");
    check("ab1 cd1 ef1", "ab1 cx1 ef1", "1=1 2≠asked2 3=3");
    check("ab1 ef1", "ab1 cd1 ef1", "1=1 ·+2 2=3");
    check("ab1 cd1 ef1", "ab1 ef1", "1=1 2-· 3=2");
    check("ab1 cd1", "ab1 xd1", "1=1 2-· ·+2");
    // The call that asks the same is its counterpart, not the nearer one of its sort.
    check("ab1", "ax1 ab2", "·+1 1≠answer2");
    check("ab1 cd1 ef1 gh1", "ab1 ef2 gh1", "1=1 2-· 3≠answer2 4=3");
}

#[test]
fn a_tape_that_ends_inside_a_step_raises_no_false_alarm() {
    let (whole, cut) = (line("ab1 cd1 ef1"), line("ab1 cd…"));
    let alignment = Alignment::of(&whole, &cut, ENOUGH);
    assert_eq!(drawn(&alignment), "1=1 2=2 3-·");
    let alignment = Alignment::of(&cut, &whole[..2], ENOUGH);
    assert_eq!(drawn(&alignment), "1=1 2=2");
    assert_eq!(alignment.divergence(), None);
}

#[test]
fn it_is_told_where_lines_part_and_where_they_meet_again() {
    let alignment = Alignment::of(
        &line("ab1 cd1 ef1 gh1 ij1 kl1"),
        &line("ab1 cd2 gh1 ij1 mn1"),
        ENOUGH,
    );
    assert_eq!(drawn(&alignment), "1=1 2≠answer2 3-· 4=3 5=4 6-· ·+5");
    let parting = alignment.divergence().unwrap();
    assert_eq!((parting.left.unwrap().0, parting.right.unwrap().0), (2, 2));
    let meeting = alignment.meeting().unwrap();
    assert_eq!((meeting.row, meeting.len), (4, 2));
    assert_eq!(alignment.differences(), 2);
    let after = |row| alignment.difference_after(row);
    assert_eq!([0, 1, 2, 3, 5, 6, 7].map(after), {
        [Some(2), Some(2), Some(6), Some(6), Some(6), None, None]
    });
    let before = |row| alignment.difference_before(row);
    assert_eq!([0, 2, 3, 6, 7].map(before), {
        [None, None, Some(2), Some(2), Some(6)]
    });
}

#[test]
fn both_sides_of_a_parting_are_named_where_both_go_on() {
    let check = |left: &str, right: &str, expected: (Option<u32>, Option<u32>)| {
        let parting = Alignment::of(&line(left), &line(right), ENOUGH).divergence();
        let number = |step: Option<StepNumber>| step.map(|step| step.0);
        let found = parting.map(|pair| (number(pair.left), number(pair.right)));
        assert_eq!(found, Some(expected), "{left} | {right}");
    };
    check("ab1 cd1 zz1", "ab1 xy1 zz1", (Some(2), Some(2)));
    check("ab1 cd1", "ab1", (Some(2), None));
    check("ab1 zz1", "ab1 xy1 zz1", (None, Some(2)));
}

#[test]
fn without_time_it_is_coarser_and_says_so() {
    let (left, right) = (line("ab1 cd1 xx1 ef1 gh1"), line("ab1 ef1 yy1 cd1 gh1"));
    let alignment = Alignment::of(&left, &right, Duration::ZERO);
    assert!(alignment.is_coarse());
    assert_eq!(drawn(&alignment), "1=1 2-· 3-· 4-· ·+2 ·+3 ·+4 5=5");
}

/// The longest common subsequence of whole steps, by the textbook.
fn longest_common(left: &[Fingerprint], right: &[Fingerprint]) -> usize {
    let mut best = vec![0; right.len() + 1];
    for one in left {
        let mut diagonal = 0;
        for (index, two) in right.iter().enumerate() {
            let above = best[index + 1];
            best[index + 1] = if one.whole() == two.whole() {
                diagonal + 1
            } else {
                above.max(best[index])
            };
            diagonal = above;
        }
    }
    best[right.len()]
}

fn any_line() -> impl Strategy<Value = Vec<Fingerprint>> {
    let step = "[ab][ab][ab]".prop_map(|letters| step(&letters));
    prop::collection::vec(step, 0..24)
}

proptest! {
    #[test]
    fn every_step_stands_in_one_row_in_its_order(left in any_line(), right in any_line()) {
        let alignment = Alignment::of(&left, &right, ENOUGH);
        let (mut seen, mut tally) = ((0, 0), Tally::default());
        for row in 1..=alignment.rows() {
            let pair = alignment.pair(row).unwrap();
            for (seen, step) in [(&mut seen.0, pair.left), (&mut seen.1, pair.right)] {
                if let Some(step) = step {
                    *seen += 1;
                    prop_assert_eq!(step.0, *seen);
                }
            }
            let one = pair.left.map(|step| left[step.0 as usize - 1]);
            let two = pair.right.map(|step| right[step.0 as usize - 1]);
            match (pair.relation, one, two) {
                (Relation::Same, Some(one), Some(two)) => {
                    prop_assert_eq!(one.whole(), two.whole());
                    tally.same += 1;
                }
                (Relation::Changed(parts), Some(one), Some(two)) => {
                    prop_assert_eq!(one.sort(), two.sort());
                    prop_assert_eq!(one.parts_unlike(&two), parts);
                    prop_assert!(!parts.is_empty());
                    tally.changed += 1;
                }
                (Relation::OnlyLeft, Some(_), None) => tally.only_left += 1,
                (Relation::OnlyRight, None, Some(_)) => tally.only_right += 1,
                odd => prop_assert!(false, "{odd:?}"),
            }
            prop_assert_eq!(alignment.steps_at(row), (StepNumber(seen.0), StepNumber(seen.1)));
            prop_assert_eq!(alignment.tally_of(1..row + 1), tally);
            if let Some(step) = pair.left {
                prop_assert_eq!(alignment.row_of_left(step), row);
            }
            if let Some(step) = pair.right {
                prop_assert_eq!(alignment.row_of_right(step), row);
            }
        }
        prop_assert_eq!(seen, (left.len() as u32, right.len() as u32));
        prop_assert_eq!(alignment.steps(), seen);
        prop_assert_eq!(alignment.tally(), tally);
        prop_assert_eq!(alignment.pair(0), None);
        prop_assert_eq!(alignment.pair(alignment.rows() + 1), None);
        prop_assert_eq!((alignment.row_of_left(StepNumber(0)), alignment.row_of_right(StepNumber(0))), (0, 0));
    }

    #[test]
    fn stretches_and_differences_say_what_the_rows_say(left in any_line(), right in any_line()) {
        let alignment = Alignment::of(&left, &right, ENOUGH);
        let differs = |row: u32| alignment.pair(row).is_some_and(|pair| pair.relation.is_difference());
        let starts: Vec<u32> =
            (1..=alignment.rows()).filter(|row| differs(*row) && !differs(row - 1)).collect();
        let mut walked = Vec::new();
        let mut row = 0;
        while let Some(next) = alignment.difference_after(row) {
            walked.push(next);
            row = next;
        }
        prop_assert_eq!(&walked, &starts);
        prop_assert_eq!(alignment.differences(), starts.len());
        let is_merged = |pair: &[Stretch]| pair[0].relation != pair[1].relation;
        prop_assert!(alignment.stretches().windows(2).all(is_merged));
    }

    #[test]
    fn as_many_steps_are_found_the_same_as_there_are_where_little_differs(
        line in any_line(), at in 0_usize..24, extra in any_line(),
    ) {
        // One insertion: everything else is the same, and nothing less is found.
        let mut longer = line.clone();
        let at = at.min(line.len());
        longer.splice(at..at, extra);
        let alignment = Alignment::of(&line, &longer, ENOUGH);
        let same = alignment.tally().same as usize;
        prop_assert_eq!(same, line.len());
        prop_assert_eq!(same, longest_common(&line, &longer));
    }

    #[test]
    fn the_same_line_is_the_same(line in any_line()) {
        let alignment = Alignment::of(&line, &line, ENOUGH);
        prop_assert!(alignment.stretches().len() <= 1);
        prop_assert!(!alignment.tally().has_difference());
    }
}
