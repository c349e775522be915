//! The index pass, beside the search for the ends of the lines that it cannot do without.

use std::sync::Arc;

use jukebox::state::State;
use jukebox::tape::{Tape, TapeBytes};
use serde_json::{Map, Value};

use crate::beside::beside;
use crate::tapes::Shape;
use crate::{Result, tape};

const NEWLINES: &str = "memchr for newlines";

pub(crate) fn run() -> Result {
    for (shape, scale) in [(Shape::Big, 0.1), (Shape::Many, 0.05), (Shape::Tree, 0.1)] {
        let (bytes, written) = tape(shape, scale)?;
        let what = format!("{}, {:.0} MB", shape.name(), written.bytes as f64 / 1e6);
        pass(&what, bytes, written.events);
    }
    let (bytes, written) = tape(Shape::Many, 0.01)?;
    let bytes = turned_round(&bytes)?;
    pass(
        "many, fields in an order of their own",
        bytes,
        written.events,
    );
    Ok(())
}

fn pass(what: &str, bytes: Vec<u8>, events: u64) {
    let bytes: Arc<[u8]> = bytes.into();
    let newlines = || memchr::memchr_iter(b'\n', &bytes).count();
    let read = || Tape::read(TapeBytes::Memory(Arc::clone(&bytes)), &mut State::default());
    beside(what, (events, "an event"), read, NEWLINES, newlines);
}

/// The same events as another program might write them: the last field first, no chain.
fn turned_round(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut turned = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let fields: Map<String, Value> = serde_json::from_slice(line)?;
        let fields = fields.into_iter().rev().filter(|(name, _)| name != "prev");
        serde_json::to_writer(&mut turned, &fields.collect::<Map<_, _>>())?;
        turned.push(b'\n');
    }
    Ok(turned)
}
