//! Draws what can be typed next, above the last row: the actions that a word means, and the
//! letters behind a key that waits for one.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Position, Rect};

use super::pane::{Line, draw_box};
use super::pen::{Pen, Selection};
use crate::text::{Align, SafeText, human, width};
use crate::tui::action::{ACTIONS, ActionId};
use crate::tui::app::App;
use crate::tui::job::Stop;
use crate::tui::keymap::Pending;
use crate::tui::layout::{Layout, scrolled};
use crate::tui::palette::{Choice, Offer};
use crate::tui::prompt::{Prompt, Purpose};
use crate::tui::theme::Role;

/// Rows of choices at most: more is not read, but typed on.
const MOST: usize = 10;

/// Columns of the whole, its frame included, at most.
const WIDEST: u16 = 84;

/// Fewer columns are not worth beginning a description in.
const DESCRIPTION: usize = 16;

/// Columns of the longest name of an action.
fn name_columns() -> usize {
    let names = ACTIONS.iter().map(|action| action.name.len());
    names.max().unwrap_or(0)
}

/// Draws the choices of the palette, or the letters that a key waits for.
pub(super) fn draw(app: &App, layout: &Layout, buffer: &mut Buffer) {
    match (&app.prompt, app.pending) {
        (Some(prompt), _) if prompt.purpose == Purpose::Palette => {
            draw_palette(app, prompt, layout, buffer);
        }
        (None, Pending::Letter(action)) => draw_marks(app, action, layout, buffer),
        _ => {}
    }
}

/// The place of so many rows, as many as there is room for, above the last row.
fn area(layout: &Layout, rows: usize) -> Rect {
    let room = layout.footer.y;
    let height = u16::try_from(rows + 2).unwrap_or(u16::MAX).min(room);
    Rect {
        x: 0,
        y: room - height,
        width: layout.footer.width.min(WIDEST),
        height,
    }
}

/// Where the rows stand.
fn inside(area: Rect) -> Rect {
    area.inner(Margin::new(2, 1))
}

/// The choice of the palette that stands in this place.
pub(in crate::tui) fn palette_choice_at(
    app: &App,
    layout: &Layout,
    place: Position,
) -> Option<usize> {
    let prompt = app.prompt.as_ref()?;
    let choices = app.choices();
    if !is_list_shown(prompt, &choices) {
        return None;
    }
    let choices = choices.len();
    let inside = inside(area(layout, choices.clamp(1, MOST)));
    let first = scrolled(0, Some(prompt.chosen), choices, usize::from(inside.height));
    let index = first + usize::from(inside.bottom().checked_sub(place.y + 1)?);
    (inside.contains(place) && index < choices).then_some(index)
}

/// Where the marks are listed.
pub(in crate::tui) fn marks_area(app: &App, layout: &Layout) -> Rect {
    area(layout, app.travel.marks.len().clamp(1, MOST))
}

/// The mark that is listed in this place.
pub(in crate::tui) fn mark_at(app: &App, layout: &Layout, place: Position) -> Option<char> {
    let marks = &app.travel.marks;
    let inside = inside(marks_area(app, layout));
    let index = usize::from(place.y.checked_sub(inside.y)?);
    let is_listed = inside.contains(place) && index < listed(marks.len(), inside);
    let letter = marks.keys().nth(index).copied();
    letter.filter(|_| is_listed)
}

/// A place alone needs no list, and where nothing is typed nothing is offered.
fn is_list_shown(prompt: &Prompt, choices: &[Choice]) -> bool {
    !matches!(choices, [Choice::Place(_)]) && !prompt.text().trim().is_empty()
}

/// How many of so many marks are listed: where not all fit, the last row says how many are
/// left.
fn listed(marks: usize, inside: Rect) -> usize {
    let height = usize::from(inside.height);
    if marks > height {
        height.saturating_sub(1)
    } else {
        marks
    }
}

