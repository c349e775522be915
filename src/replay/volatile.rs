//! Parts of a text that differ from run to run by themselves.
//!
//! Two texts mean the same if their canonical forms are equal. A form is made to be
//! compared, never to be shown, and never changes what stands on a tape.

use std::iter;

/// What to leave out of account in the texts of one run.
#[derive(Clone, Debug, Default)]
pub struct Volatile {
    root: Option<String>,
    /// What counts all the same.
    counted: Vec<VolatileSort>,
}

/// A sort of volatile part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolatileSort {
    /// Dates and times of day.
    Time,
    /// What programs make up to tell things apart.
    Id,
    /// The names of temporary files.
    Temporary,
    /// How long something took, where a tool printed it.
    Duration,
}

impl VolatileSort {
    /// Every sort.
    pub const ALL: [Self; 4] = [Self::Time, Self::Id, Self::Temporary, Self::Duration];
}

/// What a text is, which says what may differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// What a person, a model or a call says: `sleep 5s` is not `sleep 6s`.
    Said,
    /// What a tool printed: it took as long as it took.
    Printed,
}

/// What programs begin their ids with.
const ID_PREFIXES: [&str; 6] = ["toolu_", "call_", "msg_", "req_", "chatcmpl-", "resp_"];

/// How the names of temporary files begin, after the directory or at the start of a name.
const TEMPORARY: [&str; 5] = [
    "/tmp/tmp",
    "/private/tmp/tmp",
    "/var/tmp/tmp",
    "/var/folders/",
    ".tmp",
];

/// Fewer letters behind such a beginning are a name that somebody gave.
const SHORTEST_ID: usize = 6;

impl Volatile {
    /// Of a run that worked below this directory, if it is known.
    pub fn new(root: Option<&str>) -> Self {
        let root = root.map(|root| root.trim_end_matches('/'));
        Self {
            root: root.filter(|root| root.len() > 1).map(str::to_owned),
            counted: Vec::new(),
        }
    }

    /// The same, but that only these sorts are left out of account, and the directory.
    pub fn only(mut self, sorts: &[VolatileSort]) -> Self {
        let is_counted = |sort: &VolatileSort| !sorts.contains(sort);
        self.counted = VolatileSort::ALL.into_iter().filter(is_counted).collect();
        self
    }

    /// A line without the directory, where it begins with that.
    pub(super) fn below_root<'t>(&self, line: &'t str) -> &'t str {
        let root = self.root.as_deref().unwrap_or_default();
        let below = line.strip_prefix(root).and_then(|it| it.strip_prefix('/'));
        below.filter(|_| !root.is_empty()).unwrap_or(line)
    }

    /// Writes the canonical form of a text.
    pub fn canonical(&self, text: &str, wording: Wording, into: &mut String) {
        let mut rest = text;
        let mut before = None;
        while let Some(first) = rest.chars().next() {
            let starts_word = !before.is_some_and(is_part_of_word);
            let found = starts_word.then(|| self.volatile(rest, wording)).flatten();
            let (len, form) = found.unwrap_or((first.len_utf8(), ""));
            let (taken, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
            into.push_str(if found.is_some() { form } else { taken });
            before = taken.chars().next_back();
            rest = after;
        }
    }

    /// The volatile part that a text begins with: its length, and what stands for it.
    fn volatile(&self, text: &str, wording: Wording) -> Option<(usize, &'static str)> {
        let (sort, len, form) = self.part(text, wording)?;
        let counts = sort.is_some_and(|sort| self.counted.contains(&sort));
        (!counts).then_some((len, form))
    }

    /// The part; without a sort, it is the directory.
    fn part(
        &self,
        text: &str,
        wording: Wording,
    ) -> Option<(Option<VolatileSort>, usize, &'static str)> {
        let of = |sort, len, form| Some((Some(sort), len, form));
        let first = *text.as_bytes().first()?;
        if let Some(root) = &self.root
            && let Some(after) = text.strip_prefix(root.as_str())
            && !after.chars().next().is_some_and(is_part_of_name)
        {
            return Some((None, root.len(), "."));
        }
        if let Some(len) = uuid(text) {
            return of(VolatileSort::Id, len, "<id>");
        }
        if first.is_ascii_digit() {
            if let Some(len) = moment(text) {
                return of(VolatileSort::Time, len, "<time>");
            }
            let duration = (wording == Wording::Printed).then(|| duration(text));
            let len = duration.flatten()?;
            return of(VolatileSort::Duration, len, "<duration>");
        }
        let id = named(text, &ID_PREFIXES, |c| {
            c.is_ascii_alphanumeric() || c == '_'
        });
        if let Some(len) = id {
            return of(VolatileSort::Id, len, "<id>");
        }
        let is_temporary = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
        let len = named(text, &TEMPORARY, is_temporary)?;
        of(VolatileSort::Temporary, len, "<temporary>")
    }
}

fn is_part_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a directory's name would go on with this.
fn is_part_of_name(c: char) -> bool {
    is_part_of_word(c) || matches!(c, '-' | '.')
}

/// One of these beginnings with enough behind it.
fn named(text: &str, beginnings: &[&str], is_part: impl Fn(char) -> bool) -> Option<usize> {
    beginnings.iter().find_map(|beginning| {
        let after = text.strip_prefix(beginning)?;
        let len = after.find(|c| !is_part(c)).unwrap_or(after.len());
        (len >= SHORTEST_ID).then_some(beginning.len() + len)
    })
}

