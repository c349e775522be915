//! Declared commands, and what is put into them. No shell: a word stays one word, whatever is
//! put into it.

/// A command with places to fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Word>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    /// `{args}`: each argument, a word of its own.
    Arguments,
    Pieces(Vec<Piece>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// `{1}`: an argument, from 1.
    Argument(usize),
    /// `{key}`: the key of what is made now.
    Key,
    /// `{effect-key}`: of a compensation, the key of the effect.
    EffectKey,
    /// `{output}`: of a compensation, what the effect answered, without a newline at its end.
    Output,
}

/// Which command it is: what may stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Command,
    Compensation,
}

/// What is put into the places.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filling<'a> {
    pub(super) key: &'a str,
    pub(super) effect_key: &'a str,
    pub(super) arguments: &'a [String],
    pub(super) output: &'a str,
}

impl Template {
    /// Reads the words of a command.
    pub(super) fn parse(words: &[String], role: Role) -> Result<Self, String> {
        let words: Vec<Word> = words
            .iter()
            .map(|word| parse_word(word, role))
            .collect::<Result<_, _>>()?;
        match words.first() {
            None => Err("a command has at least one word".to_owned()),
            Some(Word::Pieces(pieces)) if matches!(pieces.as_slice(), [Piece::Text(_)]) => {
                Ok(Self(words))
            }
            Some(_) => Err("the program itself is named as it is, without places".to_owned()),
        }
    }

    /// The words to run. Fails where the arguments do not fit the places.
    pub(super) fn fill(&self, filling: &Filling<'_>) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        for word in &self.0 {
            match word {
                Word::Arguments => words.extend_from_slice(filling.arguments),
                Word::Pieces(pieces) => words.push(fill_word(pieces, filling)?),
            }
        }
        Ok(words)
    }

    /// Whether it is of no use without what the effect answered.
    pub(super) fn needs_output(&self) -> bool {
        let has_output = |word: &Word| match word {
            Word::Pieces(pieces) => pieces.contains(&Piece::Output),
            Word::Arguments => false,
        };
        self.0.iter().any(has_output)
    }

    /// Fails where arguments were given that go nowhere.
    pub(super) fn check(&self, arguments: &[String]) -> Result<(), String> {
        if self.0.contains(&Word::Arguments) {
            return Ok(());
        }
        let pieces = self.0.iter().filter_map(|word| match word {
            Word::Pieces(pieces) => Some(pieces.as_slice()),
            Word::Arguments => None,
        });
        let places = pieces.flatten().map(|piece| match piece {
            Piece::Argument(number) => *number,
            _ => 0,
        });
        let most = places.max().unwrap_or(0);
        if arguments.len() > most {
            return Err(match most {
                0 => "it takes no arguments".to_owned(),
                1 => "it takes one argument".to_owned(),
                most => format!("it takes {most} arguments"),
            });
        }
        Ok(())
    }
}

fn parse_word(word: &str, role: Role) -> Result<Word, String> {
    if word.contains('\0') {
        return Err("a word of a command holds no NUL".to_owned());
    }
    if word == "{args}" {
        return Ok(Word::Arguments);
    }
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let inside = after.split_once('}').filter(|(name, _)| is_name(name));
        let Some((name, behind)) = inside else {
            text.push('{');
            rest = after;
            continue;
        };
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(parse_place(name, role)?);
        rest = behind;
    }
    text.push_str(rest);
    if !text.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(Word::Pieces(pieces))
}

/// Whether braces around this make a place. What is between other braces, as in JSON, is text.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.bytes().all(is_part)
}

fn parse_place(name: &str, role: Role) -> Result<Piece, String> {
    let number = name.parse::<usize>().ok().filter(|number| *number > 0);
    match (name, number, role) {
        (_, Some(number), _) => Ok(Piece::Argument(number)),
        ("key", ..) => Ok(Piece::Key),
        ("effect-key", _, Role::Compensation) => Ok(Piece::EffectKey),
        ("output", _, Role::Compensation) => Ok(Piece::Output),
        ("effect-key" | "output", ..) => Err(format!("`{{{name}}}` is known to `compensate` only")),
        ("args", ..) => Err("`{args}` is a word of its own".to_owned()),
        _ => Err(format!(
            "there is no `{{{name}}}`; there are {{key}}, {{args}}, {{1}}, and in `compensate` \
             {{effect-key}} and {{output}}"
        )),
    }
}

fn fill_word(pieces: &[Piece], filling: &Filling<'_>) -> Result<String, String> {
    let mut word = String::new();
    for piece in pieces {
        word.push_str(match piece {
            Piece::Text(text) => text,
            Piece::Key => filling.key,
            Piece::EffectKey => filling.effect_key,
            Piece::Output => filling.output.trim_end_matches(['\n', '\r']),
            Piece::Argument(number) => match filling.arguments.get(number - 1) {
                Some(argument) => argument,
                None => return Err(format!("it needs argument {number}")),
            },
        });
    }
    Ok(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[track_caller]
    fn check(template: &[&str], arguments: &[&str], expected: Result<&[&str], &str>) {
        let arguments = words(arguments);
        let filling = Filling {
            key: "k",
            effect_key: "e",
            arguments: &arguments,
            output: "17\n",
        };
        let template = Template::parse(&words(template), Role::Compensation);
        let found = template.and_then(|template| {
            template.check(&arguments)?;
            template.fill(&filling)
        });
        assert_eq!(found, expected.map(words).map_err(str::to_owned));
    }

    #[test]
    fn places_are_filled_and_a_word_stays_a_word() {
        check(
            &[
                "curl",
                "-d",
                "{1}/{2}",
                "k={key}",
                "{effect-key}",
                "{output}",
            ],
            &["a b", "; rm *"],
            Ok(&["curl", "-d", "a b/; rm *", "k=k", "e", "17"]),
        );
        check(
            &["mail", "{args}"],
            &["a", "b c"],
            Ok(&["mail", "a", "b c"]),
        );
        check(&["mail", "{args}"], &[], Ok(&["mail"]));
        check(&["echo", ""], &[], Ok(&["echo", ""]));
    }

    #[test]
    fn other_braces_are_text() {
        let json = r#"{"a": {"b": [{}]}, "k": "{key}"}"#;
        let filled = r#"{"a": {"b": [{}]}, "k": "k"}"#;
        check(&["curl", "-d", json], &[], Ok(&["curl", "-d", filled]));
        check(
            &["x", "{", "}{", "{ key }"],
            &[],
            Ok(&["x", "{", "}{", "{ key }"]),
        );
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused() {
        check(&["x"], &["a"], Err("it takes no arguments"));
        check(&["x", "{1}"], &["a", "b"], Err("it takes one argument"));
        check(&["x", "{2}"], &["a", "b", "c"], Err("it takes 2 arguments"));
        check(&["x", "{1}", "{2}"], &["a"], Err("it needs argument 2"));
    }

    #[test]
    fn what_is_no_place_is_said() {
        check(&[], &[], Err("a command has at least one word"));
        let program = "the program itself is named as it is, without places";
        check(&["{1}"], &["sh"], Err(program));
        check(&["{args}"], &["sh"], Err(program));
        check(&["x", "-{args}"], &[], Err("`{args}` is a word of its own"));
        let command = Template::parse(&words(&["x", "{output}"]), Role::Command);
        assert_eq!(
            command.unwrap_err(),
            "`{output}` is known to `compensate` only"
        );
        let unknown = Template::parse(&words(&["x", "{ky}"]), Role::Command);
        assert!(unknown.unwrap_err().starts_with("there is no `{ky}`"));
    }
}
