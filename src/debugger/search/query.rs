//! What is looked for: words, phrases, patterns and fields.

use regex::{Regex, RegexBuilder};

use crate::model::{Outcome, StepKind};

/// The fields, as a person would type them.
const FIELDS: &str = "tool: kind: status: path: agent: step:A..B file: re:";
/// A pattern compiles to no more bytes than this. It takes no longer than the text is long,
/// whatever it is.
const PATTERN_BYTES: usize = 1 << 20;

/// A query cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Nothing to look for.
    #[error("the query is empty")]
    Empty,
    /// A quote is open at the end.
    #[error("the query has an open quote")]
    OpenQuote,
    /// A field has a value that it cannot have.
    #[error("`{query}` cannot be looked for: {expected}")]
    Value {
        /// The field and its value.
        query: String,
        /// What it may have.
        expected: String,
    },
    /// There is no such field.
    #[error("there is no field `{0}:`; fields: {FIELDS}; in quotes it is looked for as it is")]
    Unknown(String),
    /// It is no pattern.
    #[error("`{pattern}` is no pattern: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why.
        why: String,
    },
}

/// What to look for: everything must hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Query {
    /// All of them in one line of a text.
    pub(super) needles: Vec<Needle>,
    /// Lines of files are looked through, and nothing else.
    pub(super) is_for_files: bool,
    pub(super) tool: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) status: Option<String>,
    pub(super) path: Option<PathQuery>,
    pub(super) agent: Option<String>,
    pub(super) steps: Option<(u32, u32)>,
}

/// Something that stands in a line.
#[derive(Clone, Debug)]
pub(super) enum Needle {
    /// These letters, whatever their case.
    Word(String),
    /// What matches this.
    Pattern(Regex),
}

/// Which paths are meant.
#[derive(Clone, Debug)]
pub(super) enum PathQuery {
    /// Those with these letters in them, whatever their case.
    Part(String),
    /// Those that match a glob as a whole.
    Glob(Regex),
}

/// A part of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: Option<String>,
    value: String,
    is_quoted: bool,
}

impl Query {
    pub(super) fn parse(query: &str) -> Result<Self, QueryError> {
        let mut parsed = Self::default();
        let terms = terms(query)?;
        if terms.is_empty() {
            return Err(QueryError::Empty);
        }
        for term in terms {
            parsed.take(term)?;
        }
        Ok(parsed)
    }

    fn take(&mut self, term: Term) -> Result<(), QueryError> {
        let Some(field) = &term.field else {
            self.needles.push(Needle::Word(term.value.to_lowercase()));
            return Ok(());
        };
        let refused = |expected: &str| QueryError::Value {
            query: format!("{field}:{}", term.value),
            expected: expected.to_owned(),
        };
        let lower = term.value.to_lowercase();
        if lower.is_empty() {
            return Err(refused("nothing stands behind the colon"));
        }
        match &**field {
            "tool" => self.tool = Some(lower),
            "kind" => {
                let kinds = StepKind::ALL.map(StepKind::as_str);
                if !kinds.contains(&&*lower) {
                    let kinds = kinds.join(", ");
                    return Err(refused(&format!("a kind is one of {kinds}")));
                }
                self.kind = Some(lower);
            }
            "agent" => self.agent = Some(lower),
            "status" => {
                if Outcome::parse(&lower).is_none() {
                    let outcomes = Outcome::ALL.map(Outcome::as_str).join(", ");
                    return Err(refused(&format!("a status is one of {outcomes}")));
                }
                self.status = Some(lower);
            }
            "path" => self.path = Some(PathQuery::parse(&term.value)?),
            "step" => {
                let steps = step_range(&lower);
                let refused = || refused("steps are 12, 10..40, 10.. or ..40");
                self.steps = Some(steps.ok_or_else(refused)?);
            }
            "re" => self.needles.push(Needle::Pattern(pattern(&term.value)?)),
            "file" => {
                self.is_for_files = true;
                self.needles.push(match term.value.strip_prefix("re:") {
                    Some(text) if !term.is_quoted => Needle::Pattern(pattern(text)?),
                    _ => Needle::Word(lower),
                });
            }
            _ => return Err(QueryError::Unknown(field.clone())),
        }
        Ok(())
    }

