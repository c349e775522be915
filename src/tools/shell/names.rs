//! The literal paths that a command names as possible targets.
//!
//! A best effort: who reads the list already knows that *any* file may have been written.
//! It serves to say which ones to look at first, and that they are no longer certain.

use super::script::{Script, Sign, Simple, Word};
use super::{read_only, seen_from};

/// How many paths of one command are worth listing.
const MOST: usize = 32;

/// Programs that write what they name.
const WRITERS: &[&str] = &[
    "rm", "mv", "cp", "touch", "tee", "mkdir", "rmdir", "ln", "truncate", "install", "unlink",
    "shred", "patch",
];

/// The paths, each once, as seen from where the command was started.
pub(super) fn of(script: &Script) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    let mut directory = Some(String::new());
    for command in &script.commands {
        let name = command.words.first().and_then(|word| word.literal());
        if name == Some("cd") {
            let to = command.words.get(1).and_then(|word| word.literal());
            directory = directory.zip(to).map(|(from, to)| seen_from(&from, to));
            continue;
        }
        for path in named(command) {
            let path = match &directory {
                Some(directory) => seen_from(directory, path),
                None if path.starts_with('/') => path.to_owned(),
                None => continue,
            };
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths.truncate(MOST);
    paths
}

fn named(command: &Simple) -> Vec<&str> {
    let outputs = command.redirects.iter().filter(|redirect| {
        matches!(redirect.sign, Sign::To | Sign::Append | Sign::BothTo)
            && !read_only::keeps_files(redirect)
    });
    let outputs = outputs.filter_map(|redirect| redirect.target.literal());
    let mut paths: Vec<&str> = outputs.collect();
    if !read_only::is_reader(command) {
        paths.extend(arguments(&command.words));
    }
    paths
}

fn arguments(words: &[Word]) -> Vec<&str> {
    let is_assignment = |word: &&Word| {
        word.text
            .split_once('=')
            .is_some_and(|(name, _)| is_name(name))
    };
    let words = words.iter().skip_while(is_assignment);
    let mut words = words.map(|word| word.literal());
    let Some(name) = words.next().flatten() else {
        return Vec::new();
    };
    let args: Vec<&str> = words.flatten().collect();
    let program = name.rsplit('/').next().unwrap_or(name);
    match program {
        "sed" | "perl" => edited_in_place(&args),
        "dd" => args
            .iter()
            .filter_map(|arg| arg.strip_prefix("of="))
            .collect(),
        "git" => git_operands(&args),
        "chmod" | "chown" | "chgrp" => changed_rights(program, &args),
        program if WRITERS.contains(&program) => {
            operands(&without_values(program, &args)).collect()
        }
        // What an unknown program is given may be anything: a package, a pattern, a test.
        _ => Vec::new(),
    }
}

/// The files of `sed -i` and `perl -i`: operands, without the script.
fn edited_in_place<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let is_short = |arg: &&&str| arg.starts_with('-') && !arg.starts_with("--");
    let in_place = args.iter().filter(is_short).any(|arg| arg.contains('i'))
        || args.iter().any(|arg| arg.starts_with("--in-place"));
    if !in_place {
        return Vec::new();
    }
    let mut files = Vec::new();
    let mut has_script = false;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg.starts_with('-') && (arg.ends_with('e') || *arg == "-f") {
            has_script = true;
            args.next();
        } else if !arg.starts_with('-') && !arg.is_empty() {
            files.push(*arg);
        }
    }
    files.into_iter().skip(usize::from(!has_script)).collect()
}

/// The files of `chmod`, `chown` and `chgrp`: operands, without the mode or the owner.
fn changed_rights<'a>(program: &str, args: &[&'a str]) -> Vec<&'a str> {
    // A mode may look like an option: `chmod -x FILE`.
    let takes_away = |arg: &&str| {
        arg.strip_prefix('-')
            .is_some_and(|mode| mode.starts_with(['r', 'w', 'x', 's', 't', 'X']))
    };
    let is_said = args.iter().any(|arg| arg.starts_with("--reference="))
        || program == "chmod" && args.iter().any(takes_away);
    operands(args).skip(usize::from(!is_said)).collect()
}

