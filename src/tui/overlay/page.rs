//! The rows of a sheet as they are written: words wrapped to its width, and names before what is
//! told of them. What the rows are about is not known here.

use super::Row;
use crate::text::{Align, SafeText, width};
use crate::tui::theme::Role;

/// The rows, and what some of them lead to.
#[derive(Debug)]
pub(super) struct Page<Marks = ()> {
    pub(super) rows: Vec<Row>,
    pub(super) marks: Marks,
    pub(super) columns: usize,
}

impl<Marks: Default> Page<Marks> {
    /// An empty one, of so many columns.
    pub(super) fn new(columns: usize) -> Self {
        Self {
            rows: Vec::new(),
            marks: Marks::default(),
            columns,
        }
    }
}

impl<Marks> Page<Marks> {
    pub(super) fn say(&mut self, words: &str, role: Role) {
        self.say_text(&SafeText::line(words), role);
    }

    pub(super) fn say_text(&mut self, words: &SafeText, role: Role) {
        let lines = width::wrap(words, self.columns);
        self.rows
            .extend(lines.into_iter().map(|line| vec![(line, role)]));
    }

    pub(super) fn blank(&mut self) {
        self.rows.push(Row::new());
    }

    /// A line about one thing, with its name in so many columns before it where there is room.
    pub(super) fn tell(
        &mut self,
        (name, columns): (&'static str, usize),
        words: &SafeText,
        role: Role,
    ) {
        let indent = columns.min(self.columns / 3);
        let name = width::fit(&SafeText::literal(name), indent.saturating_sub(1));
        let mut name = width::pad(&name, indent, Align::Left);
        let room = self.columns.saturating_sub(indent).max(1);
        for line in width::wrap(words, room) {
            self.rows.push(vec![(name, Role::Quiet), (line, role)]);
            name = SafeText::spaces(indent);
        }
    }
}
