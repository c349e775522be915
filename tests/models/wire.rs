//! Both ends: an endpoint, a client that looks at each chunk, and between them the server under
//! test, which writes a tape.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use jukebox::model::{Body, Event, Header, Outcome};
use jukebox::models::{Api, Recorded, Report, Server, Source, Upstream};
use jukebox::replay::request::VolatileParts;
use jukebox::tape::{Recorder, RecorderOptions, Tape};
use jukebox::transaction::beside::Beside as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;

pub(crate) use crate::endpoint::{Endpoint, Message, answer};

impl Message {
    pub(crate) fn status(&self) -> u16 {
        let status = self.first.split(' ').nth(1);
        status.unwrap().parse().unwrap()
    }
}

/// The server under test, whose tape is written as that of a command is.
pub(crate) struct Running {
    directory: TempDir,
    addresses: Vec<(Api, String)>,
    streams: String,
    is_over: Arc<AtomicBool>,
    writer: JoinHandle<Report>,
}

impl Running {
    /// In front of an endpoint of either sort.
    pub(crate) fn recording(address: &str) -> Self {
        let upstreams = Api::ALL.map(|api| Upstream::new(api, address).unwrap());
        Self::start(Source::Endpoints(upstreams.to_vec()))
    }

    /// In place of all endpoints.
    pub(crate) fn replaying(tape: &Path) -> Self {
        let tape = Tape::open(tape, &mut ()).unwrap();
        let recorded = Recorded::read(&tape, VolatileParts::default()).unwrap();
        Self::start(Source::Tape(recorded))
    }

    fn start(source: Source) -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("run.jsonl");
        let mut recorder =
            Recorder::create(&path, Header::default(), RecorderOptions::default()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut server = Server::start(listener.into(), source).unwrap();
        let addresses = Api::ALL.map(|api| (api, server.address(api))).to_vec();
        let streams = server.streams();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let writer = std::thread::spawn(move || {
            let mut tell = |server: &mut Server| {
                while let Some(aside) = server.next() {
                    match aside.like {
                        Some(like) => recorder.append_like(aside.event, like),
                        None => recorder.append(aside.event),
                    }
                    .unwrap();
                }
                server.recorded();
            };
            while !ends.load(Ordering::SeqCst) {
                let wake = server.wake().try_clone_to_owned().unwrap();
                let tick = Timespec {
                    tv_sec: 0,
                    tv_nsec: 20_000_000,
                };
                poll(
                    &mut [PollFd::new(&wake.as_fd(), PollFlags::IN)],
                    Some(&tick),
                )
                .unwrap();
                tell(&mut server);
            }
            server.end();
            tell(&mut server);
            recorder.close(Outcome::Ok).unwrap();
            server.report()
        });
        Self {
            directory,
            addresses,
            streams,
            is_over,
            writer,
        }
    }

    /// Asks as an agent does.
    pub(crate) fn ask(&self, api: Api, method: &str, path: &str, body: &str) -> Message {
        self.ask_with(
            api,
            (method, path),
            &[("content-type", "application/json")],
            body,
        )
    }

    pub(crate) fn ask_with(
        &self,
        api: Api,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> Message {
        let base = self.addresses.iter().find(|(other, _)| *other == api);
        let stream = send(&base.unwrap().1, (method, path), headers, body);
        Message::read(&mut BufReader::new(&stream))
    }

    /// Says something to a stream, and gives the connection on which the answer comes.
    pub(crate) fn to_stream(
        &self,
        (method, address): (&str, &str),
        session: Option<&str>,
        body: &str,
    ) -> BufReader<TcpStream> {
        let session = session.map(|session| ("mcp-session-id", session));
        let headers: Vec<_> = session.into_iter().collect();
        let path = format!("/{address}");
        BufReader::new(send(&self.streams, (method, &path), &headers, body))
    }

    /// Ends it; the tape, and what it says of itself.
    pub(crate) fn end(self) -> (Written, Report) {
        self.is_over.store(true, Ordering::SeqCst);
        let report = self.writer.join().unwrap();
        let path = self.directory.path().join("run.jsonl");
        let written = Written {
            _directory: self.directory,
            path,
        };
        (written, report)
    }
}

fn send(
    base: &str,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &str,
) -> TcpStream {
    let address = base.strip_prefix("http://").unwrap();
    let (host, below) = address.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let mut request = format!("{method} /{below}{path} HTTP/1.1\r\nHost: {host}\r\n");
    for (name, value) in headers {
        request.extend([name, ": ", value, "\r\n"]);
    }
    let length = body.len().to_string();
    request.extend(["content-length: ", &length, "\r\n\r\n", body]);
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// A tape that was written.
pub(crate) struct Written {
    _directory: TempDir,
    pub(crate) path: PathBuf,
}

impl Written {
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut file = std::fs::File::open(&self.path).unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let tape = Tape::open(&self.path, &mut ()).unwrap();
        assert_eq!(tape.problems(), []);
        let events = 0..tape.index.events.len();
        events
            .map(|position| tape.event(position).unwrap())
            .collect()
    }

    /// The models' answers.
    pub(crate) fn responses(&self) -> Vec<Body> {
        let events = self.events().into_iter().map(|event| event.body);
        events
            .filter(|body| matches!(body, Body::ModelResponse { .. }))
            .collect()
    }
}
