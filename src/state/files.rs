//! The state as the recorder of a fork asks it: the newest file at a path, and no history.

use super::entry::ContentRef;
use super::table::State;
use crate::model::{Certainty, Cursor, EntryKind, TapePath};
use crate::tape::{Files, Index, LastFile};

impl Files for State {
    fn cut(&self, index: &Index) -> Self {
        Self::cut(self, index)
    }

    fn file(&self, index: &Index, branch: u16, path: &TapePath) -> Option<LastFile> {
        let now = Cursor {
            position: index.events.len(),
            branch,
        };
        let file = Self::file(self, &index.blobs, now, path)?;
        if file.kind != EntryKind::File || file.certainty == Certainty::Absent {
            return None;
        }
        let content = match file.content {
            ContentRef::Blob(id) => Some(id),
            ContentRef::Unknown | ContentRef::Lines(_) | ContentRef::Target(_) => None,
        };
        let is_known = matches!(
            file.certainty,
            Certainty::Exact | Certainty::Unstored | Certainty::Redacted
        );
        Some(LastFile {
            mode: file.mode,
            content,
            named_at: file.since,
            is_proven: is_known,
        })
    }
}
