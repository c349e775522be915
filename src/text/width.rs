//! How many columns a text takes, and making it take no more.
//!
//! The unit is the grapheme cluster: it is kept whole or left out whole, and its width is
//! what `ratatui` takes for it, too. Nothing here knows a style or a screen.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::sanitize::{SafeText, is_plain};

/// Stands for what was left out.
const ELLIPSIS: SafeText = SafeText::constant("…");

/// On which side a text that is too short is filled up with spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// The text stands on the left.
    Left,
    /// The text stands on the right: numbers.
    Right,
}

/// The columns that a text takes.
pub fn width(text: &SafeText) -> usize {
    if is_plain(text.as_str().as_bytes()) {
        return text.as_str().len();
    }
    clusters(text).map(|cluster| cluster.width).sum()
}

/// The text, or its beginning and `…` where it takes more than `columns`.
pub fn fit(text: &SafeText, columns: usize) -> SafeText {
    if width(text) <= columns {
        return text.clone();
    }
    let Some(budget) = columns.checked_sub(1) else {
        return SafeText::default();
    };
    let mut fitted = text.cut(0..prefix_end(text, budget));
    fitted.push(&ELLIPSIS);
    fitted
}

/// The text, or `…` and its end where it takes more than `columns`.
pub fn fit_end(text: &SafeText, columns: usize) -> SafeText {
    let total = width(text);
    if total <= columns {
        return text.clone();
    }
    let Some(budget) = columns.checked_sub(1) else {
        return SafeText::default();
    };
    let mut fitted = ELLIPSIS.clone();
    fitted.push(&skip(text, total - budget));
    fitted
}

/// The text, or its two ends around `…` where it takes more than `columns`. Two thirds go
/// to the end, where a path has its name.
pub fn fit_middle(text: &SafeText, columns: usize) -> SafeText {
    let total = width(text);
    if total <= columns {
        return text.clone();
    }
    let Some(budget) = columns.checked_sub(1) else {
        return SafeText::default();
    };
    let mut fitted = text.cut(0..prefix_end(text, budget / 3));
    fitted.push(&ELLIPSIS);
    fitted.push(&skip(text, total - (budget - budget / 3)));
    fitted
}

/// The text in exactly `columns`: cut as by [`fit`], or filled up with spaces.
pub fn pad(text: &SafeText, columns: usize, align: Align) -> SafeText {
    let mut fitted = fit(text, columns);
    let filling = SafeText::spaces(columns.saturating_sub(width(&fitted)));
    match align {
        Align::Left => {
            fitted.push(&filling);
            fitted
        }
        Align::Right => {
            let mut padded = filling;
            padded.push(&fitted);
            padded
        }
    }
}

/// What shows through a window of `columns` that starts at column `start`. A wide
/// character that the left edge cuts leaves spaces, so that all else stays in its column.
pub fn slice(text: &SafeText, start: usize, columns: usize) -> SafeText {
    let rest = skip(text, start);
    let offset = width(text).saturating_sub(start) - width(&rest);
    let mut window = SafeText::spaces(offset.min(columns));
    window.push(&rest.cut(0..prefix_end(&rest, columns - offset.min(columns))));
    window
}

/// The text in lines of at most `columns`, broken after spaces where there are some. The
/// spaces at a break are left out. A character wider than a whole line becomes `…`; of no
/// columns there are no lines.
pub fn wrap(text: &SafeText, columns: usize) -> Vec<SafeText> {
    let mut lines = Vec::new();
    if columns == 0 {
        return lines;
    }
    let mut start = 0;
    let mut used = 0;
    // Where the last word of the line begins, if it is not the line's first.
    let mut word: Option<(usize, usize)> = None;
    for cluster in clusters(text) {
        let is_space = cluster.text == " ";
        if cluster.width > columns {
            if start < cluster.range.start {
                lines.push(trim_end(text.cut(start..cluster.range.start)));
            }
            lines.push(ELLIPSIS);
            (start, used, word) = (cluster.range.end, 0, None);
            continue;
        }
        // What a break after the last word leaves may still be too much.
        while used + cluster.width > columns && !is_space {
            let (end, kept) = word.take().unwrap_or((cluster.range.start, used));
            lines.push(trim_end(text.cut(start..end)));
            (start, used) = (end, used - kept);
        }
        used += cluster.width;
        if is_space {
            word = Some((cluster.range.end, used));
        }
    }
    if start < text.as_str().len() || lines.is_empty() {
        let last = text.cut(start..text.as_str().len());
        lines.push(if used > columns { trim_end(last) } else { last });
    }
    lines
}

