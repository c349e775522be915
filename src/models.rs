//! What an agent and a model say to each other over HTTP: recorded as it happens, and answered
//! again from a tape.
//!
//! ```text
//! agent ── loopback ── Server ─┬─ Endpoints: the addresses that the user named
//!                        │     └─ Tape: the same request gets the same bytes
//!                        └─ events ─► the tape of the command
//! ```
//!
//! What the dialects mean (Messages, Chat Completions, Responses) is pure: bytes in, blocks out,
//! however the bytes were cut. When two requests are the same is decided by
//! [`crate::replay::request`]. All that waits for several things at once waits in [`Server`], on a thread of its
//! own, or in the client of a [`LiveModel`]; no other code of the program knows of it.
//!
//! A [`LiveModel`] is asked without an agent: it goes on with a fork that the user let it go on
//! with.
//!
//! Streams to other services go through the same server. Those that a tape holds are answered,
//! each frame as [`crate::replay::stream`] decides it. Of a service that an agent starts itself,
//! a [`Link`] stands in the place, and records what it says or lets the tape say it.
//!
//! Keys go through and are never kept. Nothing is connected to but the addresses of
//! [`Source::Endpoints`], and the [`Endpoint`] of a [`LiveModel`]; with a [`Source::Tape`] nothing
//! is connected to at all.

mod answer;
mod api;
mod body;
mod chat;
mod client;
mod dialogue;
mod door;
mod draft;
mod endpoint;
mod exchange;
mod flushes;
mod headers;
mod link;
mod live;
mod mend;
mod messages;
mod passage;
mod question;
mod recorded;
mod responses;
mod server;
mod spoken;
mod sse;
mod telling;
mod upstream;

pub use answer::{Answer, Assembly};
pub use api::{Api, Dialect};
pub use door::StreamsReport;
pub use endpoint::{Endpoint, EndpointError};
pub use link::{Link, LinkError, LinkMode};
pub use live::{FirstRequest, LiveModel};
pub use recorded::{Divergence, Found, Recorded, RecordedError, RecordedReply};
pub use server::{Report, Server, Source};
pub use upstream::{AddressError, Upstream};
