//! The `jukebox` program.

fn main() {}