/// A grapheme cluster of a text.
struct Cluster<'a> {
    text: &'a str,
    range: Range<usize>,
    width: usize,
}

fn clusters(text: &SafeText) -> impl Iterator<Item = Cluster<'_>> {
    let mut rest = text.as_str();
    let mut end = 0;
    std::iter::from_fn(move || {
        let (text, width) = first_cluster(rest)?;
        rest = rest.get(text.len()..)?;
        let start = end;
        end += text.len();
        Some(Cluster {
            text,
            range: start..end,
            width,
        })
    })
}

/// The first grapheme cluster, and its columns. Most of what is shown is plain, and a plain
/// character that another one or nothing follows is a cluster: no table has to be asked.
fn first_cluster(text: &str) -> Option<(&str, usize)> {
    let next = text.as_bytes().get(..2).unwrap_or(text.as_bytes());
    if !next.is_empty() && is_plain(next) {
        return Some((text.get(..1)?, 1));
    }
    let cluster = text.graphemes(true).next()?;
    Some((cluster, cluster_width(cluster)))
}

/// The columns that `ratatui` gives a grapheme cluster. It counts a column more for each
/// halfwidth voicing mark of Japanese.
pub(super) fn cluster_width(cluster: &str) -> usize {
    let is_voicing_mark = |character: &char| matches!(character, '\u{FF9E}' | '\u{FF9F}');
    cluster.width() + cluster.chars().filter(is_voicing_mark).count()
}

/// Where the longest beginning ends that takes at most `columns`.
fn prefix_end(text: &SafeText, columns: usize) -> usize {
    let mut left = columns;
    let fitting = clusters(text).take_while(|cluster| {
        let is_fitting = cluster.width <= left;
        left = left.saturating_sub(cluster.width);
        is_fitting
    });
    fitting.last().map_or(0, |cluster| cluster.range.end)
}

/// The text without the clusters that start before column `columns`.
fn skip(text: &SafeText, columns: usize) -> SafeText {
    let mut column = 0;
    let start = clusters(text).find_map(|cluster| {
        let is_kept = column >= columns;
        column += cluster.width;
        is_kept.then_some(cluster.range.start)
    });
    let end = text.as_str().len();
    text.cut(start.unwrap_or(end)..end)
}

