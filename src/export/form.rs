//! What a case is wrapped in, for the test runners that people have.
//!
//! Each file is the same in every case. None of them holds a word that was recorded: they hand
//! their directory to `jukebox test`, and say what it said. An evaluation is no case, and made
//! elsewhere (`evaluation`).

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
    /// No case of a call, but of the turn of the model that asked for it: an evaluation for
    /// promptfoo.
    Promptfoo,
}

impl Form {
    /// Every form of a case, in the order in which they are offered. An evaluation is none.
    pub const OF_CASE: [Self; 5] = [Self::Case, Self::Sh, Self::Pytest, Self::Rust, Self::Report];

    /// Every form.
    pub const ALL: [Self; 6] = {
        let [case, sh, pytest, rust, report] = Self::OF_CASE;
        [case, sh, pytest, rust, report, Self::Promptfoo]
    };

    /// The fixed word, as `--as` takes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Case => "case",
            Self::Sh => "sh",
            Self::Pytest => "pytest",
            Self::Rust => "rust",
            Self::Report => "md",
            Self::Promptfoo => "promptfoo",
        }
    }

    /// What it is, in a few words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Case => "the case alone",
            Self::Sh => "with test.sh, for sh",
            Self::Pytest => "with test_case.py, for pytest and for python3",
            Self::Rust => "with case.rs, for cargo test and for rustc --test",
            Self::Report => "with REPORT.md, to be read",
            Self::Promptfoo => "the turn of the model, for promptfoo",
        }
    }

    /// Whether it is no case, but an evaluation of a model.
    pub const fn is_evaluation(self) -> bool {
        matches!(self, Self::Promptfoo)
    }

    /// The file that hands the case to its runner: its name and its text.
    pub const fn harness(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Case | Self::Report | Self::Promptfoo => None,
            Self::Sh => Some(("test.sh", include_str!("../../assets/test-case/test.sh"))),
            Self::Pytest => Some((
                "test_case.py",
                include_str!("../../assets/test-case/test_case.py"),
            )),
            Self::Rust => Some(("case.rs", include_str!("../../assets/test-case/case.rs"))),
        }
    }
}
