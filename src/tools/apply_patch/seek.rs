//! Finding lines in a file, strictly first, then ever more laxly.

/// Where the search begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// At the cursor.
    Cursor,
    /// Where the lines would be the last of the file; nowhere else.
    End,
}

/// The ways in which two lines may be equal, strictest first.
const LEVELS: [fn(&str, &str) -> bool; 4] = [
    |a, b| a == b,
    |a, b| a.trim_end() == b.trim_end(),
    |a, b| a.trim() == b.trim(),
    |a, b| plain(a.trim()).eq(plain(b.trim())),
];

/// The first place at or after the cursor where the lines stand.
pub(super) fn seek(lines: &[&str], wanted: &[String], cursor: usize, from: From) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len())?;
    let first = match from {
        From::Cursor => cursor,
        From::End => last.max(cursor),
    };
    LEVELS.iter().find_map(|is_equal| {
        (first..=last).find(|at| {
            let found = lines.iter().skip(*at);
            found
                .zip(wanted)
                .all(|(line, wanted)| is_equal(line, wanted))
        })
    })
}

/// A line with typographic punctuation made plain.
fn plain(line: &str) -> impl Iterator<Item = char> {
    line.chars().map(|c| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{00A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stricter_match_further_down_wins() {
        let wanted = ["a".to_owned()];
        assert_eq!(seek(&["a ", "a"], &wanted, 0, From::Cursor), Some(1));
        assert_eq!(seek(&["a ", "b"], &wanted, 0, From::Cursor), Some(0));
        assert_eq!(seek(&["a", "b"], &wanted, 1, From::Cursor), None);
        assert_eq!(seek(&["a", "b"], &wanted, 0, From::End), None);
        assert_eq!(seek(&[], &wanted, 0, From::Cursor), None);
    }
}
