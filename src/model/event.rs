//! Events: what a tape holds, as plain data.
//!
//! An event as read names its contents by hash; the bytes are fetched when they are
//! wanted. An event given to the recorder carries its bytes; the recorder decides how
//! they are stored.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{BlobHash, Edit, Kind, Micros, Outcome, Parent, Seq, TapePath, Via, WallTime};

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What every event has.
    pub head: Head,
    /// What its kind adds.
    pub body: Body,
    /// Fields this version does not know, kept as they were.
    pub extra: Map<String, Value>,
}

impl Event {
    /// An event without correlation; its number and time are given when it is recorded.
    pub fn new(body: Body) -> Self {
        Self {
            head: Head::default(),
            body,
            extra: Map::new(),
        }
    }

    /// The same event, belonging to this call.
    pub fn in_call(mut self, call: impl Into<String>) -> Self {
        self.head.call = Some(call.into());
        self
    }

    /// The same event, at this time.
    pub fn at(mut self, t: Micros) -> Self {
        self.head.t = Some(t);
        self
    }

    /// The same event, with this title.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.head.title = Some(title.into());
        self
    }

    /// The kind of the event.
    pub fn kind(&self) -> Kind {
        self.body.kind()
    }
}

/// What every event has: its number, its time and what it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The number. The recorder gives it; `None` before that.
    pub seq: Option<Seq>,
    /// Microseconds since the run began. `None`: the recorder's clock decides.
    pub t: Option<Micros>,
    /// The number of its step, a remark for other readers: grouping is derived.
    pub step: Option<u32>,
    /// The branch; `None` is the main line.
    pub branch: Option<String>,
    /// The sub-agent; `None` is the main agent.
    pub agent: Option<String>,
    /// The call it belongs to.
    pub call: Option<String>,
    /// The transaction it belongs to.
    pub txn: Option<String>,
    /// At most 80 characters that say what was done.
    pub title: Option<String>,
    /// In a fork, how the answer that this event is came about.
    pub via: Option<Via>,
}

/// What the kind of an event adds to its head.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The header.
    Tape(Box<Header>),
    /// A message of a user or of the system.
    Prompt {
        /// `user` or `system`.
        role: String,
        /// The words.
        text: String,
        /// Images and documents that came with it, by hash.
        attachments: Vec<BlobHash>,
    },
    /// A model call's request.
    ModelRequest {
        /// The model asked for.
        model: Option<String>,
        /// BLAKE3 of the whole canonical request, if the recorder saw it.
        request: Option<BlobHash>,
        /// What was new since the request before.
        added: Value,
    },
    /// A model call's response, or a part of one: parts share their `call`, in order.
    ModelResponse {
        /// The model that answered.
        model: Option<String>,
        /// The blocks of the response.
        blocks: Vec<ModelBlock>,
        /// Why it stopped.
        stop: Option<String>,
        /// Tokens. Of several parts the last one's counts.
        usage: Option<Usage>,
        /// Whether the call succeeded.
        outcome: Outcome,
        /// Microseconds from the request to the end of the response.
        duration: Option<Micros>,
    },
    /// A tool call.
    ToolCall {
        /// The tool's name.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// What a tool call returned.
    ToolResult {
        /// Whether it succeeded.
        outcome: Outcome,
        /// The exit code of its command, where there was one.
        exit: Option<i32>,
        /// The output, as the model saw it.
        output: String,
        /// Microseconds from the call to its result.
        duration: Option<Micros>,
        /// Images that came with it, by hash.
        attachments: Vec<BlobHash>,
        /// What the tool returned beside its output, as structured data.
        detail: Value,
    },
    /// A file was changed or observed.
    File(FileChange),
    /// A call may have written files that nobody saw.
    Suspect {
        /// Which files.
        scope: Scope,
        /// Why, in words.
        why: String,
    },
    /// The manifest of the whole tree.
    Snapshot {
        /// The root directory's blob.
        root: BlobHash,
        /// Why it was taken here.
        reason: SnapshotReason,
        /// Directory blobs that were not on the tape yet.
        directories: Vec<(BlobHash, Arc<[u8]>)>,
    },
    /// Bytes by hash.
    Blob(Content),
    /// A transaction begins. Its id stands in the head.
    TxnBegin,
    /// A named place in a transaction.
    TxnSavepoint {
        /// The name.
        name: String,
    },
    /// A transaction's changes become those of its parent.
    TxnCommit,
    /// A transaction's changes are undone.
    TxnRollback {
        /// Back to this savepoint; `None`: wholly.
        to: Option<String>,
    },
    /// A branch leaves its parent. Its own name stands in the head.
    Branch {
        /// The parent; `None` is the main line.
        from: Option<String>,
        /// The last event it shares with its parent.
        at: Seq,
        /// Why, in words.
        why: String,
    },
    /// A sub-agent begins. Its id stands in the head, `call` names the call that started it.
    AgentStart {
        /// What sort of agent it is.
        name: String,
    },
    /// A sub-agent ends.
    AgentEnd {
        /// How.
        outcome: Outcome,
    },
    /// A foreign record, kept byte for byte.
    Raw {
        /// The format it comes from, such as `claude-code`.
        format: String,
        /// The record.
        bytes: Arc<[u8]>,
    },
    /// A remark.
    Note {
        /// The words.
        text: String,
    },
    /// A stretch known to be missing.
    Gap {
        /// What is missing and why, in words.
        why: String,
    },
    /// How the run ended.
    End {
        /// How.
        outcome: Outcome,
    },
    /// A kind whose fields are kept as they are: effects, streams, inputs, and kinds that
    /// this version does not know.
    Other {
        /// The name of the kind.
        kind: String,
        /// Its fields.
        fields: Map<String, Value>,
    },
}

