//! An answer, held against what the tape says of the same call.

use std::collections::BTreeMap;

use super::super::Debugger;
use super::super::compare::row_of_leaf;
use super::super::fork::FIRST_FRAMES;
use super::super::models::MODELS;
use super::{Reason, Verdict};
use crate::capture::IgnoreRules;
use crate::checkout::Item;
use crate::model::{
    Body, ChangeKind, Content, Cursor, EntryKind, Kind, Outcome, TapePath, WallTime,
};
use crate::replay::request::VolatileParts;
use crate::replay::workbench::{Answer, Call, Tree, Words, Workbench};
use crate::replay::{CallContent, FileAfter, Leaf, Standing, Volatile, leaves_of_answer, reasons};
use crate::state::{ContentRef, FileState};
use crate::tape::{BlobSource as _, is_of_stream};
use crate::text::SafeText;
use crate::tools::Refusal;

/// What the tape says of a call.
#[derive(Debug, Default)]
pub(in crate::debugger) struct Recorded {
    pub(in crate::debugger) call: Call,
    /// How it ended; `None`: that has not come.
    pub(in crate::debugger) outcome: Option<Outcome>,
    exit: Option<i32>,
    pub(in crate::debugger) output: String,
    /// Not all that it said was kept.
    pub(in crate::debugger) is_cut: bool,
    /// What it did to files was not seen.
    pub(in crate::debugger) is_suspect: bool,
    has_effect: bool,
    /// It had models to talk to.
    has_models: bool,
    is_damaged: bool,
}

impl Recorded {
    /// Why it is not made again, if that is clear from the tape alone.
    pub(in crate::debugger) fn why_not(&self) -> Option<Verdict> {
        let why = match self.outcome {
            _ if self.is_damaged => "a line of it cannot be read",
            None | Some(Outcome::Pending) => return Some(Verdict::Open),
            Some(Outcome::Refused) => "it was refused, and never ran",
            Some(Outcome::Interrupted) => {
                "it was interrupted: what it would have said is not known"
            }
            Some(_) if self.has_models => {
                "it talks to models or services while it runs: `jukebox record --model --from TAPE` \
                 runs it again with their answers"
            }
            Some(_) if self.has_effect => {
                "it did something outside the files: that is recorded, and nothing is sent"
            }
            Some(_) => return None,
        };
        Some(Verdict::NotAttempted(SafeText::literal(why)))
    }

    /// Of a call that failed, the reason that it tells, if it is one that tools have in common.
    pub(in crate::debugger) fn refusal(&self) -> Option<Refusal> {
        let has_failed = self.outcome == Some(Outcome::Failed);
        has_failed.then(|| Refusal::told_by(&self.output)).flatten()
    }

    /// What it came to, without its files: what the agent's program puts around what a tool
    /// says does not count.
    pub(in crate::debugger) fn content(&self) -> CallContent {
        let mut output = self.output.as_str();
        if let Some(exit) = self.exit {
            let line = format!("Exit code {exit}\n");
            output = output.strip_prefix(line.as_str()).unwrap_or(output);
        }
        if let Some((before, _)) = output.split_once("<system-reminder>") {
            output = before.trim_end();
        }
        CallContent {
            outcome: self.outcome.unwrap_or_default(),
            exit: self.exit,
            output: Some(output.to_owned()),
            files: None,
        }
    }
}

/// What counts when an answer is held against the tape.
#[derive(Debug, Default)]
pub(super) struct Terms {
    /// The parts that do not.
    pub(super) volatile: VolatileParts,
    /// Files that the tape leaves out because these rules name them.
    rules: Option<IgnoreRules>,
    /// The tape leaves out what is called `.git`.
    is_git_left_out: bool,
}

impl Terms {
    fn leave_out(&self, path: &TapePath) -> bool {
        let is_in_git = || path.components().any(|name| name == b".git");
        let rules = self.rules.as_ref();
        self.is_git_left_out && is_in_git() || rules.is_some_and(|rules| rules.leave_out(path))
    }

    /// What the tape leaves out, in words.
    pub(super) fn left_out(&self) -> Vec<&'static str> {
        let git = self.is_git_left_out.then_some(".git");
        let ignored = self.rules.as_ref().map(|_| "what .gitignore names");
        git.into_iter().chain(ignored).collect()
    }
}

