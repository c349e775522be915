//! Which characters would not be seen, or would do something, on a terminal.
//!
//! The sets follow the Trojan Source paper (CVE-2021-42574), the Unicode property
//! `Default_Ignorable_Code_Point` and UTS #51 for emoji. Letters that merely look like
//! others (homoglyphs) and private-use characters are visible, and are left alone.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthChar;

/// What to do with one character of a grapheme cluster.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is seen, and does nothing else.
    Keep,
    /// It is a control character: C0, C1 or DEL.
    Control,
    /// It is invisible, changes the direction of text, or is no character at all.
    Hidden,
}

/// Judges the characters of one grapheme cluster, in order.
///
/// Joiners and variation selectors are kept where a script or an emoji needs them. A mark
/// without a base would join whatever the terminal shows before it: it is hidden where a
/// cluster starts with it, and where something before it in the cluster was replaced.
pub(super) fn judge(cluster: &str) -> impl Iterator<Item = (char, Verdict)> {
    let mut before = Before::default();
    let mut is_broken = false;
    let mut rest = cluster.chars();
    std::iter::from_fn(move || {
        let character = rest.next()?;
        let has_no_width = character.width().unwrap_or(0) == 0;
        let verdict = if character.is_control() {
            Verdict::Control
        } else if is_never_shown(character)
            || (has_no_width && (is_broken || before.last.is_none()))
            || (is_joiner(character) && !before.needs_joiner(rest.clone().next()))
            || (is_selector(character) && !before.takes_selector(character))
        {
            Verdict::Hidden
        } else {
            Verdict::Keep
        };
        is_broken |= verdict != Verdict::Keep;
        before.first.get_or_insert(character);
        before.last = Some(character);
        Some((character, verdict))
    })
}

/// Bytes before a joiner or a selector that are looked at to find what it belongs to.
const BEFORE: usize = 64;

/// Whether a text holds a character that is hidden. Costs a glance at each character.
pub(super) fn hides(text: &str) -> bool {
    let doubtful = text
        .char_indices()
        .filter(|(_, c)| !c.is_ascii() && (is_never_shown(*c) || is_joiner(*c) || is_selector(*c)));
    doubtful.into_iter().any(|(at, character)| {
        is_never_shown(character) || {
            let start =
                (at.saturating_sub(BEFORE)..=at).find(|start| text.is_char_boundary(*start));
            let start = start.unwrap_or(at);
            let around = text.get(start..).unwrap_or_default();
            let mut clusters = around.grapheme_indices(true);
            let holds = |(from, cluster): &(usize, &str)| at < start + from + cluster.len();
            clusters.find(holds).is_some_and(|(_, cluster)| {
                judge(cluster).any(|judged| judged == (character, Verdict::Hidden))
            })
        }
    })
}

/// Whether a character is hidden wherever it stands.
pub(super) fn is_hidden(character: char) -> bool {
    is_never_shown(character)
}

/// What stands before a character in its cluster.
#[derive(Default)]
struct Before {
    first: Option<char>,
    last: Option<char>,
}

impl Before {
    /// Whether a joiner here holds an emoji family or the letters of a script together.
    fn needs_joiner(&self, next: Option<char>) -> bool {
        let is_emoji = |first: char| !first.is_ascii() && !first.is_alphanumeric();
        let is_family = self.first.is_some_and(is_emoji)
            && next.is_some_and(|next| next.width().unwrap_or(0) > 0);
        is_family || self.last.is_some_and(is_of_joining_script)
    }

    /// Whether a variation selector here chooses a glyph of the character before it.
    fn takes_selector(&self, selector: char) -> bool {
        self.last.is_some_and(|base| match selector {
            '\u{FE0E}' | '\u{FE0F}' => !base.is_alphabetic() && !base.is_whitespace(),
            '\u{180B}'..='\u{180D}' | '\u{180F}' => ('\u{1820}'..='\u{18AA}').contains(&base),
            _ => is_ideograph(base),
        } && !is_selector(base))
    }
}

fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200C}' | '\u{200D}')
}

fn is_selector(character: char) -> bool {
    matches!(character,
        '\u{180B}'..='\u{180D}' | '\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}')
}

/// Scripts in whose ordinary spelling U+200C and U+200D occur: Arabic, Syriac, N'Ko, the
/// scripts of India, Myanmar, Khmer, Mongolian.
fn is_of_joining_script(character: char) -> bool {
    !matches!(character, '\u{0600}'..='\u{061F}')
        && matches!(character,
            '\u{0600}'..='\u{07FF}' | '\u{0860}'..='\u{0DFF}' | '\u{1000}'..='\u{109F}'
            | '\u{1780}'..='\u{18AF}' | '\u{FB50}'..='\u{FDCF}' | '\u{FE70}'..='\u{FEFC}')
}

/// What is replaced wherever it stands.
fn is_never_shown(character: char) -> bool {
    let is_noncharacter =
        matches!(character, '\u{FDD0}'..='\u{FDEF}') || u32::from(character) & 0xFFFE == 0xFFFE;
    is_noncharacter
        || matches!(character,
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
            | '\u{13430}'..='\u{1345F}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E00FF}' | '\u{E01F0}'..='\u{E0FFF}')
}
