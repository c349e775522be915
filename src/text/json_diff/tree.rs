//! A JSON document as a flat list of its values, each with its text as it was written.
//!
//! Nothing here recurses, so no depth of nesting is too much; nothing is rounded or
//! rewritten: a number is its digits, and of members with one name all are kept.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Instant;

use serde::de::IgnoredAny;

/// The values of a document; one that holds others stands right before them.
pub(super) struct Tree<'a> {
    text: &'a str,
    nodes: Vec<Node<'a>>,
}

/// A value.
struct Node<'a> {
    /// The name under which an object holds it.
    name: Option<Cow<'a, str>>,
    kind: Kind,
    /// Where it stands in the text.
    start: usize,
    end: usize,
    /// The first value that is neither this one nor inside it.
    next: usize,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    /// `true`, `false` or `null`.
    Word,
}

impl<'a> Tree<'a> {
    /// Reads a document; `None` where the text is not JSON.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        // This neither recurses nor keeps anything. From here on the text is known to be
        // well-formed, and cutting it into values has nothing left to check.
        serde_json::from_str::<IgnoredAny>(text).ok()?;
        let bytes = text.as_bytes();
        let mut nodes: Vec<Node<'a>> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut name = None;
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let start = at;
            at += 1;
            let kind = match byte {
                b'{' => Kind::Object,
                b'[' => Kind::Array,
                b'}' | b']' => {
                    let next = nodes.len();
                    if let Some(node) = open.pop().and_then(|index| nodes.get_mut(index)) {
                        (node.end, node.next) = (at, next);
                    }
                    continue;
                }
                b'"' => {
                    at = string_end(bytes, at);
                    if is_name(bytes, at) {
                        name = text.get(start..at).map(decode);
                        continue;
                    }
                    Kind::String
                }
                b'-' | b'0'..=b'9' => {
                    at = token_end(bytes, at);
                    Kind::Number
                }
                b'a'..=b'z' => {
                    at = token_end(bytes, at);
                    Kind::Word
                }
                _ => continue,
            };
            if matches!(kind, Kind::Object | Kind::Array) {
                open.push(nodes.len());
            }
            let next = nodes.len() + 1;
            nodes.push(Node {
                name: name.take(),
                kind,
                start,
                end: at,
                next,
            });
        }
        Some(Self { text, nodes })
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn kind(&self, index: usize) -> Kind {
        self.nodes.get(index).map_or(Kind::Word, |node| node.kind)
    }

    /// A value as it was written.
    pub(super) fn written(&self, index: usize) -> &'a str {
        let node = self.nodes.get(index);
        node.and_then(|node| self.text.get(node.start..node.end))
            .unwrap_or_default()
    }

    /// The name of a member.
    pub(super) fn name(&self, index: usize) -> &str {
        let name = self.nodes.get(index).and_then(|node| node.name.as_deref());
        name.unwrap_or_default()
    }

    /// The values that one holds, in order.
    pub(super) fn inside(&self, index: usize) -> impl Iterator<Item = usize> {
        let next = |index: usize| self.nodes.get(index).map_or(index + 1, |node| node.next);
        let end = next(index);
        std::iter::successors(Some(index + 1), move |inside| Some(next(*inside)))
            .take_while(move |inside| *inside < end)
    }
}

/// A string as it is meant; one that holds half a character stays as it was written.
pub(super) fn decode(written: &str) -> Cow<'_, str> {
    let inside = written
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match inside {
        Some(inside) if !inside.contains('\\') => Cow::Borrowed(inside),
        _ => match serde_json::from_str::<String>(written) {
            Ok(text) => Cow::Owned(text),
            Err(_) => Cow::Borrowed(written),
        },
    }
}

/// Behind the closing quote of a string whose inside starts here.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(found) = bytes
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

fn token_end(bytes: &[u8], start: usize) -> usize {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().take_while(is_part).count()
}

/// Whether the string that ends here names a member.
fn is_name(bytes: &[u8], end: usize) -> bool {
    let rest = bytes.get(end..).unwrap_or_default();
    rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// Gives equal values equal numbers, whichever document they stand in: an order of members
/// and the blanks between values make no difference, the writing of a number does.
#[derive(Default)]
pub(super) struct Identities {
    shapes: HashMap<Shape, u32>,
}

#[derive(PartialEq, Eq, Hash)]
enum Shape {
    Scalar(Kind, Box<str>),
    Array(Box<[u32]>),
    /// By name, and by order where a name stands twice.
    Object(Box<[(Box<str>, u32)]>),
}

impl Identities {
    /// The numbers of all values of a document; `None` where the time is up before.
    pub(super) fn of(&mut self, tree: &Tree<'_>, deadline: Instant) -> Option<Vec<u32>> {
        let mut numbers = vec![0; tree.len()];
        for index in (0..tree.len()).rev() {
            if index % 1024 == 0 && Instant::now() > deadline {
                return None;
            }
            let number = |inside: usize| numbers.get(inside).copied().unwrap_or(0);
            let shape = match tree.kind(index) {
                Kind::Object => {
                    let members = tree.inside(index);
                    let mut members: Vec<(Box<str>, u32)> = members
                        .map(|inside| (tree.name(inside).into(), number(inside)))
                        .collect();
                    members.sort_by(|one, two| one.0.cmp(&two.0));
                    Shape::Object(members.into())
                }
                Kind::Array => Shape::Array(tree.inside(index).map(number).collect()),
                Kind::String => Shape::Scalar(Kind::String, decode(tree.written(index)).into()),
                kind => Shape::Scalar(kind, tree.written(index).into()),
            };
            let next = u32::try_from(self.shapes.len()).unwrap_or(u32::MAX);
            let number = *self.shapes.entry(shape).or_insert(next);
            if let Some(place) = numbers.get_mut(index) {
                *place = number;
            }
        }
        Some(numbers)
    }
}
