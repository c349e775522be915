//! Searching as people do it: while typing, from hit to hit, hits alone.

use jukebox::debugger::HitRow;
use jukebox::model::{self, Seq, Unit};
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::job::{Answer, Job, Progress, Reply};
use jukebox::tui::key::Key;

use crate::fake::{Fake, text};
use crate::queries::{MISTAKES, QUERIES};
use crate::{SIZES, Screen, demo};

/// The second row of the frame: the strip.
fn strip(screen: &Screen<impl crate::Run>) -> String {
    screen.text().lines().nth(1).unwrap().to_owned()
}

#[test]
fn hits_are_counted_and_stand_on_the_strip_while_the_query_is_typed() {
    for (columns, rows) in [(160, 45), (100, 30), (60, 20)] {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys("g");
        let before = screen.text();
        screen.keys("/ f");
        assert_eq!(strip(&screen).matches('•').count(), 5);
        if columns > 60 {
            screen.shows("search /f");
            screen.shows(" 5 hits");
        }
        assert_eq!(screen.step(), 1, "nothing moves until it is entered");
        screen.keys("o o Backspace Enter");
        screen.shows("/fo  1/5");
        assert_eq!(screen.step(), 40);
        screen.keys("Esc g");
        assert_eq!(screen.text(), before);
    }
}

#[test]
fn hits_stand_on_the_strip_as_they_come_and_escape_stops_the_search() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys("1 g");
        // What is asked for by a key, and answered below.
        let press = |screen: &mut Screen, key: &str| {
            let key: Key = key.parse().unwrap();
            let effects = screen.app.update(Event::Key(key.press()));
            let mut asked = effects.into_iter().filter_map(|effect| match effect {
                Effect::Request(request) => Some(request),
                _ => None,
            });
            asked.find(|asked| matches!(asked.job, Job::Search { .. } | Job::StopSearch))
        };
        press(&mut screen, "/");
        let generation = press(&mut screen, "f").unwrap().generation;
        let tell = |screen: &mut Screen, steps: &[u32], progress| {
            let hit = |step: &u32| HitRow {
                spot: Fake::new(212).spot(0, *step),
                seq: Seq(u64::from(*step)),
                field: text("output"),
                line: text("found it"),
            };
            let hits = steps.iter().map(hit).collect();
            let answer = Answer::Hits { hits, progress };
            screen
                .app
                .update(Event::Reply(Reply { generation, answer }));
        };
        let running = Progress::Running(model::Progress {
            done: 53,
            of: 212,
            unit: Unit::Steps,
        });
        tell(&mut screen, &[40], running.clone());
        assert_eq!(strip(&screen).matches('•').count(), 1);
        if columns > 60 {
            screen.shows("searching 25 % · 1 hit");
        }
        tell(&mut screen, &[120, 200], running);
        assert_eq!(strip(&screen).matches('•').count(), 3);
        let stop = press(&mut screen, "Esc").unwrap();
        assert_eq!(stop.job, Job::StopSearch);
        assert_eq!(strip(&screen).matches('•').count(), 0);
        // What still comes is nobody's.
        tell(&mut screen, &[60], Progress::Finished);
        assert_eq!(strip(&screen).matches('•').count(), 0);
    }
}

#[test]
fn a_query_that_is_given_up_leaves_the_search_before() {
    let mut screen = Screen::new(120, 30, 212);
    screen.keys("g / f o o Enter / b a r Esc n");
    screen.shows("/foo  2/5");
    screen.keys("/ b a Backspace Backspace Backspace n");
    screen.shows("/foo  3/5");
    screen.keys("/ b Enter");
    screen.shows("/b  4/5");
    assert!(!screen.app.wants_tick());
}

#[test]
fn steps_without_a_hit_are_hidden_on_demand() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys("1 g &");
        screen.keys("/ f o o Enter &");
        if columns > 60 {
            screen.shows("5 of 212 steps");
            screen.hides(" 41 ");
        }
        assert_eq!(screen.step(), 40);
        screen.keys("l");
        assert_eq!(screen.step(), 80);
        screen.keys("0 2 j");
        assert_eq!(screen.step(), 160);
        screen.keys("0 9 9 h");
        assert_eq!(screen.step(), 40);
        screen.keys("k");
        assert_eq!(screen.step(), 40);
        screen.keys("G");
        assert_eq!(screen.step(), 200);
        screen.keys("g");
        assert_eq!(screen.step(), 40);
        // A step without a hit is shown while the playhead is in it, and no longer.
        screen.keys(": 6 1 Enter");
        assert_eq!(screen.step(), 61);
        screen.keys("l");
        assert_eq!(screen.step(), 80);
        screen.keys("& l");
        assert_eq!(screen.step(), 81);
        assert!(!screen.app.wants_tick());
    }
}

#[test]
fn of_a_million_hits_a_window_is_asked_for() {
    let mut screen = Screen::new(200, 60, 400_000);
    screen.keys("g / x Enter & l l l G g");
    assert!(
        screen.run.most_rows <= 4 * 64 + 1,
        "{}",
        screen.run.most_rows
    );
}

#[test]
fn a_real_search_lists_its_steps() {
    let mut screen = Screen::open(&demo("bug-hunt"), 160, 45);
    screen.keys("g / s t a t u s : f a i l e d Enter &");
    screen.shows("5 of 29 steps");
    let text = screen.text();
    let rows = text.lines().filter(|line| line.contains('○'));
    assert_eq!(rows.clone().count(), 5);
    assert!(rows.clone().all(|row| row.contains('✗')), "{text}");
}

#[test]
fn every_sort_of_query_is_answered_and_what_is_none_is_said() {
    let mut screen = Screen::open(&demo("bug-hunt"), 160, 45);
    let mut search = |query: &str| {
        screen.keys("Esc Esc 1 g /");
        screen.send(Event::Paste(query.to_owned()));
        screen.keys("Enter");
        screen.text()
    };
    for (query, expected) in QUERIES {
        let text = search(query);
        if expected.is_empty() {
            assert!(text.contains("nothing found"), "{query}: {text}");
            continue;
        }
        let (_, rest) = text
            .split_once(&format!("/{query}  1/"))
            .unwrap_or_default();
        assert!(!rest.is_empty(), "{query}: {text}");
        assert!(
            text.contains(&format!("step {}/29", expected[0])),
            "{query}: {text}"
        );
        // Each step with a hit has its sign on the strip, but the one that the playhead is in.
        let signs = text.lines().nth(1).unwrap().matches('•').count();
        assert_eq!(signs + 1, expected.len(), "{query}: {text}");
    }
    for (query, said) in MISTAKES {
        let text = search(query);
        let last = text.lines().last().unwrap();
        assert!(
            last.contains("✗ nothing was searched: ") && last.contains(said),
            "{query}: {text}"
        );
        assert!(text.contains("step 1/29"), "{query}: {text}");
    }
}
