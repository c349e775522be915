//! The loop: what happens goes in, the screen's wishes are carried out, a frame is drawn.
//!
//! Plain threads tell one channel; this thread alone holds the state and draws. It takes
//! all that has happened, then draws, and sleeps while nothing moves. It does no file I/O
//! and waits for nobody, except for an editor that the user opened.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Instant;

use crossterm::event::Event as Input;
use ratatui::layout::{Rect, Size};
use rustix::io::Errno;
use signal_hook::consts::SIGHUP;

use super::app::{App, AppOptions};
use super::canvas::Canvas;
use super::clipboard;
use super::editor::{Editor, Opened, Purpose};
use super::effect::Effect;
use super::event::Event;
use super::fault::{self, Drill};
use super::job::OpenedRun;
use super::keyboard::{Keyboard, Typed};
use super::pace::{Due, Need, Pace};
use super::signals::{self, Signal};
use super::terminal::{self, Terminal, TerminalError};
use super::view;
use super::worker::{Runs, Worker};
use crate::cli::{CommandEnd, RunningCommand};
use crate::debugger::{ForkGround, Rest};
use crate::text::SafeText;

/// How the screen is opened.
#[derive(Debug, Default)]
pub struct RunOptions {
    /// What the screen shows first.
    pub app: AppOptions,
    /// The command that runs meanwhile, where there is one.
    pub command: Option<RunningCommand>,
}

/// Why the screen closed, when all is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The user asked for it.
    Asked,
    /// This signal did, or the terminal went away, which counts as SIGHUP.
    Signal(i32),
}

