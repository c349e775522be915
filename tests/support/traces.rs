//! A secret, and what of it stands in files, in whatever encoding.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Made up, in the manner of a real one.
pub(crate) const KEY: &str = "Zk3-fake/9f+QxT7.r2LmW8uYv0c";

/// A text, each of its bytes written in another way.
fn each(text: &str, way: impl Fn(u8) -> String) -> String {
    text.bytes().map(way).collect::<Vec<_>>().concat()
}

pub(crate) fn escaped(text: &str) -> String {
    each(text, |byte| format!("\\u{byte:04x}"))
}

pub(crate) fn percent(text: &str) -> String {
    each(text, |byte| format!("%{byte:02X}"))
}

pub(crate) fn hex(text: &str) -> String {
    each(text, |byte| format!("{byte:02x}"))
}

/// What of the secret stands in bytes, in any encoding.
pub(crate) fn traces(bytes: &[u8]) -> Vec<String> {
    let mut forms = vec![KEY.to_owned(), hex(KEY), percent(KEY), escaped(KEY)];
    forms.push(escaped(KEY).replace('\\', "\\\\"));
    let halves = KEY.split_at(9);
    forms.extend([halves.0.to_owned(), halves.1.to_owned()]);
    for before in ["", "a", "ab"] {
        let encoded = STANDARD.encode(format!("{before}{KEY}"));
        forms.push(encoded.get(4..32).unwrap().to_owned());
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    forms.retain(|form| text.contains(form.as_str()));
    forms
}

/// The traces in everything that lies below a directory.
pub(crate) fn traces_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(traces_below(&path));
        } else if path.is_file() {
            let here = traces(&fs::read(&path).unwrap()).into_iter();
            found.extend(here.map(|form| format!("{}: {form}", path.display())));
        }
    }
    found
}
