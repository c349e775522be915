//! `jukebox effects`: what calls did outside the files, and what became of it.

mod finish;

use std::path::PathBuf;

use super::arguments::{Looked, PlaceArgs};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style};
use crate::debugger::{EffectState, LedgerRow, Standing};
use crate::text::{Align, SafeText, width};
use finish::FinishArgs;
pub(super) use finish::{SettleArg, of_rolled_back, of_sent};

/// List what calls did outside the files: done, waiting, in doubt, taken back
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    finish: FinishArgs,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
An effect is in doubt if it was begun and the tape holds no result: it is under way, or was cut
off. Ends with code 1 if one is, or if a rollback left one. Effects count whatever their branch.

--retry, --send, --take-back and --settle bring them to an end on a tape that nobody writes any
more. What is run stands in jukebox.toml and never on the tape. Each may be cut off and done
again; code 1 if something is left: in doubt, not sent, or not taken back. A transaction whose
commit was undone (`jukebox txn undo`) counts as one that was not committed. Of a request that held
a secret the tape has a placeholder: such an effect is not made again, and not sent (code 3 or 1);
--dry-run says of which.

JSON, one effect a line: number, name, arguments, class (pure, read, idempotent, compensable,
irreversible), key, step (in which it was asked for), transaction (or null), state (waiting,
in-doubt, done, failed, refused, compensated, compensation-failed, compensation-in-doubt),
rollback (what one would do while the transaction is open: nothing, not-sent, compensated,
remains, asked; left: it was rolled back, and this was left; else null).
Of what is done, one object. --retry: in_doubt (numbers). --send: sent, stopped (number, in_doubt,
reason; or null), waiting. --take-back: not_sent, compensated, residue (number, why). --settle:
settled. With --dry-run or nothing to do: done (false), effects (numbers), refused (those of
them that are not made, sent or taken back for their placeholders).";

/// Columns of what an effect is called, at most.
const TITLE: usize = 40;

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let looked = self.place.open(around)?;
        if self.finish.is_wanted() {
            let tape = self.tape_to_finish(&looked)?;
            let root = looked.run.header().root.as_ref().map(PathBuf::from);
            drop(looked);
            return self.finish.run(tape, root, self.json, around, out);
        }
        let view = looked.run.effects(looked.spot, usize::MAX);
        if self.json {
            for row in &view.rows {
                out.json(&fields::effect(row))?;
            }
        } else if view.rows.is_empty() {
            out.line(Style::Plain, &SafeText::literal("no effects up to here"))?;
        } else {
            print(&view.rows, out)?;
        }
        Ok(Answer::no_if(view.rows.iter().any(is_open_question)))
    }

    /// The file of the tape, where effects can be brought to an end on it.
    fn tape_to_finish(&self, looked: &Looked) -> Result<PathBuf, Failure> {
        let file = looked
            .run
            .tape_file()
            .filter(|_| !self.place.names_a_place());
        file.map(PathBuf::from).ok_or_else(|| {
            Failure::unusable(
                "effects are brought to an end on a whole tape in a file; nothing was done",
            )
        })
    }
}

fn is_open_question(row: &LedgerRow) -> bool {
    let is_in_doubt = matches!(
        row.state,
        EffectState::InDoubt | EffectState::CompensationInDoubt
    );
    is_in_doubt || row.standing == Standing::Left
}

/// Effects, for people: a line each.
pub(super) fn print(rows: &[LedgerRow], out: &mut Output) -> Result<(), Failure> {
    let titles = rows.iter().map(LedgerRow::title);
    let titles: Vec<SafeText> = titles.map(|title| width::fit(&title, TITLE)).collect();
    let columns = titles.iter().map(width::width).max().unwrap_or(0);
    for (row, title) in rows.iter().zip(&titles) {
        let start = SafeText::line(&format!("{:>4} {} ", row.number, row.state.sign()));
        let title = width::pad(title, columns, Align::Left);
        let class = SafeText::line(&format!("  {:<12}  ", row.class.as_str()));
        let end = SafeText::line(&format!("  step {}, key {}", row.step, row.key));
        out.spans(&[
            (Style::Faint, &start),
            (Style::Strong, &title),
            (Style::Faint, &class),
            (style(row), &SafeText::line(&row.in_words())),
            (Style::Faint, &end),
        ])?;
    }
    Ok(())
}

fn style(row: &LedgerRow) -> Style {
    match row.state {
        _ if row.standing == Standing::Left => Style::Bad,
        EffectState::Failed | EffectState::CompensationFailed => Style::Bad,
        EffectState::InDoubt | EffectState::CompensationInDoubt | EffectState::Waiting => {
            Style::Doubt
        }
        EffectState::Done | EffectState::Refused | EffectState::Compensated => Style::Plain,
    }
}
