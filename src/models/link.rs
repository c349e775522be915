//! The other end of [the door](super::door) for services that speak line by line over their
//! standard input and output, as MCP servers do: what a client and such a service say to each
//! other is recorded on its way, or a tape speaks in the service's place.
//!
//! It runs where the client started it: inside the sandbox. It connects to the loopback alone,
//! runs the service alone, and where a tape answers, not even that. What cannot be recorded is
//! not passed on.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::Value;

use super::door::lines::{CLIENT, LINES, MODE, RECORD, SERVICE, TAPE};

/// A link cannot be had, or broke.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The address of the streams is none of this machine's own.
    #[error("`{0}` is no address of streams on this machine's loopback")]
    Address(String),
    /// Nobody is there, or it went away.
    #[error("the recorder of this run cannot be reached: {0}")]
    Io(#[from] io::Error),
    /// There is no such stream.
    #[error("{0}")]
    Refused(String),
    /// The tape knows no answer, or the service was cut off.
    #[error("the tape answers no further: the recorder of this run says why")]
    Cut,
    /// The service cannot be run.
    #[error("the service cannot be run: {0}")]
    Service(io::Error),
}

/// A way to the streams of the run that is recorded now.
#[derive(Debug)]
pub struct Link {
    from: BufReader<TcpStream>,
    to: TcpStream,
    mode: LinkMode,
}

/// What a [`Link`] leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMode {
    /// A tape speaks in the service's place.
    Tape,
    /// What is said is recorded.
    Record,
}

impl Link {
    /// Opens the next stream to an address. `streams` is where the recorder of the run says that
    /// its streams are: `http://127.0.0.1:PORT/streams`.
    pub fn open(streams: &str, address: &str) -> Result<Self, LinkError> {
        let odd = || LinkError::Address(streams.to_owned());
        let rest = streams.strip_prefix("http://").ok_or_else(odd)?;
        let (host, path) = rest.split_once('/').ok_or_else(odd)?;
        let socket: SocketAddr = host.parse().ok().ok_or_else(odd)?;
        if !socket.ip().is_loopback() {
            return Err(odd());
        }
        let mut to = TcpStream::connect(socket)?;
        to.set_nodelay(true)?;
        let head = format!(
            "POST /{path}/{} HTTP/1.1\r\nhost: {host}\r\ncontent-type: {LINES}\r\n\
             transfer-encoding: chunked\r\n\r\n",
            in_url(address)
        );
        to.write_all(head.as_bytes())?;
        let mut from = BufReader::new(to.try_clone()?);
        let (status, mode) = read_head(&mut from)?;
        let mode = match mode.as_deref() {
            Some(TAPE) => LinkMode::Tape,
            Some(RECORD) => LinkMode::Record,
            _ => return Err(LinkError::Refused(refusal(&mut from, &status))),
        };
        Ok(Self { from, to, mode })
    }

    /// What it leads to.
    pub const fn mode(&self) -> LinkMode {
        self.mode
    }

    /// Lets the tape speak to a client, until either of them says nothing more.
    pub fn speak(
        mut self,
        client: impl Read + Send + 'static,
        mut hears: impl Write,
    ) -> Result<(), LinkError> {
        let mut to = self.to;
        // It ends with the process, should the client never do.
        thread::Builder::new()
            .name("client".to_owned())
            .spawn(move || pass_on(client, &mut to))?;
        while let Some(said) = read_chunk(&mut self.from)? {
            hears.write_all(&said)?;
            hears.flush()?;
        }
        Ok(())
    }

    /// Runs a service for a client, and records what they say; how the service ended.
    pub fn record(
        self,
        mut service: Command,
        client: impl Read + Send + 'static,
        mut hears: impl Write,
    ) -> Result<ExitStatus, LinkError> {
        service.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut service = Running(service.spawn().map_err(LinkError::Service)?);
        let (Some(mut to), Some(from)) = (service.0.stdin.take(), service.0.stdout.take()) else {
            return Err(LinkError::Service(io::ErrorKind::BrokenPipe.into()));
        };
        let told = Arc::new(Mutex::new(self));
        let also = Arc::clone(&told);
        let forth = move || {
            let mut lines = BufReader::new(client);
            while let Ok(Some(line)) = next_line(&mut lines) {
                if tell(&also, CLIENT, &line).is_err() || to.write_all(&line).is_err() {
                    return;
                }
            }
            // Before the service hears of it.
            let _ = lock(&also).line(&[CLIENT]);
        };
        thread::Builder::new()
            .name("client".to_owned())
            .spawn(forth)?;
        let mut lines = BufReader::new(from);
        while let Some(line) = next_line(&mut lines)? {
            tell(&told, SERVICE, &line)?;
            hears.write_all(&line)?;
            hears.flush()?;
        }
        lock(&told).line(&[SERVICE])?;
        service.0.wait().map_err(LinkError::Service)
    }

