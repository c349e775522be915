//! Writes one row of the screen, from left to right and never beyond its end.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use crate::text::{Align, SafeText, width};
use crate::tui::theme::{Role, Theme};

/// Writes in one row. What does not fit ends in `…`.
pub(super) struct Pen<'a> {
    buffer: &'a mut Buffer,
    theme: Theme,
    y: u16,
    x: u16,
    end: u16,
    selection: Selection,
}

/// Whether a row is the selected one of its pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// It is not.
    None,
    /// It is, in the focused pane: all of it looks the same.
    Here,
    /// It is, in another pane: it stands out and keeps its colours.
    Elsewhere,
}

impl<'a> Pen<'a> {
    /// A pen at the start of the first row of an area.
    pub(super) fn new(buffer: &'a mut Buffer, row: Rect, theme: Theme) -> Self {
        let row = row.intersection(buffer.area);
        Self {
            buffer,
            theme,
            y: row.y,
            x: row.x,
            end: if row.height == 0 { row.x } else { row.right() },
            selection: Selection::None,
        }
    }

    /// From now on all is written as what stands in such a row.
    pub(super) fn selected(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// Columns that are left.
    pub(super) fn left(&self) -> usize {
        usize::from(self.end - self.x)
    }

    /// Writes a text, as much of it as fits.
    pub(super) fn text(&mut self, text: &SafeText, role: Role) {
        self.styled(text, |_| role);
    }

    /// Writes words of the program.
    pub(super) fn words(&mut self, words: &'static str, role: Role) {
        self.text(&SafeText::literal(words), role);
    }

    /// Writes a text whose bytes have roles of their own.
    pub(super) fn styled(&mut self, text: &SafeText, role_at: impl Fn(usize) -> Role) {
        let fitted = width::fit(text, self.left());
        self.write(&fitted, role_at);
    }

    /// Writes a text in exactly so many columns, as far as they are left.
    pub(super) fn column(&mut self, text: &SafeText, columns: usize, align: Align, role: Role) {
        let columns = columns.min(self.left());
        self.write(&width::pad(text, columns, align), |_| role);
    }

    /// Writes a number or nothing, on the right of a column.
    pub(super) fn number(&mut self, number: Option<u64>, columns: usize) {
        let text = number.map_or(String::new(), |number| number.to_string());
        self.column(&SafeText::line(&text), columns, Align::Right, Role::Quiet);
    }

    /// Leaves columns free.
    pub(super) fn gap(&mut self, columns: usize) {
        let columns = self.at_most(columns);
        self.blank(self.x, columns);
        self.x += columns;
    }

    /// Writes a text at the right end and ends the row before it.
    pub(super) fn right(&mut self, text: &SafeText, role: Role) {
        let fitted = width::fit(text, self.left());
        let start = self.end - self.at_most(width::width(&fitted));
        let x = std::mem::replace(&mut self.x, start);
        self.write(&fitted, |_| role);
        (self.x, self.end) = (x, start);
    }

    /// Leaves columns free at the right end.
    pub(super) fn right_gap(&mut self, columns: usize) {
        let columns = self.at_most(columns);
        self.end -= columns;
        self.blank(self.end, columns);
    }

    /// Leaves the rest of the row free.
    pub(super) fn finish(mut self) {
        self.gap(usize::MAX);
    }

    /// Fills the rest of the row with a sign of one column.
    pub(super) fn fill(mut self, sign: &'static str, role: Role) {
        let line = sign.repeat(self.left());
        self.write(&SafeText::line(&line), |_| role);
    }

    fn at_most(&self, columns: usize) -> u16 {
        u16::try_from(columns.min(self.left())).unwrap_or(u16::MAX)
    }

    /// Columns of a selected row look selected where nothing is written, too.
    fn blank(&mut self, x: u16, columns: u16) {
        let style = self.style(Role::Text);
        self.buffer
            .set_style(Rect::new(x, self.y, columns, 1), style);
    }

    /// Writes what fits, in pieces of one style each.
    fn write(&mut self, text: &SafeText, role_at: impl Fn(usize) -> Role) {
        let mut rest = text.as_str();
        let mut start = 0;
        while !rest.is_empty() {
            let style = self.style_at(text, start, &role_at);
            let is_other = |at: usize| self.style_at(text, start + at, &role_at) != style;
            let ends = rest.char_indices().map(|(at, _)| at).skip(1);
            let end = ends
                .into_iter()
                .find(|at| is_other(*at))
                .unwrap_or(rest.len());
            let (piece, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            let left = self.left();
            let (x, _) = self.buffer.set_stringn(self.x, self.y, piece, left, style);
            self.x = x.min(self.end);
            start += piece.len();
            rest = after;
        }
    }

    /// A placeholder has a style of its own; in a reversed row it is what is not reversed.
    fn style_at(&self, text: &SafeText, at: usize, role_at: &impl Fn(usize) -> Role) -> Style {
        let is_placeholder = text.marks().iter().any(|mark| mark.range.contains(&at));
        match (is_placeholder, self.selection) {
            (true, Selection::Here) => self.theme.style(Role::Strong),
            (true, _) => self.theme.style(Role::Placeholder),
            (false, _) => self.style(role_at(at)),
        }
    }

    fn style(&self, role: Role) -> Style {
        match self.selection {
            Selection::None => self.theme.style(role),
            Selection::Here => self.theme.style(Role::Selected),
            Selection::Elsewhere => {
                let style = self.theme.style(role).remove_modifier(Modifier::DIM);
                style.add_modifier(Modifier::BOLD)
            }
        }
    }
}
