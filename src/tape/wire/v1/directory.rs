//! The text of one directory of a snapshot: §7 of the format.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use crate::model::BlobHash;

/// What a directory holds under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryEntry {
    /// A file.
    File {
        /// Its permission bits, where they are known.
        mode: Option<u32>,
        /// The hash of its content, where that is known.
        hash: Option<BlobHash>,
        /// The length of its content, where that is known.
        len: Option<u64>,
    },
    /// A symbolic link.
    Link {
        /// Its text.
        target: Arc<[u8]>,
    },
    /// A directory.
    Directory {
        /// Its permission bits, where they are known.
        mode: Option<u32>,
        /// The hash of its own text.
        hash: BlobHash,
    },
}

/// What a directory holds, by name.
pub type DirectoryEntries = Vec<(Box<[u8]>, DirectoryEntry)>;

/// A line of a directory's text is not what the format says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {0} of a directory's text cannot be read")]
pub struct DirectoryError(pub usize);

/// Appends the line of one entry. Entries are put in the order of their names' bytes.
pub fn put_entry(text: &mut String, name: &[u8], entry: &DirectoryEntry) {
    text.push('[');
    put_bytes(text, name);
    match entry {
        DirectoryEntry::File { mode, hash, len } => {
            text.push_str(",\"file\",");
            put_mode(text, *mode);
            match hash {
                Some(hash) => put(text, format_args!(",\"{hash}\"")),
                None => text.push_str(",null"),
            }
            match len {
                Some(len) => put(text, format_args!(",{len}")),
                None => text.push_str(",null"),
            }
        }
        DirectoryEntry::Link { target } => {
            text.push_str(",\"link\",\"777\",");
            put_bytes(text, target);
        }
        DirectoryEntry::Directory { mode, hash } => {
            text.push_str(",\"dir\",");
            put_mode(text, *mode);
            put(text, format_args!(",\"{hash}\""));
        }
    }
    text.push_str("]\n");
}

/// Reads a directory's text: names and what stands under them.
pub fn decode_directory(text: &[u8]) -> Result<DirectoryEntries, DirectoryError> {
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(at, line)| entry(line).ok_or(DirectoryError(at + 1)))
        .collect()
}

fn entry(line: &[u8]) -> Option<(Box<[u8]>, DirectoryEntry)> {
    let fields: Vec<Value> = serde_json::from_slice(line).ok()?;
    let mut fields = fields.into_iter();
    let name = bytes_of(&fields.next()?)?;
    if matches!(&*name, b"" | b"." | b"..") || name.contains(&b'/') || name.contains(&0) {
        return None;
    }
    let kind = fields.next()?;
    let mode = match fields.next()? {
        Value::Null => None,
        mode => Some(u32::from_str_radix(mode.as_str()?, 8).ok()?),
    };
    let third = fields.next()?;
    let hash = |value: &Value| value.as_str()?.parse::<BlobHash>().ok();
    let entry = match kind.as_str()? {
        "file" => DirectoryEntry::File {
            mode,
            hash: hash(&third),
            len: fields.next().and_then(|len| len.as_u64()),
        },
        "link" => DirectoryEntry::Link {
            target: bytes_of(&third)?.into(),
        },
        "dir" => DirectoryEntry::Directory {
            mode,
            hash: hash(&third)?,
        },
        _ => return None,
    };
    Some((name, entry))
}

fn bytes_of(value: &Value) -> Option<Box<[u8]>> {
    if let Some(text) = value.as_str() {
        return Some(text.as_bytes().into());
    }
    let raw = value.get("raw")?.as_str()?;
    Some(BASE64.decode(raw).ok()?.into())
}

fn put_bytes(text: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(name) => put(text, format_args!("{}", Value::from(name))),
        Err(_) => put(
            text,
            format_args!("{{\"raw\":\"{}\"}}", BASE64.encode(bytes)),
        ),
    }
}

fn put_mode(text: &mut String, mode: Option<u32>) {
    match mode {
        Some(mode) => put(text, format_args!("\"{mode:o}\"")),
        None => text.push_str("null"),
    }
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = text.write_fmt(what);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_read_back() {
        let file = |mode, hash, len| DirectoryEntry::File { mode, hash, len };
        let hash = BlobHash::of(b"x");
        let entries: DirectoryEntries = vec![
            (
                b"a".as_slice().into(),
                file(Some(0o644), Some(hash), Some(1)),
            ),
            (b"b \"quoted\"\n".as_slice().into(), file(None, None, None)),
            (
                b"c\xff".as_slice().into(),
                file(Some(0o4755), Some(hash), None),
            ),
            (
                b"d".as_slice().into(),
                DirectoryEntry::Link {
                    target: b"../\xfe".as_slice().into(),
                },
            ),
            (
                "ü".as_bytes().into(),
                DirectoryEntry::Directory { mode: None, hash },
            ),
        ];
        let mut text = String::new();
        for (name, entry) in &entries {
            put_entry(&mut text, name, entry);
        }
        assert_eq!(decode_directory(text.as_bytes()), Ok(entries));
    }

    #[test]
    fn names_that_climb_and_lines_of_another_form_are_refused() {
        for text in [
            "[\"..\",\"file\",\"644\",null,null]\n",
            "[\"a/b\",\"file\",\"644\",null,null]\n",
            "[\"\",\"file\",\"644\",null,null]\n",
            "[\"a\",\"socket\",\"644\",null,null]\n",
            "[\"a\",\"dir\",\"755\",null]\n",
            "[\"a\"]\n",
            "{}\n",
            "x",
        ] {
            assert_eq!(
                decode_directory(text.as_bytes()),
                Err(DirectoryError(1)),
                "{text}"
            );
        }
        assert_eq!(decode_directory(b""), Ok(Vec::new()));
    }
}
