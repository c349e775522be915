//! Models over HTTP, with a real client, a real server and a real endpoint on the loopback:
//! what is said is recorded, put together and answered again, byte by byte.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::string_slice,
    reason = "a test that cannot go on has failed"
)]

#[path = "models/assembly.rs"]
mod assembly;
#[path = "support/endpoint.rs"]
mod endpoint;
#[path = "models/exchanges.rs"]
mod exchanges;
#[path = "models/fails_closed.rs"]
mod fails_closed;
#[path = "models/redacted.rs"]
mod redacted;
#[path = "models/streams.rs"]
mod streams;
#[path = "models/wire.rs"]
mod wire;
