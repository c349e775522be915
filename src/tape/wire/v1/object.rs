//! A line under construction: one JSON object, field by field.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde_json::Value;

use crate::model::{BlobHash, TapePath};

/// A JSON object under construction. Its keys stand in the order in which they were put.
#[derive(Debug)]
pub(super) struct Object(Vec<u8>);

impl Object {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(512))
    }

    /// What stands so far.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// What stands so far, to be changed in place.
    pub(super) const fn as_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    /// Makes room, so that what comes is moved once.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.0.reserve(bytes);
    }

    pub(super) fn put<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        self.json(key);
        self.0.push(b':');
        self.json(value);
    }

    /// Whether a field of the head stands here already. Its values are scalars, and a quote
    /// inside a string is escaped: the bytes of a key are found nowhere else.
    pub(super) fn has(&self, key: &str) -> bool {
        memchr::memmem::find(&self.0, format!(",\"{key}\":").as_bytes()).is_some()
    }

    pub(super) fn put_some<T: Serialize>(&mut self, key: &str, value: Option<&T>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    pub(super) fn put_hash(&mut self, key: &str, hash: Option<&BlobHash>) {
        self.put_some(key, hash.map(ToString::to_string).as_ref());
    }

    pub(super) fn put_hashes(&mut self, key: &str, hashes: &[BlobHash]) {
        if !hashes.is_empty() {
            let hashes: Vec<String> = hashes.iter().map(ToString::to_string).collect();
            self.put(key, &hashes);
        }
    }

    pub(super) fn put_path(&mut self, key: &str, raw_key: &str, path: &TapePath) {
        self.put(key, &path.to_text());
        if std::str::from_utf8(path.as_bytes()).is_err() {
            self.put(raw_key, &BASE64.encode(path.as_bytes()));
        }
    }

    pub(super) fn put_value(&mut self, key: &str, value: &Value) {
        if !value.is_null() {
            self.put(key, value);
        }
    }

    fn json<T: Serialize + ?Sized>(&mut self, value: &T) {
        // Writing to memory does not fail, and the values are strings, numbers and JSON
        // values; what could not be written would leave `null`.
        if serde_json::to_writer(&mut self.0, value).is_err() {
            self.0.extend_from_slice(b"null");
        }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}
