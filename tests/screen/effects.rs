//! The ledger of effects in the state pane: what was known at the playhead, and what a
//! rollback would do.

use std::path::Path;

use crate::{InlineWorker, Screen};

/// A transaction that was rolled back and left something, and one that is open.
fn screen(columns: u16, rows: u16) -> Screen<InlineWorker> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cli/effects.jsonl");
    Screen::open(&path, columns, rows)
}

#[test]
fn the_ledger_follows_the_playhead() {
    let mut screen = screen(160, 45);
    screen.keys("V V V V V");
    screen.shows("2 Effects @");
    screen.shows("8 label 12 paid");
    screen.shows("in doubt: no result; a rollback leaves it");
    screen.shows("waits for the commit; a rollback drops it");
    screen.shows("done; a rollback takes it back");
    screen.shows("done; a rollback leaves it");
    screen.shows("done; taking it back failed; the rollback left it");
    // While the first transaction was open.
    screen.keys(": 5 Enter");
    screen.shows("2 Effects @5");
    screen.shows("1 charge 17");
    screen.shows("2 mail ops@example.org");
    screen.hides("the rollback left it");
    screen.hides("8 label 12 paid");
    screen.keys("1 g");
    screen.shows("None up to here.");
}

#[test]
fn it_is_among_the_views_only_where_there_are_effects() {
    let mut with = screen(100, 30);
    with.keys("V V V V V");
    with.shows("2 Effects @");
    with.keys("V");
    with.shows("2 Numbers");
    let mut without = Screen::new(100, 30, 20);
    without.keys("V V V V");
    without.shows("2 Numbers");
    without.hides("2 Effects");
}

#[test]
fn it_can_be_read_on_every_screen() {
    for (columns, rows) in [(160, 45), (100, 30), (80, 24), (60, 20)] {
        let mut screen = screen(columns, rows);
        screen.keys("V V V V V");
        screen.shows("Effects @");
        screen.shows("8 label 12 paid");
    }
}
