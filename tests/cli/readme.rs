//! What the README says can be typed: the commands exist, and those of the tour do what they
//! are said to do, on the demo run.

use std::fs;

use super::world::{World, project};

#[test]
fn the_commands_of_the_readme_work() {
    let world = World::new(&[]);
    let demo = project().join("demo-tapes/bug-hunt.jsonl");
    fs::copy(demo, world.path("session.jsonl")).unwrap();
    let readme = fs::read_to_string(project().join("README.md")).unwrap();
    for (name, text) in written(&readme) {
        world.put(name, text);
    }
    let typed = readme
        .lines()
        .filter_map(|line| line.strip_prefix("    jukebox "));
    let mut count = 0;
    for line in typed {
        let words = words(line);
        let run = world.run(&words);
        let is_screen = run.stderr().contains("needs a terminal");
        let is_example = !line.contains("session.jsonl");
        assert!(
            run.code() < 2 || is_screen || is_example,
            "{line}: {}",
            run.stderr()
        );
        count += 1;
    }
    assert!(count >= 7, "the tour is there");
}

#[test]
fn the_command_table_lists_every_verb_and_no_other() {
    let readme = fs::read_to_string(project().join("README.md")).unwrap();
    let rows = readme
        .lines()
        .filter(|line| line.starts_with("| `jukebox "));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let named = cells.flat_map(|cell| cell.split("`jukebox ").skip(1));
    let mut named: Vec<&str> = named
        .filter_map(|text| text.split([' ', '`']).next())
        .filter(|word| word.chars().all(char::is_lowercase))
        .collect();
    named.sort_unstable();
    named.dedup();

    let help = World::new(&[]).type_in("--help").stdout();
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let verbs = list.lines().take_while(|line| !line.is_empty());
    let mut verbs: Vec<&str> = verbs
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    verbs.sort_unstable();
    assert_eq!(named, verbs);
}

/// The files that here-documents write, with their texts.
fn written(readme: &str) -> Vec<(&str, String)> {
    let mut files = Vec::new();
    let mut lines = readme.lines();
    while let Some(line) = lines.next() {
        let name = line.strip_prefix("    cat > ");
        if let Some(name) = name.and_then(|rest| rest.strip_suffix(" <<'END'")) {
            let text = lines.by_ref().take_while(|line| *line != "    END");
            let text = text.map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line)));
            files.push((name, text.collect()));
        }
    }
    files
}

/// The words of a command as a shell parts them, up to a comment.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() && !rest.starts_with('#') {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').unwrap_or((quoted, "")),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}
