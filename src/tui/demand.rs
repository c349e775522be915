//! What each part of the screen wants to know, said anew after every event.

use std::ops::Range;
use std::sync::Arc;

use super::against::Against;
use super::app::{App, Keeping};
use super::difference::DiffRow;
use super::highlight::STRIDE;
use super::job::{Counterpart, ForkTreeJob, Job, Jump, Stop, TransactionJob};
use super::layout::{Layout, Pane};
use super::overlay::OverlaySort;
use super::panes::first_in_view;
use super::panes::{Faces, Grain, StateView, View};
use super::travel::{Arrival, Errand};
use super::view::conversation;
use crate::debugger::{Relation, Spot};
use crate::model::{Place, StepNumber, Target};

impl App {
    /// Asks for what the screen shows and does not know.
    pub(super) fn demand(&mut self) {
        let Some(layout) = self.layout() else {
            return;
        };
        if !self.has_run {
            return;
        }
        self.summary.want(Job::Summary, &mut self.desk);
        if self.keeping == Keeping::Kept {
            self.left.want(Job::Left, &mut self.desk);
        }
        if self
            .overlay
            .is_some_and(|overlay| overlay.sort == OverlaySort::Notices)
        {
            self.problems.want(Job::Problems, &mut self.desk);
        }
        if self.summary.get().is_some_and(|it| it.has_transactions) {
            let standing = Job::Transaction(TransactionJob::Standing);
            self.standing.want(standing, &mut self.desk);
        }
        self.demand_decision();
        self.demand_arrival();
        let Some(stop) = self.travel.stop else {
            return;
        };
        let spot = stop.spot;
        if let Some(against) = &mut self.against {
            against.want(stop.branch, &mut self.desk);
        }
        self.demand_timeline(&layout, stop);
        let base = self.travel.base();
        let changes = match self.counterpart() {
            Some(of) => Job::ChangesAgainst { at: spot, of },
            None => Job::Changes { base, at: spot },
        };
        self.diff.faces = self.faces();
        self.diff.changes.want(changes, &mut self.desk);
        if layout.pane(Pane::State).is_some() {
            self.demand_state(&layout, stop);
        }
        if let Some(area) = layout.content(Pane::Diff) {
            self.demand_diff(spot, area.width);
        }
        if !self.diff.changes.is_waiting() && !self.state.tree.is_waiting() {
            self.timeline.want_around(&mut self.desk);
        }
        if self.kept.is_none() {
            // The run is in the list of those that were opened from now on.
            self.keep();
        }
    }

    fn demand_arrival(&mut self) {
        if self.travel.under_way.is_some() {
            return;
        }
        if self.summary.current().is_none() {
            return;
        }
        let arrival = match self.travel.arrival {
            // What was left has to be known first.
            Some(Arrival::Left) => match self.left.current().map(|left| left.view.clone()) {
                None => return,
                Some(None) => Some(Arrival::Place(Place::END)),
                Some(Some(view)) => {
                    self.travel.arrival = None;
                    self.return_to(view);
                    return;
                }
            },
            _ => self.travel.arrival.take(),
        };
        self.travel.arrival = None;
        let place = match arrival {
            None | Some(Arrival::Left) => return,
            Some(Arrival::Place(place)) => place,
            Some(Arrival::Step(step)) => {
                let summary = self.summary.get();
                let current = summary.and_then(|summary| {
                    let mut branches = summary.branches.iter();
                    branches.find(|row| row.id == summary.current)
                });
                let last = current.map_or(0, |branch| branch.steps);
                let target = Target::Step(StepNumber(step.min(last)));
                Place {
                    branch: None,
                    target,
                }
            }
        };
        self.go_to_place(place, Errand::Arrive);
    }

