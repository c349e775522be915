//! Line endings: tools match text modulo CRLF and keep what the file has.
//!
//! The edit tools read a file with its CRLF turned into LF and its byte order mark taken
//! off, change the text, and put both back. Here the untouched bytes stay as they are, and
//! only the replaced text is given the file's endings.

/// The remark on content whose line endings were inferred, not recorded.
pub const LINE_ENDINGS_ASSUMED: &str = "line endings assumed";

/// Whether two contents are one text: equal but for CRLF against LF and a byte order mark.
pub fn is_same_text(a: &[u8], b: &[u8]) -> bool {
    a == b || folded(a).eq(folded(b))
}

fn folded(bytes: &[u8]) -> impl Iterator<Item = u8> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let next = bytes.iter().skip(1).map(Some).chain([None]);
    bytes
        .iter()
        .zip(next)
        .filter(|pair| *pair != (&b'\r', Some(&b'\n')))
        .map(|(byte, _)| *byte)
}

/// Whether most lines end with CRLF.
pub(super) fn is_crlf(bytes: &[u8]) -> bool {
    let newlines = memchr::memchr_iter(b'\n', bytes);
    let (mut all, mut crlf) = (0_usize, 0_usize);
    for at in newlines {
        all += 1;
        crlf += usize::from(at > 0 && bytes.get(at - 1) == Some(&b'\r'));
    }
    crlf * 2 > all
}

/// A text with every line ending turned into CRLF.
pub(super) fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// A text in which every CRLF is LF, and the way back to the offsets it had.
pub(super) struct Folded {
    /// The text.
    pub(super) text: Vec<u8>,
    /// Where a carriage return was dropped: the offset in `text` of the newline after it.
    dropped: Vec<usize>,
}

impl Folded {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut text = Vec::with_capacity(bytes.len());
        let mut dropped = Vec::new();
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
                dropped.push(text.len());
            } else {
                text.push(*byte);
            }
        }
        Self { text, dropped }
    }

    /// The offset in the bytes as they were; of a newline, that of its carriage return.
    pub(super) fn original(&self, offset: usize) -> usize {
        offset + self.dropped.partition_point(|newline| *newline < offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_find_their_way_back() {
        let bytes = b"\r\na\r\n\r\nb\rc\n";
        let folded = Folded::new(bytes);
        assert_eq!(folded.text, b"\na\n\nb\rc\n");
        let original: Vec<usize> = (0..=folded.text.len())
            .map(|at| folded.original(at))
            .collect();
        assert_eq!(original, [0, 2, 3, 5, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn a_text_is_the_same_whatever_ends_its_lines() {
        assert!(is_same_text(b"\xef\xbb\xbfa\r\nb\r\n", b"a\nb\n"));
        assert!(is_same_text(b"", b""));
        assert!(!is_same_text(b"a\rb\n", b"a\nb\n"));
        assert!(!is_same_text(b"a\n", b"a"));
    }
}
