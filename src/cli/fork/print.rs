//! What a fork would do, and what became of it: for people, and as JSON.

use serde_json::{Map, Value, json};

use super::super::arguments::Looked;
use super::super::failure::Failure;
use super::super::fields;
use super::super::output::{Output as Out, Style, warn};
use crate::debugger::{
    Altered, ForkEdit, ForkPlan, Forked, ForkedStep, MissRow, PlannedHow, Stopped,
};
use crate::model::{Outcome, Via};
use crate::text::{Align, SafeText, human, width};

/// Columns of a label.
const LABEL: usize = 9;
/// Columns of a tool's name.
const ACTOR: usize = 10;

/// Tells what is odd about an edit.
pub(super) fn remarks(plan: &ForkPlan, lines: &[usize]) {
    for (block, remark) in &plan.remarks {
        match lines.get(*block) {
            Some(line) => warn(&format!("line {line}: {remark}")),
            None => warn(remark.as_str()),
        }
    }
}

/// Says what will be done.
pub(super) fn plan(
    looked: &Looked,
    edit: &ForkEdit,
    plan: &ForkPlan,
    volatile: &[String],
    out: &mut Out,
) -> Result<(), Failure> {
    let what = match &edit.what {
        Altered::Output { edited, .. } => format!("another {}", edited.noun()),
        Altered::File(path, Some(_)) => format!("another {}", path.to_text()),
        Altered::File(path, None) => format!("no {}", path.to_text()),
    };
    let name = looked.run.summary().name;
    let step = edit.at.step;
    let title = SafeText::line(&format!("{name} from step {step} on, with {what}"));
    out.line(Style::Strong, &title)?;
    let steps = human::plural(u64::from(plan.shared_steps), "step", "steps");
    say(
        out,
        &format!("the tape's own     {steps} before it; nothing of them is done again"),
    )?;
    let of = |wanted: PlannedHow| {
        let calls = plan.calls.iter().filter(|call| call.how == wanted);
        let names: Vec<&str> = calls.map(|call| call.tool.as_str()).collect();
        names.join(", ")
    };
    let kinds = [
        ("from the tape      ", PlannedHow::Recorded),
        ("on files alone     ", PlannedHow::Computed),
        ("in the sandbox     ", PlannedHow::Sandbox),
    ];
    for (name, wanted) in kinds {
        let calls = of(wanted);
        if !calls.is_empty() {
            say(out, &format!("{name}{calls}"))?;
        }
    }
    for call in &plan.calls {
        if let PlannedHow::Nobody(why) = &call.how {
            say(out, &format!("by nobody          {}: {why}", call.tool))?;
        }
    }
    let (answers, requests) = plan.answers;
    if answers > 0 {
        let words = if requests == 0 {
            "none recorded: the conversation stands for them".to_owned()
        } else {
            format!("recorded for {requests} of {answers} answers before it")
        };
        say(out, &format!("requests           {words}"))?;
    }
    if !plan.not_recorded.is_empty() {
        say(
            out,
            &format!("not recorded       {}", plan.not_recorded.join(", ")),
        )?;
    }
    if !volatile.is_empty() {
        say(out, &format!("may differ         {}", volatile.join(", ")))?;
    }
    Ok(())
}

pub(super) fn say(out: &mut Out, words: &str) -> Result<(), Failure> {
    Ok(out.line(Style::Faint, &SafeText::line(&format!("  {words}")))?)
}

/// Says what became of a fork.
pub(super) fn forked(
    forked: &Forked,
    then: &str,
    parent: &str,
    out: &mut Out,
) -> Result<(), Failure> {
    out.line(Style::Plain, &SafeText::default())?;
    for step in &forked.steps {
        print_step(step, out)?;
    }
    out.line(Style::Plain, &SafeText::default())?;
    let shares = forked.shares().into_iter();
    let shares: Vec<String> = shares
        .map(|(via, count)| format!("{count} {}", via.label()))
        .collect();
    out.line(Style::Plain, &SafeText::line(&shares.join(", ")))?;
    if forked.left_out > 0 {
        let count = human::plural(forked.left_out as u64, "change", "changes");
        let words = format!("left out: {count} that no call of the run explains");
        out.line(Style::Doubt, &SafeText::line(&words))?;
    }
    let stopped = SafeText::line(&format!("stopped: {}", forked.stopped));
    out.line(Style::Plain, &stopped)?;
    if let Stopped::ModelMustSpeak(Some(miss)) = &forked.stopped {
        print_miss(&MissRow::from(miss.clone()), "  ", out)?;
    }
    let path = forked.path.display();
    out.line(Style::Strong, &SafeText::line(&format!("fork: {path}")))?;
    let mut next = format!("next: `jukebox open {path}`, `jukebox compare {parent} {path}`");
    if matches!(forked.stopped, Stopped::ModelMustSpeak(_)) && then == "stop" {
        next.push_str("; --then script:FILE goes on with answers of yours");
    }
    out.line(Style::Faint, &SafeText::line(&next))?;
    Ok(())
}

