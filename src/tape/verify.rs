//! The whole of a tape, looked at with all care: everything that is wrong with it, and where.
//!
//! One walk over the lines. It writes nothing, and holds one large line at a time.

mod contents;
mod references;
mod secrets;
mod snapshots;
mod stats;

use std::io;
use std::ops::ControlFlow;

pub use references::References;
pub use stats::{ContentStats, SnapshotStats, VerifyStats};

use super::TapeBytes;
use super::index::{Index, IndexSink, Indexed};
use super::open::Tape;
use super::scan::{Record, ScanEnd};
use super::wire::v1::{decode_event, parse_record, scan_head};
use super::wire::{Line, RawHead};
use crate::model::{
    BlobHash, Body, Event, Kind, LineHash, Problem, ProblemKind, Progress, Seq, Tell,
};
use crate::tape::lines::to_text;
use contents::Contents;
use secrets::find_secrets;
use snapshots::Snapshots;
use stats::Tally;

/// What [`verify`] found.
#[derive(Clone, Debug)]
pub struct Verified {
    /// How many events there are, gaps included.
    pub events: u32,
    /// How many steps.
    pub steps: u32,
    /// What is wrong, in the order of lines.
    pub problems: Vec<Problem>,
    /// Figures about the tape.
    pub stats: VerifyStats,
    /// The whole tape was looked at: nobody broke it off.
    pub is_complete: bool,
}

/// Verifies a tape. `tell` is told how many bytes were looked at, and breaks it off.
pub fn verify(bytes: TapeBytes, tell: &mut Tell<'_>) -> io::Result<Verified> {
    let mut walk = Walk {
        of: bytes.len()?,
        told: 0,
        tell,
        is_broken_off: false,
        line_before: None,
        bytes: bytes.clone(),
        knows_steps: true,
        is_alone: false,
        problems: Vec::new(),
        contents: Contents::default(),
        references: References::default(),
        snapshots: Snapshots::new(bytes.clone()),
        tally: Tally::default(),
    };
    let tape = Tape::read(bytes, &mut walk)?;
    let Walk {
        mut problems,
        contents,
        tally,
        is_alone,
        is_broken_off,
        ..
    } = walk;
    if !is_broken_off {
        contents.finish(&tape, |place, (kind, message)| {
            // What a fork does not hold, its parent does.
            if !(is_alone && kind == ProblemKind::MissingBlob) {
                problems.push(place.problem(kind, message));
            }
        })?;
    }
    problems.extend(tape.problems_by_offset());
    problems.sort_by_key(|problem| (problem.line, problem.offset));
    let problems = problems.into_iter();
    let problems = problems.map(|problem| tape.bytes.in_its_file(problem));
    Ok(Verified {
        events: tape.index.events.len(),
        steps: tape.index.steps.len(),
        problems: problems.collect(),
        stats: tally.finish(tape.end.offset),
        is_complete: !is_broken_off,
    })
}

/// Where something stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    line: u64,
    offset: u64,
}

impl Place {
    fn problem(self, kind: ProblemKind, message: String) -> Problem {
        Problem::new(self.line, self.offset, kind, message)
    }
}

struct Walk<'a> {
    of: u64,
    /// What the last call of `tell` said.
    told: u64,
    tell: &'a mut Tell<'a>,
    is_broken_off: bool,
    line_before: Option<LineHash>,
    bytes: TapeBytes,
    /// The steps are those that the writer saw: this is no fork alone, and nothing was lost yet.
    knows_steps: bool,
    /// It is a fork without what it shares with its parent.
    is_alone: bool,
    problems: Vec<Problem>,
    contents: Contents,
    references: References,
    snapshots: Snapshots,
    tally: Tally,
}

