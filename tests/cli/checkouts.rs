//! A checkout writes into the directory that was named, and nowhere else.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use super::world::World;

/// A tape whose tree tries to get out: through links, through paths, through modes.
const HOSTILE: &str = r#"{"seq":0,"kind":"tape","format":1,"id":"t","root":"/w"}
{"seq":1,"kind":"prompt","name":"user","text":"go"}
{"seq":2,"kind":"fs.symlink","path":"out","target":"../outside"}
{"seq":3,"kind":"fs.write","path":"out/evil.txt","text":"e"}
{"seq":4,"kind":"fs.symlink","path":"sub/link","target":"/tmp"}
{"seq":5,"kind":"fs.write","path":"sub/link/x/y/z.txt","text":"e"}
{"seq":6,"kind":"fs.symlink","path":"d","target":"../outside"}
{"seq":7,"kind":"fs.mkdir","path":"d","mode":"777"}
{"seq":8,"kind":"fs.symlink","path":"f","target":"../outside/canary.txt"}
{"seq":9,"kind":"fs.write","path":"f","text":"overwritten"}
{"seq":10,"kind":"fs.symlink","path":".ok","target":"../outside/canary.txt"}
{"seq":11,"kind":"fs.write","path":"/tmp/jukebox-was-here","text":"e"}
{"seq":12,"kind":"fs.write","path":"../climbs","text":"e"}
{"seq":13,"kind":"fs.write","path":"tool","mode":"6755","text":"x"}
{"seq":14,"kind":"fs.symlink","path":"fine","target":"tool"}
"#;

fn outside(world: &World) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let paths = fs::read_dir(world.path("outside")).unwrap();
    let mut found: Vec<_> = paths
        .map(|entry| {
            let path = entry.unwrap().path();
            let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
            let bytes = fs::read(&path).unwrap();
            (path, mode, bytes)
        })
        .collect();
    found.sort();
    found
}

fn world() -> World {
    let world = World::new(&[]);
    world.put("run.jsonl", HOSTILE);
    let canary = world.put("outside/canary.txt", "canary");
    fs::set_permissions(canary, fs::Permissions::from_mode(0o600)).unwrap();
    world
}

#[test]
fn a_hostile_tree_stays_in_the_directory() {
    for flags in ["", "--allow-outside-links"] {
        let world = world();
        let before = outside(&world);
        let run = world.type_in(&format!("checkout run.jsonl dest {flags}"));
        assert_eq!(run.code(), 0, "{}", run.stderr());
        assert_eq!(outside(&world), before);
        assert!(!world.path("climbs").exists());
        assert!(!PathBuf::from("/tmp/jukebox-was-here").exists());
        assert!(run.stdout().contains("/tmp/jukebox-was-here  left out"));

        let tool = fs::metadata(world.path("dest/tool")).unwrap();
        assert_eq!(tool.permissions().mode() & 0o7777, 0o755);
        let target = fs::read_link(world.path("dest/fine")).unwrap();
        assert_eq!(target, PathBuf::from("tool"));
        let link = fs::symlink_metadata(world.path("dest/.ok"));
        assert_eq!(link.is_ok(), !flags.is_empty(), "{flags}");
    }
}

#[test]
fn a_directory_with_a_planted_link_is_refused() {
    let world = world();
    let before = outside(&world);
    fs::create_dir(world.path("dest")).unwrap();
    symlink("../outside", world.path("dest/out")).unwrap();
    symlink("outside", world.path("link")).unwrap();
    for name in ["dest", "link", "link/"] {
        let run = world.type_in(&format!("checkout run.jsonl {name}"));
        assert_eq!(run.code(), 3, "{name}: {}", run.stderr());
    }
    assert_eq!(outside(&world), before);
}
