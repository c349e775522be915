//! What is said of a test case: what a person may choose of it, what it would hold and leave
//! out, how far it is, what became of it.

use std::time::Duration;

use crate::debugger::{
    CaseCut, CaseFiles, CaseOffer, EvaluationOffer, ExportedCase, Shrinking, Uncertain,
};
use crate::text::{Align, SafeText, human, width};
use crate::tui::action::ActionId;
use crate::tui::exporting::{Exporting, Search, Stage, Wish};
use crate::tui::job::{CaseOffered, Keep, NoCase, Prepared};
use crate::tui::theme::Role;

/// Columns of what a line is about.
const NAME: usize = 14;
/// Things that are not known, of which each is told.
const MOST_DOUBTS: usize = 8;
/// Columns of a size.
const SIZE: usize = 6;
/// Files that are shorter or gone, of which each is told.
const MOST_CUT: usize = 8;
/// Calls of an evaluation, of which each is told.
const MOST_CALLS: usize = 4;
/// Columns of the bar at most.
const BAR: usize = 40;

/// The row that keys change.
type Page = super::page::Page<Option<usize>>;

/// The rows about a test case in so many columns.
pub(super) fn page(exporting: &Exporting, spinner: &'static str, columns: usize) -> Page {
    let mut page = Page::new(columns);
    match &exporting.stage {
        Stage::Preparing(_) => {
            let (what, at) = match exporting.keep() {
                Keep::Turn => ("turn of the model at", "what it was told"),
                Keep::Call(_) => ("failed call of", "its files"),
                Keep::Checked(..) => ("call of", "its files"),
            };
            let words = format!("Keep the {what} step {}?", exporting.at.step);
            page.say(&words, Role::Strong);
            page.wishes(exporting, None);
            page.say(&format!("{spinner} looking at {at}"), Role::Quiet);
        }
        Stage::Shown(offered) => page.shown(exporting, offered),
        Stage::Shrinking(search) => page.shrinking(search, spinner),
        Stage::Writing(_, _, progress) => {
            let percent = progress.map_or_else(String::new, |it| format!("  {} %", it.percent()));
            page.say(&format!("{spinner} writing it{percent}"), Role::Strong);
            page.say("Esc stops it; nothing of it is left then.", Role::Quiet);
        }
        Stage::Written(done) => page.written(done),
        Stage::None(none) => page.none(none, exporting),
    }
    page
}

impl Page {
    /// What a person may choose, with the words for how it is now.
    fn wishes(&mut self, exporting: &Exporting, offered: Option<&CaseOffered>) {
        self.blank();
        for wish in exporting.wishes() {
            if wish == exporting.chosen {
                self.marks = Some(self.rows.len());
            }
            let (name, words, role) = match wish {
                Wish::Form => {
                    let (name, words) = (exporting.form.as_str(), exporting.form.in_words());
                    let words = SafeText::line(&format!("{name}: {words}"));
                    ("form", words, Role::Text)
                }
                Wish::Files => {
                    let (name, words) = (exporting.files.as_str(), exporting.files.in_words());
                    let words = SafeText::line(&format!("{name}: {words}"));
                    ("files", words, Role::Text)
                }
                Wish::Check => {
                    let words = match &exporting.check {
                        Some(check) => format!("to be so after it: {check}"),
                        None => "none: passes when the call succeeds".to_owned(),
                    };
                    ("check", SafeText::line(&words), Role::Text)
                }
                Wish::Budget => {
                    let words = format!("{} at most", span(exporting.budget));
                    ("time", SafeText::line(&words), Role::Text)
                }
                Wish::Directory => {
                    let here = offered.map(|offered| exporting.directory(offered));
                    let path = here.or(exporting.directory.as_deref());
                    let path = path.map(|path| path.to_string_lossy());
                    (
                        "into",
                        SafeText::line(path.as_deref().unwrap_or("…")),
                        Role::Text,
                    )
                }
                Wish::Uncertain => match exporting.uncertain {
                    Uncertain::Refused => (
                        "not known",
                        SafeText::literal("not written as long as something is not known"),
                        Role::Warning,
                    ),
                    Uncertain::Told => (
                        "not known",
                        SafeText::literal("written, and the case says what is not known"),
                        Role::Warning,
                    ),
                },
            };
            self.tell((name, NAME), &words, role);
        }
        self.blank();
    }

