//! What each pane remembers between two events: its answers, its selection, how far it is
//! scrolled. Scrolling is kept as it was asked for and fitted to the screen when it is
//! looked at, so that a small screen forgets nothing.

mod blame;
mod conversation;
mod diff;
mod state;
mod timeline;

pub(super) use blame::BlameColumn;
pub(super) use conversation::ConversationPane;
pub(super) use diff::{Blanks, DiffPane, Faces, Grain, Sides, View};
pub(super) use state::{FilePane, Fold, StatePane, StateView, offset};
pub(super) use timeline::{TimelinePane, first_in_view};
