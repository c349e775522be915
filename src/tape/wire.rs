//! The wire: the only place that knows the JSON field names of a tape.
//!
//! One module per released version; a released one is never edited, only superseded.
//! What leaves this module is a [`Line`] with its [`RawHead`], or a [`crate::model::Event`].

mod json;
pub mod v1;

pub use json::{Text, repair_surrogates};
pub use v1::{Enc, Line, RawHead};
