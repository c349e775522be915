//! The recorder of one session: takes what hooks hand it until the session is over.
//!
//! One thread owns the tape; each hook has a thread that reads what it says, so that one that
//! says nothing keeps nobody waiting.
//!
//! While the disk of the tape is full, nobody is answered: hooks spool what they have to say, and
//! the next one that comes when there is room again has it taken in. What they could not spool
//! either is lost, and the tape says how much that was.

use std::collections::HashSet;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::delivery::DONE;
use super::door::Claim;
use super::run::{HookRun, Taken};
use super::{Delivery, Door, HookPlaces, Spool};
use crate::model::Outcome;
use crate::tape::{OnFailure, RecordError, RecorderOptions, Redacting};

/// The longest record.
const LONGEST: u64 = 256 << 20;
/// So long a hook may take to say what it has to.
const PATIENCE: Duration = Duration::from_secs(10);
/// So long after nobody could be heard.
const PAUSE: Duration = Duration::from_millis(20);
/// So long after a record the transcript is read once more.
const SETTLES: Duration = Duration::from_millis(500);

/// Why a recorder ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// There is another one for the session, or no place to meet.
    NotNeeded,
    /// The session is over.
    Over,
    /// Nothing was heard for too long. The next record goes on with the tape.
    Idle,
    /// Somebody stopped it. The next record goes on with the tape.
    Stopped,
}

/// What the recorder hears.
enum Heard {
    Record(Box<Delivery>, UnixStream),
    Stop,
}

/// Where a recorder hears from hooks, and from whoever stops it.
#[derive(Debug)]
pub struct Inbox {
    sender: Sender<Heard>,
    receiver: Receiver<Heard>,
}

/// Stops a recorder.
#[derive(Clone, Debug)]
pub struct Stop(Sender<Heard>);

impl std::fmt::Debug for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Record(delivery, _) => f.debug_tuple("Record").field(&delivery.id).finish(),
            Self::Stop => f.write_str("Stop"),
        }
    }
}

impl Default for Inbox {
    fn default() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }
}

impl Inbox {
    /// What stops the recorder.
    pub fn stop(&self) -> Stop {
        Stop(self.sender.clone())
    }
}

impl Stop {
    /// Ends the tape, and then the recorder.
    pub fn stop(&self) {
        let _is_over = self.0.send(Heard::Stop);
    }
}

/// Records a session until it is over, or nothing is heard for `idle`, without what is to be
/// taken out. `note` is told of the
/// tape when it begins, when the agent has said its word, and at the end.
pub fn serve(
    places: &HookPlaces,
    session: &str,
    redacting: Option<Redacting>,
    idle: Duration,
    inbox: Inbox,
    note: &mut dyn FnMut(&Path),
) -> Result<Finished, RecordError> {
    let Some(door) = Door::of(places, session) else {
        return Ok(Finished::NotNeeded);
    };
    let Some(claim) = door.claim().map_err(RecordError::Write)? else {
        return Ok(Finished::NotNeeded);
    };
    let listener = claim.listener.try_clone().map_err(RecordError::Write)?;
    let listens = thread::Builder::new().name("door".into());
    let sender = inbox.sender.clone();
    listens
        .spawn(move || listen(&listener, &sender))
        .map_err(RecordError::Write)?;
    let mut recorder = Recorder {
        places,
        options: RecorderOptions {
            // What cannot be written is not lost: it is spooled.
            on_failure: OnFailure::Stop,
            redacting,
            ..RecorderOptions::default()
        },
        door,
        claim,
        spool: Spool::of(places, session),
        run: None,
        unanswered: HashSet::new(),
        note,
    };
    let ended = recorder
        .take_spooled(None)
        .and_then(|()| recorder.hear(&inbox.receiver, idle));
    recorder.claim.close_door();
    ended
}

/// Hears from hooks, each in a thread of its own.
fn listen(listener: &UnixListener, sender: &Sender<Heard>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // There are no files left to be opened, say: that may be over soon.
            thread::sleep(PAUSE);
            continue;
        };
        let sender = sender.clone();
        let reader = thread::Builder::new().name("hook".into());
        let _not_heard = reader.spawn(move || {
            if let Ok(Some(delivery)) = read(&stream) {
                let _is_over = sender.send(Heard::Record(Box::new(delivery), stream));
            }
        });
    }
}

fn read(stream: &UnixStream) -> io::Result<Option<Delivery>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = Vec::new();
    BufReader::new(stream.take(LONGEST)).read_until(b'\n', &mut line)?;
    Ok(Delivery::read(&line))
}

struct Recorder<'a> {
    places: &'a HookPlaces,
    options: RecorderOptions,
    door: Door,
    claim: Claim,
    spool: Spool,
    run: Option<HookRun>,
    /// Records that could not be written, by their ids.
    unanswered: HashSet<String>,
    note: &'a mut dyn FnMut(&Path),
}

