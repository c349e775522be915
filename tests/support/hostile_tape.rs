//! A tape that fools a terminal, a reader or a ruler in every field that can hold text.
//!
//! It is written as JSON by hand, since what it holds no JSON library would write: half
//! surrogates, lines that are no JSON, bytes that are no text.

/// What terminals obey, what people do not see, and what is wider or narrower than it looks,
/// in the escapes of JSON.
pub(crate) const PAYLOADS: [&str; 36] = [
    // The clipboard, the title, links, programs and notices.
    r"\u001b]52;c;aGVsbG8=\u0007",
    r"\u001b]0;owned\u0007",
    r"\u001b]8;;http://bad.example/\u001b\\safe\u001b]8;;\u001b\\",
    r"\u001b]9;7;cmd\u0007\u001b]777;notify;a;b\u001b\\",
    r"\u001b]1337;File=inline=1:AAAA\u0007\u000e\u000f\u007f",
    // Screens, modes, queries, a reset, and strings that do not end.
    r"\u001b[2J\u001b[H\u001b[?1049l\u001b[?1003h\u001b[31m",
    r"\u001b[6n\u001b[>0q\u001bc\u0007\u0007",
    r"\u001bP+q544e\u001b\\\u001bP1$r",
    r"\u001b_a\u001b\\\u001b^b\u001b\\\u001bXc",
    r"\u001b]52;c;aGVs",
    r"\u009b31m\u009d0;x\u009c\u0090\u009e\u009f\u0085",
    // Lines that write over themselves, and what ends or stretches one.
    r"rm -rf /\b\b\b\b\b\b\b\becho ok  ",
    r"real line\rfake line",
    r"a\tb\t\tc\u000b\f\u0000end",
    r"one\ntwo\n\n\u001b[3A",
    // What is not seen, and what turns a line around.
    r"user\u202e \u2066// check\u2069 \u2066",
    r"a\u200bb\u200ec\u2060d\ufeffe\u00adf",
    r"\udb40\udc69\udb40\udc67\udb40\udc6e\udb40\udc7f",
    r"p\u2028q\u2029r\u061cs\u180et",
    r"\ufdd0\uffff\udbff\udfff\ufff9",
    // Halves of characters.
    r"\ud83d\u001b\udc00",
    r"\udfff\ud800x\ud800",
    // Wide, and joined, and with no width.
    r"\u6f22\u5b57\uff21\uff22\u3000\u5b57",
    r"\ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67 \u26a0\ufe0f 1\ufe0f\u20e3",
    r"\ud83c\uddea\ud83c\uddfa\ud83c\uddea \ud83c\udff4\udb40\udc67\udb40\udc7f",
    r"e\u0301\u0302\u0303\u0304\u0305\u0306\u0307 \u0301\u0301",
    r"\u1112\u1161\u11ab \u1161\u11ab \u3164\uffa0 \uff76\uff9e",
    r"\u0e01\u0e33 \u0915\u094d\u200d\u0937 \u0b95\u0bcb \u17d2\u1780",
    r"\u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0633\u0644\u0627\u0645 \u06dd12",
    r"\ufdfd\u2e3b\u4dc0 \ud808\ude19 \u2764\ufe0e\ufe0f",
    r"\u200d\u200d\u200c\ufe0f\udb40\udd00 x\u200dy",
    r"\ue0b0\udb80\udc01 \u2500\u00b7",
    // What other programs take for something.
    r"--- a\n+++ b\n\\ No newline",
    r"\u001b[200~q\u001b[201~",
    r#"{\"a\":[\"\\u001b]0;x\\u0007\",{\"\\u202e\":1e999}]}"#,
    r"../../etc/passwd\\..\\%s%n$(reboot)`id`",
];

