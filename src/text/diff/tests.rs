//! Differences are true, complete and in time, and git agrees with them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

use proptest::prelude::*;

use super::*;

const NO_TIME: Duration = Duration::ZERO;
const LARGE: usize = 1 << 14;

fn between(old: &[u8], new: &[u8]) -> FileDiff {
    // A long budget: a busy machine must not change what these tests see.
    FileDiff::between(Some(old), Some(new), Duration::from_mins(1))
}

/// What the hunks make of the old file; panics where a row contradicts it.
fn apply(diff: &FileDiff, old: &[u8]) -> Vec<u8> {
    let old: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let mut new: Vec<&[u8]> = Vec::new();
    let mut at = 0;
    for hunk in &diff.hunks {
        new.extend(&old[at..hunk.start().0]);
        at = hunk.start().0;
        assert_eq!(new.len(), hunk.start().1);
        for row in hunk.rows() {
            if let Some(number) = row.old {
                assert_eq!((number, row.bytes), (at + 1, old[at]));
                at += 1;
            }
            if let Some(number) = row.new {
                new.push(row.bytes);
                assert_eq!(number, new.len());
            }
        }
    }
    new.extend(&old[at..]);
    new.concat()
}

fn show(diff: &FileDiff) -> String {
    String::from_utf8(unified(file(b"f"), file(b"f"), diff)).unwrap()
}

#[test]
fn a_changed_line_stands_in_its_context() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let diff = between(old.as_bytes(), old.replace('5', "five").as_bytes());
    assert_eq!(
        show(&diff),
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    );
    assert_eq!((diff.added, diff.removed, diff.is_coarse), (1, 1, false));
    let pairs = diff.hunks.first().unwrap().side_by_side();
    assert_eq!(
        pairs.get(2..5).unwrap(),
        [(Some(2), Some(2)), (Some(3), Some(4)), (Some(5), Some(5))]
    );
}

#[test]
fn paths_are_written_as_git_writes_them() {
    let diff = FileDiff::between(None, Some(b"a\n"), BUDGET);
    let check = |path: &[u8], expected: &str| {
        let written = unified(file(path), file(path), &diff);
        let written = String::from_utf8(written).unwrap();
        let name = written
            .split_once("+++ ")
            .unwrap()
            .1
            .split_once('\n')
            .unwrap()
            .0;
        assert_eq!(name, expected);
    };
    check(b"f", "b/f");
    check(b"a b", "b/a b\t");
    check("\u{fc} x".as_bytes(), "\"b/\\303\\274 x\"\t");
    check(b"\t\"\\\x01", "\"b/\\t\\\"\\\\\\001\"");
}

#[test]
fn a_missing_line_end_is_a_difference() {
    let check = |old: &str, new: &str, expected: &str| {
        let shown = show(&between(old.as_bytes(), new.as_bytes()));
        let hunks = shown.split_once("+++ b/f\n").unwrap().1;
        assert_eq!(hunks, expected);
    };
    let no = "\\ No newline at end of file\n";
    check("a", "a\n", &format!("@@ -1 +1 @@\n-a\n{no}+a\n"));
    check("a\nb", "b", &format!("@@ -1,2 +1 @@\n-a\n b\n{no}"));
    check("", "a", &format!("@@ -0,0 +1 @@\n+a\n{no}"));
}

#[test]
fn line_ends_and_marks_are_said() {
    let check = |old: &str, new: &str, kind, expected: &[&str]| {
        let diff = between(old.as_bytes(), new.as_bytes());
        let remarks = diff.remarks();
        let remarks: Vec<&str> = remarks.iter().map(SafeText::as_str).collect();
        assert_eq!((diff.kind, remarks.as_slice()), (kind, expected));
    };
    let only = "only line ends changed: CRLF to LF";
    check("a\r\nb\r\n", "a\nb\n", DiffKind::LineEnds, &[only]);
    check(
        "a\r\n",
        "b\n",
        DiffKind::Text,
        &["line ends changed: CRLF to LF"],
    );
    check("a\r\nb\r\n", "a\r\nc\r\n", DiffKind::Text, &[]);
    check(
        "a\n",
        "\u{feff}a\n",
        DiffKind::Text,
        &["byte order mark added"],
    );
    check(
        "\u{feff}a",
        "a",
        DiffKind::Text,
        &["byte order mark removed"],
    );
    check(
        "a\nb\r\n",
        "a\nb\n",
        DiffKind::LineEnds,
        &["only line ends changed: mixed line ends to LF"],
    );
    check("a\0", "a", DiffKind::Binary, &["binary files differ"]);
    check(
        "a\r\nb",
        "a\nb\n",
        DiffKind::Text,
        &["line ends changed: CRLF to LF"],
    );
}

