//! A run that is recorded from outside: lines come in, a tape grows, each line is answered.
//!
//! A line is an event as `STDIN.md` of the tape says. What is wrong with one is told with
//! its place, and the run goes on. The watched directories are looked at around each call.
//! Nothing here reads from or writes to a pipe: that is the shell's.

use std::path::{Path, PathBuf};

use crate::capture::{Capture, CaptureError, CaptureOptions, IgnorePolicy, Session, holds_home};
use crate::model::{
    Body, Content, Event, FileOp, Header, Outcome, Problem, ProblemKind, Scope, Seq, TapePath,
};
use crate::tape::wire::v1::{Fault, decode_given};
use crate::tape::{OnFailure, Recorder, RecorderOptions, Redacting, References};
pub use crate::tape::{RecordError, SyncPolicy};

/// How a run is recorded.
#[derive(Clone, Debug)]
pub struct RecordingOptions {
    /// The tape, a new file.
    pub tape: PathBuf,
    /// The directories that are watched: the first is the workspace.
    pub watch: Vec<PathBuf>,
    /// What is too much to be watched by mistake: the home directory, where it is known.
    pub home: Option<PathBuf>,
    /// Watches the home directory and what holds it all the same.
    pub allows_home: bool,
    /// Files that `.gitignore` names are recorded, too.
    pub covers_ignored: bool,
    /// When events are on disk.
    pub sync: SyncPolicy,
    /// What is taken out before anything is written; `None`: nothing.
    pub redacting: Option<Redacting>,
}

/// A run cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The tape cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A directory cannot be watched.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// It holds more than any run's workspace.
    #[error("{} is or holds the home directory", .0.display())]
    TooMuch(PathBuf),
    /// One directory lies in another.
    #[error("{} lies in {}, which is watched", .0.display(), .1.display())]
    Nested(PathBuf, PathBuf),
}

/// The answer to a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is on the tape.
    Recorded {
        /// The event's number.
        seq: Seq,
        /// How many changes of files were found and recorded before it.
        changes: usize,
    },
    /// It ended the run: the tape is closed.
    Ended {
        /// The number of the event that says so.
        seq: Seq,
        /// How many changes of files were found and recorded before it.
        changes: usize,
    },
    /// Nothing of it is on the tape.
    Refused(Problem),
}

/// A run that is being recorded.
#[derive(Debug)]
pub struct Recording {
    options: RecordingOptions,
    state: State,
    references: References,
    /// Lines that were taken so far, and their bytes.
    lines: u64,
    offset: u64,
}

#[derive(Debug)]
enum State {
    /// No line was taken yet: the first one may be the header.
    Waiting(Vec<Capture>),
    Running(Box<Session>),
    Over,
}

impl Recording {
    /// Begins to watch. The tape is there once the first line was taken.
    pub fn prepare(options: RecordingOptions) -> Result<Self, RecordingError> {
        if options.tape.exists() {
            return Err(RecordError::Exists(options.tape).into());
        }
        let mut captures: Vec<Capture> = Vec::new();
        for directory in &options.watch {
            let watched = CaptureOptions {
                ignore: if options.covers_ignored {
                    IgnorePolicy::Nothing
                } else {
                    IgnorePolicy::AtStart
                },
                tape: Some(absolute(&options.tape)),
                ..CaptureOptions::default()
            };
            check_size(directory, &options)?;
            let capture = match captures.len() {
                0 => Capture::workspace(directory, watched)?,
                _ => Capture::outside(directory, watched)?,
            };
            for other in &captures {
                let (one, two) = (capture.path().to_owned(), other.path().to_owned());
                if one.starts_with(&two) {
                    return Err(RecordingError::Nested(one, two));
                }
                if two.starts_with(&one) {
                    return Err(RecordingError::Nested(two, one));
                }
            }
            captures.push(capture);
        }
        Ok(Self {
            options,
            state: State::Waiting(captures),
            references: References::default(),
            lines: 0,
            offset: 0,
        })
    }

