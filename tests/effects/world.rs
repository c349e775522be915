//! A directory with a configuration, a tape, and an outside world that is a file: each command
//! writes a line into it with what it did and under which key.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jukebox::effects::{Answer, Call, Declarations, EffectError, Effects, Log, Scope, When};
use jukebox::model::{Body, EffectRequest, Event, Header, Seq};
use jukebox::tape::{Recorder, RecorderOptions, Tape};
use tempfile::TempDir;

/// The transaction that effects are asked for in.
pub(crate) const TXN: &str = "t1";

/// What the tests declare. Each command says in `outside` what it did; where there is a
/// file `NAME.fails` or `NAME.kills`, it does not, or does and kills who runs it.
pub(crate) const DECLARED: &str = r#"
[effects.look]
class = "read"
command = ["./shell", "act", "look", "{args}"]
[effects.label]
class = "idempotent"
command = ["./shell", "act", "label", "{1}"]
[effects.charge]
class = "compensable"
command = ["./shell", "act", "charge", "{1}"]
compensate = ["./shell", "act", "refund", "{output}"]
[effects.mail]
command = ["./shell", "act", "mail", "{1}"]
[effects.slow]
command = ["sleep", "60"]
timeout = 1
[effects.missing]
command = ["./is-not-there"]
[effects.flood]
class = "read"
command = ["sh", "-c", "head -c 6000000 /dev/zero | tr '\\0' x"]
[effects.binary]
class = "read"
command = ["printf", '\377\0\033[31m']
[effects.words]
class = "pure"
command = ["cat"]
[effects.offline]
class = "read"
command = ["cat", "/proc/net/dev"]
network = false
"#;

/// What a command does: fails if it is told to, writes down what it did, kills who runs it if
/// that is told, and answers with its second word.
const ACT: &str = r#"if [ -e "$1.fails" ]; then echo "no $1 today" >&2; exit 7; fi
echo "$1 $2 $IDEMPOTENCY_KEY" >> outside
if [ -e "$1.kills" ]; then rm "$1.kills"; kill -9 "$PPID"; sleep 60; fi
echo "$2"
"#;

pub(crate) struct World {
    pub(crate) directory: PathBuf,
    _kept: Option<TempDir>,
}

impl World {
    pub(crate) fn new() -> Self {
        let kept = TempDir::new().unwrap();
        let world = Self {
            directory: kept.path().to_owned(),
            _kept: Some(kept),
        };
        fs::write(world.path("jukebox.toml"), DECLARED).unwrap();
        fs::write(world.path("act"), ACT).unwrap();
        // A file that was just written cannot be run while another test's child holds it open.
        std::os::unix::fs::symlink("/bin/sh", world.path("shell")).unwrap();
        world
    }

    /// The world that is there already.
    pub(crate) fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            _kept: None,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Lets a command fail, or kill who runs it.
    pub(crate) fn tell(&self, order: &str) {
        fs::write(self.path(order), "").unwrap();
    }

    pub(crate) fn untell(&self, order: &str) {
        fs::remove_file(self.path(order)).unwrap();
    }

    /// What was done outside: a line each, without the keys.
    pub(crate) fn outside(&self) -> Vec<String> {
        let lines = self.outside_with_keys().into_iter();
        lines
            .map(|line| line.rsplit_once(' ').unwrap().0.to_owned())
            .collect()
    }

    pub(crate) fn outside_with_keys(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("outside")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) fn declarations(&self) -> Declarations {
        Declarations::read(&self.path("jukebox.toml")).unwrap()
    }

    /// A run that begins, with a transaction open.
    pub(crate) fn begin(&self) -> Run {
        let options = RecorderOptions::default();
        let path = self.path("run.jsonl");
        let mut tape = Recorder::create(&path, Header::default(), options).unwrap();
        let mut begin = Event::new(Body::TxnBegin);
        begin.head.txn = Some(TXN.to_owned());
        tape.append(begin).unwrap();
        Run {
            effects: Effects::new(self.declarations()),
            tape,
        }
    }

    /// The run as it goes on after whoever recorded it is gone.
    pub(crate) fn resume(&self) -> Run {
        let options = RecorderOptions::default();
        let tape = Recorder::resume(&self.path("run.jsonl"), options).unwrap();
        Run {
            effects: Effects::resume(self.declarations(), &tape).unwrap(),
            tape,
        }
    }

    /// The tape, read by another.
    pub(crate) fn tape(&self) -> Tape {
        let tape = Tape::open(&self.path("run.jsonl"), &mut ()).unwrap();
        assert_eq!(tape.problems(), []);
        tape
    }
}

/// A run that is recorded.
pub(crate) struct Run {
    pub(crate) effects: Effects,
    pub(crate) tape: Recorder,
}

/// A call of an effect with a key and one argument, in the transaction.
pub(crate) fn call<'a>(name: &'a str, key: &'a str, argument: &str) -> Call<'a> {
    Call {
        name,
        key: Some(key),
        request: EffectRequest {
            arguments: vec![argument.to_owned()],
            body: Arc::default(),
        },
        txn: Some(TXN),
        when: When::AtCommit,
        call: None,
    }
}

/// Effects of the whole transaction.
pub(crate) const WHOLE: Scope<'static> = Scope {
    txn: TXN,
    since: None,
};

impl Run {
    pub(crate) fn call(&mut self, call: &Call<'_>) -> Result<Answer, EffectError> {
        self.effects.call(&mut self.tape, call)
    }

    pub(crate) fn make(&mut self, name: &str, key: &str, argument: &str) -> Answer {
        self.call(&call(name, key, argument)).unwrap()
    }

    /// What became of each effect, in a word each. What the tape alone says is the same.
    pub(crate) fn states(&self) -> Vec<&'static str> {
        states_of(&self.effects)
    }

    pub(crate) fn end_transaction(&mut self, body: Body) -> Seq {
        let mut end = Event::new(body);
        end.head.txn = Some(TXN.to_owned());
        Log::promise(&mut self.tape, end).unwrap()
    }
}

pub(crate) fn states_of(effects: &Effects) -> Vec<&'static str> {
    let entries = effects.ledger().entries().iter();
    entries.map(|entry| entry.state().as_str()).collect()
}
