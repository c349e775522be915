//! The colours of code, found out behind the text and never before it.
//!
//! A line's colours depend on all lines before it, so the parser's state is kept every
//! `STRIDE` lines. Where the lines before are too many to read them first, it starts
//! anew a little above: colours may then be wrong for some lines, the text never is.
//! What a colour looks like is for the theme to say.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::document::{Document, DocumentRow};
use crate::model::TapePath;

/// Lines between two kept states of the parser.
pub(super) const STRIDE: usize = 256;

/// At most this many lines are read before the first one that is wanted.
const LONGEST_WAY: usize = 16 * STRIDE;

/// Longer lines stay plain.
const LONGEST_LINE: usize = 2048;

/// What a piece of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Token {
    /// A word of the language.
    Keyword,
    /// Text in quotes.
    Text,
    /// A number or another constant.
    Constant,
    /// What the machine does not read.
    Comment,
    /// The name of something that is called.
    Function,
    /// The name of a type.
    Type,
    /// A heading of prose.
    Heading,
}

/// The colours of some lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Painted {
    /// The first line, from 0.
    pub first: usize,
    /// The pieces of each line, in bytes of its safe text; what is left out is plain.
    pub lines: Vec<Vec<(Range<usize>, Token)>>,
}

impl Painted {
    /// The pieces of a line, counted from 0.
    pub fn line(&self, index: usize) -> &[(Range<usize>, Token)] {
        let line = index
            .checked_sub(self.first)
            .and_then(|at| self.lines.get(at));
        line.map_or(&[], Vec::as_slice)
    }
}

/// Paints documents, and remembers its way through the last one.
#[derive(Debug, Default)]
pub struct Highlighter {
    last: Option<Way>,
}

/// How far a document has been read.
#[derive(Debug)]
struct Way {
    document: Arc<Document>,
    /// The state before every [`STRIDE`]th line.
    states: Vec<Parser>,
}

#[derive(Clone, Debug)]
struct Parser {
    state: ParseState,
    scopes: ScopeStack,
}

impl Highlighter {
    /// The colours of these lines; `None` when `is_cancelled` says to stop. A language
    /// that is not known has no colours.
    pub fn paint(
        &mut self,
        document: &Arc<Document>,
        path: &TapePath,
        lines: Range<usize>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Option<Painted> {
        let mut painted = Painted {
            first: lines.start,
            lines: Vec::new(),
        };
        let Some(syntax) = syntax_of(document, path) else {
            return Some(painted);
        };
        let (mut parser, mut next) = self.state_before(document, syntax, lines.start);
        while next < lines.end {
            if next.is_multiple_of(STRIDE) {
                if is_cancelled() {
                    return None;
                }
                self.keep(document, next, &parser);
            }
            let pieces = parser.read(document, next);
            if next >= lines.start {
                painted.lines.push(pieces);
            }
            next += 1;
        }
        Some(painted)
    }

    /// The nearest state from which a line can be reached, and the line it stands before.
    fn state_before(
        &mut self,
        document: &Arc<Document>,
        syntax: &SyntaxReference,
        line: usize,
    ) -> (Parser, usize) {
        let fresh = || Parser {
            state: ParseState::new(syntax),
            scopes: ScopeStack::new(),
        };
        let is_same = |way: &Way| Arc::ptr_eq(&way.document, document);
        if !self.last.as_ref().is_some_and(is_same) {
            self.last = Some(Way {
                document: Arc::clone(document),
                states: Vec::new(),
            });
        }
        let states = self.last.as_ref().map_or(&[][..], |way| &way.states);
        let nearest = (line / STRIDE).min(states.len().saturating_sub(1));
        let start = nearest * STRIDE;
        if line - start > LONGEST_WAY {
            return (fresh(), (line / STRIDE).saturating_sub(1) * STRIDE);
        }
        (states.get(nearest).cloned().unwrap_or_else(fresh), start)
    }

    /// Keeps the state before a line, if all before it are kept.
    fn keep(&mut self, document: &Arc<Document>, line: usize, parser: &Parser) {
        if let Some(way) = &mut self.last
            && Arc::ptr_eq(&way.document, document)
            && way.states.len() * STRIDE == line
        {
            way.states.push(parser.clone());
        }
    }
}

impl Parser {
    /// Reads a line and returns its pieces.
    fn read(&mut self, document: &Document, line: usize) -> Vec<(Range<usize>, Token)> {
        let Some(DocumentRow::Line { text, .. }) = document.row(line, LONGEST_LINE) else {
            return Vec::new();
        };
        if text.as_str().len() > LONGEST_LINE {
            return Vec::new();
        }
        let text = format!("{text}\n");
        let Ok(operations) = self.state.parse_line(&text, syntaxes()) else {
            return Vec::new();
        };
        let mut pieces: Vec<(Range<usize>, Token)> = Vec::new();
        let mut start = 0;
        let end = text.len() - 1;
        let mut put = |range: Range<usize>, scopes: &ScopeStack| {
            let range = range.start..range.end.min(end);
            let Some(token) = token_of(scopes).filter(|_| !range.is_empty()) else {
                return;
            };
            match pieces.last_mut() {
                Some((last, of)) if last.end == range.start && *of == token => {
                    last.end = range.end;
                }
                _ => pieces.push((range, token)),
            }
        };
        for (at, operation) in operations {
            put(start..at, &self.scopes);
            start = at;
            if self.scopes.apply(&operation).is_err() {
                return pieces;
            }
        }
        put(start..end, &self.scopes);
        pieces
    }
}

fn syntaxes() -> &'static SyntaxSet {
    static SYNTAXES: OnceLock<SyntaxSet> = OnceLock::new();
    SYNTAXES.get_or_init(two_face::syntax::extra_newlines)
}

