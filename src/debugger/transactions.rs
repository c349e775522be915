//! Transactions that a process of its own holds, as a shell reaches them, and what one would
//! commit, as patches.

use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use super::patch::{Patch, PatchForm, Side, patch};
use crate::model::{BlobHash, Certainty, ChangeKind};
pub use crate::sandbox::{SandboxError, Stream, allowed_environment};
use crate::tape::MAX_BLOB;
use crate::text::{GitMode, SafeText};
pub use crate::transaction::hold::{
    CallRequest, Ended, Entry, HOLDER_VERB, Held as HeldTransaction, HeldState, HoldBegin,
    HoldError, LookUpError, Registry, SalvageError, Salvaged, TellError, Told,
    begin as begin_transaction, salvage, serve as serve_transaction,
};
use crate::transaction::{Conflict, Fingerprint};
pub use crate::transaction::{
    EffectCall, Ended as EndedTransaction, Isolation, OpenTransactionError, Proposed,
};

/// What a commit would change of a path, as a patch. Reads the file of the workspace, which
/// must still be what it was when the transaction began, and what the transaction wrote.
pub fn proposed_patch(proposed: &Proposed, workspace: &Path, form: PatchForm) -> Patch {
    let place = std::ffi::OsStr::from_bytes(proposed.path.as_bytes());
    let place = workspace.join(place);
    let before = side(&proposed.base, || match fs::symlink_metadata(&place) {
        // What took its place is not opened: a FIFO would wait.
        Ok(found) if found.is_file() => read(fs::File::open(&place)),
        _ => None,
    });
    let after = side(&proposed.ours, || {
        let content = Path::new(proposed.content.as_ref()?);
        read(crate::sandbox::open(content))
    });
    let change = match (&proposed.base, &proposed.ours) {
        (Fingerprint::Absent, _) => ChangeKind::Added,
        (_, Fingerprint::Absent) => ChangeKind::Removed,
        _ => ChangeKind::Modified,
    };
    patch((proposed.path.clone(), None), change, before, after, form)
}

/// What a commit would change of a path that somebody else changed, as a patch: from what it is
/// now to what the transaction wants it to be.
pub fn conflict_patch(
    conflict: &Conflict,
    proposed: &Proposed,
    workspace: &Path,
    form: PatchForm,
) -> Patch {
    let from_theirs = Proposed {
        base: conflict.theirs.clone(),
        ..proposed.clone()
    };
    proposed_patch(&from_theirs, workspace, form)
}

fn side(found: &Fingerprint, read: impl FnOnce() -> Option<Vec<u8>>) -> (Certainty, Side) {
    match found {
        Fingerprint::Absent => (Certainty::Absent, Side::Absent),
        Fingerprint::Directory { .. } => (Certainty::Exact, Side::Absent),
        Fingerprint::Link(target) => {
            let known = Side::Known(GitMode::Symlink, None, Arc::from(target.as_slice()));
            (Certainty::Exact, known)
        }
        Fingerprint::File { hash, mode, .. } => {
            let bytes = read().filter(|bytes| BlobHash::of(bytes) == *hash);
            let Some(bytes) = bytes else {
                let why = SafeText::literal("the file is no longer what it was, or too large");
                return (Certainty::Unstored, Side::Unknown(why));
            };
            let git = mode.map_or(GitMode::File, GitMode::of_permissions);
            (Certainty::Exact, Side::Known(git, *mode, bytes.into()))
        }
        Fingerprint::Other | Fingerprint::Unread => {
            let why = SafeText::literal("what was there is not known");
            (Certainty::Unknown, Side::Unknown(why))
        }
    }
}

fn read(file: std::io::Result<fs::File>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.ok()?.take(MAX_BLOB).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
