//! When to draw, when to take a key, when to look at the tape again, when to tick. Pure:
//! the clock is told.
//!
//! A key that asks the worker for something is given a few milliseconds, so that its frame
//! is drawn once and whole; a worker that takes longer gets a frame of its own. The next
//! key waits for the answers too, and not much longer: keys that were typed ahead act on
//! what the ones before them led to. A tape that grows is looked at 30 times a second at
//! most, however fast it is written.

use std::time::{Duration, Instant};

/// Between two frames.
const FRAME: Duration = Duration::from_millis(10);

/// For the answers that a frame waits for.
const ANSWERS: Duration = Duration::from_millis(4);

/// For the answers that the next key waits for. Keys repeat more slowly than this.
const KEY: Duration = Duration::from_millis(12);

/// Between two looks at a growing tape.
const LOOK: Duration = Duration::from_millis(34);

/// Between two ticks.
const TICK: Duration = Duration::from_millis(100);

/// What is due next, and when.
#[derive(Debug)]
pub(super) struct Pace {
    /// No frame before this.
    next_frame: Instant,
    next_look: Instant,
    /// No key before this.
    key: Option<Instant>,
    frame: Option<Instant>,
    look: Option<Instant>,
    tick: Option<Instant>,
}

/// Something whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Look at the tape.
    Look,
    /// A tenth of a second has passed.
    Tick,
    /// Draw.
    Frame,
}

/// What the screen waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// For nothing: it changes when something happens.
    Nothing,
    /// For time to pass.
    Ticks,
    /// For answers, and time tells how long.
    Answers,
}

impl Pace {
    /// Nothing is due.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            next_frame: now,
            next_look: now,
            key: None,
            frame: None,
            look: None,
            tick: None,
        }
    }

    /// Something happened, and now the screen needs this.
    pub(super) fn happened(&mut self, now: Instant, need: Need) {
        let patience = match need {
            Need::Answers => ANSWERS,
            Need::Ticks | Need::Nothing => Duration::ZERO,
        };
        let frame = (now + patience).max(self.next_frame);
        self.frame = Some(self.frame.map_or(frame, |earlier| earlier.min(frame)));
        if need != Need::Answers {
            self.key = None;
        }
        self.tick = match (need, self.tick) {
            (Need::Nothing, _) => None,
            (_, None) => Some(now + TICK),
            (_, earlier) => earlier,
        };
    }

    /// A key was taken, and now the screen needs this.
    pub(super) fn key_taken(&mut self, now: Instant, need: Need) {
        self.key = (need == Need::Answers).then(|| now + KEY);
    }

    /// Whether the next key may be taken.
    pub(super) fn is_ready_for_key(&mut self, now: Instant) -> bool {
        self.key.take_if(|key| *key <= now);
        self.key.is_none()
    }

    /// The tape may have changed.
    pub(super) fn tape_changed(&mut self, now: Instant) {
        self.look.get_or_insert(now.max(self.next_look));
    }

    /// What is due now, once.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Due> {
        let is_due = |time: &mut Option<Instant>| time.take_if(|time| *time <= now).is_some();
        if is_due(&mut self.look) {
            self.next_look = now + LOOK;
            Some(Due::Look)
        } else if is_due(&mut self.tick) {
            Some(Due::Tick)
        } else if is_due(&mut self.frame) {
            self.next_frame = now + FRAME;
            Some(Due::Frame)
        } else {
            None
        }
    }

    /// A frame has been due for so long that what happened since must wait for it.
    pub(super) fn is_late(&self, now: Instant) -> bool {
        self.frame.is_some_and(|frame| frame + FRAME <= now)
    }

    /// How long nothing will be due; `None`: for as long as nothing happens.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        [self.frame, self.look, self.tick, self.key]
            .into_iter()
            .flatten()
            .min()
            .map(|next| next.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn at_rest_there_are_no_timers() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        assert_eq!(pace.rest(start), None);
        pace.happened(start, Need::Nothing);
        assert_eq!(pace.rest(start), Some(ms(0)));
        assert_eq!(pace.take_due(start), Some(Due::Frame));
        assert_eq!(pace.rest(start), None);
    }

    #[test]
    fn a_key_and_its_answer_are_one_frame() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.happened(start, Need::Answers);
        assert_eq!(pace.take_due(start), None);
        pace.happened(start + ms(1), Need::Nothing);
        assert_eq!(pace.take_due(start + ms(1)), Some(Due::Frame));
    }

    #[test]
    fn where_only_time_is_waited_for_frames_and_keys_are_not() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.happened(start, Need::Ticks);
        pace.key_taken(start, Need::Ticks);
        assert!(pace.is_ready_for_key(start));
        assert_eq!(pace.take_due(start), Some(Due::Frame));
        assert_eq!(pace.rest(start), Some(ms(100)));
        assert_eq!(pace.take_due(start + ms(100)), Some(Due::Tick));
    }

    #[test]
    fn a_slow_answer_is_not_waited_for() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.happened(start, Need::Answers);
        // More keys do not put the frame off.
        pace.happened(start + ms(3), Need::Answers);
        assert_eq!(pace.take_due(start + ms(4)), Some(Due::Frame));
        assert_eq!(pace.take_due(start + ms(99)), None);
        assert_eq!(pace.take_due(start + ms(100)), Some(Due::Tick));
    }

    #[test]
    fn a_key_waits_for_the_answers_to_the_one_before() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.happened(start, Need::Answers);
        pace.key_taken(start, Need::Answers);
        assert!(!pace.is_ready_for_key(start + ms(1)));
        pace.happened(start + ms(1), Need::Nothing);
        assert!(pace.is_ready_for_key(start + ms(1)));
        // And not for ever.
        pace.happened(start + ms(2), Need::Answers);
        pace.key_taken(start + ms(2), Need::Answers);
        assert!(!pace.is_ready_for_key(start + ms(13)));
        assert!(pace.is_ready_for_key(start + ms(14)));
    }

    #[test]
    fn a_flood_is_drawn_every_ten_milliseconds() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let mut frames = 0;
        for tenth in 0..10_000 {
            let now = start + Duration::from_micros(tenth * 100);
            pace.happened(now, Need::Nothing);
            frames += usize::from(pace.take_due(now) == Some(Due::Frame));
        }
        assert_eq!(frames, 100);
    }

    #[test]
    fn a_fast_writer_is_looked_at_thirty_times_a_second() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let mut looks = 0;
        for tenth in 0..10_000 {
            let now = start + Duration::from_micros(tenth * 100);
            pace.tape_changed(now);
            looks += usize::from(pace.take_due(now) == Some(Due::Look));
        }
        assert_eq!(looks, 30);
    }
}
