//! Streams: the long connections of a run, answered again frame by frame.
//!
//! A run that talked to a service over a connection that stays open has what either side said on
//! its tape, as frames ([the format](crate::tape::format), "Streams"). When somebody opens such a
//! connection again, [`Streams`] finds the recorded one, and a [`Stream`] answers in the place of
//! the service:
//!
//! 1. A connection is known by its address, its protocol, and which one of these it is: the
//!    second that is opened gets what the second one recorded.
//! 2. What the service said is told as soon as all that its client had said before it has arrived,
//!    in the order of the tape. What a client said without hearing anything in between may
//!    arrive in any order.
//! 3. A frame of the client is the recorded one if it says the same, as
//!    [`request`](super::request) decides it. Ids aside that the client makes up by the rules of
//!    the protocol (JSON-RPC: the ids of requests, the tokens of progress): those are another's,
//!    and what the service says of them is told with the client's own. Each recorded one stands
//!    for one, and each one for one recorded. Ids that the service made up are told as they were,
//!    and are to come back so.
//! 4. The first frame that is none of those that may come stops the stream: nothing more is
//!    told, whatever comes. The [`FrameMiss`] says where it differs, leaf by leaf.
//!
//! Nothing is sent, nothing is guessed, and nothing is told twice. Who carries the frames is not
//! known here.

mod ids;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::request::{Miss, VolatileParts};
use crate::model::{Event, Frame, FrameSide, Seq};
use crate::tape::stream_frame;
use ids::Ids;

/// A frame on a tape that cannot be read: the stream it is of would answer wrongly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the frame in event {seq} is not whole: {why}")]
pub struct OddFrame {
    /// The event.
    pub seq: Seq,
    /// What is wrong with it.
    pub why: &'static str,
}

/// There is no recorded stream to be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", no_stream(address, protocol, *recorded))]
pub struct NoStream {
    /// The address that was asked for.
    pub address: String,
    /// The protocol.
    pub protocol: String,
    /// How many are recorded, all of which were opened already.
    pub recorded: usize,
}

fn no_stream(address: &str, protocol: &str, recorded: usize) -> String {
    match recorded {
        0 => format!("no stream to {address} over {protocol} was recorded"),
        1 => format!("the one stream to {address} that was recorded was opened already"),
        more => format!("all {more} streams to {address} that were recorded were opened already"),
    }
}

/// A frame of a client that is not what was recorded. Its stream tells nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameMiss {
    /// The address.
    pub address: String,
    /// Which of the streams to it, from 1.
    pub ordinal: usize,
    /// The frame that was to come; `None`: none was.
    pub expected: Option<Seq>,
    /// Where it differs from that, each leaf as it was recorded and as it came.
    pub leaves: Vec<Miss>,
}

impl fmt::Display for FrameMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(seq) = self.expected else {
            return f.write_str("the client says more than was recorded");
        };
        write!(f, "the client's frame is not the one in event {seq}")?;
        for (number, leaf) in self.leaves.iter().enumerate() {
            let absent = "nothing";
            let sign = if number == 0 { ": " } else { "; " };
            let path = if leaf.path.is_empty() {
                "all of it"
            } else {
                &leaf.path
            };
            let recorded = leaf.recorded.as_deref().unwrap_or(absent);
            let replayed = leaf.replayed.as_deref().unwrap_or(absent);
            write!(f, "{sign}{path}: recorded {recorded}, replayed {replayed}")?;
        }
        Ok(())
    }
}

/// The streams of a tape, each of which can be opened once.
#[derive(Debug, Default)]
pub struct Streams {
    recorded: Vec<Recorded>,
    volatile: Arc<VolatileParts>,
}

#[derive(Debug)]
struct Recorded {
    address: String,
    protocol: String,
    /// Which one it is, as the tape tells them apart.
    connection: Option<Value>,
    entries: Vec<Entry>,
    is_taken: bool,
}

#[derive(Debug)]
struct Entry {
    seq: Seq,
    side: FrameSide,
    frame: Frame,
    has_arrived: bool,
}

impl Streams {
    /// None yet. Of frames of clients, these parts do not count.
    pub fn new(volatile: VolatileParts) -> Self {
        Self {
            recorded: Vec::new(),
            volatile: Arc::new(volatile),
        }
    }

    /// Takes in an event of the tape, in their order. One that is no frame of a stream is passed
    /// over.
    pub fn take(&mut self, seq: Seq, event: &Event) -> Result<(), OddFrame> {
        let Some(frame) = stream_frame(event) else {
            return Ok(());
        };
        let frame = frame.map_err(|why| OddFrame { seq, why })?;
        let entries = frame.said.into_iter().map(|said| Entry {
            seq,
            side: frame.side,
            frame: said,
            has_arrived: false,
        });
        // As a rule it is of the one that spoke last.
        let mut known = self.recorded.iter_mut().rev();
        let known = known.find(|it| {
            it.is_to(&frame.address, &frame.protocol) && it.connection == frame.connection
        });
        match known {
            Some(stream) => stream.entries.extend(entries),
            None => self.recorded.push(Recorded {
                entries: entries.collect(),
                address: frame.address,
                protocol: frame.protocol,
                connection: frame.connection,
                is_taken: false,
            }),
        }
        Ok(())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.recorded.is_empty()
    }

