//! Where an importer's events go.

use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use crate::model::{BlobHash, Body, Content, Event, Header, Seq};
use crate::tape::{BlobSource, RecordError, Recorder};

/// Takes the events behind the header in order, and numbers them.
pub trait EventSink {
    /// Why an event could not be taken.
    type Error: Error + Send + Sync + 'static;

    /// Takes the next event; gives its number.
    fn append(&mut self, event: Event) -> Result<Seq, Self::Error>;

    /// Bytes that were taken earlier, by hash; `None` when they cannot be had.
    fn blob(&self, hash: &BlobHash) -> Option<Arc<[u8]>>;
}

impl<S: EventSink> EventSink for &mut S {
    type Error = S::Error;

    fn append(&mut self, event: Event) -> Result<Seq, Self::Error> {
        (**self).append(event)
    }

    fn blob(&self, hash: &BlobHash) -> Option<Arc<[u8]>> {
        (**self).blob(hash)
    }
}

impl EventSink for Recorder {
    type Error = RecordError;

    fn append(&mut self, event: Event) -> Result<Seq, RecordError> {
        Self::append(self, event)
    }

    fn blob(&self, hash: &BlobHash) -> Option<Arc<[u8]>> {
        BlobSource::blob(self, hash).ok()
    }
}

/// Events kept in memory, for looking at what an import gives without writing a tape.
#[derive(Clone, Debug)]
pub struct Collected {
    /// The events, numbered; the first is the header.
    pub events: Vec<Event>,
    blobs: HashMap<BlobHash, Arc<[u8]>>,
}

impl Collected {
    /// No events but the header.
    pub fn new(header: Header) -> Self {
        let mut header = Event::new(Body::Tape(Box::new(header)));
        header.head.seq = Some(Seq(0));
        Self {
            events: vec![header],
            blobs: HashMap::new(),
        }
    }
}

impl EventSink for Collected {
    type Error = Infallible;

    fn append(&mut self, mut event: Event) -> Result<Seq, Infallible> {
        let seq = Seq(self.events.len() as u64);
        event.head.seq = Some(seq);
        let content = match &event.body {
            Body::File(change) => &change.content,
            Body::Blob(content) => content,
            _ => &Content::None,
        };
        if let Content::Bytes(bytes) = content {
            self.blobs.insert(BlobHash::of(bytes), Arc::clone(bytes));
        }
        self.events.push(event);
        Ok(seq)
    }

    fn blob(&self, hash: &BlobHash) -> Option<Arc<[u8]>> {
        self.blobs.get(hash).cloned()
    }
}
