//! Reads a tape block by block, on a thread of its own: the next blocks come from the disk
//! while one is looked at.
//!
//! The tape is read and not mapped, so that one that is cut meanwhile has an end there, and
//! does not raise a signal. One that is in memory is looked at where it lies.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use super::TapeBytes;

/// Bytes read at once.
const BLOCK: usize = 1 << 21;
/// Blocks that wait to be taken.
const AHEAD: usize = 2;

/// Gives `take` all bytes from `from` on, in order, until it breaks.
pub(super) fn read_ahead(
    bytes: &TapeBytes,
    from: u64,
    mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<()> {
    if let TapeBytes::Memory(bytes) = bytes {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        // Whether it wants more: there is no more.
        let _ = take(bytes.get(from..).unwrap_or_default());
        return Ok(());
    }
    let (full, blocks) = mpsc::sync_channel(AHEAD);
    let (spent, empty) = mpsc::channel();
    thread::scope(|scope| {
        thread::Builder::new().spawn_scoped(scope, || read(bytes, from, full, empty))?;
        // Taken by value: when this ends early, so does the thread.
        for block in blocks {
            let block = block?;
            if take(&block).is_break() {
                break;
            }
            // A thread that has reached the end wants no block back.
            let _ = spent.send(block);
        }
        Ok(())
    })
}

/// Sends full blocks, in buffers that came back empty, to the end or the first error.
fn read(
    bytes: &TapeBytes,
    from: u64,
    full: SyncSender<io::Result<Vec<u8>>>,
    empty: Receiver<Vec<u8>>,
) {
    let mut at = from;
    loop {
        let mut block = empty.try_recv().unwrap_or_else(|_| vec![0; BLOCK]);
        block.resize(BLOCK, 0);
        let read = bytes.read_at(at, &mut block);
        let is_end = !matches!(read, Ok(1..));
        let read = read.map(|count| {
            at += count as u64;
            block.truncate(count);
            block
        });
        if full.send(read).is_err() || is_end {
            return;
        }
    }
}
