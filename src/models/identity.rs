//! When two requests are the same: the one place that decides it.
//!
//! Method and path with its query must be equal. Bodies are compared as JSON: the order of
//! members and blanks between them do not count; the order of elements does, and so does how a
//! number is written: `1` is neither `"1"` nor `1.0`, and no number is rounded. What differs from
//! run to run by itself is left out by a list of paths, which comes from the tape and the user:
//! nothing is left out because of how it looks. Bodies that are no JSON are compared byte by
//! byte, boundaries of multipart bodies aside. Headers do not count.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// Deeper than this, a value is compared as it was written.
const DEEPEST: usize = 128;

/// What stands in a canonical form for a part that does not count.
const LEFT_OUT: &str = "\"<volatile>\"";

/// Parts of a request that do not count.
///
/// A part is named by the names and numbers that lead to it, each after a `/`, as JSON Pointer
/// writes them; `*` stands for every name or number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolatileParts(Vec<Vec<String>>);

impl VolatileParts {
    /// Of paths. `None`: one of them does not begin with `/`.
    pub fn new(paths: &[String]) -> Option<Self> {
        let steps = |path: &String| {
            let path = path.strip_prefix('/')?;
            let step = |step: &str| step.replace("~1", "/").replace("~0", "~");
            Some(path.split('/').map(step).collect())
        };
        paths.iter().map(steps).collect::<Option<_>>().map(Self)
    }

    fn holds(&self, at: &[String]) -> bool {
        let is_it = |path: &Vec<String>| {
            path.len() == at.len()
                && path
                    .iter()
                    .zip(at)
                    .all(|(wanted, step)| wanted == "*" || wanted == step)
        };
        self.0.iter().any(is_it)
    }
}

/// A request, as far as it counts. Equal ones are the same request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    method: String,
    path: String,
    body: Vec<u8>,
}

impl Identity {
    /// Of a request. `kind` is its `content-type`.
    pub fn of(method: &str, path: &str, kind: &str, body: &[u8], volatile: &VolatileParts) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            body: canonical(kind, body, volatile),
        }
    }

    /// Whether both ask for the same thing of the same place, whatever they say.
    pub fn is_of_a_kind(&self, other: &Self) -> bool {
        self.method == other.method && self.path == other.path
    }

    /// The body, as far as it counts.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

fn canonical(kind: &str, body: &[u8], volatile: &VolatileParts) -> Vec<u8> {
    if let Ok(value) = serde_json::from_slice::<&RawValue>(body) {
        let mut out = String::with_capacity(body.len());
        put(value, &mut Vec::new(), volatile, &mut out);
        return out.into_bytes();
    }
    match boundary_of(kind) {
        Some(boundary) => without(body, boundary.as_bytes()),
        None => body.to_vec(),
    }
}

fn put(value: &RawValue, at: &mut Vec<String>, volatile: &VolatileParts, out: &mut String) {
    let written = value.get();
    if volatile.holds(at) {
        out.push_str(LEFT_OUT);
        return;
    }
    let done = match written.as_bytes().first() {
        _ if at.len() >= DEEPEST => None,
        Some(b'{') => put_object(written, at, volatile, out),
        Some(b'[') => put_array(written, at, volatile, out),
        // The same characters, however they are escaped.
        Some(b'"') => serde_json::from_str::<String>(written)
            .ok()
            .map(|text| out.push_str(&serde_json::Value::from(text).to_string())),
        _ => None,
    };
    // What serde cannot hold, a lone surrogate say, stays as it was written.
    if done.is_none() {
        out.push_str(written);
    }
}

fn put_object(
    written: &str,
    at: &mut Vec<String>,
    volatile: &VolatileParts,
    out: &mut String,
) -> Option<()> {
    // Of members with one name the last one counts, as for whoever reads it.
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(written).ok()?;
    let mut comma = "";
    out.push('{');
    for (name, member) in members {
        out.push_str(std::mem::replace(&mut comma, ","));
        out.push_str(&serde_json::Value::from(name.as_str()).to_string());
        out.push(':');
        at.push(name);
        put(member, at, volatile, out);
        at.pop();
    }
    out.push('}');
    Some(())
}

