//! The screen: keys in, frames out.

pub mod document;
pub mod highlight;
pub mod reading;
