//! Frames of long connections to services, as plain data.

use serde_json::Value;

/// The protocol of frames that name none: each is a JSON document, or a text.
pub const JSON_FRAMES: &str = "json";

/// What one side of a stream said at once, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamFrame {
    /// The address: by which name the run knows the service.
    pub address: String,
    /// How frames are told from each other.
    pub protocol: String,
    /// Which connection to it this is, by a number or a word; `None`: there was one.
    pub connection: Option<Value>,
    /// Who said it.
    pub side: FrameSide,
    /// What.
    pub said: Vec<Frame>,
}

/// Who says a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSide {
    /// The run.
    Client,
    /// Whom it talks to.
    Service,
}

/// What one side says at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A text: as a rule a JSON document.
    Text(String),
    /// Bytes that are no text.
    Bytes(Vec<u8>),
    /// It says nothing more; why it was cut off, if it was.
    End(Option<String>),
}

impl Frame {
    /// The bytes of it.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
            Self::End(_) => &[],
        }
    }
}
