//! Searching: while the query is typed, from hit to hit, and the steps with hits alone.
//!
//! The hits are counted and stand on the strip while the query is typed; the playhead moves
//! when it is entered. A query that is given up leaves the search before in its place.

use crate::debugger::{Direction, HitRow};
use crate::tui::app::{App, Tone};
use crate::tui::job::{Job, Progress, Stop};
use crate::tui::prompt::{Prompt, Purpose};
use crate::tui::search::{Aim, Filter, Search};

impl App {
    /// Opens the prompt. The search before is put aside: one that runs would be stopped by
    /// the next, and is given up.
    pub(super) fn begin_search(&mut self) {
        self.prompt = Some(Prompt::new(Purpose::Search));
        self.search_before = None;
        let is_whole = |search: &mut Search| !search.is_running();
        if let Some(search) = self.search.take_if(is_whole) {
            self.search_before = Some(search);
        }
    }

    /// Looks for what has been typed so far.
    pub(super) fn search_as_typed(&mut self) {
        let text = self.prompt.as_ref().map(Prompt::text).unwrap_or_default();
        let query = text.trim();
        if query.is_empty() {
            self.drop_search();
        } else if self
            .search
            .as_ref()
            .is_none_or(|search| search.query != query)
        {
            self.search_for(query);
        }
    }

    pub(super) fn search_for(&mut self, query: &str) {
        let Some(Stop { branch, .. }) = self.travel.stop else {
            return;
        };
        let before = self.search.as_ref().or(self.search_before.as_ref());
        let filter = before.map_or(Filter::Off, |search| search.filter);
        let query = query.to_owned();
        let ticket = self.desk.ask(Job::Search {
            query: query.clone(),
            branch,
        });
        self.search = Some(Search::new(query, branch, ticket, filter));
    }

    /// What was typed counts: the playhead goes to the first hit.
    pub(super) fn enter_search(&mut self, query: &str) {
        if self
            .search
            .as_ref()
            .is_none_or(|search| search.query != query)
        {
            self.search_for(query);
        }
        self.search_before = None;
        if let Some(search) = &mut self.search {
            search.aim = Aim::Jump;
        }
        self.follow_aim();
    }

    /// What was typed does not count.
    pub(super) fn give_up_typed_search(&mut self) {
        self.drop_search();
        self.search = self.search_before.take();
    }

    /// Ends the search.
    pub(super) fn drop_search(&mut self) {
        if self.search.take().is_some_and(|search| search.is_running()) {
            self.desk.ask(Job::StopSearch);
        }
    }

    /// Takes some more hits in.
    pub(super) fn take_hits(&mut self, generation: u64, hits: Vec<HitRow>, progress: Progress) {
        let search = self.search.as_mut();
        if let Some(search) = search.filter(|search| search.ticket.is_for(generation)) {
            search.push(hits, progress);
            self.follow_aim();
        }
    }

    /// Goes to the first hit as soon as it is known which one that is.
    fn follow_aim(&mut self) {
        let (Some(search), Some(here)) = (&mut self.search, self.travel.spot()) else {
            return;
        };
        let is_known = search.next(here, Direction::Forward).is_some() || !search.is_running();
        if search.aim == Aim::Jump && is_known {
            search.aim = Aim::Stay;
            self.next_hit(Direction::Forward, 1);
        }
    }

    /// Lists only the steps with a hit, or all.
    pub(super) fn toggle_filter(&mut self) {
        let Some(search) = &mut self.search else {
            self.say(Tone::Plain, "nothing is searched; / searches");
            return;
        };
        search.filter = match search.filter {
            Filter::Off => Filter::Hits,
            Filter::Hits => Filter::Off,
        };
    }

    /// Goes to another hit of the search.
    pub(super) fn next_hit(&mut self, direction: Direction, times: u32) {
        let Some(Stop { branch, spot }) = self.travel.stop else {
            return;
        };
        let Some(search) = &self.search else {
            self.say(Tone::Plain, "nothing is searched; / searches");
            return;
        };
        let mut here = spot;
        let mut found = None;
        let mut is_around = false;
        // More rounds than hits would only go around.
        for _ in 0..times.min(search.len().try_into().unwrap_or(u32::MAX)) {
            let Some(next) = search.next(here, direction) else {
                break;
            };
            here = next.hit.spot;
            is_around |= next.is_around;
            found = Some(next);
        }
        let Some(found) = found else {
            let (tone, words) = match &search.progress {
                Progress::Failed(why) => (Tone::Error, format!("nothing was searched: {why}")),
                _ => (Tone::Plain, search.describe().to_string()),
            };
            self.say(tone, &words);
            return;
        };
        let around = match (is_around, direction) {
            (false, _) => "",
            (true, Direction::Forward) => "from the start again  ",
            (true, Direction::Back) => "from the end again  ",
        };
        let words = format!(
            "/{}  {}/{}  {around}{}: {}",
            search.query,
            found.number,
            search.len(),
            found.hit.field,
            found.hit.line,
        );
        self.travel.give_up();
        self.jump(Stop { branch, spot: here });
        self.say(Tone::Plain, &words);
    }
}
