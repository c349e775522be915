//! The changes turn one document into the other, whatever the documents are.

use proptest::prelude::*;

use super::tree::decode;
use super::*;

const LONG: Duration = Duration::from_secs(20);

/// A document that keeps what it was written with.
#[derive(Clone, Debug)]
enum Doc {
    Scalar(String),
    Text(String),
    Array(Vec<Doc>),
    Object(Vec<(String, Doc)>),
}

impl Doc {
    fn write(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            Self::Scalar(written) => written.clone(),
            Self::Text(text) => quoted(text),
            Self::Array(elements) => {
                let elements: Vec<String> = elements.iter().map(Self::write).collect();
                format!("[{}]", elements.join(", "))
            }
            Self::Object(members) => {
                let member =
                    |(name, value): &(String, Doc)| format!("{}: {}", quoted(name), value.write());
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{{}}}", members.join(",\n"))
            }
        }
    }

    fn read(text: &str) -> Self {
        Self::of(&Tree::read(text).unwrap(), 0)
    }

    fn of(tree: &Tree<'_>, index: usize) -> Self {
        match tree.kind(index) {
            Kind::Object => {
                let members = tree.inside(index);
                let member = |at| (tree.name(at).to_owned(), Self::of(tree, at));
                Self::Object(members.map(member).collect())
            }
            Kind::Array => Self::Array(tree.inside(index).map(|at| Self::of(tree, at)).collect()),
            Kind::String => Self::Text(decode(tree.written(index)).into_owned()),
            Kind::Number | Kind::Word => Self::Scalar(tree.written(index).to_owned()),
        }
    }

    /// In a form that is the same for what counts as equal.
    fn canonical(&self) -> String {
        match self {
            Self::Object(members) => {
                let mut members = members.clone();
                members.sort_by(|one, two| one.0.cmp(&two.0));
                let member =
                    |(name, value): &(String, Doc)| format!("{name:?}:{}", value.canonical());
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{{}}}", members.join(","))
            }
            Self::Array(elements) => {
                let elements: Vec<String> = elements.iter().map(Self::canonical).collect();
                format!("[{}]", elements.join(","))
            }
            other => format!("{other:?}"),
        }
    }
}

/// Changes with the steps of their paths that are still to be gone.
type Rest<'a> = Vec<(&'a [JsonStep], &'a JsonChange)>;

/// Does what the changes say, by their public meaning alone.
fn apply(before: &Doc, changes: &Rest<'_>) -> Doc {
    if let Some((_, change)) = changes.iter().find(|(path, _)| path.is_empty()) {
        return Doc::read(change.after.as_ref().unwrap());
    }
    match before {
        Doc::Object(members) => {
            let mut counts: HashMap<&str, usize> = HashMap::new();
            let mut made = Vec::new();
            for (name, value) in members {
                let nth = counts.entry(name).or_default();
                let step = JsonStep::Member {
                    name: name.clone(),
                    nth: *nth,
                };
                *nth += 1;
                let here = below(changes, &step);
                match here.iter().find(|(path, _)| path.is_empty()) {
                    Some((_, change)) if change.kind == JsonChangeKind::Removed => {}
                    _ => made.push((name.clone(), apply(value, &here))),
                }
            }
            for (path, change) in changes {
                if let ([JsonStep::Member { name, .. }], JsonChangeKind::Added) =
                    (path, change.kind)
                {
                    made.push((name.clone(), Doc::read(change.after.as_ref().unwrap())));
                }
            }
            Doc::Object(made)
        }
        Doc::Array(elements) => {
            let mut left: Vec<Option<&Doc>> = elements.iter().map(Some).collect();
            let mut placed: HashMap<usize, Doc> = HashMap::new();
            for (path, change) in changes {
                let [JsonStep::Element(at)] = path else {
                    continue;
                };
                match change.kind {
                    JsonChangeKind::Removed => left[*at] = None,
                    JsonChangeKind::Moved { from } => {
                        placed.insert(*at, left[from].take().unwrap().clone());
                    }
                    JsonChangeKind::Added => {
                        placed.insert(*at, Doc::read(change.after.as_ref().unwrap()));
                    }
                    JsonChangeKind::Changed | JsonChangeKind::Rewritten => {}
                }
            }
            let mut left = left.into_iter().flatten();
            let count = left.clone().count() + placed.len();
            let made = (0..count).map(|at| {
                if let Some(doc) = placed.remove(&at) {
                    return doc;
                }
                let here = below(changes, &JsonStep::Element(at));
                let inside = |(_, change): &(&[JsonStep], &JsonChange)| {
                    !matches!(change.kind, JsonChangeKind::Removed)
                };
                let deeper = here
                    .into_iter()
                    .filter(|entry| !entry.0.is_empty() || inside(entry));
                apply(left.next().unwrap(), &deeper.collect())
            });
            Doc::Array(made.collect())
        }
        other => other.clone(),
    }
}

