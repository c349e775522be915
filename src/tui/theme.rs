//! How each part of the screen looks.
//!
//! A part has a role, and the theme turns roles into styles. Every role that carries a
//! meaning has a modifier or stands beside a sign, so that nothing is lost without colours.
//! The colours are the terminal's own sixteen, so that they follow its background.

use ratatui::style::{Color, Modifier, Style};

use super::highlight::Token;

/// Whether colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// The sixteen colours that follow the terminal.
    #[default]
    Terminal,
    /// None: bold, dim, underlined and reversed only.
    Never,
}

/// What a piece of the screen is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// What is read.
    Text,
    /// What stands back: numbers, times, frames.
    Quiet,
    /// What stands out.
    Strong,
    /// The place where one is: playhead, focused frame.
    Accent,
    /// The title of a pane.
    Title,
    /// The selected row of the focused pane.
    Selected,
    /// A heading inside a pane.
    Heading,
    /// A key in a hint.
    Key,
    /// Added lines and files.
    Added,
    /// Removed lines and files.
    Removed,
    /// Changed files.
    Changed,
    /// The words of an added line that are new.
    AddedWord,
    /// The words of a removed line that are gone.
    RemovedWord,
    /// Failures and errors.
    Failed,
    /// What to be careful with: uncertain files, gaps, outside changes.
    Warning,
    /// The run is being followed.
    Live,
    /// The model speaks.
    Model,
    /// A person speaks.
    Person,
    /// What was undone.
    Undone,
    /// Stands for a character that cannot be shown.
    Placeholder,
    /// Code.
    Code(Token),
}

/// Turns roles into styles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Theme {
    colors: ColorChoice,
}

impl Theme {
    /// The theme with colours or without.
    pub(super) fn new(colors: ColorChoice) -> Self {
        Self { colors }
    }

    /// How a role looks, whatever stood there before.
    pub(super) fn style(self, role: Role) -> Style {
        let style = Style::reset().add_modifier(modifiers(role));
        match (self.colors, color(role)) {
            (ColorChoice::Terminal, Some(color)) => style.fg(color),
            _ => style,
        }
    }
}

fn modifiers(role: Role) -> Modifier {
    match role {
        Role::Text
        | Role::Added
        | Role::Removed
        | Role::Changed
        | Role::Warning
        | Role::Model
        | Role::Code(Token::Text | Token::Constant | Token::Function | Token::Type) => {
            Modifier::empty()
        }
        Role::Quiet | Role::Code(Token::Comment) => Modifier::DIM,
        Role::Strong
        | Role::Accent
        | Role::Title
        | Role::Heading
        | Role::Key
        | Role::Failed
        | Role::Live
        | Role::Person
        | Role::Code(Token::Keyword | Token::Heading) => Modifier::BOLD,
        Role::Selected => Modifier::REVERSED.union(Modifier::BOLD),
        Role::AddedWord | Role::RemovedWord => Modifier::BOLD.union(Modifier::UNDERLINED),
        Role::Undone => Modifier::DIM.union(Modifier::CROSSED_OUT),
        Role::Placeholder => Modifier::REVERSED,
    }
}

fn color(role: Role) -> Option<Color> {
    match role {
        Role::Text
        | Role::Quiet
        | Role::Strong
        | Role::Title
        | Role::Selected
        | Role::Undone
        | Role::Code(Token::Comment) => None,
        Role::Accent | Role::Key | Role::Heading | Role::Code(Token::Type) => Some(Color::Cyan),
        Role::Added | Role::AddedWord | Role::Live | Role::Code(Token::Text) => Some(Color::Green),
        Role::Removed | Role::RemovedWord | Role::Failed => Some(Color::Red),
        Role::Changed | Role::Warning | Role::Code(Token::Constant) => Some(Color::Yellow),
        Role::Model | Role::Placeholder | Role::Code(Token::Keyword) => Some(Color::Magenta),
        Role::Person | Role::Code(Token::Function | Token::Heading) => Some(Color::Blue),
    }
}
