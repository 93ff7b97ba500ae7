//! Interruption by Ctrl-C and progress callbacks of long operations.

use opencode_memory_core::Error;
use opencode_memory_core::control::{Control, answering};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::errors::to_exception;

/// Run a long operation without the interpreter's lock, and check for signals between its steps.
pub fn run_interruptible<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Control<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let stopped: Mutex<Option<PyErr>> = Mutex::new(None);
    let stop = |error: PyErr| {
        stopped.lock().get_or_insert(error);
    };
    let is_interrupted = || {
        if stopped.lock().is_none() {
            // Only the main thread receives signals. In other threads this check is cheap and finds none.
            #[allow(clippy::redundant_closure_for_method_calls)] // the method alone is not general enough
            if let Err(error) = Python::attach(|py| py.check_signals()) {
                stop(error);
            }
        }
        stopped.lock().is_some()
    };
    let report_progress = |stage: &'static str, done: usize, of: usize| {
        if let Some(callback) = progress
            && let Err(error) = Python::attach(|py| callback.call1(py, (stage, done, of)))
        {
            stop(error);
        }
    };
    let control = Control { is_interrupted: &is_interrupted, progress: &report_progress };
    let result = py.detach(|| answering(&is_interrupted, || work(&control)));
    match (stopped.into_inner(), result) {
        // The work may end without another check, and a wait for a lock that is interrupted is in vain. Otherwise
        // Ctrl-C, or an error of the callback, would be lost.
        (Some(error), Ok(_) | Err(Error::Interrupted | Error::Busy { .. })) => Err(error),
        (_, Err(error)) => Err(to_exception(py, &error)),
        (None, Ok(value)) => Ok(value),
    }
}
