//! Taking secrets out of what is recorded, beside a copy of the same bytes and beside a search
//! for the ends of its lines.

use std::fmt::Write as _;
use std::sync::Arc;

use jukebox::redact::{Redaction, Redactor, Rules};

use crate::Result;
use crate::beside::beside;
use crate::tapes::Shape;
use crate::text::code;

const COPY: &str = "a copy of it";
const NEWLINES: &str = "memchr for newlines";
/// Lines of source code: some megabytes.
const LINES: usize = 100_000;

pub(crate) fn run() -> Result {
    let source = code(LINES);
    measure("source code", &source)?;
    measure(
        "source code, a token every 100 lines",
        &with_tokens(&source)?,
    )?;
    let (tape, _) = crate::tape(Shape::Big, 0.01)?;
    measure("the lines of a tape", &String::from_utf8(tape)?)
}

fn measure(what: &str, text: &str) -> Result {
    let rules = Rules {
        known: vec![b"correct horse battery staple".to_vec()],
        ..Rules::default()
    };
    let redactor = Arc::new(Redactor::new(&rules)?);
    let megabytes = (text.len() as u64 / 1_000_000).max(1);
    let what = format!("{what}, {megabytes} MB");
    let redact = || {
        let mut redaction = Redaction::new(Arc::clone(&redactor), [7; 32]);
        let mut text = text.to_owned();
        redaction.text(&mut text);
        text
    };
    beside(&what, (megabytes, "a MB"), redact, COPY, || text.to_owned());
    let find = || redactor.secrets(text.as_bytes());
    let newlines = || memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let what = format!("{what}, found alone");
    beside(&what, (megabytes, "a MB"), find, NEWLINES, newlines);
    Ok(())
}

/// The same text, with a token of its own behind each hundredth line.
fn with_tokens(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        out.push_str(line);
        if number % 100 == 99 {
            let body = blake3::hash(&number.to_le_bytes()).to_hex();
            let body = body.get(..36).unwrap_or_default();
            writeln!(out, "let token = \"ghp_{body}\";")?;
        }
    }
    Ok(out)
}
