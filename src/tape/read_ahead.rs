//! Reads a tape block by block, on a thread of its own: the next blocks come from the disk
//! while one is looked at.
//!
//! The tape is read and not mapped, so that one that is cut meanwhile has an end there, and
//! does not raise a signal. One that is in memory is looked at where it lies, and a few bytes,
//! as a tape that is followed brings them, are read without a thread.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;

use super::TapeBytes;

/// Bytes read at once.
const BLOCK: usize = 1 << 21;
/// Fewer bytes than this are read before a thread has begun.
const FEW: u64 = 1 << 17;
/// Blocks that wait to be taken.
const AHEAD: usize = 2;

/// All bytes of a tape from a place on, in order. Dropped, it ends its thread.
#[derive(Debug)]
pub struct ReadAhead(Source);

#[derive(Debug)]
enum Source {
    Thread {
        blocks: Receiver<io::Result<Vec<u8>>>,
        spent: Sender<Vec<u8>>,
    },
    /// What is in memory, or not much, is one block, once.
    Once(Option<Block>),
}

/// Some bytes of a tape.
#[derive(Debug)]
pub enum Block {
    /// That were read.
    Read(Vec<u8>),
    /// From an offset on, where they lie in memory.
    Memory(Arc<[u8]>, usize),
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Memory(bytes, from) => bytes.get(*from..).unwrap_or_default(),
        }
    }
}

impl ReadAhead {
    /// Begins to read.
    pub fn start(bytes: TapeBytes, from: u64) -> io::Result<Self> {
        if let TapeBytes::Memory(bytes) = bytes {
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            let is_there = from < bytes.len();
            let block = is_there.then_some(Block::Memory(bytes, from));
            return Ok(Self(Source::Once(block)));
        }
        let rest = bytes.len()?.saturating_sub(from);
        if rest <= FEW {
            let few = read_few(&bytes, from, rest as usize)?;
            let block = (!few.is_empty()).then_some(Block::Read(few));
            return Ok(Self(Source::Once(block)));
        }
        let (full, blocks) = mpsc::sync_channel(AHEAD);
        let (spent, empty) = mpsc::channel();
        thread::Builder::new().spawn(move || read(&bytes, from, &full, &empty))?;
        Ok(Self(Source::Thread { blocks, spent }))
    }

    /// The next block, once it was read; `None` at the end.
    pub fn next_block(&mut self) -> io::Result<Option<Block>> {
        match &mut self.0 {
            Source::Once(block) => Ok(block.take()),
            Source::Thread { blocks, .. } => match blocks.recv() {
                Ok(block) => block.map(|bytes| Some(Block::Read(bytes))),
                // The thread ends behind the last block.
                Err(mpsc::RecvError) => Ok(None),
            },
        }
    }

    /// Gives a block back that was looked at, to be filled again.
    pub fn give_back(&self, block: Block) {
        if let (Source::Thread { spent, .. }, Block::Read(bytes)) = (&self.0, block) {
            // A thread that has reached the end wants no block back.
            let _ = spent.send(bytes);
        }
    }
}

/// As many bytes as are there, up to `count`.
fn read_few(bytes: &TapeBytes, from: u64, count: usize) -> io::Result<Vec<u8>> {
    let mut few = vec![0; count];
    let mut filled = 0;
    while let Some(rest) = few.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match bytes.read_at(from + filled as u64, rest)? {
            0 => break,
            count => filled += count,
        }
    }
    few.truncate(filled);
    Ok(few)
}

/// Sends full blocks, in buffers that came back empty, to the end or the first error.
fn read(
    bytes: &TapeBytes,
    from: u64,
    full: &SyncSender<io::Result<Vec<u8>>>,
    empty: &Receiver<Vec<u8>>,
) {
    let mut at = from;
    loop {
        let mut block = empty.try_recv().unwrap_or_else(|_| vec![0; BLOCK]);
        block.resize(BLOCK, 0);
        let read = match bytes.read_at(at, &mut block) {
            Ok(0) => return,
            read => read,
        };
        let is_end = read.is_err();
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
