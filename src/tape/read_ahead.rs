//! Reads a tape block by block, on a thread of its own: the next blocks come from the disk,
//! and the heads of their lines are found, while one is looked at.
//!
//! The tape is read and not mapped, so that one that is cut meanwhile has an end there, and
//! does not raise a signal. One that is in memory is looked at where it lies, and a few bytes,
//! as a tape that is followed brings them, are read without a thread.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;

use memmap2::MmapMut;

use super::TapeBytes;
use super::heads::Heads;

/// Bytes read at once: so few that all blocks stay in the processor's cache, where they are
/// copied to, and looked at, several times faster than in memory.
const BLOCK: usize = 1 << 18;
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
        blocks: Receiver<io::Result<Block>>,
        spent: Sender<Block>,
    },
    /// What is in memory, or not much, is one block, once.
    Once(Option<Block>),
}

/// Some bytes of a tape, in which the heads may have been found already.
#[derive(Debug)]
pub struct Block {
    bytes: Bytes,
    heads: Heads,
}

#[derive(Debug)]
enum Bytes {
    Few(Vec<u8>),
    /// The first so many of a room. It is the system's and no allocator's: it begins with a
    /// page (what is copied to places a little behind one, as those of the allocator are, some
    /// processors copy four times slower), and is given back when all is read.
    Room(MmapMut, usize),
    /// From an offset on, where they lie in memory.
    Memory(Arc<[u8]>, usize),
}

impl Block {
    fn of(bytes: Bytes) -> Self {
        Self {
            bytes,
            heads: Heads::default(),
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Few(bytes) => bytes,
            Bytes::Room(room, len) => room.get(..*len).unwrap_or_default(),
            Bytes::Memory(bytes, from) => bytes.get(*from..).unwrap_or_default(),
        }
    }

    /// Finds the heads in it.
    pub fn with_heads(mut self) -> Self {
        let mut heads = std::mem::take(&mut self.heads);
        heads.find(self.bytes());
        Self { heads, ..self }
    }

    /// The heads that were found.
    pub(super) const fn heads(&self) -> &Heads {
        &self.heads
    }
}

impl From<Vec<u8>> for Block {
    fn from(bytes: Vec<u8>) -> Self {
        Self::of(Bytes::Few(bytes))
    }
}

impl ReadAhead {
    /// Begins to read.
    pub fn start(bytes: TapeBytes, from: u64) -> io::Result<Self> {
        if let TapeBytes::Memory(bytes) = bytes {
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            let is_there = from < bytes.len();
            let block = is_there.then(|| Block::of(Bytes::Memory(bytes, from)));
            return Ok(Self(Source::Once(block)));
        }
        let rest = bytes.len()?.saturating_sub(from);
        if rest <= FEW {
            let few = read_few(&bytes, from, rest as usize)?;
            let block = (!few.is_empty()).then(|| few.into());
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
                Ok(block) => block.map(Some),
                // The thread ends behind the last block.
                Err(mpsc::RecvError) => Ok(None),
            },
        }
    }

    /// Gives a block back that was looked at, to be filled again.
    pub fn give_back(&self, block: Block) {
        if let Source::Thread { spent, .. } = &self.0 {
            // A thread that has reached the end wants no block back.
            let _ = spent.send(block);
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

/// Sends full blocks, in the room of those that came back, to the end or the first error.
fn read(
    bytes: &TapeBytes,
    from: u64,
    full: &SyncSender<io::Result<Block>>,
    spent: &Receiver<Block>,
) {
    // With one processor alone, nothing is gained by finding heads ahead.
    let has_others = thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    let mut at = from;
    loop {
        let (room, heads) = match spent.try_recv() {
            Ok(Block {
                bytes: Bytes::Room(room, _),
                heads,
            }) => (Ok(room), heads),
            _ => (MmapMut::map_anon(BLOCK), Heads::default()),
        };
        let read = room.and_then(|mut room| {
            let count = bytes.read_at(at, &mut room)?;
            Ok((room, count))
        });
        if let Ok((_, 0)) = read {
            return;
        }
        let is_end = read.is_err();
        let read = read.map(|(room, count)| {
            at += count as u64;
            let block = Block {
                bytes: Bytes::Room(room, count),
                heads,
            };
            if has_others {
                block.with_heads()
            } else {
                block
            }
        });
        if full.send(read).is_err() || is_end {
            return;
        }
    }
}
