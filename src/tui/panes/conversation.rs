//! The conversation up to the playhead: a window of turns around the one that is chosen.

use std::collections::BTreeSet;

use super::state::offset;
use crate::tui::conversation::TurnLines;
use crate::tui::held::{Desk, Held};
use crate::tui::job::{Job, Stop};

/// The conversation.
#[derive(Debug, Default)]
pub(in crate::tui) struct ConversationPane {
    /// The turns that are held.
    pub(in crate::tui) turns: Held<Vec<TurnLines>>,
    /// The turn that a person chose, by the number of its step; else the newest.
    chosen: Option<u32>,
    /// The turns that are shown whole.
    whole: BTreeSet<u32>,
    /// Lines of the chosen turn above the first one in view, where it is longer than the pane.
    inside: usize,
}

/// A line in view: the number of its turn, and which of its lines.
pub(in crate::tui) type PlacedLine = (u32, usize);

/// Turns are asked for in blocks of this many.
const BLOCK: u32 = 32;

impl ConversationPane {
    /// Says which turns are in view: a block around the chosen one, so that the next moves
    /// find theirs here.
    pub(in crate::tui) fn want(
        &mut self,
        stop: Stop,
        until: Option<u32>,
        columns: u16,
        desk: &mut Desk,
    ) {
        let chosen = self.chosen(stop.spot.step.0);
        let first = (chosen / BLOCK).saturating_sub(2) * BLOCK;
        let steps = first.max(1)..(chosen / BLOCK + 2) * BLOCK;
        let conversation = Job::Conversation {
            branch: stop.branch,
            whole: self.whole.range(steps.clone()).copied().collect(),
            steps,
            until,
            columns,
        };
        self.turns.want(conversation, desk);
    }

    /// The chosen turn, with the playhead at this step.
    pub(in crate::tui) fn chosen(&self, here: u32) -> u32 {
        self.chosen.filter(|step| *step <= here).unwrap_or(here)
    }

    /// The newest turn is the chosen one again.
    pub(in crate::tui) fn choose_newest(&mut self) {
        (self.chosen, self.inside) = (None, 0);
    }

    /// Chooses a turn.
    pub(in crate::tui) fn choose(&mut self, step: u32) {
        (self.chosen, self.inside) = (Some(step), 0);
    }

    /// Shows the chosen turn whole, or its first lines.
    pub(in crate::tui) fn toggle_whole(&mut self, here: u32) {
        let step = self.chosen(here);
        self.choose(step);
        if !self.whole.remove(&step) {
            self.whole.insert(step);
        }
    }

    /// Whether the chosen turn is shown whole.
    pub(in crate::tui) fn is_whole(&self, here: u32) -> bool {
        self.whole.contains(&self.chosen(here))
    }

    /// A turn, if it is held.
    pub(in crate::tui) fn turn(&self, number: u32) -> Option<&TurnLines> {
        let turns = self.turns.get()?;
        let index = turns.binary_search_by_key(&number, |turn| turn.number);
        turns.get(index.ok()?)
    }

    fn len_of(&self, number: u32) -> usize {
        self.turn(number).map_or(1, |turn| turn.lines.len())
    }

    /// Goes to another turn; through the lines of one that is longer than the pane.
    pub(in crate::tui) fn move_by(&mut self, delta: i64, here: u32, height: usize) {
        let step = self.chosen(here);
        let most = self.len_of(step).saturating_sub(height);
        let inside = offset(self.inside.min(most), delta).min(most);
        if inside != self.inside.min(most) {
            self.inside = inside;
            return;
        }
        let there = offset(step as usize, delta).clamp(1, here.max(1) as usize);
        let there = u32::try_from(there).unwrap_or(here);
        if there != step {
            self.choose(there);
            if delta < 0 {
                self.inside = usize::MAX;
            }
        }
    }

    /// The lines in view, from the top: the chosen turn, and what stands before and after
    /// it up to the playhead. The newest stands at the bottom.
    pub(in crate::tui) fn in_view(&self, here: u32, height: usize) -> Vec<PlacedLine> {
        let chosen = self.chosen(here);
        let length = self.len_of(chosen);
        if here == 0 || height == 0 {
            return Vec::new();
        }
        if length >= height {
            let first = self.inside.min(length - height);
            return (first..first + height).map(|line| (chosen, line)).collect();
        }
        let room = height - length;
        let lines = |number: u32| (0..self.len_of(number)).map(move |line| (number, line));
        let after: Vec<PlacedLine> = (chosen + 1..=here).flat_map(lines).take(room).collect();
        let before = (1..chosen).rev().flat_map(|number| lines(number).rev());
        let mut before: Vec<PlacedLine> = before.take(room).collect();
        let below = after.len().min((room / 2).max(room - before.len()));
        before.truncate(room - below);
        before.reverse();
        before.extend(lines(chosen));
        before.extend(after.into_iter().take(below));
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::conversation::{TurnLine, TurnTone};

    /// Turns of two lines each, and the fifth of nine.
    fn pane() -> ConversationPane {
        let line = TurnLine {
            tone: TurnTone::Text,
            text: crate::text::SafeText::default(),
        };
        let turns = (1..=10).map(|number| TurnLines {
            number,
            lines: vec![line.clone(); if number == 5 { 9 } else { 2 }],
            depth: 0,
        });
        let mut pane = ConversationPane::default();
        let mut desk = Desk::default();
        let stop = Stop {
            branch: 0,
            spot: crate::debugger::Spot::default(),
        };
        pane.want(stop, None, 80, &mut desk);
        let generation = desk.take_requests()[0].generation;
        assert!(pane.turns.take(generation, turns.collect()));
        pane
    }

    #[test]
    fn the_newest_turn_stands_at_the_bottom_and_a_long_one_is_walked_through() {
        let mut pane = pane();
        let view = |pane: &ConversationPane| pane.in_view(8, 6);
        assert_eq!(
            view(&pane),
            [(6, 0), (6, 1), (7, 0), (7, 1), (8, 0), (8, 1)]
        );
        pane.move_by(-1, 8, 6);
        assert_eq!(
            view(&pane),
            [(6, 0), (6, 1), (7, 0), (7, 1), (8, 0), (8, 1)]
        );
        pane.move_by(-2, 8, 6);
        assert_eq!(view(&pane).first(), Some(&(5, 3)), "from its end");
        pane.move_by(-2, 8, 6);
        assert_eq!(view(&pane).first(), Some(&(5, 1)));
        pane.move_by(-1, 8, 6);
        pane.move_by(-1, 8, 6);
        assert_eq!(pane.chosen(8), 4);
        pane.move_by(i64::MIN, 8, 6);
        assert_eq!(view(&pane).first(), Some(&(1, 0)));
        pane.move_by(i64::MAX, 8, 6);
        assert_eq!(view(&pane).last(), Some(&(8, 1)));
        assert_eq!(pane.in_view(0, 6), []);
    }
}