fn below<'a>(changes: &Rest<'a>, step: &JsonStep) -> Rest<'a> {
    let rest = changes.iter().filter_map(|(path, change)| {
        let (first, rest) = path.split_first()?;
        (first == step).then_some((rest, *change))
    });
    rest.collect()
}

fn document() -> impl Strategy<Value = Doc> {
    let number = prop::sample::select(vec![
        "0",
        "1",
        "1.0",
        "10e-1",
        "-0",
        "12345678901234567890123",
        "12345678901234567890124",
        "0.1",
    ]);
    let leaf = prop_oneof![
        number.prop_map(|number| Doc::Scalar(number.to_owned())),
        prop::sample::select(vec!["true", "false", "null"])
            .prop_map(|word| Doc::Scalar(word.to_owned())),
        "[ab\"\\\\\u{e9}\n]{0,3}".prop_map(Doc::Text),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Doc::Array),
            // Few names: some stand twice.
            prop::collection::vec(
                (prop::sample::select(vec!["a", "b", "id", "x y"]), inner),
                0..5
            )
            .prop_map(|members| {
                let members = members.into_iter();
                Doc::Object(
                    members
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

fn check_turns_into(before: &Doc, after: &Doc) {
    let (old, new) = (before.write(), after.write());
    let changes = between(&old, &new, LONG).unwrap();
    let all: Rest<'_> = changes
        .iter()
        .map(|change| (&change.path.0[..], change))
        .collect();
    let made = apply(before, &all);
    assert_eq!(
        made.canonical(),
        after.canonical(),
        "{old}\n{new}\n{changes:#?}"
    );
    let is_equal = before.canonical() == after.canonical();
    assert_eq!(changes.is_empty(), is_equal, "{old}\n{new}");
}

proptest! {
    #[test]
    fn the_changes_turn_one_document_into_the_other(before in document(), after in document()) {
        check_turns_into(&before, &after);
    }

    #[test]
    fn an_array_that_is_shuffled_and_cut_is_found_again(
        elements in prop::collection::vec(document(), 0..8),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let picked = order.iter().filter(|_| !elements.is_empty());
        let after = picked.map(|index| index.get(&elements).clone()).collect();
        check_turns_into(&Doc::Array(elements.clone()), &Doc::Array(after));
    }

    #[test]
    fn any_text_is_an_answer_or_none(before in "[\\[\\]{}\":,0-9a\\\\ ]{0,12}", after in "\\PC{0,8}") {
        let _ = between(&before, &after, LONG);
    }
}

#[track_caller]
fn check(before: &str, after: &str, expected: &[&str]) {
    let changes = between(before, after, LONG).unwrap();
    let shown: Vec<String> = changes
        .iter()
        .map(|change| {
            let sign = match change.kind {
                JsonChangeKind::Added => "+".to_owned(),
                JsonChangeKind::Removed => "-".to_owned(),
                JsonChangeKind::Changed => "*".to_owned(),
                JsonChangeKind::Rewritten => "=".to_owned(),
                JsonChangeKind::Moved { from } => format!("<{from}"),
            };
            let value = |text: &Option<String>| text.clone().unwrap_or_default();
            format!(
                "{sign} {} {}|{}",
                change.path,
                value(&change.before),
                value(&change.after)
            )
        })
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn a_change_is_named_by_its_path() {
    check(
        r#"{"arguments": {"edits": [{"a": 1}, {"a": 2}, {"new_string": "a"}]}}"#,
        r#"{"arguments": {"edits": [{"a": 1}, {"a": 2}, {"new_string": "b"}]}}"#,
        &[r#"* arguments.edits[2].new_string "a"|"b""#],
    );
    check("1", "2", &["* . 1|2"]);
    check(
        r#"{"odd name": 1, "": 2}"#,
        "{}",
        &[r#"- "odd name" 1|"#, r#"- "" 2|"#],
    );
}

#[test]
fn numbers_are_what_was_written() {
    check("[1.0]", "[1]", &["= [0] 1.0|1"]);
    check(
        "12345678901234567890123",
        "12345678901234567890124",
        &["* . 12345678901234567890123|12345678901234567890124"],
    );
    check("1e400", "1e400", &[]);
}

#[test]
fn of_members_with_one_name_all_count() {
    check(r#"{"a": 1, "a": 2}"#, r#"{"a": 1, "a": 3}"#, &["* a#2 2|3"]);
    check(r#"{"a": 1, "a": 2}"#, r#"{"a": 1}"#, &["- a#2 2|"]);
    check(r#"{"a": 1, "b": 2}"#, r#"{ "b": 2, "a": 1 }"#, &[]);
}

#[test]
fn what_moved_in_an_array_is_told_from_what_came_and_went() {
    check("[1, 2, 3, 4]", "[4, 1, 2, 3]", &["<3 [0] 4|4"]);
    check(
        "[1, 2, 3]",
        "[1, 3, 5, 6]",
        &["- [1] 2|", "+ [2] |5", "+ [3] |6"],
    );
}

#[test]
fn an_element_that_is_like_another_is_compared_with_it() {
    check(
        r#"[{"role": "user", "text": "a"}, {"role": "model", "text": "b"}]"#,
        r#"[{"role": "system"}, {"role": "user", "text": "a"}, {"role": "model", "text": "c"}]"#,
        &[r#"+ [0] |{"role": "system"}"#, r#"* [2].text "b"|"c""#],
    );
}

#[test]
fn halves_of_characters_stay_as_they_were_written() {
    check(
        r#"["\ud83d"]"#,
        r#"["\ud83e"]"#,
        &[r#"* [0] "\ud83d"|"\ud83e""#],
    );
    check(r#"["\u0061"]"#, r#"["a"]"#, &[]);
}

#[test]
fn no_depth_is_too_much() {
    let nested = |inside: &str| format!("{}{inside}{}", "[".repeat(100_000), "]".repeat(100_000));
    let changes = between(&nested("1"), &nested("2"), LONG).unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].path.0.len(), 100_000);
    let changes = between(&nested("1"), "1", LONG).unwrap();
    assert!(!change_lines(&changes[0]).is_empty());
}

#[test]
fn what_is_no_json_or_takes_too_long_has_no_answer() {
    for text in ["", "{", "nul", "[1,]", "\"\n\"", "1 2", "{a: 1}"] {
        assert_eq!(between(text, "1", LONG), None, "{text}");
    }
    assert!(between("[1]", "[2]", Duration::ZERO).is_some());
    let large = format!("[{}1]", "1,".repeat(8192));
    assert_eq!(between(&large, "[2]", Duration::ZERO), None);
    let long = format!("\"{}\"", "x".repeat(LONGEST));
    assert_eq!(between(&long, "1", LONG), None);
}

#[track_caller]
fn check_lines(before: &str, after: &str, expected: &[&str]) {
    let changes = between(before, after, LONG).unwrap();
    let shown: Vec<String> = changes
        .iter()
        .flat_map(change_lines)
        .map(|line| {
            let sign = match line.kind {
                LineKind::Path(_) => "",
                LineKind::Removed => "- ",
                LineKind::Added => "+ ",
                LineKind::Context => "  ",
                LineKind::Remark => "# ",
            };
            let text = line.text.as_str();
            let words = line
                .emphasis
                .iter()
                .map(|range| text.get(range.clone()).unwrap());
            let words: Vec<&str> = words.collect();
            let words = if words.is_empty() {
                String::new()
            } else {
                format!(" <{}>", words.join("|"))
            };
            format!("{sign}{text}{words}")
        })
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn short_values_stand_beside_the_path_and_long_texts_below_it() {
    check_lines(r#"{"a": "x"}"#, r#"{"a": null}"#, &[r#"a  "x" → null"#]);
    check_lines("[1, 2]", "[2, 1]", &["[0]  from [1]"]);
    check_lines(
        r#"{"text": "one\ntwo and some more\nthree\n"}"#,
        r#"{"text": "one\ntwo and many more\nthree\n"}"#,
        &[
            "text",
            "  one",
            "- two and some more <some>",
            "+ two and many more <many>",
            "  three",
        ],
    );
    check_lines(
        "{}",
        r#"{"list": [12345678901234567890123, "a long enough list to be set in lines"]}"#,
        &[
            "list",
            "+ [12345678901234567890123, \"a long enough list to be set in lines\"]",
        ],
    );
    check_lines(
        "{\"a\": \"\u{202e}\"}",
        "{\"a\": 1}",
        &["a  \"<U+202E>\" → 1"],
    );
}
