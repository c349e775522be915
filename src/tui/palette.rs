//! What the `:` prompt offers for what is typed: a place, and the actions that are called
//! or described so.
//!
//! A pure function of the text and the table of actions. What a choice does is in `update`.

use super::action::{ACTIONS, Action, ActionId};
use super::fuzzy::{Found, find};
use crate::model::Place;

/// Something that Enter can do.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// Going to a place.
    Place(Place),
    /// Doing an action.
    Action(Offer),
}

/// An action, and where what is typed was found in it.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    /// The action.
    pub(super) action: &'static Action,
    /// Bytes of its name.
    pub(super) in_name: Vec<usize>,
    /// Bytes of its description.
    pub(super) in_description: Vec<usize>,
    score: i32,
}

/// The choices, the best first.
pub(super) fn choices(text: &str) -> Vec<Choice> {
    let text = text.trim();
    let place = place(text);
    // A number or a colon is never meant for a name.
    let is_plain = |c: char| c.is_alphabetic() || matches!(c, ' ' | '-');
    let offers = match &place {
        Some(_) if !text.chars().all(is_plain) => Vec::new(),
        _ => offers(text),
    };
    let place = place.into_iter().map(Choice::Place);
    place
        .chain(offers.into_iter().map(Choice::Action))
        .collect()
}

/// The place that a text names, with a `:` before it or without.
fn place(text: &str) -> Option<Place> {
    text.strip_prefix(':').unwrap_or(text).parse().ok()
}

fn offers(text: &str) -> Vec<Offer> {
    // One is here already.
    let others = ACTIONS
        .iter()
        .filter(|action| action.id != ActionId::Palette);
    let mut offers: Vec<Offer> = others.filter_map(|action| offer(text, action)).collect();
    // Where two fit as well, the shorter name has less that was not meant.
    offers.sort_by_key(|offer| (-offer.score, offer.action.name.len()));
    offers
}

/// The action, if every word is found in its name or its description. A name counts twice.
fn offer(text: &str, action: &'static Action) -> Option<Offer> {
    let mut offer = Offer {
        action,
        in_name: Vec::new(),
        in_description: Vec::new(),
        score: 0,
    };
    for word in text.split_whitespace() {
        let in_name = find(word, action.name);
        let in_description = find(word, action.description);
        let score = |found: &Option<Found>| found.as_ref().map_or(0, |found| found.score);
        match (2 * score(&in_name)).max(score(&in_description)) {
            0 => return None,
            score => offer.score += score,
        }
        offer
            .in_name
            .extend(in_name.into_iter().flat_map(|found| found.places));
        let places = in_description.into_iter().flat_map(|found| found.places);
        offer.in_description.extend(places);
    }
    (offer.score > 0).then_some(offer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(text: &str) -> Vec<&'static str> {
        let names = choices(text).into_iter().map(|choice| match choice {
            Choice::Place(_) => "a place",
            Choice::Action(offer) => offer.action.name,
        });
        names.collect()
    }

    #[test]
    fn every_action_is_first_when_it_is_called_by_its_name() {
        for action in ACTIONS
            .iter()
            .filter(|action| action.id != ActionId::Palette)
        {
            assert_eq!(offered(action.name).first(), Some(&action.name));
        }
    }

    #[test]
    fn words_find_actions_and_places_are_places() {
        let check = |text: &str, first: &str| {
            assert_eq!(offered(text).first().copied(), Some(first), "{text}");
        };
        check("41", "a place");
        check(":t:90s", "a place");
        check("@b2:3", "a place");
        check("fail", "a place");
        check("failure next", "next-failure");
        check("pf", "previous-file");
        check("pane shows", "copy");
        check("  ZOOM ", "zoom");
        assert_eq!(offered("41").len(), 1);
        assert_eq!(offered("mark:a").len(), 1);
        assert!(offered("fail").contains(&"next-failure"));
        assert!(offered("zzz").is_empty());
        assert!(offered("").is_empty());
    }
}
