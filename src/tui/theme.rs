//! How each part of the screen looks.
//!
//! A part has a role, and the theme turns roles into styles. Every role that carries a
//! meaning has a modifier or stands beside a sign, so that nothing is lost without colours.
//! The colours are a [`Palette`]'s; without one they are the terminal's own sixteen, so that
//! they follow its background.

mod palette;

use ratatui::style::{Modifier, Style};

pub use self::palette::{Palette, ThemeError};

use self::palette::Ink;
use super::highlight::Token;

/// Which colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorChoice {
    /// These.
    Palette(Palette),
    /// None: bold, dim, underlined and reversed only.
    Never,
}

impl Default for ColorChoice {
    fn default() -> Self {
        Self::Palette(Palette::TERMINAL)
    }
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
    /// What came, in a word or a sign.
    Added,
    /// What went, in a word or a sign.
    Removed,
    /// A line that came.
    AddedLine,
    /// A line that went.
    RemovedLine,
    /// Changed files.
    Changed,
    /// The words of an added line that are new.
    AddedWord,
    /// The words of a removed line that are gone.
    RemovedWord,
    /// Letters that were looked for.
    Found,
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
    /// Code in a line that came.
    AddedCode(Token),
    /// Code in a line that went.
    RemovedCode(Token),
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
        let ColorChoice::Palette(palette) = self.colors else {
            return Style::reset().add_modifier(modifiers(role));
        };
        let ink = ink(&palette, role);
        let style = Style {
            fg: ink.color.or(palette.text.color),
            bg: ink.on.or(palette.background.color),
            ..Style::new()
        };
        Style::reset()
            .patch(style)
            .add_modifier(modifiers(role).difference(stand_ins(ink)))
    }
}

/// The modifiers that stand in for colours where there are none: a text with a colour of its
/// own need not be dimmed besides, nor one on a ground of its own reversed.
fn stand_ins(ink: Ink) -> Modifier {
    let mut modifiers = Modifier::empty();
    modifiers.set(Modifier::DIM, ink.color.is_some());
    modifiers.set(Modifier::REVERSED, ink.on.is_some());
    modifiers
}

fn modifiers(role: Role) -> Modifier {
    match role {
        Role::Text
        | Role::Added
        | Role::Removed
        | Role::AddedLine
        | Role::RemovedLine
        | Role::Changed
        | Role::Warning
        | Role::Model
        | Role::AddedCode(_)
        | Role::RemovedCode(_)
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
        Role::AddedWord | Role::RemovedWord | Role::Found => {
            Modifier::BOLD.union(Modifier::UNDERLINED)
        }
        Role::Undone => Modifier::DIM.union(Modifier::CROSSED_OUT),
        Role::Placeholder => Modifier::REVERSED,
    }
}

fn ink(palette: &Palette, role: Role) -> Ink {
    match role {
        Role::Text | Role::Strong | Role::Title | Role::Found => palette.text,
        Role::Quiet | Role::Undone => palette.quiet,
        Role::Selected => palette.selected,
        Role::Accent | Role::Key | Role::Heading => palette.accent,
        Role::Added | Role::Live => palette.added.alone(),
        Role::AddedLine => over(palette.text, palette.added),
        Role::AddedCode(token) => over(code(palette, token), palette.added),
        Role::AddedWord => palette.added_word,
        Role::Removed => palette.removed.alone(),
        Role::RemovedLine => over(palette.text, palette.removed),
        Role::RemovedCode(token) => over(code(palette, token), palette.removed),
        Role::RemovedWord => palette.removed_word,
        Role::Failed => palette.failed,
        Role::Changed => palette.changed,
        Role::Warning => palette.warning,
        Role::Model | Role::Placeholder => palette.model,
        Role::Person => palette.person,
        Role::Code(token) => code(palette, token),
    }
}

fn code(palette: &Palette, token: Token) -> Ink {
    match token {
        Token::Keyword => palette.code.keyword,
        Token::Text => palette.code.text,
        Token::Constant => palette.code.constant,
        Token::Comment => palette.code.comment,
        Token::Function => palette.code.function,
        Token::Type => palette.code.r#type,
        Token::Heading => palette.code.heading,
    }
}

/// A text in a changed line: on the ground of such lines where they have one, else in their
/// colour, since nothing else tells them.
fn over(text: Ink, line: Ink) -> Ink {
    match line.on {
        Some(_) => Ink {
            color: text.color,
            on: line.on,
        },
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use ratatui::style::Color;

    use super::*;

    #[test]
    fn a_palette_changes_colours_and_takes_no_meaning_away() {
        let dark = Palette::open(OsStr::new("dark")).unwrap();
        let style = |colors, role| Theme::new(colors).style(role);
        for role in [
            Role::AddedWord,
            Role::RemovedWord,
            Role::Failed,
            Role::Accent,
            Role::Placeholder,
        ] {
            let plain = style(ColorChoice::Never, role);
            assert_eq!(
                (plain.fg, plain.bg),
                (Some(Color::Reset), Some(Color::Reset))
            );
            let colored = style(ColorChoice::Palette(dark), role);
            assert_eq!(colored.add_modifier, plain.add_modifier, "{role:?}");
        }
        let quiet = style(ColorChoice::Palette(dark), Role::Quiet);
        assert!(!quiet.add_modifier.contains(Modifier::DIM));
        let quiet = style(ColorChoice::default(), Role::Quiet);
        assert!(quiet.add_modifier.contains(Modifier::DIM));
    }
}