/// The best choice stands right above what is typed, the others above it.
fn draw_palette(app: &App, prompt: &Prompt, layout: &Layout, buffer: &mut Buffer) {
    let choices = app.choices();
    if !is_list_shown(prompt, &choices) {
        return;
    }
    let area = area(layout, choices.len().clamp(1, MOST));
    draw_box(area, "Actions", "↑/↓ choose", app.theme, buffer);
    let inside = inside(area);
    if choices.is_empty() {
        let words = "no action and no place is called so";
        Pen::new(buffer, inside, app.theme).words(words, Role::Quiet);
        return;
    }
    let height = usize::from(inside.height);
    let first = scrolled(0, Some(prompt.chosen), choices.len(), height);
    let shown = choices.iter().enumerate().skip(first);
    for ((index, choice), row) in shown.zip(inside.rows().rev()) {
        let is_chosen = index == prompt.chosen;
        let selection = if is_chosen {
            Selection::Here
        } else {
            Selection::None
        };
        let mut pen = Pen::new(buffer, row, app.theme).selected(selection);
        pen.words(if is_chosen { "▸" } else { " " }, Role::Accent);
        match choice {
            Choice::Place(_) => {
                pen.column(
                    &SafeText::line(prompt.text().trim()),
                    name_columns(),
                    Align::Left,
                    Role::Strong,
                );
                pen.words(" To this place", Role::Text);
            }
            Choice::Action(offer) => draw_offer(offer, &mut pen),
        }
        pen.finish();
    }
}

fn draw_offer(offer: &Offer, pen: &mut Pen<'_>) {
    let action = offer.action;
    let keys = SafeText::line(&action.shown_keys().join(" "));
    pen.right(&keys, Role::Key);
    pen.right_gap(1);
    let name = SafeText::literal(action.name);
    let role = |places: &[usize], at: usize| {
        if places.contains(&at) {
            Role::Found
        } else {
            Role::Text
        }
    };
    pen.styled(&name, |at| role(&offer.in_name, at));
    pen.gap(1 + name_columns().saturating_sub(width::width(&name)));
    if pen.left() >= DESCRIPTION {
        let description = SafeText::literal(action.description);
        pen.styled(&description, |at| role(&offer.in_description, at));
    }
}

/// The letters that are taken, and where they lead.
fn draw_marks(app: &App, action: ActionId, layout: &Layout, buffer: &mut Buffer) {
    let (title, nothing) = match action {
        ActionId::SetMark => ("Mark this place", "no letter is taken yet"),
        _ => ("To a mark", "no mark yet; m and a letter set one"),
    };
    let marks: Vec<(char, Stop)> = app
        .travel
        .marks
        .iter()
        .map(|(&l, &stop)| (l, stop))
        .collect();
    let area = marks_area(app, layout);
    draw_box(area, title, "a letter, or Esc", app.theme, buffer);
    let inside = inside(area);
    let shown = listed(marks.len(), inside);
    let mut lines: Vec<[Line; 2]> = Vec::new();
    for (letter, stop) in marks.iter().take(shown) {
        let letter = SafeText::line(&format!("{letter}  "));
        lines.push([(letter, Role::Key), (place(app, *stop), Role::Text)]);
    }
    let rest = match marks.len() - shown {
        0 if marks.is_empty() => SafeText::literal(nothing),
        0 => SafeText::default(),
        more => SafeText::line(&format!("… {}", human::plural(more as u64, "more", "more"))),
    };
    lines.push([(SafeText::default(), Role::Text), (rest, Role::Quiet)]);
    for (row, line) in inside.rows().zip(lines) {
        let mut pen = Pen::new(buffer, row, app.theme);
        for (text, role) in line {
            pen.text(&text, role);
        }
    }
}

fn place(app: &App, stop: Stop) -> SafeText {
    let branches = app
        .summary
        .get()
        .map_or(&[][..], |summary| &summary.branches);
    let branch = branches
        .iter()
        .find(|row| row.id == stop.branch && branches.len() > 1);
    let branch = branch.map_or(String::new(), |branch| format!(" of {}", branch.name));
    SafeText::line(&format!("step {}{branch}", stop.spot.step))
}