/// `018f3a5c-7e00-7000-8000-000000000000`
fn uuid(text: &str) -> Option<usize> {
    shaped(text, "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh").filter(|len| ends_word(text, *len))
}

/// A date with or without a time, or a time of day: `2026-01-31T12:34:56.789+01:00`.
fn moment(text: &str) -> Option<usize> {
    let after = |len: usize| text.get(len..).unwrap_or_default();
    let Some(date) = shaped(text, "dddd-dd-dd") else {
        return time_of_day(text);
    };
    let time = after(date).strip_prefix(['T', ' ']).and_then(time_of_day);
    let len = date + time.map_or(0, |time| 1 + time);
    ends_word(text, len).then_some(len)
}

/// `12:34:56.789Z`
fn time_of_day(text: &str) -> Option<usize> {
    let mut len = shaped(text, "dd:dd:dd")?;
    let after = |len: usize| text.get(len..).unwrap_or_default();
    if let Some(fraction) = after(len).strip_prefix(['.', ',']) {
        let digits = digits(fraction);
        len += if digits > 0 { 1 + digits } else { 0 };
    }
    let zones = ["Z", "+dd:dd", "-dd:dd", "+dddd", "-dddd"];
    len += zones
        .into_iter()
        .find_map(|zone| shaped(after(len), zone))
        .unwrap_or(0);
    ends_word(text, len).then_some(len)
}

/// `0.02s`, `12 ms`, `3 seconds`
fn duration(text: &str) -> Option<usize> {
    const UNITS: [&str; 9] = [
        "milliseconds",
        "seconds",
        "secs",
        "sec",
        "ms",
        "µs",
        "us",
        "ns",
        "s",
    ];
    let mut len = digits(text);
    let after = |len: usize| text.get(len..).unwrap_or_default();
    if let Some(fraction) = after(len).strip_prefix('.') {
        let digits = digits(fraction);
        len += if digits > 0 { 1 + digits } else { 0 };
    }
    len += usize::from(after(len).starts_with(' '));
    let unit = UNITS
        .into_iter()
        .find(|unit| after(len).starts_with(unit))?;
    len += unit.len();
    ends_word(text, len).then_some(len)
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn ends_word(text: &str, len: usize) -> bool {
    let after = text.get(len..).unwrap_or_default();
    !after.chars().next().is_some_and(is_part_of_word)
}

/// The length of a shape, if the text begins so: `h` is a hexadecimal digit, `d` a decimal
/// one, anything else itself.
fn shaped(text: &str, shape: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..shape.len())?;
    let fits = |(byte, sign): (&u8, u8)| match sign {
        b'h' => byte.is_ascii_hexdigit(),
        b'd' => byte.is_ascii_digit(),
        sign => *byte == sign,
    };
    iter::zip(bytes, shape.bytes())
        .all(fits)
        .then_some(shape.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str, wording: Wording) -> String {
        let mut form = String::new();
        Volatile::new(Some("/home/me/work/")).canonical(text, wording, &mut form);
        form
    }

    #[test]
    fn what_differs_by_itself_is_left_out() {
        let check = |text: &str, form: &str| assert_eq!(canonical(text, Wording::Printed), form);
        check("", "");
        check("nothing of it: é 漢", "nothing of it: é 漢");
        check("cd /home/me/work && ls", "cd . && ls");
        check("\"/home/me/work/src\"", "\"./src\"");
        check(
            "/home/me/work-2 /home/me/workshop",
            "/home/me/work-2 /home/me/workshop",
        );
        check("id 018f3a5c-7e00-7000-8000-000000000000.", "id <id>.");
        check(
            "018f3a5c-7e00-7000-8000-0000000000001",
            "018f3a5c-7e00-7000-8000-0000000000001",
        );
        check("2026-01-31T12:34:56.789Z x", "<time> x");
        check(
            "on 2026-01-31 at 12:34:56,5 and 12:34",
            "on <time> at <time> and 12:34",
        );
        check("2026-01-31 12:34:56 +0100", "<time> +0100");
        check("2026-01-312", "2026-01-312");
        check(
            "in 0.02s, 12 ms, 3 seconds",
            "in <duration>, <duration>, <duration>",
        );
        check("3 sheep, 4sx, 1.s", "3 sheep, 4sx, 1.s");
        check("toolu_01AbCdEf call_it", "<id> call_it");
        check("/tmp/tmp.Ab12Cd/x /tmp/tmpdir", "<temporary>/x /tmp/tmpdir");
        check("/tmp/mine", "/tmp/mine");
    }

    #[test]
    fn what_is_asked_for_counts() {
        let volatile = Volatile::new(Some("/w")).only(&[VolatileSort::Duration]);
        let text = "/w 12:34:56 018f3a5c-7e00-7000-8000-000000000000 /tmp/tmp.Ab12Cd 3s";
        let mut form = String::new();
        volatile.canonical(text, Wording::Printed, &mut form);
        assert_eq!(form, text.replace("/w", ".").replace("3s", "<duration>"));
    }

    #[test]
    fn how_long_somebody_asks_to_wait_is_no_accident() {
        assert_eq!(canonical("sleep 5s", Wording::Said), "sleep 5s");
        assert_eq!(canonical("sleep 5s", Wording::Printed), "sleep <duration>");
    }

    #[test]
    fn a_run_without_a_root_keeps_its_paths() {
        for root in [None, Some("/"), Some("")] {
            let mut form = String::new();
            Volatile::new(root).canonical("/etc/hosts", Wording::Said, &mut form);
            assert_eq!(form, "/etc/hosts", "{root:?}");
        }
    }
}