impl IndexSink for Walk<'_> {
    fn line(&mut self, line: &[u8], at: ScanEnd) -> ControlFlow<()> {
        const STEP: u64 = 1 << 16;
        if at.offset >= self.told + STEP {
            self.told = at.offset;
            if (self.tell)(Progress::bytes(at.offset, self.of)).is_break() {
                self.is_broken_off = true;
                return ControlFlow::Break(());
            }
        }
        let place = Place {
            line: at.lines,
            offset: at.offset,
        };
        self.chain(line, place);
        find_secrets(line, |found, what| {
            let place = Place {
                offset: place.offset + found as u64,
                ..place
            };
            let message = format!("text that looks like {what}");
            self.problems
                .push(place.problem(ProblemKind::LeakedSecret, message));
        });
        ControlFlow::Continue(())
    }

    fn indexed(&mut self, index: &mut Index, indexed: Indexed, record: Option<&Record<'_>>) {
        let seq = index.events.seq(indexed.position);
        let whole = record.and_then(|record| Some((record, record.whole?)));
        let parsed = whole.and_then(|(record, whole)| Some((record, parse_record(whole).ok()?)));
        let Some((record, (line, len))) = parsed else {
            let gap = Event::new(Body::Gap { why: String::new() });
            self.snapshots.take(seq, &gap, (0, 0), |_| ());
            self.knows_steps = false;
            return;
        };
        let place = Place {
            line: record.line_number,
            offset: record.offset,
        };
        let event = decode_event(&line);
        let is_fork = matches!(&event.body, Body::Tape(header) if header.shares_events());
        self.is_alone |= is_fork && !self.bytes.is_stitched();
        self.knows_steps &= !self.is_alone;
        self.head(index, indexed, &line, place);
        self.event(index, &event, seq, place);
        self.tally.take(&event.body, len as u64 + 1);
        let checked = self
            .contents
            .check(&line, place, indexed.position, index, &mut self.tally);
        match checked {
            Ok(Some(bytes)) if line.head.enc != super::wire::Enc::Text => {
                find_secrets(&bytes, |_, what| {
                    let message = format!("a content that holds what looks like {what}");
                    self.problems
                        .push(place.problem(ProblemKind::LeakedSecret, message));
                });
            }
            Ok(_) => {}
            Err((kind, message)) => self.problems.push(place.problem(kind, message)),
        }
        let problems = &mut self.problems;
        self.snapshots
            .take(seq, &event, (record.offset, len), |(kind, message)| {
                problems.push(place.problem(kind, message));
            });
    }

    fn wants_whole(&self, _: Kind) -> bool {
        true
    }
}

impl Walk<'_> {
    /// Checks `prev`, where a line has it, against the line before.
    fn chain(&mut self, line: &[u8], place: Place) {
        let hash = LineHash::of(line);
        // A line that stands twice is told by the index.
        let before = self.line_before.replace(hash);
        // Where another file begins, its own line before is meant.
        let before = self.bytes.chains_to(place.offset).or(before);
        let Some(before) = before.filter(|before| *before != hash) else {
            return;
        };
        let before = before.to_string();
        let follows = |head: &RawHead<'_>| {
            head.prev
                .is_none_or(|prev| prev.as_inside() == before.as_bytes())
        };
        let is_whole = if let Some(head) = scan_head(line) {
            follows(&head)
        } else {
            let text = to_text(line);
            parse_record(&text).map_or(true, |(line, _)| follows(&line.head))
        };
        if !is_whole {
            let message =
                "`prev` is not the hash of the line before: a line was changed, lost or moved";
            self.problems
                .push(place.problem(ProblemKind::BrokenChain, message.to_owned()));
        }
    }

    /// Checks what a head says of itself and of its step.
    fn head(&mut self, index: &Index, indexed: Indexed, line: &Line<'_>, place: Place) {
        if line.breaks_promise {
            let message = "`prev` promises that `seq`, `t`, `kind` stand first and no head field \
                           behind it; readers that stop there miss something";
            self.problems
                .push(place.problem(ProblemKind::BadField, message.to_owned()));
        }
        if line.head.tape_path().is_err() || line.head.tape_path_from().is_err() {
            let message = "`path` or `from` is no path that a tape may hold".to_owned();
            self.problems
                .push(place.problem(ProblemKind::BadField, message));
        }
        let number = indexed.step.and_then(|step| index.number_of(step));
        if let (Some(said), Some(number)) = (line.head.step, number)
            && said != number.0
            && self.knows_steps
        {
            let message = format!("`step` says {said}, and by the events it is {number}");
            self.problems
                .push(place.problem(ProblemKind::BadField, message));
        }
    }

    /// Checks what an event refers to.
    fn event(&mut self, index: &Index, event: &Event, seq: Seq, place: Place) {
        let attachments: &[BlobHash] = match &event.body {
            Body::Prompt { attachments, .. } | Body::ToolResult { attachments, .. } => attachments,
            _ => &[],
        };
        for name in attachments {
            self.contents.refer(place, *name, index);
        }
        if let Body::Gap { why } = &event.body {
            self.problems
                .push(place.problem(ProblemKind::RecordedGap, why.clone()));
        }
        if let Some((kind, message)) = self.references.check(seq, event)
            && !self.is_alone
        {
            self.problems.push(place.problem(kind, message));
        }
    }
}
