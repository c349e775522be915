//! The large part of a line: bytes as they travel, not yet decoded.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use super::fields::Fields;
use super::{Enc, Line};
use crate::model::BlobHash;

/// A content as it travels, not yet decoded.
#[derive(Debug, PartialEq)]
pub enum BlobParts {
    /// The bytes themselves.
    Whole(Vec<u8>),
    /// One zstd frame.
    Zstd(Vec<u8>),
    /// A change of another blob.
    Splice {
        /// The blob that is changed.
        base: BlobHash,
        /// Where, in bytes.
        at: u64,
        /// How many bytes are taken out.
        del: u64,
        /// What is put in.
        ins: String,
    },
}

/// The content that travels in a line; `None` if none does, or it cannot be read.
pub fn decode_blob(line: &Line<'_>) -> Option<BlobParts> {
    let mut fields = Fields::new(line);
    match line.head.enc {
        Enc::Text | Enc::Elsewhere => {
            let text: String = fields.take("text")?;
            Some(BlobParts::Whole(text.into_bytes()))
        }
        Enc::Zstd => {
            let data: String = fields.take("data")?;
            BASE64.decode(data).ok().map(BlobParts::Zstd)
        }
        Enc::Splice => Some(BlobParts::Splice {
            base: line.head.base_hash()?,
            at: fields.take("at_byte")?,
            del: fields.take("del")?,
            ins: fields.take("ins")?,
        }),
        Enc::None | Enc::Lines | Enc::Unknown => None,
    }
}

/// The directory blobs that travel in a snapshot's line, by hash.
pub fn snapshot_directories(line: &Line<'_>) -> Vec<(BlobHash, Arc<[u8]>)> {
    directories(&mut Fields::new(line))
}

pub(super) fn directories(fields: &mut Fields<'_>) -> Vec<(BlobHash, Arc<[u8]>)> {
    let dirs: Map<String, Value> = fields.take("dirs").unwrap_or_default();
    dirs.into_iter()
        .filter_map(|(hash, text)| Some((hash.parse().ok()?, text.as_str()?.as_bytes().into())))
        .collect()
}

/// The bytes of a foreign record; none where they cannot be read.
pub(super) fn raw_bytes(enc: Enc, len: Option<u64>, fields: &mut Fields<'_>) -> Arc<[u8]> {
    let bytes = match enc {
        Enc::Zstd => fields.take::<String>("data").and_then(|data| {
            let frame = BASE64.decode(data).ok()?;
            crate::tape::blobs::decompress(&frame, len?).ok()
        }),
        _ => fields.take::<String>("text").map(String::into_bytes),
    };
    bytes.unwrap_or_default().into()
}
