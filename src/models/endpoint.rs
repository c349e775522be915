//! A model that the user configured: where it is, how it is asked, and what proves who asks.

use std::fmt;
use std::time::Duration;

use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};

use super::api::{Api, Dialect};
use super::upstream::{AddressError, Upstream};
use crate::effects::{DeclaredModel, ModelApi};

/// Headers of a recorded request that say how it is to be understood. No other goes out again:
/// they speak of the program that asked then.
const OF_THE_REQUEST: [&str; 3] = ["anthropic-version", "anthropic-beta", "openai-beta"];
/// The version of Messages that is spoken here.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// A model that can be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    name: String,
    pub(super) upstream: Upstream,
    pub(super) dialect: Dialect,
    pub(super) model: String,
    key: Option<Key>,
    headers: HeaderMap,
    pub(super) timeout: Duration,
    pub(super) max_tokens: Option<u64>,
    pub(super) is_stream: bool,
}

/// A key, which nothing prints.
#[derive(Clone, PartialEq, Eq)]
struct Key(String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// A model is not configured in a way that it can be asked.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// Its address is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A header is none.
    #[error("`{0}` is no header that can be sent")]
    Header(String),
    /// The key cannot stand in a header.
    #[error("the key has characters that no key has")]
    Key,
}

impl From<ModelApi> for Dialect {
    fn from(api: ModelApi) -> Self {
        match api {
            ModelApi::Messages => Self::Messages,
            ModelApi::Chat => Self::ChatCompletions,
            ModelApi::Responses => Self::Responses,
        }
    }
}

impl Endpoint {
    /// The model that was declared under this name, asked with this key.
    pub fn new(
        name: &str,
        declared: &DeclaredModel,
        key: Option<String>,
    ) -> Result<Self, EndpointError> {
        let dialect = Dialect::from(declared.api);
        let mut headers = HeaderMap::new();
        for (name, value) in &declared.headers {
            let header: Option<HeaderName> = name.parse().ok();
            let pair = header.zip(HeaderValue::from_str(value).ok());
            let (header, mut value) = pair.ok_or_else(|| EndpointError::Header(name.clone()))?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        let endpoint = Self {
            name: name.to_owned(),
            upstream: Upstream::new(dialect.api(), &declared.url)?,
            dialect,
            model: declared.model.clone(),
            key: key.map(Key),
            headers,
            timeout: declared.timeout,
            max_tokens: declared.max_tokens,
            is_stream: declared.is_stream,
        };
        endpoint.headers_for(&[])?;
        Ok(endpoint)
    }

    /// The name under which it was declared.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is asked.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Where it is.
    pub fn address(&self) -> String {
        self.upstream.address()
    }

    /// What it calls the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The key, for those who have to take it out of what is written.
    pub fn key(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.0.as_str())
    }

    /// The headers that a request gets which goes on from one with these.
    pub(super) fn headers_for(
        &self,
        recorded: &[(String, String)],
    ) -> Result<HeaderMap, EndpointError> {
        let mut headers = HeaderMap::new();
        let accepted = if self.is_stream {
            "text/event-stream"
        } else {
            "application/json"
        };
        let program = concat!("jukebox/", env!("CARGO_PKG_VERSION"));
        for (name, value) in [
            (CONTENT_TYPE, "application/json"),
            (ACCEPT, accepted),
            (USER_AGENT, program),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if self.dialect.api() == Api::Anthropic {
            let (name, value) = VERSION;
            headers.insert(name, HeaderValue::from_static(value));
        }
        for (name, value) in recorded {
            let wanted = OF_THE_REQUEST.iter().find(|wanted| *wanted == name);
            if let (Some(name), Ok(value)) = (wanted, HeaderValue::from_str(value)) {
                headers.insert(*name, value);
            }
        }
        if let Some(Key(key)) = &self.key {
            let (name, value) = match self.dialect.api() {
                Api::Anthropic => (HeaderName::from_static("x-api-key"), key.clone()),
                Api::OpenAi => (AUTHORIZATION, format!("Bearer {key}")),
            };
            let value = HeaderValue::from_str(&value).ok();
            let mut value = value.ok_or(EndpointError::Key)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        Ok(headers)
    }

    /// Of the headers of a request those that may stand on a tape: none that the user set.
    pub(super) fn told(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        let mut told = super::headers::told_of_request(headers);
        told.retain(|(name, _)| !self.headers.contains_key(name));
        told
    }
}
