//! `jukebox cat`: the bytes of a file at a place.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::arguments::PlaceArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, warn};
use crate::debugger::{FileContent, FileView};
use crate::model::{Certainty, EntryKind, KnownLines};
use crate::text::SafeText;

/// Print a file at a place: byte for byte, made safe only where it goes to a terminal
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// The file, as `jukebox tree` names it or as the run did
    path: OsString,
    /// Print the lines that are known of a file that is not known as a whole
    #[arg(long)]
    partial: bool,
    /// Print nothing and end with code 1 if the file is not known exactly
    #[arg(long)]
    strict: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Of a link, its text is printed; it is not followed. Something that may have changed the file
unseen is said on standard error. A file whose content is not known ends with code 1.

JSON, one object: path, type, mode, certainty, remarks, and text (of UTF-8), or base64 (of
other bytes), or lines (of a partly known file: [number of the first, text] each, with total),
or none of these and why.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let looked = self.place.open(around)?;
        let path = looked.run.path(self.path.as_bytes())?;
        let file = looked.run.file(looked.spot.cursor, &path)?;
        let name = SafeText::from_bytes(path.as_bytes());
        if file.kind == EntryKind::Directory {
            return Err(Failure::no(format!(
                "{name} is a directory; `jukebox tree TAPE@STEP` lists it"
            )));
        }
        if self.strict && file.certainty != Certainty::Exact {
            return Err(Failure::no(format!("{name} is {}", file.certainty)));
        }
        if self.json {
            out.json(&object(&file))?;
            let is_whole = matches!(file.content, FileContent::Bytes(_));
            return Ok(Answer::no_if(!is_whole));
        }
        match &file.content {
            FileContent::Bytes(bytes) => {
                if file.certainty != Certainty::Exact {
                    warn(&format!("{name} is {}", file.certainty));
                    file.remarks.iter().for_each(|remark| warn(remark.as_str()));
                }
                out.bytes(bytes)?;
            }
            FileContent::Lines(known) if self.partial => {
                for (first, text) in &known.ranges {
                    warn(&format!("from line {first} on:"));
                    out.bytes(text.as_bytes())?;
                    out.flush()?;
                }
            }
            FileContent::Lines(known) => {
                let lines = ranges(known);
                return Err(Failure::no(format!(
                    "only lines {lines} of {name} are known; --partial prints them"
                )));
            }
            FileContent::Nothing(why) => return Err(Failure::no(format!("{name}: {why}"))),
        }
        Ok(Answer::Yes)
    }
}

/// The known lines as `3-9, 20-31 of 40`.
fn ranges(known: &KnownLines) -> String {
    let ranges = known.ranges.iter().map(|(first, text)| {
        let last = first + text.lines().count().saturating_sub(1) as u64;
        format!("{first}-{last}")
    });
    let ranges: Vec<String> = ranges.collect();
    match known.total {
        Some(total) => format!("{} of {total}", ranges.join(", ")),
        None => ranges.join(", "),
    }
}

fn object(file: &FileView) -> Value {
    let mut object = fields::path_fields(&file.path);
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("type", file.kind.as_str().into());
    put("mode", fields::mode(file.mode));
    put("certainty", file.certainty.as_str().into());
    put("remarks", fields::lines(&file.remarks));
    match &file.content {
        FileContent::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => put("text", text.into()),
            Err(_) => put("base64", STANDARD.encode(bytes).into()),
        },
        FileContent::Lines(known) => {
            let lines = known.ranges.iter();
            let lines: Vec<Value> = lines.map(|(first, text)| json!([first, text])).collect();
            put("total", known.total.into());
            put("lines", lines.into())
        }
        FileContent::Nothing(why) => put("why", why.as_str().into()),
    };
    Value::Object(object)
}
