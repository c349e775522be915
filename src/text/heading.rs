//! Which line a part of a text stands under: the function, the class, the chapter.
//!
//! A guess by indentation and shape, the same for all languages. Nothing is parsed, and only
//! a bounded number of lines is looked at.

/// Lines that are looked at, at most.
const FARTHEST: usize = 400;

/// Words that begin a line of code without naming anything.
const CONTROL: [&str; 14] = [
    "if", "else", "for", "while", "loop", "match", "switch", "case", "try", "catch", "do",
    "return", "with", "unless",
];

/// The nearest line above that heads what stands at `indent` columns: one further left that
/// opens something and names it. `above` gives the lines upwards.
pub fn enclosing<'a>(above: impl Iterator<Item = &'a [u8]>, indent: usize) -> Option<&'a [u8]> {
    let mut limit = indent;
    for line in above.take(FARTHEST) {
        let here = indent_of(line);
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        if text.starts_with(b"#") && here == 0 && text.contains(&b' ') && !text.ends_with(b"]") {
            return Some(text);
        }
        if here >= limit {
            continue;
        }
        if opens(text) {
            return Some(text);
        }
        // What stands no further left than this does not head what is below it; the end of a
        // list of parameters is a part of what heads it.
        if !text.starts_with(b")") {
            limit = here;
        }
    }
    None
}

/// The columns before the first word of a line; a tab counts as four.
pub fn indent_of(line: &[u8]) -> usize {
    let blanks = line.iter().map_while(|byte| match byte {
        b' ' => Some(1),
        b'\t' => Some(4),
        _ => None,
    });
    blanks.sum()
}

fn opens(text: &[u8]) -> bool {
    let is_open = text.ends_with(b"{") || text.ends_with(b":") || text.ends_with(b"(");
    let word = text
        .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .next()
        .unwrap_or_default();
    let is_control = CONTROL.iter().any(|control| control.as_bytes() == word);
    is_open && !word.is_empty() && !is_control
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, indent: usize, expected: Option<&str>) {
        let above = text.lines().rev().map(str::as_bytes);
        let found = enclosing(above, indent).map(|line| String::from_utf8_lossy(line));
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn the_function_the_class_and_the_chapter_are_found() {
        check(
            "impl A {\n    fn next(&mut self) {\n        if a {\n            b",
            12,
            Some("fn next(&mut self) {"),
        );
        check(
            "class A:\n    x = 1\n    def f(self):\n        for a in b:\n",
            8,
            Some("def f(self):"),
        );
        check(
            "# Title\n\nwords\n## Part two\n\nmore words\n",
            0,
            Some("## Part two"),
        );
        check("fn a() {\n}\n\nuse b;\n", 4, None);
        check(
            "#[derive(Debug)]\nstruct A {\n    a: u8,\n",
            4,
            Some("struct A {"),
        );
        check("fn long(\n    a: u8,\n) -> u8 {\n", 4, Some("fn long("));
        check("", 4, None);
    }

    #[test]
    fn only_so_many_lines_are_looked_at() {
        let far = format!("fn a() {{\n{}", "    b;\n".repeat(FARTHEST + 1));
        check(&far, 4, None);
    }
}
