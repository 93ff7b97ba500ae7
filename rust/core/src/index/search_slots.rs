//! Counts the searches that run on a graph at once, and lets further ones wait for a free slot.
//!
//! usearch gives each running search one of its reserved contexts and fails if none is left. The engine does not choose how
//! many threads call it, so no fixed reservation is enough by itself.

use parking_lot::{Condvar, Mutex};

/// Searches that one graph serves at once. A context is some kilobytes, so there are more of them than cores: a search
/// whose thread is descheduled must not make the others wait.
pub const SEARCHES_AT_ONCE: usize = 64;

/// The free slots of one graph.
#[derive(Debug)]
pub struct SearchSlots {
    free: Mutex<usize>,
    released: Condvar,
}

/// A slot in use; it is released on drop.
#[derive(Debug)]
pub struct SearchSlot<'a>(&'a SearchSlots);

impl SearchSlots {
    /// Slots for `count` searches.
    pub fn new(count: usize) -> Self {
        Self { free: Mutex::new(count), released: Condvar::new() }
    }

    /// Take a slot; waits until another search ends if all are in use.
    pub fn acquire(&self) -> SearchSlot<'_> {
        let mut free = self.free.lock();
        self.released.wait_while(&mut free, |free| *free == 0);
        *free -= 1;
        SearchSlot(self)
    }
}

impl Drop for SearchSlot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.released.notify_one();
    }
}
