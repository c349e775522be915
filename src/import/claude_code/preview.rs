//! What the first lines of a transcript tell of it, for a list of transcripts. A guess: the
//! whole is not read.

use super::record::Record;
use super::title;
use super::words::UserWords;

/// What is known of a transcript by its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// The directory the agent worked in.
    pub directory: Option<String>,
    /// The first words of the first prompt that is no command, on one line.
    pub words: Option<String>,
}

impl Preview {
    /// Reads the first bytes of a transcript. A line that is not whole counts for nothing.
    pub fn of(start: &[u8]) -> Self {
        let mut preview = Self::default();
        for line in start.split(|byte| *byte == b'\n') {
            let Ok(record) = serde_json::from_slice::<Record<'_>>(line) else {
                continue;
            };
            let directory = record.cwd.get().filter(|path| !path.is_empty());
            if preview.directory.is_none() {
                preview.directory = directory.map(str::to_owned);
            }
            let is_told = preview.words.is_some();
            if !is_told && record.kind.is("user") && !record.is_sidechain.0 {
                let words = UserWords::read(&record);
                let text = words.text.trim_start();
                let is_command = text.starts_with("<command-");
                let is_said = words.is_prompt() && !text.is_empty() && !is_command;
                preview.words = is_said.then(|| title::prompt(&words.text, 0));
            }
            if preview.directory.is_some() && preview.words.is_some() {
                break;
            }
        }
        preview
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_prompt_is_what_a_person_said_first() {
        let said = |text: &str| {
            let record =
                serde_json::json!({"type": "user", "cwd": "/w", "message": {"content": text}});
            record.to_string()
        };
        let lines = [
            r#"{"type":"summary","summary":"x"}"#.to_owned(),
            said("<local-command-stdout>no</local-command-stdout>"),
            r#"{"type":"user","isSidechain":true,"message":{"content":"to a sub-agent"}}"#.into(),
            said("<command-name>/clear</command-name>"),
            said("make it\nwork"),
            said("and then"),
            r#"{"type":"user","message":{"con"#.into(),
        ];
        let preview = Preview::of(lines.join("\n").as_bytes());
        assert_eq!(preview.directory.as_deref(), Some("/w"));
        assert_eq!(preview.words.as_deref(), Some("make it work"));
        assert_eq!(Preview::of(b"\x00{ nothing"), Preview::default());
    }
}
