//! Where exactly two steps differ: leaf by leaf.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::content::StepContent;
use super::fingerprint::{answer_wording, is_same};
use super::volatile::{Volatile, Wording};

/// A place in two steps at which they differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// Where, such as `arguments.command` or `calls[1].tool`.
    pub name: String,
    /// What stands there on the left; `None`: nothing.
    pub left: Option<Value>,
    /// What stands there on the right; `None`: nothing.
    pub right: Option<Value>,
}

/// The leaves at which two steps differ, those of what was asked first. What is volatile is
/// no difference, and neither is what a step has not come to yet. Of steps of two sorts only
/// that is said: what one asks has no counterpart in the other.
pub fn leaves(
    (left, left_volatile): (&StepContent, &Volatile),
    (right, right_volatile): (&StepContent, &Volatile),
) -> Vec<Leaf> {
    let mut found = Search {
        left_volatile,
        right_volatile,
        wording: Wording::Said,
        leaves: Vec::new(),
    };
    let word = |word: &str| Value::String(word.to_owned());
    let sort = |step: &StepContent| match step.actor.as_str() {
        "" => word(step.kind.as_str()),
        actor => word(&format!("{} {actor}", step.kind.as_str())),
    };
    found.compare("step", Some(&sort(left)), Some(&sort(right)));
    if !found.leaves.is_empty() {
        return found.leaves;
    }
    found.compare_fields("", &left.asked, &right.asked);
    if left.is_open || right.is_open {
        return found.leaves;
    }
    let outcome = |step: &StepContent| word(step.outcome.as_str());
    found.compare("outcome", Some(&outcome(left)), Some(&outcome(right)));
    found.wording = answer_wording(left);
    found.compare_fields("", &left.answered, &right.answered);
    found.wording = Wording::Said;
    found.compare_fields("files.", &left.files, &right.files);
    found.leaves
}

struct Search<'a> {
    left_volatile: &'a Volatile,
    right_volatile: &'a Volatile,
    wording: Wording,
    leaves: Vec<Leaf>,
}

impl Search<'_> {
    fn compare_fields(
        &mut self,
        above: &str,
        left: &Map<String, Value>,
        right: &Map<String, Value>,
    ) {
        let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        for name in names {
            let path = format!("{above}{name}");
            self.compare(&path, left.get(name), right.get(name));
        }
    }

    /// Of two long texts, the first line in which they differ says where to look.
    fn compare_lines(&mut self, name: &str, left: &str, right: &str) {
        let (mut left, mut right) = (left.lines(), right.lines());
        for number in 1.. {
            let line = |line: Option<&str>| line.map(|line| Value::String(line.to_owned()));
            let (one, two) = (line(left.next()), line(right.next()));
            let found = self.leaves.len();
            self.compare(
                &format!("{name}, line {number}"),
                one.as_ref(),
                two.as_ref(),
            );
            if self.leaves.len() > found || (one.is_none() && two.is_none()) {
                return;
            }
        }
    }

    fn compare(&mut self, name: &str, left: Option<&Value>, right: Option<&Value>) {
        match (left, right) {
            (Some(Value::Object(left)), Some(Value::Object(right))) => {
                self.compare_fields(&format!("{name}."), left, right);
            }
            (Some(Value::Array(left)), Some(Value::Array(right))) => {
                for index in 0..left.len().max(right.len()) {
                    let name = format!("{name}[{index}]");
                    self.compare(&name, left.get(index), right.get(index));
                }
            }
            (Some(one), Some(two))
                if is_same(
                    (one, self.left_volatile),
                    (two, self.right_volatile),
                    self.wording,
                ) => {}
            (Some(Value::String(one)), Some(Value::String(two)))
                if one.contains('\n') && two.contains('\n') =>
            {
                self.compare_lines(name, one, two);
            }
            (None, None) => {}
            (left, right) => self.leaves.push(Leaf {
                name: name.to_owned(),
                left: left.cloned(),
                right: right.cloned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Body, Event, Outcome, StepKind};

    fn call(arguments: Value, output: &str) -> StepContent {
        let mut step = StepContent::new(StepKind::Tool, Outcome::Ok);
        step.add(Event::new(Body::ToolCall {
            name: "Bash".to_owned(),
            arguments,
        }));
        step.add(Event::new(Body::ToolResult {
            outcome: Outcome::Ok,
            exit: None,
            output: output.to_owned(),
            duration: None,
            attachments: Vec::new(),
            detail: Value::Null,
        }));
        step
    }

    fn names(left: &StepContent, right: &StepContent) -> Vec<String> {
        let (one, two) = (Volatile::new(Some("/one")), Volatile::new(Some("/two")));
        let leaves = leaves((left, &one), (right, &two));
        leaves.into_iter().map(|leaf| leaf.name).collect()
    }

    #[test]
    fn each_leaf_that_differs_is_named_and_no_other() {
        let left = call(
            json!({"command": "ls /one", "options": {"deep": [1, 2], "all": true}}),
            "done in 1.0s",
        );
        let right = call(
            json!({"options": {"all": true, "deep": [1, 3, 4]}, "command": "ls /two"}),
            "done in 2.5s",
        );
        assert_eq!(
            names(&left, &right),
            ["arguments.options.deep[1]", "arguments.options.deep[2]"]
        );
        assert!(names(&left, &left).is_empty());
    }

    #[test]
    fn of_long_texts_the_first_line_that_differs_is_named() {
        let text = |third: &str| call(Value::Null, &format!("ran in 1.5s\nb\n{third}\nd\ne\n"));
        assert_eq!(names(&text("c"), &text("x")), ["output, line 3"]);
        let shorter = call(Value::Null, "ran in 2.5s\nb\n");
        assert_eq!(names(&text("c"), &shorter), ["output, line 3"]);
        assert!(names(&shorter, &call(Value::Null, "ran in 9s\nb\n")).is_empty());
    }

    #[test]
    fn of_steps_of_two_sorts_no_more_is_said() {
        let said = StepContent::new(StepKind::Model, Outcome::Ok);
        assert_eq!(names(&call(Value::Null, "a"), &said), ["step"]);
    }

    #[test]
    fn what_has_not_come_yet_is_no_difference() {
        let whole = call(json!({"command": "ls"}), "a");
        let mut cut = StepContent::new(StepKind::Tool, Outcome::Pending);
        cut.actor = whole.actor.clone();
        cut.asked = whole.asked.clone();
        assert_eq!(names(&whole, &cut), ["outcome", "output"]);
        cut.is_open = true;
        assert!(names(&whole, &cut).is_empty());
    }
}
