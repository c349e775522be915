//! What the calls of a transaction made of its files, from look to look: what the tape was told,
//! what it will be told once it has come to rest, and what has to be read again.
//!
//! While a call runs, a file goes on the tape once it has come to rest, that is when two looks
//! found the same; one that never does is told as it was found, from time to time. What is told
//! then is read again when the call has ended, since a file that is written through a mapping
//! can change without a trace in its stat. If the call left somebody running, it is read once
//! more when all of them were stopped. So is what was written in the last tick before a look.
//!
//! A look goes by the stats of the files, and what it costs follows what they say has changed;
//! when all processes were stopped, everything is compared. Where a file system keeps no time of
//! writes through mappings, as one in memory does, a file that changes in no other way is missed
//! until a commit finds it: that reads every file once more.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

use super::account::Account;
use super::base::Base;
use super::beside::Whose;
use super::open::OpenTransactionError;
use super::outcome::{News, Outcome, Outcomes, Written, news_between, news_of, outcomes};
use super::{TransactionError, Workspace};
use crate::model::TapePath;
use crate::sandbox::{Changes, Since, Sweep, is_fresh};

/// A file that is written all the time is told so often.
const RESTLESS: Duration = Duration::from_secs(2);

/// When it is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// A call runs: what has come to rest is told.
    Running,
    /// A call runs, and what is told next comes after all that is there.
    Between,
    /// A call has ended, and whom it left may be running.
    Ended { is_anybody_left: bool },
    /// Nobody runs any more.
    Stopped,
}

/// What was found, and what of it was told.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// What the tape says of the files.
    told: Outcomes,
    sweep: Sweep,
    rest: Rest,
    /// Files that are read again when the call has ended, whatever their stats say.
    unsure: BTreeSet<TapePath>,
    /// The same, when nobody runs any more.
    held: BTreeSet<TapePath>,
}