impl Debugger {
    /// What counts, by what the header says that the tape covers. The rules are those of the
    /// files that stood there when the run began.
    pub(super) fn terms(&self, volatile: VolatileParts, start: &Tree<'_>) -> Terms {
        let covers = &self.header.covers;
        let ignored = covers.get("ignored").and_then(serde_json::Value::as_str);
        let rules = ignored.filter(|words| words.starts_with("by ")).map(|_| {
            let mut rules = IgnoreRules::default();
            let files = start.entries();
            for entry in files.filter(|entry| entry.path.name() == b".gitignore") {
                if let Item::File(Some(hash)) = entry.item
                    && let Ok(text) = self.tape.blob(&hash)
                {
                    let above = entry.path.parent();
                    let above = above.as_ref().map_or(&b""[..], TapePath::as_bytes);
                    rules.take(above, &text);
                }
            }
            rules
        });
        Terms {
            volatile,
            rules,
            is_git_left_out: covers.contains_key("repositories"),
        }
    }

    pub(in crate::debugger) fn recorded_call(&self, step: u32) -> Recorded {
        let mut recorded = Recorded::default();
        let mut frames = 0;
        for (position, kind) in self.events_of(step) {
            match kind {
                Kind::ToolCall | Kind::ToolResult => {}
                Kind::StreamFrame if frames < FIRST_FRAMES => frames += 1,
                Kind::EffectIntent | Kind::EffectResult => {
                    recorded.has_effect = true;
                    continue;
                }
                Kind::FsSuspect => {
                    recorded.is_suspect = true;
                    continue;
                }
                _ => continue,
            }
            let Ok(event) = self.tape.event(position) else {
                recorded.is_damaged = true;
                continue;
            };
            match event.body {
                Body::ToolCall { name, arguments } => {
                    let started = self.header.started;
                    let time = started
                        .zip(event.head.t)
                        .map(|(WallTime(started), t)| WallTime(started.saturating_add_unsigned(t)));
                    recorded.call = Call {
                        name,
                        arguments,
                        time,
                    };
                }
                Body::ToolResult {
                    outcome,
                    exit,
                    output,
                    detail,
                    ..
                } => {
                    recorded.outcome = Some(outcome);
                    recorded.exit = exit;
                    recorded.output = output;
                    recorded.is_cut = detail.get("dropped").is_some();
                }
                Body::Other { .. } => recorded.has_effect |= is_of_stream(&event),
                _ => {}
            }
        }
        recorded.has_models = recorded.call.name == "exec" && self.asks_models(step);
        recorded
    }

    /// Whether a model was asked while a command ran that had been given models.
    fn asks_models(&self, step: u32) -> bool {
        let Some(entry) = self.tape.index.steps.get(step) else {
            return false;
        };
        let events = &self.tape.index.events;
        let mut kinds = (entry.opened..=entry.last).filter_map(|at| Some(events.get(at)?.kind));
        self.header.covers.contains_key(MODELS) && kinds.any(|kind| kind == Kind::ModelRequest)
    }

    /// Holds an answer against what was recorded.
    pub(super) fn verdict(
        &self,
        step: u32,
        recorded: &Recorded,
        answer: &Answer,
        bench: &Workbench<'_>,
        terms: &Terms,
    ) -> Verdict {
        let mut aside = Vec::new();
        let (mut was, is) = (
            recorded.content(),
            CallContent::of_answer(answer, bench.tree(), &|path| terms.leave_out(path)),
        );
        if recorded.is_suspect || self.is_doubted(step) {
            aside.push("files: what it did to them was not seen");
        } else {
            was.files = Some(self.files_after(step));
        }
        if matches!(recorded.refusal(), Some(Refusal::Unread | Refusal::Stale)) {
            aside.push("session: what its agent had read is as its program said");
        }
        if recorded.is_cut {
            aside.push("output: not all of it was kept");
            was.output = None;
        }
        if answer.words == Words::Own {
            aside.push("output: its words are the tool's own");
            was.output = None;
        }
        if answer.words == Words::AnyOrder && answer.output.lines().nth(1).is_some() {
            aside.push("output: the order of its lines is by times");
        }
        let root = self.header.root.as_deref();
        let seen = bench.seen_at().map(|seen| seen.to_string_lossy());
        let left = Volatile::new(root).only(terms.volatile.sorts());
        let right = Volatile::new(seen.as_deref().or(root)).only(terms.volatile.sorts());
        let trims = self.keeps_directory();
        let mut found = leaves_of_answer((&was, &left), answer, (is, &right), trims);
        found.retain(|leaf| !terms.volatile.has(&place_of(leaf)));
        if found.is_empty() {
            let how = answer.how;
            return Verdict::Reproduced { how, aside };
        }
        let located = found.into_iter();
        let found: Vec<Leaf> = located
            .map(|leaf| self.located(leaf, &was, answer))
            .collect();
        let mut reasons = reasons(&found, &recorded.output, &answer.output, answer.exit);
        if answer.needs_network {
            reasons.push(Reason::Network);
        }
        if recorded.call.arguments.get("input") == Some(&true.into()) {
            reasons.push(Reason::Input);
        }
        Verdict::Differs {
            how: answer.how,
            leaves: found.into_iter().map(row_of_leaf).collect(),
            reasons,
            aside,
        }
    }

