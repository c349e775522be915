//! What a case is wrapped in, for the test runners that people have.
//!
//! Each file is the same in every case. None of them holds a word that was recorded: they hand
//! their directory to `jukebox test`, and say what it said.

/// The form of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The case alone.
    #[default]
    Case,
    /// With a script for `sh`.
    Sh,
    /// With a test for `pytest`, which `python3` runs, too.
    Pytest,
    /// With a test for `cargo test`, or for `rustc --test`.
    Rust,
    /// With a report to be read.
    Report,
}

impl Form {
    /// The file that hands the case to its runner: its name and its text.
    pub const fn harness(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Case | Self::Report => None,
            Self::Sh => Some(("test.sh", include_str!("../../assets/test-case/test.sh"))),
            Self::Pytest => Some((
                "test_case.py",
                include_str!("../../assets/test-case/test_case.py"),
            )),
            Self::Rust => Some(("case.rs", include_str!("../../assets/test-case/case.rs"))),
        }
    }
}