#[test]
fn one_edited_line_of_a_crlf_file_is_one_changed_line() {
    let old = b"\xEF\xBB\xBFfirst\r\nsecond\r\nthird\r\n";
    let diff = between(old, b"\xEF\xBB\xBFfirst\r\n2nd\r\nthird\r\n");
    assert_eq!((diff.added, diff.removed), (1, 1));
    let side = diff.new.unwrap();
    assert_eq!((side.line_ends, side.has_bom), (LineEnds::CrLf, true));
    let row = diff.hunks.first().unwrap().row(2).unwrap();
    assert_eq!((row.content(), row.line_end()), (&b"2nd"[..], &b"\r\n"[..]));
}

#[test]
fn no_file_is_not_an_empty_file() {
    let check = |old: Option<&[u8]>, new: Option<&[u8]>, kind, counts| {
        let diff = FileDiff::between(old, new, BUDGET);
        assert_eq!((diff.kind, (diff.added, diff.removed)), (kind, counts));
    };
    check(None, None, DiffKind::Identical, (0, 0));
    check(Some(b""), Some(b""), DiffKind::Identical, (0, 0));
    check(None, Some(b""), DiffKind::Text, (0, 0));
    check(None, Some(b"a\nb"), DiffKind::Text, (2, 0));
    check(Some(b"a\n"), None, DiffKind::Text, (0, 1));
    check(None, Some(b"\0"), DiffKind::Binary, (0, 0));
}

/// Lines from a small alphabet, so that they repeat; the last may lack its end.
fn few_lines() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(
        prop_oneof!["a\n", "b\n", "c\r\n", "\n", "d", "a"].prop_map(String::into_bytes),
        0..24,
    )
    .prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_hunks_make_the_new_file(
        same in few_lines(), old in few_lines(), new in few_lines(), after in few_lines(),
        budget in prop_oneof![Just(NO_TIME), Just(Duration::from_mins(1))],
    ) {
        // What is small is compared to the end whatever the budget.
        let first = if budget == NO_TIME { LARGE } else { 0 };
        let same = [vec![b'x'; first], same].concat();
        let old = [same.as_slice(), &old, &after].concat();
        let new = [same, new, after].concat();
        let diff = FileDiff::between(Some(&old), Some(&new), budget);
        prop_assert_eq!(apply(&diff, &old), new.clone());
        prop_assert_eq!(diff.hunks.is_empty(), old == new);
        for hunk in &diff.hunks {
            let pairs = hunk.side_by_side();
            let side = |kind, rows: Vec<usize>| {
                let shown: Vec<usize> = (0..hunk.len())
                    .filter(|row| hunk.row(*row).unwrap().kind != kind)
                    .collect();
                assert_eq!(rows, shown);
            };
            side(RowKind::Added, pairs.iter().filter_map(|pair| pair.0).collect());
            side(RowKind::Removed, pairs.iter().filter_map(|pair| pair.1).collect());
        }
    }
}

#[test]
fn what_hangs_others_comes_back() {
    let numbered = |letter: char, count: usize, of: usize| -> Vec<u8> {
        let line = |i: usize| format!("{letter}{}\n", i * 7919 % of);
        (0..count).map(line).collect::<String>().into_bytes()
    };
    let check = |old: &[u8], new: &[u8], counts: Option<(usize, usize)>| {
        let diff = FileDiff::between(Some(old), Some(new), BUDGET);
        assert_eq!(apply(&diff, old), new);
        if let Some(counts) = counts {
            assert_eq!(
                (diff.added, diff.removed, diff.is_coarse),
                (counts.0, counts.1, false)
            );
        }
    };
    let long = vec![b'x'; 5_000_000];
    let mut edited = long.clone();
    edited[2_500_000] = b'y';
    check(&long, &edited, Some((1, 1)));
    check(
        &numbered('a', 200_000, 200_000),
        &numbered('b', 200_000, 200_000),
        None,
    );
    let same = b"same\n".repeat(100_000);
    check(
        &same.repeat(2),
        &[&same[..], b"new\n", &same[..]].concat(),
        Some((1, 0)),
    );
    let mut shuffled: Vec<Vec<u8>> = (0..200_000_u64)
        .map(|i| format!("l{}\n", i % 500).into_bytes())
        .collect();
    let old = shuffled.concat();
    let mut seed = 1_u64;
    for i in (1..shuffled.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        shuffled.swap(i, (seed >> 33) as usize % (i + 1));
    }
    check(&old, &shuffled.concat(), None);
}

/// The world of one `git apply`: a directory with at most one file in it.
struct GitApply {
    directory: tempfile::TempDir,
}

