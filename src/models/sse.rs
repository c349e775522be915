//! A stream of server-sent events, taken in as it comes, wherever it is cut.
//!
//! Follows the `text/event-stream` format of the HTML standard: lines end in LF, CR or both, a
//! blank line ends an event, a comment says nothing. What is unfinished at the end is no event
//! there; [`EventReader::rest`] gives it to whoever wants to know what was on the way.

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerEvent {
    /// Its type; empty where it says none.
    pub(super) name: String,
    /// Its data, lines joined by LF.
    pub(super) data: String,
}

/// Reads events from bytes that arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    /// A line that has not ended.
    line: Vec<u8>,
    /// The last line ended in CR: an LF that follows belongs to it.
    after_return: bool,
    has_begun: bool,
    name: String,
    data: Option<String>,
}

impl EventReader {
    /// Takes the next bytes, and tells `sink` of every event that ends in them.
    pub(super) fn push(&mut self, bytes: &[u8], sink: &mut impl FnMut(ServerEvent)) {
        for byte in bytes {
            let is_second_half = std::mem::take(&mut self.after_return) && *byte == b'\n';
            match byte {
                b'\n' if is_second_half => {}
                b'\n' => self.end_line(sink),
                b'\r' => {
                    self.after_return = true;
                    self.end_line(sink);
                }
                byte => self.line.push(*byte),
            }
        }
    }

    fn end_line(&mut self, sink: &mut impl FnMut(ServerEvent)) {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            if let Some(data) = self.data.take() {
                sink(ServerEvent { name, data });
            }
            return;
        }
        let (field, value) = field_of(line);
        let value = String::from_utf8_lossy(value);
        match field {
            b"event" => self.name = value.into_owned(),
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(&value);
                }
                None => self.data = Some(value.into_owned()),
            },
            _ => {}
        }
    }

    /// What the stream ended in the middle of: the data so far of an event that was not ended.
    pub(super) fn rest(self) -> Option<Vec<u8>> {
        let data = self.data.map(String::into_bytes);
        let (field, value) = field_of(&self.line);
        match (data, field) {
            (Some(mut data), b"data") => {
                data.push(b'\n');
                data.extend_from_slice(value);
                Some(data)
            }
            (None, b"data") => Some(value.to_vec()),
            (data, _) => data,
        }
    }
}

fn field_of(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = memchr::memchr(b':', line) else {
        return (line, b"");
    };
    let (field, value) = line.split_at(colon);
    let value = value.get(1..).unwrap_or_default();
    (field, value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stream: &[u8], expected: &[(&str, &str)]) {
        for size in [1, 2, 3, stream.len().max(1)] {
            let mut reader = EventReader::default();
            let mut events = Vec::new();
            for piece in stream.chunks(size) {
                reader.push(piece, &mut |event| events.push((event.name, event.data)));
            }
            let expected: Vec<_> = expected
                .iter()
                .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
                .collect();
            assert_eq!(events, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn events_end_at_blank_lines_of_any_sort() {
        let both = [("a", "1"), ("", "2\n3")];
        check(b"event: a\ndata: 1\n\ndata: 2\ndata:3\n\n", &both);
        check(
            b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\ndata:3\r\n\r\n",
            &both,
        );
        check(b"event: a\rdata: 1\r\rdata: 2\rdata:3\r\r", &both);
        check(b"\xef\xbb\xbfdata: 1\n\n", &[("", "1")]);
        check(b": ping\n\nevent: x\n\nid: 3\ndata\n\n", &[("", "")]);
        check("data: Grüße 😀\n\n".as_bytes(), &[("", "Grüße 😀")]);
        check(b"data: never ended\n", &[]);
    }

    #[test]
    fn what_was_on_the_way_is_left() {
        let rest = |stream: &[u8]| {
            let mut reader = EventReader::default();
            reader.push(stream, &mut |_| {});
            reader.rest()
        };
        assert_eq!(rest(b"data: 1\n\n"), None);
        assert_eq!(rest(b"data: 1\n"), Some(b"1".to_vec()));
        assert_eq!(
            rest(b"data: 1\ndata: \xf0\x9f"),
            Some(b"1\n\xf0\x9f".to_vec())
        );
        assert_eq!(rest(b"data: 1\nda"), Some(b"1".to_vec()));
        assert_eq!(rest(b": x"), None);
    }
}