    fn demand_timeline(&mut self, layout: &Layout, stop: Stop) {
        let Stop { branch, spot } = stop;
        let height = layout.content(Pane::Timeline).map_or(1, |area| area.height);
        if let Some((against, alignment)) = self.rows_shown() {
            let view = against.view(height);
            let step_at = |row: u32| alignment.steps_at(row).0.0;
            let view = step_at(view.start)..step_at(view.end) + 1;
            self.timeline.want(branch, view, &mut self.desk);
            if let Some(against) = &mut self.against {
                against.want_rows(height, &mut self.desk);
            }
        } else if let Some((steps, view)) = self.filtered(usize::from(height)) {
            let steps = steps.to_vec();
            self.timeline
                .want_of(branch, &steps, view, spot.step.0, &mut self.desk);
        } else {
            let folding = &self.timeline.folding;
            let last = folding.last_row(self.steps());
            let first = first_in_view(folding.row_of(spot.step.0), last, height);
            let view = first..first.saturating_add(u32::from(height.max(1)));
            if folding.is_empty() {
                self.timeline.want(branch, view, &mut self.desk);
            } else {
                self.timeline
                    .want_rows(branch, view, spot.step.0, &mut self.desk);
            }
        }
        let agents = Job::Agents { branch };
        self.timeline.agents.want(agents, &mut self.desk);
        let search = self.search.as_ref();
        let search = search.filter(|search| search.branch == branch);
        self.timeline.folding.count_hits(search);
        let columns = layout.strip.width;
        let strip = Job::Strip { branch, columns };
        self.timeline.strip.want(strip, &mut self.desk);
        let forks = Job::ForkTree(ForkTreeJob::Points { branch });
        self.timeline.forks.want(forks, &mut self.desk);
    }

    fn demand_state(&mut self, layout: &Layout, Stop { branch, spot: at }: Stop) {
        let area = layout.content(Pane::State).unwrap_or_default();
        let height = area.height;
        let of = self.counterpart();
        let Some(file) = &mut self.state.file else {
            let columns = area.width.saturating_sub(1);
            match self.state.view {
                StateView::Files => {}
                StateView::Conversation => {
                    let until = self.travel.is_inside.then_some(at.cursor.position);
                    let digits = self.summary.get().map_or(1, |summary| summary.events);
                    let columns = columns.saturating_sub(conversation::margin(digits));
                    let turns = &mut self.state.conversation;
                    turns.want(Stop { branch, spot: at }, until, columns, &mut self.desk);
                }
                StateView::Context => {
                    let context = Job::Context { at, columns };
                    self.state.context.want(context, &mut self.desk);
                    let run = Job::ContextRun { branch, columns };
                    self.state.context_run.want(run, &mut self.desk);
                }
                StateView::Environment => {
                    let environment = Job::Environment { at, columns };
                    self.state.environment.want(environment, &mut self.desk);
                }
                StateView::Transaction => {
                    let view = TransactionJob::View { at, columns };
                    let transaction = &mut self.state.transaction;
                    transaction.want(Job::Transaction(view), &mut self.desk);
                }
                StateView::Effects => {
                    let effects = Job::Effects { at, columns };
                    self.state.effects.want(effects, &mut self.desk);
                }
                StateView::Numbers => {
                    let numbers = Job::Statistics { branch };
                    self.state.statistics.want(numbers, &mut self.desk);
                }
            }
            // The tree waits for the changes: they say which directories are open.
            if let Some(changes) = self.diff.changes.current() {
                let expanded = self.state.expanded();
                let in_view = self.state.rows_around(usize::from(height));
                let list = Arc::clone(&changes.list);
                let tree = match of {
                    Some(of) => Job::TreeAgainst {
                        at,
                        of,
                        changes: list,
                        expanded,
                        in_view,
                    },
                    None => Job::Tree {
                        at,
                        since: changes.from.cursor,
                        changes: list,
                        expanded,
                        in_view,
                    },
                };
                self.state.tree.want(tree, &mut self.desk);
            }
            return;
        };
        file.columns = usize::from(area.width);
        let (at, path) = (at.cursor, file.path.clone());
        file.open.want(Job::File { at, path }, &mut self.desk);
        let path = file.path.clone();
        if let Some(blame) = &mut file.blame {
            blame.told.want(Job::Blame { at, path }, &mut self.desk);
        }
        let Some(open) = file.file().filter(|open| !open.document.is_empty()) else {
            return;
        };
        let document = open.document.clone();
        let top = file.first_row(usize::from(height));
        let end = (top + usize::from(height)).next_multiple_of(STRIDE);
        let lines = top / STRIDE * STRIDE..end.min(document.len());
        let path = file.path.clone();
        let paint = Job::Paint {
            document,
            path,
            lines,
        };
        file.painted.want(paint, &mut self.desk);
    }

