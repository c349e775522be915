//! x
pub mod base;
