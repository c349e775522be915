//! Who wrote each line of a file: a column beside the lines, and from a line to its step.

use tempfile::TempDir;

use crate::{InlineWorker, SIZES, Screen};

/// A file of which three steps wrote lines, somebody else wrote one, and one stood there
/// before. Enough steps follow that a number has two digits.
fn tape() -> String {
    let lines = [
        r#""kind":"tape","format":1,"id":"t""#,
        r#""kind":"prompt","name":"user","text":"go""#,
        r#""kind":"fs.observe","path":"a.rs","text":"fn old() {}\n""#,
        r#""kind":"tool.call","call":"c1","name":"Edit","title":"a.rs""#,
        r#""kind":"fs.write","call":"c1","path":"a.rs","text":"fn old() {}\nfn two() {}\n""#,
        r#""kind":"tool.call","call":"c2","name":"Edit","title":"a.rs""#,
        r#""kind":"fs.write","call":"c2","path":"a.rs","text":"fn old() {}\nfn two() {}\nfn three() {}\nfn more() {}\n""#,
        r#""kind":"fs.write","by":"outside","path":"a.rs","text":"fn old() {}\nfn two() {}\nfn three() {}\nfn more() {}\nfn alien() {}\n""#,
        r#""kind":"tool.call","call":"c3","name":"Bash","title":"make""#,
        r#""kind":"fs.suspect","call":"c3","path":"a.rs","why":"make""#,
        r#""kind":"tool.call","call":"c4","name":"Write","title":"a.rs""#,
        r#""kind":"fs.write","call":"c4","path":"a.rs","text":"fn old() {}\nfn two() {}\nfn three() {}\nfn more() {}\nfn alien() {}\nfn six() {}\n""#,
        r#""kind":"prompt","name":"user","text":"thanks""#,
        r#""kind":"prompt","name":"user","text":"really""#,
        r#""kind":"prompt","name":"user","text":"thanks""#,
        r#""kind":"prompt","name":"user","text":"again""#,
    ];
    let numbered = lines.iter().enumerate();
    let numbered = numbered.map(|(seq, line)| format!("{{\"seq\":{seq},\"t\":{seq},{line}}}\n"));
    numbered.collect()
}

fn screen(columns: u16, rows: u16) -> (TempDir, Screen<InlineWorker>) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("run.jsonl");
    std::fs::write(&path, tape()).unwrap();
    let screen = Screen::open(&path, columns, rows);
    (directory, screen)
}

#[test]
fn each_line_says_which_step_wrote_it() {
    let (_kept, mut screen) = screen(160, 45);
    screen.keys("2 Enter");
    screen.shows("  1  fn old() {}");
    screen.keys("b");
    screen.shows("·    1  fn old() {}");
    screen.shows("2    2  fn two() {}");
    screen.shows("3    3  fn three() {}");
    // The line above says it for those below that came with it.
    screen.shows("     4  fn more() {}");
    screen.shows("4≠   5  fn alien() {}");
    screen.shows("6?   6  fn six() {}");
    screen.keys("b");
    screen.hides("4≠");
}

#[test]
fn it_opens_the_file_that_is_chosen_and_can_be_found_by_name() {
    let (_kept, mut screen) = screen(160, 45);
    screen.keys("2 b");
    screen.shows("4≠   5  fn alien() {}");
    screen.keys("Esc");
    screen.hides("fn alien() {}");
    screen.keys("1 W");
    screen.shows("4≠   5  fn alien() {}");
    screen.keys("Esc :");
    for letter in "blame".chars() {
        screen.keys(&letter.to_string());
    }
    screen.keys("Enter");
    screen.shows("4≠   5  fn alien() {}");
    // Elsewhere the key does what it did: this run has one branch.
    screen.keys("Esc 1 b");
    screen.hides("4≠");
}

#[test]
fn a_line_leads_to_its_step_and_back() {
    let (_kept, mut screen) = screen(160, 45);
    screen.keys("2 Enter b");
    let here = screen.step();
    screen.shows("Enter go there");
    screen.keys("Enter");
    screen.shows("stood there before");
    screen.keys("j j Enter");
    assert_eq!(screen.step(), 3);
    // The file is as it was then, and so is who wrote it.
    screen.shows("3    3  fn three() {}");
    screen.hides("fn alien() {}");
    screen.keys("Enter");
    screen.shows("this step wrote the line");
    screen.keys("u");
    assert_eq!(screen.step(), here);
    screen.shows("4≠   5  fn alien() {}");
    screen.keys("G Enter");
    assert_eq!(screen.step(), 6);
    screen.keys("{");
    screen.shows("4≠   5  fn alien() {}");
    screen.hides("fn six() {}");
}

#[test]
fn it_can_be_read_at_every_size() {
    for (columns, rows) in SIZES {
        let (_kept, mut screen) = screen(columns, rows);
        screen.keys("2 Enter b");
        screen.shows("fn old() {}");
        if columns >= 60 {
            screen.shows("4≠   5  fn alien() {}");
        }
        screen.keys("G");
        screen.shows("6");
        screen.shows("fn six() {}");
    }
}