/// A round of events: `%` is the payload, `@` what of it can stand in a
/// path, and `#` the number of the round.
const ROUND: [&str; 22] = [
    r#""kind":"prompt","name":"user %","text":"say % #","attachments":["%"]"#,
    r#""kind":"model.request","call":"m#","name":"%","added":[{"role":"%","content":"%"},{"%":"%"}]"#,
    r##""kind":"model.response","call":"m#","name":"%","blocks":[{"type":"text","text":"%"},{"type":"thinking","text":"%\n%"},{"type":"%","%":"%"},{"type":"tool_call","call":"# %","name":"%","args":{"%":"%"}}],"stop":"%""##,
    r##""kind":"tool.call","call":"# %","name":"Bash %","agent":"%","title":"%","args":{"command":"%","%":["%",{"%":1}]}"##,
    r##""kind":"fs.write","call":"# %","path":"dir @/# @","mode":"644","text":"%\n%\n","remark":"%""##,
    r##""kind":"fs.write","call":"# %","path":"src/lib @.rs","text":"fn main() {\n\t// % #\n\tlet x = \"%\";\n}\n%""##,
    r##""kind":"fs.write","call":"# %","path":"package.json","text":"{\"%%\":[#,\"%%\"],\"b\":{\"%%\":\"#\"}}""##,
    r##""kind":"fs.symlink","call":"# %","path":"link # @","target":"%""##,
    r##""kind":"fs.rename","call":"# %","path":"moved # @","from":"link # @""##,
    r##""kind":"tool.result","call":"# %","outcome":"failed","exit":1,"output":"%\n%","detail":{"%":"%"}"##,
    r#""kind":"fs.suspect","path":"dir @","why":"%""#,
    r#""kind":"fs.write","by":"outside","path":"out/@","enc":"lines","lines":[[3,"%\n%\n"]],"total":9"#,
    r#""kind":"txn.begin","txn":"%""#,
    r#""kind":"txn.savepoint","txn":"%","name":"%""#,
    r#""kind":"txn.rollback","txn":"%","to":"%""#,
    r#""kind":"raw","name":"%","text":"%""#,
    r#""kind":"%","%":"%""#,
    r#""kind":"note","text":"%","title":"%""#,
    r#""kind":"branch","branch":"b %","at":1,"why":"%""#,
    r#""kind":"agent.start","agent":"%","name":"%""#,
    r##""kind":"effect.intent","call":"# %","key":"%","%":"%""##,
    r#""kind":"gap","why":"%""#,
];

/// The words of the last step.
pub(crate) const LAST_STEP: &str = "the last step";

/// A tape on which each of these payloads stands in every field.
pub(crate) fn tape<S: AsRef<str>>(payloads: &[S]) -> Vec<u8> {
    let header = r#"{"seq":0,"kind":"tape","name":"%","format":1,"id":"%","started":"%","root":"/%","recorder":"%","covers":{"%":"%"},"source":{"%":"%"}}"#;
    let first = payloads.first().map_or("", AsRef::as_ref);
    let mut lines = vec![header.replace('%', first)];
    let mut seq = 0;
    for (number, payload) in payloads.iter().enumerate() {
        let payload = payload.as_ref();
        // In a file of JSON it is escaped once more.
        let twice = payload.replace('\\', r"\\").replace('"', r#"\""#);
        let in_path = payload.replace(r"\u0000", "").replace('/', "|");
        for event in ROUND {
            seq += 1;
            let body = event
                .replace('#', &number.to_string())
                .replace('@', &in_path)
                .replace("%%", &twice)
                .replace('%', payload);
            lines.push(format!(r#"{{"seq":{seq},"t":{seq},{body}}}"#));
        }
        // Damage that a report may want to quote.
        lines.push(format!("no JSON {payload}"));
        lines.push("raw \x1b]0;damage\x07 \u{9b}31m \u{202e}".to_owned());
    }
    seq += 1;
    lines.push(format!(
        r#"{{"seq":{seq},"t":{seq},"kind":"prompt","name":"user","text":"{LAST_STEP}"}}"#
    ));
    let mut tape = lines.join("\n").into_bytes();
    tape.extend_from_slice(b"\n\xff\xfe\x9b31m\n\x1b]0;torn tail\x07");
    tape
}

/// Whether a terminal obeys the character, or nobody sees it. Joiners and selectors are not
/// among them: spelling and emoji need them.
pub(crate) fn is_hostile(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{3164}'
            | '\u{fdd0}'..='\u{fdef}' | '\u{fff9}'..='\u{fffb}' | '\u{ffff}'
            | '\u{e0000}'..='\u{e00ff}' | '\u{10ffff}')
}
