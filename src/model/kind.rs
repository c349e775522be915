//! The kinds of events, version 1 of the format.

/// The kind of an event. A kind this version does not know is [`Kind::Unknown`]; its
/// name and fields are kept with the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The header, seq 0.
    Tape,
    /// A message of a user or of the system.
    Prompt,
    /// A model call's request.
    ModelRequest,
    /// A model call's response.
    ModelResponse,
    /// A tool call.
    ToolCall,
    /// What a tool call returned.
    ToolResult,
    /// A file's whole new content, or the known lines of it.
    FsWrite,
    /// A file, link or directory with all below it is gone.
    FsRemove,
    /// A file, link or directory with all below it has another path.
    FsRename,
    /// A directory was made.
    FsMkdir,
    /// A symbolic link was made.
    FsSymlink,
    /// Permission bits were changed.
    FsChmod,
    /// Evidence of what a file holds, and no change.
    FsObserve,
    /// A call may have written files that nobody saw.
    FsSuspect,
    /// The manifest of the whole tree.
    Snapshot,
    /// Bytes by hash.
    Blob,
    /// A transaction begins.
    TxnBegin,
    /// A named place in a transaction.
    TxnSavepoint,
    /// A transaction's changes become those of its parent.
    TxnCommit,
    /// A transaction's changes are undone, wholly or back to a savepoint.
    TxnRollback,
    /// A branch leaves its parent.
    Branch,
    /// A sub-agent begins.
    AgentStart,
    /// A sub-agent ends.
    AgentEnd,
    /// A foreign record, byte for byte.
    Raw,
    /// An outward call is about to be made.
    EffectIntent,
    /// What an outward call returned.
    EffectResult,
    /// An outward call was compensated.
    EffectCompensate,
    /// One frame of a long connection.
    StreamFrame,
    /// A clock was read.
    InputClock,
    /// Randomness was read.
    InputRandom,
    /// The environment was read.
    InputEnv,
    /// A remark.
    Note,
    /// A stretch known to be missing.
    Gap,
    /// How the run ended.
    End,
    /// A kind that this version does not know.
    Unknown,
}

impl Kind {
    /// Every kind, in the order of their codes.
    pub const ALL: [Self; 35] = [
        Self::Tape,
        Self::Prompt,
        Self::ModelRequest,
        Self::ModelResponse,
        Self::ToolCall,
        Self::ToolResult,
        Self::FsWrite,
        Self::FsRemove,
        Self::FsRename,
        Self::FsMkdir,
        Self::FsSymlink,
        Self::FsChmod,
        Self::FsObserve,
        Self::FsSuspect,
        Self::Snapshot,
        Self::Blob,
        Self::TxnBegin,
        Self::TxnSavepoint,
        Self::TxnCommit,
        Self::TxnRollback,
        Self::Branch,
        Self::AgentStart,
        Self::AgentEnd,
        Self::Raw,
        Self::EffectIntent,
        Self::EffectResult,
        Self::EffectCompensate,
        Self::StreamFrame,
        Self::InputClock,
        Self::InputRandom,
        Self::InputEnv,
        Self::Note,
        Self::Gap,
        Self::End,
        Self::Unknown,
    ];

    /// The name of the kind, as written on a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tape => "tape",
            Self::Prompt => "prompt",
            Self::ModelRequest => "model.request",
            Self::ModelResponse => "model.response",
            Self::ToolCall => "tool.call",
            Self::ToolResult => "tool.result",
            Self::FsWrite => "fs.write",
            Self::FsRemove => "fs.remove",
            Self::FsRename => "fs.rename",
            Self::FsMkdir => "fs.mkdir",
            Self::FsSymlink => "fs.symlink",
            Self::FsChmod => "fs.chmod",
            Self::FsObserve => "fs.observe",
            Self::FsSuspect => "fs.suspect",
            Self::Snapshot => "snapshot",
            Self::Blob => "blob",
            Self::TxnBegin => "txn.begin",
            Self::TxnSavepoint => "txn.savepoint",
            Self::TxnCommit => "txn.commit",
            Self::TxnRollback => "txn.rollback",
            Self::Branch => "branch",
            Self::AgentStart => "agent.start",
            Self::AgentEnd => "agent.end",
            Self::Raw => "raw",
            Self::EffectIntent => "effect.intent",
            Self::EffectResult => "effect.result",
            Self::EffectCompensate => "effect.compensate",
            Self::StreamFrame => "stream.frame",
            Self::InputClock => "input.clock",
            Self::InputRandom => "input.random",
            Self::InputEnv => "input.env",
            Self::Note => "note",
            Self::Gap => "gap",
            Self::End => "end",
            Self::Unknown => "unknown",
        }
    }

    /// The kind of a name; [`Kind::Unknown`] for any other name.
    pub const fn parse(name: &[u8]) -> Self {
        match name {
            b"tape" => Self::Tape,
            b"prompt" => Self::Prompt,
            b"model.request" => Self::ModelRequest,
            b"model.response" => Self::ModelResponse,
            b"tool.call" => Self::ToolCall,
            b"tool.result" => Self::ToolResult,
            b"fs.write" => Self::FsWrite,
            b"fs.remove" => Self::FsRemove,
            b"fs.rename" => Self::FsRename,
            b"fs.mkdir" => Self::FsMkdir,
            b"fs.symlink" => Self::FsSymlink,
            b"fs.chmod" => Self::FsChmod,
            b"fs.observe" => Self::FsObserve,
            b"fs.suspect" => Self::FsSuspect,
            b"snapshot" => Self::Snapshot,
            b"blob" => Self::Blob,
            b"txn.begin" => Self::TxnBegin,
            b"txn.savepoint" => Self::TxnSavepoint,
            b"txn.commit" => Self::TxnCommit,
            b"txn.rollback" => Self::TxnRollback,
            b"branch" => Self::Branch,
            b"agent.start" => Self::AgentStart,
            b"agent.end" => Self::AgentEnd,
            b"raw" => Self::Raw,
            b"effect.intent" => Self::EffectIntent,
            b"effect.result" => Self::EffectResult,
            b"effect.compensate" => Self::EffectCompensate,
            b"stream.frame" => Self::StreamFrame,
            b"input.clock" => Self::InputClock,
            b"input.random" => Self::InputRandom,
            b"input.env" => Self::InputEnv,
            b"note" => Self::Note,
            b"gap" => Self::Gap,
            b"end" => Self::End,
            _ => Self::Unknown,
        }
    }

    /// The kind with this code.
    pub fn from_code(code: u8) -> Self {
        Self::ALL
            .get(usize::from(code))
            .copied()
            .unwrap_or(Self::Unknown)
    }

    /// Whether the event changes a file of the tree.
    pub const fn is_file_change(self) -> bool {
        matches!(
            self,
            Self::FsWrite
                | Self::FsRemove
                | Self::FsRename
                | Self::FsMkdir
                | Self::FsSymlink
                | Self::FsChmod
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name_and_by_its_code() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.as_str().as_bytes()), kind);
            assert_eq!(Kind::from_code(kind as u8), kind);
        }
    }
}
