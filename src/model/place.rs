//! `TAPE@STEP`: how a person names a place in a run.

use super::{Seq, StepNumber};

/// A text names no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no place; places are @12, @0, @-1, @fail, @seq:340, @t:90s, @mark:NAME, @BRANCH:12"
)]
pub struct PlaceError(pub String);

/// Where on a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// After this step; 0 is before the first.
    Step(StepNumber),
    /// Counted from the end: 1 is the last step.
    FromEnd(u32),
    /// The first step that failed.
    FirstFailure,
    /// After this event.
    Seq(Seq),
    /// The last event at most this many microseconds after the start.
    Time(u64),
    /// Where a person put a mark.
    Mark(String),
    /// After the last event.
    End,
}

/// A place in a run: a branch, if one is named, and where on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The branch; without one, the branch that holds the last line is meant.
    pub branch: Option<String>,
    /// Where on it.
    pub target: Target,
}

impl Place {
    /// The end of the tape.
    pub const END: Self = Self {
        branch: None,
        target: Target::End,
    };

    /// Splits what was typed into the tape and the place. `exists` says whether a path
    /// exists as written: then it wins over a reading with `@`.
    pub fn split(typed: &str, exists: impl Fn(&str) -> bool) -> Result<(&str, Self), PlaceError> {
        if exists(typed) {
            return Ok((typed, Self::END));
        }
        match typed.rsplit_once('@') {
            Some((tape, place)) if !tape.is_empty() => Ok((tape, place.parse()?)),
            _ => Ok((typed, Self::END)),
        }
    }
}

impl std::str::FromStr for Place {
    type Err = PlaceError;

    /// Reads what stands behind the `@`; a leading `@` is allowed.
    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let inner = text.strip_prefix('@').unwrap_or(text);
        let error = || PlaceError(text.to_owned());
        let target = match inner.split_once(':') {
            Some(("seq", seq)) => Target::Seq(Seq(seq.parse().ok().ok_or_else(error)?)),
            Some(("t", time)) => Target::Time(parse_duration(time).ok_or_else(error)?),
            Some(("mark", name)) if !name.is_empty() => Target::Mark(name.to_owned()),
            Some((branch, target)) if !branch.is_empty() => {
                return Ok(Self {
                    branch: Some(branch.to_owned()),
                    target: parse_step(target).ok_or_else(error)?,
                });
            }
            Some(_) => return Err(error()),
            None => parse_step(inner).ok_or_else(error)?,
        };
        Ok(Self {
            branch: None,
            target,
        })
    }
}

/// As a person would type it, with the `@`.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("@")?;
        if let Some(branch) = &self.branch {
            write!(f, "{branch}:")?;
        }
        match &self.target {
            Target::Step(step) => write!(f, "{step}"),
            Target::FromEnd(back) => write!(f, "-{back}"),
            Target::FirstFailure => f.write_str("fail"),
            Target::Seq(seq) => write!(f, "seq:{seq}"),
            Target::Time(micros) => write!(f, "t:{micros}us"),
            Target::Mark(name) => write!(f, "mark:{name}"),
            Target::End => f.write_str("end"),
        }
    }
}

fn parse_step(text: &str) -> Option<Target> {
    match text {
        "fail" => Some(Target::FirstFailure),
        "end" => Some(Target::End),
        text => match text.strip_prefix('-') {
            Some(back) => back
                .parse()
                .ok()
                .filter(|back| *back > 0)
                .map(Target::FromEnd),
            None => text.parse().ok().map(|step| Target::Step(StepNumber(step))),
        },
    }
}

/// Reads `90s`, `1h30m`, `250ms`, `1.5s`, or a bare number of seconds, as microseconds.
fn parse_duration(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total = 0.0_f64;
    while !rest.is_empty() {
        let number_end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at_checked(number_end)?;
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit_end)?;
        let scale = match unit {
            "us" | "µs" => 1.0,
            "ms" => 1e3,
            "" | "s" => 1e6,
            "m" => 60e6,
            "h" => 3600e6,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * scale;
        rest = tail;
    }
    (!text.is_empty() && total.is_finite()).then_some(total as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_place_is_read() {
        let check = |text: &str, branch: Option<&str>, target: Target| {
            let place = Place {
                branch: branch.map(str::to_owned),
                target,
            };
            assert_eq!(place.to_string().parse(), Ok(place.clone()), "{text}");
            assert_eq!(text.parse(), Ok(place), "{text}");
        };
        check("12", None, Target::Step(StepNumber(12)));
        check("@0", None, Target::Step(StepNumber(0)));
        check("-1", None, Target::FromEnd(1));
        check("fail", None, Target::FirstFailure);
        check("seq:340", None, Target::Seq(Seq(340)));
        check("t:90s", None, Target::Time(90_000_000));
        check("t:1h30m", None, Target::Time(5_400_000_000));
        check("t:250ms", None, Target::Time(250_000));
        check(
            "mark:before it broke",
            None,
            Target::Mark("before it broke".into()),
        );
        check("b2:12", Some("b2"), Target::Step(StepNumber(12)));
        for text in [
            "", "x", "-0", "-", "seq:", "t:", "t:5x", "mark:", ":3", "b2:",
        ] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_that_exists_wins_over_a_reading_with_at() {
        let named = |path: &str| path == "run@2.jsonl";
        assert_eq!(
            Place::split("run@2.jsonl", named),
            Ok(("run@2.jsonl", Place::END))
        );
        let (tape, place) = Place::split("run@2.jsonl@3", named).unwrap();
        assert_eq!(tape, "run@2.jsonl");
        assert_eq!(place.target, Target::Step(StepNumber(3)));
        assert!(Place::split("a@b", named).is_err());
    }
}