    /// Says a line that is to be recorded, and waits until it is.
    fn line(&mut self, line: &[u8]) -> Result<(), LinkError> {
        write_chunk(&mut self.to, &[line, b"\n"].concat())?;
        match read_chunk(&mut self.from)? {
            Some(_) => Ok(()),
            None => Err(LinkError::Cut),
        }
    }
}

/// A service that runs, and is ended where nobody waits for its end.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended needs neither.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn lock(link: &Mutex<Link>) -> std::sync::MutexGuard<'_, Link> {
    link.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records what a side says. A line of nothing is no frame.
fn tell(link: &Mutex<Link>, side: u8, line: &[u8]) -> Result<(), LinkError> {
    let said = line.trim_ascii_end();
    if said.is_empty() {
        return Ok(());
    }
    lock(link).line(&[&[side], said].concat())
}

/// The next line, with its newline; the last one may have none.
fn next_line(source: &mut impl io::BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    source.read_until(b'\n', &mut line)?;
    Ok((!line.is_empty()).then_some(line))
}

/// Passes on what a client says, up to its end.
fn pass_on(mut client: impl Read, to: &mut TcpStream) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = match client.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        // Of the recorder that went away the other side hears.
        let said = buffer.get(..count).unwrap_or_default();
        if write_chunk(to, said).is_err() || count == 0 {
            return;
        }
    }
}

/// Writes a chunk; one of nothing is the end.
fn write_chunk(to: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let head = format!("{:x}\r\n", bytes.len());
    to.write_all(&[head.as_bytes(), bytes, b"\r\n"].concat())
}

/// The next chunk; `None`: that was the end.
fn read_chunk(from: &mut BufReader<TcpStream>) -> Result<Option<Vec<u8>>, LinkError> {
    let mut head = String::new();
    let is_cut = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => LinkError::Cut,
        _ => LinkError::Io(error),
    };
    from.read_line(&mut head).map_err(is_cut)?;
    let length = usize::from_str_radix(head.trim_end(), 16);
    let Ok(length) = length else {
        return Err(LinkError::Cut);
    };
    let mut bytes = Vec::new();
    let wanted = length as u64 + 2;
    let read = from.take(wanted).read_to_end(&mut bytes).map_err(is_cut)?;
    if read as u64 != wanted {
        return Err(LinkError::Cut);
    }
    bytes.truncate(length);
    Ok((length > 0).then_some(bytes))
}

/// The first line of an answer, and the header that says what follows.
fn read_head(from: &mut BufReader<TcpStream>) -> io::Result<(String, Option<String>)> {
    let mut status = String::new();
    from.read_line(&mut status)?;
    let mut mode = None;
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            return Ok((status.trim_end().to_owned(), mode));
        };
        if name.eq_ignore_ascii_case(MODE) {
            mode = Some(value.to_owned());
        }
    }
}

/// Why there is no stream, in the words of an answer.
fn refusal(from: &mut BufReader<TcpStream>, status: &str) -> String {
    let chunk = read_chunk(from).ok().flatten().unwrap_or_default();
    let said: Option<Value> = serde_json::from_slice(&chunk).ok();
    let message = said
        .as_ref()
        .and_then(|said| said.pointer("/error/message"));
    let message = message.and_then(Value::as_str).unwrap_or(status);
    message.trim_start_matches("jukebox: ").to_owned()
}

/// An address as a part of a URL.
fn in_url(address: &str) -> String {
    address.bytes().fold(String::new(), |mut url, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(url, "%{byte:02X}");
        }
        url
    })
}