/// The language of a file: by its name, its extension, or its first line.
fn syntax_of(document: &Document, path: &TapePath) -> Option<&'static SyntaxReference> {
    let name = String::from_utf8_lossy(path.name()).into_owned();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let syntaxes = syntaxes();
    syntaxes
        .find_syntax_by_extension(&name)
        .or_else(|| syntaxes.find_syntax_by_extension(extension?))
        .or_else(|| {
            let first = document.line(0)?;
            let first = first.get(..first.len().min(LONGEST_LINE))?;
            syntaxes.find_syntax_by_first_line(&String::from_utf8_lossy(first))
        })
        .filter(|syntax| syntax.name != "Plain Text")
}

/// What the innermost scope that says something says.
fn token_of(scopes: &ScopeStack) -> Option<Token> {
    static TABLE: OnceLock<Vec<(Scope, Option<Token>)>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let scope = |(name, token)| Some((Scope::new(name).ok()?, token));
        MEANINGS.into_iter().filter_map(scope).collect()
    });
    let meaning = |scope: &Scope| {
        let meant = table.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
        meant.map(|(_, token)| *token)
    };
    scopes.as_slice().iter().rev().find_map(meaning).flatten()
}

/// What scopes mean; of a scope's prefixes the first in this table counts.
const MEANINGS: [(&str, Option<Token>); 24] = [
    ("comment", Some(Token::Comment)),
    ("string", Some(Token::Text)),
    ("constant", Some(Token::Constant)),
    ("keyword.operator.word", Some(Token::Keyword)),
    ("keyword.operator", None),
    ("keyword", Some(Token::Keyword)),
    ("storage", Some(Token::Keyword)),
    ("entity.name.function", Some(Token::Function)),
    ("entity.name.type", Some(Token::Type)),
    ("entity.name.class", Some(Token::Type)),
    ("entity.name.struct", Some(Token::Type)),
    ("entity.name.enum", Some(Token::Type)),
    ("entity.name.trait", Some(Token::Type)),
    ("entity.name.impl", Some(Token::Type)),
    ("entity.name.tag", Some(Token::Keyword)),
    ("entity.name.section", Some(Token::Heading)),
    ("entity.other.attribute-name", Some(Token::Function)),
    ("support.function", Some(Token::Function)),
    ("support.macro", Some(Token::Function)),
    ("support.type", Some(Token::Type)),
    ("support.class", Some(Token::Type)),
    ("variable.function", Some(Token::Function)),
    ("variable.language", Some(Token::Constant)),
    ("markup.heading", Some(Token::Heading)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debugger::{FileContent, FileView, Versions};
    use crate::model::{Certainty, EntryKind};

    fn document(text: &str) -> Arc<Document> {
        Arc::new(Document::of(&FileView {
            path: TapePath::new("a").unwrap(),
            kind: EntryKind::File,
            certainty: Certainty::Exact,
            mode: None,
            content: FileContent::Bytes(text.as_bytes().into()),
            remarks: Vec::new(),
            versions: Versions::default(),
        }))
    }

    /// The pieces of some lines, each as its text and what it is.
    fn pieces(name: &str, text: &str, lines: Range<usize>) -> Vec<(String, Token)> {
        let document = document(text);
        let path = TapePath::new(name).unwrap();
        let mut highlighter = Highlighter::default();
        let painted = highlighter.paint(&document, &path, lines.clone(), &|| false);
        let painted = painted.unwrap();
        lines
            .flat_map(|line| {
                let text = String::from_utf8(document.line(line).unwrap().to_vec()).unwrap();
                let piece = |(range, token): &(Range<usize>, Token)| {
                    (text.get(range.clone()).unwrap().to_owned(), *token)
                };
                painted.line(line).iter().map(piece).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn code_is_told_apart_by_what_it_is() {
        let check = |name: &str, text: &str, expected: &[(&str, Token)]| {
            let found = pieces(name, text, 0..1);
            for (piece, token) in expected {
                let wanted = ((*piece).to_owned(), *token);
                assert!(found.contains(&wanted), "{wanted:?} is not in {found:?}");
            }
        };
        check(
            "src/a.rs",
            "pub fn next(&mut self) -> u8 { \"x\"; 41 } // why\n",
            &[
                ("pub", Token::Keyword),
                ("next", Token::Function),
                ("\"x\"", Token::Text),
                ("41", Token::Constant),
                ("// why", Token::Comment),
            ],
        );
        check("a.py", "# why\n", &[("# why", Token::Comment)]);
        check("Makefile", "# why\n", &[("# why", Token::Comment)]);
        check("script", "#!/bin/sh\n", &[("#!/bin/sh", Token::Comment)]);
        assert_eq!(pieces("a.unheard-of", "pub fn\n", 0..1), []);
    }

    #[test]
    fn colours_do_not_depend_on_where_one_starts_to_look() {
        let text = format!("/* {}*/\nlet a = 1;\n", "a comment\n".repeat(2 * STRIDE));
        let document = document(&text);
        let path = TapePath::new("a.rs").unwrap();
        let last = 2 * STRIDE + 1;
        let mut walked = Highlighter::default();
        for start in [0, STRIDE, 2 * STRIDE] {
            walked.paint(&document, &path, start..start + 2, &|| false);
        }
        let mut jumped = Highlighter::default();
        let lines = last - 2..last + 1;
        assert_eq!(
            walked.paint(&document, &path, lines.clone(), &|| false),
            jumped.paint(&document, &path, lines, &|| false),
        );
        assert_eq!(walked.paint(&document, &path, 0..1, &|| true), None);
    }
}
