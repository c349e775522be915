//! One line that says what was done, for the timeline. Never an id.

use serde_json::Value;

use crate::model::{BlockKind, FileChange, FileOp, ModelBlock, Scope, TapePath};

use super::effects::text;

/// The most characters that a title has.
const WIDTH: usize = 80;

/// The title of a tool call, beside which its name stands anyway. Paths below the root are
/// shown from there.
pub(super) fn call(name: &str, arguments: &Value, root: &str) -> String {
    const NAMED: [&str; 9] = [
        "file_path",
        "notebook_path",
        "command",
        "description",
        "pattern",
        "url",
        "query",
        "skill",
        "path",
    ];
    let below_root = |path: &str| {
        let rest = path
            .strip_prefix(root)
            .and_then(|rest| rest.strip_prefix('/'));
        rest.unwrap_or(path).to_owned()
    };
    if name == "Grep" {
        let pattern = text(arguments, "pattern").unwrap_or_default();
        let place = text(arguments, "path").map(|path| format!(" in {}", below_root(path)));
        return cut(&format!("{pattern}{}", place.unwrap_or_default()));
    }
    let named = NAMED.iter().find_map(|name| text(arguments, name));
    let first = || arguments.as_object()?.values().find_map(Value::as_str);
    named
        .or_else(first)
        .map(|words| cut(&below_root(words)))
        .unwrap_or_default()
}

/// The title of a file event.
pub(super) fn file(change: &FileChange) -> String {
    let path = change.path.to_text();
    cut(&match &change.op {
        FileOp::Write if change.outside => format!("{path} is not as the calls left it"),
        FileOp::Remove if change.outside => format!("{path} is gone, and no call removed it"),
        FileOp::Rename { from } => format!("{} → {path}", TapePath::to_text(from)),
        _ => path,
    })
}

/// The title of what may have been written.
pub(super) fn suspicion(scope: &Scope, why: &str) -> String {
    cut(&match scope {
        Scope::All => format!("any file: {why}"),
        Scope::Path(path) => format!("{}: {why}", path.to_text()),
    })
}

/// The title of what a person said: the words, or what came without any.
pub(super) fn prompt(words: &str, images: usize) -> String {
    match images {
        0 => cut(words),
        _ if !words.trim().is_empty() => cut(words),
        1 => "an image".to_owned(),
        _ => format!("{images} images"),
    }
}

/// The title of a response: its words, or else its thoughts, or else what it calls.
pub(super) fn response(blocks: &[ModelBlock]) -> String {
    let of = |kind: BlockKind| {
        let is_said =
            move |block: &&ModelBlock| block.kind == kind && !block.text.trim().is_empty();
        blocks.iter().find(is_said)
    };
    let words = of(BlockKind::Text).or_else(|| of(BlockKind::Thinking));
    if let Some(block) = words {
        return cut(&block.text);
    }
    let calls = blocks
        .iter()
        .filter(|block| block.kind == BlockKind::ToolCall);
    let names: Vec<&str> = calls.map(|block| block.text.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    cut(&format!("calls {}", names.join(", ")))
}

/// The first words of a text, on one line.
pub(super) fn cut(text: &str) -> String {
    let mut line = String::new();
    let mut left = WIDTH;
    for word in text.split_whitespace() {
        let space = usize::from(!line.is_empty());
        let fits = word.chars().nth(left.saturating_sub(space)).is_none();
        if fits && left > space {
            left -= space + word.chars().count();
            line.extend(std::iter::repeat_n(' ', space));
            line.push_str(word);
            continue;
        }
        line.extend(std::iter::repeat_n(' ', space));
        line.extend(word.chars().take(left.saturating_sub(space)));
        line = line.chars().take(WIDTH - 1).collect();
        line.push('…');
        break;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_say_what_was_done() {
        let check = |name, arguments: &str, expected| {
            let arguments = serde_json::from_str(arguments).unwrap();
            assert_eq!(call(name, &arguments, "/w"), expected);
        };
        check(
            "Edit",
            r#"{"file_path":"/w/src/a.rs","old_string":"x"}"#,
            "src/a.rs",
        );
        check("Read", r#"{"file_path":"/etc/x"}"#, "/etc/x");
        check(
            "Bash",
            r#"{"command":"ls -la\n  pwd","description":"d"}"#,
            "ls -la pwd",
        );
        check("Grep", r#"{"pattern":"fn","path":"/w/src"}"#, "fn in src");
        check("mcp__x__y", r#"{"n":1,"what":"that"}"#, "that");
        check("Odd", "{}", "");
    }

    #[test]
    fn what_has_no_words_has_a_title_too() {
        assert_eq!(prompt("look", 1), "look");
        assert_eq!(prompt("\n", 1), "an image");
        assert_eq!(prompt("", 3), "3 images");
        assert_eq!(response(&[]), "");
    }

    #[test]
    fn titles_are_short() {
        let title = cut(&"word ".repeat(100));
        assert_eq!(title.chars().count(), WIDTH);
        assert!(title.ends_with('…'));
    }
}
