//! Large tapes from a seed: the same seed and scale give the same bytes.
//!
//! The lines have the exact form that the recorder gives them, chained by `prev`, every
//! content hashed. They are written here all the same, because ten million of them through
//! the recorder would be a benchmark of their own.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use jukebox::model::{BlobHash, LineHash};

/// The words of the last step, by which its row is known on a screen.
pub(crate) const LAST_STEP: &str = "That was the last step.";

/// Which tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// 1 GB in some 220 thousand events, a few of them of 1 to 20 MB.
    Big,
    /// 10 million small events in some 1.2 GB.
    Many,
    /// A million file events on a hundred thousand files.
    Tree,
    /// 10 million steps in some 2 GB: what a key costs there, it costs anywhere.
    Steps,
}

impl Shape {
    /// Every shape.
    pub(crate) const ALL: [Self; 4] = [Self::Big, Self::Many, Self::Tree, Self::Steps];

    /// The name, as on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Big => "big",
            Self::Many => "many",
            Self::Tree => "tree",
            Self::Steps => "steps",
        }
    }

    /// Writes such a tape; `scale` 1 is the full size.
    pub(crate) fn write(self, path: &Path, scale: f64, seed: u64) -> io::Result<Written> {
        let mut tape = Tape::create(path, seed)?;
        let times = |count: f64| (count * scale).ceil() as u64;
        match self {
            Self::Big => big(&mut tape, times(1e9), times(9.0))?,
            Self::Many => many(&mut tape, times(1e7))?,
            Self::Tree => tree(&mut tape, times(1e5), times(1e6))?,
            Self::Steps => steps(&mut tape, times(1e7))?,
        }
        tape.finish()
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// Bytes of the tape.
    pub(crate) bytes: u64,
    /// Events, the header among them.
    pub(crate) events: u64,
    /// Steps of the main line.
    pub(crate) steps: u64,
    /// Steps of the branch beside it, where there is one.
    pub(crate) side_steps: u64,
    /// Events that change a file.
    pub(crate) file_events: u64,
    /// Bytes of all paths, each once.
    pub(crate) path_bytes: u64,
}

/// An agent at work until there are so many bytes: prompts, commands with outputs of all
/// lengths, edits of some hundreds of files, now and then something huge.
fn big(tape: &mut Tape, bytes: u64, huge: u64) -> io::Result<()> {
    let prose = Prose::new(&mut tape.dice);
    let paths: Vec<String> = (0..400).map(source_path).collect();
    tape.add_paths(&paths);
    let mut next_huge = bytes / (huge + 1);
    while tape.written.bytes < bytes {
        match tape.dice.below(10) {
            0 if tape.dice.below(8) == 0 => {
                let text = prose.take(&mut tape.dice, 200);
                tape.prompt(text)?;
            }
            0..=2 => {
                let length = tape.dice.skewed(2500);
                let text = prose.take(&mut tape.dice, length);
                tape.model(text)?;
            }
            3..=5 => {
                let path = tape.dice.pick(&paths);
                let length = tape.dice.skewed(8000);
                let text = prose.take(&mut tape.dice, length);
                tape.edit(path, text)?;
            }
            _ => {
                let length = tape.dice.skewed(11_000);
                let text = prose.take(&mut tape.dice, length);
                tape.command(text)?;
            }
        }
        if tape.written.bytes > next_huge {
            next_huge += bytes / (huge + 1);
            // From 1 to 20 MB, on the small scales less, so that they stay a few lines.
            let length = (1 << 20) + tape.dice.below(19 << 20);
            let length = length.min(bytes / 8) as usize;
            let text = prose.repeat(&mut tape.dice, length);
            tape.command(&text)?;
        }
    }
    Ok(())
}

