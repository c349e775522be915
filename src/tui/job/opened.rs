//! What was opened or compared, whole: a run, the changes between two places, a file.
//!
//! Plain data, for replies; but for a run, which is handed on and never looked into here.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::debugger::{ChangeList, Debugger, FileView, Rest, Spot};
use crate::tui::app::Extent;
use crate::tui::document::Document;

/// A run that those who answer share. The screen itself never looks into it.
pub type SharedRun = Arc<RwLock<Debugger>>;

/// A run that was opened, and what is still to be read of it.
#[derive(Clone, Debug)]
pub struct OpenedRun {
    run: SharedRun,
    rest: Arc<Mutex<Option<Rest>>>,
    extent: Extent,
}

impl OpenedRun {
    /// A run, and what is still to be read of it, if there is anything.
    pub fn new(run: Debugger, rest: Option<Rest>) -> Self {
        Self {
            run: Arc::new(RwLock::new(run)),
            extent: match rest {
                Some(_) => Extent::Begun,
                None => Extent::Whole,
            },
            rest: Arc::new(Mutex::new(rest)),
        }
    }

    /// How much of it there is.
    pub const fn extent(&self) -> Extent {
        self.extent
    }

    /// The run, and once what is still to be read of it: for those who answer about it.
    pub fn take(&self) -> (SharedRun, Option<Rest>) {
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&self.run), rest.take())
    }
}

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
