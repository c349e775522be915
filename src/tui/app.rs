//! The state of the screen.
//!
//! Everything the screen knows is here, and nothing else changes it than
//! [`App::update`]. It never reads a file, a clock or a terminal.

use std::ops::Range;

use ratatui::layout::Size;

use super::against::Against;
use super::bisection::Bisecting;
use super::command::Command;
use super::decision::Decision;
use super::difference::Form;
use super::effect::Effect;
use super::exporting::Exporting;
use super::folding::Fold;
use super::fork_tree::{ForkTree, OpeningRun};
use super::forking::Forking;
use super::held::{Desk, Held, Ticket};
use super::job::Answered;
use super::keymap::{Keymap, Pending};
use super::layout::{Contents, Layout, Lines, Pane, Zoom};
use super::notes::NotePad;
use super::opening::Opening;
use super::overlay::Overlay;
use super::panes::{DiffPane, Sides, StatePane, StateView, TimelinePane, first_in_view};
use super::picker::Picker;
use super::play::Play;
use super::prompt::Prompt;
use super::scroll::Drag;
use super::search::{Filter, Search};
use super::terminal::Mouse;
use super::theme::{ColorChoice, Theme};
use super::travel::{Arrival, Follow, Travel};
use crate::debugger::{BranchRow, Left, Spot, StepRow, Summary, TransactionStanding};
use crate::model::{Place, TapePath};
use crate::text::SafeText;

/// How the screen starts.
#[derive(Clone, Debug, Default)]
pub struct AppOptions {
    /// What is shown first.
    pub first: First,
    /// Where the playhead stands at first; without a place, where the run was left, if that is
    /// kept, else at its end.
    pub start: Option<Place>,
    /// Whether the tape is followed as it grows.
    pub is_following: bool,
    /// Whether colours are used.
    pub colors: ColorChoice,
    /// Whose mouse it is.
    pub mouse: Mouse,
    /// Whether what a person leaves at the tape is kept.
    pub keeping: Keeping,
    /// The run is held against another one, at this place.
    pub against: Option<Place>,
    /// How much of the run was read before the screen was there.
    pub extent: Extent,
    /// Whether the tape is that of a command which runs meanwhile.
    pub has_command: bool,
}

/// How much of a run there is when the screen is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    #[default]
    Whole,
    /// Its first steps: the rest is read while they are shown.
    Begun,
}

/// What the screen shows first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum First {
    /// The run.
    #[default]
    Run,
    /// The runs that can be opened: there is none yet.
    Picker,
}

/// Whether what a person leaves at a tape is there the next time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keeping {
    /// It is kept.
    Kept,
    /// It is forgotten with the screen.
    #[default]
    Forgotten,
}

/// From this many columns of the screen on, a difference may stand side by side.
const WIDE_SCREEN: u16 = 120;

/// Two sides of a difference with room for 40 columns of text each.
const BOTH_SIDES: u16 = 96;

/// Everything the screen knows.
#[derive(Debug)]
pub struct App {
    pub(super) size: Size,
    pub(super) theme: Theme,
    pub(super) desk: Desk,
    pub(super) keymap: Keymap,
    pub(super) pending: Pending,
    pub(super) mouse: Mouse,
    /// What the mouse holds since it went down.
    pub(super) drag: Option<Drag>,
    /// The focused pane.
    pub(super) focus: Pane,
    /// The pane that had the focus before a digit chose one.
    pub(super) focus_before: Pane,
    pub(super) zoom: Zoom,
    pub(super) summary: Held<Summary>,
    /// What is wrong with the file, once somebody asked.
    pub(super) problems: Held<Vec<SafeText>>,
    pub(super) travel: Travel,
    /// What was left at earlier times.
    pub(super) left: Held<Box<Left>>,
    /// What was last asked to be kept.
    pub(super) kept: Option<Left>,
    pub(super) keeping: Keeping,
    pub(super) notes: NotePad,
    /// There is a run behind the screen.
    pub(super) has_run: bool,
    /// The runs that can be opened, where they are shown.
    pub(super) picker: Option<Picker>,
    pub(super) play: Play,
    pub(super) file: FileOnDisk,
    /// The run is still being read.
    pub(super) unread: Option<Opening>,
    pub(super) timeline: TimelinePane,
    pub(super) state: StatePane,
    pub(super) diff: DiffPane,
    /// The run that this one is held against.
    pub(super) against: Option<Against>,
    /// One that is being opened for that.
    pub(super) opening: Option<Ticket>,
    /// A file that the editor waits for.
    pub(super) fetch: Option<Ticket>,
    /// The files that a step may be about are being looked for.
    pub(super) naming: Option<Ticket>,
    pub(super) search: Option<Search>,
    /// The step that broke it is looked for, or was.
    pub(super) bisecting: Option<Bisecting>,
    /// The search before, while another query is typed.
    pub(super) search_before: Option<Search>,
    pub(super) prompt: Option<Prompt>,
    pub(super) overlay: Option<Overlay>,
    pub(super) message: Option<Message>,
    /// What has become of the transaction whose tape the run is.
    pub(super) standing: Held<Answered<Option<TransactionStanding>>>,
    /// How it is to end, while that is asked or done.
    pub(super) decision: Option<Decision>,
    /// A fork that is being made.
    pub(super) forking: Option<Forking>,
    /// A command that runs while the screen is shown.
    pub(super) command: Option<Command>,
    /// A test case that is being made.
    pub(super) exporting: Option<Exporting>,
    /// The tree of forks, where it is shown.
    pub(super) fork_tree: Option<ForkTree>,
    /// The id of the run that was left for this one, in the tree of forks.
    pub(super) came_from: Option<String>,
    /// A run that is being opened in the place of this one.
    pub(super) opening_run: Option<OpeningRun>,
}

