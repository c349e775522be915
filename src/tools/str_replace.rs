//! The `str_replace_editor` family: create, replace, insert, and undo per file.
//!
//! One [`StrReplace`] is the tool's memory of one file. It never creates over a file that
//! is there, and never guesses where a text stands that occurs twice.

use std::sync::Arc;

use super::edit::{Deletion, substitute};
use super::{EditError, Occurrences, Replacement};

/// The editor's view of one file: what it holds, and what it held before each edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrReplace {
    content: Option<Arc<[u8]>>,
    history: Vec<Arc<[u8]>>,
    tabs: Tabs,
}

/// What the tool does to tabs when it writes a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tabs {
    /// It leaves them.
    #[default]
    Keep,
    /// It turns those of the whole file into spaces, up to columns of eight (SWE-agent and
    /// the reference tool).
    Expand,
}

impl StrReplace {
    /// The editor before a file; `None`: the file is not there.
    pub fn open(content: Option<Arc<[u8]>>, tabs: Tabs) -> Self {
        Self {
            content,
            history: Vec::new(),
            tabs,
        }
    }

    /// What the file holds; `None`: it is not there.
    pub fn content(&self) -> Option<&Arc<[u8]>> {
        self.content.as_ref()
    }

    /// Makes the file, which must not be there.
    pub fn create(&mut self, text: &str) -> Result<(), EditError> {
        if self.content.is_some() {
            return Err(EditError::Exists);
        }
        self.content = Some(text.as_bytes().into());
        Ok(())
    }

    /// Replaces a text that occurs exactly once.
    pub fn replace(&mut self, old: &str, new: &str) -> Result<(), EditError> {
        let before = self.before()?;
        let (old, new) = (self.written(old), self.written(new));
        if old.is_empty() {
            return Err(EditError::NotFound { old });
        }
        let replacement = Replacement {
            old: &old,
            new: &new,
            which: Occurrences::Only,
        };
        let edited = substitute(&before, &replacement, Deletion::JustText)?;
        self.put(before, edited.bytes);
        Ok(())
    }

    /// Inserts a text after a line; line 0 is the top.
    pub fn insert(&mut self, line: usize, text: &str) -> Result<(), EditError> {
        let before = self.before()?;
        let mut lines: Vec<&[u8]> = before.split(|byte| *byte == b'\n').collect();
        if line > lines.len() {
            return Err(EditError::NoSuchLine {
                line,
                lines: lines.len(),
            });
        }
        let text = self.written(text);
        lines.splice(line..line, text.as_bytes().split(|byte| *byte == b'\n'));
        let joined = lines.join(&b'\n');
        self.put(before, joined);
        Ok(())
    }

    /// Takes the last edit back.
    pub fn undo(&mut self) -> Result<(), EditError> {
        self.content = Some(self.history.pop().ok_or(EditError::NothingToUndo)?);
        Ok(())
    }

    /// The file as the tool reads it.
    fn before(&self) -> Result<Arc<[u8]>, EditError> {
        let content = self.content.clone().ok_or(EditError::Absent)?;
        Ok(match self.tabs {
            Tabs::Keep => content,
            Tabs::Expand => expand_tabs(&content).into(),
        })
    }

    /// A text as the tool writes it.
    fn written(&self, text: &str) -> String {
        match self.tabs {
            Tabs::Keep => text.to_owned(),
            Tabs::Expand => String::from_utf8_lossy(&expand_tabs(text.as_bytes())).into_owned(),
        }
    }

    fn put(&mut self, before: Arc<[u8]>, after: Vec<u8>) {
        self.history.push(before);
        self.content = Some(after.into());
    }
}

/// Tabs become spaces up to the next column of eight, as Python's `expandtabs` does it.
fn expand_tabs(bytes: &[u8]) -> Vec<u8> {
    const WIDTH: usize = 8;
    let mut expanded = Vec::with_capacity(bytes.len());
    let mut column = 0;
    for byte in bytes {
        match byte {
            b'\t' => {
                let spaces = WIDTH - column % WIDTH;
                expanded.resize(expanded.len() + spaces, b' ');
                column += spaces;
            }
            b'\n' | b'\r' => {
                expanded.push(*byte);
                column = 0;
            }
            _ => {
                expanded.push(*byte);
                let continues_a_character = byte & 0b1100_0000 == 0b1000_0000;
                column += usize::from(!continues_a_character);
            }
        }
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> StrReplace {
        StrReplace::open(Some(text.as_bytes().into()), Tabs::Keep)
    }

    fn text(editor: &StrReplace) -> String {
        String::from_utf8(editor.content().unwrap().to_vec()).unwrap()
    }

    #[test]
    fn every_command_does_what_the_tool_does() {
        let mut editor = StrReplace::default();
        editor.create("a\nb\n").unwrap();
        assert_eq!(editor.create("x"), Err(EditError::Exists));
        editor.replace("b", "").unwrap();
        assert_eq!(text(&editor), "a\n\n", "a deletion takes just the text");
        editor.insert(0, "top").unwrap();
        assert_eq!(text(&editor), "top\na\n\n");
        editor.undo().unwrap();
        editor.undo().unwrap();
        assert_eq!(text(&editor), "a\nb\n");
        assert_eq!(editor.undo(), Err(EditError::NothingToUndo));
    }

    #[test]
    fn lines_are_inserted_after_a_line() {
        let check = |line, expected: Result<&str, EditError>| {
            let mut editor = open("1\n2");
            let done = editor.insert(line, "x\ny");
            assert_eq!(done.map(|()| text(&editor)), expected.map(str::to_owned));
        };
        check(0, Ok("x\ny\n1\n2"));
        check(1, Ok("1\nx\ny\n2"));
        check(2, Ok("1\n2\nx\ny"));
        check(3, Err(EditError::NoSuchLine { line: 3, lines: 2 }));
    }

    #[test]
    fn a_text_that_is_not_there_once_is_refused() {
        let mut editor = open("a a");
        assert!(matches!(
            editor.replace("a", "b"),
            Err(EditError::Ambiguous { .. })
        ));
        assert!(matches!(
            editor.replace("c", "b"),
            Err(EditError::NotFound { .. })
        ));
        assert_eq!(text(&editor), "a a");
        let mut nothing = StrReplace::default();
        assert_eq!(nothing.replace("a", "b"), Err(EditError::Absent));
    }

    #[test]
    fn tabs_of_the_whole_file_are_expanded_where_the_tool_does_so() {
        let content = "\ta\nü\tb\n".as_bytes();
        let mut editor = StrReplace::open(Some(content.into()), Tabs::Expand);
        editor.replace("\ta", "\tc").unwrap();
        assert_eq!(text(&editor), "        c\nü       b\n");
    }
}
