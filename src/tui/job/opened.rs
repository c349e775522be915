//! What was opened or compared, whole: the changes between two places, a file.
//!
//! Plain data, for replies.

use std::sync::Arc;

use crate::debugger::{ChangeList, FileView, Spot};
use crate::tui::document::Document;

/// Which files differ between two places.
#[derive(Clone, Debug)]
pub struct Changes {
    /// Where the difference starts.
    pub from: Spot,
    /// The files.
    pub list: Arc<ChangeList>,
}

/// A file at a place, with its text in lines.
#[derive(Clone, Debug)]
pub struct OpenFile {
    /// What is known of it.
    pub view: FileView,
    /// Its lines.
    pub document: Arc<Document>,
}
