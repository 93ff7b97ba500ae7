//! Callbacks through which a caller watches a long operation and can stop it.

use std::cell::Cell;
use std::mem;

use crate::error::{Error, Result};

/// A question whether to stop.
type Question = dyn Fn() -> bool + Sync;

thread_local! {
    /// The question of the caller whose operation runs on this thread.
    static QUESTION: Cell<Option<&'static Question>> = const { Cell::new(None) };
}

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

    /// Callbacks of an operation that takes none: those of [`answering`] stop it.
    pub fn of_thread() -> Self {
        Self { is_interrupted: &is_interrupted, progress: &|_, _, _| {} }
    }

    /// Return an error if the caller wants to stop.
    pub fn check(&self) -> Result<()> {
        if (self.is_interrupted)() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Run `body`, whose waits for locks end when `is_interrupted` returns true. They have no [`Control`], because every
/// operation may have to wait.
pub fn answering<T>(is_interrupted: &(dyn Fn() -> bool + Sync), body: impl FnOnce() -> T) -> T {
    struct Restored(Option<&'static Question>);
    impl Drop for Restored {
        fn drop(&mut self) {
            QUESTION.set(self.0);
        }
    }
    // SAFETY: the only copy of this reference leaves the thread's cell when `_restored` is dropped: before this function
    // returns or unwinds.
    let question: &'static Question = unsafe { mem::transmute(is_interrupted) };
    let _restored = Restored(QUESTION.replace(Some(question)));
    body()
}

/// Whether the caller of the operation that runs on this thread wants to stop it.
pub fn is_interrupted() -> bool {
    QUESTION.get().is_some_and(|question| question())
}
