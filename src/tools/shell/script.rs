//! What a shell command consists of, once taken apart. No meaning yet.

/// A command line, taken apart.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) commands: Vec<Simple>,
    /// Whether the simple commands and their joints are all there is.
    pub(super) is_plain: bool,
}

/// One simple command.
#[derive(Debug, Default)]
pub(super) struct Simple {
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    /// What stands between it and the next one.
    pub(super) joint: Joint,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Joint {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`, `|&`
    Pipe,
    /// `&`
    Background,
    /// `;` or a newline
    Then,
    /// Nothing follows.
    #[default]
    End,
}

/// One word, with its quotes taken off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) nature: Nature,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Nature {
    /// It means what it says.
    #[default]
    Literal,
    /// A variable, a pattern or a tilde stands in it: the shell makes something else of it.
    Expands,
    /// A substitution stands in it: a command runs to make it.
    Runs,
}

impl Word {
    /// The text, if that is what the command gets.
    pub(super) fn literal(&self) -> Option<&str> {
        (self.nature == Nature::Literal).then_some(self.text.as_str())
    }
}

#[derive(Debug)]
pub(super) struct Redirect {
    /// The descriptor before the sign.
    pub(super) descriptor: Option<String>,
    pub(super) sign: Sign,
    /// The file or the descriptor; of a here-document, its text.
    pub(super) target: Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// `<`, `<<<`
    From,
    /// `>`, `>|`, `<>`
    To,
    /// `>>`
    Append,
    /// `&>`, `&>>`
    BothTo,
    /// `>&`, `<&`
    Duplicate,
    /// `<<`, `<<-`
    Here,
}