    fn demand_diff(&mut self, at: Spot, width: u16) {
        self.diff.columns = usize::from(width);
        let (view, of) = (self.diff.effective_view(), self.counterpart());
        if view == View::Files {
            if let Some(changes) = self.diff.changes.current()
                && let Some(change) = self.diff.selected_change()
            {
                let (from, to) = (changes.from.cursor, at.cursor);
                let diff = match of {
                    Some(of) => Job::DiffAgainst { at: to, of, change },
                    None => Job::Diff { from, to, change },
                };
                self.diff.diff.want(diff, &mut self.desk);
            }
            if self.diff.grain == Grain::Paths
                && let Some(open) = self.diff.open()
            {
                let sides = open.sides.clone();
                let columns = width.saturating_sub(1);
                let by_path = Job::DiffByPath { sides, columns };
                self.diff.by_path.want(by_path, &mut self.desk);
            }
            self.demand_diff_colors();
            return;
        }
        if view != View::Both {
            self.diff.diff.want_nothing();
        }
        if let Some(of) = of.filter(|_| view == View::Both) {
            let difference = Job::StepAgainst { at, of };
            self.diff.diff.want(difference, &mut self.desk);
            return;
        }
        // Text stands a column away from the frame.
        let columns = width.saturating_sub(1);
        let is_only_right = self.against.as_ref().is_some_and(Against::is_only_right);
        if let Some(of) = of.filter(|_| is_only_right && view == View::Step) {
            let detail = Job::RightDetail { of, columns };
            self.diff.detail.want(detail, &mut self.desk);
            return;
        }
        if at.step.0 == 0 {
            return;
        }
        if view == View::Request {
            let base = self.travel.base();
            let request = Job::Request { at, base, columns };
            self.diff.request.want(request, &mut self.desk);
            return;
        }
        self.diff
            .detail
            .want(Job::Detail { at, columns }, &mut self.desk);
        if view == View::Step && self.diff.grain == Grain::Paths {
            let base = self.travel.base();
            let like = Job::Like { at, base, columns };
            self.diff.like.want(like, &mut self.desk);
        }
        if view == View::Event
            && let Some(event) = self.current_event(at)
        {
            let seq = event.seq;
            self.diff
                .raw
                .want(Job::Raw { seq, columns }, &mut self.desk);
        }
    }

    /// The step of the other run beside the playhead, while this one is held against it.
    pub(super) fn counterpart(&self) -> Option<Counterpart> {
        self.against.as_ref()?.counterpart()
    }

    /// Whether the row the playhead is in has two steps that differ.
    fn faces(&self) -> Faces {
        let pair = self.against.as_ref().and_then(Against::pair);
        match pair.map(|pair| pair.relation) {
            Some(Relation::Changed(_)) => Faces::Two,
            _ => Faces::One,
        }
    }

    /// The colours of the lines of the difference that are in view, in strides.
    fn demand_diff_colors(&mut self) {
        let (height, form) = (self.height_of(Pane::Diff), self.diff_form());
        let first = self.diff.first_row(height, form);
        let Some(open) = self.diff.open().filter(|_| self.diff.paths().is_none()) else {
            return;
        };
        let mut lines: [Option<Range<usize>>; 2] = [None, None];
        for line in open.rows(form, first).take(height).flat_map(DiffRow::lines) {
            for (range, number) in lines.iter_mut().zip([line.row.old, line.row.new]) {
                if let Some(number) = number {
                    let start = range.as_ref().map_or(number - 1, |range| range.start);
                    *range = Some(start..number);
                }
            }
        }
        let mut sides = open.sides.iter();
        let lines = lines.map(|range| {
            let range = range.unwrap_or_default();
            let last = sides.next().map_or(0, |document| document.len());
            let end = range.end.next_multiple_of(STRIDE).min(last);
            (range.start / STRIDE * STRIDE).min(end)..end
        });
        if lines.iter().all(Range::is_empty) {
            return;
        }
        let paint = Job::PaintDiff {
            sides: open.sides.clone(),
            path: open.view.change.path.clone(),
            lines,
        };
        self.diff.painted.want(paint, &mut self.desk);
    }

    /// The event the playhead stands after, once its step is known.
    pub(super) fn current_event(&self, at: Spot) -> Option<&crate::debugger::EventRow> {
        let step = self.diff.detail.current()?.as_ref().ok()?;
        let events = &step.detail.events;
        let is_past =
            |event: &&crate::debugger::EventRow| event.spot.cursor.position <= at.cursor.position;
        events.iter().rfind(is_past).or(events.first())
    }

    /// Asks where a place is. Places that need no tape are known at once.
    pub(super) fn go_to_place(&mut self, place: Place, errand: Errand) {
        self.depart(Jump::Place(place), errand);
    }
}
