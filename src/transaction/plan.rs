//! What a transaction wants of the workspace, and what it found there when it began.
//!
//! A plan knows no directory: whoever has a change set, or a step of a run, makes one. It
//! is not checked here against anything.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::fs::{self, Fs, Kind, Node, Time};
use crate::model::{BlobHash, EntryKind, TapePath};
use crate::sandbox;

/// What is to become of the paths of a workspace.
#[derive(Debug, Default)]
pub struct Plan {
    /// A path at most once, in any order.
    pub operations: Vec<Operation>,
    /// Paths that are only to be as they were: the base of a transaction that is isolated
    /// from all outside changes.
    pub reads: Vec<(TapePath, Fingerprint)>,
    /// What cannot be committed, each with the name of its sort, such as `socket`. Anything
    /// here refuses the whole plan.
    pub refused: Vec<(TapePath, String)>,
    /// The transaction that wants it, which its journal names.
    pub transaction: Option<String>,
}

/// What is to become of a path.
#[derive(Debug)]
pub struct Operation {
    /// The path, below the workspace.
    pub path: TapePath,
    /// What it was when the transaction began.
    pub base: Fingerprint,
    /// What it is to be.
    pub want: Want,
}

/// What a path is to be.
#[derive(Debug)]
pub enum Want {
    /// Nothing. A directory must hold nothing that the plan does not delete, too.
    Absent,
    /// Nothing, unless it is a directory that holds something else.
    Pruned,
    /// A file.
    File {
        /// Its bytes.
        content: Supply,
        /// Permission bits, of which those that lend rights are not set; `None`: as it is,
        /// or as its directory allows.
        mode: Option<u32>,
        /// When it was last changed; `None`: now.
        mtime: Option<Time>,
    },
    /// A directory, with these permission bits.
    Directory {
        /// `None`: as it is, or as its directory has them.
        mode: Option<u32>,
    },
    /// A link with this text.
    Link(Vec<u8>),
}

/// The bytes of a file that is to be.
#[derive(Clone, Debug)]
pub enum Supply {
    /// In memory.
    Bytes(Arc<[u8]>),
    /// In an open file, from its start, wherever its own cursor stands.
    File(Arc<File>),
    /// In a file of a sandbox's layer, which nobody writes any more. It is opened when it is
    /// read, whatever its mode is: a plan may hold more of them than can be open at once.
    Layer {
        /// The file.
        path: PathBuf,
        /// The name of its bytes, as whoever made the plan read them.
        hash: BlobHash,
        /// How many there are.
        len: u64,
    },
}

impl Supply {
    pub(super) fn reader(&self) -> Box<dyn Read + '_> {
        match self {
            Self::Bytes(bytes) => Box::new(&**bytes),
            Self::File(file) => Box::new(FromStart { file, at: 0 }),
            Self::Layer { path, .. } => Box::new(WhenRead { path, file: None }),
        }
    }

    /// The name of the bytes, which are read if nobody knows it.
    pub(super) fn hash(&self) -> io::Result<BlobHash> {
        if let Self::Layer { hash, .. } = self {
            return Ok(*hash);
        }
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut self.reader(), &mut hasher)?;
        Ok(BlobHash::from_digest(*hasher.finalize().as_bytes()))
    }

    pub(super) fn len(&self) -> io::Result<u64> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.len() as u64),
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Layer { len, .. } => Ok(*len),
        }
    }
}

struct FromStart<'a> {
    file: &'a File,
    at: u64,
}

impl Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

struct WhenRead<'a> {
    path: &'a Path,
    file: Option<File>,
}

impl Read for WhenRead<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let file = match self.file.take() {
            Some(file) => file,
            None => sandbox::open(self.path)?,
        };
        self.file.insert(file).read(buffer)
    }
}

/// What a path is, as far as it matters whether somebody changed it. Times do not: the same
/// bytes written anew are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fingerprint {
    /// Nothing.
    Absent,
    /// A file.
    File {
        /// The name of its bytes.
        hash: BlobHash,
        /// How many there are, where that is known.
        len: Option<u64>,
        /// Permission bits, where they are known.
        mode: Option<u32>,
    },
    /// A directory.
    Directory {
        /// Permission bits, where they are known.
        mode: Option<u32>,
    },
    /// A link with this text.
    Link(Vec<u8>),
    /// A FIFO, a socket, a device.
    Other,
    /// A file whose bytes nobody had read before they were changed. Nothing is as it was.
    Unread,
}

impl Fingerprint {
    /// Whether both say the same, as far as both say anything.
    pub fn agrees(&self, other: &Self) -> bool {
        let modes = |one: Option<u32>, two: Option<u32>| match (one, two) {
            (Some(one), Some(two)) => one == two,
            _ => true,
        };
        match (self, other) {
            (
                Self::File { hash, mode, .. },
                Self::File {
                    hash: other,
                    mode: other_mode,
                    ..
                },
            ) => hash == other && modes(*mode, *other_mode),
            (Self::Directory { mode: one }, Self::Directory { mode: two }) => modes(*one, *two),
            (Self::Unread, _) | (_, Self::Unread) => false,
            (one, two) => one == two,
        }
    }

    /// What sort of thing it is; `None`: it is not there, or nothing that can be committed.
    pub const fn kind(&self) -> Option<EntryKind> {
        match self {
            Self::File { .. } => Some(EntryKind::File),
            Self::Directory { .. } => Some(EntryKind::Directory),
            Self::Link(_) => Some(EntryKind::Link),
            Self::Absent | Self::Other | Self::Unread => None,
        }
    }

    /// What a path is now.
    pub(super) fn take(fs: &dyn Fs, path: &[u8]) -> io::Result<(Self, Option<Node>)> {
        let node = fs.look(path)?;
        let found = match node {
            None => Self::Absent,
            Some(node) => match node.kind {
                Kind::File => Self::File {
                    hash: fs::hash(fs, path)?,
                    len: Some(node.len),
                    mode: Some(node.mode),
                },
                Kind::Directory => Self::Directory {
                    mode: Some(node.mode),
                },
                Kind::Link => Self::Link(fs.target(path)?),
                Kind::Other => Self::Other,
            },
        };
        Ok((found, node))
    }
}

/// A path that somebody else changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The path.
    pub path: TapePath,
    /// What it was when the transaction began.
    pub base: Fingerprint,
    /// What the transaction wants it to be.
    pub ours: Fingerprint,
    /// What it is.
    pub theirs: Fingerprint,
    /// Where our content lies, below the workspace, if the conflict was only seen when the
    /// rest was committed.
    pub kept: Option<String>,
}
