//! The names of the head's fields, each as one number, so that a name is told in one step.

/// The name of a field: its bytes, the first one lowest, and quotes behind it up to eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

/// Eight bytes of this value.
pub(super) const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The high bit of the first byte of a word that is zero; higher bits may be set by chance.
pub(super) const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(eight(0x01)) & !word & eight(0x80)
}

impl Key {
    pub(super) const SEQ: Self = Self::of(b"seq");
    pub(super) const T: Self = Self::of(b"t");
    pub(super) const KIND: Self = Self::of(b"kind");
    pub(super) const STEP: Self = Self::of(b"step");
    pub(super) const BRANCH: Self = Self::of(b"branch");
    pub(super) const AGENT: Self = Self::of(b"agent");
    pub(super) const CALL: Self = Self::of(b"call");
    pub(super) const TXN: Self = Self::of(b"txn");
    pub(super) const NAME: Self = Self::of(b"name");
    pub(super) const PATH: Self = Self::of(b"path");
    pub(super) const PATH_RAW: Self = Self::of(b"path_raw");
    pub(super) const FROM: Self = Self::of(b"from");
    pub(super) const FROM_RAW: Self = Self::of(b"from_raw");
    pub(super) const MODE: Self = Self::of(b"mode");
    pub(super) const BLOB: Self = Self::of(b"blob");
    pub(super) const LEN: Self = Self::of(b"len");
    pub(super) const ENC: Self = Self::of(b"enc");
    pub(super) const BASE: Self = Self::of(b"base");
    pub(super) const WAS: Self = Self::of(b"was");
    pub(super) const BY: Self = Self::of(b"by");
    pub(super) const REDACTED: Self = Self::of(b"redacted");
    pub(super) const OUTCOME: Self = Self::of(b"outcome");
    pub(super) const EXIT: Self = Self::of(b"exit");
    pub(super) const DUR: Self = Self::of(b"dur");
    pub(super) const AT: Self = Self::of(b"at");
    pub(super) const TO: Self = Self::of(b"to");
    pub(super) const REASON: Self = Self::of(b"reason");
    pub(super) const TITLE: Self = Self::of(b"title");
    pub(super) const VIA: Self = Self::of(b"via");
    pub(super) const PREV: Self = Self::of(b"prev");

    /// The key of a name. Names that no field of the head can have share one.
    pub(super) const fn of(name: &[u8]) -> Self {
        const NONE: Key = Key(eight(b'"'));
        let mut word = [b'"'; 8];
        let mut at = 0;
        if name.len() > word.len() {
            return NONE;
        }
        while at < name.len() {
            if name[at] == b'"' {
                return NONE;
            }
            word[at] = name[at];
            at += 1;
        }
        Self(u64::from_le_bytes(word))
    }

    /// The key that a line goes on with, of at most eight bytes, and what stands behind it,
    /// its closing quote first. The opening quote was passed.
    #[inline]
    pub(super) fn split_from(line: &[u8]) -> Option<(Self, &[u8])> {
        let word = u64::from_le_bytes(*line.first_chunk()?);
        let quotes = zero_bytes(word ^ eight(b'"'));
        // All bits below the first quote; where there is none, all bits.
        let mask = ((quotes & quotes.wrapping_neg()) >> 7).wrapping_sub(1);
        let key = Self((word & mask) | (eight(b'"') & !mask));
        let (_, rest) = line.split_at_checked(quotes.trailing_zeros() as usize / 8)?;
        Some((key, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_alone_and_in_a_line() {
        for name in ["", "t", "prev", "outcome", "path_raw"] {
            let line = format!("{name}\":1,\"more\":2}}");
            let (key, rest) = Key::split_from(line.as_bytes()).unwrap();
            assert!(key == Key::of(name.as_bytes()), "{name}");
            assert!(rest.starts_with(b"\":1"), "{name}");
        }
        for name in ["t\0", "t\"", "path_raws"] {
            assert!(Key::of(name.as_bytes()) != Key::T);
            assert!(Key::of(name.as_bytes()) != Key::PATH_RAW);
        }
    }
}
