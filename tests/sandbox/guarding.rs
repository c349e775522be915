//! What commands cannot do, see or reach.

use std::fs;
use std::net::TcpListener;

use jukebox::sandbox::{Backend, Sandbox, Status};

use super::changes::lines;
use super::who::{self, as_root_and_as_user};
use super::world::{World, run, say, shell, write_files};

as_root_and_as_user!(
    nothing_outside_can_be_written,
    what_is_written_at_home_is_thrown_away,
    temporary_directories_are_ones_own,
    no_machine_can_be_reached,
    no_process_outside_can_be_seen_or_signalled,
    no_device_but_harmless_ones,
    no_rights_can_be_gained,
    a_workspace_in_a_hidden_place_is_there,
    a_copy_guards_too,
    without_a_guard_nothing_is_taken_back,
);

/// Whether a script fails, as it must.
#[track_caller]
fn fails(sandbox: &mut Sandbox, script: &str) {
    let ran = run(sandbox, &shell(script)).unwrap();
    assert_ne!(ran.exit.status, Status::Code(0), "{script}");
}

fn nothing_outside_can_be_written() {
    let world = World::new(&[]);
    let outside = who::outside();
    write_files(outside.path(), &[("file", "old")]);
    let pipe = outside.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    // Somebody reads it, so that a writer would not wait.
    let reader = fs::File::options()
        .read(true)
        .write(true)
        .open(&pipe)
        .unwrap();
    let mut sandbox = world.start();
    let place = outside.path().display();
    if sandbox.facts().landlock > 0 {
        fails(&mut sandbox, &format!("echo x > {place}/pipe"));
    } else {
        println!("skipped: without Landlock a FIFO of the host can be written");
    }
    drop(reader);
    for script in [
        format!("echo new > {place}/file"),
        format!("rm {place}/file"),
        format!("mv {place}/file {place}/other"),
        format!("chmod 777 {place}/file"),
        format!("touch {place}/file"),
        format!("mkdir {place}/d"),
        "echo x > /jukebox-test".to_owned(),
        "echo x > /etc/jukebox-test".to_owned(),
        "echo x > /proc/sys/kernel/core_pattern".to_owned(),
        "echo x > /dev/new".to_owned(),
    ] {
        fails(&mut sandbox, &script);
    }
    assert_eq!(say(&mut sandbox, &format!("cat {place}/file")), "old");
    assert_eq!(
        fs::read_to_string(outside.path().join("file")).unwrap(),
        "old"
    );
}

fn what_is_written_at_home_is_thrown_away() {
    let world = World::new(&[]);
    write_files(
        &world.home(),
        &[(".cache/tool/old", "o"), (".profile", "p")],
    );
    let mut sandbox = world.start();
    assert!(sandbox.facts().has_home);
    let home = world.home();
    let home = home.display();
    let script = format!(
        "cd {home}; cat .cache/tool/old .profile; echo new > .cache/tool/new; rm .profile; ls -A . .cache/tool"
    );
    assert_eq!(
        say(&mut sandbox, &script),
        "op.:\n.cache\n\n.cache/tool:\nnew\nold\n"
    );
    assert!(sandbox.change_set().unwrap().is_empty());
    drop(sandbox);
    assert!(world.home().join(".profile").exists());
    assert!(!world.home().join(".cache/tool/new").exists());
}

fn temporary_directories_are_ones_own() {
    let world = World::new(&[]);
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut sandbox = world.start();
    let path = file.path().display();
    fails(&mut sandbox, &format!("cat {path}"));
    let script =
        "for d in /tmp /var/tmp /run /dev/shm; do echo x > $d/x || echo $d; done; ls -A /run";
    assert_eq!(say(&mut sandbox, script), "x\n");
    // They last as long as the sandbox does.
    assert_eq!(say(&mut sandbox, "cat /tmp/x"), "x\n");
}

