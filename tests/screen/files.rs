//! Files: the tree, an open file, its versions.

use crate::{Screen, demo};

#[test]
fn a_file_stays_open_while_one_travels() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys(": 4 4 Enter 3 Enter");
    screen.shows("▸2 File @44");
    screen.shows("src/lexer.rs");
    screen.shows("exact: recorded, byte for byte");
    screen.shows("▸M44");
    screen.shows("1  //! Reads tokens.");
    screen.keys("{");
    assert_eq!(screen.step(), 34);
    screen.shows("File @34");
    screen.shows("▸M34");
    screen.keys("} }");
    assert_eq!(screen.step(), 48);
    screen.keys("l l l l l l l");
    screen.shows("uncertain: a shell command ran since step 54");
    screen.keys("q 2 g j j");
    screen.keys("Enter");
    screen.keys("q");
    screen.shows("State @55");
}

#[test]
fn what_is_known_of_a_file_is_said() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys("2 g j Enter");
    screen.shows("README.md");
    screen.shows("partial");
    screen.shows("░ lines 1 to 2 are not known");
    screen.shows("42  MIT");
    screen.shows("░ lines 43 to 60 are not known");
    let mut screen = Screen::new(160, 45, 212);
    screen.keys(": 1 8 Enter 3 Enter");
    screen.shows("assets/logo.png");
    screen.shows("binary");
    screen.shows("89 50 00 12");
}

#[test]
fn four_errands_take_at_most_three_keys_each() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys("g");
    // The first failure.
    screen.keys("e e");
    assert_eq!(screen.step(), 34);
    // The file it broke.
    screen.keys("Enter Enter");
    screen.shows("File @34");
    screen.shows("src/lexer.rs");
    // The step that last changed that file.
    screen.keys("{");
    assert_eq!(screen.step(), 28);
    // The same file ten steps earlier.
    screen.keys("1 0 h");
    assert_eq!(screen.step(), 18);
    screen.shows("File @18");
    screen.shows("src/lexer.rs");
}

#[test]
fn a_bug_is_hunted_down() {
    let mut screen = Screen::open(&demo("bug-hunt"), 160, 45);
    screen.keys("g 0 2 e");
    screen.shows("step 15/29");
    screen.shows("FAIL  a plain cart: wanted 42.00, got 46.90");
    screen.keys(": 1 2 Enter Enter Enter");
    screen.shows("src/cart.awk");
    screen.shows("exact: recorded, byte for byte");
    screen.shows("M7 ▸M12  M17  M22");
    screen.keys("}");
    screen.shows("step 17/29");
    screen.shows("M12 ▸M17");
    screen.keys("0 5 h");
    screen.shows("▸M12");
}

#[test]
fn a_file_opens_where_its_difference_is_looked_at() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys(": 4 4 Enter 3 G Enter");
    screen.shows("▸2 File @44");
    screen.hides(" 1  //! Reads tokens.");
    screen.shows("let c = self.peek(7)?");
}
