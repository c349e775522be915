//! Makes an effect, once: intent, command, result; or answers from the record.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::attempt::{Step, begin_and_end, how_it_failed, network_of};
use super::command::Invocation;
use super::declarations::Declaration;
use super::ledger::{Entry, hash_of};
use super::template::Filling;
use super::{EffectError, EffectState, Effects, Log};
use crate::model::{
    EffectClass, EffectCompensation, EffectEvent, EffectIntent, EffectRequest, EffectResult,
    Outcome,
};
use crate::tape::effect_event;
use crate::text::SafeText;

/// Bytes that a request may have.
pub const MAX_REQUEST: usize = 16 << 20;
/// Bytes that a key may have.
const MAX_KEY: usize = 200;
/// What the key of a compensation ends in, behind the key of the effect.
pub(super) const COMPENSATION: &str = "-undo";

/// An effect that is asked for.
#[derive(Clone, Debug, Default)]
pub struct Call<'a> {
    /// The name it was declared under.
    pub name: &'a str,
    /// Its key; without one, a new one.
    pub key: Option<&'a str>,
    /// What it is asked with.
    pub request: EffectRequest,
    /// The transaction it is asked for in.
    pub txn: Option<&'a str>,
    /// Whether an irreversible one waits for the commit of its transaction.
    pub when: When,
    /// The tool call that it belongs to; without one, it is a step of its own.
    pub call: Option<&'a str>,
}

/// When an irreversible effect is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// When its transaction commits; where there is none, now.
    #[default]
    AtCommit,
    /// Now: its answer is needed. A rollback leaves it.
    Now,
}

/// What an effect came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The effect's number on the tape.
    pub number: u32,
    /// Its key.
    pub key: String,
    /// Where the answer comes from.
    pub source: Source,
    /// Whether it is done. Interrupted: nobody knows. Pending: it waits.
    pub outcome: Outcome,
    /// The exit code of its command.
    pub exit: Option<i32>,
    /// What it answered. Bytes travel by themselves.
    #[serde(skip)]
    pub output: Arc<[u8]>,
    /// Bytes of the answer that were not kept.
    pub omitted: u64,
    /// What its command complained of.
    pub complaint: String,
    /// How this is known, where no command said so.
    pub remark: Option<String>,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// It was made now.
    Made,
    /// It was made before.
    Record,
    /// It is not made yet: it waits for the commit.
    Outbox,
}

impl Effects {
    /// Makes an effect, or lets it wait, or answers from the record.
    pub fn call(&mut self, tape: &mut dyn Log, call: &Call<'_>) -> Result<Answer, EffectError> {
        let declaration = self.declaration(call.name)?;
        check(call, &declaration)?;
        let known = call.key.and_then(|key| self.books.ledger.of_key(key));
        // After a refusal a key is free.
        let known = known.filter(|entry| entry.state() != EffectState::Refused);
        if let Some(entry) = known {
            let entry = entry.clone();
            return self.call_again(tape, call, &declaration, &entry);
        }
        let key = match call.key {
            Some(key) => key.to_owned(),
            None => uuid::Uuid::now_v7().to_string(),
        };
        let intent = EffectIntent {
            name: call.name.to_owned(),
            key,
            class: declaration.class,
            request: call.request.clone(),
            waits: declaration.class == EffectClass::Irreversible
                && call.txn.is_some()
                && call.when == When::AtCommit,
            configuration: self.declarations.hash(),
        };
        let number = self.books.ledger.entries().len() as u32 + 1;
        let title = if intent.waits {
            format!("effect {number}, waits for the commit")
        } else {
            format!("effect {number}, {}", intent.class)
        };
        let step = Step {
            call: call.call,
            txn: call.txn,
            title: &title,
        };
        self.try_intent(tape, number, intent, &declaration, &step)
    }

