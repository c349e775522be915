//! Brings the effects of a tape to an end, after whoever recorded it is gone: makes again, sends,
//! takes back, or records what a person says.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{Value, json};

use crate::cli::change::is_agreed;
use crate::cli::configuration::ConfigArgs;
use crate::cli::environment::Environment;
use crate::cli::failure::{Answer, Failure};
use crate::cli::output::{Output, Style};
use crate::cli::txn::registry;
use crate::debugger::{
    Fate, HeldState, LedgerEntry, RolledBack, Sent, Settlement, Unfinished, Workspace,
};
use crate::text::{SafeText, human};

/// What may be done about effects.
#[derive(Debug, clap::Args)]
pub(super) struct FinishArgs {
    /// Make again, with the same key, what is in doubt and may be made again
    #[arg(long, group = "act")]
    retry: bool,
    /// Send what still waits of transactions that were committed, in order
    #[arg(long, group = "act")]
    send: bool,
    /// Take back, the last first, what was done in transactions that were not committed
    #[arg(long, group = "act")]
    take_back: bool,
    /// Record what became of effect N: done or not-done, where it is in doubt; dropped, where it
    /// is not to be sent
    #[arg(long, group = "act", value_name = "N=WHAT")]
    settle: Vec<SettleArg>,
    #[command(flatten)]
    config: ConfigArgs,
    /// Say what would be done, and do nothing
    #[arg(long, requires = "act")]
    dry_run: bool,
    /// Do not ask
    #[arg(long, requires = "act")]
    yes: bool,
}

/// What a person says of an effect.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct SettleArg {
    pub(in crate::cli) number: u32,
    pub(in crate::cli) said: Settlement,
}

impl FromStr for SettleArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "it is N=done, N=not-done or N=dropped";
        let (number, said) = text.split_once('=').ok_or(FORM)?;
        Ok(Self {
            number: number.parse().ok().ok_or(FORM)?,
            said: match said {
                "done" => Settlement::Done,
                "not-done" => Settlement::NotDone,
                "dropped" => Settlement::Dropped,
                _ => return Err(FORM),
            },
        })
    }
}

/// What is to be done about an effect, in words.
struct Task {
    number: u32,
    words: SafeText,
    /// It will not be done: of what would be needed, the tape has a placeholder.
    is_refused: bool,
}

impl Task {
    fn new(entry: &LedgerEntry, what: &str, is_refused: bool) -> Self {
        let words = format!("{what} {} {} {}", entry.number, entry.name, entry.arguments);
        Self {
            number: entry.number,
            words: SafeText::line(words.trim_end()),
            is_refused,
        }
    }

    fn print(&self, out: &mut Output) -> Result<(), Failure> {
        let why = if self.is_refused {
            "  will be refused: of a secret in it, the tape has a placeholder"
        } else {
            ""
        };
        Ok(out.spans(&[
            (Style::Plain, &self.words),
            (Style::Bad, &SafeText::literal(why)),
        ])?)
    }
}

impl FinishArgs {
    /// Whether anything is to be done.
    pub(super) fn is_wanted(&self) -> bool {
        self.retry || self.send || self.take_back || !self.settle.is_empty()
    }

    pub(super) fn run(
        &self,
        tape: PathBuf,
        workspace: Option<PathBuf>,
        is_json: bool,
        around: &Environment,
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        let asks = !self.yes && !self.dry_run && self.settle.is_empty();
        if asks && (is_json || !around.can_ask) {
            return Err(Failure::unusable(
                "there is nobody to ask; nothing was done: --dry-run shows it, --yes does it",
            ));
        }
        let declarations = self.config.read(around, workspace.as_deref())?;
        let redacting = self.config.redacting(around, workspace.as_deref())?;
        let mut unfinished = Unfinished::open(&tape, declarations, Some(redacting))?;
        if !self.settle.is_empty() {
            return self.settle(&mut unfinished, is_json, out);
        }
        let places = (tape.as_path(), workspace.as_deref());
        for line in self.look_after_commits(&mut unfinished, places, around)? {
            if !is_json {
                out.line(Style::Strong, &SafeText::line(&line))?;
            }
        }
        let tasks = self.tasks(&unfinished);
        if !is_json {
            for task in &tasks {
                task.print(out)?;
            }
        }
        if tasks.is_empty() || self.dry_run {
            if is_json {
                let effects: Vec<u32> = tasks.iter().map(|task| task.number).collect();
                let refused = tasks.iter().filter(|task| task.is_refused);
                let refused: Vec<u32> = refused.map(|task| task.number).collect();
                out.json(&json!({ "done": false, "effects": effects, "refused": refused }))?;
            } else if tasks.is_empty() {
                out.line(Style::Strong, &SafeText::literal("there is nothing to do"))?;
            }
            return Ok(Answer::Yes);
        }
        if asks {
            let effects = human::plural(tasks.len() as u64, "effect", "effects");
            if !is_agreed(&format!("Do this about {effects}?"), out)? {
                return Ok(Answer::Yes);
            }
        }
        self.act(&mut unfinished, is_json, out)
    }