    /// How many there are to each address, and how many of them were opened.
    pub fn counts(&self) -> BTreeMap<&str, (usize, usize)> {
        let mut counts = BTreeMap::new();
        for stream in &self.recorded {
            let (all, taken): &mut (usize, usize) = counts.entry(&*stream.address).or_default();
            *all += 1;
            *taken += usize::from(stream.is_taken);
        }
        counts
    }

    /// Opens the next stream to an address: they come in the order in which they were recorded.
    pub fn open(&mut self, address: &str, protocol: &str) -> Result<Stream, NoStream> {
        let mut of_it = self.recorded.iter_mut();
        let of_it = of_it.by_ref().filter(|it| it.is_to(address, protocol));
        let mut recorded = 0;
        for stream in of_it {
            recorded += 1;
            if !std::mem::replace(&mut stream.is_taken, true) {
                return Ok(Stream {
                    address: address.to_owned(),
                    ordinal: recorded,
                    entries: std::mem::take(&mut stream.entries),
                    next: 0,
                    ids: Ids::default(),
                    volatile: Arc::clone(&self.volatile),
                    stopped: None,
                });
            }
        }
        Err(NoStream {
            address: address.to_owned(),
            protocol: protocol.to_owned(),
            recorded,
        })
    }
}

impl Recorded {
    fn is_to(&self, address: &str, protocol: &str) -> bool {
        self.address == address && self.protocol == protocol
    }
}

/// A stream that was opened again.
#[derive(Debug)]
pub struct Stream {
    address: String,
    ordinal: usize,
    entries: Vec<Entry>,
    /// The first entry that was not told, or has not arrived.
    next: usize,
    ids: Ids,
    volatile: Arc<VolatileParts>,
    stopped: Option<FrameMiss>,
}

impl Stream {
    /// Which of the streams to its address it is, from 1.
    pub const fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// What the service says before it hears anything.
    pub fn greet(&mut self) -> Vec<Frame> {
        self.told()
    }

    /// Hears the client, and gives what the service says to that. Costs a comparison with each
    /// recorded frame that may come now.
    pub fn hear(&mut self, said: &[u8]) -> Result<Vec<Frame>, FrameMiss> {
        if let Some(miss) = &self.stopped {
            return Err(miss.clone());
        }
        let mut unlike = None;
        let frames = self.entries.get_mut(self.next..).unwrap_or_default();
        let awaited = frames
            .iter_mut()
            .take_while(|it| it.side == FrameSide::Client);
        let awaited = awaited.filter(|it| !it.has_arrived && !matches!(it.frame, Frame::End(_)));
        for entry in awaited {
            match self.ids.meet(entry.frame.as_bytes(), said, &self.volatile) {
                Ok(met) => {
                    self.ids.learn(met);
                    entry.has_arrived = true;
                    return Ok(self.told());
                }
                Err(leaves) => {
                    unlike.get_or_insert((entry.seq, leaves));
                }
            }
        }
        let (expected, leaves) = match unlike {
            Some((seq, leaves)) => (Some(seq), leaves),
            None => (None, Vec::new()),
        };
        let miss = FrameMiss {
            address: self.address.clone(),
            ordinal: self.ordinal,
            expected,
            leaves,
        };
        self.stopped = Some(miss.clone());
        Err(miss)
    }

    /// The client says nothing more; what the service says to that.
    pub fn close(&mut self) -> Vec<Frame> {
        if self.stopped.is_some() {
            return Vec::new();
        }
        let frames = self.entries.get_mut(self.next..).unwrap_or_default();
        let end = frames.iter_mut().find(|it| it.side == FrameSide::Client);
        if let Some(end) = end.filter(|it| matches!(it.frame, Frame::End(_))) {
            end.has_arrived = true;
        }
        self.told()
    }

    /// How many recorded frames of the client have not arrived.
    pub fn awaited(&self) -> usize {
        let said = self.entries.iter();
        said.filter(|it| it.side == FrameSide::Client && !it.has_arrived)
            .filter(|it| !matches!(it.frame, Frame::End(_)))
            .count()
    }

    /// What the service says, as far as all has arrived that comes before it.
    fn told(&mut self) -> Vec<Frame> {
        let mut told = Vec::new();
        while let Some(entry) = self.entries.get(self.next) {
            match (entry.side, &entry.frame) {
                (FrameSide::Client, _) if !entry.has_arrived => break,
                (FrameSide::Client, _) => {}
                (FrameSide::Service, Frame::Text(text)) => {
                    told.push(Frame::Text(self.ids.told(text)));
                }
                (FrameSide::Service, frame) => told.push(frame.clone()),
            }
            self.next += 1;
        }
        told
    }
}
