//! The colours of code, beside what the parser that finds them needs at least.

use std::sync::Arc;

use jukebox::debugger::FileContent;
use jukebox::model::TapePath;
use jukebox::tui::document::Document;
use jukebox::tui::highlight::Highlighter;
use syntect::parsing::{ParseState, SyntaxReference, SyntaxSet};

use crate::Result;
use crate::beside::beside;
use crate::text::code;

const PARSER: &str = "syntect alone";

pub(crate) fn run() -> Result {
    let syntaxes = two_face::syntax::extra_newlines();
    let code = code(4096);
    paint(&syntaxes, "Rust", "a.rs", &code, &[0, 60, 4096])?;
    // The same as one line for every 20, which is what machines write.
    let minified = code.lines().collect::<Vec<_>>();
    let minified: String = minified
        .chunks(20)
        .map(|lines| lines.concat() + "\n")
        .collect();
    paint(
        &syntaxes,
        "JavaScript of long lines",
        "a.js",
        &minified,
        &[0, 60],
    )?;
    Ok(())
}

fn paint(syntaxes: &SyntaxSet, what: &str, name: &str, text: &str, starts: &[usize]) -> Result {
    let path = TapePath::new(name)?;
    let extension = name.rsplit('.').next().unwrap_or_default();
    let syntax = syntaxes
        .find_syntax_by_extension(extension)
        .ok_or("no such syntax")?;
    let content = FileContent::Bytes(text.as_bytes().into());
    let document = Arc::new(Document::of_content(content));
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for part in starts.windows(2) {
        let [start, end] = *part else { continue };
        let last = end.min(document.len());
        let part = start.min(last)..last;
        let paint = || Highlighter::default().paint(&document, &path, part.clone(), &|| false);
        let parse = || parse(syntaxes, syntax, lines.get(..last).unwrap_or_default());
        let what = format!("{what}, lines {} to {last}", part.start + 1);
        beside(&what, (part.len() as u64, "a line"), paint, PARSER, parse);
    }
    Ok(())
}

fn parse(syntaxes: &SyntaxSet, syntax: &SyntaxReference, lines: &[&str]) -> usize {
    let mut state = ParseState::new(syntax);
    let parsed = lines
        .iter()
        .filter_map(|line| state.parse_line(line, syntaxes).ok());
    parsed.map(|operations| operations.len()).sum()
}
