//! From what a person types to a path of the tape, and from a problem to its step.

use std::collections::BTreeMap;

use super::Debugger;
use crate::model::{PathError, Problem, StepNumber, TapePath};

impl Debugger {
    /// The path that was typed: as the tape names it, or below the workspace's root.
    pub fn path(&self, typed: &[u8]) -> Result<TapePath, PathError> {
        if let Ok(path) = TapePath::new(typed)
            && self.state.paths.find(&path).is_some()
        {
            return Ok(path);
        }
        let root = self.header.root.as_deref();
        match (std::str::from_utf8(typed), root) {
            (Ok(text), Some(root)) => TapePath::resolve(text, root, root),
            _ => TapePath::new(typed.strip_prefix(b"./").unwrap_or(typed)),
        }
    }

    /// The problems of the tape that lie in a step, by the step's number on a line.
    pub fn problems_by_step(&self, line: u16) -> BTreeMap<StepNumber, Vec<Problem>> {
        let mut by_step: BTreeMap<StepNumber, Vec<Problem>> = BTreeMap::new();
        let index = &self.tape.index;
        // A torn tail lies in no event yet, and what was wrong with a transcript in no line
        // of the tape.
        let counted = self.tape.problems_by_offset().into_iter();
        for problem in counted.filter(|problem| problem.offset < self.tape.end.offset) {
            let position = self.event_at_offset(problem.offset);
            let step = position.and_then(|position| index.events.get(position)?.step);
            let number = step.and_then(|step| index.number_of(step));
            if let (Some(step), Some(number)) = (step, number)
                && index.step_on(line, number) == Some(step)
            {
                let problem = self.tape.bytes.in_its_file(problem);
                by_step.entry(number).or_default().push(problem);
            }
        }
        by_step
    }

    /// The last event whose record starts at or before a byte.
    fn event_at_offset(&self, offset: u64) -> Option<u32> {
        let events = &self.tape.index.events;
        let (mut low, mut high) = (0, events.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if events
                .get(middle)
                .is_some_and(|event| event.offset <= offset)
            {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.checked_sub(1)
    }
}
