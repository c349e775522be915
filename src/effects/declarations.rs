//! What the user declared of effects, models and secrets: `jukebox.toml`, read strictly.
//!
//! Nothing is looked for here: which file it is, the caller says. A file that lies in the
//! workspace is refused, since what runs there could write it. A mistake anywhere makes all of
//! it unusable, and is told with its line and column.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::models::{self, DeclaredModel};
use super::template::{Role, Template};
use crate::model::{BlobHash, EffectClass};
use crate::redact::{Redactor, Rules};

/// A configuration is no larger.
const LARGEST: u64 = 1 << 20;
/// Seconds that a command may take, where nothing is said.
const TIMEOUT: u64 = 60;
/// Seconds that may be said.
const TIMEOUTS: std::ops::RangeInclusive<u64> = 1..=86_400;

/// The effects that the user declared.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    effects: BTreeMap<String, Declaration>,
    models: BTreeMap<String, DeclaredModel>,
    /// Where relative programs lie, and commands run.
    directory: PathBuf,
    file: PathBuf,
    hash: Option<BlobHash>,
    secrets: Rules,
}

/// An effect that the user declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declaration {
    pub(super) class: EffectClass,
    pub(super) command: Template,
    pub(super) compensate: Option<Template>,
    pub(super) timeout: Duration,
    pub(super) network: Network,
    /// Codes that its command ends with where it does not know whether it is done.
    pub(super) in_doubt: Vec<i32>,
}

/// Whether a command reaches other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    Any,
    None,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is far too large.
    #[error("{} is too large to be a configuration", .0.display())]
    TooLarge(PathBuf),
    /// It lies where the agent can write.
    #[error(
        "{} lies in the workspace, where the agent could write it; a configuration lies elsewhere",
        .0.display()
    )]
    InWorkspace(PathBuf),
    /// Something in it is no configuration.
    #[error("{}, line {line}, column {column}: {message}", path.display())]
    Mistake {
        /// The file.
        path: PathBuf,
        /// Where, from 1.
        line: usize,
        /// Where in the line, in characters, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    #[serde(default)]
    effects: BTreeMap<Spanned<String>, TypedEffect>,
    #[serde(default)]
    models: BTreeMap<Spanned<String>, models::Typed>,
    #[serde(default)]
    redact: TypedSecrets,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedSecrets {
    #[serde(default)]
    values: Vec<Spanned<String>>,
    #[serde(default)]
    variables: Vec<String>,
    #[serde(default)]
    patterns: Vec<Spanned<String>>,
    #[serde(default)]
    allow: Vec<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedEffect {
    class: Option<Spanned<String>>,
    command: Spanned<Vec<String>>,
    compensate: Option<Spanned<Vec<String>>>,
    timeout: Option<Spanned<u64>>,
    network: Option<Spanned<bool>>,
    #[serde(default)]
    in_doubt: Vec<Spanned<i32>>,
}

/// What is wrong, and where.
pub(super) type Mistake = (Range<usize>, String);

impl Declarations {
    /// Reads a configuration.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let unreadable = |source| ConfigError::Read {
            path: path.to_owned(),
            source,
        };
        // A device may give bytes for ever: no more are read than a configuration can have.
        let mut text = String::new();
        let file = File::open(path).map_err(unreadable)?;
        let mut file = file.take(LARGEST + 1);
        file.read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > LARGEST {
            return Err(ConfigError::TooLarge(path.to_owned()));
        }
        Self::parse(&text, &std::path::absolute(path).map_err(unreadable)?)
    }

    /// Reads the user's configuration, which need not be there.
    pub fn read_if_there(path: &Path) -> Result<Self, ConfigError> {
        match Self::read(path) {
            Err(ConfigError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(Self {
                    file: path.to_owned(),
                    ..Self::default()
                })
            }
            read => read,
        }
    }

    /// Refuses a configuration in a workspace, by whatever name either goes.
    pub fn keep_out_of(self, workspace: &Path) -> Result<Self, ConfigError> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if self.hash.is_some() && real(&self.file).starts_with(real(workspace)) {
            return Err(ConfigError::InWorkspace(self.file));
        }
        Ok(self)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let mistake = |(span, message): Mistake| {
            let (line, column) = place(text, span.start);
            ConfigError::Mistake {
                path: path.to_owned(),
                line,
                column,
                message,
            }
        };
        let typed: Typed = toml::from_str(text).map_err(|error| {
            let said = error.message().lines().next().unwrap_or_default();
            mistake((error.span().unwrap_or(0..0), said.to_owned()))
        })?;
        let mut effects = BTreeMap::new();
        for (name, typed) in typed.effects {
            let declaration = declaration(&name, typed).map_err(mistake)?;
            effects.insert(name.into_inner(), declaration);
        }
        let mut models = BTreeMap::new();
        for (name, typed) in typed.models {
            let declared = models::declared(&name, typed).map_err(mistake)?;
            models.insert(name.into_inner(), declared);
        }
        Ok(Self {
            effects,
            models,
            secrets: secrets(typed.redact).map_err(mistake)?,
            directory: path.parent().unwrap_or(path).to_owned(),
            file: path.to_owned(),
            hash: Some(BlobHash::of(text.as_bytes())),
        })
    }

    /// The hash of the file; `None` if there is none.
    pub fn hash(&self) -> Option<BlobHash> {
        self.hash
    }

    /// The file that was read, or would have been.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What the user calls a secret.
    pub const fn secrets(&self) -> &Rules {
        &self.secrets
    }

    /// What is declared: name and class.
    pub fn classes(&self) -> impl Iterator<Item = (&str, EffectClass)> {
        let effects = self.effects.iter();
        effects.map(|(name, declaration)| (name.as_str(), declaration.class))
    }

    /// The model of this name.
    pub fn model(&self, name: &str) -> Option<&DeclaredModel> {
        self.models.get(name)
    }

    /// The names of the models that are declared.
    pub fn model_names(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Declaration> {
        self.effects.get(name)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}

fn secrets(typed: TypedSecrets) -> Result<Rules, Mistake> {
    const SHORTEST: usize = 4;
    let is_short = |value: &&Spanned<String>| value.get_ref().len() < SHORTEST;
    if let Some(value) = typed.values.iter().find(is_short) {
        let message = "a secret of fewer than 4 bytes would be found everywhere";
        return Err((value.span(), message.to_owned()));
    }
    for pattern in typed.patterns.iter().chain(&typed.allow) {
        let rules = Rules {
            patterns: vec![pattern.get_ref().clone()],
            ..Rules::default()
        };
        Redactor::new(&rules).map_err(|error| (pattern.span(), error.to_string()))?;
    }
    let inner = |all: Vec<Spanned<String>>| all.into_iter().map(Spanned::into_inner);
    Ok(Rules {
        known: inner(typed.values).map(String::into_bytes).collect(),
        patterns: inner(typed.patterns).collect(),
        allow: inner(typed.allow).collect(),
        variables: typed.variables,
    })
}

/// Whether a name is one that a command line can hold.
pub(super) fn named_rightly(name: &Spanned<String>) -> Result<(), Mistake> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.get_ref().is_empty() || !name.get_ref().bytes().all(is_plain) {
        let message = "a name has letters, digits, `-`, `_` and `.` only";
        return Err((name.span(), message.to_owned()));
    }
    Ok(())
}