impl Recorder<'_> {
    fn hear(&mut self, heard: &Receiver<Heard>, idle: Duration) -> Result<Finished, RecordError> {
        // When the transcript is to be read once more, and when it is too long ago.
        let mut settles = None;
        let mut ends = Instant::now() + idle;
        loop {
            let next = settles.unwrap_or(ends);
            match heard.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Heard::Record(delivery, stream)) => {
                    let taken = self.take_if_there_is_room(&delivery)?;
                    if taken == Taken::Last {
                        self.claim.close_door();
                        self.take_rest(heard)?;
                        self.end(Outcome::Ok)?;
                    }
                    if taken != Taken::Lost {
                        answer(stream);
                    }
                    if taken == Taken::Last {
                        return Ok(Finished::Over);
                    }
                    if matches!(delivery.event(), "Stop" | "UserPromptSubmit") {
                        self.tell();
                    }
                    settles = Some(Instant::now() + SETTLES);
                    ends = Instant::now() + idle;
                }
                Ok(Heard::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.claim.close_door();
                    self.end(Outcome::Interrupted)?;
                    return Ok(Finished::Stopped);
                }
                Err(RecvTimeoutError::Timeout) if settles.is_some() => {
                    let settled = self.run.as_mut().map_or(Ok(false), HookRun::settle);
                    let has_more = self.unless_full(settled, false)?;
                    settles = has_more.then(|| Instant::now() + SETTLES);
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.claim.close_door();
                    self.take_rest(heard)?;
                    self.end(Outcome::None)?;
                    return Ok(Finished::Idle);
                }
            }
        }
    }

    /// Takes a record, or leaves it to its hook.
    fn take_if_there_is_room(&mut self, delivery: &Delivery) -> Result<Taken, RecordError> {
        let taken = self.take(delivery);
        let taken = self.unless_full(taken, Taken::Lost)?;
        if taken == Taken::Lost {
            self.unanswered.insert(delivery.id.clone());
        }
        Ok(taken)
    }

    /// What came of it; or this, where the tape cannot be written for now. Then the tape is left
    /// as after a kill, and the next record goes on with it.
    fn unless_full<T>(&mut self, done: Result<T, RecordError>, full: T) -> Result<T, RecordError> {
        match done {
            Err(error) if is_full(&error) => {
                self.run = None;
                Ok(full)
            }
            done => done,
        }
    }

    /// Takes a record, after those that were spooled.
    fn take(&mut self, delivery: &Delivery) -> Result<Taken, RecordError> {
        self.take_spooled(Some(delivery))?;
        match &mut self.run {
            Some(run) => run.take(delivery),
            None => Ok(Taken::Lost),
        }
    }

    /// Takes what was spooled. The run begins, if it has not, with that or with `first`.
    fn take_spooled(&mut self, first: Option<&Delivery>) -> Result<(), RecordError> {
        let (door, run) = (&self.door, &mut self.run);
        let how = (self.places, &self.options);
        let is_new = run.is_none();
        let unanswered = &mut self.unanswered;
        self.spool.take(|late| {
            // Whoever was not answered has spooled it, or comes again; else it is gone.
            let spooled: HashSet<&str> = late.iter().chain(first).map(|it| &*it.id).collect();
            let lost = unanswered
                .iter()
                .filter(|id| !spooled.contains(id.as_str()));
            let lost = lost.count();
            if let Some(run) = run {
                return late.iter().try_for_each(|late| run.take(late).map(|_| ()));
            }
            *run = HookRun::begin(how, door.clone(), late, first)?;
            if let Some(run) = run.as_mut().filter(|_| lost > 0) {
                run.tell_lost(lost)?;
            }
            unanswered.clear();
            Ok(())
        })?;
        if is_new {
            self.tell();
        }
        Ok(())
    }

    /// Takes what was handed over before the door was closed.
    fn take_rest(&mut self, heard: &Receiver<Heard>) -> Result<(), RecordError> {
        while let Ok(Heard::Record(delivery, stream)) = heard.try_recv() {
            if self.take_if_there_is_room(&delivery)? != Taken::Lost {
                answer(stream);
            }
        }
        Ok(())
    }

    fn end(&mut self, outcome: Outcome) -> Result<(), RecordError> {
        let Some(run) = self.run.take() else {
            return Ok(());
        };
        let tape = run.tape().to_owned();
        run.close(outcome)?;
        (self.note)(&tape);
        Ok(())
    }

    fn tell(&mut self) {
        if let Some(run) = &self.run {
            (self.note)(run.tape());
        }
    }
}

/// Whether it is for want of room that the tape cannot be written.
fn is_full(error: &RecordError) -> bool {
    match error {
        RecordError::Write(source) | RecordError::Open { source, .. } => matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        ),
        // It was noticed when nobody looked.
        RecordError::Stopped(_) => true,
        _ => false,
    }
}

/// Says that a record is on the tape. Nobody may wait for it any more.
fn answer(mut stream: UnixStream) {
    let _nobody_waits = stream.write_all(DONE);
}
