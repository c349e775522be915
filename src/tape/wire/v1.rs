//! Version 1 of the wire, as `FORMAT.md` says.

mod decode;
mod directory;
mod encode;
mod head;
mod line;
mod scan;

pub use decode::{BlobParts, decode_blob, decode_event, snapshot_directories};
pub use directory::{
    DirectoryEntries, DirectoryEntry, DirectoryError, decode_directory, put_entry,
};
pub use encode::{Draft, Encoded, Stored, encode_event};
pub use head::{Enc, RawHead};
pub use line::{Line, LineError, parse_record};
pub use scan::{Scan, scan_head};