fn print_step(step: &ForkedStep, out: &mut Out) -> Result<(), Failure> {
    let number = step.row.as_ref().map(|row| row.number.0.to_string());
    let number = SafeText::line(&format!("{:>4}  ", number.unwrap_or_default()));
    let label = width::pad(&SafeText::literal(step.via.label()), LABEL, Align::Left);
    let mut words = SafeText::literal("  ");
    let mut outcome = Outcome::None;
    if let Some(row) = &step.row {
        outcome = row.outcome;
        words.push(&width::pad(&row.actor, ACTOR, Align::Left));
        words.push(&SafeText::line(&format!(" {} ", outcome.sign())));
        words.push(&row.title);
    }
    let label_style = match step.via {
        Via::Unknown | Via::Stale => Style::Doubt,
        Via::Edit => Style::Place,
        _ => Style::Faint,
    };
    let style = if outcome.is_failure() {
        Style::Bad
    } else {
        Style::Plain
    };
    out.spans(&[
        (Style::Faint, &number),
        (label_style, &label),
        (style, &words),
    ])?;
    // Of the edit everybody knows, and of what nobody could answer it is said at the end.
    let is_told = !matches!(step.via, Via::Edit | Via::Unknown);
    if let Some(miss) = step.miss.as_ref().filter(|_| is_told) {
        print_miss(miss, "      ", out)?;
    }
    Ok(())
}

fn print_miss(miss: &MissRow, indent: &str, out: &mut Out) -> Result<(), Failure> {
    const LONGEST: usize = 60;
    let side = |text: &Option<SafeText>| match text {
        Some(text) => width::fit(text, LONGEST).as_str().to_owned(),
        None => "nothing".to_owned(),
    };
    let words = format!(
        "{indent}differs at {}: recorded {}, now {}",
        miss.path,
        side(&miss.recorded),
        side(&miss.replayed)
    );
    Ok(out.line(Style::Faint, &SafeText::line(&words))?)
}

pub(super) fn plan_value(plan: &ForkPlan, volatile: &[String]) -> Value {
    let calls = plan.calls.iter().map(|call| {
        let why = match &call.how {
            PlannedHow::Nobody(why) => Some(why.as_str()),
            _ => None,
        };
        json!({"tool": call.tool.as_str(), "how": call.how.as_str(), "why": why})
    });
    let remarks = plan.remarks.iter();
    json!({
        "shared_steps": plan.shared_steps,
        "shared_events": plan.shared_events,
        "calls": calls.collect::<Vec<_>>(),
        "answers": plan.answers.0,
        "requests": plan.answers.1,
        "not_recorded": plan.not_recorded,
        "volatile": volatile,
        "remarks": remarks.map(|(_, remark)| remark.as_str()).collect::<Vec<_>>(),
    })
}

pub(super) fn value(forked: &Forked, then: &str, parent: &str) -> Value {
    let edit = &forked.edit;
    let shares = forked.shares().into_iter();
    let shares = shares.map(|(via, count)| (via.as_str().to_owned(), count.into()));
    json!({
        "fork": forked.path.to_string_lossy(),
        "parent": parent,
        "edit": {
            "of": edit.of.as_str(),
            "step": edit.step.0,
            "branch": edit.branch,
            "seq": edit.seq.map(|seq| seq.0),
            "path": edit.path.as_ref().map(crate::model::TapePath::to_text),
            "title": edit.title,
        },
        "then": then,
        "steps": forked.steps.iter().map(step_value).collect::<Vec<_>>(),
        "shares": shares.collect::<Map<String, Value>>(),
        "stopped": {"why": forked.stopped.as_str(), "message": forked.stopped.to_string()},
        "left_out": forked.left_out,
    })
}

fn step_value(step: &ForkedStep) -> Value {
    let row = step.row.as_ref();
    let text = |text: &Option<SafeText>| text.as_ref().map(|text| text.as_str().to_owned());
    json!({
        "step": row.map(|row| row.number.0),
        "seq": step.seq.0,
        "kind": row.map(|row| row.kind.as_str()),
        "tool": row.and_then(|row| fields::words(&row.actor).as_str().map(str::to_owned)),
        "title": row.map(|row| row.title.as_str()),
        "outcome": row.map(|row| row.outcome.as_str()),
        "via": step.via.as_str(),
        "miss": step.miss.as_ref().map(|miss| json!({
            "path": miss.path.as_str(),
            "recorded": text(&miss.recorded),
            "replayed": text(&miss.replayed),
        })),
    })
}
