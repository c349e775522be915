//! Where file systems are mounted, as the kernel lists it.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// The mount points that this process sees.
pub(super) struct Mounts(Vec<PathBuf>);

impl Mounts {
    pub(super) fn read() -> io::Result<Self> {
        Ok(Self::parse(&std::fs::read("/proc/self/mountinfo")?))
    }

    fn parse(list: &[u8]) -> Self {
        let lines = list.split(|byte| *byte == b'\n');
        let point = |line: &[u8]| Some(unescape(line.split(|byte| *byte == b' ').nth(4)?));
        Self(lines.filter_map(point).collect())
    }

    /// Those strictly below a path that is free of links.
    pub(super) fn below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a Path> {
        let points = self.0.iter().map(PathBuf::as_path);
        points.filter(move |point| point.starts_with(path) && *point != path)
    }
}

/// A blank, a line's end and a backslash stand in the list as three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        let digits = after.first_chunk::<3>().filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = match byte {
            Some(_) => after.get(3..).unwrap_or_default(),
            None => after,
        };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_found_below_a_path_whatever_they_are_called() {
        let list = b"1 0 8:1 / / rw - ext4 /dev/vda rw\n\
            2 1 0:3 / /w rw - tmpfs none rw\n\
            3 1 0:3 / /w/a\\040b\\134c rw shared:1 - tmpfs none rw\n\
            4 1 0:3 / /wide rw - tmpfs none rw\n";
        let mounts = Mounts::parse(list);
        let below: Vec<_> = mounts.below(Path::new("/w")).collect();
        assert_eq!(below, [Path::new("/w/a b\\c")]);
    }
}
