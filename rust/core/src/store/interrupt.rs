//! Lets the caller interrupt long SQL statements, such as `VACUUM` and `PRAGMA integrity_check`.

use std::mem;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::control::Control;
use crate::error::Result;

/// Number of steps of `SQLite` between two looks at the clock. A check for damage counts a page as a step.
const STEPS: i32 = 1_000;
/// Time between two questions to the caller. Python takes its interpreter lock to answer.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Stops asking the caller when it is dropped.
struct Asking<'c>(&'c Connection);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let _ = self.0.progress_handler(0, None::<fn() -> bool>); // fails only for a connection that is not ours
    }
}

/// Run `body`, whose statements on `connection` the caller can interrupt. Not to be nested: a connection has one handler,
/// so the rest of the outer `body` could not be interrupted.
///
/// # Errors
/// [`crate::Error::Interrupted`] if the caller did so. The statement has changed nothing then.
pub fn interruptible<T>(connection: &Connection, control: &Control<'_>, body: impl FnOnce() -> Result<T>) -> Result<T> {
    control.check()?;
    // SAFETY: the handler, which holds the only copy of this reference, is removed when `_asking` is dropped: before this
    // function returns or unwinds.
    let is_interrupted: &'static (dyn Fn() -> bool + Sync) = unsafe { mem::transmute(control.is_interrupted) };
    let _asking = Asking(connection);
    let mut asked: Option<Instant> = None;
    let ask = move || {
        if asked.is_some_and(|at| at.elapsed() < ASK_EVERY) {
            return false;
        }
        let answer = is_interrupted();
        asked = Some(Instant::now());
        answer
    };
    connection.progress_handler(STEPS, Some(ask))?;
    body()
}
