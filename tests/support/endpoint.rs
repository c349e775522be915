//! An endpoint on the loopback that says what it was told to, and keeps what it was asked.

use std::io::{BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// An endpoint that gives each connection the next of its answers, in these pieces, and hangs up.
pub(crate) struct Endpoint {
    pub(crate) address: String,
    pub(crate) asked: Arc<Mutex<Vec<Message>>>,
}

impl Endpoint {
    pub(crate) fn saying(answers: Vec<Vec<Vec<u8>>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for answer in answers {
                let Ok((mut stream, _)) = listener.accept() else {
                    return;
                };
                let message = Message::read(&mut BufReader::new(&stream));
                heard.lock().unwrap().push(message);
                for piece in answer {
                    stream.write_all(&piece).unwrap();
                }
            }
        });
        Self { address, asked }
    }
}

/// The pieces of an answer: a head, and each of these as one chunk; with an end or without.
pub(crate) fn answer(head: &str, chunks: &[&[u8]], is_whole: bool) -> Vec<Vec<u8>> {
    let head = format!("HTTP/1.1 {head}\r\ntransfer-encoding: chunked\r\n\r\n");
    let chunk = |bytes: &&[u8]| {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        chunk
    };
    let end = is_whole.then(|| b"0\r\n\r\n".to_vec());
    let chunks = chunks.iter().map(chunk);
    std::iter::once(head.into_bytes())
        .chain(chunks)
        .chain(end)
        .collect()
}

/// A request or an answer, as it came over the wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Message {
    pub(crate) first: String,
    pub(crate) headers: Vec<(String, String)>,
    /// The body: each chunk, or all of it.
    pub(crate) chunks: Vec<Vec<u8>>,
    /// It came to its end.
    pub(crate) is_whole: bool,
}

impl Message {
    pub(crate) fn read(source: &mut impl std::io::BufRead) -> Self {
        let mut message = Self::default();
        source.read_line(&mut message.first).unwrap();
        loop {
            let mut line = String::new();
            source.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            let name = name.to_ascii_lowercase();
            message.headers.push((name, value.to_owned()));
        }
        if message.header("transfer-encoding") == Some("chunked") {
            message.is_whole = message.read_chunks(source).is_some();
        } else if let Some(length) = message.header("content-length") {
            let mut body = vec![0; length.parse().unwrap()];
            message.is_whole = source.read_exact(&mut body).is_ok();
            message.chunks.push(body);
        }
        message
    }

    fn read_chunks(&mut self, source: &mut impl std::io::BufRead) -> Option<()> {
        loop {
            let mut line = String::new();
            source.read_line(&mut line).ok()?;
            let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
            let mut chunk = vec![0; length + 2];
            source.read_exact(&mut chunk).ok()?;
            chunk.truncate(length);
            if length == 0 {
                return Some(());
            }
            self.chunks.push(chunk);
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn body(&self) -> String {
        String::from_utf8_lossy(&self.chunks.concat()).into_owned()
    }
}
