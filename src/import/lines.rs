//! The lines of a foreign file, one at a time, however long they are.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
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

/// Reads a file's lines in blocks; holds one line at a time.
pub(super) struct Lines<R = File> {
    reader: BufReader<R>,
    line: Vec<u8>,
    number: u64,
    /// Where the next line begins.
    offset: u64,
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
            reader: BufReader::with_capacity(block, file),
            line: Vec::new(),
            number: 0,
            offset: 0,
        }
    }

    /// What the lines are read from.
    pub(super) fn source(&self) -> &R {
        self.reader.get_ref()
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
        self.offset += self.line.len() as u64;
        self.line.clear();
        self.line.shrink_to(KEPT);
        self.number += 1;
        Ok(self.reader.read_until(b'\n', &mut self.line)? > 0)
    }

    /// The line that was read last.
    pub(super) fn current(&self) -> Option<Line<'_>> {
        let (bytes, ending) = match self.line.split_last()? {
            (b'\n', rest) => (rest, Ending::Newline),
            _ => (self.line.as_slice(), Ending::EndOfFile),
        };
        Some(Line {
            number: self.number,
            offset: self.offset,
            bytes,
            ending,
        })
    }
}