/// Something said once, in the place of the hints, until the next key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    /// How grave it is.
    pub(super) tone: Tone,
    /// What is said.
    pub(super) text: SafeText,
}

/// How grave a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// Good to know.
    Plain,
    /// To be noticed.
    Warning,
    /// Something did not work.
    Error,
}

/// The tape's file, as far as it is watched.
#[derive(Debug, Default)]
pub(super) struct FileOnDisk {
    /// It is not there any more; what was read of it is.
    pub(super) is_gone: bool,
    /// It is being read.
    pub(super) reading: Option<Ticket>,
    /// It changed since it was read last.
    pub(super) is_due: bool,
    /// It was read less than a tenth of a second ago: growth is shown in strides.
    pub(super) is_resting: bool,
}

impl App {
    /// The screen before its first event, which says its size.
    pub fn new(options: AppOptions) -> Self {
        let mut against = options.against.map(|place| Against::new(place.branch));
        if let Some(against) = &mut against {
            // Who asked for no place wants to see where the runs part.
            against.seeks_divergence = options.start.is_none() && !options.is_following;
        }
        let mut app = Self {
            size: Size::ZERO,
            theme: Theme::new(options.colors),
            desk: Desk::default(),
            keymap: Keymap::default(),
            pending: Pending::default(),
            mouse: options.mouse,
            drag: None,
            focus: Pane::default(),
            focus_before: Pane::default(),
            zoom: Zoom::default(),
            summary: Held::default(),
            problems: Held::default(),
            travel: Travel::new(match options.start {
                Some(place) => Arrival::Place(place),
                None => Self::arrival_of(options.keeping),
            }),
            left: Held::default(),
            kept: None,
            keeping: options.keeping,
            notes: NotePad::default(),
            has_run: options.first == First::Run,
            picker: None,
            play: Play::default(),
            file: FileOnDisk::default(),
            unread: None,
            timeline: TimelinePane::default(),
            state: StatePane::default(),
            diff: DiffPane::default(),
            against,
            opening: None,
            fetch: None,
            naming: None,
            search: None,
            bisecting: None,
            search_before: None,
            prompt: None,
            overlay: None,
            message: None,
            standing: Held::default(),
            decision: None,
            forking: None,
            command: None,
            exporting: None,
            fork_tree: None,
            came_from: None,
            opening_run: None,
        };
        if options.extent == Extent::Begun {
            app.begin_opening();
        }
        if options.first == First::Picker {
            app.open_picker();
        }
        if options.is_following {
            app.watch();
            app.travel.follow = Follow::Sticking;
        }
        if options.has_command {
            app.command = Some(Command::started());
            app.say(
                Tone::Plain,
                "the command runs and is recorded; Ctrl-C ends it, q leaves it alone",
            );
        }
        app
    }

    /// Draws with other colours, or without, from now on. Nothing else changes.
    pub fn set_colors(&mut self, colors: ColorChoice) {
        self.theme = Theme::new(colors);
    }

    /// Whether [`Event::Tick`](super::event::Event::Tick) is wanted: somebody waits, or the
    /// run is played or being read.
    pub fn wants_tick(&self) -> bool {
        self.is_waiting() || self.play.is_on() || self.is_reading()
    }

