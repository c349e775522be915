//! `jukebox open` and `jukebox demo`: the screen, or a picture of it.
//!
//! The screen itself is none of this layer's business: it is a [`Screen`] that the caller
//! brought.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::When;
use super::arguments::{Growth, Second, SourceArgs, split};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::running::RunningCommand;
use crate::debugger::{Debugger, ForkGround, Rest, RunSource};
use crate::model::Place;

/// What can show a run, on whatever thread.
pub trait Screen: Sync {
    /// Shows it until the user has seen enough, and reads the rest of it meanwhile.
    fn show(&self, run: Debugger, rest: Option<Rest>, start: Start) -> Result<Answer, Failure>;

    /// Whether there are colours of this name, or in this file.
    fn check_theme(&self, theme: &OsStr) -> Result<(), Failure>;

    /// Draws one picture of a run that was read whole.
    fn draw(&self, run: Debugger, start: Start, frame: &FrameRequest) -> Result<String, Failure>;
}

/// The run that the one on the screen is held against.
#[derive(Debug)]
pub struct Against {
    /// The run; `None`: another branch of the one that is shown.
    pub run: Option<Box<Debugger>>,
    /// A place in it, which names the branch.
    pub place: Place,
}

/// How the screen starts.
#[derive(Debug)]
pub struct Start {
    /// What the run is held against.
    pub against: Option<Against>,
    /// The runs that can be opened are shown, and not the one that is given.
    pub is_choosing: bool,
    /// Where the playhead stands; without a place, where the run was left, or at its end.
    pub place: Option<Place>,
    /// Whether the tape is followed as it grows.
    pub is_following: bool,
    /// Whether there are colours.
    pub has_colors: bool,
    /// Which ones: the name of a theme or its file; without one, the terminal's own.
    pub theme: Option<OsString>,
    /// Whether the mouse is used.
    pub has_mouse: bool,
    /// What the calls of a fork are answered with; without it, no fork is made.
    pub ground: Option<ForkGround>,
    /// The command that the tape is of, where it runs meanwhile.
    pub command: Option<RunningCommand>,
}

/// A picture of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameRequest {
    /// What is typed before it is drawn, as the screen's key names.
    pub keys: String,
    /// How large it is, as `COLUMNSxROWS`.
    pub size: String,
    /// In which form.
    pub format: PictureFormat,
}

/// The form of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// The characters.
    Text,
    /// A drawing with colours.
    Svg,
}

/// Open a run on the screen
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A tape or a transcript, and a place in it
    #[arg(value_name = "TAPE[@STEP]")]
    place: Option<OsString>,
    /// Go on as the tape grows
    #[arg(long)]
    follow: bool,
    /// Hold it against another run, side by side, or against another branch of it: @b2:end
    #[arg(long, value_name = "TAPE2|@B")]
    against: Option<OsString>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    look: LookArgs,
}

/// Open a run that is built into the program
#[derive(Debug, clap::Args)]
pub(super) struct DemoArgs {
    #[command(flatten)]
    look: LookArgs,
}

/// How the screen looks.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ScreenArgs {
    /// The colours: dark, light, color-blind, high-contrast, or a TOML file like these;
    /// without it, the sixteen of the terminal
    #[arg(long, value_name = "NAME|FILE")]
    theme: Option<OsString>,
    /// Whether the mouse focuses, chooses and scrolls; off: the terminal selects text with it
    #[arg(long, value_enum, value_name = "WHETHER")]
    mouse: Option<Mouse>,
}

/// How the screen looks, or a picture instead of it.
#[derive(Clone, Debug, clap::Args)]
struct LookArgs {
    #[command(flatten)]
    screen: ScreenArgs,
    /// Draw without a terminal, into this file: .txt or .svg
    #[arg(long, value_name = "FILE")]
    frame: Option<PathBuf>,
    /// Keys to type before the picture is drawn
    #[arg(
        long,
        requires = "frame",
        default_value = "",
        hide_default_value = true
    )]
    keys: String,
    /// The size of the picture
    #[arg(
        long,
        requires = "frame",
        default_value = "120x40",
        value_name = "COLUMNSxROWS"
    )]
    size: String,
}

/// Whose mouse it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Mouse {
    On,
    Off,
}

impl Args {
    /// Whether anything was typed that is meant for this command.
    pub(super) fn has_any(&self) -> bool {
        self.place.is_some()
            || self.follow
            || self.against.is_some()
            || self.source.has_any()
            || self.look.has_any()
    }

