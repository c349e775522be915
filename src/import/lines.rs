//! The lines of a foreign file, one at a time, however long they are.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

/// A physical line.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// The offset of its first byte in the file.
    pub offset: u64,
    /// Its bytes, without the newline.
    pub bytes: &'a [u8],
    /// What ends it.
    pub ending: Ending,
}

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A newline: the line is whole.
    Newline,
    /// The end of the file: it may still be being written, or was cut.
    EndOfFile,
}

/// Blocks begin at a multiple of this: what the system copies to places that are a little
/// behind one (as those of the allocator are), some processors copy four times slower.
const EVEN: usize = 64;

/// Reads a file's lines in blocks; holds a block, and of a line that lies in several one line.
pub(super) struct Lines<R = File> {
    source: R,
    /// Room for a block that begins at an even place.
    room: Vec<u8>,
    /// Where in the room bytes stand that were not looked at.
    ahead: Range<usize>,
    line: Place,
    /// A line, or the beginning of one, that did not end with its block.
    carried: Vec<u8>,
    number: u64,
    /// Where the line begins, and how many bytes it has with its newline.
    offset: u64,
    len: usize,
}

/// Where a line's bytes are, its newline among them.
#[derive(Debug)]
enum Place {
    Room(Range<usize>),
    Carried,
}

impl Lines {
    /// Opens a file.
    pub(super) fn open(path: &Path, block: usize) -> io::Result<Self> {
        Ok(Self::of(File::open(path)?, block))
    }
}

impl<R: Read> Lines<R> {
    /// The lines of a file from its start, read in blocks of this many bytes.
    pub(super) fn of(file: R, block: usize) -> Self {
        Self {
            source: file,
            room: vec![0; block + EVEN],
            ahead: 0..0,
            line: Place::Room(0..0),
            carried: Vec::new(),
            number: 0,
            offset: 0,
            len: 0,
        }
    }

    /// What the lines are read from.
    pub(super) fn source(&self) -> &R {
        &self.source
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        if !self.advance()? {
            return Ok(None);
        }
        Ok(self.current())
    }

    /// Reads the next line, to be had from [`Self::current`]; false at the end.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        // A buffer that a huge line needed is not kept for the small ones after it.
        const KEPT: usize = 1 << 20;
        self.offset += self.len as u64;
        self.number += 1;
        self.carried.clear();
        self.carried.shrink_to(KEPT);
        loop {
            let ahead = self.room.get(self.ahead.clone()).unwrap_or_default();
            let end = memchr::memchr(b'\n', ahead).map(|at| self.ahead.start + at + 1);
            let part = self.ahead.start..end.unwrap_or(self.ahead.end);
            self.ahead.start = part.end;
            if end.is_some() && self.carried.is_empty() {
                self.len = part.len();
                self.line = Place::Room(part);
                return Ok(true);
            }
            let part = self.room.get(part).unwrap_or_default();
            self.carried.extend_from_slice(part);
            if end.is_some() || !self.fill()? {
                self.len = self.carried.len();
                self.line = Place::Carried;
                return Ok(self.len > 0);
            }
        }
    }

    /// Reads the next block; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let start = self.room.as_ptr().align_offset(EVEN).min(EVEN);
        let block = self.room.len() - EVEN;
        let even = self.room.get_mut(start..start + block).unwrap_or_default();
        let count = loop {
            match self.source.read(even) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.ahead = start..start + count;
        Ok(count > 0)
    }

    /// The line that was read last.
    pub(super) fn current(&self) -> Option<Line<'_>> {
        let line = match &self.line {
            Place::Room(part) => self.room.get(part.clone())?,
            Place::Carried => &self.carried,
        };
        let (bytes, ending) = match line.split_last()? {
            (b'\n', rest) => (rest, Ending::Newline),
            _ => (line, Ending::EndOfFile),
        };
        Some(Line {
            number: self.number,
            offset: self.offset,
            bytes,
            ending,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Ending, Line, Lines};

    fn read(bytes: &[u8], block: usize) -> Vec<(u64, u64, Vec<u8>, Ending)> {
        let mut lines = Lines::of(bytes, block);
        let mut read = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let Line {
                number,
                offset,
                bytes,
                ending,
            } = line;
            read.push((number, offset, bytes.to_vec(), ending));
        }
        read
    }

    #[test]
    fn lines_are_the_same_wherever_blocks_end() {
        let text = b"one\n\nthree, which is longer\r\nfour\n\nno newline";
        let mut offset = 0;
        let expected: Vec<_> = text
            .split_inclusive(|byte| *byte == b'\n')
            .zip(1..)
            .map(|(line, number)| {
                let at = offset;
                offset += line.len() as u64;
                match line.strip_suffix(b"\n") {
                    Some(line) => (number, at, line.to_vec(), Ending::Newline),
                    None => (number, at, line.to_vec(), Ending::EndOfFile),
                }
            })
            .collect();
        for block in 1..text.len() + 2 {
            assert_eq!(read(text, block), expected, "blocks of {block}");
        }
        assert!(read(b"", 4).is_empty());
    }
}