    /// A call whose key is known already.
    fn call_again(
        &mut self,
        tape: &mut dyn Log,
        call: &Call<'_>,
        declaration: &Declaration,
        entry: &Entry,
    ) -> Result<Answer, EffectError> {
        let (number, key) = (entry.number, SafeText::line(&entry.key));
        if entry.request != hash_of(call.name, &call.request) {
            return Err(EffectError::KeyReused { key, number });
        }
        match entry.state() {
            // To send it now would be out of order.
            EffectState::Waiting if call.when == When::Now => {
                Err(EffectError::Waits { key, number })
            }
            EffectState::Waiting => Ok(Answer::waiting(number, entry.key.clone())),
            EffectState::InDoubt if entry.class.is_repeatable() => {
                let intent = EffectIntent {
                    name: call.name.to_owned(),
                    key: entry.key.clone(),
                    class: entry.class,
                    request: call.request.clone(),
                    waits: false,
                    configuration: self.declarations.hash(),
                };
                let step = Step {
                    call: call.call,
                    txn: call.txn,
                    title: &format!("effect {number}, again: it was in doubt"),
                };
                self.try_intent(tape, number, intent, declaration, &step)
            }
            EffectState::InDoubt => Err(in_doubt(entry)),
            EffectState::Done | EffectState::Failed | EffectState::Refused => {
                self.recorded_answer(tape, entry)
            }
            EffectState::Compensated
            | EffectState::CompensationFailed
            | EffectState::CompensationInDoubt => Err(EffectError::TakenBack { key, number }),
        }
    }

    /// Makes an effect of the ledger once more, as it was asked for.
    pub(super) fn make_again(
        &mut self,
        tape: &mut dyn Log,
        entry: &Entry,
        title: &str,
    ) -> Result<Answer, EffectError> {
        let declaration = self.declaration(&entry.name)?;
        let intent = match self.books.recall(tape, entry.number, entry.asked())? {
            EffectEvent::Intent(intent) => EffectIntent {
                waits: false,
                configuration: self.declarations.hash(),
                ..intent
            },
            _ => return Err(EffectError::unreadable(entry.number)),
        };
        let step = Step {
            title,
            ..Step::default()
        };
        self.try_intent(tape, entry.number, intent, &declaration, &step)
    }

    /// Whether only placeholders are left of what was asked, so that nothing is made from it.
    pub(super) fn has_lost_request(&self, tape: &dyn Log, entry: &Entry) -> bool {
        let asked = self.books.recall(tape, entry.number, entry.asked());
        matches!(asked, Err(EffectError::Redacted(_)))
    }

    /// The same of what was answered.
    pub(super) fn has_lost_answer(&self, tape: &dyn Log, entry: &Entry) -> bool {
        let answered = entry.answered();
        let answer = answered.map(|seq| self.books.recall(tape, entry.number, seq));
        matches!(answer, Some(Err(EffectError::Redacted(_))))
    }