    /// Whoever held a transaction may have died between the commit of its files and the word
    /// about it on the tape: finds that out, and tells the tape unless nothing is to be done.
    /// A commit may have been undone since. What was found, in words.
    fn look_after_commits(
        &self,
        unfinished: &mut Unfinished,
        places: (&Path, Option<&Path>),
        around: &Environment,
    ) -> Result<Vec<String>, Failure> {
        let registry = registry(around)?;
        let open: Vec<String> = unfinished.open_transactions().map(str::to_owned).collect();
        let mut found = Vec::new();
        for id in open {
            match registry.state_on_tape(places, &id)? {
                Some(HeldState::Committed(_)) if self.dry_run => unfinished.know_committed(&id),
                Some(HeldState::Committed(_)) => unfinished.tell_committed(&id)?,
                Some(HeldState::CutOff) => {
                    return Err(Failure::conflict(format!(
                        "the commit of {id} was cut off, and has to be finished first; nothing was \
                         done: `jukebox txn recover {id}` does that"
                    )));
                }
                Some(HeldState::Unclear) if self.take_back => {
                    return Err(Failure::conflict(format!(
                        "{id} may have been committed when its holder ended, and then its effects \
                         stand; nothing was done: `jukebox txn recover {id} --drop` says that it \
                         was not"
                    )));
                }
                _ => continue,
            }
            found.push(format!("{id} was committed: its effects stand"));
        }
        let (_, workspace) = places;
        let workspace = workspace.and_then(|workspace| Workspace::open(workspace).ok());
        let committed: Vec<String> = unfinished
            .committed_transactions()
            .map(str::to_owned)
            .collect();
        for id in committed {
            let undone = workspace.as_ref().map(|workspace| workspace.is_undone(&id));
            if undone.transpose()?.unwrap_or_default() {
                unfinished.know_undone(&id);
                found.push(format!(
                    "the commit of {id} was undone: its effects are to be taken back, and none is sent"
                ));
            }
        }
        Ok(found)
    }

    fn tasks(&self, unfinished: &Unfinished) -> Vec<Task> {
        let named = |entries: Vec<&LedgerEntry>, what: &str| {
            let task = |entry| Task::new(entry, what, unfinished.cannot_make(entry));
            entries.into_iter().map(task).collect()
        };
        if self.retry {
            return named(unfinished.to_retry(), "make again");
        }
        if self.send {
            return named(unfinished.to_send(), "send");
        }
        let fates = unfinished.to_take_back().into_iter();
        fates
            .map(|(entry, fate)| {
                let (what, is_refused) = match fate {
                    Fate::NotSent => ("never send", false),
                    Fate::Compensated => ("take back", unfinished.cannot_take_back(entry)),
                    Fate::Nothing | Fate::Remains | Fate::Asked => ("leave", false),
                };
                Task::new(entry, what, is_refused)
            })
            .collect()
    }

    fn act(
        &self,
        unfinished: &mut Unfinished,
        is_json: bool,
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        let (object, line, is_open) = if self.retry {
            let left = unfinished.retry()?;
            let line = match left.as_slice() {
                [] => "nothing is in doubt any more".to_owned(),
                left => format!(
                    "still in doubt: {}; --settle says what became of them",
                    list(left)
                ),
            };
            (json!({ "in_doubt": left }), line, !left.is_empty())
        } else if self.send {
            let sent = unfinished.send()?;
            (of_sent(&sent), sent.in_words(), sent.stopped.is_some())
        } else {
            let done = unfinished.take_back()?;
            (
                of_rolled_back(&done),
                done.to_string(),
                !done.residue.is_empty(),
            )
        };
        if is_json {
            out.json(&object)?;
        } else {
            out.line(Style::Strong, &SafeText::line(&line))?;
        }
        Ok(Answer::no_if(is_open))
    }

    fn settle(
        &self,
        unfinished: &mut Unfinished,
        is_json: bool,
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        for it in self.settle.iter().filter(|_| !self.dry_run) {
            unfinished.settle(it.number, it.said)?;
        }
        let numbers: Vec<u32> = self.settle.iter().map(|it| it.number).collect();
        if is_json {
            out.json(&json!({ "settled": if self.dry_run { &[][..] } else { &numbers } }))?;
        } else if !self.dry_run {
            let line = format!("recorded: {}", list(&numbers));
            out.line(Style::Strong, &SafeText::line(&line))?;
        }
        Ok(Answer::Yes)
    }
}

fn list(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers
        .iter()
        .map(|number| format!("effect {number}"))
        .collect();
    numbers.join(", ")
}

/// What became of an outbox, as JSON.
pub(in crate::cli) fn of_sent(sent: &Sent) -> Value {
    let stopped = sent.stopped.as_ref().map(|stopped| {
        let reason = SafeText::line(&stopped.reason);
        json!({
            "number": stopped.number,
            "in_doubt": stopped.is_in_doubt,
            "reason": reason.as_str(),
        })
    });
    json!({ "sent": sent.sent, "stopped": stopped, "waiting": sent.waiting })
}

/// What became of effects that were taken back, as JSON.
pub(in crate::cli) fn of_rolled_back(done: &RolledBack) -> Value {
    let residue = done.residue.iter().map(|residue| {
        let words = SafeText::line(&residue.to_string());
        json!({ "number": residue.number, "why": words.as_str() })
    });
    json!({
        "not_sent": done.not_sent,
        "compensated": done.compensated,
        "residue": residue.collect::<Vec<_>>(),
    })
}
