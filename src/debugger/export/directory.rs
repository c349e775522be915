//! Where a shell is before a call.

use super::super::Debugger;
use super::{Nothing, nothing_runs};
use crate::model::{StepKind, StepNumber};
use crate::replay::workbench::{Tree, Workbench, WorkbenchConfig};

impl Debugger {
    /// Where the shell is before a call, as an absolute path of the run.
    pub(super) fn directory_before(&self, line: u16, number: StepNumber) -> String {
        let config = WorkbenchConfig {
            root: self.header.root.clone(),
            keeps_directory: self.keeps_directory(),
            ..nothing_runs()
        };
        let has_root = config.root.is_some();
        let mut bench = Workbench::new(config, Tree::new(Vec::new(), true, &Nothing));
        let start = bench.directory().to_owned();
        let index = &self.tape.index;
        let earlier = (1..number.0).map(StepNumber);
        let steps = earlier.filter(|_| self.keeps_directory());
        for step in steps.filter_map(|number| index.step_on(line, number)) {
            let entry = index.steps.get(step);
            if entry.is_some_and(|entry| entry.kind == StepKind::Tool) {
                bench.follow(&self.recorded_call(step).call);
            }
        }
        // Where that is nobody knows: a case has it at the top of its files.
        let is_start = bench.directory() == start;
        if is_start && !has_root {
            String::new()
        } else {
            bench.directory().to_owned()
        }
    }
}
