//! A difference as a unified diff in git's form, which `git apply` accepts.
//!
//! The bytes of the files are written as they are: for a terminal, the result still has
//! to pass `sanitize_block`. A binary file is only named, as git does without `--binary`;
//! `git apply` refuses that, since the bytes are not there. A path that changes between
//! file and symbolic link has to be written as two diffs, a deletion and a creation.

use super::{DiffKind, FileDiff, Hunk, RowKind};

/// What git knows of a file's mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GitMode {
    /// A file.
    #[default]
    File,
    /// A file that may be executed.
    Executable,
    /// A symbolic link; its content is where it points.
    Symlink,
}

impl GitMode {
    /// The mode of a file with these permission bits.
    pub const fn of_permissions(bits: u32) -> Self {
        if bits & 0o100 == 0 {
            Self::File
        } else {
            Self::Executable
        }
    }

    /// The mode as git writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
        }
    }
}

/// One side of a unified diff: what the file is called, and its mode.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The path below the root, without a leading `/`.
    pub path: &'a [u8],
    /// The mode. Which one is given for a side that has no file makes no difference.
    pub mode: GitMode,
}

/// Writes a difference as a unified diff. Nothing where nothing differs.
pub fn unified(old: Named<'_>, new: Named<'_>, diff: &FileDiff) -> Vec<u8> {
    let mut out = Vec::new();
    let old_name = quoted(b"a/", old.path);
    let new_name = quoted(b"b/", new.path);
    let mut put = |parts: &[&[u8]]| {
        for part in parts {
            out.extend_from_slice(part);
        }
        out.push(b'\n');
    };
    let title: &[&[u8]] = &[b"diff --git ", &old_name, b" ", &new_name];
    let (old_mode, new_mode) = (old.mode.as_str().as_bytes(), new.mode.as_str().as_bytes());
    match (&diff.old, &diff.new) {
        (None, None) => return out,
        (None, Some(_)) => {
            put(title);
            put(&[b"new file mode ", new_mode]);
        }
        (Some(_), None) => {
            put(title);
            put(&[b"deleted file mode ", old_mode]);
        }
        (Some(_), Some(_)) => {
            let is_renamed = old.path != new.path;
            if diff.kind == DiffKind::Identical && old.mode == new.mode && !is_renamed {
                return out;
            }
            put(title);
            if old.mode != new.mode {
                put(&[b"old mode ", old_mode]);
                put(&[b"new mode ", new_mode]);
            }
            if is_renamed {
                put(&[b"rename from ", &quoted(b"", old.path)]);
                put(&[b"rename to ", &quoted(b"", new.path)]);
            }
        }
    }
    let or_null = |name, is_there| {
        if is_there {
            name
        } else {
            b"/dev/null".to_vec()
        }
    };
    let old_name = or_null(old_name, diff.old.is_some());
    let new_name = or_null(new_name, diff.new.is_some());
    if diff.kind == DiffKind::Binary {
        put(&[b"Binary files ", &old_name, b" and ", &new_name, b" differ"]);
    } else if !diff.hunks.is_empty() {
        put(&[b"--- ", &old_name, tab_after(&old_name)]);
        put(&[b"+++ ", &new_name, tab_after(&new_name)]);
        for hunk in &diff.hunks {
            put_hunk(&mut out, hunk);
        }
    }
    out
}

fn put_hunk(out: &mut Vec<u8>, hunk: &Hunk) {
    out.extend_from_slice(hunk.header().as_bytes());
    out.push(b'\n');
    for row in hunk.rows() {
        out.push(match row.kind {
            RowKind::Context => b' ',
            RowKind::Removed => b'-',
            RowKind::Added => b'+',
        });
        out.extend_from_slice(row.bytes);
        if row.is_unterminated() {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// A name with a space in it is followed by a tab, so that readers find its end.
fn tab_after(name: &[u8]) -> &'static [u8] {
    if name.contains(&b' ') { b"\t" } else { b"" }
}

/// A path as git writes it: in quotes, with escapes, if it holds control characters,
/// quotes, backslashes or bytes that are not ASCII.
fn quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    let name = [prefix, path].concat();
    if name.iter().all(is_plain) {
        return name;
    }
    let mut quoted = vec![b'"'];
    for byte in &name {
        let letter = match byte {
            b'\x07' => b'a',
            b'\x08' => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            b'\x0b' => b'v',
            b'\x0c' => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => *byte,
            byte if is_plain(byte) => {
                quoted.push(*byte);
                continue;
            }
            byte => {
                quoted.extend_from_slice(format!("\\{byte:03o}").as_bytes());
                continue;
            }
        };
        quoted.extend([b'\\', letter]);
    }
    quoted.push(b'"');
    quoted
}
