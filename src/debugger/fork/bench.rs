//! What answers the calls of a fork: a workbench with its files, made when the first call
//! needs one.

use serde_json::Value;

use super::super::{Debugger, Spot};
use crate::model::{Cursor, FileChange, TapePath};
use crate::replay::fork::{Ran, Sees, ToolAnswer, ToolResponder};
use crate::replay::workbench::{Call, Words, Workbench, WorkbenchConfig, WorkbenchError};
use crate::tools::{Asked, Find, Hunk, Patch};

/// Answers calls on the files of a place of a run, and of what was changed since.
pub(super) struct Bench<'a> {
    run: &'a Debugger,
    at: Cursor,
    config: WorkbenchConfig,
    made: Option<Workbench<'a>>,
    /// What was changed before it was made.
    waiting: Vec<FileChange>,
    is_stopped: &'a dyn Fn() -> bool,
}

impl Debugger {
    /// A bench with the files before an event.
    pub(super) fn bench<'a>(
        &'a self,
        at: Spot,
        first: u32,
        config: WorkbenchConfig,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Bench<'a> {
        Bench {
            run: self,
            at: Cursor {
                position: first,
                ..at.cursor
            },
            config: WorkbenchConfig {
                root: self.header.root.clone(),
                keeps_directory: self.keeps_directory(),
                ..config
            },
            made: None,
            waiting: Vec::new(),
            is_stopped,
        }
    }

    /// What a call can see, and so what its answer depends on.
    pub(super) fn seen_by(&self, tool: &str, arguments: &Value) -> Sees {
        let root = self.header.root.as_deref().unwrap_or("/");
        // A tool that keeps a directory of its own may mean another file by a relative path,
        // and says so by the files that it is recorded to have touched.
        let named = |path: &str| TapePath::resolve(path, root, root);
        let one = |path: &str| match named(path) {
            Ok(path) => Sees::Paths(vec![path]),
            Err(_) => Sees::World,
        };
        match Asked::of(tool, arguments) {
            Asked::Write { path, .. }
            | Asked::Edit { path, .. }
            | Asked::Editor { path, .. }
            | Asked::Read { path, .. } => one(&path),
            Asked::Patch(text) => {
                let Ok(patch) = Patch::parse(&text) else {
                    return Sees::Files;
                };
                let paths = patch.hunks.iter().flat_map(paths_of);
                let paths: Result<Vec<TapePath>, _> = paths.map(named).collect();
                paths.map_or(Sees::World, Sees::Paths)
            }
            Asked::Find(find) => {
                let (Find::Names { path, .. } | Find::Lines { path, .. }) = find;
                let path = path.as_deref().map(named);
                match path {
                    // What is passed over is said in files that may lie above.
                    Some(Ok(path)) if !path.is_outside() => {
                        let above = std::iter::successors(path.parent(), TapePath::parent);
                        let rules = above.filter_map(|above| above.join(b".gitignore").ok());
                        let top = TapePath::new(".gitignore").ok();
                        let rules: Vec<TapePath> = rules.chain(top).collect();
                        Sees::Paths(std::iter::once(path).chain(rules).collect())
                    }
                    _ => Sees::Files,
                }
            }
            Asked::Run(_) => Sees::Files,
            Asked::Unknown(_) => Sees::World,
        }
    }
}

/// The paths that a part of a patch is about.
fn paths_of(hunk: &Hunk) -> impl Iterator<Item = &str> {
    let (path, other) = match hunk {
        Hunk::Add { path, .. } | Hunk::Delete { path } => (path, None),
        Hunk::Update { path, move_to, .. } => (path, move_to.as_ref()),
    };
    std::iter::once(path).chain(other).map(String::as_str)
}

impl ToolResponder for Bench<'_> {
    fn sees(&self, tool: &str, arguments: &Value) -> Sees {
        self.run.seen_by(tool, arguments)
    }

    fn answer(&mut self, tool: &str, arguments: &Value) -> ToolAnswer {
        let call = Call {
            name: tool.to_owned(),
            arguments: arguments.clone(),
            time: None,
        };
        if self.made.is_none() {
            let mut bench = Workbench::new(self.config.clone(), self.run.tree_at(self.at));
            bench.apply(&std::mem::take(&mut self.waiting));
            self.made = Some(bench);
        }
        let Some(bench) = &mut self.made else {
            return ToolAnswer::NotAttempted("there is no workbench".to_owned());
        };
        match bench.answer(&call, self.is_stopped) {
            Ok(Ok(answer)) => {
                bench.accept(&call, &answer);
                if let Some((path, sort)) = answer.refused.first() {
                    return ToolAnswer::NotAttempted(format!(
                        "it made {}, which is {sort} and no tape holds",
                        path.display()
                    ));
                }
                ToolAnswer::Ran(Ran {
                    outcome: answer.outcome,
                    exit: answer.exit,
                    output: answer.output,
                    changes: answer.changes,
                    needs_network: answer.needs_network,
                    duration: answer.duration,
                    has_any_order: answer.words == Words::AnyOrder,
                })
            }
            Ok(Err(why)) => ToolAnswer::NotAttempted(why.to_string()),
            Err(WorkbenchError::Stopped) => {
                ToolAnswer::NotAttempted("it was broken off".to_owned())
            }
            Err(error) => ToolAnswer::NotAttempted(error.to_string()),
        }
    }

    fn take_in(&mut self, change: &FileChange) {
        match &mut self.made {
            Some(bench) => bench.apply(std::slice::from_ref(change)),
            None => self.waiting.push(change.clone()),
        }
    }
}
