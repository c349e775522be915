//! What an agent had read before a call that was refused for it.

use super::super::Debugger;
use super::against::Recorded;
use crate::checkout::Item;
use crate::model::{Certainty, Outcome, StepKind, StepNumber, TapePath};
use crate::replay::workbench::{NOWHERE, Seen, Session};
use crate::tools::{Asked, Refusal};

/// What is known of an agent before a call.
#[derive(Debug, Default)]
pub(in crate::debugger) struct Before {
    /// What it had read.
    pub(in crate::debugger) session: Session,
    /// What the steps before tell otherwise.
    pub(in crate::debugger) remark: Option<String>,
}

impl Debugger {
    /// What the agent of a call had read of its file, where the call was refused because of
    /// that; or why that is not known. Of a call that was not refused so, nothing is told.
    ///
    /// How large a file its tool shows, its own words tell, where the call was refused for that.
    ///
    /// Whether it had read the file at all its own program says, which alone keeps account of
    /// it: some versions do not count what a sub-agent reads. What it had read the steps before
    /// tell, those of the same agent. Costs a read of each call before.
    pub(in crate::debugger) fn session_before(
        &self,
        (line, number): (u16, StepNumber),
        call: &Recorded,
        directory: &str,
    ) -> Result<Before, String> {
        let mut before = Before::default();
        let refusal = match call.refusal() {
            Some(refusal @ (Refusal::Unread | Refusal::Stale)) => refusal,
            Some(Refusal::TooLarge) => {
                let largest = Refusal::largest_told(&call.output);
                let why = "its tool does not say how large a file it shows";
                before.session = Session::showing(Some(largest.ok_or(why)?));
                return Ok(before);
            }
            Some(Refusal::TooManyTokens) => {
                let why = "its tool counts the tokens of a file as its model does, which nobody \
                           can do here";
                return Err(why.to_owned());
            }
            _ => return Ok(before),
        };
        let Some(path) = self.only_path(call, directory) else {
            return Ok(before);
        };
        let read = self.last_read((line, number), &path);
        let seen = match (refusal, read) {
            (Refusal::Unread, read) => {
                before.remark = read.map(|step| {
                    let path = path.to_text();
                    format!(
                        "its program says that {path} had not been read, and step {step} read it"
                    )
                });
                Seen::Never
            }
            (_, None) => {
                let why = "it was refused because the file had changed since its agent read it, and \
                           no step read it";
                return Err(why.to_owned());
            }
            (_, Some(step)) => {
                let at = self.spot(line, step).cursor;
                let state = self.state.file(&self.tape.index.blobs, at, &path);
                let entry = state.map(|state| self.entry(path.clone(), &state));
                match entry.map(|entry| (entry.certainty, entry.item)) {
                    Some((Certainty::Exact, Item::File(Some(hash)))) => Seen::As(hash),
                    _ => {
                        return Err(format!(
                            "what {} held when step {step} read it is not known",
                            path.to_text()
                        ));
                    }
                }
            }
        };
        before.session.tell(path, seen);
        Ok(before)
    }

    /// The file that a call edits or shows, if it is one.
    pub(in crate::debugger) fn only_path(
        &self,
        call: &Recorded,
        directory: &str,
    ) -> Option<TapePath> {
        let asked = Asked::of(&call.call.name, &call.call.arguments);
        match asked.paths().as_slice() {
            [path] => self.path_from(path, directory),
            _ => None,
        }
    }

    /// A path as a tool in this directory takes it.
    pub(in crate::debugger) fn path_from(&self, path: &str, directory: &str) -> Option<TapePath> {
        let root = self.header.root.as_deref().unwrap_or(NOWHERE);
        let directory = if directory.is_empty() {
            root
        } else {
            directory
        };
        TapePath::resolve(path, directory, root).ok()
    }

    /// The last step before this one in which the same agent read or wrote a file.
    fn last_read(&self, (line, number): (u16, StepNumber), path: &TapePath) -> Option<StepNumber> {
        let index = &self.tape.index;
        let at = |number| {
            let step = index.step_on(line, number)?;
            Some((step, index.steps.get(step)?))
        };
        let (_, here) = at(number)?;
        (1..number.0).rev().map(StepNumber).find(|number| {
            let Some((step, entry)) = at(*number) else {
                return false;
            };
            let is_like = entry.kind == StepKind::Tool
                && entry.lane.agent == here.lane.agent
                && entry.outcome == Outcome::Ok;
            if !is_like {
                return false;
            }
            let call = self.recorded_call(step);
            let root = self.header.root.as_deref().unwrap_or(NOWHERE);
            self.only_path(&call, root).as_ref() == Some(path)
        })
    }
}
