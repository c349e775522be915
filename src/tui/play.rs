//! Playing the run: time passes at the recorded pace, and the playhead goes on by itself.
//!
//! Nobody waits for an agent that thought for an hour, and nobody sees a step that took no
//! time: between two steps there is as much time as was recorded, within bounds. Time is
//! told in ticks; no clock is read here.

use super::job::Stop;

/// How the run is played, and how far the time is since the step that is shown.
#[derive(Debug, Default)]
pub(super) struct Play {
    /// How often the speed was doubled; negative: halved.
    doubled: i8,
    /// Where time passes, while it does.
    playing: Option<Passing>,
}

/// Recorded time that has passed at a place.
#[derive(Clone, Copy, Debug)]
struct Passing {
    at: Stop,
    micros: u64,
}

/// The recorded time of a tick, at the speed of the record.
const TICK: u64 = 100_000;

/// No pause between two steps is longer, as recorded time.
const LONGEST: u64 = 2_000_000;

/// No pause between two steps is shorter.
const SHORTEST: u64 = 300_000;

/// A quarter of the recorded pace at least, and 64 times at most.
const SPEEDS: std::ops::RangeInclusive<i8> = -2..=6;

impl Play {
    /// Whether time passes.
    pub(super) fn is_on(&self) -> bool {
        self.playing.is_some()
    }

    /// Lets time pass from a place on.
    pub(super) fn start(&mut self, at: Stop) {
        self.playing = Some(Passing { at, micros: 0 });
    }

    /// Lets no more time pass; whether it did.
    pub(super) fn stop(&mut self) -> bool {
        self.playing.take().is_some()
    }

    /// Doubles the speed so often, or halves it.
    pub(super) fn speed_up(&mut self, times: i8) {
        let (slowest, fastest) = (*SPEEDS.start(), *SPEEDS.end());
        self.doubled = self.doubled.saturating_add(times).clamp(slowest, fastest);
    }

    /// The speed in words: `2×`.
    pub(super) fn speed(&self) -> String {
        match self.doubled {
            -2 => "¼×".into(),
            -1 => "½×".into(),
            doubled => format!("{}×", 1_u32 << doubled.unsigned_abs()),
        }
    }

    /// A tick has passed with the playhead here; returns by how many steps it goes on. The
    /// pauses are those between the steps from here on, as far as they are known.
    pub(super) fn tick(&mut self, here: Stop, pauses: impl IntoIterator<Item = u64>) -> u32 {
        let Some(passing) = &mut self.playing else {
            return 0;
        };
        // Somebody moved the playhead: time begins anew there.
        if passing.at != here {
            *passing = Passing {
                at: here,
                micros: 0,
            };
        }
        let doubled = u32::from(self.doubled.unsigned_abs());
        passing.micros += match self.doubled {
            0.. => TICK << doubled,
            _ => TICK >> doubled,
        };
        let mut steps = 0;
        for pause in pauses {
            let pause = pause.clamp(SHORTEST, LONGEST);
            let Some(left) = passing.micros.checked_sub(pause) else {
                return steps;
            };
            passing.micros = left;
            steps += 1;
        }
        // What comes next is not known yet: its pause begins when it is.
        passing.micros = 0;
        steps
    }

    /// The playhead has gone on to here, as it was told.
    pub(super) fn arrive(&mut self, here: Stop) {
        if let Some(passing) = &mut self.playing {
            passing.at = here;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debugger::Spot;
    use crate::model::{Cursor, StepNumber};

    fn stop(step: u32) -> Stop {
        let cursor = Cursor {
            branch: 0,
            position: step,
        };
        let spot = Spot {
            cursor,
            step: StepNumber(step),
        };
        Stop { branch: 0, spot }
    }

    /// The ticks after which the playhead went on, and by how many steps.
    fn played(doubled: i8, pauses: &[u64]) -> Vec<(u32, u32)> {
        let mut play = Play::default();
        play.speed_up(doubled);
        play.start(stop(0));
        let mut here = 0;
        let mut moves = Vec::new();
        for tick in 1..200 {
            let steps = play.tick(stop(here), pauses.iter().copied().skip(here as usize));
            if steps > 0 {
                here += steps;
                play.arrive(stop(here));
                moves.push((tick, steps));
            }
        }
        moves
    }

    #[test]
    fn time_passes_as_recorded_and_within_bounds() {
        const SECOND: u64 = 1_000_000;
        assert_eq!(played(0, &[SECOND, SECOND / 2]), [(10, 1), (15, 1)]);
        assert_eq!(played(0, &[3600 * SECOND, 0]), [(20, 1), (23, 1)]);
        assert_eq!(played(1, &[SECOND, SECOND]), [(5, 1), (10, 1)]);
        assert_eq!(played(-2, &[SECOND]), [(40, 1)]);
        assert_eq!(played(6, &[0; 40]), [(1, 21), (2, 19)]);
        assert_eq!(played(100, &[0; 40]), played(6, &[0; 40]));
    }

    #[test]
    fn time_begins_anew_where_somebody_moved_to() {
        let mut play = Play::default();
        play.start(stop(0));
        for _ in 0..9 {
            assert_eq!(play.tick(stop(0), [1_000_000]), 0);
        }
        for _ in 0..9 {
            assert_eq!(play.tick(stop(5), [1_000_000]), 0);
        }
        assert_eq!(play.tick(stop(5), [1_000_000]), 1);
        assert!(play.stop() && !play.stop());
        assert_eq!(play.tick(stop(5), [0]), 0);
    }
}
