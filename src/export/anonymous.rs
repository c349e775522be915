//! What of a recording stays out of an export: its secrets, and where it was made.
//!
//! A secret is a placeholder with the same number wherever it stands. Files tell of
//! `/workspace` where they told of the workspace, since that is where they are seen when a
//! case is made again, and of `/home/user` where they told of the home directory. Both come
//! out the same each time.

use std::sync::Arc;

use serde_json::Value;

use super::placeholders::{Recorded, each};
use crate::model::TapePath;
use crate::redact::{Placeholder, Redaction, Redactor, is_placeholder};

/// Takes secrets and places out of what goes into one export.
pub struct Anonymous<'a> {
    redaction: Redaction,
    recorded: Recorded<'a>,
    moved: u32,
}

/// A content tells of a place of the recording, and is no text in which that can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TellsPlace;

/// What stands before the number of a placeholder.
const PLACEHOLDER: &str = "[REDACTED:";

impl<'a> Anonymous<'a> {
    /// For an export of a run with these paths. The key only keeps secrets apart that are
    /// told by numbers: no hash of one is in an export.
    pub fn new(redactor: Arc<Redactor>, recorded: Recorded<'a>) -> Self {
        Self {
            redaction: Redaction::new(redactor, [0; 32]),
            recorded,
            moved: 0,
        }
    }

    /// Takes note of placeholders that stand in bytes already: others get other numbers.
    pub fn remember(&mut self, bytes: &[u8]) {
        if memchr::memmem::find(bytes, PLACEHOLDER.as_bytes()).is_none() {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        for part in text.split(PLACEHOLDER).skip(1) {
            let digits = part.split(']').next().unwrap_or_default();
            if let Ok(number) = digits.parse()
                && is_placeholder(&format!("{PLACEHOLDER}{digits}]"))
            {
                self.redaction.remember(&Placeholder {
                    number,
                    kind: String::new(),
                    keyed: format!("on the tape {number}"),
                });
            }
        }
    }

    /// How many secrets were taken out so far.
    pub fn secrets(&mut self) -> u32 {
        self.redaction.take_fresh().len() as u32
    }

    /// In how many contents places were changed.
    pub const fn moved(&self) -> u32 {
        self.moved
    }

    /// Takes the secrets out of a text.
    pub fn text(&mut self, text: &mut String) {
        self.redaction.text(text);
    }

    /// Takes the secrets out of each text of a value.
    pub fn value(&mut self, value: &mut Value) {
        self.redaction.value(value);
    }

    /// A path without secrets.
    pub fn path(&mut self, path: TapePath) -> TapePath {
        let clean = self.redaction.name_bytes(path.as_bytes());
        let clean = clean.and_then(|clean| TapePath::new(clean).ok());
        clean.unwrap_or(path)
    }

    /// A text of the run without secrets and places.
    pub fn told(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        self.redaction.text(&mut text);
        self.recorded.moved(&text)
    }

    /// A value whose texts tell of no place of the recording.
    pub fn moved_in(&self, value: &Value) -> Value {
        each(value, &|text| self.recorded.moved(text))
    }

    /// A content without secrets and places.
    pub fn bytes(&mut self, bytes: &Arc<[u8]>) -> Result<Arc<[u8]>, TellsPlace> {
        let clean = self.redaction.bytes(bytes);
        let clean = clean.map_or_else(|| Arc::clone(bytes), Arc::from);
        if !self.recorded.is_in(&clean) {
            return Ok(clean);
        }
        let Ok(text) = std::str::from_utf8(&clean) else {
            return Err(TellsPlace);
        };
        let moved = self.recorded.moved(text);
        // The name of another directory may begin like that of the workspace.
        if moved == text {
            return Ok(clean);
        }
        self.moved += 1;
        Ok(Arc::from(moved.into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Rules;

    fn check(text: &str, expected: &str) {
        let redactor = Arc::new(Redactor::new(&Rules::default()).unwrap());
        let recorded = Recorded::new(Some("/home/ann/app"));
        let mut anonymous = Anonymous::new(redactor, recorded);
        anonymous.remember(text.as_bytes());
        let bytes = anonymous.bytes(&Arc::from(text.as_bytes())).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
    }

    #[test]
    fn secrets_and_places_are_taken_out() {
        check(
            "cd /home/ann/app/x; ls /home/ann",
            "cd /workspace/x; ls /home/user",
        );
        check("/home/ann/apple", "/home/user/apple");
        check("/home/annabel", "/home/annabel");
        check("ghp_0123456789abcdefghijABCDEFGHIJ012345", "[REDACTED:1]");
        check(
            "[REDACTED:7] ghp_0123456789abcdefghijABCDEFGHIJ012345",
            "[REDACTED:7] [REDACTED:8]",
        );
    }

    #[test]
    fn what_is_no_text_and_tells_a_place_is_told_of() {
        let redactor = Arc::new(Redactor::new(&Rules::default()).unwrap());
        let mut anonymous = Anonymous::new(redactor, Recorded::new(Some("/home/ann/app")));
        let bytes: Arc<[u8]> = Arc::from(&b"\xff\0/home/ann/app/x"[..]);
        assert_eq!(anonymous.bytes(&bytes), Err(TellsPlace));
    }
}
