//! Clock of the core, the only source of wall-clock time. Times are UTC milliseconds since 1970.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Number of milliseconds in a day.
pub const DAY_MS: i64 = 86_400_000;

/// Time of the system since 1970. A clock that is set before 1970 counts as one that stands at its beginning.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Source of the current time, which tests can fix.
#[derive(Debug)]
pub struct Clock {
    /// Fixed time; `i64::MIN` if the system clock is used.
    fixed: AtomicI64,
}

impl Clock {
    /// Create a clock that uses the system time.
    pub fn system() -> Self {
        Self { fixed: AtomicI64::new(i64::MIN) }
    }

    /// Create a clock that returns `now_ms` until it is set again.
    pub fn fixed(now_ms: i64) -> Self {
        Self { fixed: AtomicI64::new(now_ms) }
    }

    /// Fix the time at `now_ms`.
    pub fn set(&self, now_ms: i64) {
        self.fixed.store(now_ms, Ordering::SeqCst);
    }

    /// Current time in UTC milliseconds.
    pub fn now_ms(&self) -> i64 {
        match self.fixed.load(Ordering::SeqCst) {
            i64::MIN => i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX),
            fixed => fixed,
        }
    }
}