/// Calls with nothing in them, frames of a stream, notes.
fn many(tape: &mut Tape, events: u64) -> io::Result<()> {
    while tape.written.events + 2 < events {
        match tape.dice.below(8) {
            0..=2 => tape
                .open_call("Read", "a")
                .and_then(|()| tape.close_call("")),
            3 => tape.line("note", |line| line.prev().text("text", "a remark")),
            _ => tape.line("stream.frame", |line| {
                line.text("name", "s")
                    .prev()
                    .text("dir", "in")
                    .text("data", "")
            }),
        }?;
    }
    Ok(())
}

/// Steps that each change a handful of files of a large tree; first every file once.
fn tree(tape: &mut Tape, files: u64, events: u64) -> io::Result<()> {
    let paths: Vec<String> = (0..files).map(source_path).collect();
    tape.add_paths(&paths);
    let mut fresh = paths.iter();
    while tape.written.file_events < events {
        tape.open_call("Bash", "make")?;
        for _ in 0..=tape.dice.below(12) {
            let path = match fresh.next() {
                Some(path) => path,
                None => tape.dice.pick(&paths),
            };
            if tape.dice.below(50) == 0 {
                tape.remove(path)?;
            } else {
                let text = format!("{path} at {}\n", tape.written.events);
                tape.write_file(path, &text)?;
            }
        }
        tape.close_call("done\n")?;
    }
    Ok(())
}

/// The file of a tape of steps that has a version at every 16th of them.
pub(crate) const LOG: &str = "notes/log.md";

/// Prompts and, at every 8th step, an edit: of one file and of a thousand others in turn.
/// Commands fail at the start and at the end only, and there is one branch, near the end.
fn steps(tape: &mut Tape, steps: u64) -> io::Result<()> {
    const OTHERS: u64 = 1000;
    let edge = 200.min(steps / 4);
    let mut paths: Vec<String> = (0..OTHERS).map(source_path).collect();
    paths.push(LOG.to_owned());
    tape.add_paths(&paths);
    while tape.written.steps + 1 < steps {
        let step = tape.written.steps;
        if step + edge == steps {
            tape.side_branch(5)?;
        }
        match step % 8 {
            0 => {
                let path = match step / 8 % 2 {
                    0 => LOG,
                    _ => paths
                        .get((step / 16 % OTHERS) as usize)
                        .map_or(LOG, String::as_str),
                };
                tape.open_call("Write", path)?;
                tape.write_file(path, &format!("so far: {step} steps\n"))?;
                tape.end_call("ok", 0, "written\n")?;
            }
            4 if step < edge || steps - step < edge => {
                tape.open_call("Bash", "make check")?;
                tape.end_call("failed", 1, "1 of 2 failed\n")?;
            }
            part => tape.prompt(&format!("Do part {part} of the needlework."))?,
        }
    }
    Ok(())
}

/// A path in a tree as projects have it: some ten entries in a directory.
fn source_path(number: u64) -> String {
    const NAMES: [&str; 10] = [
        "parse", "lexer", "token", "error", "index", "state", "model", "query", "cache", "utils",
    ];
    let name = |digit: u64| NAMES[(digit % 10) as usize];
    let mut path = String::from("src");
    let mut rest = number / 10;
    while rest > 0 {
        path.push('/');
        path.push_str(name(rest));
        rest /= 10;
    }
    format!("{path}/{}_{number}.rs", name(number))
}

/// A tape that is being written, and what its next line needs to know.
struct Tape {
    out: BufWriter<File>,
    dice: Dice,
    line: Line,
    prev: Option<LineHash>,
    micros: u64,
    calls: u64,
    written: Written,
}

impl Tape {
    fn create(path: &Path, seed: u64) -> io::Result<Self> {
        let mut tape = Self {
            out: BufWriter::with_capacity(1 << 20, File::create(path)?),
            dice: Dice(seed),
            line: Line::default(),
            prev: None,
            micros: 0,
            calls: 0,
            written: Written::default(),
        };
        tape.line("tape", |line| {
            line.text("name", "generator")
                .number("format", 1)
                .text("id", "018f3a5c-7e00-7000-8000-000000000000")
                .text("started", "2026-01-02T03:04:05Z")
                .text("root", "/work")
                .text("recorder", "jukebox benches")
        })?;
        tape.prompt("Make it work.")?;
        Ok(tape)
    }

