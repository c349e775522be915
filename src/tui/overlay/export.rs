//! What is said of a test case: what a person may choose of it, what it would hold and leave
//! out, how far it is, what became of it.

use crate::debugger::{CaseOffer, ExportedCase, Uncertain};
use crate::text::{Align, SafeText, human, width};
use crate::tui::action::ActionId;
use crate::tui::exporting::{Exporting, Stage, Wish, case_command};
use crate::tui::job::{CaseOffered, NoCase};
use crate::tui::theme::Role;

/// Columns of what a line is about.
const NAME: usize = 14;
/// Things that are not known, of which each is told.
const MOST_DOUBTS: usize = 8;
/// Columns of a size.
const SIZE: usize = 6;

/// The row that keys change.
type Page = super::page::Page<Option<usize>>;

/// The rows about a test case in so many columns.
pub(super) fn page(exporting: &Exporting, spinner: &'static str, columns: usize) -> Page {
    let mut page = Page::new(columns);
    match &exporting.stage {
        Stage::Preparing(_) => {
            page.say(
                &format!("Keep the failed call of step {}?", exporting.at.step),
                Role::Strong,
            );
            page.wishes(exporting, None);
            page.say(&format!("{spinner} looking at its files"), Role::Quiet);
        }
        Stage::Shown(offered) => page.shown(exporting, offered),
        Stage::Writing(_, _, progress) => {
            let percent = progress.map_or_else(String::new, |it| format!("  {} %", it.percent()));
            page.say(&format!("{spinner} writing it{percent}"), Role::Strong);
            page.say("Esc stops it; nothing of it is left then.", Role::Quiet);
        }
        Stage::Written(done) => page.written(done),
        Stage::None(none) => page.none(none),
    }
    page
}

impl Page {
    /// What a person may choose, with the words for how it is now.
    fn wishes(&mut self, exporting: &Exporting, offered: Option<&CaseOffered>) {
        self.blank();
        for wish in exporting.wishes() {
            if *wish == exporting.chosen {
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
        let offer = &offered.offer;
        if let Some(mistake) = &exporting.mistake {
            self.say(&format!("✗ {mistake}"), Role::Failed);
            self.say("Nothing was written.", Role::Failed);
            self.blank();
        }
        let words = format!(
            "Keep the failed call of step {} as a test case?",
            offer.step
        );
        self.say(&words, Role::Strong);
        if offer.step != exporting.at.step {
            let words = format!("Step {} asked for it.", exporting.at.step);
            self.say(&words, Role::Quiet);
        }
        self.wishes(exporting, Some(offered));
        self.holds(offer);
        if !offer.doubts.is_empty() {
            self.blank();
            self.doubts(&offer.doubts);
        }
        self.blank();
        self.say(
            "Nothing is run, and nothing that is there is written over.",
            Role::Quiet,
        );
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
        self.tell(("result", NAME), &SafeText::line(&words), Role::Failed);
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
        let files = human::plural(done.files as u64, "file", "files");
        let words = format!("Written: step {} ({}) with {files}.", done.step, done.tool);
        self.say(&words, Role::Strong);
        self.blank();
        let directory = done.directory.to_string_lossy();
        self.tell(
            ("it lies in", NAME),
            &SafeText::line(&directory),
            Role::Text,
        );
        self.tell(
            ("to run it", NAME),
            &case_command(&done.directory),
            Role::Accent,
        );
        self.doubts(&done.doubts);
        self.blank();
        let copy = ActionId::Copy.key();
        self.say(&format!("{copy} copies the command."), Role::Quiet);
    }

    fn none(&mut self, none: &NoCase) {
        self.say(none.why.as_str(), Role::Strong);
        self.blank();
        self.say(
            "A test case is made of a tool call that failed, or of the turn of a model whose next \
             call failed.",
            Role::Text,
        );
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
