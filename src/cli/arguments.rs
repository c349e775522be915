//! Arguments that several commands share: what was typed, and then what is needed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::failure::Failure;
use super::output::warn;
use super::progress::ProgressLine;
use crate::debugger::{Debugger, OpenOptions, Rest, Source, Spot};
use crate::model::{Cursor, Place};

/// Problems of a tape that are told on the way; `verify` tells all.
const MOST_WARNINGS: usize = 4;

/// How a transcript is read.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct BaseArgs {
    /// Where the files come from that a transcript never shows: a directory, or a commit of
    /// the repository that the run worked in
    #[arg(long, value_name = "DIR|git:COMMIT")]
    base: Option<String>,
}

/// How a run is opened.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct SourceArgs {
    #[command(flatten)]
    base: BaseArgs,
    /// Of a fork, the tape that it left, where it is not found by itself; once for each of
    /// several generations
    #[arg(long = "parent", value_name = "FILE")]
    parents: Vec<PathBuf>,
    /// Read all of the tape: neither use nor keep what was read of a large one before, in
    /// jukebox/index of the user's cache directory
    #[arg(long)]
    no_cache: bool,
}

/// A run, as a whole.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct TapeArgs {
    /// A tape, or a transcript that is imported on the fly; `-` is standard input
    tape: OsString,
    #[command(flatten)]
    source: SourceArgs,
}

/// A place in a run.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct PlaceArgs {
    /// A tape or a transcript (`-`: standard input), and a place in it; without one, its end
    #[arg(value_name = "TAPE[@STEP]")]
    place: OsString,
    #[command(flatten)]
    branch: BranchArgs,
    #[command(flatten)]
    source: SourceArgs,
}

/// Which files and steps are meant.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct BranchArgs {
    /// The branch whose steps are meant; without it, the one that holds the last line
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Inside a transaction, look at the real tree and not at what the agent saw
    #[arg(long)]
    outside: bool,
}

/// Whether a run is waited for that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// It is as it is.
    None,
    /// There may be nothing in it yet.
    Awaited,
}

impl Growth {
    fn options(self, options: OpenOptions) -> OpenOptions {
        OpenOptions {
            awaits_content: self == Self::Awaited,
            ..options
        }
    }
}

impl BaseArgs {
    /// How a transcript from this source is imported.
    pub(super) fn options(&self, source: &Source, around: &Environment) -> OpenOptions {
        OpenOptions {
            places: around.places.clone(),
            base: self.base.clone(),
            file_history: around.places.file_history_of(source),
            ..OpenOptions::default()
        }
    }
}

impl SourceArgs {
    /// Whether anything was typed.
    pub(super) const fn has_any(&self) -> bool {
        self.base.base.is_some() || self.no_cache || !self.parents.is_empty()
    }

    /// Opens a run, and tells on standard error what is wrong with it.
    pub(super) fn open(&self, tape: &OsStr, around: &Environment) -> Result<Debugger, Failure> {
        let run = self.open_quietly(tape, around)?;
        tell_problems(&run);
        Ok(run)
    }

    /// Opens a run that may be being written, to the end that it has now.
    pub(super) fn open_whole(
        &self,
        tape: &OsStr,
        growth: Growth,
        around: &Environment,
    ) -> Result<Debugger, Failure> {
        match growth {
            Growth::None => self.open(tape, around),
            Growth::Awaited => self.open_telling(tape, growth, around),
        }
    }

    /// Opens a run as far as it takes to show something, with what is still to be read of it.
    pub(super) fn begin(
        &self,
        tape: &OsStr,
        growth: Growth,
        around: &Environment,
    ) -> Result<(Debugger, Option<Rest>), Failure> {
        let source = source(tape);
        let options = growth.options(self.options(&source, around));
        let (run, rest) = Debugger::begin(source, &options)?;
        // Of a run that is read later, what is wrong with it is said on the screen.
        if growth == Growth::None && rest.is_none() {
            tell_problems(&run);
        }
        Ok((run, rest))
    }

    /// Opens no run, for a screen on which one is chosen.
    pub(super) fn open_nothing(&self, around: &Environment) -> Result<Debugger, Failure> {
        let options = self.options(&Source::Nothing, around);
        Ok(Debugger::open(Source::Nothing, &options)?)
    }

    pub(super) fn open_quietly(
        &self,
        tape: &OsStr,
        around: &Environment,
    ) -> Result<Debugger, Failure> {
        self.open_telling(tape, Growth::None, around)
    }

    fn open_telling(
        &self,
        tape: &OsStr,
        growth: Growth,
        around: &Environment,
    ) -> Result<Debugger, Failure> {
        let source = source(tape);
        let options = growth.options(self.options(&source, around));
        let mut line = ProgressLine::new("read", &short_name(tape), around);
        line.watch(|tell| Debugger::open_telling(source, &options, tell))
    }

    /// How a run from this source is opened.
    fn options(&self, source: &Source, around: &Environment) -> OpenOptions {
        let mut options = self.base.options(source, around);
        if self.no_cache {
            options.places.cache = None;
        }
        OpenOptions {
            parents: self.parents.clone(),
            ..options
        }
    }
}

/// What to call a file in a line that has other things to say.
pub(super) fn short_name(path: &OsStr) -> String {
    let name = Path::new(path).file_name().unwrap_or(path);
    match name.to_string_lossy() {
        name if name == "-" => "standard input".to_owned(),
        name => name.into_owned(),
    }
}

