//! What the mouse does: it focuses and chooses what it points at, its wheel scrolls that,
//! on the strip it moves the playhead, and it drags scrollbars.
//!
//! Nothing needs it: whatever it does, a key does, too.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use crate::tui::action::ActionId;
use crate::tui::app::App;
use crate::tui::effect::Effect;
use crate::tui::job::Stop;
use crate::tui::keymap::Pending;
use crate::tui::layout::{Layout, Pane, Sharing};
use crate::tui::panes::{StateView, View};
use crate::tui::scroll::{Drag, Extent};
use crate::tui::view::{mark_at, marks_area, palette_choice_at, stretches, tab_at, version_at};

/// Rows that a notch of the wheel scrolls; in the timeline it is one step.
const NOTCH: i64 = 3;

impl App {
    /// Takes in what the mouse did. While something is typed, only what is offered for it can
    /// be pointed at.
    pub(super) fn take_mouse(&mut self, event: MouseEvent, effects: &mut Vec<Effect>) {
        let Some(layout) = self.layout() else {
            return;
        };
        let place = Position::new(event.column, event.row);
        if self.draft().is_some() {
            return;
        }
        if self.picker.is_some() && self.overlay.is_none() {
            self.point_at_runs(&layout, event.kind, place);
            return;
        }
        if self.prompt.is_some() {
            if event.kind == MouseEventKind::Down(MouseButton::Left) {
                self.press_choice(&layout, place, effects);
            }
            return;
        }
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) if self.press_mark(&layout, place) => {}
            MouseEventKind::Down(MouseButton::Left) => {
                self.message = None;
                self.pending = Pending::Nothing;
                self.press_at(&layout, place);
            }
            MouseEventKind::Drag(MouseButton::Left) => match self.drag {
                Some(Drag::Strip) => self.scrub(layout.strip, place.x),
                Some(Drag::Bar(pane, grip)) => self.drag_bar(pane, grip, place.y),
                None => {}
            },
            MouseEventKind::Up(_) => self.drag = None,
            MouseEventKind::ScrollDown => self.turn_wheel(&layout, place, 1),
            MouseEventKind::ScrollUp => self.turn_wheel(&layout, place, -1),
            MouseEventKind::ScrollRight => self.tilt_wheel(&layout, place, 1),
            MouseEventKind::ScrollLeft => self.tilt_wheel(&layout, place, -1),
            _ => {}
        }
    }

    /// Chooses a run; the chosen one is opened. The wheel chooses, too.
    fn point_at_runs(&mut self, layout: &Layout, kind: MouseEventKind, place: Position) {
        let area = layout.picker();
        let Some(picker) = &mut self.picker else {
            return;
        };
        match kind {
            MouseEventKind::Down(MouseButton::Left) if area.contains(place) => {
                let height = usize::from(area.height);
                let row = picker.first_row(height) + usize::from(place.y - area.y);
                if picker.chosen_row() == Some(row) {
                    self.open_chosen_run();
                } else {
                    picker.choose(row, height);
                }
            }
            MouseEventKind::ScrollDown => self.choose_run_by(NOTCH),
            MouseEventKind::ScrollUp => self.choose_run_by(-NOTCH),
            _ => {}
        }
    }

    /// Does what the palette offers in a row.
    fn press_choice(&mut self, layout: &Layout, place: Position, effects: &mut Vec<Effect>) {
        let offered = palette_choice_at(self, layout, place);
        if let Some((prompt, index)) = self.prompt.as_mut().zip(offered) {
            prompt.chosen = index;
            self.message = None;
            self.enter(effects);
        }
    }

    /// Goes to a mark in the list behind the key that waits for its letter. Returns whether the
    /// list is there: what lies below it cannot be touched.
    fn press_mark(&mut self, layout: &Layout, place: Position) -> bool {
        let Pending::Letter(action) = self.pending else {
            return false;
        };
        if !marks_area(self, layout).contains(place) {
            return false;
        }
        let letter = mark_at(self, layout, place);
        if let Some(letter) = letter.filter(|_| action == ActionId::GoToMark) {
            self.pending = Pending::Nothing;
            self.message = None;
            self.go_to_mark(letter);
        }
        true
    }

    fn press_at(&mut self, layout: &Layout, place: Position) {
        self.drag = None;
        if let Some(sheet) = self.sheet() {
            if !sheet.area.contains(place) {
                self.overlay = None;
            } else if self.fork_tree_is_listed() && sheet.inside().contains(place) {
                self.click_in_fork_tree(&sheet, place.y);
            }
        } else if layout.strip.contains(place) {
            self.drag = Some(Drag::Strip);
            if let Some(here) = self.travel.stop {
                self.travel.keep(here);
            }
            self.scrub(layout.strip, place.x);
        } else if let Some((pane, extent)) = self.bar_at(place) {
            self.focus(pane);
            self.take_bar(pane, &extent, place.y);
        } else if let Some(tab) = tab(self, layout, place) {
            self.focus(tab);
        } else if let Some(pane) = pane_at(layout, place) {
            let was_focused = self.focus == pane;
            self.focus(pane);
            let content = layout.content(pane).filter(|area| area.contains(place));
            if let Some(area) = content {
                self.press_row(pane, place, area, was_focused);
            }
        }
    }

    /// The pane whose scrollbar stands here.
    fn bar_at(&self, place: Position) -> Option<(Pane, Extent)> {
        let mut panes = Pane::ALL.into_iter();
        panes.find_map(|pane| {
            let extent = self.extent(pane)?;
            extent.bar.contains(place).then_some((pane, extent))
        })
    }

    /// Takes hold of a scrollbar: of its thumb where it is, or else the thumb comes here.
    fn take_bar(&mut self, pane: Pane, extent: &Extent, row: u16) {
        if let Some(here) = self.travel.stop.filter(|_| pane == Pane::Timeline) {
            self.travel.keep(here);
        }
        let (thumb, at) = (extent.thumb(), row - extent.bar.y);
        if thumb.contains(&at) {
            self.drag = Some(Drag::Bar(pane, at - thumb.start));
        } else {
            let grip = (thumb.end - thumb.start) / 2;
            self.drag = Some(Drag::Bar(pane, grip));
            self.drag_bar(pane, grip, row);
        }
    }

    fn drag_bar(&mut self, pane: Pane, grip: u16, row: u16) {
        if let Some(extent) = self.extent(pane) {
            let start = row.saturating_sub(extent.bar.y).saturating_sub(grip);
            self.scroll_to(pane, &extent, extent.first_at(start));
        }
    }

    /// Chooses a row of a pane. The chosen row of the focused tree is opened.
    fn press_row(&mut self, pane: Pane, place: Position, area: Rect, was_focused: bool) {
        let row = usize::from(place.y - area.y);
        let height = usize::from(area.height);
        match pane {
            Pane::Timeline => self.press_step(row, area.height),
            Pane::State if self.state.file.is_some() => {
                self.press_version(place, area);
                self.press_line(row, height);
            }
            Pane::State if self.state.view == StateView::Conversation => {
                self.press_turn(row, height);
            }
            Pane::State if self.state.view == StateView::Context => {
                self.press_in_context(row, height, was_focused);
            }
            Pane::State if self.state.view != StateView::Files => {}
            Pane::State => {
                let index = self.state.top(height) + row;
                if was_focused && self.state.selected_index() == Some(index) {
                    self.open_selected();
                } else if index < self.state.rows().len() {
                    self.state.select(index, height);
                }
            }
            Pane::Diff if self.diff.effective_view() == View::Files => {
                let index = self.diff.list_top(height) + row;
                let here = self.diff.selected_index();
                if row < self.diff.list_height(height) && here != Some(index) {
                    let here = here.unwrap_or(0);
                    self.select_file(index as i64 - here as i64);
                } else if self.shows_lines() {
                    let form = self.diff_form();
                    let below = row.checked_sub(self.diff.fixed_height(height));
                    let row = below.map(|below| self.diff.first_row(height, form) + below);
                    let fold = row.and_then(|row| self.diff.open()?.fold_at(form, row));
                    if let Some(fold) = fold {
                        self.diff.open_fold(fold);
                    }
                }
            }
            Pane::Diff => {}
        }
    }

    /// Goes to the version of the open file that was touched.
    fn press_version(&mut self, place: Position, area: Rect) {
        let spot = version_at(self, area, place);
        if let Some((stop, spot)) = self.travel.stop.zip(spot) {
            self.travel.give_up();
            self.jump(Stop { spot, ..stop });
        }
    }

    /// Chooses a turn of the conversation; the chosen one is shown whole, or not.
    fn press_turn(&mut self, row: usize, height: usize) {
        let here = self.travel.spot().map_or(0, |spot| spot.step.0);
        let conversation = &mut self.state.conversation;
        let view = conversation.in_view(here, height);
        match view.get(row).map(|(number, _)| *number) {
            Some(number) if number == conversation.chosen(here) => conversation.toggle_whole(here),
            Some(number) => conversation.choose(number),
            None => {}
        }
    }

    /// Chooses a row of the context; the chosen one leads to its step.
    fn press_in_context(&mut self, row: usize, height: usize, was_focused: bool) {
        let head = self.state.plot_height(height);
        let Some(below) = row.checked_sub(head) else {
            return;
        };
        let columns = self.width_of(Pane::State);
        let index = self.state.first_row(height, columns) + below;
        if was_focused && index == self.state.context_index() {
            self.open_context_row();
        } else if index < self.state.context_rows().count() {
            self.state.context_here = index;
        }
    }

    fn press_step(&mut self, row: usize, height: u16) {
        let Some(here) = self.travel.spot() else {
            return;
        };
        if let Some((against, _)) = self.rows_shown() {
            let row = against.view(height).nth(row);
            if let Some(row) = row.filter(|row| *row != against.row || self.travel.is_inside) {
                self.jump_to_row(row);
            }
            return;
        }
        let step = self.listed_steps(height).get(row).copied();
        // The row that was chosen already: a fold is opened.
        if step == self.listed_step()
            && let Some(agent) = self.fold_here().map(|fold| fold.agent)
        {
            self.toggle_fold(agent);
        } else if let Some(step) = step.filter(|step| *step != here.step.0 || self.travel.is_inside)
        {
            self.jump_to_step(step);
        }
    }

    /// The playhead goes where the strip is touched: the whole run, left to right.
    fn scrub(&mut self, strip: Rect, column: u16) {
        if let Some((_, alignment)) = self.rows_shown() {
            let columns = stretches(alignment, strip.width);
            let last = columns.len().saturating_sub(1);
            let column = usize::from(column.saturating_sub(strip.x)).min(last);
            let rows = columns.get(column).cloned().unwrap_or_default();
            self.travel.give_up();
            self.go_to_row(if column == last {
                rows.end - 1
            } else {
                rows.start
            });
            return;
        }
        let cells = self.timeline.strip.get().map_or(&[][..], Vec::as_slice);
        let last = cells.len().saturating_sub(1);
        let column = usize::from(column.saturating_sub(strip.x)).min(last);
        let Some(cell) = cells.get(column) else {
            return;
        };
        let (first_step, last_step) = cell.steps;
        let step = if column == last {
            last_step
        } else {
            first_step
        };
        self.travel.give_up();
        if self.travel.spot().is_some_and(|spot| spot.step.0 != step) || self.travel.is_inside {
            self.step_to(step);
        }
    }

    fn turn_wheel(&mut self, layout: &Layout, place: Position, notches: i64) {
        if self.overlay.is_some() {
            self.move_by(NOTCH * notches);
        } else if layout.strip.contains(place) {
            self.move_in(Pane::Timeline, notches);
        } else if let Some(pane) = pane_at(layout, place) {
            let rows = match pane {
                Pane::Timeline => notches,
                Pane::State | Pane::Diff => NOTCH * notches,
            };
            self.move_in(pane, rows);
        }
    }

    fn tilt_wheel(&mut self, layout: &Layout, place: Position, notches: i64) {
        if let Some(pane) = pane_at(layout, place).filter(|_| self.overlay.is_none()) {
            self.scroll_sideways_in(pane, notches);
        }
    }
}

fn pane_at(layout: &Layout, place: Position) -> Option<Pane> {
    let holds = |pane: &Pane| layout.pane(*pane).is_some_and(|area| area.contains(place));
    Pane::ALL.into_iter().find(holds)
}

fn tab(app: &App, layout: &Layout, place: Position) -> Option<Pane> {
    match layout.sharing {
        Sharing::Tabbed(row) if row.contains(place) => tab_at(app, row, place.x),
        _ => None,
    }
}
