//! The colours of the screen: a theme by its name or its file, and none where none are wanted.

use std::fs;

use super::world::{World, project};

/// The picture that the screen makes with these arguments, and with a variable if one is set.
fn picture(world: &World, arguments: &str, variable: Option<&str>) -> String {
    let mut command = world.program();
    let typed = format!("demo --frame out.svg --size 80x24 {arguments}");
    command.args(typed.split_whitespace());
    if let Some(variable) = variable {
        command.env(variable, "1");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments}: {output:?}");
    fs::read_to_string(world.path("out.svg")).unwrap()
}

#[test]
fn every_theme_that_is_named_is_one_and_reads_as_its_file_does() {
    let world = World::new(&[]);
    let mut pictures = vec![picture(&world, "", None)];
    for file in fs::read_dir(project().join("assets/themes")).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap();
        let named = picture(&world, &format!("--theme {name}"), None);
        let read = picture(&world, &format!("--theme {}", file.display()), None);
        assert_eq!(named, read, "{name}");
        assert!(!pictures.contains(&named), "{name} is a theme of its own");
        let help = world.type_in("open --help").stdout();
        assert!(help.contains(name), "{name} is in the help");
        pictures.push(named);
    }
    assert!(pictures.len() > 4);
}

#[test]
fn who_wants_no_colours_gets_none_with_a_theme_either() {
    let world = World::new(&[]);
    let plain = picture(&world, "--color never", None);
    assert_eq!(picture(&world, "--color never --theme dark", None), plain);
    assert_eq!(picture(&world, "--theme light", Some("NO_COLOR")), plain);
    let colored = picture(&world, "--theme light --color always", Some("NO_COLOR"));
    assert_eq!(colored, picture(&world, "--theme light", None));
}
