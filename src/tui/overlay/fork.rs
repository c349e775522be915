//! What is said of a fork: what it would do, how far it is, what became of it.

use super::Row;
use crate::debugger::{Altered, ForkEdit};
use crate::debugger::{ForkPlan, ForkThen, ForkedStep, MissRow, PlannedHow, StepOutput, Stopped};
use crate::model::{Outcome, Via};
use crate::text::{Align, SafeText, human, width};
use crate::tui::forking::{Forking, Stage};
use crate::tui::job::{ForkMade, ForkUnmade, PlannedFork};
use crate::tui::theme::Role;

/// Columns of what a line is about.
const NAME: usize = 15;
/// Columns of a label.
const LABEL: usize = 10;
/// Columns of a tool's name.
const ACTOR: usize = 8;
/// Columns of one side of a difference.
const SIDE: usize = 40;

/// The rows about a fork in so many columns.
pub(super) fn rows(forking: &Forking, spinner: &'static str, columns: usize) -> Vec<Row> {
    let mut page = Page::new(columns);
    match &forking.stage {
        Stage::Shown(planned) => page.planned(planned, &forking.then),
        Stage::Running(_, told) => {
            let answers = human::plural(told.len() as u64, "answer", "answers");
            page.say(&format!("{spinner} making it: {answers}"), Role::Strong);
            page.shares(&counted(told));
            page.say("q breaks it off; what it holds by then stays.", Role::Quiet);
        }
        Stage::Made(made) => page.made(made),
        Stage::Failed(unmade) => page.unmade(unmade),
        Stage::Reading(_) | Stage::Checking(_) | Stage::Writing => {
            page.say(spinner, Role::Quiet);
        }
    }
    page.rows
}

/// Whether commands may be run that the edit does not ask for itself, or that it asks for and
/// that the tape answers only if they see what they saw.
fn may_run_more(plan: &ForkPlan, then: &ForkThen) -> bool {
    let is_of = |how: &PlannedHow| plan.calls.iter().any(|call| call.how == *how);
    !is_of(&PlannedHow::Sandbox) && (*then != ForkThen::Stop || is_of(&PlannedHow::Recorded))
}

/// Why no command runs here, and what becomes of a call that needs one.
fn not_run(why: &SafeText, then: &ForkThen) -> SafeText {
    let end = match then {
        ForkThen::AssumeRecorded => "gets the tape's answer to another one, or ends the fork",
        _ => "ends the fork",
    };
    SafeText::line(&format!(
        "{why}; a call that needs one {end}; `jukebox doctor` says more"
    ))
}

fn counted(told: &[Via]) -> Vec<(Via, usize)> {
    let count = |via: &Via| told.iter().filter(|told| *told == via).count();
    let counts = Via::ALL.into_iter().map(|via| (via, count(&via)));
    counts.filter(|(_, count)| *count > 0).collect()
}

type Page = super::page::Page;

impl Page {
    fn planned(&mut self, planned: &PlannedFork, then: &ForkThen) {
        let (edit, plan) = (&planned.edit, &planned.plan);
        let words = format!("Fork the run with another {}?", noun(edit));
        self.say(&words, Role::Strong);
        for (line, remark) in &planned.remarks {
            let words = match line {
                Some(line) => format!("! line {line}: {remark}"),
                None => format!("! {remark}"),
            };
            self.say(&words, Role::Warning);
        }
        self.blank();
        let steps = human::plural(u64::from(plan.shared_steps), "step", "steps");
        let words = format!("{steps} before it; nothing of them is done again");
        self.tell(
            ("the tape's own", NAME),
            &SafeText::line(&words),
            Role::Text,
        );
        let missing = planned.missing.as_ref().map(|why| not_run(why, then));
        self.calls(plan, missing.as_ref());
        let (answers, requests) = plan.answers;
        if answers > 0 {
            let words = match requests {
                0 => "not recorded: the conversation stands for them".to_owned(),
                _ => format!("recorded for {requests} of {answers} answers before it"),
            };
            self.tell(("requests", NAME), &SafeText::line(&words), Role::Text);
        }
        if !plan.not_recorded.is_empty() {
            let words = plan.not_recorded.join(", ");
            self.tell(("not recorded", NAME), &SafeText::line(&words), Role::Text);
        }
        if !planned.volatile.is_empty() {
            let words: Vec<&str> = planned.volatile.iter().map(SafeText::as_str).collect();
            self.tell(
                ("may differ", NAME),
                &SafeText::line(&words.join(", ")),
                Role::Text,
            );
        }
        if let Some(words) = missing.filter(|_| may_run_more(plan, then)) {
            self.tell(("no commands", NAME), &words, Role::Warning);
        }
        let words = match then {
            ForkThen::Stop => "stop where the model must speak",
            ForkThen::AssumeRecorded => {
                "the tape's own answers, though they answer other requests (stale)"
            }
            ForkThen::Script(_) => "the answers of the script",
            ForkThen::Model(_) => "the model that was named",
        };
        self.tell(("then", NAME), &SafeText::line(words), Role::Accent);
        let words = "a new tape beside the run's, or among your own where that is not allowed; \
                     the run's own is only read";
        self.tell(("written to", NAME), &SafeText::line(words), Role::Text);
        self.blank();
        self.say("No model and no service is called.", Role::Quiet);
    }

