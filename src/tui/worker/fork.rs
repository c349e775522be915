//! What is asked about a fork of the run, and the making of one.
//!
//! The run is read as long as that takes: whoever makes it grow comes when it is over.

use std::fs;
use std::path::Path;
use std::sync::{Arc, RwLock, RwLockReadGuard};

use super::answer::safe;
use super::runs::Runs;
use crate::debugger::{
    Altered, Debugger, Document, Editable, ForkEdit, ForkFailure, ForkOptions, ForkThen, MissRow,
    Reading, Script, Spot, Stopped,
};
use crate::model::{Seq, Via};
use crate::text::SafeText;
use crate::tui::draft::MOST_BYTES;
use crate::tui::job::{
    Answered, ForkAnswer, ForkJob, ForkMade, ForkUnmade, ForkUnread, PlannedFork,
};

/// Does the job and gives the answer to `reply`.
pub(super) fn answer<'a>(
    runs: &Runs,
    read: &dyn Fn() -> RwLockReadGuard<'a, Debugger>,
    job: &ForkJob,
    is_cancelled: &dyn Fn() -> bool,
    reply: &mut dyn FnMut(ForkAnswer),
) {
    match job {
        ForkJob::Document { at } => reply(ForkAnswer::Document(document(&read(), *at))),
        ForkJob::Plan { at, editable, text } => {
            reply(ForkAnswer::Plan(plan(runs, &read(), *at, (editable, text))));
        }
        ForkJob::Script(path) => {
            let text = fs::read_to_string(path).map_err(safe);
            let script = text.and_then(|text| Script::read(&text).map_err(safe));
            reply(ForkAnswer::Script(script));
        }
        ForkJob::Make { edit, then } => {
            let mut tell = |_: Seq, via: Via| reply(ForkAnswer::Told(via));
            let made = make(runs, &read(), (edit, then), is_cancelled, &mut tell);
            reply(ForkAnswer::Made(made.map(Box::new)));
        }
        ForkJob::Stop => {}
    }
}

fn document(run: &Debugger, at: Spot) -> Answered<(Arc<Editable>, String)> {
    let editable = run.editable(at).map_err(safe)?;
    let text = run.edit_document(at, &editable);
    if text.len() > MOST_BYTES / 2 {
        return Err(safe(format!(
            "what step {step} gave is too long for the screen; `jukebox fork TAPE@{step} --edit` \
             opens it in your editor",
            step = editable.step
        )));
    }
    Ok((Arc::new(editable), text))
}

fn plan(
    runs: &Runs,
    run: &Debugger,
    at: Spot,
    (editable, text): (&Arc<Editable>, &str),
) -> Result<Box<PlannedFork>, ForkUnread> {
    let mut lines = text.lines();
    if lines.all(|line| line.trim().is_empty() || line.starts_with('#')) {
        return Err(ForkUnread::Unchanged);
    }
    let read = Document::read(text, &editable.output, Reading::Sections);
    let read = read.map_err(|mistake| ForkUnread::Mistake {
        line: mistake.line.saturating_sub(1),
        what: safe(&mistake),
    })?;
    if read.output == editable.output {
        return Err(ForkUnread::Unchanged);
    }
    let what = Altered::Output {
        editable: Box::new(Editable::clone(editable)),
        edited: read.output,
    };
    let edit = ForkEdit { at, what };
    let plan = run.fork_plan(&edit);
    let remarks = plan.remarks.iter();
    let remarks = remarks.map(|(block, remark)| (read.lines.get(*block).copied(), remark.clone()));
    let volatile = run.volatile_words(&[]);
    Ok(Box::new(PlannedFork {
        remarks: remarks.collect(),
        volatile: volatile.iter().map(|word| SafeText::line(word)).collect(),
        edit: Arc::new(edit),
        plan,
        missing: runs.missing(),
    }))
}

/// Makes a fork, and holds it against the run.
fn make(
    runs: &Runs,
    run: &Debugger,
    (edit, then): (&ForkEdit, &ForkThen),
    is_cancelled: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(Seq, Via),
) -> Result<ForkMade, ForkUnmade> {
    let Some(ground) = runs.ground.clone() else {
        let why = "the program's own file cannot be found";
        return Err(unmade(SafeText::literal(why), "Is /proc mounted?"));
    };
    let root = run.header().root.as_deref().map(Path::new);
    let redacting = ground.secrets.redacting(root);
    let redacting = redacting.map_err(|error| unmade(safe(error), "Mend it, and try again."))?;
    let options = ForkOptions {
        out: None,
        then: then.clone(),
        volatile: Vec::new(),
        workbench: ground.workbench,
        redacting: Some(redacting),
    };
    let forked = run.fork(edit, &options, is_cancelled, tell);
    let mut forked = forked.map_err(failed)?;
    if is_cancelled() {
        // The call that was under way says so of itself alone.
        forked.stopped = Stopped::BrokenOff;
    }
    let shares = forked.shares();
    let miss = match &forked.stopped {
        Stopped::ModelMustSpeak(Some(miss)) => Some(MissRow::from(miss.clone())),
        _ => None,
    };
    runs.set_right(Some(Arc::new(RwLock::new(forked.run))));
    Ok(ForkMade {
        path: safe(forked.path.display()),
        steps: forked.steps,
        shares,
        stopped: forked.stopped,
        miss,
        left_out: forked.left_out,
    })
}

fn unmade(why: SafeText, next: &'static str) -> ForkUnmade {
    ForkUnmade {
        what: "No fork was made, and the run is untouched.",
        why,
        next,
    }
}

fn failed(error: ForkFailure) -> ForkUnmade {
    match error {
        ForkFailure::Open(why) => ForkUnmade {
            what: "The fork was made, and cannot be opened.",
            why: safe(why),
            next: "`jukebox verify` says what is wrong with its tape.",
        },
        error @ (ForkFailure::Begin(_) | ForkFailure::Fork(_)) => unmade(
            safe(error),
            "`jukebox fork TAPE@STEP --edit -o FILE` writes it where you say.",
        ),
        error => unmade(safe(error), ""),
    }
}