impl Looks {
    /// Looks at what changed since the last look, reads the base of what is new in it, and tells
    /// the tape; how many paths it leaves out.
    pub(super) fn look(
        &mut self,
        changes: Changes<'_>,
        (account, base, workspace): (&mut Account, &mut Base, &Workspace),
        (whose, moment): (Whose<'_>, Moment),
    ) -> Result<usize, OpenTransactionError> {
        let now = SystemTime::now();
        let mut news = self.news(changes, base, moment)?;
        match moment {
            Moment::Running => self.rest.keep_back(&mut news, Instant::now()),
            Moment::Between => self.rest.give_up(&mut news),
            Moment::Ended { .. } | Moment::Stopped => {
                self.rest.give_up(&mut news);
                self.read_again(moment, &mut news);
            }
        }
        pin(base, workspace, &self.told, &news)?;
        let told = account.changes((&self.told, &news), base, whose)?;
        for path in told.gone {
            news.remove(&path);
        }
        self.doubt(&news, moment, now);
        for (path, outcome) in news {
            match outcome {
                Some(outcome) => self.told.insert(path, outcome),
                None => self.told.remove(&path),
            };
        }
        self.sweep.told();
        Ok(told.left_out)
    }

    /// The files are what they were at another time, and the tape knows it.
    pub(super) fn go_back(&mut self, told: Outcomes) {
        *self = Self {
            told,
            ..Self::default()
        };
    }

    /// Whatever was read of the files, they may be other ones: they are read again when nobody
    /// runs any more.
    pub(super) fn doubt_all(&mut self) {
        let is_file = |(_, outcome): &(&TapePath, &Outcome)| matches!(outcome, Outcome::File(_));
        let files = self.told.iter().filter(is_file);
        self.held = files.map(|(path, _)| path.clone()).collect();
    }

    fn news(
        &mut self,
        changes: Changes<'_>,
        base: &Base,
        moment: Moment,
    ) -> Result<News, OpenTransactionError> {
        if moment != Moment::Stopped
            && let Since::Paths(paths) = changes.since(&mut self.sweep)?
            && let Some(news) = news_of(&paths, base)
        {
            return Ok(news);
        }
        Ok(news_between(&self.told, outcomes(&changes.read()?, base)))
    }

    /// Takes in the files that are to be read again, as they were told.
    fn read_again(&self, moment: Moment, news: &mut News) {
        let held = self.held.iter().filter(|_| moment == Moment::Stopped);
        for path in self.unsure.iter().chain(held) {
            if let Some(outcome) = self.told.get(path)
                && !news.contains_key(path)
            {
                news.insert(path.clone(), Some(outcome.clone()));
            }
        }
    }

    /// Takes note of which of the files that were told just now have to be read again.
    fn doubt(&mut self, news: &News, moment: Moment, now: SystemTime) {
        let is_running = matches!(moment, Moment::Running | Moment::Between);
        if !is_running {
            self.unsure.clear();
        }
        if moment == Moment::Stopped {
            self.held.clear();
        }
        for (path, outcome) in news {
            let Some(Outcome::File(written)) = outcome else {
                continue;
            };
            if is_running || is_fresh(written.changed(), now) {
                self.unsure.insert(path.clone());
            }
            if let Moment::Ended {
                is_anybody_left: true,
            } = moment
            {
                self.held.insert(path.clone());
            }
        }
    }
}

/// Reads the base of what is new.
fn pin(
    base: &mut Base,
    workspace: &Workspace,
    told: &Outcomes,
    news: &News,
) -> Result<(), TransactionError> {
    let is_new =
        |(path, now): &(&TapePath, &Option<Outcome>)| now.is_some() && !told.contains_key(*path);
    for (path, _) in news.iter().filter(is_new) {
        base.pin(path, workspace)?;
    }
    Ok(())
}

/// Files that are being written, and are not told.
#[derive(Debug, Default)]
struct Rest {
    /// What each was when it was last looked at, and since when it has not come to rest.
    waiting: BTreeMap<TapePath, (Written, Instant)>,
}

impl Rest {
    /// Takes files out that have not come to rest, and puts those in that have.
    fn keep_back(&mut self, news: &mut News, at: Instant) {
        let waited = std::mem::take(&mut self.waiting);
        let files = news.iter().filter_map(|(path, outcome)| match outcome {
            Some(Outcome::File(written)) => Some((path.clone(), written.clone())),
            _ => None,
        });
        let files: Vec<_> = files.collect();
        for (path, written) in files {
            let since = match waited.get(&path) {
                Some((before, _)) if *before == written => continue,
                Some((_, since)) => *since,
                None => at,
            };
            if at.saturating_duration_since(since) < RESTLESS {
                news.remove(&path);
                self.waiting.insert(path, (written, since));
            }
        }
        for (path, (written, _)) in waited {
            let is_as_it_was = !news.contains_key(&path) && !self.waiting.contains_key(&path);
            if is_as_it_was {
                news.insert(path, Some(Outcome::File(written)));
            }
        }
    }

    /// Puts in all files that have not come to rest.
    fn give_up(&mut self, news: &mut News) {
        for (path, (written, _)) in std::mem::take(&mut self.waiting) {
            news.entry(path).or_insert(Some(Outcome::File(written)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> TapePath {
        TapePath::new(b"a").unwrap()
    }

    fn file(len: u64) -> News {
        [(path(), Some(Outcome::File(Written::sample(len))))].into()
    }

    /// What is told of what was found.
    #[track_caller]
    fn check(rest: &mut Rest, found: News, at: Instant, told: &News) {
        let mut news = found;
        rest.keep_back(&mut news, at);
        assert_eq!(news, *told);
    }

    #[test]
    fn a_file_is_told_when_two_looks_find_the_same() {
        let (mut rest, at) = (Rest::default(), Instant::now());
        let nothing = News::new();
        check(&mut rest, file(1), at, &nothing);
        check(&mut rest, file(2), at, &nothing);
        // It did not change since, or was looked at anew.
        check(&mut rest, News::new(), at, &file(2));
        check(&mut rest, file(3), at, &nothing);
        check(&mut rest, file(3), at, &file(3));
        check(&mut rest, file(4), at, &nothing);
        let gone: News = [(path(), None)].into();
        check(&mut rest, gone.clone(), at, &gone);
        check(&mut rest, News::new(), at, &nothing);
    }

    #[test]
    fn a_file_without_rest_is_told_in_the_end() {
        let (mut rest, at) = (Rest::default(), Instant::now());
        check(&mut rest, file(1), at, &News::new());
        check(&mut rest, file(2), at + RESTLESS, &file(2));
        check(&mut rest, file(3), at + RESTLESS, &News::new());
        let mut news = News::new();
        rest.give_up(&mut news);
        assert_eq!(news, file(3));
    }
}