    /// Whether contents of files are looked through.
    pub(super) fn looks_into_files(&self) -> bool {
        self.is_for_files || (self.path.is_some() && !self.needles.is_empty())
    }

    /// Whether everything that is looked for in a line stands in this one.
    pub(super) fn is_in(&self, line: &str) -> bool {
        let lower = line.to_lowercase();
        self.needles.iter().all(|needle| match needle {
            Needle::Word(word) => lower.contains(word.as_str()),
            Needle::Pattern(pattern) => pattern.is_match(line),
        })
    }
}

impl PathQuery {
    fn parse(text: &str) -> Result<Self, QueryError> {
        if !text.contains(['*', '?']) {
            return Ok(Self::Part(text.to_lowercase()));
        }
        let mut glob = String::from("^");
        if !text.contains('/') {
            // Of a name alone it does not matter where it lies.
            glob.push_str("(?:.*/)?");
        }
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let (matched, len) = if rest.starts_with("**/") {
                ("(?:.*/)?".to_owned(), 3)
            } else if rest.starts_with("**") {
                (".*".to_owned(), 2)
            } else {
                let matched = match letter {
                    '*' => "[^/]*".to_owned(),
                    '?' => "[^/]".to_owned(),
                    other => regex::escape(&other.to_string()),
                };
                (matched, letter.len_utf8())
            };
            glob.push_str(&matched);
            rest = rest.get(len..).unwrap_or_default();
        }
        glob.push('$');
        Ok(Self::Glob(pattern(&glob)?))
    }

    pub(super) fn is_for(&self, path: &str) -> bool {
        match self {
            Self::Part(part) => path.to_lowercase().contains(part.as_str()),
            Self::Glob(glob) => glob.is_match(path),
        }
    }
}

/// Without regard to case, as words are; `(?-i)` in it says otherwise.
fn pattern(text: &str) -> Result<Regex, QueryError> {
    let mut builder = RegexBuilder::new(text);
    builder.case_insensitive(true).size_limit(PATTERN_BYTES);
    builder.build().map_err(|error| {
        let said = error.to_string();
        let last = said.lines().last().unwrap_or_default();
        QueryError::Pattern {
            pattern: text.to_owned(),
            why: last.trim_start_matches("error: ").to_owned(),
        }
    })
}

/// The steps that are meant; `None`: none can be.
fn step_range(text: &str) -> Option<(u32, u32)> {
    let range = match text.split_once("..") {
        Some((from, to)) => {
            let from = if from.is_empty() {
                0
            } else {
                from.parse().ok()?
            };
            let to = if to.is_empty() {
                u32::MAX
            } else {
                to.parse().ok()?
            };
            (from, to)
        }
        None => text.parse().ok().map(|step| (step, step))?,
    };
    Some(range).filter(|(from, to)| from <= to)
}

/// Splits a query at blanks, outside quotes, and each part into field and value. A quote
/// begins a part or a value.
fn terms(query: &str) -> Result<Vec<Term>, QueryError> {
    let mut terms = Vec::new();
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        let field = field_of(rest);
        let value = match &field {
            Some(field) => rest.get(field.len() + 1..).unwrap_or_default(),
            None => rest,
        };
        let (value, is_quoted, after) = if let Some(inner) = value.strip_prefix('"') {
            let (value, after) = inner.split_once('"').ok_or(QueryError::OpenQuote)?;
            (value, true, after)
        } else {
            let end = value.find(char::is_whitespace).unwrap_or(value.len());
            let (value, after) = value.split_at(end);
            (value, false, after)
        };
        if field.is_some() || !value.is_empty() {
            terms.push(Term {
                field: field.map(str::to_lowercase),
                value: value.to_owned(),
                is_quoted,
            });
        }
        rest = after.trim_start();
    }
    Ok(terms)
}

