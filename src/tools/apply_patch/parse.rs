//! The grammar of a patch.
//!
//! `*** Begin Patch`, hunks, `*** End Patch`. Markers may be padded with spaces. Only an
//! update's first chunk may go without its `@@`.

use super::{Chunk, Hunk, Patch, PatchError};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

pub(super) fn patch(text: &str) -> Result<Patch, PatchError> {
    let mut lines = Lines::of(text);
    if lines.next().map(str::trim) != Some(BEGIN) {
        return Err(lines.error(format!("it does not begin with `{BEGIN}`")));
    }
    let mut hunks = Vec::new();
    loop {
        let Some(line) = lines.next().map(str::trim) else {
            return Err(lines.error(format!("it does not end with `{END}`")));
        };
        if line == END {
            return Ok(Patch { hunks });
        }
        hunks.push(if let Some(path) = line.strip_prefix(ADD) {
            Hunk::Add {
                path: path.to_owned(),
                content: added(&mut lines),
            }
        } else if let Some(path) = line.strip_prefix(DELETE) {
            Hunk::Delete {
                path: path.to_owned(),
            }
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            updated(path, &mut lines)?
        } else {
            return Err(lines.error(format!("“{line}” begins no hunk")));
        });
    }
}

/// The lines of a new file.
fn added(lines: &mut Lines<'_>) -> String {
    let mut content = String::new();
    while let Some(line) = lines.next_if(|line| line.starts_with('+')) {
        content.push_str(line.strip_prefix('+').unwrap_or_default());
        content.push('\n');
    }
    content
}

fn updated(path: &str, lines: &mut Lines<'_>) -> Result<Hunk, PatchError> {
    let move_to = lines
        .next_if(|line| line.trim().starts_with(MOVE))
        .and_then(|line| line.trim().strip_prefix(MOVE))
        .map(str::to_owned);
    let mut chunks = Vec::new();
    while let Some(line) = lines.next_if(|line| !begins_hunk(line)) {
        // Blank lines between chunks belong to none.
        if line.trim().is_empty() && !chunks.is_empty() {
            continue;
        }
        chunks.push(chunk(line, chunks.is_empty(), lines)?);
    }
    if chunks.is_empty() && move_to.is_none() {
        return Err(lines.error(format!("the update of `{path}` holds no change")));
    }
    Ok(Hunk::Update {
        path: path.to_owned(),
        move_to,
        chunks,
    })
}

/// One chunk; `line` is its first line, the marker or, of the first chunk, a changed line.
fn chunk(line: &str, is_first: bool, lines: &mut Lines<'_>) -> Result<Chunk, PatchError> {
    let mut chunk = Chunk {
        line: lines.number,
        ..Chunk::default()
    };
    if line.trim_end() == "@@" {
    } else if let Some(context) = line.strip_prefix("@@ ") {
        chunk.context = Some(context.to_owned());
    } else if !(is_first && chunk.push(line)) {
        return Err(lines.error(format!("“{line}” is neither `@@` nor a line of a change")));
    }
    while let Some(line) = lines.next_if(|line| !begins_hunk(line) && !line.starts_with("@@")) {
        if line.trim() == END_OF_FILE {
            chunk.is_at_end = true;
            break;
        }
        if !chunk.push(line) {
            return Err(lines.error(format!("“{line}” has no ` `, `+` or `-` before it")));
        }
    }
    if chunk.old.is_empty() && chunk.new.is_empty() {
        return Err(lines.error("the chunk holds no lines".to_owned()));
    }
    Ok(chunk)
}

impl Chunk {
    /// Takes a line of the change; false when it is none.
    fn push(&mut self, line: &str) -> bool {
        let (sign, text) = line.split_at_checked(1).unwrap_or(("", line));
        match sign {
            "" | " " => {
                self.old.push(text.to_owned());
                self.new.push(text.to_owned());
            }
            "-" => self.old.push(text.to_owned()),
            "+" => self.new.push(text.to_owned()),
            _ => return false,
        }
        true
    }
}

fn begins_hunk(line: &str) -> bool {
    let line = line.trim();
    line == END
        || [ADD, DELETE, UPDATE]
            .iter()
            .any(|marker| line.starts_with(marker))
}

/// The lines of the patch, with the number of the last one taken.
struct Lines<'a> {
    lines: std::iter::Peekable<std::str::Lines<'a>>,
    number: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            lines: text.trim_start_matches('\n').lines().peekable(),
            number: 0,
        }
    }

    fn next(&mut self) -> Option<&'a str> {
        self.number += 1;
        self.lines.next()
    }

    fn next_if(&mut self, is_wanted: impl FnOnce(&str) -> bool) -> Option<&'a str> {
        let line = self.lines.next_if(|line| is_wanted(line))?;
        self.number += 1;
        Some(line)
    }

    fn error(&self, what: String) -> PatchError {
        PatchError {
            line: self.number,
            what,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sort_of_hunk_is_read() {
        let text = "*** Begin Patch\n*** Add File: a\n+1\n+\n*** Delete File: b\n\
                    *** Update File: c\n*** Move to: d\n@@ fn\n-x\n+y\n\n*** End Patch";
        let chunk = Chunk {
            line: 8,
            context: Some("fn".to_owned()),
            old: vec!["x".to_owned(), String::new()],
            new: vec!["y".to_owned(), String::new()],
            is_at_end: false,
        };
        let expected = [
            Hunk::Add {
                path: "a".to_owned(),
                content: "1\n\n".to_owned(),
            },
            Hunk::Delete {
                path: "b".to_owned(),
            },
            Hunk::Update {
                path: "c".to_owned(),
                move_to: Some("d".to_owned()),
                chunks: vec![chunk],
            },
        ];
        assert_eq!(Patch::parse(text).unwrap().hunks, expected);
    }

    #[test]
    fn markers_may_be_padded() {
        let text = "  *** Begin Patch  \n *** Delete File: a \n*** End Patch ";
        assert_eq!(Patch::parse(text).unwrap().hunks.len(), 1);
    }

    #[test]
    fn what_is_no_patch_says_where() {
        let check = |text: &str, line| {
            assert_eq!(Patch::parse(text).unwrap_err().line, line, "{text:?}");
        };
        check("", 1);
        check("*** Begin Patch\nhello\n*** End Patch", 2);
        check("*** Begin Patch\n*** Delete File: a", 3);
        check("*** Begin Patch\n*** Update File: a\n*** End Patch", 2);
        check(
            "*** Begin Patch\n*** Update File: a\n@@\n*x\n*** End Patch",
            4,
        );
    }
}