    fn shown(&mut self, exporting: &Exporting, offered: &CaseOffered) {
        if let Some(mistake) = &exporting.mistake {
            self.say(&format!("✗ {mistake}"), Role::Failed);
            self.say("Nothing was written.", Role::Failed);
            self.blank();
        }
        let (step, words) = match &offered.prepared {
            Prepared::Case(_, offer) => {
                let step = offer.step;
                let failed = if exporting.check.is_none() {
                    "failed "
                } else {
                    ""
                };
                let words = format!("Keep the {failed}call of step {step} as a test case?");
                (step, words)
            }
            Prepared::Evaluation(_, offer) => {
                let step = offer.step;
                let words = format!("Keep the turn of step {step} as an evaluation of a model?");
                (step, words)
            }
        };
        self.say(&words, Role::Strong);
        if step < exporting.at.step {
            let words = format!("It asked for the call of step {}.", exporting.at.step);
            self.say(&words, Role::Quiet);
        } else if step != exporting.at.step {
            let words = format!("Step {} asked for it.", exporting.at.step);
            self.say(&words, Role::Quiet);
        }
        self.wishes(exporting, Some(offered));
        match &offered.prepared {
            Prepared::Case(_, offer) => self.case(offer),
            Prepared::Evaluation(_, offer) => self.evaluation(offer),
        }
        self.blank();
        self.say(&before_yes(exporting, offered), Role::Quiet);
    }

    /// What a case would hold, and what is to be known of it.
    fn case(&mut self, offer: &CaseOffer) {
        if let Some(cut) = &offer.cut {
            self.cut(cut);
            self.blank();
        }
        self.holds(offer);
        if !offer.doubts.is_empty() || !offer.remarks.is_empty() {
            self.blank();
            self.doubts(&offer.doubts);
            for remark in &offer.remarks {
                self.say_text(remark, Role::Text);
            }
        }
    }

    /// What an evaluation would hold.
    fn evaluation(&mut self, offer: &EvaluationOffer) {
        let messages = human::plural(offer.messages as u64, "message", "messages");
        let words = format!(
            "{messages} that it was told before, {}B",
            human::size(offer.bytes)
        );
        self.tell(("holds", NAME), &SafeText::line(&words), Role::Text);
        for (name, calls, role) in [
            ("must not call", &offer.must_not, Role::Failed),
            ("must call", &offer.must, Role::Text),
        ] {
            let mut name = name;
            for call in calls.iter().take(MOST_CALLS) {
                let room = self
                    .columns
                    .saturating_sub(NAME.min(self.columns / 3))
                    .max(1);
                self.tell((name, NAME), &width::fit(call, room), role);
                name = "";
            }
            self.and_more(calls.len(), MOST_CALLS);
        }
    }

    /// How many more there are than are told.
    fn and_more(&mut self, count: usize, told: usize) {
        if count > told {
            let words = format!("… and {} more", human::count((count - told) as u64));
            self.tell(("", NAME), &SafeText::line(&words), Role::Quiet);
        }
    }

    /// What was left out of the files.
    fn cut(&mut self, cut: &CaseCut) {
        let mut name = "cut";
        for row in cut.rows().take(MOST_CUT) {
            let mut words = SafeText::line(&format!("{:>5}  ", row.less));
            words.push(&row.path);
            if let Some(left) = &row.left {
                words.push(&SafeText::spaces(2));
                words.push(left);
            }
            self.tell((name, NAME), &words, Role::Text);
            name = "";
        }
        self.and_more(cut.files.len(), MOST_CUT);
        let words = if cut.is_least {
            "nothing more can be left out"
        } else {
            "more might be left out, in more time"
        };
        self.tell((name, NAME), &SafeText::literal(words), Role::Accent);
        if let Some(green) = cut.green_in_words() {
            self.tell(("", NAME), &green, Role::Accent);
        }
    }

