//! The screen: keys in, frames out.

pub mod action;
pub mod document;
pub mod highlight;
pub mod key;
mod keymap;
mod layout;
mod prompt;
pub mod reading;
pub mod theme;
