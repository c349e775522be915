//! Commands that end well or badly, say too much, or leave somebody behind.

use std::fs;
use std::ops::ControlFlow;
use std::time::Duration;

use jukebox::sandbox::{
    Abandoned, Backend, Cause, Command, Config, Policy, Said, Sandbox, SandboxError, Status,
    sandboxes_of,
};

use super::changes::lines;
use super::who::{self, as_root_and_as_user};
use super::world::{World, run, say, shell};

as_root_and_as_user!(
    a_command_ends_with_its_code_or_its_signal,
    a_command_that_cannot_start_is_no_exit,
    output_comes_as_it_is_written,
    a_gigabyte_is_counted_and_not_kept,
    a_command_whose_time_is_up_is_ended,
    a_command_that_does_not_listen_is_killed,
    the_caller_can_end_a_command,
    daemons_go_on_until_the_sandbox_ends,
    a_killed_helper_takes_all_with_it_and_leaves_the_work,
    a_killed_owner_takes_all_with_it_and_leaves_the_work,
    a_full_disk_is_the_commands_own_trouble,
    what_forbids_reading_is_read_all_the_same,
    special_files_are_refused_by_name,
);

/// Processes of this machine that were started with a word.
fn with_word(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let says_it = |entry: &fs::DirEntry| {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        words
            .split(|byte| *byte == 0)
            .any(|other| other == word.as_bytes())
    };
    processes.filter(says_it).count()
}