impl Body {
    /// The kind of the event.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Tape(_) => Kind::Tape,
            Self::Prompt { .. } => Kind::Prompt,
            Self::ModelRequest { .. } => Kind::ModelRequest,
            Self::ModelResponse { .. } => Kind::ModelResponse,
            Self::ToolCall { .. } => Kind::ToolCall,
            Self::ToolResult { .. } => Kind::ToolResult,
            Self::File(change) => match change.op {
                FileOp::Write => Kind::FsWrite,
                FileOp::Remove => Kind::FsRemove,
                FileOp::Rename { .. } => Kind::FsRename,
                FileOp::Mkdir => Kind::FsMkdir,
                FileOp::Symlink { .. } => Kind::FsSymlink,
                FileOp::Chmod => Kind::FsChmod,
                FileOp::Observe => Kind::FsObserve,
            },
            Self::Suspect { .. } => Kind::FsSuspect,
            Self::Snapshot { .. } => Kind::Snapshot,
            Self::Blob(_) => Kind::Blob,
            Self::TxnBegin => Kind::TxnBegin,
            Self::TxnSavepoint { .. } => Kind::TxnSavepoint,
            Self::TxnCommit => Kind::TxnCommit,
            Self::TxnRollback { .. } => Kind::TxnRollback,
            Self::Branch { .. } => Kind::Branch,
            Self::AgentStart { .. } => Kind::AgentStart,
            Self::AgentEnd { .. } => Kind::AgentEnd,
            Self::Raw { .. } => Kind::Raw,
            Self::Note { .. } => Kind::Note,
            Self::Gap { .. } => Kind::Gap,
            Self::End { .. } => Kind::End,
            Self::Other { kind, .. } => Kind::parse(kind.as_bytes()),
        }
    }

    /// The name of the kind, as written on a tape.
    pub fn kind_name(&self) -> &str {
        match self {
            Self::Other { kind, .. } => kind,
            body => body.kind().as_str(),
        }
    }
}

/// The first line of a tape: what was recorded, by whom, and what the record covers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The number of the format; this version writes 1.
    pub format: u32,
    /// The tape's id, a UUID.
    pub id: String,
    /// The wall clock when the run began.
    pub started: Option<WallTime>,
    /// The agent, such as `claude-code 2.1`.
    pub agent: Option<String>,
    /// The workspace's absolute path on the machine of the run.
    pub root: Option<String>,
    /// The program that wrote the tape.
    pub recorder: Option<String>,
    /// What the recorder covers and ignores, caps and guarantees, as key and value.
    pub covers: Map<String, Value>,
    /// For a fork: where it leaves its parent.
    pub parent: Option<Parent>,
    /// For a fork: the one change that makes it differ.
    pub edit: Option<Edit>,
    /// For an import: the format, the file's name and its hash.
    pub source: Map<String, Value>,
}

impl Header {
    /// Whether it is the header of a fork whose first events stand on its parent's tape.
    pub fn shares_events(&self) -> bool {
        let parent = self.parent.as_ref();
        parent.is_some_and(|parent| parent.seq > Seq(0))
    }
}

