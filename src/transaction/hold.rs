//! A transaction that outlives the command that began it.
//!
//! The program is started again as the *holder*: it owns the open transaction, and answers
//! one request at a time on a socket of the user's. A [`Registry`] leads from a transaction's
//! id to its workspace and socket, and tells whether the holder is still there: it holds a
//! lock as long as it lives. A transaction whose holder is gone is abandoned: its workspace is
//! untouched, what its calls wrote can be copied out or dropped, and nobody goes on with it. If
//! the holder went while it committed, the journals of the workspace know what became of that.
//!
//! ```text
//! STATE/transactions/ID/entry   what is known of it, one JSON object
//! STATE/transactions/ID/lock    held by its holder
//! RUNTIME/ID                    the socket, for the user alone
//! ```
//!
//! Nothing here prints or reads the environment. Commands in the sandbox see neither of the
//! directories.

mod aftermath;
mod registry;
mod remote;
mod salvage;
mod serve;
mod wire;

pub use aftermath::{TellError, Told};
pub use registry::{Entry, HeldState, LookUpError, Noted, Registry};
pub use remote::{Held, HoldBegin, HoldError, begin, new_id};
pub use salvage::{SalvageError, Salvaged, salvage};
pub use serve::serve;
pub use wire::{CallRequest, Ended};

/// The word that makes the program the holder of a transaction.
pub const HOLDER_VERB: &str = "__txn";
