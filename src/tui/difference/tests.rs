//! Rows are found by their index in every form, whatever is folded.

use std::time::Duration;

use super::*;
use crate::debugger::ChangeRow;
use crate::model::{Certainty, ChangeKind, TapePath};
use crate::text::FileDiff;

fn open(old: &str, new: &str) -> OpenDiff {
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let diff = FileDiff::between(Some(old), Some(new), Duration::from_secs(10));
    OpenDiff::of(DiffView {
        change: ChangeRow {
            path: TapePath::new("a").unwrap(),
            from: None,
            change: ChangeKind::Modified,
            certainty: (Certainty::Exact, Certainty::Exact),
            mode: None,
            is_outside: false,
        },
        diff: Some(Arc::new(diff)),
        before: Some(old.into()),
        after: Some(new.into()),
        remarks: Vec::new(),
    })
}

fn rows(open: &OpenDiff, form: Form, from: usize) -> Vec<String> {
    let line = |line: DiffLine<'_>| {
        let sign = match line.row.kind {
            RowKind::Context => ' ',
            RowKind::Added => '+',
            RowKind::Removed => '-',
        };
        format!("{sign}{}", String::from_utf8_lossy(line.row.content()))
    };
    let side = |of: Option<DiffLine<'_>>| of.map_or("~".into(), line);
    open.rows(form, from)
        .map(|row| match row {
            DiffRow::Fold(fold) => format!("{} lines", fold.lines),
            DiffRow::Line(of) => line(of),
            DiffRow::Pair(old, new) => format!("{}|{}", side(old), side(new)),
        })
        .collect()
}

/// Sixty lines, of which three places changed.
fn three_places() -> OpenDiff {
    let lines: Vec<String> = (0..60).map(|line| format!("{line}\n")).collect();
    let old = lines.concat();
    let new = old
        .replace("\n5\n", "\nfive\nsix\n")
        .replace("\n33\n", "\n")
        .replace("\n50\n", "\nfifty\n");
    open(&old, &new)
}

#[test]
fn rows_are_reached_from_any_index_in_both_forms_whatever_is_folded() {
    let mut diff = three_places();
    for context in [Context::Few, Context::More, Context::All] {
        for opened in [vec![], vec![1], vec![0, 1, 2, 3], vec![99]] {
            diff.unfold(context, &opened.into_iter().collect());
            for form in [Form::Unified, Form::SideBySide] {
                let all = rows(&diff, form, 0);
                assert_eq!(all.len(), diff.len(form));
                for from in 0..=all.len() {
                    assert_eq!(rows(&diff, form, from), all[from..]);
                }
            }
        }
    }
}

#[test]
fn what_is_shown_and_what_is_folded_are_the_whole_file() {
    let mut diff = three_places();
    for context in [Context::Few, Context::More, Context::All] {
        diff.unfold(context, &BTreeSet::new());
        let mut next = 1;
        for row in diff.rows(Form::Unified, 0) {
            match row {
                DiffRow::Fold(fold) => next += fold.lines,
                row => {
                    for line in row.lines().filter_map(|line| line.row.new) {
                        assert_eq!(line, next);
                        next += 1;
                    }
                }
            }
        }
        assert_eq!(next, 61);
    }
}

#[test]
fn a_fold_is_opened_alone_and_all_step_by_step() {
    let mut diff = three_places();
    let folds = |diff: &OpenDiff| -> Vec<String> {
        let rows = rows(diff, Form::Unified, 0).into_iter();
        rows.filter(|row| row.ends_with(" lines")).collect()
    };
    assert_eq!(folds(&diff), ["2 lines", "21 lines", "10 lines", "6 lines"]);
    diff.unfold(Context::Few, &[1].into());
    assert_eq!(folds(&diff), ["2 lines", "10 lines", "6 lines"]);
    diff.unfold(Context::More, &BTreeSet::new());
    assert_eq!(folds(&diff), ["7 lines"]);
    diff.unfold(Context::All, &BTreeSet::new());
    assert!(folds(&diff).is_empty());
}

#[test]
fn what_stands_in_a_row_is_found_again() {
    let mut diff = three_places();
    for form in [Form::Unified, Form::SideBySide] {
        for index in 0..diff.len(form) {
            diff.unfold(Context::Few, &BTreeSet::new());
            let shown = rows(&diff, form, index).into_iter();
            let wanted = shown.into_iter().find(|row| !row.ends_with(" lines"));
            let Some(anchor) = diff.anchor(form, index) else {
                assert_eq!(wanted, None);
                continue;
            };
            diff.unfold(Context::All, &BTreeSet::new());
            let there = diff.row_of(form, anchor).unwrap();
            assert_eq!(rows(&diff, form, there).first(), wanted.as_ref());
        }
    }
}

#[test]
fn what_went_stands_beside_what_came_in_its_place() {
    let diff = open("a\nb\nc\nd\n", "a\nB\nd\ne\nf\n");
    let expected = [" a| a", "-b|+B", "-c|~", " d| d", "~|+e", "~|+f"];
    assert_eq!(rows(&diff, Form::SideBySide, 0), expected);
}

#[test]
fn a_fold_says_what_the_change_below_stands_under() {
    let body = "        step();\n".repeat(20);
    let old = format!("impl A {{\n    fn next(&self) {{\n{body}        old();\n    }}\n}}\n");
    let diff = open(&old, &old.replace("old()", "new()"));
    let mut rows = diff.rows(Form::Unified, 0);
    let Some(DiffRow::Fold(fold)) = rows.next() else {
        panic!("no fold");
    };
    assert_eq!(fold.heading.unwrap().as_str(), "fn next(&self) {");
}

/// Reaching a row of a very long file looks at a handful of things.
#[test]
fn a_long_file_is_opened_whole() {
    let old = "line\n".repeat(100_000);
    let mut diff = open(&old, &format!("{old}end\n"));
    assert_eq!(diff.len(Form::Unified), 5);
    diff.unfold(Context::All, &BTreeSet::new());
    assert_eq!(diff.len(Form::Unified), 100_001);
    let last = rows(&diff, Form::Unified, 100_000);
    assert_eq!(last, ["+end"]);
}
