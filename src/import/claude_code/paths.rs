//! Paths as the records write them, on whatever system the run was.

use std::borrow::Cow;

use crate::model::TapePath;

/// The path that a text means, seen from a directory, in a workspace. `C:\\a\\b` is `/C:/a/b`.
pub(super) fn resolve(text: &str, cwd: &str, root: &str) -> Option<TapePath> {
    TapePath::resolve(&plain(text, cwd), &plain(cwd, root), &plain(root, root)).ok()
}

/// A path with `/` between its components, if it, or where it is seen from, is a Windows path.
fn plain<'a>(path: &'a str, seen_from: &str) -> Cow<'a, str> {
    match (has_drive(path), has_drive(seen_from)) {
        (true, _) => Cow::Owned(format!("/{}", path.replace('\\', "/"))),
        (false, true) => Cow::Owned(path.replace('\\', "/")),
        (false, false) => Cow::Borrowed(path),
    }
}

fn has_drive(path: &str) -> bool {
    let mut start = path.bytes();
    start
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic())
        && start.next() == Some(b':')
        && matches!(start.next(), Some(b'\\' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_both_worlds_are_read() {
        let check = |text, cwd, root, expected: &str| {
            assert_eq!(resolve(text, cwd, root).unwrap().to_text(), expected);
        };
        check("/w/a", "/w", "/w", "a");
        check("a\\b", "/w", "/w", "a\\b");
        check("C:\\w\\src\\a.rs", "C:\\w", "C:\\w", "src/a.rs");
        check("src\\a.rs", "C:\\w\\x", "C:\\w", "x/src/a.rs");
        check("D:\\b", "C:\\w", "C:\\w", "/D:/b");
    }
}
