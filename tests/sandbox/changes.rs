//! What commands changed, read from the layers.

use jukebox::sandbox::{Abandoned, Below, Change, ChangeSet, sandboxes_of};

use super::who::as_root_and_as_user;
use super::world::{World, say};

as_root_and_as_user!(
    a_command_changes_nothing_real,
    what_was_abandoned_can_be_looked_at_and_thrown_away,
    what_was_cut_off_before_a_command_ran_goes_with_the_next_start,
    modes_and_links_are_told_to_the_bit,
    what_was_put_in_the_place_of_a_file_is_not_read,
);

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

/// Commands run while their changes are looked at.
fn what_was_put_in_the_place_of_a_file_is_not_read() {
    let world = World::new(&[]);
    std::fs::write(world.home().join("secret"), "s").unwrap();
    let mut sandbox = world.start();
    say(
        &mut sandbox,
        "mkdir d; echo f > f; echo f > d/secret; echo f > p",
    );
    let set = sandbox.change_set().unwrap();
    let home = world.home();
    let swap = format!(
        "rm -r f p d; ln -s {0}/secret f; ln -s {0} d; mkfifo p",
        home.display()
    );
    say(&mut sandbox, &swap);
    let files = set.changes.iter().filter_map(|(_, change)| match change {
        Change::File { content, .. } => Some(content),
        _ => None,
    });
    let opened: Vec<_> = files
        .map(|content| jukebox::sandbox::open(content))
        .collect();
    assert_eq!(opened.len(), 3);
    for opened in opened {
        assert!(jukebox::sandbox::is_gone(&opened.unwrap_err()));
    }
}

fn what_was_cut_off_before_a_command_ran_goes_with_the_next_start() {
    let world = World::new(&[("a", "A")]);
    let unused = world.start().abandon();
    let mut used = world.start();
    say(&mut used, "rm a");
    let used = used.abandon();
    let running = world.start();
    assert!(!unused.exists());
    assert!(used.exists() && running.layers().exists());
    let next = world.start();
    assert!(running.layers().exists() && next.layers().exists());
    let found = Abandoned::find(&sandboxes_of(&world.workspace())).unwrap();
    let found: Vec<_> = found.iter().map(Abandoned::path).collect();
    assert_eq!(found, [used.as_path()]);
}

fn what_was_abandoned_can_be_looked_at_and_thrown_away() {
    let world = World::new(&[("a", "A")]);
    let place = sandboxes_of(&world.workspace());
    assert!(Abandoned::find(&place).unwrap().is_empty());
    let mut sandbox = world.start();
    say(&mut sandbox, "echo kept > b");
    sandbox.savepoint("one").unwrap();
    say(&mut sandbox, "echo lost > c");
    sandbox.roll_back_to("one").unwrap();
    say(&mut sandbox, "rm a");
    // One that has an owner is nobody else's.
    assert!(Abandoned::find(&place).unwrap().is_empty());
    let layers = sandbox.abandon();
    let mut found = Abandoned::find(&place).unwrap();
    let abandoned = found.pop().unwrap();
    assert_eq!((abandoned.path(), found.len()), (layers.as_path(), 0));
    assert!(Abandoned::find(&place).unwrap().is_empty());
    let set = abandoned.change_set(&world.workspace()).unwrap();
    assert_eq!(lines(&set), ["- a", "f b \"kept\\n\""]);
    abandoned.remove().unwrap();
    assert!(!layers.exists());
}

fn modes_and_links_are_told_to_the_bit() {
    let world = World::new(&[("run", "x"), ("same/f", "f")]);
    let mut sandbox = world.start();
    let script = "umask 0; for m in 600 755 444 4755 2755; do echo > f$m; chmod $m f$m; done; \
        mkdir priv; chmod 700 priv; mkdir sticky; chmod 1777 sticky; chmod 711 run; \
        ln -s '../out side' link; ln -sf /etc/passwd same/f";
    say(&mut sandbox, script);
    let set = sandbox.change_set().unwrap();
    let modes = set.changes.iter().map(|(path, change)| match change {
        Change::File { mode, .. } | Change::Directory { mode, .. } => {
            format!("{} {mode:o}", path.to_text())
        }
        Change::Link(text) => format!("{} {}", path.to_text(), String::from_utf8_lossy(text)),
        Change::Deleted => format!("- {}", path.to_text()),
    });
    let expected = [
        "f2755 2755",
        "f444 444",
        "f4755 4755",
        "f600 600",
        "f755 755",
        "link ../out side",
        "priv 700",
        "run 711",
        "same 755",
        "same/f /etc/passwd",
        "sticky 1777",
    ];
    let modes: Vec<String> = modes.collect();
    assert_eq!(modes, expected);
}