/// The arguments without the values of options that stand in a word of their own.
fn without_values<'a>(program: &str, args: &[&'a str]) -> Vec<&'a str> {
    let valued = match program {
        "truncate" => "sr",
        "touch" => "dtr",
        "mkdir" => "m",
        "install" => "mogS",
        "cp" | "mv" | "ln" => "S",
        "shred" => "ns",
        "patch" => "pdirBDFVYz",
        _ => "",
    };
    let takes_value = |arg: &str| {
        let letters = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letters.is_some_and(|letters| letters.ends_with(|last| valued.contains(last)))
    };
    let mut kept = Vec::new();
    let mut args = args.iter().copied();
    while let Some(arg) = args.next() {
        if takes_value(arg) {
            args.next();
        } else {
            kept.push(arg);
        }
    }
    kept
}

fn git_operands<'a>(args: &[&'a str]) -> Vec<&'a str> {
    match args {
        ["rm" | "mv" | "restore", rest @ ..] => operands(rest).collect(),
        ["checkout", rest @ ..] => rest
            .iter()
            .skip_while(|arg| **arg != "--")
            .skip(1)
            .copied()
            .collect(),
        _ => Vec::new(),
    }
}

fn operands<'a>(args: &[&'a str]) -> impl Iterator<Item = &'a str> {
    args.iter()
        .filter(|arg| !arg.starts_with('-') && !arg.is_empty())
        .copied()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use crate::tools::shell::read;

    #[test]
    fn a_mode_an_owner_or_a_size_is_no_file() {
        let check = |command: &str, expected: &[&str]| {
            assert_eq!(read(command).paths, expected, "{command}");
        };
        check("chmod +x run.sh && make", &["run.sh"]);
        check("chmod -R 755 bin lib && make", &["bin", "lib"]);
        check("chmod -x run.sh && make", &["run.sh"]);
        check("chmod --reference=a b && make", &["b"]);
        check("chown -R me:us dir && make", &["dir"]);
        check("truncate -s 0 log && make", &["log"]);
        check("touch -t 202601010000 a && make", &["a"]);
        check("install -m 755 a /usr/bin/a", &["a", "/usr/bin/a"]);
        check("mkdir -pm 700 d && make", &["d"]);
        check("patch -p 1 a.c fix.patch", &["a.c", "fix.patch"]);
    }

    #[test]
    fn targets_are_named() {
        let check = |command: &str, expected: &[&str]| {
            assert_eq!(read(command).paths, expected, "{command}");
        };
        check(
            "sed -i s/a/b/ a.txt && rm -f old.txt && printf x > b.txt",
            &["a.txt", "old.txt", "b.txt"],
        );
        check(
            "cd sub && echo x | tee -a log > out",
            &["sub/out", "sub/log"],
        );
        check("python3 gen.py data.json --fast 2> err.txt", &["err.txt"]);
        check("perl -pi -e 's/a/b/' x.rs y.rs", &["x.rs", "y.rs"]);
        check("cd $x; rm a /b/c", &["/b/c"]);
        check("for f in a b; do rm -rf \"$f\" c; done", &["c"]);
        check(
            "npm install && go test ./... && curl https://x.io/a.js",
            &[],
        );
        check("cat a.txt b.txt > c.txt", &["c.txt"]);
        check(
            "git checkout -- a && git rm b && git commit -m 'x.y'",
            &["a", "b"],
        );
        check("X=1 gofmt -w a.go; make 2>&1 >/dev/null", &[]);
        check(
            "go doc github.com/a/b.Client; find . -name '*.go' -delete",
            &[],
        );
        check("rm a a && make", &["a"]);
        check("rm b && touch c", &["b", "c"]);
        check("cat a.txt", &[]);
    }
}