    /// Whether an answer is waited for, or a change of the file has not been looked at.
    pub fn is_waiting(&self) -> bool {
        let panes = [
            self.summary.is_waiting(),
            self.problems.is_waiting(),
            self.left.is_waiting(),
            self.timeline.rows.is_waiting(),
            self.timeline.strip.is_waiting(),
            self.timeline.agents.is_waiting(),
            self.state.tree.is_waiting(),
            self.state.conversation.turns.is_waiting(),
            self.state.context.is_waiting(),
            self.state.context_run.is_waiting(),
            self.state.environment.is_waiting(),
            self.state.transaction.is_waiting(),
            self.state.statistics.is_waiting(),
            self.diff.changes.is_waiting(),
            self.diff.diff.is_waiting(),
            self.diff.by_path.is_waiting(),
            self.diff.detail.is_waiting(),
            self.diff.like.is_waiting(),
            self.diff.request.is_waiting(),
            self.diff.raw.is_waiting(),
        ];
        let is_file_waiting = |file: &super::panes::FilePane| {
            let blame = file.blame.as_ref();
            file.open.is_waiting() || blame.is_some_and(|blame| blame.told.is_waiting())
        };
        panes.contains(&true)
            || self.state.file.as_ref().is_some_and(is_file_waiting)
            || self.search.as_ref().is_some_and(Search::is_running)
            || self.bisecting.as_ref().is_some_and(Bisecting::is_running)
            || self.against.as_ref().is_some_and(Against::is_waiting)
            || self.opening.is_some()
            || self.decision.as_ref().is_some_and(Decision::is_waiting)
            || self.forking.as_ref().is_some_and(Forking::is_waiting)
            || self.exporting.as_ref().is_some_and(Exporting::is_waiting)
            || self.fork_tree.as_ref().is_some_and(ForkTree::is_waiting)
            || self.opening_run.is_some()
            || self.travel.under_way.is_some()
            || self.fetch.is_some()
            || self.picker.as_ref().is_some_and(Picker::is_waiting)
            || self.naming.is_some()
            || self.file.is_due
            || self.file.is_resting
    }

    /// Whether a comparison is waited for so long that it can be given up.
    pub(super) fn is_comparing(&self) -> bool {
        self.diff.diff.is_late(&self.desk)
    }

    /// Where everything stands; `None` when the screen is too small.
    pub(super) fn layout(&self) -> Option<Layout> {
        let state = match (&self.state.file, self.state.view) {
            (None, StateView::Files | StateView::Numbers) => Contents::Tree,
            _ => Contents::File,
        };
        let lines = match self.against {
            Some(_) => Lines::Two,
            None => Lines::One,
        };
        let layout = Layout::of(self.size, self.focus, self.zoom, state, lines)?;
        Some(match self.note_here() {
            Some(note) => layout.with_note(note),
            None => layout,
        })
    }

    /// The view of the state pane that comes next.
    pub(super) fn state_view_after(&self) -> StateView {
        let summary = self.summary.get();
        self.state.view.next(|view| match view {
            StateView::Transaction => summary.is_some_and(|summary| summary.has_transactions),
            StateView::Effects => summary.is_some_and(|summary| summary.has_effects),
            _ => true,
        })
    }

    /// How the difference is set: side by side on a wide screen, if its pane is wide, too.
    pub(super) fn diff_form(&self) -> Form {
        let area = self.layout().and_then(|layout| layout.content(Pane::Diff));
        let is_wide = area.is_some_and(|area| area.width >= BOTH_SIDES);
        match self.diff.sides {
            Sides::Beside if is_wide && self.size.width >= WIDE_SCREEN => Form::SideBySide,
            _ => Form::Unified,
        }
    }

    /// Rows of content that a pane shows.
    pub(super) fn height_of(&self, pane: Pane) -> usize {
        let area = self.layout().and_then(|layout| layout.content(pane));
        area.map_or(0, |area| usize::from(area.height))
    }

    /// Columns of content that a pane shows.
    pub(super) fn width_of(&self, pane: Pane) -> usize {
        let area = self.layout().and_then(|layout| layout.content(pane));
        area.map_or(0, |area| usize::from(area.width))
    }

    /// The branch the playhead is on.
    pub(super) fn branch(&self) -> Option<&BranchRow> {
        let id = self.travel.stop?.branch;
        let branches = &self.summary.get()?.branches;
        branches.iter().find(|branch| branch.id == id)
    }

