//! The places where a file changed: from one to the next, and those around a place.
//!
//! A search in the file's own list each: it costs no more because there are many of them.

use std::iter;

use super::{Debugger, Direction, Spot, VersionRow, Versions};
use crate::model::{ChangeKind, Cursor, StepNumber, TapePath};
use crate::state::PathId;

/// So many are told on each side of a place: no screen has room for more.
const AROUND: usize = 100;

/// Beyond this nobody wants to know how many there are.
const COUNTED: usize = 10_000;

impl Debugger {
    /// The next place along the line where a path changed.
    pub fn next_version(&self, from: Spot, path: &TapePath, direction: Direction) -> Option<Spot> {
        let node = self.state.paths.find(path)?;
        let line = self.line_of(from);
        let spot = |version: Cursor| self.spot_of_change(line, version.position - 1);
        match direction {
            Direction::Forward => {
                // Steps are numbered in the order of the events that open them.
                let next = StepNumber(from.step.0.checked_add(1)?);
                let next = self.tape.index.step_on(line, next)?;
                let opened = self.tape.index.steps.get(next)?.opened;
                self.versions_after(line, node, opened)
                    .map(spot)
                    .find(|spot| spot.step > from.step)
            }
            Direction::Back => {
                let here = self.spot(line, from.step).cursor.position;
                self.versions_before(line, node, here)
                    .map(spot)
                    .find(|spot| spot.step < from.step)
            }
        }
    }

    /// The places around this one where a path changed.
    pub fn versions(&self, at: Cursor, path: &TapePath) -> Versions {
        let Some(node) = self.state.paths.find(path) else {
            return Versions::default();
        };
        let mut earlier = self.versions_before(at.branch, node, at.position);
        let mut later = self.versions_after(at.branch, node, at.position);
        let mut around: Vec<Cursor> = earlier.by_ref().take(AROUND).collect();
        around.reverse();
        around.extend(later.by_ref().take(AROUND));
        let line = self.line_of_branch(at.branch);
        let row = |version: Cursor| self.version_row(line, node, version);
        Versions {
            rows: around.into_iter().map(row).collect(),
            has_earlier: earlier.next().is_some(),
            has_later: later.next().is_some(),
            count: self.state.count_versions(at.branch, node, COUNTED),
        }
    }

    fn version_row(&self, line: u16, node: PathId, version: Cursor) -> VersionRow {
        let before = Cursor {
            position: version.position - 1,
            ..version
        };
        let blobs = &self.tape.index.blobs;
        let change = self.state.change(blobs, node, before, version);
        let state = self.state.at(blobs, version, node);
        VersionRow {
            spot: self.spot_of_change(line, version.position - 1),
            change: change.map_or(ChangeKind::Modified, |change| change.kind),
            is_outside: state.is_some_and(|state| state.is_outside),
        }
    }

    /// From the first `position` events on.
    fn versions_after(
        &self,
        branch: u16,
        node: PathId,
        position: u32,
    ) -> impl Iterator<Item = Cursor> {
        let next = move |from| self.state.version_after(branch, node, from);
        iter::successors(next(position), move |version| next(version.position))
    }

    /// Among the first `position` events, the last one first.
    fn versions_before(
        &self,
        branch: u16,
        node: PathId,
        position: u32,
    ) -> impl Iterator<Item = Cursor> {
        let before = move |to| self.state.version_before(branch, node, to);
        iter::successors(before(position), move |version| {
            before(version.position - 1)
        })
    }
}
