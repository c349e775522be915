//! All that a run can be asked, asked.

use std::fmt::{Debug, Write as _};
use std::ops::ControlFlow;

use jukebox::debugger::{Count, Debugger, Direction, Expanded, Search};
use jukebox::model::{Place, StepNumber};

/// What a run answers, a line for each question.
pub(crate) fn answers(run: &Debugger) -> String {
    let mut on = |_| ControlFlow::Continue(());
    let mut all = String::new();
    let mut say = |what: &str, answer: &dyn Debug| writeln!(all, "{what}: {answer:?}").unwrap();
    let summary = run.summary();
    say("summary", &summary);
    say("header", run.header());
    say("problems", &run.problems());
    say("end", &run.locate(&Place::END));
    for branch in &summary.branches {
        let line = branch.id;
        say("strip", &run.strip(line, 50));
        say("agents", &run.agents(line));
        say("statistics", &run.statistics(Count::new(line), &mut on));
        say("problems by step", &run.problems_by_step(line));
        for query in ["e", "tool:bash", "status:failed", "path:a"] {
            let mut hits = Vec::new();
            let search = Search::new(query, line).unwrap();
            let searched = run.search(search, &mut on, &mut |hit| hits.push(hit));
            say(query, &(searched, hits));
        }
        let stride = (branch.steps / 150).max(1) as usize;
        for number in (0..=branch.steps).step_by(stride).map(StepNumber) {
            let spot = run.spot(line, number);
            let before = run.spot_before(spot);
            say("row", &run.row(line, number));
            say("spots", &(spot, before, run.step_event(spot, -1)));
            say("step", &run.step(spot).map_err(|error| error.to_string()));
            say("context", &run.context(spot));
            say("environment", &run.environment(spot));
            say("failure", &run.next_failure(spot, Direction::Forward));
            say("edge", &run.next_edge(spot, Direction::Back));
            say("changed", &run.paths_changed(line, number));
            let changes = run.changes(before.cursor, spot.cursor);
            say("changes", &changes);
            for change in changes.iter().take(3) {
                let path = &change.path;
                let file = run.file(spot.cursor, path);
                say("file", &file.map_err(|error| error.to_string()));
                say("version", &run.next_version(spot, path, Direction::Back));
            }
            if (number.0 as usize).is_multiple_of(stride * 16) || number.0 == branch.steps {
                let start = run.spot(line, StepNumber(0)).cursor;
                say(
                    "tree",
                    &run.tree(spot.cursor, before.cursor, &Expanded::All),
                );
                say("all changes", &run.changes(start, spot.cursor));
            }
        }
    }
    all
}
