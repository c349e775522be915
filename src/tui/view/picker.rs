//! The list of runs that can be opened: the whole screen, but for the last row.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::symbols::border;
use ratatui::widgets::{Block, Widget as _};

use super::pane::{draw_centred, spinner};
use super::pen::{Pen, Selection};
use crate::debugger::{RunRow, RunSort, RunSource};
use crate::text::{Align, SafeText, human, width};
use crate::tui::app::App;
use crate::tui::layout::Layout;
use crate::tui::picker::{Picker, PickerRow};
use crate::tui::theme::Role;

/// Columns of a name, in a list that is narrow and in one that is wide.
const NAME: (usize, usize) = (14, 24);
/// Fewer columns are not worth beginning a prompt in.
const WORDS: usize = 8;
/// Columns of how long ago it was.
const AGE: usize = 13;
/// Columns of how far it goes, and of what failed in it.
const STEPS: usize = 10;
const FAILED: usize = 6;
/// Columns of the directory and of the agent.
const DIRECTORY: usize = 30;
const AGENT: usize = 20;
/// From this many columns, rows say how far a run goes; the directory; the agent.
const WIDE: u16 = 70;
const WIDER: u16 = 110;
const WIDEST: u16 = 150;

/// Draws the list and what is known of the chosen run.
pub(super) fn draw(app: &App, picker: &Picker, layout: &Layout, buffer: &mut Buffer) {
    draw_header(app, picker, layout.header, buffer);
    let frame = layout.picker_frame();
    Block::bordered()
        .border_set(border::THICK)
        .border_style(app.theme.style(Role::Accent))
        .render(frame, buffer);
    let title = Rect { height: 1, ..frame }.inner(Margin::new(2, 0));
    let mut pen = Pen::new(buffer, title, app.theme);
    if picker.is_filtered() {
        let (some, all) = (picker.rows().len(), picker.len());
        pen.right(&SafeText::line(&format!(" {some} of {all} ")), Role::Quiet);
    }
    pen.words(" ▸Open a run ", Role::Accent);
    let area = layout.picker();
    if picker.rows().is_empty() {
        let words = match picker.listing {
            _ if picker.is_filtered() => "No run is called so; Esc shows all.",
            Some(_) => "Looking for runs …",
            None => "There is no run.",
        };
        let line = (SafeText::literal(words), Role::Quiet);
        draw_centred(area, &[line], app.theme, buffer);
    }
    let first = picker.first_row(usize::from(area.height));
    let chosen = picker.chosen_row();
    let rows = picker.rows().iter().enumerate().skip(first);
    for ((index, row), line) in rows.zip(area.rows()) {
        let selection = if chosen == Some(index) {
            Selection::Here
        } else {
            Selection::None
        };
        let pen = Pen::new(buffer, line, app.theme).selected(selection);
        match row {
            PickerRow::Heading(sort) => draw_heading(*sort, pen),
            PickerRow::NothingYet => draw_nothing_yet(pen),
            PickerRow::Run(index, places) => {
                if let Some(run) = picker.run(*index) {
                    draw_run(run, places, selection, line.width, pen);
                }
            }
        }
    }
    let below = Rect {
        y: frame.bottom(),
        ..layout.footer
    };
    if let Some(run) = picker.chosen_run() {
        let mut pen = Pen::new(buffer, below, app.theme);
        pen.gap(1);
        draw_facts(run, pen);
    }
}

fn draw_header(app: &App, picker: &Picker, row: Rect, buffer: &mut Buffer) {
    let mut pen = Pen::new(buffer, row, app.theme);
    pen.gap(1);
    pen.right_gap(1);
    let is_late = picker
        .listing
        .is_some_and(|ticket| ticket.is_late(&app.desk));
    if is_late {
        pen.right(&SafeText::literal(spinner(app)), Role::Quiet);
        pen.right_gap(1);
    }
    let count = |sort, one, many| human::plural(picker.count(sort) as u64, one, many);
    let opened = count(RunSort::Recent, "run opened before", "runs opened before");
    let transcripts = count(RunSort::Transcript, "transcript", "transcripts");
    let counts = SafeText::line(&format!("{opened} · {transcripts}"));
    pen.words("jukebox", Role::Strong);
    if width::width(&counts) + 3 < pen.left() {
        pen.right(&counts, Role::Quiet);
    }
}

fn draw_heading(sort: RunSort, mut pen: Pen<'_>) {
    let words = match sort {
        RunSort::Recent => "Opened before",
        RunSort::Demo => "Built in",
        RunSort::Transcript => "Transcripts of Claude Code, never opened here",
    };
    pen.words(words, Role::Heading);
    pen.gap(1);
    pen.fill("─", Role::Quiet);
}