/// The field that a part of a query begins with: `tool` of `tool:bash`. What people look for
/// has colons, too: `error:`, `std::io`, `https://…`, `12:30`.
fn field_of(part: &str) -> Option<&str> {
    let (field, value) = part.split_once(':')?;
    let is_name = !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_known = FIELDS.split(' ').any(|known| {
        let known = known.split(':').next().unwrap_or_default();
        known.eq_ignore_ascii_case(field)
    });
    let is_value = !value.starts_with([':', '/', '\\'])
        && value
            .chars()
            .next()
            .is_some_and(|letter| !letter.is_whitespace());
    (is_name && (is_known || is_value)).then_some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needles(query: &str) -> Vec<String> {
        let query = Query::parse(query).unwrap();
        let text = |needle: &Needle| match needle {
            Needle::Word(word) => word.clone(),
            Needle::Pattern(pattern) => format!("/{pattern}/"),
        };
        query.needles.iter().map(text).collect()
    }

    #[test]
    fn queries_are_read() {
        let query = Query::parse("Error \"two words\" tool:Bash step:3..7").unwrap();
        assert_eq!(query.tool.as_deref(), Some("bash"));
        assert_eq!(query.steps, Some((3, 7)));
        assert_eq!(
            needles("Error \"two words\" tool:Bash"),
            ["error", "two words"]
        );
        assert_eq!(needles("re:a+b re:\"c d\""), ["/a+b/", "/c d/"]);
        assert_eq!(
            needles("file:Word file:re:x$ file:\"re: x\""),
            ["word", "/x$/", "re: x"]
        );
        // Colons that people look for are none of fields.
        let words = "error: std::io https://x.example 12:30 a\"b C:\\x";
        assert_eq!(
            needles(words),
            words.to_lowercase().split(' ').collect::<Vec<_>>()
        );
        assert_eq!(needles("\"tool:bash\""), ["tool:bash"]);
    }

    #[test]
    fn mistakes_are_said() {
        let check = |text: &str, error: &str| {
            let said = Query::parse(text).unwrap_err().to_string();
            assert!(said.starts_with(error), "{text}: {said}");
        };
        check("  ", "the query is empty");
        check("\"open", "the query has an open quote");
        check("file:\"open", "the query has an open quote");
        check(
            "status:bad",
            "`status:bad` cannot be looked for: a status is one of none, ok, failed",
        );
        check(
            "step:x",
            "`step:x` cannot be looked for: steps are 12, 10..40",
        );
        check("step:9..3", "`step:9..3` cannot be looked for: steps are");
        check(
            "kind:bash",
            "`kind:bash` cannot be looked for: a kind is one of prompt, model, tool,",
        );
        check(
            "tool:",
            "`tool:` cannot be looked for: nothing stands behind",
        );
        check(
            "too:bash",
            "there is no field `too:`; fields: tool: kind: status: path:",
        );
        check("re:(", "`(` is no pattern: unclosed group");
        check("re:(a{1000}){1000}", "`(a{1000}){1000}` is no pattern: ");
    }

    #[test]
    fn paths_are_meant_by_a_part_or_by_a_glob() {
        let check = |query: &str, path: &str, expected: bool| {
            let query = Query::parse(&format!("path:{query}")).unwrap();
            assert_eq!(query.path.unwrap().is_for(path), expected, "{path}");
        };
        check("SRC/", "src/a.rs", true);
        check("src/**", "src/a/b.rs", true);
        check("src/**", "tests/src/b.rs", false);
        check("**/b.rs", "b.rs", true);
        check("src/*.rs", "src/a/b.rs", false);
        check("*.rs", "src/a/b.rs", true);
        check("?.rs", "src/a/bb.rs", false);
        check("src/**/b.*", "src/b.rs", true);
    }
}
