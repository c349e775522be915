//! What each action of the screen is on the command line.
//!
//! Whatever a person can learn of a run on the screen, or do with it, a command tells or does
//! as well; what is about the screen alone needs none. The README's table says which is which,
//! and a test holds the commands to the program's own help.

use super::ActionId;

impl ActionId {
    /// The command that tells or does the same; `None`: it is about the screen alone.
    pub const fn command(self) -> Option<&'static str> {
        Some(match self {
            Self::StepBack | Self::StepForward => "jukebox show TAPE@12",
            Self::NextFailure | Self::PreviousFailure => "jukebox show TAPE@fail",
            Self::PreviousVersion | Self::NextVersion => "jukebox search TAPE path:PATH",
            Self::Palette => "jukebox show TAPE@PLACE",
            Self::EventBack | Self::EventForward => "jukebox show TAPE@seq:340 --raw",
            Self::PreviousEdge | Self::NextEdge | Self::TimelinePane => "jukebox log TAPE",
            Self::NextDifference | Self::PreviousDifference | Self::Against => {
                "jukebox compare TAPE TAPE2"
            }
            Self::NextBranch => "jukebox log TAPE --branch NAME",
            Self::Follow => "jukebox open TAPE --follow",
            Self::SetMark => "jukebox mark TAPE@12 a",
            Self::GoToMark => "jukebox show TAPE@mark:a",
            Self::Annotate => "jukebox note TAPE@12 TEXT",
            Self::NextNote => "jukebox note TAPE",
            Self::DiffFromHere | Self::DiffFrom => "jukebox diff TAPE@5 @12",
            Self::Open | Self::OpenNamed | Self::OpenInEditor => "jukebox cat TAPE@12 PATH",
            Self::Blame => "jukebox blame TAPE@12 PATH",
            Self::Bisect => "jukebox bisect TAPE -- CMD",
            Self::NextFile | Self::PreviousFile | Self::DiffPane => "jukebox diff TAPE@12",
            Self::NextView => "jukebox diff TAPE@12 --request",
            Self::NextStateView => "jukebox show TAPE@12 --context",
            Self::ByPath => "jukebox diff TAPE@12 --like",
            Self::StatePane => "jukebox tree TAPE@12",
            Self::Fork => "jukebox fork TAPE@12 --edit",
            Self::Export => "jukebox export TAPE@12",
            Self::ForkTree => "jukebox forks TAPE",
            Self::Commit => "jukebox txn commit ID",
            Self::RollBack => "jukebox txn rollback ID",
            Self::Search | Self::NextHit | Self::PreviousHit | Self::OnlyHits => {
                "jukebox search TAPE WORDS"
            }
            Self::Notices => "jukebox verify TAPE",
            Self::OtherRun => "jukebox recent",
            Self::Help => "jukebox --help",
            Self::Confirm
            | Self::Play
            | Self::Faster
            | Self::Slower
            | Self::JumpBack
            | Self::Fold
            | Self::FoldAll
            | Self::Sides
            | Self::Context
            | Self::NextChange
            | Self::PreviousChange
            | Self::Blanks
            | Self::NextPane
            | Self::PreviousPane
            | Self::Zoom
            | Self::Down
            | Self::Up
            | Self::PageDown
            | Self::PageUp
            | Self::Top
            | Self::Bottom
            | Self::ScrollLeft
            | Self::ScrollRight
            | Self::Copy
            | Self::Back
            | Self::Close
            | Self::Mouse
            | Self::Redraw
            | Self::Suspend
            | Self::Quit => return None,
        })
    }
}
