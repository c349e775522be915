//! Takes a shell command apart into words, redirections and joints.
//!
//! Only what plain commands need is told apart. Everything else (groups, loops, conditions,
//! functions, unclosed quotes) is stepped over and remembered: such a script is not plain,
//! and its words are good for naming suspects, not for saying what it does.

use super::script::{Joint, Nature, Redirect, Script, Sign, Simple, Word};

/// Words that begin or end what is not a simple command, where a command is expected.
const KEYWORDS: [&str; 19] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "function", "time", "{", "}", "!", "[[",
];

/// Takes a command apart. Never fails; see [`Script::is_plain`].
pub(super) fn script(command: &str) -> Script {
    let mut lexer = Lexer {
        rest: command,
        script: Script {
            commands: Vec::new(),
            is_plain: true,
        },
        open: Simple::default(),
        heredocs: Vec::new(),
    };
    lexer.run();
    lexer.script
}

struct Lexer<'a> {
    rest: &'a str,
    script: Script,
    /// The command that is being read.
    open: Simple,
    /// Here-documents whose text begins after the next newline: the index of the redirect
    /// among those of the open command, and how it ends.
    heredocs: Vec<Heredoc>,
}

struct Heredoc {
    command: usize,
    redirect: usize,
    delimiter: String,
    is_quoted: bool,
    strips_tabs: bool,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(next) = self.rest.chars().next() {
            match next {
                ' ' | '\t' | '\r' => self.skip(1),
                '\n' => {
                    self.skip(1);
                    self.close(Joint::Then);
                    self.read_heredocs();
                }
                '#' => {
                    let line = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.skip(line);
                }
                '\\' if self.rest.starts_with("\\\n") => self.skip(2),
                _ if self.read_operator() => {}
                _ => self.read_word(),
            }
        }
        self.close(Joint::End);
        let last = self.script.commands.last_mut();
        if let Some(last) = last.filter(|last| last.joint == Joint::Then) {
            last.joint = Joint::End;
        }
        self.script.is_plain &= self.heredocs.is_empty();
    }

    /// Reads a joint, a redirection or a parenthesis, if one stands here.
    fn read_operator(&mut self) -> bool {
        const JOINTS: [(&str, Joint); 7] = [
            ("&&", Joint::And),
            ("||", Joint::Or),
            ("|&", Joint::Pipe),
            ("|", Joint::Pipe),
            (";;", Joint::Then),
            (";", Joint::Then),
            ("&", Joint::Background),
        ];
        const SIGNS: [(&str, Sign); 12] = [
            ("&>>", Sign::BothTo),
            ("&>", Sign::BothTo),
            ("<<<", Sign::From),
            ("<<-", Sign::Here),
            ("<<", Sign::Here),
            ("<>", Sign::To),
            ("<&", Sign::Duplicate),
            ("<", Sign::From),
            (">>", Sign::Append),
            (">|", Sign::To),
            (">&", Sign::Duplicate),
            (">", Sign::To),
        ];
        if self.rest.starts_with(['(', ')']) {
            self.skip(1);
            self.script.is_plain = false;
            self.close(Joint::Then);
            return true;
        }
        let signs = SIGNS.iter().find(|(text, _)| self.rest.starts_with(text));
        if let Some((text, sign)) = signs {
            self.skip(text.len());
            self.read_redirect(*sign, *text == "<<-");
            return true;
        }
        let joints = JOINTS.iter().find(|(text, _)| self.rest.starts_with(text));
        if let Some((text, joint)) = joints {
            self.skip(text.len());
            self.script.is_plain &= *text != ";;";
            self.close(*joint);
            return true;
        }
        false
    }

    fn read_redirect(&mut self, sign: Sign, strips_tabs: bool) {
        // Digits right before the sign are a descriptor, and were read as a word.
        let descriptor = None;
        self.skip_blanks();
        let before = self.rest;
        let target = self.word();
        if sign == Sign::Here {
            let raw = before.strip_suffix(self.rest).unwrap_or_default();
            self.heredocs.push(Heredoc {
                command: self.script.commands.len(),
                redirect: self.open.redirects.len(),
                delimiter: target.text.clone(),
                is_quoted: raw.contains(['\'', '"', '\\']),
                strips_tabs,
            });
        }
        self.script.is_plain &= !target.text.is_empty() || self.rest.len() < before.len();
        self.open.redirects.push(Redirect {
            descriptor,
            sign,
            target,
        });
    }

    fn read_word(&mut self) {
        let word = self.word();
        let is_descriptor = self.rest.starts_with(['<', '>'])
            && !word.text.is_empty()
            && word.text.bytes().all(|byte| byte.is_ascii_digit());
        if is_descriptor && self.read_operator() {
            if let Some(redirect) = self.open.redirects.last_mut() {
                redirect.descriptor = Some(word.text);
            }
            return;
        }
        self.open.words.push(word);
    }

    /// Reads a word up to a blank or an operator. May read nothing.
    fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(next) = self.rest.chars().next() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' => {
                    self.skip(1);
                    let text = self.until('\'');
                    word.text.push_str(text);
                }
                '"' => {
                    self.skip(1);
                    self.double_quoted(&mut word);
                }
                '\\' => {
                    self.skip(1);
                    if let Some(escaped) = self.rest.chars().next() {
                        self.skip(escaped.len_utf8());
                        if escaped != '\n' {
                            word.text.push(escaped);
                        }
                    }
                }
                '$' | '`' => self.expansion(&mut word),
                _ => {
                    let expands =
                        matches!(next, '*' | '?' | '[') || (next == '~' && word.text.is_empty());
                    if expands {
                        word.nature = word.nature.max(Nature::Expands);
                    }
                    word.text.push(next);
                    self.skip(next.len_utf8());
                }
            }
        }
        if word.text.contains('{') && (word.text.contains(',') || word.text.contains("..")) {
            word.nature = word.nature.max(Nature::Expands);
        }
        word
    }

    fn double_quoted(&mut self, word: &mut Word) {
        while let Some(next) = self.rest.chars().next() {
            match next {
                '"' => {
                    self.skip(1);
                    return;
                }
                '$' | '`' => self.expansion(word),
                '\\' => {
                    self.skip(1);
                    let escaped = self.rest.chars().next();
                    match escaped {
                        Some('\n') => self.skip(1),
                        Some(c @ ('$' | '`' | '"' | '\\')) => {
                            word.text.push(c);
                            self.skip(1);
                        }
                        _ => word.text.push('\\'),
                    }
                }
                _ => {
                    word.text.push(next);
                    self.skip(next.len_utf8());
                }
            }
        }
        self.script.is_plain = false;
    }

    /// Steps over what begins with `$` or a backquote; its text is kept as it stands.
    fn expansion(&mut self, word: &mut Word) {
        let before = self.rest;
        if self.rest.starts_with('`') {
            self.skip(1);
            self.until('`');
            word.nature = Nature::Runs;
        } else if self.rest.starts_with("$(") {
            self.skip(2);
            self.until_closed();
            word.nature = Nature::Runs;
        } else {
            self.skip(1);
            let next = self.rest.chars().next();
            let expands = next.is_some_and(|c| c.is_alphanumeric() || "_{@*#?$!-'\"".contains(c));
            if self.rest.starts_with('{') {
                let inner = self.until('}');
                if inner.contains(['`', '(']) {
                    word.nature = Nature::Runs;
                }
            }
            if expands {
                word.nature = word.nature.max(Nature::Expands);
            }
        }
        word.text
            .push_str(before.strip_suffix(self.rest).unwrap_or_default());
    }

    /// Takes the text up to a mark, and the mark.
    fn until(&mut self, mark: char) -> &str {
        let Some((text, rest)) = self.rest.split_once(mark) else {
            self.script.is_plain = false;
            return std::mem::take(&mut self.rest);
        };
        self.rest = rest;
        text
    }

    /// Steps behind the parenthesis that closes the open one.
    fn until_closed(&mut self) {
        let mut depth = 1;
        for (at, c) in self.rest.char_indices() {
            depth += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            if depth == 0 {
                self.skip(at + 1);
                return;
            }
        }
        self.rest = "";
        self.script.is_plain = false;
    }

    /// Ends the open command.
    fn close(&mut self, joint: Joint) {
        let mut command = std::mem::take(&mut self.open);
        let is_keyword = |word: &Word| KEYWORDS.contains(&word.text.as_str());
        while command.words.first().is_some_and(is_keyword) {
            command.words.remove(0);
            self.script.is_plain = false;
        }
        if command.words.is_empty() && command.redirects.is_empty() {
            self.script.is_plain &= matches!(joint, Joint::Then | Joint::End);
            return;
        }
        command.joint = joint;
        self.script.commands.push(command);
    }

    /// Reads the texts of the here-documents that the line before announced.
    fn read_heredocs(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let mut text = String::new();
            let mut is_closed = false;
            while !self.rest.is_empty() && !is_closed {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                let line = if heredoc.strips_tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                is_closed = line == heredoc.delimiter;
                if !is_closed {
                    text.push_str(line);
                    text.push('\n');
                }
            }
            self.script.is_plain &= is_closed;
            let nature = match () {
                () if heredoc.is_quoted => Nature::Literal,
                () if text.contains('`') || text.contains("$(") => Nature::Runs,
                () if text.contains(['$', '\\']) => Nature::Expands,
                () => Nature::Literal,
            };
            let command = self.script.commands.get_mut(heredoc.command);
            if let Some(redirect) =
                command.and_then(|command| command.redirects.get_mut(heredoc.redirect))
            {
                redirect.target = Word { text, nature };
            }
        }
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The words of each command with `$` before one that expands and `!` before one that
    /// runs something; redirections by their sign.
    fn shown(command: &str) -> String {
        let script = script(command);
        let word = |word: &Word| {
            let sign = match word.nature {
                Nature::Literal => "",
                Nature::Expands => "$",
                Nature::Runs => "!",
            };
            format!("{sign}{} ", word.text)
        };
        let redirect = |redirect: &Redirect| {
            let descriptor = redirect.descriptor.as_deref().unwrap_or_default();
            let (sign, target) = (redirect.sign, &redirect.target.text);
            format!("<{descriptor}{sign:?} {target:?}> ")
        };
        let simple = |simple: &Simple| {
            let words: String = simple.words.iter().map(word).collect();
            let redirects: String = simple.redirects.iter().map(redirect).collect();
            format!("{words}{redirects}{:?}; ", simple.joint)
        };
        let text: String = script.commands.iter().map(simple).collect();
        let plain = if script.is_plain { "" } else { "not plain: " };
        format!("{plain}{}", text.trim_end())
    }

    #[test]
    fn commands_are_taken_apart() {
        let check =
            |command: &str, expected: &str| assert_eq!(shown(command), expected, "{command}");
        check("a 'b c' \"d\\\"e\"f\\ g", "a b c d\"ef g End;");
        check(
            "a && b || c | d; e & f\n",
            "a And; b Or; c Pipe; d Then; e Background; f End;",
        );
        check(
            "a *.x ~/y \"$z\" '$z' ${q} a$",
            "a $*.x $~/y $$z $z $${q} a$ End;",
        );
        check("a $(b c) `d` \"$(e)\"", "a !$(b c) !`d` !$(e) End;");
        check("a {b,c} {} x{1..2}", "a ${b,c} {} $x{1..2} End;");
        check(
            "a >b 2>&1 <c >>d &>e",
            "a <To \"b\"> <2Duplicate \"1\"> <From \"c\"> <Append \"d\"> <BothTo \"e\"> End;",
        );
        check("a # b\nc", "a Then; c End;");
        check("a \\\n b", "a b End;");
        check("a &&\n b", "a And; b End;");
        check(
            "cat <<'E' > f && x\n$a\nE\ny",
            "cat <Here \"$a\\n\"> <To \"f\"> And; x Then; y End;",
        );
        check("cat <<-E\n\ta\n\tE\n", "cat <Here \"a\\n\"> End;");
    }

    #[test]
    fn what_is_not_plain_is_remembered_and_stepped_over() {
        let check =
            |command: &str, expected: &str| assert_eq!(shown(command), expected, "{command}");
        check("(a)", "not plain: a End;");
        check("if a; then b; fi", "not plain: a Then; b End;");
        check("for x in y; do z; done", "not plain: x in y Then; z End;");
        check("a 'b", "not plain: a b End;");
        check("a <(b)", "not plain: a <From \"\"> Then; b End;");
        check("cat <<E\na", "not plain: cat <Here \"a\\n\"> End;");
        check("&& a", "not plain: a End;");
        check("", "");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        /// No text makes the lexer panic or spin, and no letter of a word gets lost.
        #[test]
        fn any_text_is_taken_apart(command in "[ab<>&|;(){}$`'\"\\\\ \n#é0]{0,24}") {
            let script = script(&command);
            let plain = command.bytes().all(|byte| b"ab0; \n".contains(&byte));
            if plain {
                let letters = script.commands.iter().flat_map(|simple| &simple.words).map(|word| word.text.len()).sum::<usize>();
                prop_assert_eq!(letters, command.bytes().filter(|byte| b"ab0".contains(byte)).count());
            }
        }
    }
}
