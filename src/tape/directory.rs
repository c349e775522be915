//! A directory of a snapshot, as bytes: §7 of the format.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::model::BlobHash;

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name, one component.
    pub name: Vec<u8>,
    /// Permission bits, where known.
    pub mode: Option<u32>,
    /// What it is.
    pub item: DirectoryItem,
}

/// What an entry of a directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryItem {
    /// A file.
    File {
        /// The hash of its content, where known.
        blob: Option<BlobHash>,
        /// Its length in bytes, where known.
        len: Option<u64>,
    },
    /// A symbolic link and its text.
    Link {
        /// The text.
        target: Vec<u8>,
    },
    /// A directory and the hash of its own bytes.
    Directory {
        /// That hash.
        blob: BlobHash,
    },
}

/// The bytes of a directory; `entries` are sorted by name here.
pub fn write_directory(entries: &mut [DirectoryEntry]) -> Vec<u8> {
    entries.sort_by(|one, two| one.name.cmp(&two.name));
    let mut text = Vec::new();
    for entry in entries {
        let name = json_bytes(&entry.name);
        let mode = entry.mode.map(|mode| format!("{mode:o}"));
        let line = match &entry.item {
            DirectoryItem::File { blob, len } => {
                json!([name, "file", mode, blob.map(|blob| blob.to_string()), len])
            }
            DirectoryItem::Link { target } => json!([name, "link", mode, json_bytes(target)]),
            DirectoryItem::Directory { blob } => json!([name, "dir", mode, blob.to_string()]),
        };
        text.extend_from_slice(line.to_string().as_bytes());
        text.push(b'\n');
    }
    text
}

/// Reads a directory's bytes; `None` where they are not of the form.
pub fn parse_directory(text: &[u8]) -> Option<Vec<DirectoryEntry>> {
    let lines = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines.map(parse_entry).collect()
}

fn parse_entry(line: &[u8]) -> Option<DirectoryEntry> {
    let fields: Vec<Value> = serde_json::from_slice(line).ok()?;
    let field = |at: usize| fields.get(at);
    let hash = |at: usize| field(at)?.as_str()?.parse().ok();
    let item = match field(1)?.as_str()? {
        "file" => DirectoryItem::File {
            blob: hash(3),
            len: field(4).and_then(Value::as_u64),
        },
        "link" => DirectoryItem::Link {
            target: bytes_of(field(3)?)?,
        },
        "dir" => DirectoryItem::Directory { blob: hash(3)? },
        _ => return None,
    };
    let name = bytes_of(field(0)?)?;
    // A name is one component: nothing in a manifest climbs out of its directory.
    if matches!(name.as_slice(), b"" | b"." | b"..")
        || name.iter().any(|byte| matches!(byte, b'/' | 0))
    {
        return None;
    }
    let mode = field(2)
        .and_then(Value::as_str)
        .and_then(|octal| u32::from_str_radix(octal, 8).ok())
        .filter(|mode| *mode <= 0o7777);
    Some(DirectoryEntry { name, mode, item })
}

fn json_bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({"raw": BASE64.encode(bytes)}),
    }
}

fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        value => BASE64.decode(value.get("raw")?.as_str()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_read_back_as_it_was_written() {
        let mut entries = vec![
            DirectoryEntry {
                name: b"z".to_vec(),
                mode: None,
                item: DirectoryItem::Link {
                    target: b"\xff/x".to_vec(),
                },
            },
            DirectoryEntry {
                name: b"a\xff".to_vec(),
                mode: Some(0o644),
                item: DirectoryItem::File {
                    blob: Some(BlobHash::of(b"x")),
                    len: Some(1),
                },
            },
            DirectoryEntry {
                name: b"d".to_vec(),
                mode: Some(0o755),
                item: DirectoryItem::Directory {
                    blob: BlobHash::of(b""),
                },
            },
        ];
        let text = write_directory(&mut entries);
        assert_eq!(parse_directory(&text), Some(entries));
    }

    #[test]
    fn names_that_climb_are_refused() {
        for name in ["..", ".", "", "a/b", "a\\u0000"] {
            let line = format!("[\"{name}\",\"file\",null,null,null]\n");
            assert_eq!(parse_directory(line.as_bytes()), None, "{name}");
        }
    }
}
