//! The tape: the append-only record of one run, one file of JSON lines.
//!
//! [`format`](mod@format) is the normative text. [`wire`] knows the fields, [`scan`](fn@scan)
//! walks the lines, [`Index`] remembers where everything is, [`Tape`] reads events and
//! blobs on demand, [`IndexCache`] keeps what was read of a large one, [`FollowState`] and
//! [`Watch`] say how it grows. [`Recorder`] writes.
//! [`verify`](fn@verify) finds all that is wrong, [`compact`](fn@compact) writes a tape again,
//! smaller, [`redact`](fn@redact) without its secrets. [`Shared`] is what a fork shares with its
//! parent, and [`Stitched`] the bytes of both as those of one tape. [`Manifest`] is the plain tree
//! of files that they share.
//!
//! Nothing here knows what an edit tool does or what a file holds at a step: that is the
//! layer above. Nothing here runs a command, opens a connection or reads a configuration.

pub(crate) mod blobs;
mod bytes;
pub(crate) mod cache;
mod compact;
mod follow;
mod fork;
mod heads;
mod index;
mod lines;
mod manifest;
mod open;
mod pack;
mod read_ahead;
mod recorder;
mod redaction;
mod scan;
mod seen;
mod stitched;
mod verify;
mod watch;
pub mod wire;

#[doc = include_str!("tape/FORMAT.md")]
pub mod format {}

#[doc = include_str!("tape/STDIN.md")]
pub mod stdin {}

pub use blobs::{BlobError, BlobSource, MAX_BLOB, MAX_CHAIN, Splice};
pub use bytes::TapeBytes;
pub use cache::IndexCache;
pub use compact::{CompactError, CompactOptions, Compacted, compact, compact_telling};
pub use follow::{Change, FollowState};
pub use fork::{Shared, header_of};
pub use index::{
    AgentEntry, AgentStretch, BlobId, BlobTable, BranchEntry, BranchKind, EventEntry, Events,
    Growth, Index, IndexSink, Indexed, Lane, StepEntry, StepFlags, StepTotal, Steps,
    TransactionEntry, TransactionState,
};
pub use lines::{LineContent, Piece, read_line, to_text};
pub use manifest::{Difference, Differences, Directory, DirectoryTexts, FileNode, Manifest, Node};
pub use open::Tape;
pub use read_ahead::{Block, ReadAhead};
pub use recorder::{
    Behind, Files, LastFile, OnFailure, RecordError, Recorder, RecorderOptions, SnapshotPolicy,
    SyncPolicy, Untimed, build,
};
pub use redaction::{
    Leak, LeakPlace, RedactError, Redacted, Redacting, find_leaks, is_redacted, redact,
};
pub use scan::{Record, ScanEnd, ScanSink, scan};
pub use stitched::Stitched;
pub use verify::{ContentStats, References, SnapshotStats, Verified, VerifyStats, verify};
pub use watch::Watch;
pub use wire::v1::{
    HTTP, effect_event, effect_of, frame_event, frame_of, http_event, http_frame, is_of_stream,
    later_of, stream_events, stream_frame,
};
