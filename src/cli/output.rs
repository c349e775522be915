//! Everything that the commands print, and the only place that prints it.
//!
//! What comes from a tape gets out in three ways: as [`SafeText`], as JSON in ASCII, or byte
//! for byte where exactly that was asked for and no terminal is listening. That holds for a
//! pipe as for a terminal, since what goes through a pipe is often looked at later.

use std::fmt::Write as _;
use std::io::{self, BufWriter, StdoutLock, Write as _};

use serde_json::Value;

use crate::text::{SafeText, json, sanitize_block};

/// What a piece of a line means. Meaning is never told by colour alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Style {
    /// Nothing special.
    #[default]
    Plain,
    /// A heading.
    Strong,
    /// Numbers, times and other things beside the point.
    Faint,
    /// Something failed, or was removed.
    Bad,
    /// Something was added.
    Good,
    /// Something to be careful with.
    Doubt,
    /// A place in a file.
    Place,
}

impl Style {
    /// The numbers of the terminal's own colours.
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Bad => "31",
            Self::Good => "32",
            Self::Doubt => "33",
            Self::Place => "36",
        }
    }
}

/// What stands for something that could not be shown: reversed, whatever is around it.
const PLACEHOLDER: &str = "7";

/// Whether styles are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// As colours.
    Colors,
    /// Not at all.
    Nothing,
}

/// Standard output.
pub(super) struct Output {
    to: BufWriter<StdoutLock<'static>>,
    paint: Paint,
    has_terminal: bool,
}

impl Output {
    pub(super) fn new(paint: Paint, has_terminal: bool) -> Self {
        Self {
            to: BufWriter::new(io::stdout().lock()),
            paint,
            has_terminal,
        }
    }

    /// Whether a person looks on.
    pub(super) const fn has_terminal(&self) -> bool {
        self.has_terminal
    }

    /// A line of one style.
    pub(super) fn line(&mut self, style: Style, text: &SafeText) -> io::Result<()> {
        self.spans(&[(style, text)])
    }

    /// A line of pieces.
    pub(super) fn spans(&mut self, spans: &[(Style, &SafeText)]) -> io::Result<()> {
        for (style, text) in spans {
            let mut at = 0;
            for mark in text.marks() {
                self.paint(style.code(), text.as_str().get(at..mark.range.start))?;
                self.paint(PLACEHOLDER, text.as_str().get(mark.range.clone()))?;
                at = mark.range.end;
            }
            self.paint(style.code(), text.as_str().get(at..))?;
        }
        self.to.write_all(b"\n")
    }

    fn paint(&mut self, code: &str, text: Option<&str>) -> io::Result<()> {
        match text {
            None | Some("") => Ok(()),
            Some(text) if self.paint == Paint::Nothing || code.is_empty() => {
                self.to.write_all(text.as_bytes())
            }
            Some(text) => write!(self.to, "\x1b[{code}m{text}\x1b[0m"),
        }
    }

    /// A JSON document on one line.
    pub(super) fn json(&mut self, value: &Value) -> io::Result<()> {
        writeln!(self.to, "{}", json::ascii(&value.to_string()))
    }

    /// Bytes as they are; made safe where they go to a terminal.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.has_terminal {
            return self.to.write_all(bytes);
        }
        self.to.write_all(sanitize_block(bytes).as_bytes())?;
        // What ends without a newline would share its line with the next prompt.
        if bytes.last().is_some_and(|last| *last != b'\n') {
            self.to.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Hands on at once what a command wrote that was run for somebody, who gets it as if they
    /// had run it: a terminal, too.
    pub(super) fn pass_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.to.flush()
    }

    /// Lets go of what is held back.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Says something on standard error, made safe. Nobody may be there to read it.
pub(super) fn warn(line: &str) {
    let mut text = String::new();
    let _ = writeln!(text, "jukebox: {}", SafeText::line(line));
    complain(&text);
}

/// Hands on at once what a command wrote to its standard error.
pub(super) fn pass_on_error(bytes: &[u8]) -> io::Result<()> {
    io::stderr().write_all(bytes)
}

/// Puts this in the place of the row that the cursor is in, on a terminal on standard error.
pub(super) fn status(line: &str) {
    complain(&format!("\r{line}\x1b[K"));
}

/// Writes a text that is safe already to standard error.
pub(super) fn complain(text: &str) {
    let _nobody_reads = io::stderr().write_all(text.as_bytes());
}
