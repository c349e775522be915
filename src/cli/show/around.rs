//! What is around a step: the conversation up to it, what the model saw, the environment.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::cli::arguments::Looked;
use crate::cli::failure::Failure;
use crate::cli::fields;
use crate::cli::output::{Output, Style};
use crate::debugger::{
    ContextRun, ContextView, EnvironmentView, Section, Spoken, TransactionStanding,
    TransactionView, Turn, TurnTokens, Utterance,
};
use crate::model::StepKind;
use crate::text::{SafeText, human};

/// Turns that are made at a time.
const PAGE: u32 = 200;

/// Prints the conversation up to a place.
pub(super) fn conversation(
    looked: &Looked,
    is_json: bool,
    out: &mut Output,
) -> Result<(), Failure> {
    let line = looked.run.line_of(looked.spot);
    let last = looked.spot.step.0;
    let until = Some(looked.spot.cursor.position);
    let mut from = 1;
    while from <= last {
        let steps = from..from.saturating_add(PAGE).min(last + 1);
        // Words are printed whole; of calls, what was done.
        let rows = looked.run.timeline(line, steps.clone()).into_iter();
        let is_said = |kind| matches!(kind, StepKind::Prompt | StepKind::Model);
        let whole: BTreeSet<u32> = rows
            .filter(|row| is_said(row.kind))
            .map(|row| row.number.0)
            .collect();
        for turn in looked.run.conversation(line, steps, &whole, until) {
            if is_json {
                out.json(&turn_object(&turn))?;
            } else {
                print_turn(&turn, out)?;
            }
        }
        from = from.saturating_add(PAGE);
    }
    Ok(())
}

fn turn_object(turn: &Turn) -> Value {
    let row = &turn.row;
    let spoken = |spoken: &Spoken| {
        let sort = match &spoken.sort {
            Utterance::Words => "words",
            Utterance::Thinking => "thinking",
            Utterance::Other(name) => name.as_str(),
        };
        json!({
            "sort": sort,
            "lines": fields::lines(&spoken.lines),
            "omitted": spoken.omitted,
        })
    };
    json!({
        "step": row.number.0,
        "kind": row.kind.as_str(),
        "who": fields::words(&row.actor),
        "title": row.title.as_str(),
        "outcome": row.outcome.as_str(),
        "agent": row.agent.as_ref().map(SafeText::as_str),
        "depth": row.depth,
        "spoken": turn.spoken.iter().map(spoken).collect::<Vec<_>>(),
    })
}

fn print_turn(turn: &Turn, out: &mut Output) -> Result<(), Failure> {
    let row = &turn.row;
    let indent = "  ".repeat(usize::from(row.depth));
    let mut head = SafeText::line(&format!(
        "{:>5} {indent}{}{} ",
        row.number,
        row.kind.sign(),
        row.outcome.sign()
    ));
    head.push(&row.actor);
    let is_said = matches!(row.kind, StepKind::Prompt | StepKind::Model);
    let style = match row.kind {
        _ if row.outcome.is_failure() => Style::Bad,
        StepKind::Prompt | StepKind::Model => Style::Strong,
        _ => Style::Plain,
    };
    let mut title = SafeText::default();
    if !is_said || turn.spoken.is_empty() {
        title = SafeText::literal(" ");
        title.push(&row.title);
    }
    out.spans(&[(style, &head), (style, &title)])?;
    for spoken in turn.spoken.iter().filter(|_| is_said) {
        let style = match &spoken.sort {
            Utterance::Words => Style::Plain,
            // The calls are turns of their own.
            Utterance::Other(_) => continue,
            Utterance::Thinking => Style::Faint,
        };
        for line in &spoken.lines {
            let mut text = SafeText::line(&format!("      {indent}  "));
            text.push(line);
            out.line(style, &text)?;
        }
        if spoken.omitted > 0 {
            let more = human::plural(spoken.omitted as u64, "more line", "more lines");
            out.line(Style::Faint, &SafeText::line(&format!("        … {more}")))?;
        }
    }
    Ok(())
}

/// Prints what the model saw at a place.
pub(super) fn context(looked: &Looked, is_json: bool, out: &mut Output) -> Result<(), Failure> {
    let view = looked.run.context(looked.spot);
    let line = looked.run.line_of(looked.spot);
    let run = looked.run.context_run(line, 0, &|| false);
    let run = run.unwrap_or_default();
    if is_json {
        return Ok(out.json(&context_object(looked, &view, &run))?);
    }
    let sections = view.sections(usize::MAX).into_iter().chain(run.sections());
    print_sections(sections.map(|leading| leading.section), out)
}