/// Where a run comes from, by what was typed.
pub(super) fn source(tape: &OsStr) -> Source {
    if tape == "-" {
        Source::Stream(io::stdin())
    } else {
        Source::Path(tape.into())
    }
}

fn tell_problems(run: &Debugger) {
    let summary = run.summary();
    for notice in &summary.notices {
        warn(&format!("{}: {notice}", summary.name));
    }
    let problems = run.problems();
    for problem in problems.iter().take(MOST_WARNINGS) {
        warn(&format!("{}: {problem}", summary.name));
    }
    if let Some(more) = problems.len().checked_sub(MOST_WARNINGS)
        && more > 0
    {
        let name = &summary.name;
        warn(&format!(
            "{name}: {more} more; `jukebox verify TAPE` lists them"
        ));
    }
}

impl TapeArgs {
    /// The tape as it was typed.
    pub(super) fn typed(&self) -> &OsStr {
        &self.tape
    }

    /// The line that says how far it has come with something that it does to the run.
    pub(super) fn progress(&self, what: &str, around: &Environment) -> ProgressLine {
        ProgressLine::new(what, &short_name(&self.tape), around)
    }

    /// Opens the run.
    pub(super) fn open(&self, around: &Environment) -> Result<Debugger, Failure> {
        self.refuse_a_place()?;
        self.source.open(&self.tape, around)
    }

    /// Opens the run for a command that tells its problems itself.
    pub(super) fn open_quietly(&self, around: &Environment) -> Result<Debugger, Failure> {
        self.refuse_a_place()?;
        self.source.open_quietly(&self.tape, around)
    }

    /// A place where only a run is meant is not taken for the name of a file.
    fn refuse_a_place(&self) -> Result<(), Failure> {
        match split(&self.tape) {
            Ok((tape, place)) if tape.len() < self.tape.len() => Err(Failure::unusable(format!(
                "the whole run is meant here, and nothing was done; type it without {place}"
            ))),
            _ => Ok(()),
        }
    }
}

impl PlaceArgs {
    /// The tape, as it was typed.
    pub(super) fn tape_name(&self) -> String {
        let tape = split(&self.place).map_or(&*self.place, |(tape, _)| tape);
        tape.to_string_lossy().into_owned()
    }

    /// Whether a place was named, and not only a tape.
    pub(super) fn names_a_place(&self) -> bool {
        split(&self.place).is_ok_and(|(tape, _)| tape.len() < self.place.len())
    }

    /// Opens the run, and finds the place in it.
    pub(super) fn open(&self, around: &Environment) -> Result<Looked, Failure> {
        let (tape, place) = split(&self.place)?;
        let run = self.source.open(tape, around)?;
        let spot = self.branch.spot(&run, &place)?;
        Ok(Looked { run, place, spot })
    }

    /// The line that says how far it has come with something that it does to the run.
    pub(super) fn progress(&self, what: &str, around: &Environment) -> ProgressLine {
        let tape = split(&self.place).map_or(&*self.place, |(tape, _)| tape);
        ProgressLine::new(what, &short_name(tape), around)
    }
}

impl BranchArgs {
    /// Finds a place. A branch in the place itself wins over the flag.
    pub(super) fn spot(&self, run: &Debugger, place: &Place) -> Result<Spot, Failure> {
        let mut place = place.clone();
        place.branch = place.branch.or_else(|| self.branch.clone());
        let spot = run.locate(&place)?;
        if !self.outside {
            return Ok(spot);
        }
        let branch = run.line_of(spot);
        Ok(Spot {
            cursor: Cursor {
                branch,
                ..spot.cursor
            },
            ..spot
        })
    }
}

/// A place that was found.
pub(super) struct Looked {
    /// The run.
    pub(super) run: Debugger,
    /// What was typed.
    pub(super) place: Place,
    /// Where it is.
    pub(super) spot: Spot,
}

/// The second of two places as typed: in another tape, or in the same one.
pub(super) enum Second<'a> {
    /// In the same one.
    Place(Place),
    /// In another one.
    Tape(&'a OsStr, Place),
}

impl<'a> Second<'a> {
    /// Reads `@B` or `TAPE@B`.
    pub(super) fn read(typed: &'a OsStr) -> Result<Self, Failure> {
        match typed.to_str() {
            Some(text) if text.starts_with('@') => Ok(Self::Place(text.parse()?)),
            _ => {
                let (tape, place) = split(typed)?;
                Ok(Self::Tape(tape, place))
            }
        }
    }
}

/// Splits what was typed into the tape and the place; the end of the tape without one.
pub(super) fn split(typed: &OsStr) -> Result<(&OsStr, Place), Failure> {
    let exists = |path: &str| Path::new(path).exists();
    if let Some(text) = typed.to_str() {
        let (tape, place) = Place::split(text, exists)?;
        return Ok((OsStr::new(tape), place));
    }
    // A file may have a name that is no text; a place has not.
    let bytes = typed.as_bytes();
    let sign = bytes.iter().rposition(|byte| *byte == b'@');
    let (tape, place) = bytes.split_at(sign.unwrap_or(bytes.len()));
    match str::from_utf8(place) {
        Ok(place) if !place.is_empty() && !Path::new(typed).exists() => {
            Ok((OsStr::from_bytes(tape), place.parse()?))
        }
        _ => Ok((typed, Place::END)),
    }
}