    fn finish(mut self) -> io::Result<Written> {
        self.prompt(LAST_STEP)?;
        self.out.flush()?;
        Ok(self.written)
    }

    /// One event: the head's beginning, then what `rest` adds to it.
    fn line<'a>(
        &'a mut self,
        kind: &str,
        rest: impl FnOnce(&'a mut Line) -> &'a mut Line,
    ) -> io::Result<()> {
        self.line.begin(self.prev);
        self.line
            .number("seq", self.written.events)
            .number("t", self.micros)
            .text("kind", kind);
        let line = rest(&mut self.line);
        line.bytes.push(b'}');
        self.prev = Some(LineHash::of(&line.bytes));
        line.bytes.push(b'\n');
        self.out.write_all(&line.bytes)?;
        self.written.bytes += line.bytes.len() as u64;
        self.written.events += 1;
        self.micros += 1 + self.dice.below(200_000);
        Ok(())
    }

    fn prompt(&mut self, text: &str) -> io::Result<()> {
        self.written.steps += 1;
        self.line("prompt", |line| {
            line.text("name", "user").prev().text("text", text)
        })
    }

    /// A branch that leaves here, with so many steps; the main line goes on behind it.
    fn side_branch(&mut self, steps: u64) -> io::Result<()> {
        let at = self.written.events - 1;
        self.line("branch", |line| {
            line.text("branch", "side")
                .number("at", at)
                .prev()
                .text("why", "another way")
        })?;
        for _ in 0..steps {
            self.written.side_steps += 1;
            self.line("prompt", |line| {
                line.text("branch", "side")
                    .text("name", "user")
                    .prev()
                    .text("text", "Try another way.")
            })?;
        }
        Ok(())
    }

    fn model(&mut self, text: &str) -> io::Result<()> {
        self.written.steps += 1;
        self.line("model.response", |line| {
            line.text("name", "a-model")
                .text("outcome", "ok")
                .prev()
                .raw("blocks", "[{\"type\":\"text\",")
                .text("text", text)
                .more("}]")
                .text("stop", "end_turn")
        })
    }

    fn command(&mut self, output: &str) -> io::Result<()> {
        self.open_call("Bash", "cargo test --all")?;
        self.close_call(output)
    }

    fn edit(&mut self, path: &str, text: &str) -> io::Result<()> {
        self.open_call("Write", path)?;
        self.write_file(path, text)?;
        self.close_call("written\n")
    }

    fn open_call(&mut self, tool: &str, what: &str) -> io::Result<()> {
        self.calls += 1;
        self.written.steps += 1;
        let call = format!("c{}", self.calls);
        self.line("tool.call", |line| {
            line.text("call", &call)
                .text("name", tool)
                .text("title", what)
                .prev()
                .raw("args", "{}")
        })
    }

    /// Ends a call, now and then with a failure.
    fn close_call(&mut self, output: &str) -> io::Result<()> {
        let (outcome, exit) = match self.dice.below(40) {
            0 => ("failed", 1),
            _ => ("ok", 0),
        };
        self.end_call(outcome, exit, output)
    }

    fn end_call(&mut self, outcome: &str, exit: u64, output: &str) -> io::Result<()> {
        let call = format!("c{}", self.calls);
        self.line("tool.result", |line| {
            line.text("call", &call)
                .text("outcome", outcome)
                .number("exit", exit)
                .prev()
                .text("output", output)
        })
    }

