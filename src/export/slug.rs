//! Names that are safe anywhere: in a path, in a shell, in the name of a test.

/// Characters of a slug at most.
const LONGEST: usize = 60;

/// What is left of a text in `[a-z0-9-]`, 1 to 60 characters of it.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars().map(|character| character.to_ascii_lowercase()) {
        if slug.len() == LONGEST {
            break;
        }
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "case" } else { slug }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_text_is_its_slug_is_a_name() {
        let check = |text: &str, expected: &str| assert_eq!(slug(text), expected);
        check(
            "Step 3: Bash `sh tests/run.sh`",
            "step-3-bash-sh-tests-run-sh",
        );
        check("", "case");
        check("../../etc\0/\u{202e}", "etc");
        check("$(id) \"###", "id");
        check("\u{212a}elvin ſ", "elvin");
        let long = slug(&"ab ".repeat(100));
        assert!(long.len() <= LONGEST && long.starts_with("ab-ab") && !long.ends_with('-'));
    }
}
