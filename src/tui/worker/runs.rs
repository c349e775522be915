//! The runs that are asked: the one on the screen, and the one it is held against.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::debugger::{Debugger, ForkGround};
use crate::text::SafeText;
use crate::tui::job::SharedRun;

/// The run on the screen, on the left, and the one it is held against, on the right.
///
/// A run may be held against itself, one branch against another. Then both are one: a
/// thread that reads both reads it twice, which is allowed, since nobody who writes waits.
#[derive(Clone, Debug)]
pub struct Runs {
    pub(super) left: SharedRun,
    right: Arc<RwLock<Option<SharedRun>>>,
    /// What forks are made with.
    pub(in crate::tui) ground: Option<ForkGround>,
    /// Why this machine runs no command, once that was found out.
    missing: Arc<OnceLock<Option<SafeText>>>,
}

impl Runs {
    /// A run alone.
    pub fn alone(left: SharedRun) -> Self {
        Self {
            left,
            right: Arc::default(),
            ground: None,
            missing: Arc::default(),
        }
    }

    /// The same, with what forks are made with; without it none is made.
    pub fn with_ground(self, ground: Option<ForkGround>) -> Self {
        Self { ground, ..self }
    }

    /// A run held against another one.
    pub fn against(self, right: Debugger) -> Self {
        self.set_right(Some(Arc::new(RwLock::new(right))));
        self
    }

    /// A run of which one branch is held against another.
    pub fn against_itself(self) -> Self {
        self.set_right(Some(Arc::clone(&self.left)));
        self
    }

    /// Why this machine runs no command; `None`: it does. The first time, that is found out.
    pub(super) fn missing(&self) -> Option<SafeText> {
        let find_out = || {
            let Some(ground) = &self.ground else {
                return Some(SafeText::literal("the program's own file cannot be found"));
            };
            let why = ground.workbench.trial().err()?;
            Some(SafeText::line(&why.to_string()))
        };
        self.missing.get_or_init(find_out).clone()
    }

    /// The run on the right, if there is one.
    pub(super) fn right(&self) -> Option<SharedRun> {
        let right = self.right.read().unwrap_or_else(PoisonError::into_inner);
        right.clone()
    }

    /// The run on the right, where it is another one than that on the left.
    pub(super) fn other(&self) -> Option<SharedRun> {
        self.right().filter(|right| !Arc::ptr_eq(right, &self.left))
    }

    pub(super) fn set_right(&self, right: Option<SharedRun>) {
        *self.right.write().unwrap_or_else(PoisonError::into_inner) = right;
    }
}

impl From<SharedRun> for Runs {
    fn from(left: SharedRun) -> Self {
        Self::alone(left)
    }
}

impl From<Debugger> for Runs {
    fn from(left: Debugger) -> Self {
        Self::alone(Arc::new(RwLock::new(left)))
    }
}
