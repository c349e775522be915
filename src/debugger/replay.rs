//! The tool calls of a run, made again: each on the files as they were recorded before it.
//!
//! The workbench answers; here it is brought from one call to the next, and what comes of it
//! is held against the tape.

use super::Debugger;
use crate::model::Cursor;
use crate::replay::workbench::{Tree, Workbench};

impl Debugger {
    /// The files at a place, for calls to be answered from. Costs a walk over all of them,
    /// and for each a read of a line's head.
    pub fn tree_at(&self, at: Cursor) -> Tree<'_> {
        Tree::new(self.entries(at), self.state.is_whole(at), &self.tape)
    }

    /// Brings a workbench from one place of this run to another. Costs what changed between
    /// them, unless a call in between may have written any file.
    pub fn bring_on(&self, workbench: &mut Workbench<'_>, from: Cursor, to: Cursor) {
        let is_whole = self.state.is_whole(to);
        if self.state.doubt(from) != self.state.doubt(to) {
            return workbench.make(self.entries(to), is_whole);
        }
        let blobs = &self.tape.index.blobs;
        let touched = self.state.touched_between(from, to).into_iter();
        let paths = touched.filter_map(|id| {
            let path = self.state.paths.path(id)?;
            let state = self.state.at(blobs, to, id);
            let entry = state.map(|state| self.entry(path.clone(), &state));
            Some((path, entry))
        });
        workbench.bring_on(paths, is_whole);
    }
}
