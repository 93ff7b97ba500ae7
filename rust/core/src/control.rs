//! Callbacks through which a caller watches a long operation and can stop it.

use crate::error::{Error, Result};

/// Callbacks through which a caller watches a long operation and can stop it.
pub struct Control<'a> {
    /// Return true to stop the operation; called often.
    pub is_interrupted: &'a (dyn Fn() -> bool + Sync),
    /// Called with the progress: name of the stage, number of items done, number of items in all.
    pub progress: &'a (dyn Fn(&'static str, usize, usize) + Sync),
}

impl Control<'_> {
    /// Callbacks that never stop the operation and ignore its progress.
    pub fn none() -> Self {
        Self { is_interrupted: &|| false, progress: &|_, _, _| {} }
    }

    /// Return an error if the caller wants to stop.
    pub fn check(&self) -> Result<()> {
        if (self.is_interrupted)() { Err(Error::Interrupted) } else { Ok(()) }
    }
}
