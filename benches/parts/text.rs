//! Texts to work on: the same on every run.

/// Source code of at least so many lines.
pub(crate) fn code(lines: usize) -> String {
    let source = include_str!("../../src/tui/run.rs");
    source
        .lines()
        .cycle()
        .take(lines)
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// Lines that are all different.
pub(crate) fn numbered(lines: usize) -> Vec<String> {
    let line = |number: usize| {
        format!(
            "let value_{number} = compute({});\n",
            number * 7919 % 104_729
        )
    };
    (0..lines).map(line).collect()
}

/// Lines of which few are different, in no order: what a difference is slow at.
pub(crate) fn shuffled(lines: usize, seed: u64) -> Vec<String> {
    let mut state = seed;
    let line = move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        format!("{}\n", (state >> 33) % 64)
    };
    (0..lines).map(line).collect()
}
