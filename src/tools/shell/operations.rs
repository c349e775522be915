//! The plain file operations that a script consists of.

use super::script::{Joint, Redirect, Script, Sign, Simple};
use super::{read_only, seen_from};

/// One plain operation. Paths are as seen from where the command was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A file's whole content is written.
    Write {
        /// The path.
        path: String,
        /// What it holds then.
        text: String,
    },
    /// A text is written at the end of a file, which is made if it is not there.
    Append {
        /// The path.
        path: String,
        /// The text.
        text: String,
    },
    /// A file, or a directory with all below it, is gone.
    Remove {
        /// The path.
        path: String,
    },
    /// A file or a directory gets another path.
    Rename {
        /// The path it had.
        from: String,
        /// Where it goes.
        to: Destination,
    },
    /// A file is copied.
    Copy {
        /// The file that is read.
        from: String,
        /// Where the copy goes.
        to: Destination,
    },
    /// A directory is made, with those above it.
    MakeDirectory {
        /// The path.
        path: String,
    },
    /// A file is made empty if it is not there.
    Touch {
        /// The path.
        path: String,
    },
}

/// Where a file goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To this path.
    At(String),
    /// To this path, or below it, if it is a directory. The text does not tell.
    AtOrBelow(String),
}

/// The operations of a script, if they and commands that only read are all it consists of.
pub(super) fn of(script: &Script) -> Option<Vec<Operation>> {
    let mut commands = script.commands.as_slice();
    let mut directory = "";
    if let [first, rest @ ..] = commands
        && let Some(["cd", path]) = words(first).as_deref()
        && first.joint == Joint::And
        && first.redirects.is_empty()
    {
        directory = path;
        commands = rest;
    }
    let mut operations = Vec::new();
    for (index, command) in commands.iter().enumerate() {
        if matches!(command.joint, Joint::Or | Joint::Background) {
            return None;
        }
        if read_only::is_read_only(command) {
            // A later change of directory would move the paths of what follows.
            if words(command).is_none_or(|words| words.first() == Some(&"cd")) {
                return None;
            }
            continue;
        }
        let is_in_pipe = command.joint == Joint::Pipe
            || index
                .checked_sub(1)
                .and_then(|before| commands.get(before))
                .is_some_and(|before| before.joint == Joint::Pipe);
        // The exit code of the whole is that of what follows the last `;` or newline.
        let is_proven = commands
            .iter()
            .skip(index)
            .all(|command| command.joint != Joint::Then);
        let proof = if is_proven {
            Proof::ExitCode
        } else {
            Proof::None
        };
        if is_in_pipe {
            return None;
        }
        operations.extend(simple(command, directory, proof)?);
    }
    (!operations.is_empty()).then_some(operations)
}

/// How it is known that an operation of a successful command succeeded itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// The command's exit code would not be 0 otherwise.
    ExitCode,
    /// It is not known; only what hardly ever fails is believed.
    None,
}

fn simple(command: &Simple, directory: &str, proof: Proof) -> Option<Vec<Operation>> {
    let words = words(command)?;
    let at = |path: &&str| seen_from(directory, path);
    if let ["cat"] = words[..] {
        return heredoc(&command.redirects, directory).map(|written| vec![written]);
    }
    if !command.redirects.iter().all(read_only::keeps_files) {
        return None;
    }
    let (name, args) = words.split_first()?;
    let allowed = match *name {
        "rm" => "frRv",
        "mkdir" => "pv",
        "mv" | "cp" => "fv",
        "touch" => "",
        _ => return None,
    };
    let (options, paths) = options(args, allowed)?;
    let is_believed = match *name {
        "rm" => options.contains('f'),
        "mkdir" => options.contains('p'),
        "touch" => true,
        _ => false,
    };
    if paths.is_empty() || !(is_believed || proof == Proof::ExitCode) {
        return None;
    }
    let all = paths.iter().map(at);
    Some(match *name {
        "rm" => all.map(|path| Operation::Remove { path }).collect(),
        "mkdir" => all.map(|path| Operation::MakeDirectory { path }).collect(),
        "touch" => all.map(|path| Operation::Touch { path }).collect(),
        _ => {
            let (to, from) = paths.split_last()?;
            let make = |from: &&str| {
                let (to, from) = (destination(from, to, paths.len(), directory), at(from));
                match *name {
                    "mv" => Operation::Rename { from, to },
                    _ => Operation::Copy { from, to },
                }
            };
            if from.is_empty() {
                return None;
            }
            from.iter().map(make).collect()
        }
    })
}

