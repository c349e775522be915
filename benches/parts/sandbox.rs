//! What a sandbox costs beside running the command without one, what a call costs where much was
//! changed before it, and what a commit costs beside writing as many files.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command as Plain;

use jukebox::sandbox::{Backend, Command, Config, Policy, Sandbox};
use jukebox::transaction::{Begin, Isolation, Transaction};

use crate::Result;
use crate::beside::{cases, clock};
use crate::spread::Spread;

const ROUNDS: usize = 20;

pub(crate) fn run() -> Result {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let workspace = place.path().join("workspace");
    fs::create_dir(&workspace)?;
    let config = config(&workspace);
    let plain = times(|_| {
        Plain::new("/bin/true").status()?;
        Ok(())
    })?;
    let start = times(|_| {
        // It ends when it is dropped, at once.
        let _ended = Sandbox::start(&config)?;
        Ok(())
    })?;
    cases("a sandbox", "start to end", &start, "plain spawn", &plain);
    let mut sandbox = Sandbox::start(&config)?;
    let call = times(|_| {
        sandbox.exec(&Command::new(["/bin/true"]), &mut |_| {
            ControlFlow::Continue(())
        })?;
        Ok(())
    })?;
    cases("a sandbox", "a further call", &call, "plain spawn", &plain);
    drop(sandbox);
    growing(place.path())?;
    for files in [20, 1000] {
        commits(place.path(), files)?;
    }
    Ok(())
}

/// A call that changes one file where earlier ones changed many.
fn growing(place: &Path) -> Result {
    const MANY: &str = "for d in $(seq 100); do mkdir d$d; \
        for f in $(seq 200); do echo $f > d$d/$f; done; done";
    let mut calls = Vec::new();
    for (name, before) in [("few", "mkdir d50"), ("many", MANY)] {
        let workspace = place.join(name);
        fs::create_dir(&workspace)?;
        let mut transaction = begin(&workspace, place, name)?;
        transaction.exec(&shell(before), &mut |_| ControlFlow::Continue(()))?;
        calls.push(times(|round| {
            let one = shell(&format!("echo {round} > d50/7"));
            transaction.exec(&one, &mut |_| ControlFlow::Continue(()))?;
            Ok(())
        })?);
    }
    if let [few, many] = calls.as_slice() {
        cases(
            "a call, 20,000 changed before",
            "it",
            many,
            "one of a few",
            few,
        );
    }
    Ok(())
}

fn shell(script: &str) -> Command {
    let mut command = Command::new(["/bin/sh", "-c", script]);
    command.environment = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    command
}

fn begin(workspace: &Path, place: &Path, name: &str) -> Result<Transaction> {
    Ok(Transaction::begin(&Begin {
        id: name.to_owned(),
        sandbox: config(workspace),
        isolation: Isolation::Writes,
        tape: place.join(format!("{name}.jsonl")),
        surroundings: jukebox::effects::Surroundings::default(),
        prompt: None,
        covers: serde_json::Map::new(),
        redacting: None,
        fork: None,
    })?)
}

/// Commits of so many new files of a kilobyte.
fn commits(place: &Path, files: usize) -> Result {
    let workspace = place.join(format!("of-{files}"));
    let script = format!(
        "i=0; while [ $i -lt {files} ]; do head -c 1024 /dev/zero > $ROUND-$i; i=$((i+1)); done"
    );
    fs::create_dir(&workspace)?;
    let mut committed = Spread::default();
    for round in 0..ROUNDS {
        let mut transaction = begin(&workspace, place, &format!("{files}-{round}"))?;
        let mut command = shell(&script);
        command
            .environment
            .push(("ROUND".into(), round.to_string().into()));
        transaction.exec(&command, &mut |_| ControlFlow::Continue(()))?;
        let mut done = Ok(());
        committed
            .0
            .push(clock(|| done = transaction.commit().map(|_| ())));
        done?;
    }
    let written = times(|round| {
        for file in 0..files {
            fs::write(workspace.join(format!("plain-{round}-{file}")), [0; 1024])?;
        }
        Ok(rustix::fs::syncfs(fs::File::open(&workspace)?)?)
    })?;
    let what = format!("{files} new files");
    cases(
        &what,
        "a commit",
        &committed,
        "write and one sync",
        &written,
    );
    Ok(())
}

fn config(workspace: &Path) -> Config {
    Config {
        workspace: workspace.to_owned(),
        seen_at: None,
        helper: PathBuf::from(env!("CARGO_BIN_EXE_jukebox")),
        backend: Backend::Overlay,
        layers: None,
        policy: Policy::for_home(None),
    }
}

fn times(mut what: impl FnMut(usize) -> Result) -> Result<Spread> {
    let mut spread = Spread::default();
    for round in 0..ROUNDS {
        let mut done = Ok(());
        spread.0.push(clock(|| done = what(round)));
        done?;
    }
    Ok(spread)
}
