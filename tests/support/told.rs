//! All that can be asked of a tape and its files, as text to compare.

use jukebox::model::{BlobHash, Cursor, Kind};
use jukebox::state::State;
use jukebox::tape::Tape;
use jukebox::tape::wire::RawHead;

/// What a tape and its files say, a line for each question.
pub(crate) fn told(tape: &Tape, state: &State) -> Vec<String> {
    let index = &tape.index;
    let mut told = Vec::new();
    for position in 0..index.events.len() {
        let (seq, event) = (index.events.seq(position), index.events.get(position));
        let found = index.events.position(seq);
        told.push(format!("{seq:?} {found:?} {event:?}"));
    }
    for step in 0..index.steps.len() {
        let (number, via) = (index.number_of(step), index.steps.via(step));
        told.push(format!("{:?} {number:?} {via:?}", index.steps.get(step)));
    }
    let half = index.steps.len() / 2;
    for steps in [0..half, half..index.steps.len()] {
        told.push(format!("{:?}", index.steps.total(steps)));
    }
    told.push(format!("{:?}", index.branches));
    told.push(format!("{:?}", index.agents));
    told.push(format!("{:?} {:?}", index.transactions, index.snapshots));
    told.push(format!("{} {:?}", index.current_line, tape.end));
    told.push(format!("{} {}", index.blobs.len(), state.paths.len()));
    for position in 0..index.events.len() {
        let names = |kind: Kind| kind.is_file_change() || kind == Kind::Blob;
        if index.events.kind(position).is_some_and(names)
            && let Ok(Ok(Some(hash))) = tape.with_head(position, hash_of)
        {
            let id = index.blobs.find(&hash);
            let place = id.and_then(|id| index.blobs.position(id));
            told.push(format!("{position}: {id:?} at {place:?}"));
        }
    }
    let end = index.events.len();
    for branch in (0..index.branches.len()).map(|branch| branch as u16) {
        for position in [end / 4, end / 2, end - end / 4, end] {
            let at = Cursor { position, branch };
            state.walk(&index.blobs, at, &mut |child| {
                let path = state.paths.path(child.path);
                told.push(format!("{at:?} {path:?} {:?}", child.state));
            });
        }
    }
    told
}

fn hash_of(head: &RawHead<'_>) -> Option<BlobHash> {
    head.blob_hash()
}