    pub(super) fn run(
        &self,
        around: &Environment,
        colors: When,
        screen: &dyn Screen,
    ) -> Result<Answer, Failure> {
        let Some(typed) = &self.place else {
            return self.choose(around, colors, screen);
        };
        let (tape, place) = split(typed)?;
        let is_named = tape.len() < typed.len();
        let growth = if self.follow {
            Growth::Awaited
        } else {
            Growth::None
        };
        // A picture, and a run that is held against another, take all of it at once.
        let (run, rest) = if self.look.frame.is_some() || self.against.is_some() {
            (self.source.open_whole(tape, growth, around)?, None)
        } else {
            self.source.begin(tape, growth, around)?
        };
        if rest.is_none() {
            run.locate(&place)?;
        }
        let typed = self.against.as_deref().map(Second::read).transpose()?;
        let against = match typed {
            None => None,
            Some(Second::Place(place)) => {
                run.locate(&place)?;
                Some(Against { run: None, place })
            }
            Some(Second::Tape(tape, place)) => {
                let other = self.source.open(tape, around)?;
                other.locate(&place)?;
                let run = Some(Box::new(other));
                Some(Against { run, place })
            }
        };
        let start = Start {
            against,
            is_choosing: false,
            // Who follows a run is at its end.
            place: (is_named || self.follow).then_some(place),
            is_following: self.follow,
            ..self.look.start(around, colors)
        };
        self.look.show(run, rest, start, around, screen)
    }

    /// Shows the runs that can be opened.
    fn choose(
        &self,
        around: &Environment,
        colors: When,
        screen: &dyn Screen,
    ) -> Result<Answer, Failure> {
        if self.follow || self.source.has_any() {
            return Err(Failure::unusable(
                "no tape was named; `jukebox FILE` opens one, `jukebox recent` lists those of before",
            ));
        }
        let run = self.source.open_nothing(around)?;
        let start = self.look.start(around, colors);
        let start = Start {
            is_choosing: true,
            ..start
        };
        self.look.show(run, None, start, around, screen)
    }
}

impl DemoArgs {
    pub(super) fn run(
        &self,
        around: &Environment,
        colors: When,
        screen: &dyn Screen,
    ) -> Result<Answer, Failure> {
        let run = around.places.open(&RunSource::Demo)?;
        let start = self.look.start(around, colors);
        self.look.show(run, None, start, around, screen)
    }
}

impl ScreenArgs {
    /// Whether anything was typed that is meant for the screen.
    pub(super) const fn has_any(&self) -> bool {
        self.theme.is_some() || self.mouse.is_some()
    }

    /// The colours that were named.
    pub(super) fn theme(&self) -> Option<&OsStr> {
        self.theme.as_deref()
    }

    /// How the screen starts on a run, as far as looks go.
    pub(super) fn start(&self, has_colors: bool, around: &Environment) -> Start {
        Start {
            against: None,
            is_choosing: false,
            place: None,
            is_following: false,
            has_colors,
            theme: self.theme.clone(),
            has_mouse: self.mouse != Some(Mouse::Off),
            ground: super::fork::ground(around),
            command: None,
        }
    }
}

impl LookArgs {
    fn has_any(&self) -> bool {
        self.screen.has_any() || self.frame.is_some()
    }

    /// How the screen starts, as far as looks go.
    fn start(&self, around: &Environment, colors: When) -> Start {
        self.screen.start(self.has_colors(around, colors), around)
    }

    fn has_colors(&self, around: &Environment, colors: When) -> bool {
        colors.allows(around, self.frame.is_some() || around.has_terminal)
    }

    fn show(
        &self,
        run: Debugger,
        rest: Option<Rest>,
        start: Start,
        around: &Environment,
        screen: &dyn Screen,
    ) -> Result<Answer, Failure> {
        let Some(file) = &self.frame else {
            if !around.has_screen {
                let instead = if start.is_choosing {
                    ", `jukebox recent` lists the runs that were opened before"
                } else {
                    ""
                };
                return Err(Failure::unusable(format!(
                    "the screen needs a terminal; `jukebox log TAPE` prints the steps{instead}"
                )));
            }
            return screen.show(run, rest, start);
        };
        let frame = FrameRequest {
            keys: self.keys.clone(),
            size: self.size.clone(),
            format: PictureFormat::of(file)?,
        };
        let picture = screen.draw(run, start, &frame)?;
        std::fs::write(file, picture).map_err(|error| {
            let file = file.display();
            Failure::machine(format!(
                "the picture could not be written to {file}: {error}"
            ))
        })?;
        Ok(Answer::Yes)
    }
}

impl PictureFormat {
    fn of(file: &Path) -> Result<Self, Failure> {
        match file.extension().and_then(std::ffi::OsStr::to_str) {
            Some("txt") => Ok(Self::Text),
            Some("svg") => Ok(Self::Svg),
            _ => Err(Failure::unusable(
                "a picture is written to a file that ends in .txt or .svg",
            )),
        }
    }
}
