//! From keys to actions: counts, prefixes, and the table turned round.
//!
//! `12l` is a count and a key, `ma` a key and a letter. `1`, `2` and `3` choose a pane
//! when they are typed alone and start a count when a digit follows (so does `0`). Nothing
//! here knows what an action does.

use std::collections::HashMap;

use crossterm::event::KeyCode;

use super::action::{ACTIONS, ActionId, Argument};
use super::key::Key;

/// Which key asks for which action.
#[derive(Debug)]
pub(super) struct Keymap(HashMap<Key, (ActionId, Argument)>);

impl Default for Keymap {
    fn default() -> Self {
        let rows = ACTIONS
            .iter()
            .flat_map(|action| action.keys().map(|key| (key, (action.id, action.argument))));
        Self(rows.collect())
    }
}

/// What has been typed of something longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pending {
    /// Nothing.
    #[default]
    Nothing,
    /// Digits.
    Count(u32),
    /// A digit that chose a pane and may still become a count.
    PaneOrCount(u32),
    /// A key that waits for a letter.
    Letter(ActionId),
}

/// What a key came to, together with what was typed before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// An action, and how often; `None` where no count was typed.
    Action(ActionId, Option<u32>),
    /// An action with its letter.
    Letter(ActionId, char),
    /// Something longer has begun.
    More,
    /// The digit before this one was no choice of a pane: it began a count.
    NotAPane,
    /// What was begun is given up.
    Cancelled,
    /// Nothing that means anything here.
    Nothing,
}

/// No count is larger: it is far more steps than a tape can hold.
const MAX_COUNT: u32 = 999_999_999;

impl Keymap {
    /// The action that a key alone asks for.
    pub(super) fn action(&self, key: Key) -> Option<ActionId> {
        self.0.get(&key).map(|(action, _)| *action)
    }

    /// Takes the next key.
    pub(super) fn press(&self, pending: &mut Pending, key: Key) -> Typed {
        let before = std::mem::take(pending);
        if let Pending::Letter(action) = before {
            return match key.character() {
                Some(letter) if letter.is_ascii_alphabetic() => Typed::Letter(action, letter),
                _ => Typed::Cancelled,
            };
        }
        if let Some(digit) = key.character().and_then(|c| c.to_digit(10)) {
            return self.press_digit(pending, before, digit, key);
        }
        let count = match before {
            Pending::Count(count) => Some(count.max(1)),
            _ => None,
        };
        match self.0.get(&key) {
            Some(_) if count.is_some() && key.code() == KeyCode::Esc => Typed::Cancelled,
            Some((action, Argument::Letter)) => {
                *pending = Pending::Letter(*action);
                Typed::More
            }
            Some((action, Argument::Count)) => Typed::Action(*action, count),
            Some((action, Argument::None)) => Typed::Action(*action, None),
            None if count.is_some() => Typed::Cancelled,
            None => Typed::Nothing,
        }
    }

    fn press_digit(&self, pending: &mut Pending, before: Pending, digit: u32, key: Key) -> Typed {
        let longer = |count: u32| {
            count
                .saturating_mul(10)
                .saturating_add(digit)
                .min(MAX_COUNT)
        };
        match before {
            Pending::Count(count) => {
                *pending = Pending::Count(longer(count));
                Typed::More
            }
            Pending::PaneOrCount(first) => {
                *pending = Pending::Count(longer(first));
                Typed::NotAPane
            }
            Pending::Nothing | Pending::Letter(_) => {
                if let Some((action, _)) = self.0.get(&key) {
                    *pending = Pending::PaneOrCount(digit);
                    Typed::Action(*action, None)
                } else {
                    *pending = Pending::Count(digit);
                    Typed::More
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types the keys and returns what each came to.
    fn typed(keys: &str) -> Vec<Typed> {
        let keymap = Keymap::default();
        let mut pending = Pending::default();
        keys.split(' ')
            .map(|key| keymap.press(&mut pending, key.parse().unwrap()))
            .collect()
    }

    #[test]
    fn counts_panes_and_letters_are_told_apart() {
        use ActionId::{Down, Help, SetMark, StatePane, StepForward, TimelinePane};
        use Typed::{Action, Cancelled, Letter, More, NotAPane, Nothing};
        let check = |keys: &str, expected: &[Typed]| assert_eq!(typed(keys), expected, "{keys}");
        check("l", &[Action(StepForward, None)]);
        check("Right", &[Action(StepForward, None)]);
        check(
            "5 l l",
            &[
                More,
                Action(StepForward, Some(5)),
                Action(StepForward, None),
            ],
        );
        let twelve = [
            Action(TimelinePane, None),
            NotAPane,
            Action(StepForward, Some(12)),
        ];
        check("1 2 l", &twelve);
        check("0 2 l", &[More, More, Action(StepForward, Some(2))]);
        check("2 j", &[Action(StatePane, None), Action(Down, None)]);
        check("4 ?", &[More, Action(Help, None)]);
        check("4 Esc", &[More, Cancelled]);
        check("m a", &[More, Letter(SetMark, 'a')]);
        check("m Esc", &[More, Cancelled]);
        check("m 1", &[More, Cancelled]);
        check("Ctrl-q", &[Nothing]);
        check("9 9 9 9 9 9 9 9 9 9 9 l", &{
            let mut all = [More; 12];
            all[11] = Action(StepForward, Some(MAX_COUNT));
            all
        });
    }
}
