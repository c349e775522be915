//! A command's words as one line, as a person would type them to a shell.
//!
//! Nothing here is ever handed to a shell to run.

/// The words of a command, quoted where a shell needs it. One with a NUL, which no command
/// can have, stands as it is.
pub fn command_line<'a>(words: impl IntoIterator<Item = &'a str> + Clone) -> String {
    shlex::try_join(words.clone())
        .unwrap_or_else(|_| words.into_iter().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(command_line(["make", "-j2", "a/b.c"]), "make -j2 a/b.c");
        let line = command_line(["sh", "-c", "echo 1; echo 2", "it's", ""]);
        let words = shlex::split(&line);
        assert_eq!(line, r#"sh -c 'echo 1; echo 2' "it's" ''"#);
        assert_eq!(words.map(|words| words.len()), Some(5));
        assert_eq!(command_line(["a b", "\0"]), "a b \0");
    }
}