    /// Steps of the branch the playhead is on.
    pub(super) fn steps(&self) -> u32 {
        self.branch().map_or(0, |branch| branch.steps)
    }

    /// The search whose hits alone are listed, if there is one.
    pub(super) fn filter(&self) -> Option<&Search> {
        // Beside another run, every step has its place.
        let search = self.search_here().filter(|_| self.against.is_none())?;
        (search.filter == Filter::Hits).then_some(search)
    }

    /// The search, if it is one of the branch the playhead is on.
    pub(super) fn search_here(&self) -> Option<&Search> {
        let branch = self.travel.stop?.branch;
        self.search
            .as_ref()
            .filter(|search| search.branch == branch)
    }

    /// The steps with a hit, where the timeline lists only those, and which of them are in
    /// view, by their indices.
    pub(super) fn filtered(&self, height: usize) -> Option<(&[u32], Range<usize>)> {
        let here = self.travel.spot()?.step.0;
        let steps = self.filter()?.steps();
        let nearest = steps.partition_point(|step| *step < here);
        let last = steps.len().saturating_sub(height);
        let first = nearest.saturating_sub(height / 2).min(last);
        Some((steps, first..steps.len().min(first + height)))
    }

    /// The steps that the timeline lists in so many rows, around the playhead.
    pub(super) fn listed_steps(&self, height: u16) -> Vec<u32> {
        let here = self.travel.spot().map_or(0, |spot| spot.step.0);
        let Some((steps, view)) = self.filtered(usize::from(height)) else {
            let folding = &self.timeline.folding;
            let last = folding.last_row(self.steps());
            let first = first_in_view(folding.row_of(here), last, height);
            let end = last.min(first.saturating_add(u32::from(height)));
            return (first..=end).map(|row| folding.step_at(row)).collect();
        };
        let mut listed = steps.get(view).unwrap_or_default().to_vec();
        if let Err(index) = listed.binary_search(&here) {
            listed.insert(index, here);
            // The playhead stays in view: what is farthest from it gives way.
            if listed.len() > usize::from(height) {
                listed.remove(if index < listed.len() / 2 {
                    listed.len() - 1
                } else {
                    0
                });
            }
        }
        listed
    }

    /// The step whose row the playhead is seen in: its own, or the first one of its fold.
    pub(super) fn listed_step(&self) -> Option<u32> {
        let here = self.travel.spot()?.step.0;
        if self.filter().is_some() {
            return Some(here);
        }
        let folding = &self.timeline.folding;
        Some(folding.step_at(folding.row_of(here)))
    }

    /// The folded agent in whose row the playhead is seen.
    pub(super) fn fold_here(&self) -> Option<&Fold> {
        self.fold_at(self.listed_step()?)
    }

    /// The folded agent whose row stands at a step, where it has one.
    pub(super) fn fold_at(&self, step: u32) -> Option<&Fold> {
        let fold = self.timeline.folding.fold_at(step)?;
        self.filter().is_none().then_some(fold)
    }

    /// The row of the step the playhead is in, if it is held.
    pub(super) fn current_row(&self) -> Option<&StepRow> {
        let stop = self.travel.stop?;
        self.timeline.row(stop.branch, stop.spot.step.0)
    }

    /// Whether the playhead is at the end of the last step.
    pub(super) fn is_at_end(&self, spot: Spot) -> bool {
        spot.step.0 >= self.steps()
    }

    /// The file that `{` and `}` follow: the open one, else the one selected in the focused
    /// pane, else the one whose difference is shown.
    pub(super) fn chosen_file(&self) -> Option<&TapePath> {
        if let Some(file) = &self.state.file {
            return Some(&file.path);
        }
        let in_tree = self.state.selected_file();
        let in_diff = self.diff.selected_index().and(self.diff.selected.as_ref());
        match self.focus {
            Pane::State => in_tree.or(in_diff),
            Pane::Timeline | Pane::Diff => in_diff.or(in_tree),
        }
    }

    /// Says something.
    pub(super) fn say(&mut self, tone: Tone, text: &str) {
        self.message = Some(Message {
            tone,
            text: SafeText::line(text),
        });
    }

    /// The requests that the last event led to.
    pub(super) fn take_requests(&mut self) -> impl Iterator<Item = Effect> + use<> {
        self.desk.take_requests().into_iter().map(Effect::Request)
    }
}