/// Why the screen closed, when something is wrong.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no terminal, or it went wrong.
    #[error(transparent)]
    Terminal(#[from] TerminalError),
    /// A thread, a pipe or the terminal was refused by the system.
    #[error("the screen had to close: {0}")]
    Io(#[from] io::Error),
    /// The screen gave up, for this reason.
    #[error("{0}")]
    Failed(SafeText),
    /// A thread panicked, which was reported when it did.
    #[error("the screen closed because of a fault of its own")]
    Fault,
}

/// Shows a run until the user has seen enough, and reads the rest of it meanwhile.
pub fn run(
    runs: impl Into<Runs>,
    rest: Option<Rest>,
    options: RunOptions,
) -> Result<Ending, RunError> {
    let (tell, happenings) = channel();
    let _listening = signals::spawn(telling(&tell, Happening::Signal))?;
    let terminal = Terminal::open(options.app.mouse)?;
    let panicked = telling(&tell, |()| Happening::Panic);
    fault::watch(move || panicked(()));
    let keys = terminal.keys().try_clone_to_owned()?;
    let keyboard = Keyboard::spawn(keys, telling(&tell, Happening::Typed))?;
    let drill = Drill::from_environment();
    let runs = runs.into();
    let ground = runs.ground.clone();
    let worker = spawn_worker(runs, rest, &tell, drill)?;
    let stop_command = match options.command {
        None => None,
        Some(RunningCommand { end, stop }) => {
            hear_of_end(end, telling(&tell, Happening::Event))?;
            Some(stop)
        }
    };
    let mut session = Session {
        terminal,
        canvas: ratatui::Terminal::new(Canvas::new(Size::ZERO))?,
        app: App::new(options.app),
        pace: Pace::new(Instant::now()),
        worker,
        ground,
        keyboard,
        editor: Editor::from_environment(),
        stop_command,
        drill,
        typed: VecDeque::new(),
        put_off: VecDeque::new(),
        happenings,
        tell,
    };
    session.start()?;
    let ending = session.run();
    // Whatever the ending, what a person left is not lost.
    session.tell(Event::Closing)?;
    ending
}

/// Threads that answer about a run.
fn spawn_worker(
    runs: Runs,
    rest: Option<Rest>,
    tell: &Sender<Happening>,
    drill: Option<Drill>,
) -> io::Result<Worker> {
    let tell_event = telling(tell, Happening::Event);
    Worker::spawn(runs, rest, move |event| {
        Drill::at(drill, Drill::Worker);
        tell_event(event);
    })
}

/// Tells when the command is over that runs meanwhile. One that is never heard of again was
/// broken off by a fault, which is told elsewhere.
fn hear_of_end(end: Receiver<CommandEnd>, tell: impl Fn(Event) + Send + 'static) -> io::Result<()> {
    let listener = thread::Builder::new().name("command".into());
    let listen = move || {
        if let Ok(end) = end.recv() {
            tell(Event::CommandEnded(end));
        }
    };
    listener.spawn(listen).map(drop)
}

/// One thing that reached the loop.
#[derive(Debug)]
enum Happening {
    Event(Event),
    Typed(Typed),
    Signal(Signal),
    Panic,
}

/// A way into the channel. Once the loop has ended, nobody listens, and that is fine.
fn telling<T, F: Fn(T) -> Happening>(tell: &Sender<Happening>, wrap: F) -> impl Fn(T) + use<T, F> {
    let tell = tell.clone();
    move |what| drop(tell.send(wrap(what)))
}

/// What the screen is told of an input. The size comes by a signal.
fn event_of(input: Input) -> Option<Event> {
    match input {
        Input::Key(key) => Some(Event::Key(key)),
        Input::Mouse(mouse) => Some(Event::Mouse(mouse)),
        Input::Paste(text) => Some(Event::Paste(text)),
        Input::FocusGained => Some(Event::FocusGained),
        Input::FocusLost => Some(Event::FocusLost),
        Input::Resize(..) => None,
    }
}

/// What the screen waits for.
fn need(app: &App) -> Need {
    match (app.is_waiting(), app.wants_tick()) {
        (true, _) => Need::Answers,
        (false, true) => Need::Ticks,
        (false, false) => Need::Nothing,
    }
}

/// The fields are dropped in this order: the terminal is given back first.
struct Session {
    terminal: Terminal,
    canvas: ratatui::Terminal<Canvas>,
    app: App,
    pace: Pace,
    worker: Worker,
    /// What forks are made with.
    ground: Option<ForkGround>,
    keyboard: Keyboard,
    editor: Editor,
    drill: Option<Drill>,
    /// Asks the command to end that runs meanwhile.
    stop_command: Option<Box<dyn Fn() + Send>>,
    /// What was typed ahead.
    typed: VecDeque<Event>,
    /// What happened while an editor had the terminal.
    put_off: VecDeque<Happening>,
    happenings: Receiver<Happening>,
    tell: Sender<Happening>,
}

/// Stops the program. That it goes on is told by a signal.
fn stop() -> io::Result<()> {
    terminal::leave();
    signals::stop()
}

/// What a step of the loop comes to: an ending, or nothing yet.
type Outcome = Result<Option<Ending>, RunError>;

impl Session {
    fn start(&mut self) -> Outcome {
        self.resize()
    }

    fn run(&mut self) -> Result<Ending, RunError> {
        loop {
            match self.turn() {
                Ok(None) => {}
                Ok(Some(ending)) => return Ok(ending),
                // Nobody is there to read what was drawn.
                Err(RunError::Io(error)) if Errno::from_io_error(&error) == Some(Errno::IO) => {
                    return Ok(Ending::Signal(SIGHUP));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for something, takes in all there is, and does what is due.
    fn turn(&mut self) -> Outcome {
        let mut next = self.wait()?;
        while let Some(happening) = next {
            if let Some(ending) = self.take(happening)? {
                return Ok(Some(ending));
            }
            if self.pace.is_late(Instant::now()) {
                break;
            }
            next = self
                .put_off
                .pop_front()
                .or_else(|| self.happenings.try_recv().ok());
        }
        if let Some(ending) = self.take_keys()? {
            return Ok(Some(ending));
        }
        while let Some(due) = self.pace.take_due(Instant::now()) {
            let ending = match due {
                Due::Look => self.tell(Event::TapeMayHaveChanged)?,
                Due::Tick => self.tell(Event::Tick)?,
                Due::Frame => {
                    self.draw()?;
                    break;
                }
            };
            if ending.is_some() {
                return Ok(ending);
            }
        }
        Ok(None)
    }

    /// The next happening; none when something else is due first.
    fn wait(&mut self) -> Result<Option<Happening>, RunError> {
        if let Some(happening) = self.put_off.pop_front() {
            return Ok(Some(happening));
        }
        let received = match self.pace.rest(Instant::now()) {
            Some(rest) => self.happenings.recv_timeout(rest),
            None => self.happenings.recv().map_err(RecvTimeoutError::from),
        };
        match received {
            Ok(happening) => Ok(Some(happening)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            // The signal thread never ends unless it panics.
            Err(RecvTimeoutError::Disconnected) => Err(RunError::Fault),
        }
    }

    fn take(&mut self, happening: Happening) -> Outcome {
        match happening {
            Happening::Event(Event::TapeMayHaveChanged) => {
                self.pace.tape_changed(Instant::now());
                Ok(None)
            }
            Happening::Event(event) => self.tell(event),
            Happening::Typed(Typed::Event(input)) => {
                self.typed.extend(event_of(input));
                Ok(None)
            }
            Happening::Typed(Typed::Gone) => Ok(Some(Ending::Signal(SIGHUP))),
            Happening::Signal(signal) => self.obey(signal),
            Happening::Panic => Err(RunError::Fault),
        }
    }

    /// Takes what was typed, each key once the answers to the one before it are there.
    fn take_keys(&mut self) -> Outcome {
        while self.pace.is_ready_for_key(Instant::now()) {
            let Some(event) = self.typed.pop_front() else {
                break;
            };
            let ending = self.tell(event)?;
            if ending.is_some() {
                return Ok(ending);
            }
            self.pace.key_taken(Instant::now(), need(&self.app));
        }
        Ok(None)
    }

    fn obey(&mut self, signal: Signal) -> Outcome {
        match signal {
            Signal::End(number) | Signal::Interrupt(number) => Ok(Some(Ending::Signal(number))),
            Signal::Stop => {
                stop()?;
                Ok(None)
            }
            Signal::Continue => self.come_back(),
            Signal::Resize => self.resize(),
            Signal::Child => Ok(None),
        }
    }

    /// Tells the screen, and carries out what it wishes.
    fn tell(&mut self, event: Event) -> Outcome {
        for effect in self.app.update(event) {
            let ending = self.carry_out(effect)?;
            if ending.is_some() {
                return Ok(ending);
            }
        }
        self.pace.happened(Instant::now(), need(&self.app));
        Ok(None)
    }

    fn carry_out(&mut self, effect: Effect) -> Outcome {
        match effect {
            Effect::Request(request) => self.worker.request(request),
            Effect::Show(opened) => self.show(&opened)?,
            Effect::OpenEditor { bytes, name, line } => {
                return self.edit(&bytes, &name, line, Purpose::Look);
            }
            Effect::EditText { text, line } => {
                return self.edit(text.as_bytes(), "fork.txt", line, Purpose::Alter);
            }
            Effect::Copy(lines) => terminal::write(&clipboard::sequence(&lines))?,
            Effect::Mouse(mouse) => self.terminal.set_mouse(mouse)?,
            Effect::Suspend if signals::can_be_continued() => stop()?,
            Effect::Suspend => {
                return self.fail("no shell is there that could continue a stopped program");
            }
            Effect::Redraw => self.forget_frame()?,
            Effect::StopCommand => {
                if let Some(stop) = &self.stop_command {
                    stop();
                }
            }
            Effect::Quit => return Ok(Some(Ending::Asked)),
            Effect::Fail(reason) => return Err(RunError::Failed(reason)),
        }
        Ok(None)
    }

    /// From now on requests are about this run. Whoever answered about the one before ends on
    /// a thread of its own: it may still have something to keep.
    fn show(&mut self, opened: &OpenedRun) -> io::Result<()> {
        let (run, rest) = opened.take();
        let runs = Runs::alone(run).with_ground(self.ground.clone());
        let worker = spawn_worker(runs, rest, &self.tell, self.drill)?;
        let before = std::mem::replace(&mut self.worker, worker);
        let end = move || drop(before);
        thread::Builder::new().name("worker".into()).spawn(end)?;
        Ok(())
    }

    /// The terminal is ours again, after whatever others did to it.
    fn come_back(&mut self) -> Outcome {
        self.terminal.enter()?;
        self.forget_frame()?;
        self.resize()
    }

    fn resize(&mut self) -> Outcome {
        let Size { width, height } = terminal::size();
        self.canvas.backend_mut().resize(Size { width, height });
        self.tell(Event::Resize {
            columns: width,
            rows: height,
        })
    }

    /// The next frame is drawn whole.
    fn forget_frame(&mut self) -> io::Result<()> {
        let size = self.canvas.size()?;
        self.canvas.resize(Rect::from(size))
    }

    fn draw(&mut self) -> io::Result<()> {
        if self.canvas.size()?.area() == 0 {
            return Ok(());
        }
        let (app, drill) = (&self.app, self.drill);
        self.canvas.draw(|frame| {
            view::draw(app, frame);
            Drill::at(drill, Drill::Draw);
        })?;
        Ok(())
    }

    /// Lends the terminal to an editor until it ends.
    fn edit(&mut self, bytes: &[u8], name: &str, line: usize, purpose: Purpose) -> Outcome {
        terminal::leave();
        let keys = self.terminal.keys().try_clone_to_owned()?;
        let (editor, happenings, put_off) = (&self.editor, &self.happenings, &mut self.put_off);
        let edited =
            self.keyboard
                .leave_to(|| match editor.open(bytes, name, line, purpose, keys) {
                    Ok(opened) => wait_for(opened, happenings, put_off),
                    Err(error) => Ok(Edited::Failed(format!("the editor did not start: {error}"))),
                })?;
        if let Edited::Ended(ending) = edited {
            return Ok(Some(ending));
        }
        let ending = self.come_back()?;
        match edited {
            Edited::Failed(why) if ending.is_none() => self.fail(&why),
            Edited::Closed(Some(text)) if ending.is_none() => self.tell(Event::TextEdited(text)),
            _ => Ok(ending),
        }
    }

    fn fail(&mut self, why: &str) -> Outcome {
        self.tell(Event::EffectFailed(SafeText::line(why)))
    }
}

/// What came of lending the terminal to an editor.
enum Edited {
    /// It was closed; what it was to alter is this now.
    Closed(Option<String>),
    /// It did not start, or says that something went wrong.
    Failed(String),
    /// We are to end before it does.
    Ended(Ending),
}

/// Waits for the editor, and puts off what is no business of it.
fn wait_for(
    mut editor: Opened,
    happenings: &Receiver<Happening>,
    put_off: &mut VecDeque<Happening>,
) -> Result<Edited, RunError> {
    loop {
        match editor.ending()? {
            Some(status) if status.success() => {
                return Ok(match editor.text() {
                    Ok(text) => Edited::Closed(text),
                    Err(error) => {
                        Edited::Failed(format!("what the editor left cannot be read: {error}"))
                    }
                });
            }
            Some(status) => {
                return Ok(Edited::Failed(format!("the editor ended with {status}")));
            }
            None => {}
        }
        match happenings.recv() {
            Ok(Happening::Signal(Signal::Stop)) => signals::stop()?,
            Ok(Happening::Signal(Signal::End(number))) => {
                return Ok(Edited::Ended(Ending::Signal(number)));
            }
            // The keyboard's interrupts are the editor's, and its end is told by a signal.
            Ok(Happening::Signal(_)) => {}
            Ok(Happening::Panic) | Err(_) => return Err(RunError::Fault),
            Ok(happening) => put_off.push_back(happening),
        }
    }
}
