//! The views and states of the screen, by name: on what they stand, and which keys lead there.
//!
//! One table for the pictures that people look at and for the frames that a test holds to
//! rules. It draws nothing itself, and needs no terminal.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

#[path = "asked.rs"]
mod asked;
#[path = "forks.rs"]
pub(crate) mod forks;

use forks::Family;
use jukebox::debugger::{Debugger, OpenOptions, Places, RunSource, Source};
use jukebox::model::{Progress, StepNumber, WallTime};
use jukebox::tui::app::{App, AppOptions, Extent, First};
use jukebox::tui::event::Event;
use jukebox::tui::frame::{FrameSize, KeyScript};
use jukebox::tui::job::{self, Answer, ReadingState, Reply};
use jukebox::tui::theme::ColorChoice;
use jukebox::tui::worker::InlineWorker;
use tempfile::TempDir;

/// A view, or a state of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// What it is called.
    pub name: &'static str,
    /// What it shows.
    pub stage: Stage,
    /// What is typed to get there.
    pub keys: &'static str,
}

/// What the screen stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A tape.
    On(Tape),
    /// A tape of which nothing is known yet: nobody answers.
    Unanswered(Tape),
    /// A tape that is followed.
    Followed(Tape),
    /// A tape of which the first third has been read so far.
    Reading(Tape),
    /// A tape whose transaction is open, and is asked how it would end.
    Held(Holder),
    /// A run with forks, or one of these.
    Forked(Member),
    /// A run of which a fork is made, and this comes of it.
    Forking(Making),
    /// A run of which a test case with few files is made, and this comes of it.
    Cutting(Cut),
    /// No run, of a person who never opened one.
    NoRun,
    /// No run, of a person who opened some before.
    Recent,
}

/// A tape to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tape {
    /// An agent mends a discount.
    BugHunt,
    /// Transactions, of which one is undone.
    RolledBack,
    /// Lines are missing, torn and spoilt.
    Damaged,
    /// Effects of every fate, in a transaction that is undone and in one that is open.
    Effects,
    /// Written by hand: sub-agents, requests, a branch, names and files of every sort.
    Signs,
    /// A header, and nothing else.
    Empty,
}

/// A tape of a run and its forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    /// The run.
    Parent,
    /// A fork of it, which has a fork itself.
    Fork,
    /// A fork of which nobody knows where its parent lies.
    Orphan,
}

/// What comes of making a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Making {
    /// It is being made.
    Underway,
    /// It is made, and stops where the model must speak.
    Made,
    /// A call that nobody can answer: there is no sandbox.
    NotAnswered,
    /// It was broken off.
    BrokenOff,
    /// Nothing can be written.
    Refused,
}

/// What comes of looking for the smallest set of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// It is being looked for.
    Underway,
    /// It is found.
    Found,
    /// The call does not fail twice.
    None,
}

/// What the process that holds a transaction answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// It would change some paths.
    Willing,
    /// Somebody else changed some of them.
    Conflicting,
    /// It is gone.
    Gone,
    /// It says nothing.
    Silent,
}

use Holder::{Conflicting, Gone, Silent, Willing};
use Making::{BrokenOff, Made, NotAnswered, Refused, Underway};
use Member::{Fork, Orphan, Parent};
use Stage::{Cutting, Followed, Forked, Forking, Held, NoRun, On, Reading, Recent, Unanswered};
use Tape::{BugHunt, Damaged, Effects, Empty, RolledBack, Signs};

const fn view(name: &'static str, stage: Stage, keys: &'static str) -> View {
    View { name, stage, keys }
}

