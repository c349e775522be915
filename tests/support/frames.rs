//! Whether the frames of the panes are whole: a text that is wider than it was taken for
//! pushes them out of line, or writes over them.

/// Says which cell of a frame's side holds something else, on a screen whose cells are told
/// by column and row. What opens over the panes covers their frames, and is judged alone.
pub(crate) fn broken_side<'a>(
    columns: u16,
    rows: u16,
    cell: impl Fn(u16, u16) -> &'a str,
) -> Option<String> {
    let cells = || (0..columns).flat_map(|column| (0..rows).map(move |row| (column, row)));
    let is_covered = cells().any(|(column, row)| cell(column, row) == "╔");
    for (column, row) in cells() {
        // The right side is where a scrollbar has its thumb.
        let (ends, sides) = match (cell(column, row), is_covered) {
            ("┌" | "┏", false) => (["└", "┗"], ["│", "┃", ""]),
            ("┐" | "┓", false) => (["┘", "┛"], ["│", "┃", "█"]),
            ("╔", true) => (["╚", ""], ["║", "", ""]),
            ("╗", true) => (["╝", ""], ["║", "█", ""]),
            _ => continue,
        };
        let mut below = (row + 1..rows).map(|row| cell(column, row));
        match below.find(|symbol| !sides.contains(symbol)) {
            Some(end) if ends.contains(&end) => {}
            end => return Some(format!("{end:?} in column {column}, below row {row}")),
        }
    }
    None
}
