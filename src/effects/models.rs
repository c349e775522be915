//! Models that the user declared: where each is, what it is asked for, and which variable holds
//! its key. The key itself stands in no configuration.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::declarations::{Mistake, named_rightly, timeout};

/// Seconds that an answer may take, where nothing is said.
const TIMEOUT: u64 = 600;

/// A way to ask for a model's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelApi {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
}

impl ModelApi {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Messages, Self::Chat, Self::Responses];

    /// The fixed word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Chat => "chat",
            Self::Responses => "responses",
        }
    }
}

/// A model that the user declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredModel {
    /// How it is asked.
    pub api: ModelApi,
    /// Where the endpoint is.
    pub url: String,
    /// What it calls the model.
    pub model: String,
    /// The variable of the environment that holds the key; `None`: it wants none.
    pub key_env: Option<String>,
    /// Headers that are sent beside those that it wants.
    pub headers: Vec<(String, String)>,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Tokens of an answer at most; `None`: as many as the recorded request allows.
    pub max_tokens: Option<u64>,
    /// Whether answers come as streams.
    pub is_stream: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Typed {
    api: Spanned<String>,
    url: Spanned<String>,
    model: Spanned<String>,
    key_env: Option<Spanned<String>>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    timeout: Option<Spanned<u64>>,
    max_tokens: Option<Spanned<u64>>,
    #[serde(default)]
    stream: bool,
}

/// What is declared under a name.
pub(super) fn declared(name: &Spanned<String>, typed: Typed) -> Result<DeclaredModel, Mistake> {
    named_rightly(name)?;
    let word = typed.api.get_ref();
    let api = ModelApi::ALL.into_iter().find(|api| api.as_str() == word);
    let api = api.ok_or_else(|| {
        let known = ModelApi::ALL.map(ModelApi::as_str).join(", ");
        let message = format!("there is no api `{word}`; apis: {known}");
        (typed.api.span(), message)
    })?;
    let is_address = ["https://", "http://"]
        .iter()
        .any(|scheme| typed.url.get_ref().starts_with(scheme));
    if !is_address {
        let message = "an address begins with https:// or http://";
        return Err((typed.url.span(), message.to_owned()));
    }
    for given in std::iter::once(&typed.model).chain(&typed.key_env) {
        if given.get_ref().is_empty() {
            return Err((given.span(), "it is empty".to_owned()));
        }
    }
    let timeout = timeout(typed.timeout.as_ref(), TIMEOUT)?;
    if let Some(none) = typed
        .max_tokens
        .as_ref()
        .filter(|most| *most.get_ref() == 0)
    {
        let message = "an answer has a token at least";
        return Err((none.span(), message.to_owned()));
    }
    Ok(DeclaredModel {
        api,
        url: typed.url.into_inner(),
        model: typed.model.into_inner(),
        key_env: typed.key_env.map(Spanned::into_inner),
        headers: typed.headers.into_iter().collect(),
        timeout,
        max_tokens: typed.max_tokens.map(Spanned::into_inner),
        is_stream: typed.stream,
    })
}