    /// How far the search for the smallest set of files is.
    fn shrinking(&mut self, search: &Search, spinner: &'static str) {
        let doing = if search.is_enough {
            "seeing whether it fails twice more"
        } else {
            "looking for the fewest files on which it fails"
        };
        self.say(&format!("{spinner} {doing}"), Role::Strong);
        self.blank();
        if let Some(told) = &search.told {
            self.bar(told);
            let tries = human::count(u64::from(told.tries));
            self.tell(("runs so far", NAME), &SafeText::line(&tries), Role::Text);
            let files = human::plural(told.files as u64, "file", "files");
            let mut words = format!("{files}, {}B", human::size(told.bytes));
            if let Prepared::Case(_, offer) = &search.offered.prepared {
                let all = human::count(offer.files as u64);
                words = format!("{words}, of {all} and {}B", human::size(offer.bytes));
            }
            self.tell(("it fails on", NAME), &SafeText::line(&words), Role::Text);
            self.blank();
        }
        let words = if search.is_enough {
            "Esc gives it up: all files are kept as they were, and nothing is written."
        } else {
            "Esc ends it now: the smallest set so far is kept, if it fails twice more. Nothing is \
             written before you have seen it."
        };
        self.say(words, Role::Quiet);
    }

    /// How much of its time is over.
    fn bar(&mut self, told: &Shrinking) {
        let progress = told.progress();
        let words = format!("  {} s of {} s", progress.done, progress.of);
        let words = SafeText::line(&words);
        let room = self.columns.saturating_sub(width::width(&words)).min(BAR);
        let (elapsed, budget) = (told.elapsed.as_millis(), told.budget.as_millis());
        let done = elapsed.saturating_mul(room as u128) / budget.max(1);
        let done = usize::try_from(done).unwrap_or(room).min(room);
        self.rows.push(vec![
            (SafeText::line(&"━".repeat(done)), Role::Accent),
            (SafeText::line(&"─".repeat(room - done)), Role::Quiet),
            (words, Role::Text),
        ]);
    }

    /// The first things that are not known, and how many there are beside them.
    fn doubts(&mut self, doubts: &[SafeText]) {
        for doubt in doubts.iter().take(MOST_DOUBTS) {
            self.say(&format!("! not known: {doubt}"), Role::Warning);
        }
        let more = doubts.len().saturating_sub(MOST_DOUBTS);
        if more > 0 {
            self.say(
                &format!("… and {} more", human::count(more as u64)),
                Role::Warning,
            );
        }
    }

    /// What it would hold, and what it leaves out.
    fn holds(&mut self, offer: &CaseOffer) {
        let mut call = offer.tool.clone();
        call.push(&SafeText::literal("  "));
        call.push(&offer.title);
        self.tell(("the call", NAME), &call, Role::Text);
        let exit = offer.exit.map(|exit| format!(", exit code {exit}"));
        let output = match offer.output_lines {
            Some(lines) => {
                let lines = human::plural(lines as u64, "line", "lines");
                format!(", {lines} of output")
            }
            None => "; its words do not count".to_owned(),
        };
        let words = format!("{}{}{output}", offer.outcome, exit.unwrap_or_default());
        let role = if offer.outcome.is_failure() {
            Role::Failed
        } else {
            Role::Text
        };
        self.tell(("result", NAME), &SafeText::line(&words), role);
        let files = human::plural(offer.files as u64, "file", "files");
        let words = format!("{files}, {}B", human::size(offer.bytes));
        self.tell(("holds", NAME), &SafeText::line(&words), Role::Text);
        let indent = NAME.min(self.columns / 3);
        let room = self.columns.saturating_sub(indent + SIZE + 1);
        for (path, size) in &offer.named {
            let path = width::fit_middle(path, room);
            let size = SafeText::line(&human::size(*size));
            self.rows.push(vec![
                (SafeText::spaces(indent), Role::Quiet),
                (width::pad(&size, SIZE, Align::Right), Role::Quiet),
                (SafeText::spaces(1), Role::Quiet),
                (path, Role::Text),
            ]);
        }
        let more = offer.files.saturating_sub(offer.named.len());
        if more > 0 {
            let words = SafeText::line(&format!("… and {} more", human::count(more as u64)));
            self.tell(("", NAME), &words, Role::Quiet);
        }
        let mut left_out: Vec<String> = Vec::new();
        if offer.others > 0 {
            let others = offer.others as u64;
            left_out.push(human::plural(others, "other file", "other files"));
        }
        left_out.extend(offer.left_out.iter().map(|&words| words.to_owned()));
        if !left_out.is_empty() {
            self.tell(
                ("leaves out", NAME),
                &SafeText::line(&left_out.join(", ")),
                Role::Text,
            );
        }
    }

