//! Which parts of a request may differ from run to run, as a tape or a person names them.

use crate::replay::{Volatile, VolatileSort, Wording};
use crate::text::{JsonPath, JsonStep};

/// The words for sorts of text, the directory of the run aside.
const SORTS: [(&str, VolatileSort); 4] = [
    ("ids", VolatileSort::Id),
    ("times", VolatileSort::Time),
    ("durations", VolatileSort::Duration),
    ("temporary-paths", VolatileSort::Temporary),
];
/// The word for the directory that a run works in.
const ROOT: &str = "root";

/// Parts of requests that are left out of account.
///
/// A part is named by one word: a place, as a JSON pointer in which `*` stands for any one
/// step (`/messages/*/id`), with all below it; or a sort of text: `root`, `ids`, `times`,
/// `durations`, `temporary-paths`.
#[derive(Clone, Debug, Default)]
pub struct VolatileParts {
    /// As they were named.
    words: Vec<String>,
    places: Vec<Vec<String>>,
    sorts: Vec<VolatileSort>,
    texts: Option<(Volatile, Volatile)>,
}

/// A word that names no part of a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no volatile part; name a place such as /metadata/user_id or /messages/*/id, or \
     one of root, ids, times, durations, temporary-paths"
)]
pub struct UnknownPart(pub String);

impl VolatileParts {
    /// Reads words that name parts. The directories are those that the two runs worked in.
    pub fn read<'a>(
        words: impl IntoIterator<Item = &'a str>,
        recorded_root: Option<&str>,
        replayed_root: Option<&str>,
    ) -> Result<Self, UnknownPart> {
        let (mut places, mut sorts, mut has_root) = (Vec::new(), Vec::new(), false);
        let mut named: Vec<String> = Vec::new();
        for word in words {
            if named.iter().any(|known| known == word) {
                continue;
            }
            named.push(word.to_owned());
            if let Some(pointer) = word.strip_prefix('/') {
                let steps = pointer.split('/');
                let steps = steps.map(|step| step.replace("~1", "/").replace("~0", "~"));
                places.push(steps.collect());
            } else if let Some((_, sort)) = SORTS.iter().find(|(name, _)| *name == word) {
                sorts.push(*sort);
            } else if word == ROOT {
                has_root = true;
            } else {
                return Err(UnknownPart(word.to_owned()));
            }
        }
        let of = |root: Option<&str>| Volatile::new(root.filter(|_| has_root)).only(&sorts);
        let has_texts = has_root || !sorts.is_empty();
        let texts = has_texts.then(|| (of(recorded_root), of(replayed_root)));
        Ok(Self {
            words: named,
            places,
            sorts,
            texts,
        })
    }

    /// Whether nothing is volatile.
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty() && self.texts.is_none()
    }

    /// The words that name them, each once.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The sorts of text among them, the directory of the run aside.
    pub fn sorts(&self) -> &[VolatileSort] {
        &self.sorts
    }

    /// Whether a place, or one that holds it, is among them. Its steps are names.
    pub fn has(&self, steps: &[&str]) -> bool {
        self.places.iter().any(|place| {
            let mut steps = steps.iter();
            place.iter().all(|wanted| {
                let step = steps.next();
                step.is_some_and(|step| wanted == "*" || wanted == step)
            })
        })
    }

    /// Whether a value, or one that holds it, is at such a place.
    pub(super) fn has_place(&self, path: &JsonPath) -> bool {
        self.places.iter().any(|place| {
            let mut steps = path.0.iter();
            place.iter().all(|wanted| match steps.next() {
                Some(_) if wanted == "*" => true,
                Some(JsonStep::Member { name, .. }) => name == wanted,
                Some(JsonStep::Element(element)) => element.to_string() == *wanted,
                None => false,
            })
        })
    }

    /// Whether two texts are the same but for such sorts of text.
    pub(super) fn is_same_text(&self, recorded: &str, replayed: &str) -> bool {
        let Some((old, new)) = &self.texts else {
            return false;
        };
        let form = |volatile: &Volatile, text: &str| {
            let mut form = String::new();
            volatile.canonical(text, Wording::Printed, &mut form);
            form
        };
        form(old, recorded) == form(new, replayed)
    }
}
