//! The colours of a theme: those of the terminal, one that is built in, or a TOML file.
//!
//! A palette says colours and nothing else. What is bold or underlined is the role's, so no
//! palette can take a meaning away from those who see no colours.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};

use ratatui::style::Color;
use serde::Deserialize;

/// Which colour everything has. What has none looks like text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Palette {
    pub(super) text: Ink,
    pub(super) background: Ink,
    pub(super) quiet: Ink,
    pub(super) accent: Ink,
    pub(super) selected: Ink,
    pub(super) added: Ink,
    pub(super) added_word: Ink,
    pub(super) removed: Ink,
    pub(super) removed_word: Ink,
    pub(super) changed: Ink,
    pub(super) warning: Ink,
    pub(super) failed: Ink,
    pub(super) model: Ink,
    pub(super) person: Ink,
    pub(super) code: CodePalette,
}

/// The colours of code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct CodePalette {
    pub(super) keyword: Ink,
    pub(super) text: Ink,
    pub(super) constant: Ink,
    pub(super) comment: Ink,
    pub(super) function: Ink,
    pub(super) r#type: Ink,
    pub(super) heading: Ink,
}

/// A colour, and what it stands on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Ink {
    pub(super) color: Option<Color>,
    pub(super) on: Option<Color>,
}

/// The themes that are built in.
const BUILT_IN: [(&str, &str); 4] = [
    ("dark", include_str!("../../../assets/themes/dark.toml")),
    ("light", include_str!("../../../assets/themes/light.toml")),
    (
        "color-blind",
        include_str!("../../../assets/themes/color-blind.toml"),
    ),
    (
        "high-contrast",
        include_str!("../../../assets/themes/high-contrast.toml"),
    ),
];

/// A theme file is no larger.
const LARGEST: u64 = 64 << 10;

/// Why there is no such theme.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// It is none that is built in, and no file.
    #[error(
        "there is no theme `{name}`: neither one of {} nor a file ({source})",
        names()
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// What came of reading it.
        source: io::Error,
    },
    /// It is far too large to be one.
    #[error("{name} is too large to be a theme")]
    TooLarge {
        /// The file.
        name: String,
    },
    /// It cannot be understood.
    #[error("the theme {name} cannot be read, line {line}: {message}")]
    Unreadable {
        /// The file.
        name: String,
        /// Where, from 1.
        line: usize,
        /// Why.
        message: String,
    },
}

fn names() -> String {
    BUILT_IN.map(|(name, _)| name).join(", ")
}

impl Palette {
    /// The terminal's own sixteen colours, which follow its background.
    pub const TERMINAL: Self = Self {
        text: Ink::NONE,
        background: Ink::NONE,
        quiet: Ink::NONE,
        selected: Ink::NONE,
        accent: Ink::of(Color::Cyan),
        added: Ink::of(Color::Green),
        added_word: Ink::of(Color::Green),
        removed: Ink::of(Color::Red),
        removed_word: Ink::of(Color::Red),
        changed: Ink::of(Color::Yellow),
        warning: Ink::of(Color::Yellow),
        failed: Ink::of(Color::Red),
        model: Ink::of(Color::Magenta),
        person: Ink::of(Color::Blue),
        code: CodePalette {
            keyword: Ink::of(Color::Magenta),
            text: Ink::of(Color::Green),
            constant: Ink::of(Color::Yellow),
            comment: Ink::NONE,
            function: Ink::of(Color::Blue),
            r#type: Ink::of(Color::Cyan),
            heading: Ink::of(Color::Blue),
        },
    };

    /// Opens a theme: one that is built in by its name, any other from its file.
    pub fn open(name: &OsStr) -> Result<Self, ThemeError> {
        let shown = name.to_string_lossy().into_owned();
        if let Some((_, text)) = BUILT_IN.iter().find(|(built_in, _)| *built_in == shown) {
            return Self::read(text, shown);
        }
        // A device may give bytes for ever: no more are read than a theme can have.
        let mut text = String::new();
        let read = File::open(name).and_then(|file| {
            let mut file = file.take(LARGEST + 1);
            file.read_to_string(&mut text)
        });
        match read {
            Ok(size) if size as u64 > LARGEST => Err(ThemeError::TooLarge { name: shown }),
            Ok(_) => Self::read(&text, shown),
            Err(source) => Err(ThemeError::Unknown {
                name: shown,
                source,
            }),
        }
    }

