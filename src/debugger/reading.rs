//! A run that is shown before it was read: its first rows are there at once, the rest is
//! read behind them.
//!
//! Whoever reads on waits for the next bytes without the run, and needs it only to have
//! them taken in: a few milliseconds at a time, between which others look things up. When
//! all is taken in, the run is what it would be had it been opened whole. Nothing here has
//! a thread of its own, but for the one that reads ahead.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::behind::Behind;
use super::import::Provenance;
use super::open::Made;
use super::{Debugger, OpenError};
use crate::model::{Kind, Progress, Tell};
use crate::tape::{Block, Growth, ReadAhead};

/// What is still to be read of a run that was begun. Dropped, it leaves the run as it is.
#[derive(Debug)]
pub struct Rest {
    growth: Growth,
    blocks: Blocks,
    /// What has been taken in.
    taken: Progress,
}

/// Where the bytes come from.
#[derive(Debug)]
enum Blocks {
    /// From a tape that is there.
    Ahead(ReadAhead),
    /// From one that is still being written, from a transcript.
    Behind(Behind),
}

/// The next bytes of a run, read and not taken in yet.
#[derive(Debug)]
pub struct Slice(Block);

/// So much is taken in before a run is shown: what is smaller is shown as it is.
const FIRST: u64 = 8 << 20;
/// The same of a tape that is still being written, which takes much longer.
const FIRST_WRITTEN: u64 = 256 << 10;

impl Rest {
    /// The next bytes, `None` at the end. Costs the wait for them.
    pub fn next_slice(&mut self) -> io::Result<Option<Slice>> {
        let block = match &mut self.blocks {
            Blocks::Ahead(ahead) => ahead.next_block()?,
            Blocks::Behind(behind) => behind.next_block()?,
        };
        Ok(block.map(Slice))
    }

    /// How much has been taken in; of a transcript, how much was imported.
    pub fn progress(&self) -> Progress {
        match &self.blocks {
            Blocks::Ahead(_) => self.taken,
            Blocks::Behind(behind) => behind.progress(),
        }
    }
}

impl Debugger {
    /// Begins to read the run, as far as it takes to show something.
    pub(super) fn begin_to_read(&mut self) -> Result<Option<Rest>, OpenError> {
        let of = self
            .tape
            .bytes
            .len()
            .map_err(|error| self.unreadable(error))?;
        let (growth, ahead) = self.tape.grow().map_err(|error| self.unreadable(error))?;
        let rest = Rest {
            growth,
            blocks: Blocks::Ahead(ahead),
            taken: Progress::bytes(self.tape.end.offset, of),
        };
        // What is nearly read then is worth no second look.
        self.read_first(rest, |taken| taken.done >= FIRST && taken.done < taken.of)
    }

    /// Begins to read a tape that is being written.
    pub(super) fn begin_to_read_behind(
        &mut self,
        behind: Behind,
    ) -> Result<Option<Rest>, OpenError> {
        let rest = Rest {
            growth: self.tape.grow_from_blocks(),
            blocks: Blocks::Behind(behind),
            taken: Progress::default(),
        };
        self.read_first(rest, |taken| taken.done >= FIRST_WRITTEN)
    }

    fn read_first(
        &mut self,
        mut rest: Rest,
        is_enough: impl Fn(Progress) -> bool,
    ) -> Result<Option<Rest>, OpenError> {
        self.is_whole = false;
        loop {
            match rest.next_slice() {
                Ok(Some(slice)) => self.take_in(&mut rest, slice),
                Ok(None) => {
                    self.finish(rest);
                    return Ok(None);
                }
                Err(error) => return Err(self.unreadable(error)),
            }
            if is_enough(rest.taken) && self.shows_something() {
                self.learn_header();
                return Ok(Some(rest));
            }
        }
    }

    /// Reads the rest of the run, and tells how far it has come; a break leaves it as it is.
    pub(super) fn read_rest(
        &mut self,
        mut rest: Rest,
        tell: &mut Tell<'_>,
    ) -> Result<ControlFlow<()>, OpenError> {
        loop {
            match rest.next_slice() {
                Ok(Some(slice)) => self.take_in(&mut rest, slice),
                Ok(None) => break,
                Err(error) => return Err(self.unreadable(error)),
            }
            if tell(rest.progress()).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.finish(rest);
        Ok(ControlFlow::Continue(()))
    }

    /// Takes bytes in: events and steps come after the others, and what was there stays as it
    /// is.
    pub fn take_in(&mut self, rest: &mut Rest, slice: Slice) {
        let Slice(block) = slice;
        rest.taken.done += block.bytes().len() as u64;
        // The files of a run break nothing off.
        let state = Arc::make_mut(&mut self.state);
        let _ = self.tape.take(&mut rest.growth, &block, state);
        if let Blocks::Ahead(ahead) = &rest.blocks {
            ahead.give_back(block);
        }
    }

    /// Ends the reading, because there is nothing more, or nothing more can be read.
    pub fn finish(&mut self, rest: Rest) {
        let state = Arc::make_mut(&mut self.state);
        self.tape.settle(rest.growth, state);
        if let Some(cached) = self.cached.take() {
            cached.keep(&self.tape, &self.state);
        }
        self.learn_header();
        if self.made == Made::Imported {
            let Provenance { problems, notices } = Provenance::of(&self.tape);
            self.transcript_problems = problems;
            self.notices.splice(..0, notices);
        }
        self.is_whole = true;
    }

    /// Whether all of the run was read, as it was when it was opened.
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn learn_header(&mut self) {
        // A header that cannot be read is a problem, and told as one.
        self.header = self.tape.header().unwrap_or_default();
    }

    fn shows_something(&self) -> bool {
        let events = &self.tape.index.events;
        (0..events.len()).any(|position| events.kind(position) != Some(Kind::Gap))
            && self.tape.end.offset > 0
    }

    fn unreadable(&self, error: io::Error) -> OpenError {
        OpenError::Io(self.name.clone(), error)
    }
}