fn put_array(
    written: &str,
    at: &mut Vec<String>,
    volatile: &VolatileParts,
    out: &mut String,
) -> Option<()> {
    let elements: Vec<&RawValue> = serde_json::from_str(written).ok()?;
    let mut comma = "";
    out.push('[');
    for (index, element) in elements.into_iter().enumerate() {
        out.push_str(std::mem::replace(&mut comma, ","));
        at.push(index.to_string());
        put(element, at, volatile, out);
        at.pop();
    }
    out.push(']');
    Some(())
}

/// The boundary that a `content-type` names.
fn boundary_of(kind: &str) -> Option<&str> {
    let mut parts = kind.split(';').map(str::trim);
    parts.next().filter(|kind| kind.starts_with("multipart/"))?;
    let boundary = parts.find_map(|part| part.strip_prefix("boundary="))?;
    let boundary = boundary.trim_matches('"');
    (!boundary.is_empty()).then_some(boundary)
}

fn without(body: &[u8], boundary: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = memchr::memmem::find(rest, boundary) {
        let (before, behind) = rest.split_at(at);
        out.extend_from_slice(before);
        out.extend_from_slice(LEFT_OUT.as_bytes());
        rest = behind.get(boundary.len()..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(kind: &str, body: &str, volatile: &[&str]) -> Identity {
        let paths: Vec<String> = volatile.iter().map(|path| (*path).to_owned()).collect();
        let volatile = VolatileParts::new(&paths).unwrap();
        Identity::of("POST", "/v1/messages", kind, body.as_bytes(), &volatile)
    }

    #[track_caller]
    fn check(one: &str, two: &str, volatile: &[&str], is_same: bool) {
        let kind = "application/json";
        let (one, two) = (identity(kind, one, volatile), identity(kind, two, volatile));
        assert_eq!(one == two, is_same);
    }

    #[test]
    fn json_is_compared_by_what_it_says() {
        let request = r#"{"m":"x","n":1,"t":["p","q"]}"#;
        check(
            request,
            r#" { "t": ["p", "q"], "n": 1, "m": "\u0078" } "#,
            &[],
            true,
        );
        check(request, r#"{"m":"x","n":1,"t":["q","p"]}"#, &[], false);
        check(request, r#"{"m":"x","n":"1","t":["p","q"]}"#, &[], false);
        check(request, r#"{"m":"x","n":1.0,"t":["p","q"]}"#, &[], false);
        check(
            request,
            r#"{"m":"x","n":1,"t":["p","q"],"u":null}"#,
            &[],
            false,
        );
        let (one, two) = ("12345678901234567890", "12345678901234567891");
        check(&format!("[{one}]"), &format!("[{two}]"), &[], false);
        check("[0.1]", "[0.10000000000000000001]", &[], false);
        check("\"a\"", "\"a", &[], false);
        check(r#""\ud83d""#, r#""\ud83d""#, &[], true);
    }

    #[test]
    fn what_is_listed_does_not_count() {
        let one = r#"{"metadata":{"user_id":"1"},"messages":[{"id":"a","x":1}]}"#;
        let two = r#"{"metadata":{"user_id":"2"},"messages":[{"id":"b","x":1}]}"#;
        check(one, two, &[], false);
        check(one, two, &["/metadata/user_id"], false);
        check(one, two, &["/metadata/user_id", "/messages/*/id"], true);
        check(
            one,
            r#"{"messages":[{"id":"a","x":1}]}"#,
            &["/metadata"],
            false,
        );
        assert_eq!(VolatileParts::new(&["metadata".to_owned()]), None);
    }

    #[test]
    fn boundaries_do_not_count() {
        let of = |boundary: &str, text: &str| {
            let kind = format!("multipart/form-data; boundary={boundary}");
            identity(
                &kind,
                &format!("--{boundary}\r\n\r\n{text}\r\n--{boundary}--"),
                &[],
            )
        };
        assert_eq!(of("AAA", "1"), of("BBB", "1"));
        assert_ne!(of("AAA", "1"), of("BBB", "2"));
    }

    #[test]
    fn depth_has_an_end() {
        let deep = |inside: &str| format!("{}{inside}{}", "[".repeat(5000), "]".repeat(5000));
        check(&deep("1"), &deep("1"), &[], true);
        check(&deep("1"), &deep("2"), &[], false);
    }
}