/// What happened to one path.
#[derive(Clone, Debug, PartialEq)]
pub struct FileChange {
    /// What.
    pub op: FileOp,
    /// To which path; of a rename, the new one.
    pub path: TapePath,
    /// The permission bits after it, at most `0o7777`.
    pub mode: Option<u32>,
    /// What the file holds after it.
    pub content: Content,
    /// The hash before it.
    pub was: Option<BlobHash>,
    /// Nobody's call did it: an outside change.
    pub outside: bool,
    /// The calls that may have done it, where no evidence decides.
    pub candidates: Vec<String>,
    /// A remark on how the content is known, such as `line endings assumed`.
    pub remark: Option<String>,
}

impl FileChange {
    /// A change of this sort to this path, with nothing else said.
    pub fn new(op: FileOp, path: TapePath) -> Self {
        Self {
            op,
            path,
            mode: None,
            content: Content::None,
            was: None,
            outside: false,
            candidates: Vec::new(),
            remark: None,
        }
    }

    /// A write of these bytes to this path.
    pub fn write(path: TapePath, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self {
            content: Content::Bytes(bytes.into()),
            ..Self::new(FileOp::Write, path)
        }
    }
}

/// What happened to a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOp {
    /// Its whole content was written, or lines of it are known now.
    Write,
    /// It is gone, with all below it.
    Remove,
    /// It came from another path, with all below it.
    Rename {
        /// The path it had.
        from: TapePath,
    },
    /// It became a directory.
    Mkdir,
    /// It became a symbolic link.
    Symlink {
        /// The link's text. Never followed.
        target: Vec<u8>,
    },
    /// Its permission bits changed.
    Chmod,
    /// Nothing: something showed its content, or that it is not there.
    Observe,
}

/// The content that an event tells of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Nothing is said; of an observation: the file is not there.
    None,
    /// These bytes. Given to the recorder; never in an event as read.
    Bytes(Arc<[u8]>),
    /// Bytes that the tape holds, here or earlier.
    Blob {
        /// Their hash.
        hash: BlobHash,
        /// Their number.
        len: u64,
        /// Placeholders of the redactor stand in them.
        redacted: bool,
    },
    /// Bytes that were not kept.
    Unstored {
        /// Their hash, where it is known.
        hash: Option<BlobHash>,
        /// Their number, where it is known.
        len: Option<u64>,
    },
    /// Only these lines.
    Lines(KnownLines),
}

/// The known lines of a text file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownLines {
    /// How many lines the whole file has, where that is known.
    pub total: Option<u64>,
    /// Ranges in order, not touching: the first line's number, from 1, and the lines, each
    /// with its newline where it has one.
    pub ranges: Vec<(u64, String)>,
}

/// Which files a suspect call may have written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Any.
    All,
    /// This path and all below it.
    Path(TapePath),
}

/// Why a snapshot was taken where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotReason {
    /// The run begins.
    Start,
    /// The run ends.
    End,
    /// Events are missing before it.
    Gap,
    /// The budget: a reader without it would have to go through too much.
    Budget,
    /// Somebody asked for it.
    Asked,
}

impl SnapshotReason {
    /// Every reason.
    pub const ALL: [Self; 5] = [Self::Start, Self::End, Self::Gap, Self::Budget, Self::Asked];

    /// The word on a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::End => "end",
            Self::Gap => "gap",
            Self::Budget => "budget",
            Self::Asked => "asked",
        }
    }
}

/// One block of a model's response.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelBlock {
    /// The sort of the block.
    pub kind: BlockKind,
    /// The words; of a tool call, its name; of another block, what is known of it.
    pub text: String,
    /// Of a tool call, its id.
    pub call: Option<String>,
    /// Of a tool call, its arguments; of another block, the block as it was.
    pub data: Value,
}

/// The sort of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Words for the user.
    Text,
    /// Words for itself.
    Thinking,
    /// A tool call.
    ToolCall,
    /// A block that this version does not know.
    Other,
}

/// Tokens of one model call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read, without those from a cache.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
    /// Tokens put into a cache.
    pub cache_write: u64,
}

impl Usage {
    /// Tokens that the model saw, wherever they came from: the size of its context.
    pub const fn seen(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Whether anybody counted: no answer takes no token at all, so that nothing but zeros
    /// means that none was told.
    pub const fn is_counted(&self) -> bool {
        self.seen() > 0 || self.output > 0
    }
}