/// How long something may take, as it is declared; so many seconds where nothing is said.
pub(super) fn timeout(declared: Option<&Spanned<u64>>, default: u64) -> Result<Duration, Mistake> {
    let seconds = match declared {
        None => default,
        Some(seconds) if TIMEOUTS.contains(seconds.get_ref()) => *seconds.get_ref(),
        Some(seconds) => {
            let (least, most) = TIMEOUTS.into_inner();
            let message = format!("a timeout is {least} to {most} seconds");
            return Err((seconds.span(), message));
        }
    };
    Ok(Duration::from_secs(seconds))
}

fn declaration(name: &Spanned<String>, typed: TypedEffect) -> Result<Declaration, Mistake> {
    named_rightly(name)?;
    let class = match &typed.class {
        None => EffectClass::default(),
        Some(word) => EffectClass::parse(word.get_ref()).ok_or_else(|| {
            let classes = EffectClass::ALL.map(EffectClass::as_str).join(", ");
            let message = format!("there is no class `{}`; classes: {classes}", word.get_ref());
            (word.span(), message)
        })?,
    };
    let template = |words: &Spanned<Vec<String>>, role| {
        Template::parse(words.get_ref(), role).map_err(|message| (words.span(), message))
    };
    let compensate = match (&typed.compensate, class) {
        (Some(words), EffectClass::Compensable) => Some(template(words, Role::Compensation)?),
        (None, EffectClass::Compensable) => {
            let message = "a compensable effect says in `compensate` how it is taken back";
            return Err((name.span(), message.to_owned()));
        }
        (Some(words), _) => {
            let message = "only an effect of class `compensable` has `compensate`";
            return Err((words.span(), message.to_owned()));
        }
        (None, _) => None,
    };
    let network = match (&typed.network, class) {
        (Some(network), EffectClass::Pure) if *network.get_ref() => {
            let message = "a pure effect has no network; one that only looks is `read`";
            return Err((network.span(), message.to_owned()));
        }
        (None, EffectClass::Pure) => Network::None,
        (Some(network), _) if !network.get_ref() => Network::None,
        _ => Network::Any,
    };
    let is_code = |code: &&Spanned<i32>| (1..=255).contains(code.get_ref());
    if let Some(code) = typed.in_doubt.iter().find(|code| !is_code(code)) {
        let message = "a code of a command that is in doubt is 1 to 255";
        return Err((code.span(), message.to_owned()));
    }
    Ok(Declaration {
        class,
        command: template(&typed.command, Role::Command)?,
        compensate,
        timeout: timeout(typed.timeout.as_ref(), TIMEOUT)?,
        network,
        in_doubt: typed
            .in_doubt
            .into_iter()
            .map(Spanned::into_inner)
            .collect(),
    })
}

