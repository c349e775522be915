//! Whether a command that failed says that it failed for want of the network.

/// What programs say who cannot find or reach a host. In small letters.
const WORDS: [&str; 17] = [
    "could not resolve host",
    "couldn't resolve host",
    "could not resolve proxy",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "failure in name resolution",
    "name or service not known",
    "nodename nor servname provided",
    "no address associated with hostname",
    "failed to lookup address information",
    "getaddrinfo enotfound",
    "getaddrinfo eai_again",
    "eai_again",
    "network is unreachable",
    "enetunreach",
    "unable to resolve host address",
    "dial tcp: lookup",
];

/// Whether one of them stands in what it said.
pub(super) fn is_wanted(output: &str) -> bool {
    let output = output.to_lowercase();
    WORDS.iter().any(|words| output.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_it_in_their_own_words() {
        assert!(is_wanted("curl: (6) Could not resolve host: example.org"));
        assert!(is_wanted("npm ERR! code EAI_AGAIN"));
        assert!(is_wanted("ping: connect: Network is unreachable"));
        assert!(!is_wanted("tests/network.rs: assertion failed"));
    }
}
