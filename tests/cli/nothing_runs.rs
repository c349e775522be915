//! Opening a tape runs nothing, asks nobody, and reads no configuration beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::world::{Run, World, program_of_machine};

/// A tape whose every text asks to be run.
const TAPE: &str = r#"{"seq":0,"kind":"tape","format":1,"id":"$(touch PWNED)","root":"/w"}
{"seq":1,"kind":"prompt","name":"user","text":"`touch PWNED`"}
{"seq":2,"kind":"tool.call","call":"c1","name":"$(touch PWNED)","args":{"command":"touch PWNED","env":{"BASH_ENV":"touch PWNED"}}}
{"seq":3,"kind":"fs.write","call":"c1","path":".mcp.json","text":"{\"mcpServers\":{\"x\":{\"command\":\"touch\",\"args\":[\"PWNED\"]}}}"}
{"seq":4,"kind":"fs.write","call":"c1","path":".git/config","text":"[core]\n\tfsmonitor = touch PWNED\n\tpager = touch PWNED\n"}
{"seq":5,"kind":"fs.write","call":"c1","path":".git/HEAD","text":"ref: refs/heads/main\n"}
{"seq":6,"kind":"effect.intent","call":"c1","name":"$(touch PWNED)","key":"k","class":"read","args":["touch","PWNED"],"command":["touch","PWNED"]}
{"seq":7,"kind":"tool.result","call":"c1","outcome":"failed","output":"python -c 'open(\"PWNED\", \"w\")'"}
"#;

const COMMANDS: [&str; 13] = [
    "log run.jsonl",
    "log run.jsonl --json",
    "show run.jsonl@fail",
    "tree run.jsonl",
    "cat run.jsonl .git/config",
    "diff run.jsonl",
    "search run.jsonl touch",
    "verify run.jsonl",
    "effects run.jsonl",
    "checkout run.jsonl out",
    "open run.jsonl",
    "open run.jsonl --frame frame.txt --keys gllle2j<enter>1/touch<enter>",
    "import run.jsonl --report",
];

/// A tape in a directory that is full of traps.
fn trapped() -> World {
    let world = World::new(&[]);
    world.put("run.jsonl", TAPE);
    let config = "[core]\n\tfsmonitor = touch PWNED\n\tpager = touch PWNED\n";
    world.put(".git/config", config);
    world.put(".git/HEAD", "ref: refs/heads/main\n");
    world.put(".git/objects/.keep", "");
    world.put(".git/refs/.keep", "");
    world.put(".jukebox.toml", "[hooks]\nopen = \"touch PWNED\"\n");
    world.put("jukebox.toml", "[hooks]\nopen = \"touch PWNED\"\n");
    world.put(".envrc", "touch PWNED\n");
    world.put(
        "package.json",
        r#"{"scripts":{"preinstall":"touch PWNED"}}"#,
    );
    for name in ["git", "less", "sh", "vi", "more"] {
        let path = world.put(name, "#!/bin/sh\ntouch PWNED\n");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    world
}

/// The environment asks for programs, too.
fn tempt(world: &World, command: &mut Command) {
    world.settle(command);
    command.env("PATH", world.path(""));
    for name in ["PAGER", "EDITOR", "VISUAL", "LESSOPEN", "GIT_PAGER"] {
        command.env(name, "touch PWNED");
    }
}

#[test]
fn no_command_does_what_a_tape_says() {
    let world = trapped();
    for words in COMMANDS {
        let mut program = world.program();
        tempt(&world, &mut program);
        let run = Run::new(program.args(words.split(' ')).output().unwrap());
        assert!(run.code() < 3, "{words}: {}", run.stderr());
        assert!(!world.path("PWNED").exists(), "{words}");
        assert!(!world.path("out/PWNED").exists(), "{words}");
    }
}

#[test]
fn no_command_starts_a_program_or_opens_a_connection() {
    let Some(strace) = program_of_machine("strace") else {
        return;
    };
    let world = trapped();
    let log = world.path("trace");
    for words in COMMANDS {
        let _ = fs::remove_dir_all(world.path("out"));
        let program = world.program();
        let mut traced = Command::new(&strace);
        tempt(&world, &mut traced);
        traced.args(["-f", "-qq", "-e", "trace=%process,%network,%file", "-o"]);
        traced.arg(&log).arg(program.get_program());
        let run = Run::new(traced.args(words.split(' ')).output().unwrap());
        let Ok(trace) = fs::read_to_string(&log) else {
            return;
        };
        if trace.is_empty() {
            // Tracing is not allowed here.
            return;
        }
        assert!(run.code() < 3, "{words}");
        let is_call = |line: &str, name: &str| line.contains(&format!(" {name}("));
        let starts = trace.lines().filter(|line| is_call(line, "execve")).count();
        assert_eq!(starts, 1, "{words}: only the program itself");
        for call in ["socket", "connect", "fork", "vfork", "execveat"] {
            assert!(
                !trace.lines().any(|line| is_call(line, call)),
                "{words}: {call}"
            );
        }
        for trap in [".git", "jukebox.toml", ".envrc", "package.json"] {
            let is_opened = |line: &str| line.contains(trap) && !line.contains("out");
            let opened: Vec<&str> = trace.lines().filter(|line| is_opened(line)).collect();
            let opened: Vec<&&str> = opened
                .iter()
                .filter(|line| !words.starts_with("checkout") || line.contains("/work/"))
                .filter(|line| !line.contains("execve"))
                .collect();
            assert_eq!(opened, Vec::<&&str>::new(), "{words}: {trap}");
        }
    }
}