/// Waits until there are so many of them.
fn wait_for(word: &str, count: usize) {
    for _ in 0..3000 {
        if with_word(word) == count {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(with_word(word), count);
}

/// A number of seconds that nobody else sleeps.
fn long(salt: u32) -> String {
    format!(
        "{}",
        100_000 + u64::from(std::process::id()) * 10 + u64::from(salt)
    )
}

fn a_command_ends_with_its_code_or_its_signal() {
    let world = World::new(&[]);
    let mut sandbox = world.start();
    for (script, status, code) in [
        ("exit 0", Status::Code(0), 0),
        ("exit 42", Status::Code(42), 42),
        ("kill -9 $$", Status::Signal(9), 137),
        ("kill -TERM $$", Status::Signal(15), 143),
    ] {
        let ran = run(&mut sandbox, &shell(script)).unwrap();
        assert_eq!(ran.exit.status, status, "{script}");
        assert_eq!(ran.exit.status.code(), code, "{script}");
        assert_eq!(ran.exit.cause, Cause::Itself);
    }
}

fn a_command_that_cannot_start_is_no_exit() {
    let world = World::new(&[("plain", "text"), ("d/f", "")]);
    let mut sandbox = world.start();
    let code = |sandbox: &mut Sandbox, command: &Command| {
        run(sandbox, command).map(|_| ()).unwrap_err().code()
    };
    assert_eq!(code(&mut sandbox, &Command::new(["no-such-program"])), 127);
    assert_eq!(code(&mut sandbox, &Command::new(["./plain"])), 126);
    assert_eq!(code(&mut sandbox, &Command::new([""; 0])), 125);
    let mut elsewhere = shell("true");
    elsewhere.directory = "missing".into();
    assert_eq!(code(&mut sandbox, &elsewhere), 127);
    elsewhere.directory = "d".into();
    assert!(run(&mut sandbox, &elsewhere).is_ok());
}

fn output_comes_as_it_is_written() {
    let world = World::new(&[]);
    let mut sandbox = world.start();
    let script = r"printf 'a\033[2J\000\377'; printf 'err\r\n' >&2; cat";
    let mut command = shell(script);
    fs::write(world.home().join("input"), "given").unwrap();
    command.input = Some(fs::File::open(world.home().join("input")).unwrap().into());
    let ran = run(&mut sandbox, &command).unwrap();
    assert_eq!(ran.output, b"a\x1b[2J\0\xffgiven");
    assert_eq!(ran.error, b"err\r\n");
    // The first words are heard before the command ends: it waits until they were.
    let script = "echo first; while ! test -e go; do sleep 0.01; done; echo last";
    let mut sandbox = Sandbox::start(&world.config(Backend::Unguarded)).unwrap();
    let mut heard = Vec::new();
    let exit = sandbox.exec(&shell(script), &mut |said| {
        if let Said::Bytes(_, bytes) = said {
            heard.extend_from_slice(bytes);
            fs::write(world.workspace().join("go"), "").unwrap();
        }
        ControlFlow::Continue(())
    });
    assert_eq!(exit.unwrap().status, Status::Code(0));
    assert_eq!(heard, b"first\nlast\n");
}

fn a_gigabyte_is_counted_and_not_kept() {
    let world = World::new(&[]);
    let mut sandbox = world.start();
    let mut command = shell("head -c 1000000000 /dev/zero; echo done >&2");
    command.capture = 1 << 20;
    let ran = run(&mut sandbox, &command).unwrap();
    assert_eq!(ran.output.len(), 1 << 20);
    assert_eq!(ran.exit.output.kept, 1 << 20);
    assert_eq!(ran.exit.output.dropped, 1_000_000_000 - (1 << 20));
    assert_eq!(ran.error, b"done\n");
}

fn a_command_whose_time_is_up_is_ended() {
    let world = World::new(&[]);
    let mut sandbox = world.start();
    let seconds = long(1);
    let mut command = shell(&format!("echo begun; sleep {seconds}"));
    command.timeout = Some(Duration::from_secs(1));
    let ran = run(&mut sandbox, &command).unwrap();
    assert_eq!(ran.exit.cause, Cause::Timeout);
    assert_eq!(ran.exit.status, Status::Signal(15));
    assert_eq!(ran.output, b"begun\n");
    wait_for(&seconds, 0);
    // One that cleans up may say how it ended.
    let mut command = shell("trap 'echo cleaned; exit 7' TERM; sleep 100 & wait");
    command.timeout = Some(Duration::from_secs(1));
    let ran = run(&mut sandbox, &command).unwrap();
    assert_eq!(
        (ran.exit.cause, ran.exit.status),
        (Cause::Timeout, Status::Code(7))
    );
    assert_eq!(ran.output, b"cleaned\n");
}

fn a_command_that_does_not_listen_is_killed() {
    let world = World::new(&[]);
    let mut sandbox = world.start();
    let seconds = long(2);
    let script = format!(
        "trap '' TERM; setsid sh -c \"trap '' TERM; sleep {seconds}\" & while :; do sleep 0.01; done"
    );
    let mut command = shell(&script);
    command.timeout = Some(Duration::from_secs(1));
    let ran = run(&mut sandbox, &command).unwrap();
    assert_eq!(
        (ran.exit.cause, ran.exit.status),
        (Cause::Timeout, Status::Signal(9))
    );
    wait_for(&seconds, 0);
    assert_eq!(say(&mut sandbox, "echo next"), "next\n");
}

fn the_caller_can_end_a_command() {
    let world = World::new(&[]);
    let mut sandbox = world.start();
    // By what it says, and by that it says nothing.
    for script in ["echo enough; exec sleep 1000", "exec sleep 1000"] {
        let exit = sandbox.exec(&shell(script), &mut |_| ControlFlow::Break(()));
        let exit = exit.unwrap();
        assert_eq!(
            (exit.cause, exit.status),
            (Cause::Asked, Status::Signal(15))
        );
    }
}

fn daemons_go_on_until_the_sandbox_ends() {
    let world = World::new(&[]);
    let mut sandbox = world.start();
    let seconds = long(3);
    let script = format!(
        "(setsid nohup sh -c 'echo up > up; sleep {seconds}; :' >log 2>&1 &) ; while ! test -e up; do sleep 0.01; done"
    );
    say(&mut sandbox, &script);
    wait_for(&seconds, 1);
    // The next command finds it, and it may say what nobody hears.
    assert_eq!(say(&mut sandbox, "cat up"), "up\n");
    say(
        &mut sandbox,
        "sh -c 'while echo flood; do :; done' & sleep 0.1",
    );
    assert_eq!(say(&mut sandbox, "echo next"), "next\n");
    drop(sandbox);
    assert_eq!(with_word(&seconds), 0);

    for backend in [Backend::Copy, Backend::Unguarded] {
        let mut sandbox = Sandbox::start(&world.config(backend)).unwrap();
        let script = format!("(setsid nohup sleep {seconds} >/dev/null 2>&1 &); true");
        say(&mut sandbox, &script);
        wait_for(&seconds, 1);
        drop(sandbox);
        assert_eq!(with_word(&seconds), 0, "{backend:?}");
    }
}

fn a_killed_helper_takes_all_with_it_and_leaves_the_work() {
    let world = World::new(&[("a", "A")]);
    let mut sandbox = world.start();
    let seconds = long(4);
    let script = format!("echo new > b; (setsid sleep {seconds} >/dev/null 2>&1 &); true");
    say(&mut sandbox, &script);
    wait_for(&seconds, 1);
    let helper = rustix::process::Pid::from_raw(sandbox.process() as i32).unwrap();
    rustix::process::kill_process(helper, rustix::process::Signal::KILL).unwrap();
    wait_for(&seconds, 0);
    let lost = run(&mut sandbox, &shell("true")).unwrap_err();
    assert!(matches!(lost, SandboxError::Lost), "{lost}");
    assert_eq!(lost.code(), 125);
    assert_eq!(lines(&sandbox.change_set().unwrap()), ["f b \"new\\n\""]);
    assert_eq!(
        fs::read_to_string(world.workspace().join("a")).unwrap(),
        "A"
    );
    let layers = sandbox.layers().to_owned();
    assert!(layers.exists());
    drop(sandbox);
    assert!(!layers.exists());
}

fn a_killed_owner_takes_all_with_it_and_leaves_the_work() {
    let test = "a_killed_owner_takes_all_with_it_and_leaves_the_work";
    if let (Some(workspace), Ok(seconds)) = (std::env::var_os(OWNED), std::env::var(SLEPT)) {
        // This is the owner, who gets no chance to clean up.
        let config = Config {
            workspace: workspace.into(),
            seen_at: None,
            helper: who::program(),
            backend: Backend::Overlay,
            layers: None,
            policy: Policy::for_home(None),
        };
        let mut sandbox = Sandbox::start(&config).unwrap();
        let sleep = format!("sleep {seconds}");
        say(
            &mut sandbox,
            &format!("echo new > b; (setsid {sleep} >/dev/null 2>&1 &); {sleep}"),
        );
        return;
    }
    let world = World::new(&[("a", "A")]);
    let seconds = long(5);
    let whoever = if who::is_root() { "as_root" } else { "as_user" };
    let mut owner = std::process::Command::new(std::env::current_exe().unwrap())
        .args([&format!("commands::{whoever}::{test}"), "--exact"])
        .env(OWNED, world.workspace())
        .env(SLEPT, &seconds)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&seconds, 2);
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_for(&seconds, 0);
    let mut found = Abandoned::find(&sandboxes_of(&world.workspace())).unwrap();
    let abandoned = found.pop().unwrap();
    let set = abandoned.change_set(&world.workspace()).unwrap();
    assert_eq!(lines(&set), ["f b \"new\\n\""]);
    abandoned.remove().unwrap();
}

/// The workspace, and the seconds, for who is started to be killed.
const OWNED: &str = "JUKEBOX_TEST_OWNED";
const SLEPT: &str = "JUKEBOX_TEST_SLEPT";

fn a_full_disk_is_the_commands_own_trouble() {
    let Some(disk) = who::mounted() else {
        let test = concat!(
            module_path!(),
            "::as_user::a_full_disk_is_the_commands_own_trouble"
        );
        who::among_mounts(test, "mount -t tmpfs -o size=1m none \"$1\"");
        return;
    };
    let world = World::new(&[("a", "A")]);
    let mut config = world.config(Backend::Overlay);
    config.layers = Some(disk.clone());
    let mut sandbox = Sandbox::start(&config).unwrap();
    let ran = run(&mut sandbox, &shell("head -c 4000000 /dev/zero > big")).unwrap();
    assert_ne!(ran.exit.status, Status::Code(0));
    assert!(
        String::from_utf8_lossy(&ran.error).contains("No space left"),
        "{ran:?}"
    );
    say(&mut sandbox, "rm big; echo x > small");
    assert_eq!(lines(&sandbox.change_set().unwrap()), ["f small \"x\\n\""]);
    drop(sandbox);
    assert_eq!(fs::read_dir(disk).unwrap().count(), 0);
}

fn what_forbids_reading_is_read_all_the_same() {
    let world = World::new(&[("d/old", "o")]);
    let mut sandbox = world.start();
    say(
        &mut sandbox,
        "echo s > f; chmod 000 f; mkdir e; echo t > e/f; chmod 000 e; touch d/new; chmod 311 d",
    );
    let expected = [
        "d d",
        "f d/new \"\"",
        "d e",
        "f e/f \"t\\n\"",
        "f f \"s\\n\"",
    ];
    assert_eq!(lines(&sandbox.change_set().unwrap()), expected);
    // And it still forbids it.
    assert_eq!(say(&mut sandbox, "stat -c %a f e d"), "0\n0\n311\n");
}

fn special_files_are_refused_by_name() {
    let world = World::new(&[("a", "A")]);
    let mut sandbox = world.start();
    say(
        &mut sandbox,
        "mkfifo pipe; rm a; mkfifo a; ln -s nowhere link",
    );
    let expected = ["l link nowhere", "! a FIFO", "! pipe FIFO"];
    assert_eq!(lines(&sandbox.change_set().unwrap()), expected);
}