fn draw_nothing_yet(mut pen: Pen<'_>) {
    pen.gap(1);
    pen.words("nothing yet: ", Role::Text);
    pen.words("jukebox FILE", Role::Key);
    pen.words(" opens a tape or a transcript", Role::Text);
}

fn draw_run(
    run: &RunRow,
    places: &[Vec<usize>; 2],
    selection: Selection,
    columns: u16,
    mut pen: Pen<'_>,
) {
    let unless_gone = |role| if run.is_there { role } else { Role::Quiet };
    let found = |role: Role| {
        move |places: &[usize], at: usize| {
            if places.contains(&at) {
                Role::Found
            } else {
                role
            }
        }
    };
    pen.words(
        if selection == Selection::Here {
            "▸"
        } else {
            " "
        },
        Role::Accent,
    );
    pen.right_gap(1);
    let age = run.age.map(human::ago).unwrap_or_default();
    let far = far(run);
    // What is not known leaves its room to the words.
    let is_known = !age.is_empty() || !far.is_empty();
    if is_known {
        pen.right(&right_aligned(&age, AGE), Role::Quiet);
    }
    if is_known && columns >= WIDE {
        let failed = run.steps.map_or(0, |(_, failed)| failed);
        let failed = match failed {
            0 => String::new(),
            failed => format!("✗ {}", human::count(u64::from(failed))),
        };
        pen.right(&right_aligned(&failed, FAILED), unless_gone(Role::Failed));
        pen.right(&right_aligned(&far, STEPS), Role::Quiet);
        pen.right_gap(2);
    }
    if columns >= WIDER && !run.directory.is_empty() {
        let directory = width::fit_end(&run.directory, DIRECTORY);
        let directory = width::pad(&directory, DIRECTORY, Align::Left);
        pen.right(&directory, Role::Quiet);
        pen.right_gap(2);
    }
    if columns >= WIDEST && !run.agent.is_empty() {
        let agent = width::pad(&width::fit(&run.agent, AGENT), AGENT, Align::Left);
        pen.right(&agent, Role::Quiet);
        pen.right_gap(2);
    }
    let [in_name, in_words] = places;
    // The names of transcripts are numbers; what was asked for says more.
    if run.sort != RunSort::Transcript || run.words.is_empty() {
        let columns = match columns {
            WIDE.. => NAME.1,
            _ if pen.left() < NAME.0 + WORDS => pen.left(),
            _ => NAME.0,
        };
        let name = width::pad(&width::fit(&run.name, columns), columns, Align::Left);
        let role = found(unless_gone(Role::Strong));
        pen.styled(&name, |at| role(in_name, at));
        pen.gap(2);
    }
    if run.is_there {
        let role = found(Role::Text);
        pen.styled(&run.words, |at| role(in_words, at));
    } else {
        pen.words("is not there any more", Role::Warning);
    }
    pen.finish();
}

/// At which step of how many a run was left, or how large its file is.
fn far(run: &RunRow) -> String {
    match (run.step, run.steps) {
        (Some(step), Some((steps, _))) => format!("{step}/{steps}"),
        _ => run.bytes.map(human::size).unwrap_or_default(),
    }
}

/// What is known of a run, the path first of all.
fn draw_facts(run: &RunRow, mut pen: Pen<'_>) {
    let path = match &run.source {
        RunSource::Demo => {
            pen.words("jukebox demo", Role::Key);
            pen.words(" opens it, too", Role::Quiet);
            return;
        }
        RunSource::File(path) => {
            use std::os::unix::ffi::OsStrExt as _;
            SafeText::from_bytes(path.as_os_str().as_bytes())
        }
    };
    let mut facts = Vec::new();
    facts.extend(run.bytes.map(|bytes| format!("{}B", human::size(bytes))));
    if !run.agent.is_empty() {
        facts.push(run.agent.to_string());
    }
    if let Some((steps, failed)) = run.steps {
        facts.push(human::plural(u64::from(steps), "step", "steps"));
        facts.extend((failed > 0).then(|| format!("{failed} failed")));
    }
    facts.extend(run.step.map(|step| format!("left at step {step}")));
    let facts = SafeText::line(&facts.join(" · "));
    if width::width(&facts) + width::width(&path) + 4 < pen.left() {
        pen.right_gap(1);
        pen.right(&facts, Role::Quiet);
        pen.right_gap(2);
    }
    let path = width::fit_end(&path, pen.left());
    pen.text(&path, Role::Text);
}

fn right_aligned(text: &str, columns: usize) -> SafeText {
    width::pad(&SafeText::line(text), columns, Align::Right)
}