    fn written(&mut self, done: &ExportedCase) {
        let [one, many] = if done.form.is_evaluation() {
            ["message", "messages"]
        } else {
            ["file", "files"]
        };
        let files = human::plural(done.files as u64, one, many);
        let words = format!("Written: step {} ({}) with {files}.", done.step, done.tool);
        self.say(&words, Role::Strong);
        self.blank();
        let directory = done.directory.to_string_lossy();
        self.tell(
            ("it lies in", NAME),
            &SafeText::line(&directory),
            Role::Text,
        );
        self.tell(("to run it", NAME), &done.command(), Role::Accent);
        if let Some(cut) = &done.cut {
            self.cut(cut);
        }
        self.doubts(&done.doubts);
        self.blank();
        if done.form.is_evaluation() {
            let words = "JUKEBOX_PROVIDER names the model that promptfoo asks.";
            self.say(words, Role::Quiet);
        }
        let copy = ActionId::Copy.key();
        self.say(&format!("{copy} copies the command."), Role::Quiet);
    }

    fn none(&mut self, none: &NoCase, exporting: &Exporting) {
        self.say(none.why.as_str(), Role::Strong);
        if exporting.wishes().is_empty() {
            self.blank();
        } else {
            self.wishes(exporting, None);
        }
        let words = if exporting.form.is_evaluation() {
            "An evaluation is made of a turn of the model that asked for a call which failed, or \
             that a fork altered."
        } else {
            "A test case is made of a tool call that failed, or of the turn of a model whose next \
             call failed."
        };
        self.say(words, Role::Text);
        if none.is_call && !exporting.form.is_evaluation() {
            let words = "Any other call makes one with a check: what is to be so of a file after \
                         it, and is not.";
            self.say(words, Role::Text);
        }
        let (key, step) = match (none.next, none.before) {
            (Some(step), _) => (ActionId::NextFailure.key(), step),
            (None, Some(step)) => (ActionId::PreviousFailure.key(), step),
            (None, None) => {
                self.say("No step of this run failed.", Role::Quiet);
                return;
            }
        };
        let which = if none.next.is_some() { "next" } else { "last" };
        self.say(
            &format!("The {which} step that failed is {step}: {key} goes there."),
            Role::Text,
        );
    }
}

/// What a yes does, and what it does not.
fn before_yes(exporting: &Exporting, offered: &CaseOffered) -> String {
    let is_minimal = exporting.files == CaseFiles::Minimal && !exporting.form.is_evaluation();
    if exporting.shrinks() {
        return format!(
            "Y runs the command over and over in the sandbox, without network, for {} at most, and \
             shows what can be left out. Nothing is written before you have seen it.",
            span(exporting.budget)
        );
    }
    if offered.cut().is_some() {
        return "What is kept failed twice. Nothing that is there is written over.".to_owned();
    }
    if is_minimal {
        return "It is no command: its file is all there is. Nothing is run, and nothing that is \
                there is written over."
            .to_owned();
    }
    "Nothing is run, and nothing that is there is written over.".to_owned()
}

/// A span of time that is offered.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds < 60 => format!("{seconds} s"),
        60 => "a minute".to_owned(),
        seconds => format!("{} minutes", seconds / 60),
    }
}