    /// Takes a line, with its newline where it has one. Fails only where nothing more can be
    /// recorded: what is wrong with the line is an answer.
    pub fn take(&mut self, line: &[u8]) -> Result<Reply, RecordingError> {
        let start = self.offset;
        self.lines += 1;
        self.offset += line.len() as u64;
        let inside = line.strip_suffix(b"\n");
        let event = decode_given(inside.unwrap_or(line)).map_err(|fault| match inside {
            Some(_) => fault,
            // A line that ends well is one even without its newline.
            None => Fault {
                kind: ProblemKind::TornTail,
                message: format!("the input ends inside a line: {}", fault.message),
                ..fault
            },
        });
        let reply = match event {
            Ok(event) => self.event(event)?,
            Err(fault) => Err(fault),
        };
        Ok(reply.unwrap_or_else(|fault| {
            let offset = start + fault.at as u64;
            Reply::Refused(Problem::new(self.lines, offset, fault.kind, fault.message))
        }))
    }

    fn event(&mut self, event: Event) -> Result<Result<Reply, Fault>, RecordingError> {
        if let Body::Tape(header) = event.body {
            return self.header(*header);
        }
        let mut event = event;
        let next = match self.session(Header::default())? {
            Ok(session) => complete(&mut event, session).map(|()| session.recorder().next_seq()),
            Err(fault) => Err(fault),
        };
        let referred = next.and_then(|next| refer(&mut self.references, next, &event));
        if let Err(fault) = referred {
            return Ok(Err(fault));
        }
        let State::Running(session) = &mut self.state else {
            return Ok(Err(over()));
        };
        match event.body {
            Body::Snapshot { .. } => Ok(match session.snapshot() {
                Ok(seq) => Ok(Reply::Recorded { seq, changes: 0 }),
                Err(error @ (RecordError::MidCall | RecordError::Fork)) => {
                    Err(refusal(ProblemKind::BadField, error.to_string()))
                }
                Err(error) => return Err(error.into()),
            }),
            Body::End { outcome } => {
                let State::Running(session) = std::mem::replace(&mut self.state, State::Over)
                else {
                    return Ok(Err(over()));
                };
                let (seq, changes) = session.close(outcome)?;
                Ok(Ok(Reply::Ended { seq, changes }))
            }
            _ => {
                let appended = session.append(event)?;
                Ok(match appended.seq {
                    Some(seq) => Ok(Reply::Recorded {
                        seq,
                        changes: appended.changes,
                    }),
                    None => Err(refusal(
                        ProblemKind::RecordedGap,
                        "the event was lost: the tape could not be written".to_owned(),
                    )),
                })
            }
        }
    }

    fn header(&mut self, header: Header) -> Result<Result<Reply, Fault>, RecordingError> {
        if header.parent.is_some() || header.edit.is_some() {
            let message = "`parent` and `edit` make a fork, which is not recorded so".to_owned();
            return Ok(Err(refusal(ProblemKind::BadHeader, message)));
        }
        if !matches!(self.state, State::Waiting(_)) {
            let message = "the header is the first line, or there is none".to_owned();
            return Ok(Err(refusal(ProblemKind::BadHeader, message)));
        }
        Ok(self.session(header)?.map(|_| Reply::Recorded {
            seq: Seq(0),
            changes: 0,
        }))
    }

    /// The session, which begins with this header if none is there yet.
    fn session(&mut self, header: Header) -> Result<Result<&mut Session, Fault>, RecordingError> {
        if let State::Waiting(captures) = &mut self.state {
            let captures = std::mem::take(captures);
            self.state = State::Over;
            self.state = State::Running(Box::new(begin(&self.options, header, captures)?));
        }
        Ok(match &mut self.state {
            State::Running(session) => Ok(session),
            State::Waiting(_) | State::Over => Err(over()),
        })
    }

