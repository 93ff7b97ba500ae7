//! Semaphore that limits the number of concurrent searches on a graph.
//!
//! usearch gives each running search one of its reserved contexts and fails if no context is free. Callers decide how
//! many threads use the engine, so a fixed number of contexts is not enough without this limit.

use parking_lot::{Condvar, Mutex};

/// Maximum number of concurrent searches of one graph. A context takes only some kilobytes, so there are more contexts
/// than cores. Otherwise searches would wait for a search whose thread is descheduled.
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
    /// Create `count` free slots.
    pub fn new(count: usize) -> Self {
        Self { free: Mutex::new(count), released: Condvar::new() }
    }

    /// Take a slot. If all slots are in use, wait until another search ends.
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