/// Every view.
pub(crate) const VIEWS: &[View] = &[
    // The three panes, on a run that went as runs go.
    view("step", On(BugHunt), ":17<Enter>"),
    view("start", On(BugHunt), ":0<Enter>"),
    view("prompt", On(BugHunt), ":1<Enter>"),
    view("failed", On(BugHunt), ":18<Enter>"),
    view("outside", On(BugHunt), ":23<Enter>"),
    view("end", On(BugHunt), "G"),
    view("inside", On(BugHunt), ":17<Enter>,,"),
    view("playing", On(BugHunt), ":7<Enter><Space>"),
    view("zoom-timeline", On(BugHunt), ":17<Enter>1z"),
    view("zoom-state", On(BugHunt), ":17<Enter>2z"),
    view("zoom-diff", On(BugHunt), ":22<Enter>3z"),
    // The state pane.
    view("files", On(BugHunt), ":22<Enter>2j"),
    view("conversation", On(BugHunt), ":18<Enter>2V"),
    view("context", On(BugHunt), ":18<Enter>2VV"),
    view("environment", On(BugHunt), ":18<Enter>2VVV"),
    view("numbers", On(BugHunt), ":18<Enter>2VVVV"),
    view("conversation-agents", On(Signs), ":10<Enter>2V"),
    view("context-requests", On(Signs), ":10<Enter>2VV"),
    view("environment-branch", On(Signs), ":16<Enter>2VVV"),
    view("file", On(BugHunt), ":22<Enter>2<Enter>"),
    view("file-blame", On(BugHunt), ":22<Enter>2<Enter>b"),
    view("file-blame-line", On(BugHunt), ":22<Enter>2<Enter>bG"),
    view("bisect-asked", On(BugHunt), ":18<Enter>B"),
    view(
        "bisect-found",
        On(BugHunt),
        ":22<Enter>B--not<Space>--exists<Space>data/large.csv<Enter>",
    ),
    view("file-scrolled", On(BugHunt), ":22<Enter>2<Enter><C-d>"),
    view(
        "file-uncertain",
        On(Signs),
        ":12<Enter>:9<Enter>2<Enter>:12<Enter>",
    ),
    view("file-unread", On(Signs), ":9<Enter>:1<Enter>2gjjjj<Enter>"),
    view(
        "files-long-names",
        On(Signs),
        ":9<Enter>2gjj<Enter>j<Enter>j<Enter>j<Enter>",
    ),
    view("transaction-view", On(RolledBack), ":12<Enter>2VVVV"),
    view("transaction-effects", On(Effects), "G2VVVV"),
    view("transaction-none", On(RolledBack), ":1<Enter>2VVVV"),
    view("effects", On(Effects), "G2VVVVV"),
    // The diff pane.
    view("diff-unified", On(BugHunt), ":22<Enter>3|"),
    view("diff-sides", On(BugHunt), ":22<Enter>3z"),
    view("diff-more", On(BugHunt), ":12<Enter>3cc"),
    view("diff-blanks", On(BugHunt), ":12<Enter>3w"),
    view("diff-change", On(BugHunt), ":12<Enter>3)"),
    view("diff-since", On(BugHunt), ":7<Enter>d:23<Enter>3"),
    view("diff-files", On(Signs), ":10<Enter>3"),
    view("diff-binary", On(Signs), ":10<Enter>3g"),
    view("diff-json", On(Signs), ":10<Enter>3Jp"),
    view("diff-json-lines", On(Signs), ":10<Enter>3J"),
    view("diff-link", On(Signs), ":10<Enter>3JJ"),
    view("diff-rename", On(Signs), ":10<Enter>3JJJ"),
    view("diff-mode", On(Signs), ":10<Enter>3JJJJJ"),
    view("diff-line-end", On(Signs), ":13<Enter>3"),
    view("diff-hidden", On(Signs), ":9<Enter>3"),
    view("step-text", On(BugHunt), ":22<Enter>3v"),
    view("step-long", On(Signs), ":11<Enter>3"),
    view("step-hidden", On(Signs), ":7<Enter>3"),
    view("request", On(Signs), ":8<Enter>3v"),
    view("request-none", On(BugHunt), ":19<Enter>3v"),
    view("event", On(BugHunt), ":22<Enter>3vvv"),
    // Signs of the timeline.
    view("transaction", On(RolledBack), ":6<Enter>"),
    view("transaction-end", On(RolledBack), ":17<Enter>"),
    view("transaction-open", Held(Willing), "G1"),
    view("transaction-abandoned", Held(Gone), "G1"),
    view("agents", On(Signs), ":7<Enter>1"),
    view("agents-folded", On(Signs), ":7<Enter>1s"),
    view("branches", On(Signs), "b"),
    view("refused", On(Signs), ":12<Enter>"),
    view("gap", On(Damaged), ":7<Enter>"),
    view("damaged", On(Damaged), "G"),
    // Two runs.
    view("against-prompt", On(Signs), "A"),
    view("against", On(Signs), "A@main:end<Enter>"),
    view("against-diff", On(Signs), "A@main:end<Enter>G3"),
    view("against-itself", On(BugHunt), "A@12<Enter>"),
    // What is typed, and what is laid over the panes.
    view("palette", On(BugHunt), ":"),
    view("palette-words", On(BugHunt), ":diff"),
    view("palette-nothing", On(BugHunt), ":xyzzy"),
    view("diff-from", On(BugHunt), "D"),
    view("search-typing", On(BugHunt), "/total"),
    view("search-hits", On(BugHunt), "/total<Enter>n"),
    view("search-filter", On(BugHunt), "/total<Enter>n&"),
    view("search-nothing", On(BugHunt), "/xyzzy<Enter>"),
    view("count", On(BugHunt), ":17<Enter>12"),
    view("mark-letter", On(BugHunt), ":17<Enter>m"),
    view("marks", On(BugHunt), ":3<Enter>ma:15<Enter>mb:22<Enter>mz'"),
    view("marks-none", On(BugHunt), "'"),
    view("note-typing", On(BugHunt), ":17<Enter>a"),
    view(
        "note",
        On(BugHunt),
        ":17<Enter>athe<Space>parenthesis<Space>went<Space>here,<Space>and<Space>nobody<Space>saw<Space>it<Space>before<Space>the<Space>tests<Space>ran<Enter>",
    ),
    view("help", On(BugHunt), "?"),
    view("help-end", On(BugHunt), "?G"),
    view("notices", On(Damaged), "!"),
    view("notices-few", On(BugHunt), "!"),
    view("no-such-place", On(BugHunt), ":99<Enter>"),
    view("copied", On(BugHunt), ":17<Enter>y"),
    // A failed call, kept as a test case.
    view("export", On(BugHunt), ":18<Enter>x"),
    view("export-files", On(BugHunt), ":18<Enter>xj<Tab>"),
    view("export-into", On(BugHunt), ":18<Enter>xjj<Enter>"),
    view("export-model", On(BugHunt), ":19<Enter>x"),
    view("export-uncertain", On(Signs), "Gx"),
    view("export-nothing", On(BugHunt), ":17<Enter>x"),
    view("export-done", On(BugHunt), ":18<Enter>xY"),
    view("export-promptfoo", On(BugHunt), ":18<Enter>xh"),
    view("export-turn-offered", On(BugHunt), ":17<Enter>x"),
    view("export-minimal", On(BugHunt), ":18<Enter>xj<S-Tab>"),
    view("export-minimal-edit", On(BugHunt), ":20<Enter>xj<S-Tab>"),
    view(
        "export-minimal-underway",
        Cutting(Cut::Underway),
        ":18<Enter>xj<S-Tab>Y",
    ),
    view(
        "export-minimal-enough",
        Cutting(Cut::Underway),
        ":18<Enter>xj<S-Tab>Y<Esc>",
    ),
    view(
        "export-minimal-found",
        Cutting(Cut::Found),
        ":18<Enter>xj<S-Tab>Y",
    ),
    view(
        "export-minimal-none",
        Cutting(Cut::None),
        ":18<Enter>xj<S-Tab>Y",
    ),
    view(
        "export-minimal-done",
        Cutting(Cut::Found),
        ":18<Enter>xj<S-Tab>YY",
    ),
    view("export-taken", On(BugHunt), ":18<Enter>xjj<Enter>/<Enter>Y"),
    // How a transaction ends.
    view("commit", Held(Willing), "GC"),
    view("commit-patch", Held(Willing), "GC<Enter>"),
    view("commit-done", Held(Willing), "GCY"),
    view("commit-asking", Held(Silent), "GC"),
    view("commit-conflict", Held(Conflicting), "GC"),
    view("commit-abandoned", Held(Gone), "GC"),
    view("roll-back", Held(Willing), "GU"),
    view("roll-back-done", Held(Willing), "GUY"),
    // Forks, from the editor to the tree of them.
    view("fork-editor", On(BugHunt), ":16<Enter>f"),
    view(
        "fork-editor-mistake",
        On(BugHunt),
        ":16<Enter>f<C-End>x<C-s>",
    ),
    view("fork-sheet", On(BugHunt), ":16<Enter>fNo:<Space><C-s>"),
    view(
        "fork-underway",
        Forking(Underway),
        ":16<Enter>fNo:<Space><C-s>Y",
    ),
    view("fork-made", Forking(Made), ":16<Enter>fNo:<Space><C-s>Y"),
    view(
        "fork-not-answered",
        Forking(NotAnswered),
        ":16<Enter>fNo:<Space><C-s>Y",
    ),
    view(
        "fork-broken-off",
        Forking(BrokenOff),
        ":16<Enter>fNo:<Space><C-s>Y",
    ),
    view(
        "fork-refused",
        Forking(Refused),
        ":16<Enter>fNo:<Space><C-s>Y",
    ),
    view("fork-parent", Forked(Parent), ":15<Enter>"),
    view("fork-labels", Forked(Fork), ":16<Enter>1"),
    view("fork-beside", Forked(Fork), "TA"),
    view("forks", Forked(Parent), "T"),
    view("forks-delete", Forked(Parent), "TjjjD"),
    view("forks-delete-refused", Forked(Parent), "TjD"),
    view("forks-none", On(Signs), "T"),
    view("forks-no-parent", Forked(Orphan), "T"),
    view("forks-no-parent-opened", Forked(Orphan), "Tk<Enter>"),
    view("followed", Followed(BugHunt), "G"),
    view("followed-behind", Followed(BugHunt), "Ghh"),
    // Nothing to show, or not yet.
    view("empty", On(Empty), ""),
    view("empty-followed", Followed(Empty), ""),
    view("empty-notices", On(Empty), "!"),
    view("loading", Unanswered(BugHunt), ""),
    view("reading", Reading(BugHunt), ""),
    view("picker-first", NoRun, ""),
    view("picker", Recent, ""),
    view("picker-gone", Recent, "jj"),
    view("picker-filter", Recent, "/tidy"),
    view("picker-nothing", Recent, "/xyzzy"),
    view("picker-help", Recent, "?"),
    view("picker-failed", Recent, "jj<Enter>"),
];

