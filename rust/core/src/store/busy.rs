//! Waits of SQL statements for the locks of other processes. The caller of the thread's operation can end them.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::control;

/// Longest wait of a write for another process's transaction; bulk imports commit far more often than this.
pub const TIMEOUT: Duration = Duration::from_secs(20);
/// Pauses between the first attempts, in milliseconds. They are those of `SQLite`.
const PAUSES: [u64; 11] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50];
/// Pause between later attempts.
const LONGEST_PAUSE: u64 = 100;

thread_local! {
    /// Longest wait of this thread for a lock.
    static PATIENCE: Cell<Duration> = const { Cell::new(TIMEOUT) };
    /// Beginning of this thread's wait for a lock.
    static BEGUN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Let the statements of a connection wait for locks.
pub fn configure(connection: &Connection) -> rusqlite::Result<()> {
    // Not `busy_timeout`: a wait of SQLite itself ends only after that time, also if the user pressed Ctrl-C.
    connection.busy_handler(Some(wait))
}

/// Run `body`, whose statements wait for each lock for `patience`.
pub fn with_patience<T>(patience: Duration, body: impl FnOnce() -> T) -> T {
    struct Restored(Duration);
    impl Drop for Restored {
        fn drop(&mut self) {
            PATIENCE.set(self.0);
        }
    }
    let _restored = Restored(PATIENCE.replace(patience));
    body()
}

/// Wait before another attempt to take a lock; returns false to give up. `attempts` were in vain before this one.
fn wait(attempts: i32) -> bool {
    let attempts = usize::try_from(attempts).unwrap_or_default();
    let begun = BEGUN.get().filter(|_| attempts > 0).unwrap_or_else(Instant::now);
    BEGUN.set(Some(begun));
    let left = PATIENCE.get().saturating_sub(begun.elapsed());
    if left.is_zero() || control::is_interrupted() {
        return false;
    }
    let pause = PAUSES.get(attempts).copied().unwrap_or(LONGEST_PAUSE);
    thread::sleep(Duration::from_millis(pause).min(left));
    true
}