/// Line and column of a byte, from 1.
fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(start..).unwrap_or_default().chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match Declarations::parse(text, Path::new("/c/jukebox.toml")) {
            Ok(declarations) => {
                let classes = declarations.classes();
                let classes: Vec<String> = classes
                    .map(|(name, class)| format!("{name}={class}"))
                    .collect();
                classes.join(" ")
            }
            Err(error) => error.to_string(),
        };
        let found = found.strip_prefix("/c/jukebox.toml, ").unwrap_or(&found);
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_declared_is_irreversible() {
        check("", "");
        check("[effects.a]\ncommand=['x']", "a=irreversible");
        check(
            "[effects.a]\ncommand=['x']\nclass='read'\n[effects.b]\ncommand=['x']\nclass='compensable'\ncompensate=['y']",
            "a=read b=compensable",
        );
    }

    #[test]
    fn mistakes_have_a_line_and_a_column() {
        check(
            "\neffect = 1",
            "line 2, column 1: unknown field `effect`, expected one of `effects`, `models`, `redact`",
        );
        check(
            "[effects.a]\ncommand=['x']\n  clas = 'read'",
            "line 3, column 3: unknown field `clas`, expected one of `class`, `command`, \
             `compensate`, `timeout`, `network`, `in_doubt`",
        );
        check(
            "[effects.a]\nclass = 'harmless'\ncommand=['x']",
            "line 2, column 9: there is no class `harmless`; classes: pure, read, idempotent, \
             compensable, irreversible",
        );
        check(
            "# ä\n[effects.ab]\nclass='compensable'\ncommand=['x']",
            "line 2, column 10: a compensable effect says in `compensate` how it is taken back",
        );
        check(
            "[effects.a]\ncommand=['x']\ncompensate=['y']",
            "line 3, column 12: only an effect of class `compensable` has `compensate`",
        );
        check(
            "[effects.a]\ncommand=['x', '{ky']\n[effects.a.b]",
            "line 3, column 12: unknown field `b`, expected one of `class`, `command`, \
             `compensate`, `timeout`, `network`, `in_doubt`",
        );
        check(
            "[effects.a]\ncommand=['ü', '{output}']",
            "line 2, column 9: `{output}` is known to `compensate` only",
        );
        check(
            "[effects.a]\ncommand=['x']\ntimeout=0",
            "line 3, column 9: a timeout is 1 to 86400 seconds",
        );
        check(
            "[effects.a]\ncommand=['x']\nclass='pure'\nnetwork=true",
            "line 4, column 9: a pure effect has no network; one that only looks is `read`",
        );
        check(
            "[effects.'a b']\ncommand=['x']",
            "line 1, column 10: a name has letters, digits, `-`, `_` and `.` only",
        );
        check(
            "[effects.a]\ncommand=['x']\nin_doubt=[28, 0]",
            "line 3, column 15: a code of a command that is in doubt is 1 to 255",
        );
        check(
            "[models.a]\napi='smoke'\nurl='http://x'\nmodel='m'",
            "line 2, column 5: there is no api `smoke`; apis: messages, chat, responses",
        );
        check(
            "[models.a]\napi='chat'\nurl='x'\nmodel='m'",
            "line 3, column 5: an address begins with https:// or http://",
        );
        check(
            "[models.a]\napi='chat'\nurl='http://x'\nmodel='m'\nkey='s'",
            "line 5, column 1: unknown field `key`, expected one of `api`, `url`, `model`, \
             `key_env`, `headers`, `timeout`, `max_tokens`, `stream`",
        );
        check("[effects.a]", "line 1, column 1: missing field `command`");
        check("a = [", "line 1, column 6: unclosed array, expected `]`");
    }

    #[test]
    fn the_example_of_the_page_is_one() {
        let page = include_str!("JUKEBOX_TOML.md");
        let examples = page.split("```toml\n").skip(1);
        let examples: String = examples
            .map(|after| after.split_once("```").unwrap().0)
            .collect();
        let read = Declarations::parse(&examples, Path::new("/c/jukebox.toml")).unwrap();
        assert_eq!(read.model_names().collect::<Vec<_>>(), ["local", "opus"]);
        check(
            &examples,
            "charge=compensable issues=read label=idempotent mail=irreversible today=pure",
        );
    }

    #[test]
    fn a_configuration_in_the_workspace_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().join("w");
        std::fs::create_dir(&workspace).unwrap();
        let inside = workspace.join("jukebox.toml");
        std::fs::write(&inside, "").unwrap();
        let link = directory.path().join("jukebox.toml");
        std::os::unix::fs::symlink(&inside, &link).unwrap();
        for path in [&inside, &link, &workspace.join("../w/jukebox.toml")] {
            let refused = Declarations::read(path).unwrap().keep_out_of(&workspace);
            assert!(
                matches!(refused, Err(ConfigError::InWorkspace(_))),
                "{path:?}"
            );
        }
        let outside = directory.path().join("other.toml");
        std::fs::write(&outside, "").unwrap();
        let read = Declarations::read(&outside).unwrap();
        assert!(read.keep_out_of(&workspace).is_ok());
    }
}
