//! Real transcripts, where they are at hand: `JUKEBOX_TRANSCRIPTS`, or `../shared/transcripts`
//! beside the project. Without them tests say so and pass.

use std::path::{Path, PathBuf};

pub(crate) fn transcripts() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/transcripts");
    let named = std::env::var_os("JUKEBOX_TRANSCRIPTS").map(PathBuf::from);
    let found = named.unwrap_or(beside);
    if found.is_dir() {
        return Some(found);
    }
    println!("no transcripts at {}: nothing tested", found.display());
    None
}

/// The files of a folder and below, by what their path ends with.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_str().unwrap().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

pub(crate) fn is_agent(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    name.starts_with("agent-")
}

/// The transcripts of Claude Code, without the sub-agents' files.
pub(crate) fn claude_code() -> Vec<PathBuf> {
    let Some(root) = transcripts() else {
        return Vec::new();
    };
    let mut found = files(&root.join("claude-code"), ".jsonl");
    found.retain(|path| !is_agent(path));
    found
}
