//! A workspace that commands see at another path than its own, and see anew when it changed.

use std::fs;
use std::path::{Path, PathBuf};

use jukebox::sandbox::{Backend, Guarantee, Sandbox, Status};

use super::changes::lines;
use super::who::as_root_and_as_user;
use super::world::{World, run, say, shell};

as_root_and_as_user!(
    a_workspace_is_seen_where_nothing_is,
    a_workspace_is_seen_in_place_of_another,
    nothing_is_shown_in_place_of_the_system,
    a_workspace_that_changed_is_shown_anew,
);

fn start(world: &World, seen_at: &str) -> Sandbox {
    let mut config = world.config(Backend::Overlay);
    config.seen_at = Some(seen_at.into());
    Sandbox::start(&config).unwrap()
}

fn a_workspace_is_seen_where_nothing_is() {
    // At the top, in a directory that is only looked at, in one that is made, in a temporary one.
    let paths = ["/nobody-has/this/one", "/usr/nobody-has/this", "/tmp/a/b"];
    for path in paths {
        let world = World::new(&[("a", "A")]);
        let mut sandbox = start(&world, path);
        assert_eq!(sandbox.seen_at(), Path::new(path));
        assert_eq!(say(&mut sandbox, "pwd; cat a"), format!("{path}\nA"));
        let script = format!("echo new > {path}/b; rm a; cd ..; ls; cd /; pwd -P");
        let last = Path::new(path).file_name().unwrap().to_string_lossy();
        let said = say(&mut sandbox, &script);
        assert_eq!(said, format!("{last}\n/\n"));
        assert_eq!(
            lines(&sandbox.change_set().unwrap()),
            ["- a", "f b \"new\\n\""]
        );
        // The rest of the system is there, and cannot be written.
        let written = run(
            &mut sandbox,
            &shell("echo x > /nobody-has-this || echo x > /usr/x"),
        );
        assert_ne!(written.unwrap().exit.status, Status::Code(0));
        let found = say(
            &mut sandbox,
            "test -e /etc/passwd && test -d /proc/self; echo $?",
        );
        assert_eq!(found, "0\n");
        drop(sandbox);
        assert!(!Path::new("/nobody-has").exists() && !Path::new("/usr/nobody-has").exists());
        assert_eq!(fs::read(world.workspace().join("a")).unwrap(), b"A");
    }
}

fn a_workspace_is_seen_in_place_of_another() {
    let (real, world) = (World::new(&[("real", "1")]), World::new(&[("a", "A")]));
    let path = real.workspace();
    let mut sandbox = start(&world, &path.to_string_lossy());
    assert_eq!(say(&mut sandbox, "ls; rm a; echo > new"), "a\n");
    drop(sandbox);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
    assert!(path.join("real").exists());
}

fn nothing_is_shown_in_place_of_the_system() {
    let world = World::new(&[("a", "A")]);
    for path in ["/", "/usr", "/proc/1", "relative", "/a/../usr"] {
        let mut config = world.config(Backend::Overlay);
        config.seen_at = Some(PathBuf::from(path));
        let missing = Sandbox::start(&config).unwrap_err();
        assert_eq!(missing.what, Guarantee::Workspace, "{path}");
        assert!(missing.cause.contains(path), "{missing}");
    }
}

fn a_workspace_that_changed_is_shown_anew() {
    let world = World::new(&[("a", "A"), ("d/b", "B")]);
    let mut config = world.config(Backend::Overlay);
    config.layers = Some(world.home());
    let mut sandbox = Sandbox::start(&config).unwrap();
    assert_eq!(
        say(
            &mut sandbox,
            "cat a d/b; echo x > a; rm -r d; echo t > /tmp/t"
        ),
        "AB"
    );
    let workspace = world.workspace();
    fs::write(workspace.join("a"), "A2").unwrap();
    fs::remove_file(workspace.join("d/b")).unwrap();
    fs::write(workspace.join("d/c"), "C").unwrap();
    sandbox.show_anew().unwrap();
    assert!(sandbox.change_set().unwrap().is_empty());
    assert_eq!(say(&mut sandbox, "cat a d/*; cat /tmp/t"), "A2Ct\n");
    assert!(sandbox.change_set().unwrap().is_empty());
}