/// The tapes and the directories that the views stand on. What is not among the demos is
/// written below a directory of its own, which goes when this does.
#[derive(Debug)]
pub(crate) struct Stages {
    home: TempDir,
    family: Family,
    /// A fork whose parent was deleted.
    orphan: PathBuf,
}

impl Stages {
    /// Sets everything up.
    pub(crate) fn build() -> Result<Self, Box<dyn Error>> {
        let home = tempfile::tempdir()?;
        let place = |name: &str| -> Result<PathBuf, Box<dyn Error>> {
            let place = home.path().join(name);
            fs::create_dir(&place)?;
            Ok(place)
        };
        let family = Family::build(&place("forks")?)?;
        let lost = Family::build(&place("lost")?)?;
        for file in [&lost.run, &lost.passed, &lost.again] {
            fs::remove_file(file)?;
        }
        let stages = Self {
            home,
            family,
            orphan: lost.checked,
        };
        let work = stages.home.path().join("work");
        fs::create_dir_all(&work)?;
        fs::write(
            stages.path(Tape::Empty),
            "{\"seq\":0,\"kind\":\"tape\",\"format\":1,\"id\":\"018f3a5c-7e00-7000-8000-00000000e0e0\"}\n",
        )?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let now = i64::try_from(now.as_micros())?;
        // Opened before: the last one a moment ago, and one that is not there any more.
        let runs = [
            ("checkout-fails", Tape::Damaged, 26 * 60, 7),
            ("scratch", Tape::Damaged, 3 * 60, 1),
            ("tidy-up", Tape::RolledBack, 95, 10),
            ("discount", Tape::BugHunt, 0, 18),
        ];
        for (name, tape, minutes, step) in runs {
            let path = work.join(format!("{name}.jsonl"));
            fs::copy(stages.path(tape), &path)?;
            let run = stages.places().open(&RunSource::File(path.clone()))?;
            let opened = now.saturating_sub(minutes * 60 * 1_000_000);
            run.remember(0, StepNumber(step), WallTime(opened))?;
            if name == "scratch" {
                fs::remove_file(path)?;
            }
        }
        Ok(stages)
    }

