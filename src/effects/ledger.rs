//! The ledger: every effect on a tape and what became of it, from its events alone.
//!
//! It remembers when each thing happened, so it answers for any place on the tape. Reads
//! nothing, runs nothing, and takes what other writers wrote as it is.

use std::collections::HashMap;
use std::fmt;

use crate::model::{
    BlobHash, EffectClass, EffectEvent, EffectIntent, EffectRequest, Event, Kind, Outcome, Seq,
};
use crate::tape::{Tape, effect_of};

/// Every effect of a tape, in the order in which they were asked for.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: Vec<Entry>,
    /// The latest entry of each key.
    keys: HashMap<String, usize>,
    /// By their own keys, compensations that were begun and have no result.
    compensations: HashMap<String, usize>,
}

/// An effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its number on the tape, from 1.
    pub number: u32,
    /// What the other side knows it by.
    pub key: String,
    /// Under which name it was declared.
    pub name: String,
    /// What it was asked with: its arguments, as far as a line holds them.
    pub arguments: String,
    /// What was declared of it.
    pub class: EffectClass,
    /// The transaction it was asked for in.
    pub txn: Option<String>,
    /// The hash of what was asked.
    pub(super) request: BlobHash,
    history: Vec<(Seq, Happening)>,
}

/// What happens to an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happening {
    Waits,
    Begins,
    Ends(Outcome),
    CompensationBegins,
    CompensationEnds(Outcome),
}

/// What became of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EffectState {
    /// It is made when its transaction commits.
    Waiting,
    /// It was begun, and nothing says whether it was done: it is under way, or was cut off.
    InDoubt,
    /// It is done.
    Done,
    /// It is not done.
    Failed,
    /// It was decided not to make it.
    Refused,
    /// It was done and taken back.
    Compensated,
    /// It was done; taking it back did not work.
    CompensationFailed,
    /// It was done; taking it back was begun, and nothing says whether that was done.
    CompensationInDoubt,
}

/// What a rollback does about an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// There is nothing to take back.
    Nothing,
    /// It waits, and is never made.
    NotSent,
    /// Its compensation is run.
    Compensated,
    /// It cannot be taken back.
    Remains,
    /// Nobody knows whether it was made: a person is asked.
    Asked,
}

impl Ledger {
    /// The ledger of a whole tape. Costs a read of each effect event.
    pub fn of(tape: &Tape) -> Self {
        let mut ledger = Self::default();
        ledger.extend(tape, 0);
        ledger
    }

    /// Takes in the events of a tape from this position on. One that cannot be read is as good
    /// as absent: what it was about is then in doubt, or not there.
    pub fn extend(&mut self, tape: &Tape, from: u32) {
        let events = &tape.index.events;
        for position in from..events.len() {
            let is_effect = matches!(
                events.kind(position),
                Some(Kind::EffectIntent | Kind::EffectResult | Kind::EffectCompensate)
            );
            if is_effect && let Ok(event) = tape.event(position) {
                self.take(events.seq(position), &event);
            }
        }
    }

    /// Takes in the next event; one of another kind changes nothing.
    pub fn take(&mut self, seq: Seq, event: &Event) {
        match effect_of(event) {
            Some(EffectEvent::Intent(intent)) => self.take_intent(seq, event, intent),
            Some(EffectEvent::Compensate(compensation)) => {
                if let Some(index) = self.keys.get(&compensation.of).copied() {
                    self.compensations.insert(compensation.key, index);
                    self.add(index, seq, Happening::CompensationBegins);
                }
            }
            Some(EffectEvent::Result(result)) => {
                if let Some(index) = self.compensations.remove(&result.key) {
                    self.add(index, seq, Happening::CompensationEnds(result.outcome));
                } else if let Some(index) = self.keys.get(&result.key).copied() {
                    self.add(index, seq, Happening::Ends(result.outcome));
                }
            }
            None => {}
        }
    }

    fn take_intent(&mut self, seq: Seq, event: &Event, intent: EffectIntent) {
        let request = hash_of(&intent.name, &intent.request);
        let happening = if intent.waits {
            Happening::Waits
        } else {
            Happening::Begins
        };
        let before = self.keys.get(&intent.key).copied();
        let again = before.filter(|index| {
            let entry = self.entries.get(*index);
            entry.is_some_and(|entry| entry.is_again(&request))
        });
        let index = again.unwrap_or_else(|| {
            self.entries.push(Entry {
                number: self.entries.len() as u32 + 1,
                key: intent.key.clone(),
                name: intent.name,
                arguments: arguments_line(&intent.request),
                class: intent.class,
                txn: event.head.txn.clone(),
                request,
                history: Vec::new(),
            });
            self.entries.len() - 1
        });
        self.keys.insert(intent.key, index);
        self.add(index, seq, happening);
    }

    fn add(&mut self, index: usize, seq: Seq, happening: Happening) {
        if let Some(entry) = self.entries.get_mut(index) {
            entry.history.push((seq, happening));
        }
    }

    /// Every effect, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Those that were asked for before this event.
    pub fn before(&self, seq: Seq) -> &[Entry] {
        let count = self.entries.partition_point(|entry| entry.asked() < seq);
        self.entries.get(..count).unwrap_or_default()
    }

    /// The effect of a number.
    pub fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.get((number as usize).checked_sub(1)?)
    }

    /// The latest effect of a key.
    pub fn of_key(&self, key: &str) -> Option<&Entry> {
        self.entries.get(*self.keys.get(key)?)
    }
}

