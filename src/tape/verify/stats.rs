//! What a tape's bytes went into, and what its snapshots cost and bought.

use crate::model::{Body, SnapshotReason};
use crate::tape::wire::Enc;

/// Figures about a tape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyStats {
    /// Bytes of whole lines.
    pub bytes: u64,
    /// Events that change or show files.
    pub file_events: u64,
    /// Bytes of their lines.
    pub file_bytes: u64,
    /// Contents by how they travel.
    pub contents: ContentStats,
    /// Snapshots, and what they are good for.
    pub snapshots: SnapshotStats,
}

/// Contents by how they travel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentStats {
    /// As text.
    pub text: u64,
    /// Compressed.
    pub zstd: u64,
    /// As a change of another.
    pub splice: u64,
    /// Named, and stored on another line.
    pub elsewhere: u64,
    /// Not kept.
    pub unstored: u64,
    /// Bytes of all contents that travel, decoded.
    pub decoded_bytes: u64,
}

/// Snapshots: what they cost, and how far a reader has to go with and without them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotStats {
    /// How many there are, by reason, in the order of [`SnapshotReason::ALL`].
    pub by_reason: [u64; 5],
    /// Bytes of their lines.
    pub bytes: u64,
    /// The most bytes of file events between two of them.
    pub longest_way: u64,
    /// Bytes of file events from the last snapshot to an event, on average.
    pub mean_way: u64,
    /// The same from the beginning of the tape: without snapshots.
    pub mean_way_without: u64,
}

impl SnapshotStats {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.by_reason.iter().sum()
    }
}

/// Adds up the figures.
#[derive(Debug, Default)]
pub(super) struct Tally {
    stats: VerifyStats,
    events: u64,
    way: u64,
    ways: u128,
    ways_without: u128,
}

impl Tally {
    pub(super) fn take(&mut self, body: &Body, line_len: u64) {
        let snapshots = &mut self.stats.snapshots;
        match body {
            Body::Snapshot { reason, .. } => {
                let mut counts = SnapshotReason::ALL.iter().zip(&mut snapshots.by_reason);
                if let Some((_, count)) = counts.find(|(known, _)| *known == reason) {
                    *count += 1;
                }
                snapshots.bytes += line_len;
                self.way = 0;
            }
            Body::File(_) => {
                self.stats.file_events += 1;
                self.stats.file_bytes += line_len;
                self.way += line_len;
                snapshots.longest_way = snapshots.longest_way.max(self.way);
            }
            _ => {}
        }
        self.events += 1;
        self.ways += u128::from(self.way);
        self.ways_without += u128::from(self.stats.file_bytes);
    }

    pub(super) fn take_content(&mut self, enc: Enc, decoded: u64) {
        let contents = &mut self.stats.contents;
        match enc {
            Enc::Text => contents.text += 1,
            Enc::Zstd => contents.zstd += 1,
            Enc::Splice => contents.splice += 1,
            Enc::Elsewhere => contents.elsewhere += 1,
            Enc::None | Enc::Unknown => contents.unstored += 1,
            Enc::Lines => {}
        }
        contents.decoded_bytes += decoded;
    }

    pub(super) fn finish(mut self, bytes: u64) -> VerifyStats {
        let mean = |sum: u128| (sum / u128::from(self.events.max(1))) as u64;
        self.stats.snapshots.mean_way = mean(self.ways);
        self.stats.snapshots.mean_way_without = mean(self.ways_without);
        self.stats.bytes = bytes;
        self.stats
    }
}
