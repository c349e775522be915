//! One exchange over HTTP, as frames: what was asked, what was answered, how it ended.

use super::BlobHash;

/// A frame of an exchange with a model's endpoint. Headers that hold secrets are in none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpFrame {
    /// What was asked.
    Request {
        /// The endpoint, by its word: `anthropic`, `openai`.
        api: String,
        /// The method.
        method: String,
        /// The path below the endpoint's own address, with its query.
        path: String,
        /// The headers, in order.
        headers: Vec<(String, String)>,
        /// The body, as it was before it was compressed; `None`: it was empty.
        body: Option<BlobHash>,
    },
    /// An answer begins.
    Answer {
        /// The status.
        status: u16,
        /// The headers, in order.
        headers: Vec<(String, String)>,
    },
    /// Bytes of the answer's body, as they came.
    Chunk(Vec<u8>),
    /// Nothing more comes.
    End {
        /// Why the body is not whole; `None`: it is.
        cut: Option<String>,
    },
}
