//! Effects: what calls do outside the file tree, made so that each is made once, known after
//! a crash, and taken back where that can be.
//!
//! A user [declares](Declarations) which command makes an effect and of which class it is; a
//! call names an effect, a key and a request. Then, with [`Effects`]:
//!
//! 1. The intent, with key and request, is on disk before the command starts; its result is on
//!    disk before the answer is handed on. The key goes out as `IDEMPOTENCY_KEY`.
//! 2. The same key with the same request is answered from the record, failures too. The same
//!    key with another request is an error.
//! 3. An intent without a result is *in doubt*: the process was killed in between, say. A pure,
//!    read or idempotent effect is then made again with the same key. Any other is asked about
//!    ([`Effects::settle`]), and never made again by itself.
//! 4. In a transaction an irreversible effect waits in the *outbox* until the commit, and is sent
//!    then, in order; the first that does not succeed stops those behind it. Who needs the
//!    answer at once says so ([`When::Now`]), and a rollback leaves it.
//! 5. A rollback says of what waited that it is never sent, and runs the compensation of what
//!    was done, the last first, each with an intent and a result of its own. It goes on after
//!    an error, can be cut off and done again, and ends with what it could not take back: the
//!    [residue](Residue).
//!
//! The [`Ledger`] is all this knows of the past, and comes from the tape alone. What
//! is *run* comes from the declarations alone: no tape can say what to run. Where the tape
//! keeps placeholders for secrets, the process that was asked still makes what it was asked
//! for; a later one has the placeholders, and makes nothing from them.
//!
//! Nothing here opens a connection itself, writes a file, commits one, or knows a sandbox.

mod attempt;
mod books;
mod command;
mod declarations;
mod error;
mod ledger;
mod log;
mod make;
mod models;
mod outbox;
mod rollback;
mod surroundings;
mod template;
mod unfinished;

#[doc = include_str!("effects/JUKEBOX_TOML.md")]
pub mod configuration {}

use books::Books;
pub use declarations::{ConfigError, Declarations};
pub use error::EffectError;
pub use ledger::{EffectState, Entry, Fate, Ledger};
pub use log::Log;
pub use make::{Answer, Call, MAX_REQUEST, Source, When};
pub use models::{DeclaredModel, ModelApi};
pub use outbox::{Sent, Settlement, Stopped};
pub use rollback::{Residue, ResidueReason, RolledBack, Scope};
pub use surroundings::Surroundings;
pub use unfinished::{Unfinished, UnfinishedError};

use std::ffi::OsString;
use std::io;

use crate::tape::{Recorder, Tape};

/// The effects of a run, as whoever records it makes them.
///
/// One at a time: a tape has one writer.
#[derive(Debug)]
pub struct Effects {
    declarations: Declarations,
    books: Books,
    /// The variables of commands; without them, those of this process.
    environment: Option<Vec<(OsString, OsString)>>,
}

impl Effects {
    /// For a tape on which there are no effects yet.
    pub fn new(declarations: Declarations) -> Self {
        Self {
            declarations,
            books: Books::default(),
            environment: None,
        }
    }

    /// Goes on with the effects of a tape. Makes none: see [`retry_doubts`](Self::retry_doubts).
    pub fn resume(declarations: Declarations, tape: &Recorder) -> io::Result<Self> {
        let tape = Tape::read(tape.bytes(), &mut ())?;
        Ok(Self {
            books: Books::of(Ledger::of(&tape)),
            ..Self::new(declarations)
        })
    }

    /// Gives commands these variables, and not those of this process.
    pub fn in_environment(self, variables: Vec<(OsString, OsString)>) -> Self {
        Self {
            environment: Some(variables),
            ..self
        }
    }

    /// From now on this is what is declared: the user may have changed it meanwhile.
    pub fn declare(&mut self, declarations: Declarations) {
        self.declarations = declarations;
    }

    /// Every effect so far.
    pub fn ledger(&self) -> &Ledger {
        &self.books.ledger
    }

    /// What is declared.
    pub fn declarations(&self) -> &Declarations {
        &self.declarations
    }
}