    /// Takes an effect back that is done; what came of that.
    pub(super) fn compensate(
        &mut self,
        tape: &mut dyn Log,
        entry: &Entry,
    ) -> Result<Result<(), String>, EffectError> {
        let number = entry.number;
        let declaration = match self.declaration(&entry.name) {
            Ok(declaration) => declaration,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let Some(template) = &declaration.compensate else {
            return Ok(Err(format!("{} says no compensation", declaration.class)));
        };
        let asked = match self.books.recall(tape, number, entry.asked())? {
            EffectEvent::Intent(intent) => intent.request,
            _ => return Err(EffectError::unreadable(number)),
        };
        let answer = match entry.answered() {
            Some(seq) => match self.books.recall(tape, number, seq)? {
                EffectEvent::Result(result) => result,
                _ => return Err(EffectError::unreadable(number)),
            },
            None => EffectResult::default(),
        };
        // What takes back the thing of no name may take back all of them.
        let is_known = !answer.output.trim_ascii().is_empty() && answer.omitted == 0;
        if template.needs_output() && !is_known {
            let reason = "its compensation needs what it answered, which is not known";
            return Ok(Err(reason.to_owned()));
        }
        let key = format!("{}{COMPENSATION}", entry.key);
        let words = template.fill(&Filling {
            key: &key,
            effect_key: &entry.key,
            arguments: &asked.arguments,
            output: &String::from_utf8_lossy(&answer.output),
        });
        let words = match words {
            Ok(words) => words,
            Err(reason) => return Ok(Err(reason)),
        };
        if let Err(error) = network_of(&declaration, self.environment.as_deref()) {
            return Ok(Err(error.to_string()));
        }
        let event = EffectEvent::Compensate(EffectCompensation {
            name: entry.name.clone(),
            key: key.clone(),
            of: entry.key.clone(),
            configuration: self.declarations.hash(),
        });
        let title = format!("takes effect {number} back");
        let step = Step {
            title: &title,
            ..Step::default()
        };
        let invocation = Invocation {
            words: &words,
            input: answer.output,
            key: &key,
            environment: self.environment.as_deref(),
            directory: self.declarations.directory(),
            timeout: declaration.timeout,
            network: declaration.network,
            in_doubt: &declaration.in_doubt,
        };
        let result = begin_and_end(&mut self.books, tape, number, event, &invocation, &step)?;
        Ok(match result.outcome {
            Outcome::Ok => Ok(()),
            _ => Err(how_it_failed(&result)),
        })
    }

    fn recorded_answer(&self, tape: &dyn Log, entry: &Entry) -> Result<Answer, EffectError> {
        let number = entry.number;
        let seq = entry.answered();
        let seq = seq.ok_or_else(|| EffectError::unreadable(number))?;
        match self.books.recall(tape, number, seq)? {
            EffectEvent::Result(result) => Ok(Answer::of(number, result, Source::Record)),
            _ => Err(EffectError::unreadable(number)),
        }
    }

    fn declaration(&self, name: &str) -> Result<Declaration, EffectError> {
        let declaration = self.declarations.get(name);
        declaration.cloned().ok_or_else(|| EffectError::Undeclared {
            name: SafeText::line(name),
            file: self.declarations.file().to_owned(),
        })
    }

    fn try_intent(
        &mut self,
        tape: &mut dyn Log,
        number: u32,
        intent: EffectIntent,
        declaration: &Declaration,
        step: &Step<'_>,
    ) -> Result<Answer, EffectError> {
        if intent.waits {
            let answer = Answer::waiting(number, intent.key.clone());
            let id = step.open(tape, number, 0, &intent.name, &intent.request.arguments)?;
            let event = step.of(effect_event(&EffectEvent::Intent(intent)), &id);
            let recorded = self.books.promise(tape, event);
            recorded.map_err(EffectError::Intent)?;
            step.close(tape, &id, Outcome::Ok, None, "waits for the commit");
            return Ok(answer);
        }
        network_of(declaration, self.environment.as_deref())?;
        let key = intent.key.clone();
        let words = declaration.command.fill(&Filling {
            key: &key,
            arguments: &intent.request.arguments,
            ..Filling::default()
        });
        let words = words.map_err(|reason| arguments_error(&intent.name, reason))?;
        let invocation = Invocation {
            words: &words,
            input: Arc::clone(&intent.request.body),
            key: &key,
            environment: self.environment.as_deref(),
            directory: self.declarations.directory(),
            timeout: declaration.timeout,
            network: declaration.network,
            in_doubt: &declaration.in_doubt,
        };
        let event = EffectEvent::Intent(intent);
        let result = begin_and_end(&mut self.books, tape, number, event, &invocation, step)?;
        Ok(Answer::of(number, result, Source::Made))
    }
}

/// Refuses what could not be made, before anything is recorded.
fn check(call: &Call<'_>, declaration: &Declaration) -> Result<(), EffectError> {
    if call.request.body.len() > MAX_REQUEST {
        return Err(EffectError::TooLarge { most: MAX_REQUEST });
    }
    // The key goes into a header: nothing in it may end one.
    let is_key = |key: &str| {
        (1..=MAX_KEY).contains(&key.len())
            && key.bytes().all(|byte| byte.is_ascii_graphic())
            && !key.ends_with(COMPENSATION)
    };
    if call.key.is_some_and(|key| !is_key(key)) {
        return Err(EffectError::Key);
    }
    let arguments = &call.request.arguments;
    let has_nul = arguments.iter().any(|argument| argument.contains('\0'));
    let fits = if has_nul {
        Err("an argument holds no NUL".to_owned())
    } else {
        declaration.command.check(arguments)
    };
    let filled = fits.and_then(|()| {
        declaration.command.fill(&Filling {
            arguments,
            ..Filling::default()
        })
    });
    filled
        .map(drop)
        .map_err(|reason| arguments_error(call.name, reason))
}

fn arguments_error(name: &str, reason: String) -> EffectError {
    EffectError::Arguments {
        name: SafeText::line(name),
        reason,
    }
}

pub(super) fn in_doubt(entry: &Entry) -> EffectError {
    EffectError::InDoubt {
        number: entry.number,
        name: SafeText::line(&entry.name),
    }
}

impl Source {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Record => "record",
            Self::Outbox => "outbox",
        }
    }
}

impl Answer {
    fn waiting(number: u32, key: String) -> Self {
        let nothing = EffectResult {
            key,
            outcome: Outcome::Pending,
            ..EffectResult::default()
        };
        Self::of(number, nothing, Source::Outbox)
    }

    fn of(number: u32, result: EffectResult, source: Source) -> Self {
        Self {
            number,
            key: result.key,
            source,
            outcome: result.outcome,
            exit: result.exit,
            output: result.output,
            omitted: result.omitted,
            complaint: result.complaint,
            remark: result.remark,
        }
    }
}