    /// How each call of the edit would be answered. Where nothing can be run, those are named that
    /// would be.
    fn calls(&mut self, plan: &ForkPlan, missing: Option<&SafeText>) {
        let kinds = [
            ("from the tape", PlannedHow::Recorded),
            ("on files alone", PlannedHow::Computed),
            ("in the sandbox", PlannedHow::Sandbox),
        ];
        for (name, wanted) in kinds {
            let calls = plan.calls.iter().filter(|call| call.how == wanted);
            let names: Vec<&str> = calls.map(|call| call.tool.as_str()).collect();
            let missing = missing.filter(|_| wanted == PlannedHow::Sandbox);
            if let (Some(why), [_, ..]) = (missing, names.as_slice()) {
                let words = format!("{}: {why}", names.join(", "));
                self.tell(("not re-run", NAME), &SafeText::line(&words), Role::Warning);
            } else if !names.is_empty() {
                self.tell((name, NAME), &SafeText::line(&names.join(", ")), Role::Text);
            }
        }
        for call in &plan.calls {
            if let PlannedHow::Nobody(why) = &call.how {
                self.tell(
                    ("by nobody", NAME),
                    &SafeText::line(&format!("{}: {why}", call.tool)),
                    Role::Warning,
                );
            }
        }
    }

    fn made(&mut self, made: &ForkMade) {
        self.say(made.path.as_str(), Role::Strong);
        self.say(&format!("stopped: {}", made.stopped), Role::Text);
        if let Some(miss) = &made.miss {
            self.miss(miss, 0);
        }
        self.shares(&made.shares);
        if made.left_out > 0 {
            let changes = human::plural(made.left_out as u64, "change", "changes");
            let words = format!("left out: {changes} that no call of the run explains");
            self.say(&words, Role::Warning);
        }
        self.blank();
        for step in &made.steps {
            self.step(step);
        }
        self.blank();
        let next = next(&made.stopped);
        if !next.is_empty() {
            self.say(next, Role::Text);
        }
        let words = "q shows it beside the run it left; T shows all forks.";
        self.say(words, Role::Quiet);
    }

    /// Why there is none, what is safe, and what to do.
    fn unmade(&mut self, unmade: &ForkUnmade) {
        self.say(unmade.what, Role::Strong);
        self.say(unmade.why.as_str(), Role::Failed);
        self.blank();
        self.say("What you wrote is kept: q leads back to it.", Role::Text);
        if !unmade.next.is_empty() {
            self.say(unmade.next, Role::Text);
        }
    }

    fn shares(&mut self, shares: &[(Via, usize)]) {
        let shares = shares.iter();
        let words: Vec<String> = shares
            .map(|(via, count)| format!("{count} {}", via.label()))
            .collect();
        if !words.is_empty() {
            self.say(&words.join(", "), Role::Text);
        }
    }

    fn step(&mut self, step: &ForkedStep) {
        let role = match step.via {
            Via::Unknown | Via::Stale => Role::Warning,
            Via::Edit => Role::Accent,
            _ => Role::Quiet,
        };
        let number = step.row.as_ref().map(|row| row.number.0.to_string());
        let number = SafeText::line(&number.unwrap_or_default());
        let label = SafeText::literal(step.via.label());
        let mut row = vec![
            (width::pad(&number, 4, Align::Right), Role::Quiet),
            (SafeText::spaces(2), Role::Text),
            (width::pad(&label, LABEL, Align::Left), role),
        ];
        if let Some(of) = &step.row {
            let (role, sign) = match of.outcome {
                outcome if outcome.is_failure() => (Role::Failed, outcome.sign()),
                Outcome::Ok => (Role::Text, Outcome::Ok.sign()),
                outcome => (Role::Text, outcome.sign()),
            };
            let actor = width::fit(&of.actor, ACTOR);
            row.push((width::pad(&actor, ACTOR, Align::Left), Role::Strong));
            row.push((SafeText::line(&format!(" {sign} ")), role));
            row.push((of.title.clone(), role));
        }
        self.rows.push(row);
        // Of the edit everybody knows, and of what nobody answered it is said above.
        let is_told = !matches!(step.via, Via::Edit | Via::Unknown);
        if let Some(miss) = step.miss.as_ref().filter(|_| is_told) {
            self.miss(miss, 6);
        }
    }

    fn miss(&mut self, miss: &MissRow, indent: usize) {
        let side = |text: &Option<SafeText>| match text {
            Some(text) => width::fit(text, SIDE).to_string(),
            None => "nothing".to_owned(),
        };
        let (recorded, now) = (side(&miss.recorded), side(&miss.replayed));
        let words = format!("differs at {}: recorded {recorded}, now {now}", miss.path);
        let room = self.columns.saturating_sub(indent).max(1);
        for line in width::wrap(&SafeText::line(&words), room) {
            let row = vec![(SafeText::spaces(indent), Role::Quiet), (line, Role::Quiet)];
            self.rows.push(row);
        }
    }
}

/// What a person can do about a fork that ended so.
const fn next(stopped: &Stopped) -> &'static str {
    match stopped {
        Stopped::ModelMustSpeak(_) => {
            "To go on: f again, and Tab before Y, for a script of your answers or for the tape's own."
        }
        Stopped::NotAnswered { .. } | Stopped::NeedsNetwork(_) => {
            "To go on: f again, and Tab before Y, for a script that answers it."
        }
        Stopped::NothingToSay(_) => "To go on: add what is missing to the script, and f again.",
        Stopped::NotAsked(_) | Stopped::NoAnswer(_) => {
            "To go on: make the fork again; each asks anew."
        }
        Stopped::MostTurns(_) => "To go on: make it again with more --max-turns.",
        Stopped::TimeUp(_) => "To go on: make it again with a longer --timeout.",
        Stopped::BrokenOff => "What it holds by then stays: T shows, renames or deletes it.",
        Stopped::TurnEnded | Stopped::EndOfTape(_) | Stopped::TransactionEdge => "",
    }
}

fn noun(edit: &ForkEdit) -> &'static str {
    match &edit.what {
        Altered::Output { edited, .. } => StepOutput::noun(edited),
        Altered::File(..) => "file",
    }
}
