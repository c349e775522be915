//! Calls of other sessions in the same directories: each recorder leaves word of its own.
//!
//! Kept beside the sockets, in a file a session that is written whole. What cannot be read
//! there counts for nothing, nor is a path told of that holds a secret: then a change is blamed
//! on nobody.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::door::{self, Door};
use crate::capture::CallTrace;
use crate::model::WallTime;
use crate::redact::Redactor;

/// Calls that are over and still told of, at most.
const KEPT: usize = 256;
/// Files of sessions that ended so long ago are removed.
const STALE: Duration = Duration::from_hours(24);
const FILE: &str = "calls";

/// What a session lets others know.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Word {
    root: PathBuf,
    calls: Vec<Stretch>,
}

/// A call, and from when to when it ran.
#[derive(Debug, Serialize, Deserialize)]
struct Stretch {
    trace: CallTrace,
    from: i64,
    to: Option<i64>,
}

/// The sessions around one.
#[derive(Debug)]
pub(super) struct Neighbours {
    door: Door,
    word: Word,
    /// What nobody is told.
    redactor: Option<Arc<Redactor>>,
    /// Since when changes were not looked for.
    looked: WallTime,
}

impl Neighbours {
    pub(super) fn new(
        door: Door,
        root: PathBuf,
        redactor: Option<Arc<Redactor>>,
        now: WallTime,
    ) -> Self {
        for path in others(&door) {
            let written = fs::metadata(&path).and_then(|found| found.modified());
            let age = written.map(|written| SystemTime::now().duration_since(written));
            if matches!(age, Ok(Ok(age)) if age > STALE) && !is_alive(&path) {
                let _is_gone = fs::remove_file(path);
            }
        }
        let calls = Vec::new();
        Self {
            door,
            word: Word { root, calls },
            redactor,
            looked: now,
        }
    }

    /// The calls of others that may have changed something since the last look; the next
    /// one begins now.
    pub(super) fn since_last_look(&mut self, now: WallTime) -> Vec<CallTrace> {
        let since = std::mem::replace(&mut self.looked, now);
        let mut traces = Vec::new();
        for path in others(&self.door) {
            let Ok(bytes) = fs::read(&path) else { continue };
            let Ok(word) = serde_json::from_slice::<Word>(&bytes) else {
                continue;
            };
            let (one, two) = (&word.root, &self.word.root);
            if !(one.starts_with(two) || two.starts_with(one)) {
                continue;
            }
            let is_alive = is_alive(&path);
            let ran = word.calls.into_iter().filter(|stretch| match stretch.to {
                Some(to) => to >= since.0,
                None => is_alive,
            });
            traces.extend(ran.map(|stretch| stretch.trace));
        }
        traces
    }

    /// Leaves word of the calls that run now.
    pub(super) fn tell(&mut self, open: Vec<CallTrace>, now: WallTime) -> io::Result<()> {
        let calls = &mut self.word.calls;
        let mut is_news = false;
        for stretch in calls.iter_mut().filter(|stretch| stretch.to.is_none()) {
            if !open.iter().any(|trace| trace.id == stretch.trace.id) {
                stretch.to = Some(now.0);
                is_news = true;
            }
        }
        for mut trace in open {
            if !calls
                .iter()
                .any(|stretch| stretch.to.is_none() && stretch.trace.id == trace.id)
            {
                if let Some(redactor) = &self.redactor {
                    let is_plain = |name: &String| redactor.secrets(name.as_bytes()).is_empty();
                    trace.names.retain(is_plain);
                }
                let (from, to) = (now.0, None);
                calls.push(Stretch { trace, from, to });
                is_news = true;
            }
        }
        if !is_news {
            return Ok(());
        }
        let over = calls.len().saturating_sub(KEPT);
        let mut left = over;
        calls.retain(|stretch| {
            let goes = left > 0 && stretch.to.is_some();
            left -= usize::from(goes);
            !goes
        });
        let directory = self.door.directory();
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer(&mut file, &self.word)?;
        file.persist(directory.join(format!("{}.{FILE}", self.door.key())))?;
        Ok(())
    }
}

/// The files of the other sessions.
fn others(door: &Door) -> impl Iterator<Item = PathBuf> {
    let own = format!("{}.{FILE}", door.key());
    door::entries(door.directory()).filter(move |path| {
        path.extension().is_some_and(|end| end == FILE)
            && path.file_name().is_some_and(|name| name != own.as_str())
    })
}

/// Whether the recorder that left this word runs.
fn is_alive(word: &Path) -> bool {
    door::is_held(&word.with_extension("lock"))
}
