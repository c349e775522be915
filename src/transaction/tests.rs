//! Nothing is lost, and nothing half-applied: on a file system that forgets, and on the
//! real one when the process is killed.

mod cases;
mod killed;
mod real;
mod simulated;
mod trees;

fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}
