//! Bodies as they were before they were compressed, piece by piece.

use std::io::{self, Write as _};

use flate2::write::{MultiGzDecoder, ZlibDecoder};

/// So much of a body is taken out of its compression at most, in bytes.
const MOST: usize = 256 << 20;
/// So much of it is taken in at once: what a few bytes become is looked at before the next.
const PIECE: usize = 4 << 10;

/// What codings are understood, as a request may ask for them.
pub(super) const UNDERSTOOD: [&str; 4] = ["gzip", "deflate", "zstd", "identity"];

/// Takes a body out of its compression.
pub(super) struct Decoder {
    coding: Coding,
    taken: usize,
}

enum Coding {
    Plain,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Deflate(Box<ZlibDecoder<Vec<u8>>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Vec<u8>>>),
    Unknown,
}

impl Decoder {
    /// For a body with this `content-encoding`; several are not understood.
    pub(super) fn new(coding: &str) -> Self {
        let coding = match coding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Coding::Plain,
            "gzip" | "x-gzip" => Coding::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            "deflate" => Coding::Deflate(Box::new(ZlibDecoder::new(Vec::new()))),
            "zstd" => match zstd::stream::write::Decoder::new(Vec::new()) {
                Ok(decoder) => Coding::Zstd(Box::new(decoder)),
                Err(_) => Coding::Unknown,
            },
            _ => Coding::Unknown,
        };
        Self { coding, taken: 0 }
    }

    /// What the next bytes of the body add to it.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut decoded = Vec::new();
        for piece in bytes.chunks(PIECE) {
            let added = self.coding.push(piece)?;
            self.taken = self.taken.saturating_add(added.len());
            if self.taken > MOST {
                return Err(io::Error::other("it is too large"));
            }
            decoded.extend(added);
        }
        Ok(decoded)
    }
}

impl Coding {
    fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        Ok(match self {
            Self::Plain => bytes.to_vec(),
            Self::Gzip(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                std::mem::take(decoder.get_mut())
            }
            Self::Deflate(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                std::mem::take(decoder.get_mut())
            }
            Self::Zstd(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                std::mem::take(decoder.get_mut())
            }
            Self::Unknown => {
                let why = "its content-encoding is not understood";
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
        })
    }
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    use super::*;

    const BODY: &[u8] = b"data: one\n\ndata: two\n\n";

    #[track_caller]
    fn check(coding: &str, compressed: &[u8]) {
        for size in [1, 7, compressed.len().max(1)] {
            let mut decoder = Decoder::new(coding);
            let mut decoded = Vec::new();
            for piece in compressed.chunks(size) {
                decoded.extend(decoder.push(piece).unwrap());
            }
            assert_eq!(decoded, BODY, "{coding} in pieces of {size}");
        }
    }

    #[test]
    fn every_coding_in_pieces_of_any_size() {
        check("", BODY);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(BODY).unwrap();
        check("GZIP", &gzip.finish().unwrap());
        let mut deflate = ZlibEncoder::new(Vec::new(), Compression::default());
        deflate.write_all(BODY).unwrap();
        check("deflate", &deflate.finish().unwrap());
        check("zstd", &zstd::bulk::compress(BODY, 3).unwrap());
    }

    #[test]
    fn an_empty_body_is_one_in_any_coding() {
        for coding in ["", "gzip", "deflate", "zstd"] {
            assert_eq!(Decoder::new(coding).push(b"").unwrap(), b"");
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        assert!(Decoder::new("br").push(b"x").is_err());
        assert!(Decoder::new("gzip").push(b"no gzip at all").is_err());
    }
}
