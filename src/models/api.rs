//! Which endpoints are known, and which of their requests are a model's turn.

/// An endpoint that an agent calls: a company's, or whoever speaks as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Api {
    /// Anthropic's.
    Anthropic,
    /// OpenAI's.
    OpenAi,
}

impl Api {
    /// Every endpoint.
    pub const ALL: [Self; 2] = [Self::Anthropic, Self::OpenAi];

    /// The fixed word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }

    /// The endpoint of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.as_str() == word)
    }

    /// Where it is reached if nobody says otherwise.
    pub const fn official(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com/v1",
        }
    }

    /// The variable of the environment that tells an agent where it is reached.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::OpenAi => "OPENAI_BASE_URL",
        }
    }

    /// What stands before its paths at the server that agents are led to.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Self::Anthropic => "/anthropic",
            Self::OpenAi => "/openai/v1",
        }
    }

    /// The endpoint that a path of that server means, and what is left of the path.
    pub(super) fn of_path(path: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|api| {
            let rest = path.strip_prefix(api.prefix())?;
            (rest.is_empty() || rest.starts_with(['/', '?'])).then_some((api, rest))
        })
    }
}

/// A way to ask for a model's turn, and to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Chat Completions.
    ChatCompletions,
    /// OpenAI's Responses.
    Responses,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 3] = [Self::Messages, Self::ChatCompletions, Self::Responses];

    /// The dialect of a request; `None`: it is no model's turn.
    pub fn of(api: Api, method: &str, path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        match (api, method, path) {
            (Api::Anthropic, "POST", "/v1/messages") => Some(Self::Messages),
            (Api::OpenAi, "POST", "/chat/completions") => Some(Self::ChatCompletions),
            (Api::OpenAi, "POST", "/responses") => Some(Self::Responses),
            _ => None,
        }
    }

    /// The endpoints that speak it.
    pub const fn api(self) -> Api {
        match self {
            Self::Messages => Api::Anthropic,
            Self::ChatCompletions | Self::Responses => Api::OpenAi,
        }
    }

    /// The fixed word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::ChatCompletions => "chat",
            Self::Responses => "responses",
        }
    }

    /// The field of a request that holds the conversation.
    pub(super) const fn conversation(self) -> &'static str {
        match self {
            Self::Messages | Self::ChatCompletions => "messages",
            Self::Responses => "input",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_endpoints() {
        let check = |path, expected| assert_eq!(Api::of_path(path), expected, "{path}");
        check(
            "/anthropic/v1/messages?beta=true",
            Some((Api::Anthropic, "/v1/messages?beta=true")),
        );
        check("/openai/v1/responses", Some((Api::OpenAi, "/responses")));
        check("/openai/v1", Some((Api::OpenAi, "")));
        check("/openai/v10", None);
        check("/v1/messages", None);
    }

    #[test]
    fn turns_are_told_from_other_requests() {
        let check = |api, method, path, expected| {
            assert_eq!(Dialect::of(api, method, path), expected, "{path}");
        };
        let turn = Some(Dialect::Messages);
        check(Api::Anthropic, "POST", "/v1/messages?beta=true", turn);
        check(Api::Anthropic, "POST", "/v1/messages/count_tokens", None);
        check(Api::Anthropic, "GET", "/v1/messages", None);
        check(Api::OpenAi, "POST", "/v1/messages", None);
    }
}
