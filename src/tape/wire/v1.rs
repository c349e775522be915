//! Version 1 of the wire, as `FORMAT.md` says.

mod carry;
mod connection;
mod content;
mod decode;
mod directory;
mod effect;
mod encode;
mod exchange;
mod fields;
mod given;
mod head;
mod key;
mod line;
mod loose;
mod object;
mod scan;
mod stream;

pub use carry::{Carried, carry_line};
pub use connection::{is_of_stream, stream_events, stream_frame};
pub use content::{BlobParts, decode_blob, snapshot_directories};
pub use decode::decode_event;
pub use directory::{
    DirectoryEntries, DirectoryEntry, DirectoryError, decode_directory, put_entry,
};
pub use effect::{effect_event, effect_of};
pub use encode::{Draft, Encoded, Stored, encode_event, parent_value};
pub use exchange::{HTTP, http_event, http_frame, later_of};
pub use given::{Fault, decode_given};
pub use head::{Enc, RawHead};
pub use line::{Line, LineError, parse_record};
pub use scan::{FieldPlace, find_fields, read_fields, scan_head, scan_head_into};
pub use stream::{frame_bytes, frame_event, frame_of, later_in, put_frame_bytes, put_later};
