//! How the transaction of the run is ended: what it would do is shown, a yes does it, and what
//! became of it is told.

use std::sync::Arc;

use crate::debugger::{Prospect, Summary, TransactionEnd, TransactionEnded, TransactionStanding};
use crate::text::SafeText;
use crate::tui::action::ActionId;
use crate::tui::app::{App, Tone};
use crate::tui::decision::{Decision, OpenPatch, Shown, Stage};
use crate::tui::held::Held;
use crate::tui::job::{Answered, Job, TransactionAnswer, TransactionJob};
use crate::tui::layout::scrolled;
use crate::tui::overlay::{Overlay, OverlaySort};
use crate::tui::panes::offset;

impl App {
    /// What has become of the transaction whose tape the run is, where that is known.
    pub(in crate::tui) fn transaction(&self) -> Option<&TransactionStanding> {
        self.standing.get()?.as_ref().ok()?.as_ref()
    }

    /// Asks what an end of the transaction would do, and shows it.
    pub(super) fn decide(&mut self, end: TransactionEnd) {
        // As long as nothing is known of the run, whoever answers finds out.
        let is_there = |summary: &Summary| summary.has_transactions;
        if !self.summary.get().is_none_or(is_there) {
            self.say(Tone::Plain, "this run has no transaction");
            return;
        }
        if let Some(Decision {
            stage: Stage::Ending(..),
            ..
        }) = self.decision
        {
            self.say(Tone::Plain, "the transaction is being ended already");
            return;
        }
        let ticket = self.ask_for(TransactionJob::Prospect(end));
        self.standing.outdate();
        self.decision = Some(Decision::new(end, ticket));
        let sort = OverlaySort::Decision(end);
        self.overlay = Some(Overlay { sort, top: 0 });
    }

    fn ask_for(&mut self, job: TransactionJob) -> crate::tui::held::Ticket {
        self.desk.ask(Job::Transaction(job))
    }

    /// A yes to what is shown.
    pub(super) fn confirm(&mut self) {
        let is_open = self.decision_is_open();
        let decision = self.decision.as_mut().filter(|_| is_open);
        let Some(decision) = decision else {
            self.say(
                Tone::Plain,
                "nothing is asked: C commits a transaction, U rolls one back",
            );
            return;
        };
        if decision.offered().is_none() {
            return;
        }
        let Stage::Shown(shown) =
            std::mem::replace(&mut decision.stage, Stage::Failed(SafeText::default()))
        else {
            return;
        };
        let job = TransactionJob::End(Arc::clone(&shown.prospect));
        let ticket = self.desk.ask(Job::Transaction(job));
        (decision.stage, decision.patch) = (Stage::Ending(ticket, shown), None);
        if let Some(overlay) = &mut self.overlay {
            overlay.top = 0;
        }
    }

    /// Whether the question, or what became of it, lies over the panes.
    pub(in crate::tui) fn decision_is_open(&self) -> bool {
        let sort = self.overlay.map(|overlay| overlay.sort);
        self.decision.is_some() && matches!(sort, Some(OverlaySort::Decision(_)))
    }

    /// What keys do to it that mean something else elsewhere; whether this one did.
    pub(super) fn press_in_decision(&mut self, action: Option<ActionId>) -> bool {
        if !self.decision_is_open() {
            return false;
        }
        match action {
            Some(ActionId::Open) => self.open_patch(),
            Some(ActionId::Close | ActionId::Back) => {
                let decision = self.decision.as_mut();
                if decision
                    .and_then(|decision| decision.patch.take())
                    .is_none()
                {
                    self.overlay = None;
                }
                self.choose_in_decision(0);
            }
            _ => return false,
        }
        true
    }

    /// Shows how the chosen path would change.
    fn open_patch(&mut self) {
        let Some(sheet) = self.sheet() else { return };
        let target = sheet.chosen.and_then(|row| sheet.targets.get(&row));
        let Some(decision) = self.decision.as_mut() else {
            return;
        };
        if let (Some(of), None, Some(_)) = (target, &decision.patch, decision.shown()) {
            let rows = Held::default();
            decision.patch = Some(OpenPatch { of: *of, rows });
            if let Some(overlay) = &mut self.overlay {
                overlay.top = 0;
            }
        }
    }

    /// Down by rows in the question; up when negative.
    pub(super) fn choose_in_decision(&mut self, delta: i64) {
        let Some(sheet) = self.sheet() else { return };
        let Some(overlay) = &mut self.overlay else {
            return;
        };
        let height = usize::from(sheet.inside().height);
        let Some(chosen) = sheet.chosen else {
            let here = sheet.first_row(overlay.top);
            overlay.top = sheet.first_row(offset(here, delta));
            return;
        };
        let rows = sheet.rows.len();
        let there = offset(chosen, delta).min(rows.saturating_sub(1));
        overlay.top = scrolled(overlay.top, Some(there), rows, height);
        if let Some(decision) = &mut self.decision {
            decision.chosen = Some(there);
        }
    }