    fn write_file(&mut self, path: &str, text: &str) -> io::Result<()> {
        self.written.file_events += 1;
        let call = format!("c{}", self.calls);
        let blob = BlobHash::of(text.as_bytes()).to_string();
        self.line("fs.write", |line| {
            line.text("call", &call)
                .text("path", path)
                .text("mode", "644")
                .text("blob", &blob)
                .number("len", text.len() as u64)
                .text("enc", "text")
                .prev()
                .text("text", text)
        })
    }

    fn remove(&mut self, path: &str) -> io::Result<()> {
        self.written.file_events += 1;
        let call = format!("c{}", self.calls);
        self.line("fs.remove", |line| {
            line.text("call", &call).text("path", path).prev()
        })
    }

    fn add_paths(&mut self, paths: &[String]) {
        self.written.path_bytes += paths.iter().map(|path| path.len() as u64).sum::<u64>();
    }
}

/// A line being written: fields in the order in which they are given.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    prev: Option<LineHash>,
}

impl Line {
    fn begin(&mut self, prev: Option<LineHash>) {
        self.bytes.clear();
        self.prev = prev;
    }

    fn name(&mut self, name: &str) {
        let lead: &[u8] = match self.bytes.last() {
            None => b"{\"",
            // In an object that was just opened.
            Some(b'{' | b',') => b"\"",
            Some(_) => b",\"",
        };
        self.bytes.extend_from_slice(lead);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(b"\":");
    }

    fn raw(&mut self, name: &str, json: &str) -> &mut Self {
        self.name(name);
        self.more(json)
    }

    fn more(&mut self, json: &str) -> &mut Self {
        self.bytes.extend_from_slice(json.as_bytes());
        self
    }

    fn number(&mut self, name: &str, number: u64) -> &mut Self {
        self.raw(name, &number.to_string())
    }

    fn text(&mut self, name: &str, text: &str) -> &mut Self {
        self.name(name);
        self.bytes.push(b'"');
        // The texts of this file need no other escapes.
        for piece in text.split_inclusive('\n') {
            let (piece, end): (_, &[u8]) = match piece.strip_suffix('\n') {
                Some(line) => (line, b"\\n"),
                None => (piece, b""),
            };
            self.bytes.extend_from_slice(piece.as_bytes());
            self.bytes.extend_from_slice(end);
        }
        self.bytes.push(b'"');
        self
    }

    fn prev(&mut self) -> &mut Self {
        match self.prev {
            Some(prev) => self.text("prev", &prev.to_string()),
            None => self,
        }
    }
}

/// A stock of text to cut pieces from.
struct Prose(String);

impl Prose {
    fn new(dice: &mut Dice) -> Self {
        const WORDS: [&str; 16] = [
            "the", "parser", "reads", "every", "token", "and", "returns", "an", "error", "where",
            "a", "line", "ends", "without", "newline;", "fn",
        ];
        let mut text = String::with_capacity(5 << 20);
        while text.len() < 4 << 20 {
            text.push_str(WORDS[dice.below(16) as usize]);
            text.push(if dice.below(10) == 0 { '\n' } else { ' ' });
        }
        Self(text)
    }

    /// Some `length` bytes from anywhere.
    fn take(&self, dice: &mut Dice, length: usize) -> &str {
        let length = length.min(self.0.len() / 2);
        let from = dice.below((self.0.len() - length) as u64) as usize;
        self.0.get(from..from + length).unwrap_or_default()
    }

    /// The same, longer than the stock.
    fn repeat(&self, dice: &mut Dice, length: usize) -> String {
        let mut text = String::with_capacity(length);
        while text.len() < length {
            text.push_str(self.take(dice, length - text.len()));
        }
        text
    }
}

/// Numbers that look random: splitmix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A length with this mean: mostly short, sometimes several times as long.
    fn skewed(&mut self, mean: u64) -> usize {
        let most = 4 * mean;
        (self.below(most).min(self.below(most)).min(self.below(most))) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let at = self.below(from.len() as u64) as usize;
        &from[at]
    }
}