fn context_object(looked: &Looked, view: &ContextView, run: &ContextRun) -> Value {
    let turn = |turn: &TurnTokens| {
        json!({
            "step": turn.step.0,
            "seen": turn.usage.seen(),
            "input": turn.usage.input,
            "output": turn.usage.output,
            "from_cache": turn.usage.cache_read,
            "into_cache": turn.usage.cache_write,
        })
    };
    let reads = view.reads.iter().map(|row| {
        let since = row
            .since
            .map(|(step, how)| json!({ "step": step.0, "how": how.as_str() }));
        fields::with_path(&row.path, json!({ "read": row.read.0, "since": since }))
    });
    let compactions = run.compactions.iter();
    let compactions = compactions
        .map(|(step, before, after)| json!({ "step": step.0, "before": before, "after": after }));
    let system = run.system.as_ref().map(|system| {
        json!({
            "step": system.step.0,
            "bytes": system.bytes,
            "lines": fields::lines(&system.lines),
        })
    });
    let tools = run
        .tools
        .as_ref()
        .map(|(step, names)| json!({ "step": step.0, "names": fields::lines(names) }));
    json!({
        "step": looked.spot.step.0,
        "agent": view.agent.as_ref().map(SafeText::as_str),
        "turns": view.turns.iter().map(turn).collect::<Vec<_>>(),
        "reads": reads.collect::<Vec<_>>(),
        "cut": view.is_cut,
        "compactions": compactions.collect::<Vec<_>>(),
        "system": system,
        "tools": tools,
    })
}

/// Prints the transaction at a place.
pub(super) fn transaction(looked: &Looked, is_json: bool, out: &mut Output) -> Result<(), Failure> {
    let view = looked.run.transaction(looked.spot);
    let link = looked.run.transaction_link();
    let standing = link.and_then(|link| link.standing().ok()?);
    if is_json {
        let object = transaction_object(looked, view.as_ref(), standing.as_ref());
        return Ok(out.json(&object)?);
    }
    let Some(view) = view else {
        let line = SafeText::literal("no transaction has begun up to here");
        return Ok(out.line(Style::Strong, &line)?);
    };
    print_sections(view.sections(standing.as_ref()).into_iter(), out)
}

fn transaction_object(
    looked: &Looked,
    view: Option<&TransactionView>,
    standing: Option<&TransactionStanding>,
) -> Value {
    let step = looked.spot.step.0;
    let Some(view) = view else {
        return json!({ "step": step, "id": null });
    };
    let ended = view.ended.map(|(step, is_rolled_back)| {
        let how = if is_rolled_back {
            "rolled-back"
        } else {
            "committed"
        };
        json!({ "step": step.0, "how": how })
    });
    let facts = view.facts.iter();
    let facts: Map<_, _> = facts
        .map(|(what, words)| ((*what).to_owned(), Value::from(words.as_str())))
        .collect();
    let savepoints = view.savepoints.iter();
    let savepoints =
        savepoints.map(|(step, name)| json!({ "name": name.as_str(), "step": step.0 }));
    let changes = view.changes.iter();
    let changes = changes.map(|(letter, path)| json!({ "change": letter, "path": path.as_str() }));
    let standing = standing.filter(|standing| standing.id == view.id.as_str());
    json!({
        "step": step,
        "id": view.id.as_str(),
        "began": view.began.0,
        "ended": ended,
        "state": standing.map(|standing| standing.state.as_str()),
        "facts": facts,
        "savepoints": savepoints.collect::<Vec<_>>(),
        "changed": view.changed,
        "changes": changes.collect::<Vec<_>>(),
        "effects": view.effects.iter().map(fields::effect).collect::<Vec<_>>(),
    })
}

/// Prints what calls did outside the files, up to a place.
pub(super) fn effects(looked: &Looked, is_json: bool, out: &mut Output) -> Result<(), Failure> {
    let view = looked.run.effects(looked.spot, usize::MAX);
    if is_json {
        for row in &view.rows {
            out.json(&fields::effect(row))?;
        }
        return Ok(());
    }
    print_sections(view.sections().into_iter(), out)
}

/// Prints what is around the run at a place.
pub(super) fn environment(looked: &Looked, is_json: bool, out: &mut Output) -> Result<(), Failure> {
    let view = looked.run.environment(looked.spot);
    if is_json {
        return Ok(out.json(&environment_object(looked, &view))?);
    }
    print_sections(view.sections().into_iter(), out)
}

fn environment_object(looked: &Looked, view: &EnvironmentView) -> Value {
    let pair = |what: &SafeText, words: Option<&SafeText>| {
        let words = words.map(SafeText::as_str);
        (what.as_str().to_owned(), Value::from(words))
    };
    let facts = view.facts.iter();
    let facts: Map<_, _> = facts
        .map(|(what, words)| pair(what, words.as_ref()))
        .collect();
    let covers = view.covers.iter();
    let covers: Map<_, _> = covers
        .map(|(what, words)| pair(what, Some(words)))
        .collect();
    let transactions = view.transactions.iter();
    let transactions =
        transactions.map(|(name, begin)| json!({ "name": name.as_str(), "begin": begin.0 }));
    let effects = view.effects.iter().map(
        |row| json!({ "step": row.step.0, "kind": row.kind.as_str(), "title": row.title.as_str() }),
    );
    json!({
        "step": looked.spot.step.0,
        "facts": facts,
        "covers": covers,
        "transactions": transactions.collect::<Vec<_>>(),
        "effects": effects.collect::<Vec<_>>(),
        "more_effects": view.has_more_effects,
    })
}

fn print_sections(
    sections: impl Iterator<Item = Section>,
    out: &mut Output,
) -> Result<(), Failure> {
    for (index, section) in sections.enumerate() {
        if index > 0 {
            out.line(Style::Plain, &SafeText::default())?;
        }
        out.line(Style::Strong, &section.name)?;
        for line in &section.lines {
            out.line(Style::Plain, line)?;
        }
    }
    Ok(())
}
