//! `jukebox tree`: the file tree at a place.

use serde_json::{Value, json};

use super::arguments::PlaceArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style, warn};
use crate::debugger::{Expanded, TreeRow};
use crate::model::{BlobHash, Certainty, EntryKind};
use crate::text::{SafeText, human};

/// List the files at a place
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// End with code 1 if any file is not known exactly
    #[arg(long)]
    strict: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Columns: mode, size, path, and how well the file is known where that is not exactly.

JSON, one path a line: path (with path_base64 beside it where it is not UTF-8), type (file,
directory, link), mode (octal, or null), size (bytes, or null), blob (hash, or null), certainty
(exact, unstored, redacted, uncertain, partial, absent, unknown), target (of a link, made safe
to show, or null). A path with a leading / lies outside the workspace.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let looked = self.place.open(around)?;
        let cursor = looked.spot.cursor;
        let rows = looked.run.tree(cursor, cursor, &Expanded::All);
        for row in &rows {
            if self.json {
                out.json(&object(row))?;
            } else {
                print(row, out)?;
            }
        }
        let doubtful = rows.iter().filter(|row| row.certainty != Certainty::Exact);
        let doubtful = doubtful.count() as u64;
        if self.strict && doubtful > 0 {
            let files = human::plural(doubtful, "path is", "paths are");
            warn(&format!("{files} not known exactly"));
        }
        Ok(Answer::no_if(self.strict && doubtful > 0))
    }
}

fn object(row: &TreeRow) -> Value {
    fields::with_path(
        &row.path,
        json!({
            "type": row.kind.as_str(),
            "mode": fields::mode(row.mode),
            "size": row.size,
            "blob": row.blob.as_ref().map(BlobHash::to_string),
            "certainty": row.certainty.as_str(),
            "target": row.target.as_ref().map(SafeText::as_str),
        }),
    )
}

fn print(row: &TreeRow, out: &mut Output) -> Result<(), Failure> {
    let mode = row
        .mode
        .map_or_else(String::new, |mode| format!("{mode:o}"));
    let size = row.size.map_or_else(String::new, human::size);
    let columns = SafeText::line(&format!("{mode:>5} {size:>5}  "));
    let path = SafeText::from_bytes(row.path.as_bytes());
    let mut end = SafeText::literal(match row.kind {
        EntryKind::Directory => "/",
        EntryKind::File => "",
        EntryKind::Link => " -> ",
    });
    if let Some(target) = &row.target {
        end.push(target);
    }
    let doubt = match row.certainty {
        Certainty::Exact => SafeText::default(),
        certainty => SafeText::line(&format!("  ({certainty})")),
    };
    out.spans(&[
        (Style::Faint, &columns),
        (Style::Plain, &path),
        (Style::Faint, &end),
        (Style::Doubt, &doubt),
    ])?;
    Ok(())
}
