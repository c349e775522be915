//! Playing the run: what starts it, what ends it, and what a tick does.

use crate::tui::app::{App, Tone};
use crate::tui::job::Stop;
use crate::tui::travel::Follow;

/// Rows looked at for one tick: more steps do not fit into one, whatever the speed.
const AHEAD: u32 = 64;

impl App {
    /// Plays the run from here, or from its start when this is the end; or stops.
    pub(super) fn toggle_play(&mut self) {
        if self.play.stop() {
            self.say(Tone::Plain, "stopped; Space plays on");
            return;
        }
        let Some(here) = self.travel.stop else {
            return;
        };
        if self.is_at_end(here.spot) && self.travel.follow == Follow::Off {
            self.jump_to_step(0);
        }
        self.play.start(self.travel.stop.unwrap_or(here));
        self.say_speed();
    }

    /// Doubles the speed so often, or halves it.
    pub(super) fn change_speed(&mut self, times: i64) {
        let times = times.clamp(i64::from(i8::MIN), i64::from(i8::MAX));
        self.play.speed_up(times as i8);
        self.say_speed();
    }

    fn say_speed(&mut self) {
        let speed = self.play.speed();
        let words = if self.play.is_on() {
            format!("playing at {speed} of the recorded pace; + and − change it")
        } else {
            format!("Space plays at {speed} of the recorded pace")
        };
        self.say(Tone::Plain, &words);
    }

    /// A tenth of a second of playing.
    pub(super) fn play_on(&mut self) {
        let is_free = self.play.is_on() && self.travel.under_way.is_none();
        let Some(here) = self.travel.stop.filter(|_| is_free) else {
            return;
        };
        let Stop { branch, spot } = here;
        if self.is_at_end(spot) && !self.travel.is_inside {
            // A run that is followed goes on when more of it comes.
            if self.travel.follow == Follow::Off {
                self.play.stop();
                self.say(Tone::Plain, "played to the end");
            }
            return;
        }
        let time = |step: u32| match step {
            0 => Some(0),
            step => self.timeline.row(branch, step).map(|row| row.t),
        };
        let steps = spot.step.0..spot.step.0.saturating_add(AHEAD);
        let pauses = steps.map_while(|step| Some(time(step + 1)?.saturating_sub(time(step)?)));
        let steps = self.play.tick(here, pauses);
        if steps > 0 {
            self.step_by(i64::from(steps));
            if let Some(here) = self.travel.stop {
                self.play.arrive(here);
            }
        }
    }
}