fn trim_end(line: SafeText) -> SafeText {
    let end = line.as_str().trim_end_matches(' ').len();
    line.cut(0..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn safe(text: &str) -> SafeText {
        SafeText::line(text)
    }

    fn show(lines: &[SafeText]) -> Vec<&str> {
        lines.iter().map(SafeText::as_str).collect()
    }

    #[test]
    fn widths_are_those_of_a_terminal() {
        let check = |text: &str, expected| assert_eq!(width(&safe(text)), expected, "{text}");
        check("plain", 5);
        check("漢字", 4);
        check("e\u{301}", 1);
        check("👨\u{200d}👩\u{200d}👧", 2);
        check("\x1b[m", 4);
    }

    #[test]
    fn what_is_too_long_says_so() {
        let check = |text: &str, columns, start: &str, middle: &str| {
            assert_eq!(fit(&safe(text), columns).as_str(), start);
            assert_eq!(fit_middle(&safe(text), columns).as_str(), middle);
        };
        check("src/lexer.rs", 12, "src/lexer.rs", "src/lexer.rs");
        check("src/parse/lexer.rs", 13, "src/parse/le…", "src/…lexer.rs");
        check("漢字漢字", 4, "漢…", "…字");
        check("abc", 1, "…", "…");
        check("abc", 0, "", "");
        check("", 0, "", "");
    }

    #[test]
    fn columns_are_filled() {
        assert_eq!(pad(&safe("漢"), 4, Align::Left).as_str(), "漢  ");
        assert_eq!(pad(&safe("12"), 4, Align::Right).as_str(), "  12");
        assert_eq!(pad(&safe("漢字"), 3, Align::Right).as_str(), "漢…");
    }

    #[test]
    fn a_window_moves_over_a_line() {
        let check = |start, columns, expected: &str| {
            assert_eq!(slice(&safe("a漢字b"), start, columns).as_str(), expected);
        };
        check(0, 9, "a漢字b");
        check(1, 3, "漢");
        check(2, 4, " 字b");
        check(2, 1, " ");
        check(9, 4, "");
    }

    #[test]
    fn lines_break_after_words() {
        let check = |text: &str, columns, expected: &[&str]| {
            assert_eq!(show(&wrap(&safe(text), columns)), expected, "{text}");
        };
        check(
            "the test fails because",
            10,
            &["the test", "fails", "because"],
        );
        check("incomprehensible", 6, &["incomp", "rehens", "ible"]);
        check("  indented", 8, &["", "indented"]);
        check("ab  ", 2, &["ab"]);
        check("漢字", 3, &["漢", "字"]);
        check("a漢b", 1, &["a", "…", "b"]);
        check("", 4, &[""]);
        check("a", 0, &[]);
    }

    #[test]
    fn marks_move_with_their_text() {
        let text = safe("abc\x1bdef\u{202e}");
        let marked = |text: &SafeText| -> Vec<String> {
            let marks = text.marks().iter();
            marks
                .map(|mark| text.as_str().get(mark.range.clone()).unwrap().to_owned())
                .collect()
        };
        assert_eq!(marked(&slice(&text, 3, 2)), ["^["]);
        assert_eq!(marked(&fit(&text, 5)), ["^"]);
        assert_eq!(marked(&pad(&text, 20, Align::Right)), ["^[", "<U+202E>"]);
        assert_eq!(marked(&fit_middle(&text, 14)), ["^", "<U+202E>"]);
    }

    #[test]
    fn widths_are_those_of_the_drawing_library() {
        use ratatui::buffer::CellWidth as _;
        for cluster in ["a", "漢", "e\u{301}", "❤\u{fe0f}", "ｶ\u{ff9e}", "🏽"] {
            let drawn = usize::from(cluster.cell_width());
            assert_eq!(cluster_width(cluster), drawn, "{cluster}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn no_result_is_wider_than_asked(
            text in "[a-c 漢字\u{301}\u{200d}👩🏽\u{fe0f}\u{600}\u{1100}-\u{11ff}\u{7}]{0,20}",
            columns in 0_usize..12,
            start in 0_usize..12,
        ) {
            let text = safe(&text);
            for result in [fit(&text, columns), fit_middle(&text, columns), slice(&text, start, columns)] {
                prop_assert!(width(&result) <= columns, "{result:?}");
            }
            for align in [Align::Left, Align::Right] {
                prop_assert_eq!(width(&pad(&text, columns, align)), columns);
            }
            let lines = wrap(&text, columns);
            prop_assert!(lines.iter().all(|line| width(line) <= columns), "{lines:?}");
        }

        #[test]
        fn clusters_are_those_of_the_whole_text(
            text in "[a-c 漢\u{301}\u{200d}👩🏽\u{fe0f}\u{600}\u{1100}-\u{11ff}🇩🇪\u{915}\u{94d}\u{7}]{0,20}",
        ) {
            let text = safe(&text);
            let found: Vec<_> = clusters(&text).map(|cluster| (cluster.text, cluster.width)).collect();
            let whole = text.as_str().graphemes(true);
            let expected: Vec<_> = whole.map(|cluster| (cluster, cluster_width(cluster))).collect();
            prop_assert_eq!(&found, &expected);
            let columns: usize = expected.iter().map(|(_, columns)| columns).sum();
            prop_assert_eq!(width(&text), columns);
        }

        #[test]
        fn wrapping_loses_only_spaces(text in "[a-c 漢\u{301}]{0,30}", columns in 2_usize..12) {
            let text = safe(&text);
            let without_spaces = |text: &str| text.replace(' ', "");
            let joined = show(&wrap(&text, columns)).concat();
            prop_assert_eq!(without_spaces(&joined), without_spaces(text.as_str()));
        }
    }
}