    /// Ends the run, if no line did: the input is at its end, or somebody stops it.
    pub fn close(mut self, outcome: Outcome) -> Result<(), RecordingError> {
        if self.session(Header::default())?.is_ok()
            && let State::Running(session) = self.state
        {
            session.close(outcome)?;
        }
        Ok(())
    }
}

fn begin(
    options: &RecordingOptions,
    header: Header,
    captures: Vec<Capture>,
) -> Result<Session, RecordingError> {
    let mut covers = header.covers;
    for capture in &captures {
        for (what, words) in capture.covers() {
            let what = if capture.is_workspace() {
                what
            } else {
                format!("{what} of {}", capture.path().display())
            };
            covers.insert(what, words);
        }
    }
    let workspace = captures.first().map(Capture::path);
    let header = Header {
        root: workspace
            .map(|path| path.to_string_lossy().into_owned())
            .or(header.root),
        covers,
        recorder: None,
        ..header
    };
    let recorder = RecorderOptions {
        sync: options.sync,
        on_failure: OnFailure::Continue,
        redacting: options.redacting.clone(),
        ..RecorderOptions::default()
    };
    let recorder = Recorder::create(&options.tape, header, recorder)?;
    Ok(Session::begin(recorder, captures)?)
}

/// Takes down what an event gives names to. What it refers to is on the tape.
fn refer(references: &mut References, next: Seq, event: &Event) -> Result<(), Fault> {
    let refused = |text: String| Err(refusal(ProblemKind::BrokenReference, text));
    if let (Body::ToolResult { .. }, Some(call)) = (&event.body, &event.head.call)
        && !references.has_call(call)
    {
        return refused(format!("the call `{call}` is not on the tape"));
    }
    match references.check(next, event) {
        Some((_, text)) => refused(text),
        None => Ok(()),
    }
}

/// Fills in what a line may leave out, and checks what only the tape knows.
fn complete(event: &mut Event, session: &Session) -> Result<(), Fault> {
    let relative = |path: &mut TapePath| {
        if let Some(below) = session.root().and_then(|root| below(path, root)) {
            *path = below;
        }
    };
    match &mut event.body {
        Body::ToolResult { outcome, exit, .. } if *outcome == Outcome::None => {
            *outcome = match exit {
                None | Some(0) => Outcome::Ok,
                Some(_) => Outcome::Failed,
            };
        }
        Body::Suspect {
            scope: Scope::Path(path),
            ..
        } => relative(path),
        Body::File(change) => {
            relative(&mut change.path);
            if let FileOp::Rename { from } = &mut change.op {
                relative(from);
            }
            if let Content::Blob { hash, .. } = &change.content
                && !session.recorder().holds(hash)
            {
                let message = format!("the tape does not hold {hash}; give the content");
                return Err(refusal(ProblemKind::MissingBlob, message));
            }
        }
        _ => {}
    }
    Ok(())
}

/// A path of the workspace that was given as an absolute one, as the tape calls it.
fn below(path: &TapePath, root: &str) -> Option<TapePath> {
    let rest = path.as_bytes().strip_prefix(root.as_bytes())?;
    TapePath::new(rest.strip_prefix(b"/")?).ok()
}

fn check_size(directory: &Path, options: &RecordingOptions) -> Result<(), RecordingError> {
    if !options.allows_home && holds_home(directory, options.home.as_deref()) {
        let real = directory.canonicalize();
        let real = real.unwrap_or_else(|_| directory.to_owned());
        return Err(RecordingError::TooMuch(real));
    }
    Ok(())
}

/// A path that has a directory in it, so that it can be compared with others.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn refusal(kind: ProblemKind, message: String) -> Fault {
    Fault {
        at: 0,
        kind,
        message,
    }
}

fn over() -> Fault {
    let message = "the run has ended; nothing more is recorded".to_owned();
    refusal(ProblemKind::BadField, message)
}