    /// The screen after the keys of a view.
    pub(crate) fn app(
        &self,
        view: &View,
        size: FrameSize,
        colors: ColorChoice,
    ) -> Result<App, Box<dyn Error>> {
        let (first, is_following) = match view.stage {
            Stage::NoRun | Stage::Recent => (First::Picker, false),
            Stage::Followed(_) => (First::Run, true),
            _ => (First::Run, false),
        };
        let extent = match view.stage {
            Stage::Reading(_) => Extent::Begun,
            _ => Extent::Whole,
        };
        let mut app = App::new(AppOptions {
            first,
            is_following,
            colors,
            extent,
            ..AppOptions::default()
        });
        let FrameSize { columns, rows } = size;
        let resize = Event::Resize { columns, rows };
        if let Stage::Unanswered(_) = view.stage {
            app.update(resize);
            // Long enough for somebody to wonder.
            for _ in 0..5 {
                app.update(Event::Tick);
            }
            return Ok(app);
        }
        let run = self.run(view.stage)?;
        let told = asked::steps_of(&run);
        let mut worker = InlineWorker::new(Arc::new(RwLock::new(run)));
        let mut instead = |job: &job::Job, reply: &mut dyn FnMut(Answer)| match view.stage {
            Stage::Held(holder) => asked::answer(holder, job, reply),
            Stage::Forking(making) => asked::make(making, &told, job, reply),
            Stage::Cutting(cut) => asked::cut(cut, job, reply) || asked::say_written(job, reply),
            _ => asked::say_written(job, reply),
        };
        worker.settle_but(&mut app, resize, &mut instead);
        if let Stage::Reading(_) = view.stage {
            // What reads on is asked first of all.
            let reading = job::Reading {
                progress: Progress::bytes(1, 3),
                state: ReadingState::Running,
            };
            worker.settle(
                &mut app,
                Event::Reply(Reply {
                    generation: 1,
                    answer: Answer::Read(reading),
                }),
            );
        }
        for key in view.keys.parse::<KeyScript>()?.keys() {
            worker.settle_but(&mut app, Event::Key(*key), &mut instead);
        }
        Ok(app)
    }