impl Entry {
    /// The event in which it was asked for.
    pub fn asked(&self) -> Seq {
        self.history.first().map_or(Seq(0), |(seq, _)| *seq)
    }

    /// The event of its latest result, if there is one.
    pub(super) fn answered(&self) -> Option<Seq> {
        let mut back = self.history.iter().rev();
        back.find_map(|(seq, happening)| matches!(happening, Happening::Ends(_)).then_some(*seq))
    }

    /// Whether it waited, or waits, for a commit.
    pub fn is_of_outbox(&self) -> bool {
        self.history.contains(&(self.asked(), Happening::Waits))
    }

    /// How often it, or its compensation, was begun.
    pub(super) fn tries(&self) -> usize {
        let is_try = |happening: &Happening| {
            matches!(happening, Happening::Begins | Happening::CompensationBegins)
        };
        let happenings = self.history.iter().map(|(_, happening)| happening);
        happenings.filter(|happening| is_try(happening)).count()
    }

    /// What became of it.
    pub fn state(&self) -> EffectState {
        self.state_before(Seq(u64::MAX))
    }

    /// What had become of it before this event.
    pub fn state_before(&self, seq: Seq) -> EffectState {
        let mut state = EffectState::InDoubt;
        for (_, happening) in self.history.iter().take_while(|(at, _)| *at < seq) {
            state = happening.leads_to();
        }
        state
    }

    /// What a rollback would do about it before this event.
    pub fn fate_before(&self, seq: Seq) -> Fate {
        match self.state_before(seq) {
            EffectState::Waiting => Fate::NotSent,
            EffectState::Failed | EffectState::Refused | EffectState::Compensated => Fate::Nothing,
            _ if !self.class.changes_something() => Fate::Nothing,
            EffectState::InDoubt => Fate::Asked,
            EffectState::Done
            | EffectState::CompensationFailed
            | EffectState::CompensationInDoubt => match self.class {
                EffectClass::Compensable => Fate::Compensated,
                _ => Fate::Remains,
            },
        }
    }

    /// Whether a further intent with its key and this request is a further try of it.
    fn is_again(&self, request: &BlobHash) -> bool {
        self.request == *request && self.state() != EffectState::Refused
    }
}

impl Happening {
    const fn leads_to(self) -> EffectState {
        match self {
            Self::Waits => EffectState::Waiting,
            Self::Begins | Self::Ends(Outcome::Interrupted | Outcome::Pending) => {
                EffectState::InDoubt
            }
            Self::Ends(Outcome::Ok | Outcome::None) => EffectState::Done,
            Self::Ends(Outcome::Failed) => EffectState::Failed,
            Self::Ends(Outcome::Refused) => EffectState::Refused,
            Self::CompensationBegins
            | Self::CompensationEnds(Outcome::Interrupted | Outcome::Pending) => {
                EffectState::CompensationInDoubt
            }
            Self::CompensationEnds(Outcome::Ok | Outcome::None) => EffectState::Compensated,
            Self::CompensationEnds(Outcome::Failed | Outcome::Refused) => {
                EffectState::CompensationFailed
            }
        }
    }
}

impl EffectState {
    /// A word for it, in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::InDoubt => "in-doubt",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Compensated => "compensated",
            Self::CompensationFailed => "compensation-failed",
            Self::CompensationInDoubt => "compensation-in-doubt",
        }
    }

    /// A sign for it; a space where it is done.
    pub const fn sign(self) -> char {
        match self {
            Self::Waiting => '…',
            Self::InDoubt | Self::CompensationInDoubt => '?',
            Self::Done => ' ',
            Self::Failed | Self::CompensationFailed => '✗',
            Self::Refused => '⊘',
            Self::Compensated => '↶',
        }
    }

    /// What it says, in words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Waiting => "waits for the commit",
            Self::InDoubt => "in doubt: no result",
            Self::Done => "done",
            Self::Failed => "failed: not done",
            Self::Refused => "not sent",
            Self::Compensated => "done, and taken back",
            Self::CompensationFailed => "done; taking it back failed",
            Self::CompensationInDoubt => "done; taking it back is in doubt",
        }
    }
}

impl Fate {
    /// A word for it, in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::NotSent => "not-sent",
            Self::Compensated => "compensated",
            Self::Remains => "remains",
            Self::Asked => "asked",
        }
    }

    /// What a rollback does about it: the words after *a rollback*.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Nothing => "has nothing to do",
            Self::NotSent => "drops it",
            Self::Compensated => "takes it back",
            Self::Remains | Self::Asked => "leaves it",
        }
    }
}

impl fmt::Display for EffectState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The arguments of a request in one line of a bounded length.
fn arguments_line(request: &EffectRequest) -> String {
    const MOST: usize = 80;
    let line = request.arguments.join(" ");
    match line.chars().nth(MOST) {
        None => line,
        Some(_) => line.chars().take(MOST - 1).chain(['…']).collect(),
    }
}

/// The hash of a request: equal for equal ones, and for no others.
pub(super) fn hash_of(name: &str, request: &EffectRequest) -> BlobHash {
    let mut hasher = blake3::Hasher::new();
    let arguments = request.arguments.iter().map(String::as_bytes);
    let parts = std::iter::once(name.as_bytes()).chain(arguments);
    for part in parts.chain([&*request.body]) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    BlobHash::from_digest(*hasher.finalize().as_bytes())
}