    /// Whether something in a step may have written any file, such as a line that is lost.
    pub(in crate::debugger) fn is_doubted(&self, step: u32) -> bool {
        let Some(entry) = self.tape.index.steps.get(step) else {
            return false;
        };
        let doubt = |position| {
            let branch = entry.lane.view;
            self.state.doubt(Cursor { position, branch })
        };
        let after = doubt(entry.last + 1);
        after.is_some() && after != doubt(entry.opened + 1)
    }

    /// What a step made of each file that it changed.
    pub(in crate::debugger) fn files_after(&self, step: u32) -> BTreeMap<TapePath, FileAfter> {
        let changed = self.changed_in(step).into_iter();
        let known = changed.filter(|(_, change)| change.kind != ChangeKind::Suspected);
        let after = |(path, change): (TapePath, crate::state::Change)| {
            let after = change.after.filter(|_| change.kind != ChangeKind::Removed);
            let file = after.map(|state| self.file_after(&path, &state));
            (path, file.unwrap_or(NOTHING))
        };
        known.map(after).collect()
    }

    fn file_after(&self, path: &TapePath, state: &FileState) -> FileAfter {
        let what = match (state.kind, state.content) {
            (EntryKind::Directory, _) => Standing::Directory,
            (EntryKind::Link, ContentRef::Target(position)) => {
                Standing::Link(self.link_target(position, path).unwrap_or_default())
            }
            (_, ContentRef::Blob(id)) => Standing::File(self.blob_head(id, state.since).0),
            _ => Standing::File(None),
        };
        FileAfter {
            what,
            mode: state.mode,
        }
    }

    /// A leaf that names a file names the first line in which it differs, where it is a text.
    fn located(&self, leaf: Leaf, was: &CallContent, answer: &Answer) -> Leaf {
        let Some(name) = leaf.name.strip_prefix("files.") else {
            return leaf;
        };
        let hash = |content: &CallContent| {
            let mut files = content.files.iter().flatten();
            let (_, file) = files.find(|(path, _)| path.to_text() == name)?;
            match file.what {
                Standing::File(hash) => hash,
                _ => None,
            }
        };
        let made = answer.changes.iter().find(|it| it.path.to_text() == name);
        let Some((before, Content::Bytes(again))) = hash(was).zip(made.map(|it| &it.content))
        else {
            return leaf;
        };
        let Ok(recorded) = self.tape.blob(&before) else {
            return leaf;
        };
        let (Ok(one), Ok(two)) = (std::str::from_utf8(&recorded), std::str::from_utf8(again))
        else {
            return leaf;
        };
        let (mut one, mut two) = (one.split('\n'), two.split('\n'));
        for number in 1.. {
            match (one.next(), two.next()) {
                (None, None) => break,
                (left, right) if left == right => {}
                (left, right) => {
                    return Leaf {
                        name: format!("files.{name}, line {number}"),
                        left: left.map(Into::into),
                        right: right.map(Into::into),
                    };
                }
            }
        }
        leaf
    }
}

/// The place of a leaf, as a JSON pointer names it: a line is of its text.
fn place_of(leaf: &Leaf) -> Vec<&str> {
    match leaf.name.strip_prefix("files.") {
        Some(path) => vec!["files", path],
        None => vec![leaf.name.split([',', '.', '[']).next().unwrap_or_default()],
    }
}

const NOTHING: FileAfter = FileAfter {
    what: Standing::Nothing,
    mode: None,
};
