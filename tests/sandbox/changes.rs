//! What commands changed, read from the layers.

use jukebox::sandbox::{Below, Change, ChangeSet};

use super::who::as_root_and_as_user;
use super::world::{World, say};

as_root_and_as_user!(a_command_changes_nothing_real);

/// A change set as text, a line for each path.
pub(crate) fn lines(set: &ChangeSet) -> Vec<String> {
    let mut lines: Vec<String> = set
        .changes
        .iter()
        .map(|(path, change)| {
            let path = path.to_text();
            match change {
                Change::Deleted => format!("- {path}"),
                Change::Directory {
                    below: Below::Kept, ..
                } => format!("d {path}"),
                Change::Directory {
                    below: Below::Replaced,
                    ..
                } => format!("D {path}"),
                Change::File { content, .. } => {
                    let mut text = String::new();
                    let mut file = jukebox::sandbox::open(content).unwrap();
                    std::io::Read::read_to_string(&mut file, &mut text).unwrap();
                    format!("f {path} {text:?}")
                }
                Change::Link(target) => format!("l {path} {}", String::from_utf8_lossy(target)),
            }
        })
        .collect();
    let refused = set.refused.iter();
    lines.extend(refused.map(|(path, name)| format!("! {} {name}", path.display())));
    lines
}

fn a_command_changes_nothing_real() {
    let world = World::new(&[("a", "A"), ("d/old", "o")]);
    let mut sandbox = world.start();
    let said = say(
        &mut sandbox,
        "pwd; ls -a; printf more >> a; rm -r d; mkdir d; printf n > d/new; cat a",
    );
    assert_eq!(
        said,
        format!("{}\n.\n..\na\nd\nAmore", world.workspace().display())
    );
    let set = sandbox.change_set().unwrap();
    assert_eq!(lines(&set), ["f a \"Amore\"", "D d", "f d/new \"n\""]);
    drop(sandbox);
    assert_eq!(
        std::fs::read_to_string(world.workspace().join("a")).unwrap(),
        "A"
    );
    assert!(world.workspace().join("d/old").exists());
    assert!(
        std::fs::read_dir(world.workspace().join(".jukebox/sandboxes"))
            .unwrap()
            .next()
            .is_none()
    );
}
