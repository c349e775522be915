//! What changes a workspace asks first, where somebody can answer.

use std::fs;

use super::{PATIENCE, PROGRAM, World};

/// A run that made one file.
const TAPE: &str = r#"{"seq":0,"kind":"tape","format":1,"id":"t","root":"/w"}
{"seq":1,"kind":"prompt","name":"user","text":"go"}
{"seq":2,"kind":"tool.call","call":"c","name":"Write"}
{"seq":3,"kind":"fs.observe","call":"c","path":"made.txt"}
{"seq":4,"kind":"fs.write","call":"c","path":"made.txt","text":"made"}
{"seq":5,"kind":"tool.result","call":"c","outcome":"ok"}
"#;

#[test]
fn a_restore_waits_for_a_yes() {
    for (answer, is_yes) in [
        ("n\n", false),
        ("\n", false),
        ("y\n", true),
        ("yes\n", true),
    ] {
        let world = World::new(TAPE);
        let workspace = world.directory.path().join("w");
        fs::create_dir(&workspace).unwrap();
        let file = workspace.join("made.txt");
        fs::write(&file, "made").unwrap();
        let place = format!("{}@1", world.tape.display());
        let directory = workspace.to_str().unwrap();
        let command = [PROGRAM, "restore", &place, "--dir", directory];
        let mut pty = world.run(&command, &[]);
        let asked = pty.wait_for(PATIENCE, |screen| screen.contents().contains("[y/N]"));
        assert!(asked.unwrap(), "{}", pty.screen().contents());
        assert!(pty.screen().contents().contains("D made.txt"));
        assert!(file.exists());
        pty.send(answer.as_bytes()).unwrap();
        let status = pty.wait(PATIENCE).unwrap().unwrap();
        assert!(status.success(), "{answer:?}: {status}");
        assert_eq!(file.exists(), !is_yes, "{answer:?}");
        assert_eq!(workspace.join(".jukebox").exists(), is_yes, "{answer:?}");
    }
}

#[test]
fn what_a_recorded_command_changed_waits_for_a_yes() {
    for (answer, is_yes) in [("n\n", false), ("\n", false), ("y\n", true)] {
        let world = World::new(TAPE);
        let workspace = world.directory.path().join("w");
        fs::create_dir(&workspace).unwrap();
        let directory = workspace.to_str().unwrap();
        let script = "echo here > made.txt";
        let command = [
            PROGRAM, "record", "--dir", directory, "--ask", "--", "/bin/sh", "-c", script,
        ];
        let mut pty = world.run(&command, &[]);
        let asked = pty.wait_for(PATIENCE, |screen| {
            let said = screen.contents();
            said.contains("[y/N]") || said.contains("doctor")
        });
        assert!(asked.unwrap(), "{}", pty.screen().contents());
        if pty.screen().contents().contains("doctor") {
            return; // This machine allows no sandbox: the screen says so.
        }
        assert!(pty.screen().contents().contains("A made.txt"));
        assert!(!workspace.join("made.txt").exists());
        pty.send(answer.as_bytes()).unwrap();
        let status = pty.wait(PATIENCE).unwrap().unwrap();
        assert!(status.success(), "{answer:?}: {status}");
        assert_eq!(workspace.join("made.txt").exists(), is_yes, "{answer:?}");
    }
}
