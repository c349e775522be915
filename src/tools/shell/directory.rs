//! Where a command leaves the shell.

use super::script::Script;
use super::{Directory, seen_from};

/// Where the shell is after a script that succeeded. A `cd` that may not have run, or ran in
/// a shell of its own, counts all the same: what is not certain is elsewhere.
pub(super) fn after(script: &Script) -> Directory {
    let mut at = Directory::Same;
    for command in &script.commands {
        let words: Vec<Option<&str>> = command.words.iter().map(|word| word.literal()).collect();
        at = match words[..] {
            [Some("cd"), Some(path)] if script.is_plain && path != "-" => match &at {
                Directory::At(from) => Directory::At(seen_from(from, path)),
                Directory::Elsewhere if !path.starts_with('/') => Directory::Elsewhere,
                Directory::Same | Directory::Elsewhere => Directory::At(path.to_owned()),
            },
            [Some("cd" | "pushd" | "popd") | None, ..] => Directory::Elsewhere,
            _ => at,
        };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::shell::read;

    #[test]
    fn the_shell_is_followed_as_far_as_the_text_tells() {
        let check =
            |command: &str, expected| assert_eq!(read(command).shell, expected, "{command}");
        let at = |path: &str| Directory::At(path.to_owned());
        check("ls", Directory::Same);
        check("cd a && cd b; ls", at("a/b"));
        check("cd $x && cd b", Directory::Elsewhere);
        check("cd $x && cd /b", at("/b"));
        check("cd", Directory::Elsewhere);
        check("cd -", Directory::Elsewhere);
        check("(cd a; ls)", Directory::Elsewhere);
        check("$x", Directory::Elsewhere);
    }
}
