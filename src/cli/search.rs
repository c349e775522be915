//! `jukebox search`: a line per hit, over all events of a branch.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use serde_json::json;

use super::arguments::{Looked, PlaceArgs};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use crate::debugger::{HitRow, Search};
use crate::text::SafeText;

/// Search the events of a run for words and fields
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// What to look for
    #[arg(required = true)]
    query: Vec<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
A line is a hit if all words stand in it, whatever their case; '\"two words\"' are one phrase, and
re:PATTERN is a regular expression, in quotes if it has blanks (re:\"a +b\"); (?-i) in it minds the
case. tool:Bash kind:tool status:failed agent:NAME step:3..7 narrow it down; so does path:src, to
files whose path has that in it, or path:'src/**' as a glob, and looks into what was written to
them. file:WORD, file:\"two words\" and file:re:PATTERN look into what was written to all files: a
line is a hit at the step that wrote it. In quotes, \"tool:x\" is looked for as it is. What lies
behind the place is not searched. Without a hit the code is 1.

JSON, one hit a line: step, seq, field (where in the event: output, arguments, path, file …), line
(made safe to show).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let Looked { run, spot, .. } = self.place.open(around)?;
        let search = Search::new(&self.query.join(" "), run.line_of(spot))?.up_to(spot.step);
        let progress = RefCell::new(self.place.progress("search", around));
        let (mut hits, mut written) = (0_u64, Ok(()));
        let is_over = Cell::new(false);
        let mut tell = |done| {
            if is_over.get() {
                return ControlFlow::Break(());
            }
            progress.borrow_mut().tell(done)
        };
        let flow = run.search(search, &mut tell, &mut |hit| {
            if !is_over.get() {
                hits += 1;
                progress.borrow_mut().erase();
                written = self.print(&hit, out);
                is_over.set(written.is_err());
            }
        });
        written?;
        progress.into_inner().end(flow)?;
        Ok(Answer::no_if(hits == 0))
    }

    fn print(&self, hit: &HitRow, out: &mut Output) -> Result<(), Failure> {
        if self.json {
            out.json(&json!({
                "step": hit.spot.step.0,
                "seq": hit.seq.0,
                "field": hit.field.as_str(),
                "line": hit.line.as_str(),
            }))?;
        } else {
            let place = SafeText::line(&format!("{:>5}  {:<10} ", hit.spot.step.0, hit.field));
            out.spans(&[(Style::Place, &place), (Style::Plain, &hit.line)])?;
        }
        // On a terminal, the next state of the line must not stand before the hit.
        if out.has_terminal() {
            out.flush()?;
        }
        Ok(())
    }
}