    /// What the question, where it is asked, wants to know; and what nobody waits for any more.
    pub(in crate::tui) fn demand_decision(&mut self) {
        let is_open = self.decision_is_open();
        // To set a sheet costs much: whatever else is open needs none here.
        let sheet = if is_open { self.sheet() } else { None };
        let columns = sheet.map(|sheet| sheet.inside().width);
        let Some(decision) = &mut self.decision else {
            return;
        };
        if !is_open {
            // What was begun goes on, and is told; a question that nobody sees is none.
            if let Stage::Ending(..) = decision.stage {
                return;
            }
            self.decision = None;
            self.desk.ask(Job::Transaction(TransactionJob::Stop));
            return;
        }
        let prospect = decision.shown().map(|shown| Arc::clone(&shown.prospect));
        if let (Some(patch), Some(prospect), Some(columns)) =
            (&mut decision.patch, prospect, columns)
        {
            let of = patch.of;
            let job = TransactionJob::Patch {
                prospect,
                of,
                columns,
            };
            patch.rows.want(Job::Transaction(job), &mut self.desk);
        }
    }

    /// Takes an answer in that is about the transaction.
    pub(super) fn take_transaction(&mut self, generation: u64, answer: TransactionAnswer) {
        match answer {
            TransactionAnswer::Standing(standing) => {
                self.standing.take(generation, standing);
            }
            TransactionAnswer::View(rows) => {
                self.state.transaction.take(generation, rows);
            }
            TransactionAnswer::Prospect(prospect) => self.take_prospect(generation, prospect),
            TransactionAnswer::Counted(more) => {
                let decision = self.decision.as_mut();
                if let Some(Stage::Shown(shown)) = decision.map(|decision| &mut decision.stage)
                    && shown.counting.is_for(generation)
                {
                    shown.counts.extend(more);
                }
            }
            TransactionAnswer::Ended(ended) => self.take_end(generation, ended),
            TransactionAnswer::Patch(rows) => {
                let decision = self.decision.as_mut();
                let patch = decision.and_then(|decision| decision.patch.as_mut());
                if let Some(patch) = patch {
                    patch.rows.take(generation, rows);
                }
            }
        }
    }

    fn take_prospect(&mut self, generation: u64, prospect: Answered<Box<Prospect>>) {
        let Some(decision) = &mut self.decision else {
            return;
        };
        let Stage::Asking(ticket, remark) = &decision.stage else {
            return;
        };
        if !ticket.is_for(generation) {
            return;
        }
        decision.stage = match prospect {
            Ok(prospect) => Stage::Shown(Shown {
                prospect: Arc::new(*prospect),
                counts: Vec::new(),
                counting: *ticket,
                remark: *remark,
            }),
            Err(why) => Stage::Failed(why),
        };
    }

    fn take_end(&mut self, generation: u64, ended: Answered<Box<TransactionEnded>>) {
        let Some(decision) = &mut self.decision else {
            return;
        };
        let prospect = match &decision.stage {
            Stage::Ending(ticket, shown) if ticket.is_for(generation) => {
                Arc::clone(&shown.prospect)
            }
            _ => return,
        };
        decision.chosen = None;
        let end = decision.end;
        decision.stage = match ended.map(|ended| *ended) {
            Err(why) => Stage::Failed(why),
            Ok(TransactionEnded::Changed) => {
                let job = Job::Transaction(TransactionJob::Prospect(end));
                let remark = "It changed since it was shown; nothing was done. Look again:";
                Stage::Asking(self.desk.ask(job), Some(remark))
            }
            Ok(TransactionEnded::Conflicts(conflicts)) => Stage::Shown(Shown {
                prospect: Arc::new(Prospect {
                    conflicts,
                    ..(*prospect).clone()
                }),
                counts: Vec::new(),
                counting: self.desk.ask(Job::Transaction(TransactionJob::Stop)),
                remark: Some("Somebody was quicker than the answer."),
            }),
            Ok(ended) => Stage::Ended(prospect, ended),
        };
        if !self.decision_is_open() {
            self.tell_unseen_end(end);
        }
        self.standing.outdate();
        self.refresh();
    }

    /// Says in a line what became of it, to a person who looks at something else by now.
    fn tell_unseen_end(&mut self, end: TransactionEnd) {
        let Some(decision) = &self.decision else {
            return;
        };
        let (tone, words) = match &decision.stage {
            Stage::Ended(prospect, TransactionEnded::Committed(ended)) => {
                let workspace = &prospect.transaction.workspace;
                let tone = match (&ended.sent, ended.committed.late.is_empty()) {
                    (Ok(sent), true) if sent.stopped.is_none() => Tone::Plain,
                    _ => Tone::Warning,
                };
                (tone, ended.committed.in_words(workspace))
            }
            Stage::Ended(_, TransactionEnded::RolledBack(done)) => {
                let tone = match done.residue.as_slice() {
                    [] => Tone::Plain,
                    _ => Tone::Warning,
                };
                (tone, done.to_string())
            }
            Stage::Failed(why) => (Tone::Error, why.to_string()),
            _ => {
                let key = match end {
                    TransactionEnd::Commit => ActionId::Commit.key(),
                    TransactionEnd::RollBack => ActionId::RollBack.key(),
                };
                let words = format!("the transaction is still open; {key} says why");
                (Tone::Warning, words)
            }
        };
        self.say(tone, &words);
    }
}