fn no_machine_can_be_reached() {
    let world = World::new(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut sandbox = world.start();
    let connect = |address: &str, port: u16| {
        format!(
            "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0); \
             print connect(S, sockaddr_in({port}, inet_aton(q({address})))) ? q(in) : $!'"
        )
    };
    assert_eq!(
        say(&mut sandbox, &connect("127.0.0.1", port)),
        "Connection refused"
    );
    assert_eq!(
        say(&mut sandbox, &connect("192.0.2.1", 80)),
        "Network is unreachable"
    );
    // The loopback is there, for those inside.
    let own = "perl -MSocket -e 'socket(L, PF_INET, SOCK_STREAM, 0); \
        bind(L, sockaddr_in(4242, INADDR_LOOPBACK)) or die; listen(L, 1); \
        socket(S, PF_INET, SOCK_STREAM, 0); \
        print connect(S, sockaddr_in(4242, INADDR_LOOPBACK)) ? q(in) : $!'";
    assert_eq!(say(&mut sandbox, own), "in");
}

fn no_process_outside_can_be_seen_or_signalled() {
    let world = World::new(&[]);
    let mut sandbox = world.start();
    let me = std::process::id();
    fails(&mut sandbox, &format!("kill -0 {me}"));
    // The helper, and the shell with its pipe, as far as it was begun.
    let seen = say(&mut sandbox, "cd /proc; ls -d [0-9]* | wc -l");
    assert!(matches!(seen.trim(), "2" | "3" | "4"), "{seen}");
    // Not even the helper minds what commands want.
    fails(&mut sandbox, "kill -9 1; kill -0 1 && exit 1");
    fails(&mut sandbox, "cat /proc/1/environ");
    fails(&mut sandbox, "ls /proc/1/root/");
    assert_eq!(say(&mut sandbox, "echo still here"), "still here\n");
}

fn no_device_but_harmless_ones() {
    let world = World::new(&[]);
    let mut sandbox = world.start();
    let said = say(
        &mut sandbox,
        "cd /dev; ls; echo gone > null; head -c 3 zero | wc -c; echo out > stdout",
    );
    let devices =
        "fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n";
    assert_eq!(said, format!("{devices}3\nout\n"));
    fails(&mut sandbox, "mknod disk b 8 0");
    fails(&mut sandbox, "mknod whiteout c 0 0");
}

fn no_rights_can_be_gained() {
    let world = World::new(&[("d/f", "f")]);
    let mut sandbox = world.start();
    for script in [
        "unshare -U true",
        "unshare -r true",
        "unshare -m true",
        "mount -t tmpfs none d",
        "mount -o remount,rw /",
        "umount .",
        "chroot . /bin/true",
        "hostname other",
    ] {
        fails(&mut sandbox, script);
    }
    let status = say(
        &mut sandbox,
        "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status",
    );
    let kept = if who::is_root() {
        "00000000000000fb"
    } else {
        "0000000000000000"
    };
    let expected = format!("CapEff:\t{kept}\nCapBnd:\t{kept}\nNoNewPrivs:\t1\nSeccomp:\t2\n");
    assert_eq!(status, expected);
}

fn a_workspace_in_a_hidden_place_is_there() {
    let world = World::new(&[]);
    let workspace = world.home().join(".ssh/project");
    write_files(&workspace, &[("a", "A")]);
    write_files(&world.home(), &[(".ssh/id", "secret")]);
    let mut config = world.config(Backend::Overlay);
    config.workspace = workspace;
    let mut sandbox = Sandbox::start(&config).unwrap();
    let said = say(
        &mut sandbox,
        "cat a; echo b > b; ls; ls -A ..; cat ../id 2>&- || true",
    );
    assert_eq!(said, "Aa\nb\nproject\n");
    sandbox.savepoint("one").unwrap();
    assert_eq!(say(&mut sandbox, "cat b"), "b\n");
    assert_eq!(lines(&sandbox.change_set().unwrap()), ["f b \"b\\n\""]);
}

fn a_copy_guards_too() {
    let world = World::new(&[("d/old", "o"), ("a", "A"), ("same", "S")]);
    let mut sandbox = Sandbox::start(&world.config(Backend::Copy)).unwrap();
    assert_ne!(sandbox.seen_at(), world.workspace());
    let said = say(
        &mut sandbox,
        "rm -r d; mkdir d; printf n > d/new; printf + >> a; cat a same; mkfifo p",
    );
    assert_eq!(said, "A+S");
    let real = world.workspace();
    fails(&mut sandbox, &format!("echo x > {}/a", real.display()));
    fails(&mut sandbox, &format!("rm {}/a", real.display()));
    fails(&mut sandbox, "echo x > /tmp/jukebox-test");
    fails(
        &mut sandbox,
        "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) or exit 1'",
    );
    fails(&mut sandbox, &format!("kill -0 {}", std::process::id()));
    let first = ["f a \"A+\"", "- d/old", "f d/new \"n\"", "! p FIFO"];
    let mut first = first.map(String::from).to_vec();
    first.swap(1, 2);
    assert_eq!(lines(&sandbox.change_set().unwrap()), first);
    sandbox.savepoint("one").unwrap();
    say(&mut sandbox, "rm -r * && echo x > d");
    assert_eq!(
        lines(&sandbox.change_set().unwrap()),
        ["- a", "f d \"x\\n\"", "- same"]
    );
    sandbox.roll_back_to("one").unwrap();
    // A FIFO is nothing that can be saved.
    first.pop();
    assert_eq!(lines(&sandbox.change_set().unwrap()), first);
    assert_eq!(say(&mut sandbox, "cat a same"), "A+S");
    drop(sandbox);
    assert_eq!(fs::read_to_string(real.join("a")).unwrap(), "A");
    assert!(real.join("d/old").exists());
    assert_eq!(
        fs::read_dir(real.join(".jukebox/sandboxes"))
            .unwrap()
            .count(),
        0
    );
}

fn without_a_guard_nothing_is_taken_back() {
    let world = World::new(&[("a", "A")]);
    let mut sandbox = Sandbox::start(&world.config(Backend::Unguarded)).unwrap();
    assert_eq!(say(&mut sandbox, "printf + >> a; cat a"), "A+");
    assert!(sandbox.change_set().is_err());
    assert!(sandbox.savepoint("one").is_err());
    assert_eq!(
        fs::read_to_string(world.workspace().join("a")).unwrap(),
        "A+"
    );
}
