//! Which headers are handed on, and which of them may stand on a tape.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::body::UNDERSTOOD;

/// Headers of one connection, or of its framing: each side has its own.
const OF_A_CONNECTION: [HeaderName; 10] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::EXPECT,
];

/// Words in the name of a request's header that say that its value is a secret.
const SECRET: [&str; 8] = [
    "auth",
    "cookie",
    "credential",
    "key",
    "password",
    "secret",
    "session",
    "token",
];

/// The headers of a request, as they go to the endpoint. Of codings it is asked only for those
/// that are understood here.
pub(super) fn of_request(headers: &HeaderMap) -> HeaderMap {
    let mut handed = without_connection(headers);
    for own in [header::HOST, header::CONTENT_LENGTH] {
        handed.remove(own);
    }
    let codings: Vec<_> = handed.get_all(header::ACCEPT_ENCODING).iter().collect();
    if !codings.is_empty() {
        let asked = codings.iter().filter_map(|codings| codings.to_str().ok());
        let asked = asked.flat_map(|codings| codings.split(',')).map(str::trim);
        let name = |coding: &str| {
            coding
                .split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let is_understood = |coding: &&str| UNDERSTOOD.contains(&&*name(coding));
        let kept: Vec<&str> = asked.filter(is_understood).collect();
        let kept = if kept.is_empty() {
            "identity".to_owned()
        } else {
            kept.join(", ")
        };
        if let Ok(kept) = HeaderValue::from_str(&kept) {
            handed.insert(header::ACCEPT_ENCODING, kept);
        }
    }
    handed
}

/// The headers of an answer, as they go to the agent.
pub(super) fn of_answer(headers: &HeaderMap) -> HeaderMap {
    without_connection(headers)
}

/// The headers of a request that may stand on a tape.
pub(super) fn told_of_request(headers: &HeaderMap) -> Vec<(String, String)> {
    let is_secret = |name: &str| SECRET.iter().any(|word| name.contains(word));
    // The host is that of our own server, and another one each time.
    told(headers, |name| !is_secret(name) && name != "host")
}

/// The headers of an answer that may stand on a tape.
pub(super) fn told_of_answer(headers: &HeaderMap) -> Vec<(String, String)> {
    told(headers, |name| {
        !name.contains("cookie") && name != "authorization"
    })
}

/// Headers from a tape, as they go to the agent. What is none is left out.
pub(super) fn from_tape(headers: &[(String, String)]) -> HeaderMap {
    let pair = |(name, value): &(String, String)| {
        let name: HeaderName = name.parse().ok()?;
        Some((name, HeaderValue::from_str(value).ok()?))
    };
    let mut map = HeaderMap::new();
    for (name, value) in headers.iter().filter_map(pair) {
        map.append(name, value);
    }
    without_connection(&map)
}

fn told(headers: &HeaderMap, may: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let told = without_connection(headers);
    let pairs = told.iter().filter(|(name, _)| may(name.as_str()));
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    pairs
        .map(|(name, value)| (name.as_str().to_owned(), text(value)))
        .collect()
}

fn without_connection(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    // A header may name others that are of the connection, too.
    let named = headers.get_all(header::CONNECTION).iter();
    let named = named.filter_map(|names| names.to_str().ok());
    for name in named.flat_map(|names| names.split(',')).map(str::trim) {
        kept.remove(name);
    }
    for name in OF_A_CONNECTION {
        kept.remove(name);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(
                name.parse::<HeaderName>().unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        map
    }

    #[test]
    fn secrets_are_handed_on_and_not_told() {
        let secrets = map(&[
            ("authorization", "Bearer x"),
            ("x-api-key", "x"),
            ("cookie", "x"),
            ("x-auth-token", "x"),
            ("content-type", "application/json"),
        ]);
        assert_eq!(told_of_request(&map(&[("host", "127.0.0.1:1")])), []);
        let told = told_of_request(&secrets);
        assert_eq!(
            told,
            [("content-type".to_owned(), "application/json".to_owned())]
        );
        assert_eq!(of_request(&secrets), secrets);
        let answer = map(&[("set-cookie", "x"), ("request-id", "r")]);
        assert_eq!(
            told_of_answer(&answer),
            [("request-id".to_owned(), "r".to_owned())]
        );
    }

    #[test]
    fn what_belongs_to_a_connection_stays_there() {
        let headers = map(&[
            ("connection", "keep-alive, x-hop"),
            ("x-hop", "1"),
            ("host", "127.0.0.1"),
            ("content-length", "2"),
            ("accept-encoding", "br, gzip;q=0.9, zstd"),
        ]);
        let handed = of_request(&headers);
        assert_eq!(handed, map(&[("accept-encoding", "gzip;q=0.9, zstd")]));
        let only_unknown = of_request(&map(&[("accept-encoding", "br")]));
        assert_eq!(only_unknown, map(&[("accept-encoding", "identity")]));
    }
}
