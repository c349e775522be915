//! The raw event in the diff pane: the line of the tape as it stands there, member by member.

use crate::{Screen, demo};

#[test]
fn it_is_the_line_of_the_tape_and_follows_the_playhead() {
    let mut screen = Screen::open(&demo("bug-hunt"), 120, 40);
    screen.keys(": 2 2 Enter 3 z v v v");
    screen.shows("3 Event 55");
    screen.shows("tool.result  written");
    screen.shows("event 3/3 of the step");
    screen.shows("\"seq\": 55,");
    screen.shows("\"kind\": \"tool.result\",");
    screen.shows("\"output\": \"written\"");
    // Event by event, inside the step.
    screen.keys(",");
    screen.shows("3 Event 54");
    screen.shows("event 2/3 of the step");
    screen.keys(", ,");
    screen.hides("\"seq\": 54,");
}

#[test]
fn before_the_first_step_no_event_is_named() {
    let mut screen = Screen::open(&demo("bug-hunt"), 120, 40);
    screen.keys(": 2 2 Enter 3 v v v");
    screen.shows("3 Event 55");
    screen.keys(": 0 Enter");
    screen.shows("Before the first step.");
    screen.hides("Event 55");
}

#[test]
fn it_can_be_read_on_every_screen() {
    for (columns, rows) in [(160, 45), (100, 30), (60, 20)] {
        let mut screen = Screen::open(&demo("bug-hunt"), columns, rows);
        screen.keys(": 2 2 Enter 3 v v v");
        screen.shows("3 Event 55");
        screen.shows("\"seq\": 55,");
    }
}
