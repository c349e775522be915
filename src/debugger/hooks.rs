//! Runs that are recorded through an agent's hooks, among the runs that can be opened.

use std::path::Path;

pub use crate::hook::{
    Delivery, Door, Edit, EditError, Finished, HookPlaces, Inbox, Installed, Recorders, Spool,
    Stop, deliver, install, installed, serve, uninstall,
};

use super::{Debugger, OpenOptions, Places, Source};
use crate::model::WallTime;

impl Places {
    /// Puts a run that is being recorded at the top of the list of runs. Costs a pass over its
    /// index; what cannot be read is in no list.
    pub fn note_recording(&self, tape: &Path, now: WallTime) {
        let options = OpenOptions {
            places: Self {
                cache: None,
                ..self.clone()
            },
            ..OpenOptions::default()
        };
        let Ok(run) = Debugger::open(Source::Path(tape.to_owned()), &options) else {
            return;
        };
        let step = run.end(0).step;
        let _is_in_no_list = run.remember(0, step, now);
    }
}