    fn run(&self, stage: Stage) -> Result<Debugger, Box<dyn Error>> {
        let source = match stage {
            Stage::On(tape)
            | Stage::Unanswered(tape)
            | Stage::Reading(tape)
            | Stage::Followed(tape) => Source::Path(self.path(tape)),
            Stage::Held(_) => Source::Path(self.path(Tape::Effects)),
            Stage::Forking(_) | Stage::Cutting(_) => Source::Path(self.path(Tape::BugHunt)),
            Stage::Forked(member) => Source::Path(match member {
                Member::Parent => self.family.run.clone(),
                Member::Fork => self.family.checked.clone(),
                Member::Orphan => self.orphan.clone(),
            }),
            Stage::NoRun | Stage::Recent => Source::Nothing,
        };
        let places = match stage {
            Stage::Recent => self.places(),
            _ => Places::default(),
        };
        let options = OpenOptions {
            places,
            ..OpenOptions::default()
        };
        Ok(Debugger::open(source, &options)?)
    }

    /// The directories of the person who opened runs before.
    fn places(&self) -> Places {
        Places {
            state: Some(self.home.path().join("state")),
            ..Places::default()
        }
    }

    fn path(&self, tape: Tape) -> PathBuf {
        let demos = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo-tapes");
        match tape {
            Tape::BugHunt => demos.join("bug-hunt.jsonl"),
            Tape::RolledBack => demos.join("rolled-back.jsonl"),
            Tape::Damaged => demos.join("damaged.jsonl"),
            Tape::Effects => demos.with_file_name("tests/fixtures/cli/effects.jsonl"),
            Tape::Signs => demos.join("gallery/signs.jsonl"),
            Tape::Empty => self.home.path().join("empty.jsonl"),
        }
    }
}