    fn read(text: &str, name: String) -> Result<Self, ThemeError> {
        toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            ThemeError::Unreadable {
                name,
                line: before.map_or(0, |before| before.matches('\n').count()) + 1,
                message: error.message().to_owned(),
            }
        })
    }
}

impl Ink {
    const NONE: Self = Self {
        color: None,
        on: None,
    };

    /// The colour, on no ground of its own.
    pub(super) fn alone(self) -> Self {
        Self { on: None, ..self }
    }

    const fn of(color: Color) -> Self {
        Self {
            color: Some(color),
            on: None,
        }
    }
}

impl TryFrom<String> for Ink {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let color = |name: &str| {
            let parsed = name.trim().parse::<Color>();
            parsed.map_err(|_unknown| format!("`{name}` is no colour: write it as #rrggbb"))
        };
        Ok(match text.split_once(" on ") {
            None => Self::of(color(&text)?),
            Some((over, on)) => Self {
                color: Some(color(over)?),
                on: Some(color(on)?),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(color: Color) -> f64 {
        let Color::Rgb(red, green, blue) = color else {
            panic!("{color} is not of the theme's own");
        };
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    /// As WCAG 2.2 measures it.
    fn contrast(one: Color, other: Color) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn what_is_built_in_can_be_read_by_eye() {
        for (name, _) in BUILT_IN {
            let palette = Palette::open(OsStr::new(name)).unwrap();
            let background = palette.background.color.unwrap();
            let least = if name == "high-contrast" { 7.0 } else { 4.5 };
            let code = palette.code;
            for (what, ink) in [
                ("text", palette.text),
                ("quiet", palette.quiet),
                ("accent", palette.accent),
                ("selected", palette.selected),
                ("added", palette.added),
                ("added-word", palette.added_word),
                ("removed", palette.removed),
                ("removed-word", palette.removed_word),
                ("changed", palette.changed),
                ("warning", palette.warning),
                ("failed", palette.failed),
                ("model", palette.model),
                ("person", palette.person),
                ("keyword", code.keyword),
                ("quoted", code.text),
                ("constant", code.constant),
                ("comment", code.comment),
                ("function", code.function),
                ("type", code.r#type),
                ("heading", code.heading),
            ] {
                let found = contrast(ink.color.unwrap(), ink.on.unwrap_or(background));
                assert!(found >= least, "{what} of {name}: {found:.2}");
            }
            for lines in [palette.added, palette.removed] {
                let on = lines.on.unwrap_or(background);
                let found = contrast(palette.text.color.unwrap(), on);
                assert!(
                    found >= least,
                    "text on a changed line of {name}: {found:.2}"
                );
            }
        }
    }

    #[test]
    fn a_mistake_says_where_it_is() {
        let check = |text: &str, expected: &[&str]| {
            let told = Palette::read(text, "my.toml".into())
                .unwrap_err()
                .to_string();
            for part in expected.iter().chain(&["my.toml"]) {
                assert!(told.contains(part), "{part} is not in {told}");
            }
        };
        check("text = \"#12\"", &["line 1", "`#12` is no colour"]);
        check("a = 1\n", &["line 1", "unknown field `a`"]);
        check(
            "\n[code]\nkeywrod = \"red\"",
            &["line 3", "keywrod", "keyword"],
        );
        check("text = 4", &["line 1"]);
        check("text = \"red on\"", &["`red on`"]);
        let palette = Palette::read("accent = \"light-red on 17\"", "a".into()).unwrap();
        let ink = Ink {
            color: Some(Color::LightRed),
            on: Some(Color::Indexed(17)),
        };
        assert_eq!(palette.accent, ink);
    }

    #[test]
    fn what_is_neither_built_in_nor_a_file_is_told_with_what_is() {
        let told = Palette::open(OsStr::new("no/such"))
            .unwrap_err()
            .to_string();
        assert!(
            told.contains("no/such") && told.contains("high-contrast"),
            "{told}"
        );
    }
}
