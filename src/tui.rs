//! The screen: keys in, frames out.
//!
//! An [`event`] goes into [`app::App`], which changes its state and returns [`effect`]s.
//! Some of these are requests ([`job`]), which the [`worker`] answers on its threads from
//! the façade; its replies are events again. [`view`] draws the state and nothing else.
//!
//! | module | knows |
//! |---|---|
//! | [`action`], [`key`], `keymap` | what can be asked for, and by which keys: one table |
//! | [`app`], `update`, `panes`, `folding`, `opening`, `travel`, `against`, `bisection`, `play`, `scroll`, `search`, `prompt`, `palette`, `picker`, `notes`, `fuzzy`, `overlay`, `decision`, `forking`, `draft`, `fork_tree`, `exporting`, `command` | the state, and what events do to it |
//! | `held`, `demand`, [`job`], [`worker`] | what is asked, what is shown meanwhile, who answers |
//! | [`document`], [`difference`], [`highlight`], [`reading`], [`conversation`] | files and texts as rows, made by the worker |
//! | `layout`, [`theme`], [`view`] | where everything stands and how it looks |
//! | `terminal`, `canvas`, `signals`, `keyboard`, `decode`, `clipboard`, `editor`, `fault` | the terminal, and what else is around the program |
//! | [`run`](run()), `pace`, [`frame`], `shell` | the loop on a terminal, pictures without one, both for the command line |
//!
//! Nothing here decides what a run means: that is the façade's. Neither the state nor the
//! drawing does I/O or reads a clock.

pub mod action;
mod against;
pub mod app;
mod bisection;
mod canvas;
mod clipboard;
mod command;
pub mod conversation;
mod decision;
mod decode;
mod demand;
pub mod difference;
pub mod document;
mod draft;
mod editor;
pub mod effect;
pub mod event;
mod exporting;
mod fault;
mod folding;
mod fork_tree;
mod forking;
pub mod frame;
mod fuzzy;
mod held;
pub mod highlight;
pub mod job;
pub mod key;
mod keyboard;
mod keymap;
mod layout;
mod notes;
mod opening;
mod overlay;
mod pace;
mod palette;
mod panes;
mod picker;
mod play;
mod prompt;
pub mod reading;
mod run;
mod scroll;
mod search;
mod shell;
mod signals;
mod terminal;
pub mod theme;
mod travel;
mod update;
pub mod view;
pub mod worker;

pub use run::{Ending, RunError, RunOptions, run};
pub use shell::TerminalScreen;
pub use terminal::{Mouse, TerminalError};
