//! Commands that write no file, for sure.
//!
//! The list is short on purpose: a command that is not on it may write. A command whose
//! options could make it write is on it with the condition that they do not stand there,
//! and then all its words must be literal.

use super::script::{Nature, Redirect, Sign, Simple};

/// Programs that no option makes write a file.
const ALWAYS: &[&str] = &[
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "pwd",
    "echo",
    "printf",
    "grep",
    "egrep",
    "fgrep",
    "stat",
    "file",
    "du",
    "df",
    "which",
    "type",
    "whoami",
    "id",
    "uname",
    "true",
    "false",
    "test",
    "[",
    "cd",
    "sleep",
    "diff",
    "cmp",
    "cut",
    "tr",
    "nl",
    "tac",
    "rev",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "comm",
    "paste",
    "fold",
    "column",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "cksum",
    "od",
    "hexdump",
    "strings",
    "seq",
    "printenv",
    "ps",
    "jq",
    "nproc",
];

/// Programs that tell their version when that is all they are asked.
const TELL_VERSION: &[&str] = &[
    "bash", "bun", "cargo", "deno", "gcc", "git", "go", "java", "make", "node", "npm", "pnpm",
    "python", "python3", "ruby", "rustc", "yarn",
];

type Condition = fn(&[&str]) -> bool;

/// Programs that write no file on a condition.
const SOMETIMES: &[(&str, Condition)] = &[
    ("rg", |args| !any_starts_with(args, &["--pre"])),
    ("find", |args| {
        !any_starts_with(args, &["-exec", "-ok", "-delete", "-fprint", "-fls"])
    }),
    ("sort", |args| {
        !any_starts_with(args, &["--o", "--compress"]) && !has_short(args, 'o')
    }),
    ("uniq", |args| {
        args.iter().filter(|arg| !arg.starts_with('-')).count() <= 1
    }),
    ("tree", |args| !has_short(args, 'o')),
    ("date", |args| {
        !any_starts_with(args, &["--s"]) && !has_short(args, 's')
    }),
    ("env", |args| args.is_empty()),
    ("command", |args| matches!(args, ["-v" | "-V", ..])),
    ("sed", is_sed_print),
    ("git", is_git_query),
];

/// Whether the command, with its redirections, writes no file.
pub(super) fn is_read_only(command: &Simple) -> bool {
    is_reader(command) && command.redirects.iter().all(keeps_files)
}

/// Whether the program itself writes no file, wherever its output goes.
pub(super) fn is_reader(command: &Simple) -> bool {
    let Some((name, args)) = command.words.split_first() else {
        return false;
    };
    let Some(name) = name.literal() else {
        return false;
    };
    if ALWAYS.contains(&name) {
        return args.iter().all(|word| word.nature < Nature::Runs);
    }
    let args: Option<Vec<&str>> = args.iter().map(|word| word.literal()).collect();
    let Some(args) = args else {
        return false;
    };
    if TELL_VERSION.contains(&name) && matches!(args[..], ["--version" | "-V" | "version"]) {
        return true;
    }
    SOMETIMES
        .iter()
        .any(|(program, holds)| *program == name && holds(&args))
}

/// Whether a redirection writes no file.
pub(super) fn keeps_files(redirect: &Redirect) -> bool {
    match redirect.sign {
        Sign::From | Sign::Here => redirect.target.nature < Nature::Runs,
        // `>&file` writes; only a descriptor or `-` is taken.
        Sign::Duplicate => is_descriptor(&redirect.target.text),
        Sign::To | Sign::Append | Sign::BothTo => matches!(
            redirect.target.literal(),
            Some("/dev/null" | "/dev/stdout" | "/dev/stderr")
        ),
    }
}

fn is_descriptor(text: &str) -> bool {
    text == "-" || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn any_starts_with(args: &[&str], starts: &[&str]) -> bool {
    args.iter()
        .any(|arg| starts.iter().any(|start| arg.starts_with(start)))
}

/// Whether a letter stands in a cluster of short options.
fn has_short(args: &[&str], letter: char) -> bool {
    args.iter()
        .any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter))
}

