//! Names by content: BLAKE3 hashes of blobs and of lines.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text is not the hash it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a hash of the form {0}")]
pub struct ParseHashError(&'static str);

/// The name of a blob: the BLAKE3 hash of its bytes, written `b3:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobHash([u8; 32]);

impl BlobHash {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The name of the bytes with this digest, for who hashes what does not fit in memory.
    pub const fn from_digest(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// The hash as it is.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first eight bytes as a number: enough to find a blob, not to prove it.
    pub fn prefix(&self) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(self.0.split_at(8).0);
        u64::from_be_bytes(first)
    }

    /// The same of a hash as it is written, of which only these digits are read.
    pub(crate) fn prefix_in(text: &[u8]) -> Option<u64> {
        let digits: &[u8; 16] = text.strip_prefix(b"b3:")?.first_chunk()?;
        digits.iter().try_fold(0, |prefix, digit| {
            Some((prefix << 4) | u64::from(hex_digit(*digit)?))
        })
    }

    /// The first ten hex digits, for people.
    pub fn short(&self) -> String {
        let mut text = String::new();
        push_hex(&mut text, self.0.split_at(5).0);
        text
    }
}

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(67);
        text.push_str("b3:");
        push_hex(&mut text, &self.0);
        f.write_str(&text)
    }
}

impl fmt::Debug for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for BlobHash {
    type Error = ParseHashError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<BlobHash> for String {
    fn from(hash: BlobHash) -> Self {
        hash.to_string()
    }
}

impl FromStr for BlobHash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: ParseHashError = ParseHashError("b3: and 64 hex digits");
        let mut hash = [0; 32];
        read_hex(text.strip_prefix("b3:").ok_or(FORM)?.as_bytes(), &mut hash).ok_or(FORM)?;
        Ok(Self(hash))
    }
}

/// The hash of a line's bytes without its newline: 128 bits of BLAKE3, 32 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LineHash([u8; 16]);

impl LineHash {
    /// The hash of this line (without its newline).
    pub fn of(line: &[u8]) -> Self {
        let mut hash = [0; 16];
        hash.copy_from_slice(blake3::hash(line).as_bytes().split_at(16).0);
        Self(hash)
    }
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(32);
        push_hex(&mut text, &self.0);
        f.write_str(&text)
    }
}

impl fmt::Debug for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for LineHash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut hash = [0; 16];
        read_hex(text.as_bytes(), &mut hash).ok_or(ParseHashError("32 hex digits"))?;
        Ok(Self(hash))
    }
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

fn read_hex(digits: &[u8], into: &mut [u8]) -> Option<()> {
    if digits.len() != into.len() * 2 {
        return None;
    }
    for (byte, pair) in into.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = (hex_digit(pair[0])? << 4) | hex_digit(pair[1])?;
    }
    Some(())
}

const fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_back_as_it_was_written() {
        let hash = BlobHash::of(b"hello");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        let line = LineHash::of(b"{}");
        assert_eq!(line.to_string().parse(), Ok(line));
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "b3:",
            "b3:zz",
            "sha256:00",
            &"0".repeat(64),
            &format!("b3:{}", "A".repeat(64)),
        ] {
            assert!(text.parse::<BlobHash>().is_err(), "{text}");
        }
        assert!("00".parse::<LineHash>().is_err());
    }
}
