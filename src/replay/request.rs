//! When two requests are the same request.
//!
//! A recorded answer answers a request only if that is the recorded one: never the next one
//! in line, never one that is merely like it. What counts:
//!
//! * Of JSON, the order of members and the blanks between values mean nothing; the order of
//!   elements does, and the sort of a value (`1` is not `"1"`).
//! * A number is its text, so that none is rounded: `12345678901234567890` and
//!   `12345678901234567891` differ, and so do `1` and `1.0`. A program that asks the same
//!   again writes it the same way again, and a miss is safer than a wrong answer.
//! * The boundary of a multipart body may be another in every request.
//! * Where the recorder put a placeholder (`[REDACTED:1]`), some text without blanks stands in
//!   the other request: the same text wherever that placeholder stands.
//! * Parts that the tape names as volatile, or a person: places, and sorts of text. None is
//!   volatile by itself.
//!
//! A miss says where: the first value that differs, and what stands on either side.

mod parts;
mod placeholder;

use std::borrow::Cow;

use crate::text::json_diff;

pub use parts::{UnknownPart, VolatileParts};
use placeholder::Placeholders;

/// A place at which two requests differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// Where: a JSON pointer such as `/tools/1/name`; `line 4` of what is no JSON.
    pub path: String,
    /// What was recorded there, as it was written; `None`: nothing.
    pub recorded: Option<String>,
    /// What stands there now; `None`: nothing.
    pub replayed: Option<String>,
}

/// The first place at which a request differs from a recorded one; `None`: they are the same.
pub fn miss(recorded: &[u8], replayed: &[u8], volatile: &VolatileParts) -> Option<Miss> {
    misses(recorded, replayed, volatile).into_iter().next()
}

/// All places at which a request differs from a recorded one.
pub fn misses(recorded: &[u8], replayed: &[u8], volatile: &VolatileParts) -> Vec<Miss> {
    if recorded == replayed {
        return Vec::new();
    }
    let (old, new) = (
        String::from_utf8_lossy(recorded),
        String::from_utf8_lossy(replayed),
    );
    if let (Cow::Owned(_), _) | (_, Cow::Owned(_)) = (&old, &new) {
        // Bytes that are no text have no parts that could be excused.
        let size = |bytes: &[u8]| Some(format!("{} bytes that are no text", bytes.len()));
        return vec![Miss {
            path: "body".to_owned(),
            recorded: size(recorded),
            replayed: size(replayed),
        }];
    }
    let mut placeholders = Placeholders::default();
    let mut is_same = |old: &str, new: &str| {
        volatile.is_same_text(old, new) || placeholders.is_same_text(old, new)
    };
    match json_diff::in_order(&old, &new) {
        Some(changes) => changes
            .into_iter()
            .filter(|change| !volatile.has_place(&change.path))
            .filter(|change| match (&change.before, &change.after) {
                (Some(old), Some(new)) => match (string(old), string(new)) {
                    (Some(old), Some(new)) => !is_same(&old, &new),
                    _ => true,
                },
                _ => true,
            })
            .map(|change| Miss {
                path: change.path.pointer(),
                recorded: change.before,
                replayed: change.after,
            })
            .collect(),
        None => unlike_lines(&old, &new, &mut is_same),
    }
}

/// The text of a JSON string.
fn string(written: &str) -> Option<String> {
    serde_json::from_str(written).ok()
}

/// Compares what is no JSON line by line, the boundary of a multipart body aside.
fn unlike_lines(old: &str, new: &str, is_same: &mut dyn FnMut(&str, &str) -> bool) -> Vec<Miss> {
    let (old_boundary, new_boundary) = (boundary(old), boundary(new));
    let plain = |line: Option<&str>, boundary: Option<&str>| {
        let line = line?;
        Some(match boundary.and_then(|mark| line.strip_prefix(mark)) {
            Some(rest) => format!("--<boundary>{rest}"),
            None => line.to_owned(),
        })
    };
    let (mut old, mut new) = (old.split('\n'), new.split('\n'));
    let mut misses = Vec::new();
    for number in 1.. {
        let (one, two) = (old.next(), new.next());
        if one.is_none() && two.is_none() {
            break;
        }
        let (recorded, replayed) = (plain(one, old_boundary), plain(two, new_boundary));
        let is_excused = match (&recorded, &replayed) {
            (Some(one), Some(two)) => one == two || is_same(one, two),
            _ => false,
        };
        if !is_excused {
            misses.push(Miss {
                path: format!("line {number}"),
                recorded,
                replayed,
            });
        }
    }
    misses
}

/// How the parts of a multipart body begin: with its first line, if the last one ends it.
fn boundary(body: &str) -> Option<&str> {
    const LONGEST: usize = 72;
    let first = body.split('\n').next()?.trim_end_matches('\r');
    let is_mark = first.starts_with("--") && (3..=LONGEST).contains(&first.len());
    let last = body.trim_end().rsplit('\n').next()?;
    (is_mark && last.strip_prefix(first) == Some("--")).then_some(first)
}

#[cfg(test)]
mod tests;