/// `sed -n 10,20p file`: printing lines by number is all it does.
fn is_sed_print(args: &[&str]) -> bool {
    let ["-n", script, files @ ..] = args else {
        return false;
    };
    let prints = script
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, ',' | '$' | 'p' | ';' | ' '));
    prints && !files.iter().any(|file| file.starts_with('-'))
}

fn is_git_query(args: &[&str]) -> bool {
    const QUERIES: &[&str] = &[
        "status",
        "log",
        "diff",
        "show",
        "rev-parse",
        "ls-files",
        "ls-tree",
        "blame",
        "describe",
        "shortlog",
        "cat-file",
        "merge-base",
        "rev-list",
        "name-rev",
        "for-each-ref",
        "show-ref",
        "grep",
        "count-objects",
        "check-ignore",
        "version",
    ];
    const DANGEROUS: &[&str] = &[
        "--output",
        "--ext-diff",
        "--textconv",
        "--filters",
        "-O",
        "--open-files",
        "--exec",
    ];
    const LISTS_BRANCHES: &[&str] = &[
        "-a",
        "-r",
        "-v",
        "-vv",
        "-l",
        "--list",
        "--all",
        "--remotes",
        "--show-current",
        "--verbose",
        "--no-color",
        "--merged",
        "--no-merged",
    ];
    let mut args = args;
    let (verb, args) = loop {
        match args {
            ["--no-pager" | "-P", rest @ ..] | ["-C", _, rest @ ..] => args = rest,
            [verb, rest @ ..] => break (*verb, rest),
            [] => return false,
        }
    };
    match verb {
        verb if QUERIES.contains(&verb) => !any_starts_with(args, DANGEROUS),
        "branch" => args.iter().all(|arg| LISTS_BRANCHES.contains(arg)),
        "tag" => args.is_empty() || matches!(args, ["-l" | "--list", ..]),
        "remote" => matches!(args, [] | ["-v" | "--verbose"] | ["get-url", ..]),
        "stash" => matches!(args, ["list" | "show", ..]) && !any_starts_with(args, DANGEROUS),
        "config" => matches!(args, ["--get" | "--get-all" | "--list" | "-l", ..]),
        "worktree" => matches!(args, ["list", ..]),
        "reflog" => matches!(args, [] | ["show", ..]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::tools::shell::{Effect, read};

    #[test]
    fn commands_that_only_read_are_known() {
        for command in [
            "ls -la src/*.rs | head -3",
            "cat a.txt && wc -l < b.txt; pwd",
            "grep -rn \"x\" . 2>/dev/null || true",
            "cd sub && git --no-pager log --oneline -5",
            "find . -name '*.rs' -not -path './target/*'",
            "sed -n '1,20p' src/lib.rs",
            "git branch -a; git stash list",
            "cat <<EOF\nhello $USER\nEOF",
            "node --version",
            "echo $HOME 2>&1",
            "sort -u a | uniq -c",
        ] {
            assert_eq!(read(command).effect, Effect::ReadOnly, "{command}");
        }
    }

    #[test]
    fn commands_that_may_write_are_not_taken_for_readers() {
        for command in [
            "",
            "echo x > f",
            "cat a >> b",
            "cat $(make)",
            "ls `make`",
            "echo ${x:-$(make)}",
            "$EDITOR x",
            "ls >&f",
            "find . -delete",
            "find . -exec rm {} +",
            "find $WHERE",
            "rg --pre ./x y",
            "sort -o f f",
            "sort -uo f f",
            "uniq a b",
            "sed -i s/a/b/ f",
            "sed -n 'w f' x",
            "sed s/a/b/ f",
            "git diff --output=f",
            "git branch new",
            "git -c core.pager=x log",
            "git checkout .",
            "X=1 ls",
            "(ls)",
            "if ls; then rm x; fi",
            "ls <(make)",
            "awk '{print > \"f\"}' x",
            "env make",
            "npm test",
        ] {
            assert_ne!(read(command).effect, Effect::ReadOnly, "{command}");
        }
    }
}