impl GitApply {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &[u8]) -> PathBuf {
        self.directory.path().join(OsStr::from_bytes(name))
    }

    fn write(&self, side: Named<'_>, bytes: &[u8]) {
        let path = self.path(side.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if side.mode == GitMode::Symlink {
            symlink(OsStr::from_bytes(bytes), path).unwrap();
        } else {
            fs::write(&path, bytes).unwrap();
            let bits = u32::from_str_radix(side.mode.as_str(), 8).unwrap() & 0o777;
            fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
        }
    }

    fn apply(&self, patch: &[u8]) {
        fs::write(self.path(b"the.patch"), patch).unwrap();
        let output = Command::new("git")
            .args(["apply", "--whitespace=nowarn", "the.patch"])
            .current_dir(self.directory.path())
            // No repository around it, and no configuration, has a say.
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env(
                "GIT_CEILING_DIRECTORIES",
                self.directory.path().parent().unwrap(),
            )
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let shown = String::from_utf8_lossy(patch);
        assert!(output.status.success(), "{said}\n{shown}");
    }

    fn read(&self, side: Named<'_>) -> Option<Vec<u8>> {
        let path = self.path(side.path);
        if side.mode == GitMode::Symlink {
            return Some(fs::read_link(path).ok()?.into_os_string().into_vec());
        }
        let is_executable = fs::metadata(&path).ok()?.permissions().mode() & 0o100 != 0;
        assert_eq!(is_executable, side.mode == GitMode::Executable);
        fs::read(path).ok()
    }
}

fn is_git_missing() -> bool {
    let is_missing = Command::new("git").arg("--version").output().is_err();
    if is_missing {
        println!("skipped: there is no git");
    }
    is_missing
}

fn file(path: &[u8]) -> Named<'_> {
    Named {
        path,
        mode: GitMode::File,
    }
}

#[track_caller]
fn check_git(
    (old_side, old): (Named<'_>, Option<&[u8]>),
    (new_side, new): (Named<'_>, Option<&[u8]>),
) {
    let world = GitApply::new();
    if let Some(old) = old {
        world.write(old_side, old);
    }
    let diff = FileDiff::between(old, new, Duration::from_mins(1));
    world.apply(&unified(old_side, new_side, &diff));
    assert_eq!(world.read(new_side).as_deref(), new);
    if old_side.path != new_side.path {
        assert_eq!(world.read(old_side), None);
    }
}

#[test]
fn git_applies_what_is_written() {
    if is_git_missing() {
        return;
    }
    let check = |old: Option<&[u8]>, new: Option<&[u8]>| {
        for path in [
            &b"f"[..],
            b"dir/with space/f",
            "\u{fc}/\u{6f22}".as_bytes(),
            b"tab\tquote\"back\\slash\n \x7f\xff",
        ] {
            check_git((file(path), old), (file(path), new));
        }
    };
    check(Some(b"a\nb\nc\n"), Some(b"a\nB\nc\n"));
    check(Some(b"a\nb"), Some(b"a\nb\n"));
    check(Some(b"a\nb\n"), Some(b"a\nb"));
    check(Some(b"a\nb"), Some(b"b"));
    check(Some(b"a\r\nb\r\n"), Some(b"a\nb\n"));
    check(Some(b"\xef\xbb\xbfa\n"), Some(b"a\n\xff\x1b[m\n"));
    check(Some(b"a\n"), Some(b""));
    check(Some(b""), Some(b"a"));
    check(None, Some(b""));
    check(None, Some(b"a\nb"));
    check(Some(b""), None);
    check(Some(b"a\nb"), None);
}

#[test]
fn git_applies_modes_renames_and_links() {
    if is_git_missing() {
        return;
    }
    let run = |path| Named {
        path,
        mode: GitMode::Executable,
    };
    let link = |path| Named {
        path,
        mode: GitMode::Symlink,
    };
    let (a, b) = (Some(&b"1\n2\n3\n"[..]), Some(&b"1\n2\nthree\n"[..]));
    check_git((file(b"f"), a), (run(b"f"), a));
    check_git((run(b"f"), a), (file(b"f"), b));
    check_git((file(b"f"), None), (run(b"f"), a));
    check_git((file(b"f"), a), (file(b"dir/to \"g\""), a));
    check_git((file(b"f x"), a), (run(b"g x"), b));
    check_git((link(b"f"), None), (link(b"f"), Some(b"to/where")));
    check_git((link(b"f"), Some(b"here")), (link(b"f"), Some(b"there")));
    check_git((link(b"f"), Some(b"here")), (link(b"f"), None));
}

#[test]
fn a_binary_file_is_only_named() {
    let diff = between(b"\0", b"\x01\0");
    assert_eq!(
        show(&diff),
        "diff --git a/f b/f\nBinary files a/f and b/f differ\n"
    );
    let made = FileDiff::between(None, Some(b"\0"), BUDGET);
    assert!(show(&made).ends_with("Binary files /dev/null and b/f differ\n"));
    assert_eq!(show(&between(b"\0", b"\0")), "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn git_makes_the_same_of_the_hunks(old in few_lines(), new in few_lines()) {
        if old != new && !is_git_missing() {
            check_git((file(b"f"), Some(&old)), (file(b"f"), Some(&new)));
        }
    }
}