/// `cat > file <<'EOF'`: exactly a literal text and a literal path.
fn heredoc(redirects: &[Redirect], directory: &str) -> Option<Operation> {
    let [a, b] = redirects else {
        return None;
    };
    let (text, file) = if a.sign == Sign::Here { (a, b) } else { (b, a) };
    let is_output = file
        .descriptor
        .as_deref()
        .is_none_or(|number| number == "1");
    if text.sign != Sign::Here || text.descriptor.is_some() || !is_output {
        return None;
    }
    let path = seen_from(directory, file.target.literal()?);
    let text = text.target.literal()?.to_owned();
    if path.starts_with("/dev/") {
        return None;
    }
    match file.sign {
        Sign::To => Some(Operation::Write { path, text }),
        Sign::Append => Some(Operation::Append { path, text }),
        _ => None,
    }
}

/// Where `mv` or `cp` puts a file.
fn destination(from: &str, to: &str, paths: usize, directory: &str) -> Destination {
    let name = from
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(from);
    if matches!(to, "." | "..") || to.ends_with('/') || to.ends_with("/.") || paths > 2 {
        let below = format!("{}/{name}", to.trim_end_matches('/'));
        Destination::At(seen_from(directory, &below))
    } else {
        Destination::AtOrBelow(seen_from(directory, to))
    }
}

/// The words of a command, if all are literal.
fn words(command: &Simple) -> Option<Vec<&str>> {
    command.words.iter().map(|word| word.literal()).collect()
}

/// Short options, which must be among the allowed ones, and operands.
fn options<'a>(args: &[&'a str], allowed: &str) -> Option<(String, Vec<&'a str>)> {
    let mut letters = String::new();
    let mut operands = Vec::new();
    let mut is_over = false;
    for arg in args {
        match arg.strip_prefix('-') {
            Some("-") if !is_over => is_over = true,
            Some(cluster) if !is_over && !cluster.is_empty() => {
                if !cluster.chars().all(|letter| allowed.contains(letter)) {
                    return None;
                }
                letters.push_str(cluster);
            }
            _ if arg.is_empty() => return None,
            _ => operands.push(*arg),
        }
    }
    Some((letters, operands))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::shell::{Effect, read};

    fn operations(command: &str) -> Option<Vec<Operation>> {
        match read(command).effect {
            Effect::Operations(operations) => Some(operations),
            _ => None,
        }
    }

    fn check(command: &str, expected: &[Operation]) {
        assert_eq!(operations(command).as_deref(), Some(expected), "{command}");
    }

    #[test]
    fn plain_operations_are_understood() {
        let path = "a.txt".to_owned();
        let text = "x $y\n".to_owned();
        let remove = Operation::Remove { path: path.clone() };
        check(
            "cat > a.txt <<'EOF'\nx $y\nEOF",
            &[Operation::Write {
                path: path.clone(),
                text: text.clone(),
            }],
        );
        check(
            "cat <<\"E\" >>a.txt\nx $y\nE\nls",
            &[Operation::Append {
                path: path.clone(),
                text,
            }],
        );
        check("rm a.txt", std::slice::from_ref(&remove));
        check("rm -rf a.txt; ls -la", std::slice::from_ref(&remove));
        check("rm a.txt && echo done", std::slice::from_ref(&remove));
        check("touch a.txt\n", &[Operation::Touch { path }]);
        check(
            "cd sub && mkdir -p x/y && mv -f a 'b c' /d/",
            &[
                Operation::MakeDirectory {
                    path: "sub/x/y".to_owned(),
                },
                Operation::Rename {
                    from: "sub/a".to_owned(),
                    to: Destination::At("/d/a".to_owned()),
                },
                Operation::Rename {
                    from: "sub/b c".to_owned(),
                    to: Destination::At("/d/b c".to_owned()),
                },
            ],
        );
        check(
            "cp a b",
            &[Operation::Copy {
                from: "a".to_owned(),
                to: Destination::AtOrBelow("b".to_owned()),
            }],
        );
    }

    #[test]
    fn what_is_not_plain_is_not_understood() {
        for command in [
            "rm *.txt",
            "rm $x",
            "rm ~/x",
            "rm",
            "rm a; ls",
            "mv a b; ls",
            "mv a b || true",
            "mv -n a b",
            "mv a",
            "cp -r a b",
            "rm a &",
            "cat > a <<EOF\n$x\nEOF",
            "cat > a <<'EOF'\nx\n",
            "cat > a > b <<'EOF'\nx\nEOF",
            "cat x > a",
            "rm a && make",
            "rm a > log",
            "rm -f a; cd b; rm -f c",
            "cd $x && rm a",
            "cd x; rm a",
            "cat > a <<'EOF' | sh\nx\nEOF",
            "mkdir -m 700 a",
            "(rm a)",
            "rm a $(make)",
        ] {
            assert_eq!(read(command).effect, Effect::Unclear, "{command}");
        }
    }
}
