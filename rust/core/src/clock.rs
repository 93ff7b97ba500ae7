//! The only place in the core that asks for the time. UTC milliseconds since 1970.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;

/// A source of the current time; fixed in tests.
#[derive(Debug)]
pub struct Clock {
    /// `i64::MIN` while the system's clock is used.
    fixed: AtomicI64,
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self { fixed: AtomicI64::new(i64::MIN) }
    }

    /// A clock that stands at `now_ms` until it is set again.
    pub fn fixed(now_ms: i64) -> Self {
        Self { fixed: AtomicI64::new(now_ms) }
    }

    /// Make the clock stand at `now_ms`.
    pub fn set(&self, now_ms: i64) {
        self.fixed.store(now_ms, Ordering::SeqCst);
    }

    /// Now, in UTC milliseconds.
    pub fn now_ms(&self) -> i64 {
        match self.fixed.load(Ordering::SeqCst) {
            i64::MIN => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
            fixed => fixed,
        }
    }
}
