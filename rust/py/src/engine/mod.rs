//! The Python class `Engine`, a thin wrapper of the core's engine. Arguments are owned before the work runs detached.

mod budget;
mod document;
mod embed;
mod job;
mod keep;
mod learn;
mod ledger;
mod model_change;
mod read;
mod scale;
mod session;
mod turns;
mod write;

use std::mem::ManuallyDrop;
use std::path::PathBuf;

use opencode_memory_core::control::Control;
use opencode_memory_core::model::Trust;
use opencode_memory_core::store::FILE;
use opencode_memory_core::{Clock, Error, Options, Result};
use pyo3::prelude::*;

use crate::control::run_interruptible;
use crate::errors::to_exception;

/// An open data directory.
#[pyclass(frozen, module = "opencode_memory._core")]
pub struct Engine {
    pub(crate) core: ManuallyDrop<opencode_memory_core::Engine>,
}

impl Drop for Engine {
    /// Close an engine that was not closed, without the interpreter's lock: its thread may have to end a batch, and another
    /// process may be writing. The other threads of Python would stand still meanwhile.
    fn drop(&mut self) {
        // SAFETY: nothing uses the engine after its destructor, which runs once.
        let core = unsafe { ManuallyDrop::take(&mut self.core) };
        Python::attach(|py| py.detach(|| drop(core)));
    }
}

impl From<opencode_memory_core::Engine> for Engine {
    fn from(core: opencode_memory_core::Engine) -> Self {
        Self { core: ManuallyDrop::new(core) }
    }
}

impl Engine {
    /// Run `work` without the interpreter's lock and raise its error, which names the file of the store. Ctrl-C ends its
    /// waits for other processes.
    fn run<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
        self.run_interruptible(py, None, |_| work())
    }

    /// As [`Self::run`], for long work that Ctrl-C or an error of `progress` stops.
    fn run_interruptible<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<&Py<PyAny>>,
        work: impl FnOnce(&Control<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        run_interruptible(py, progress, |control| work(control).map_err(|error| self.located(error)))
    }

    fn located(&self, error: Error) -> Error {
        error.located(&self.core.data_dir().join(FILE))
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (data_dir, *, read_only=false, actor="user", graph_from=None, lexical_tail=None, threads=None, background=true, clock_ms=None))]
    #[allow(clippy::too_many_arguments)] // Python's keyword arguments
    fn new(
        py: Python<'_>,
        data_dir: PathBuf,
        read_only: bool,
        actor: &str,
        graph_from: Option<usize>,
        lexical_tail: Option<usize>,
        threads: Option<usize>,
        background: bool,
        clock_ms: Option<i64>,
    ) -> PyResult<Self> {
        let defaults = Options::default();
        let options = Options {
            read_only,
            actor: Trust::parse(actor).map_err(|error| to_exception(py, &error))?,
            graph_from: graph_from.unwrap_or(defaults.graph_from),
            lexical_tail: lexical_tail.unwrap_or(defaults.lexical_tail),
            threads: threads.unwrap_or(defaults.threads),
            background,
        };
        let clock = clock_ms.map_or_else(Clock::system, Clock::fixed);
        let core = run_interruptible(py, None, |_| opencode_memory_core::Engine::open(&data_dir, options, clock))?;
        Ok(core.into())
    }

    /// The same engine for another writer. Closing one closes both.
    fn acting_as(&self, py: Python<'_>, actor: &str) -> PyResult<Self> {
        let actor = Trust::parse(actor).map_err(|error| to_exception(py, &error))?;
        Ok(self.core.acting_as(actor).into())
    }

    /// The same engine for writes that are one operation together. Closing one closes both.
    fn in_one_operation(&self) -> Self {
        self.core.in_one_operation().into()
    }

    #[getter]
    fn operation(&self) -> Option<i64> {
        self.core.operation()
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, || self.core.close())
    }

    #[getter]
    fn data_dir(&self) -> PathBuf {
        self.core.data_dir().to_owned()
    }

    #[getter]
    fn is_writable(&self) -> bool {
        self.core.is_writable()
    }

    fn now_ms(&self) -> i64 {
        self.core.clock().now_ms()
    }

    fn set_clock(&self, now_ms: i64) {
        self.core.clock().set(now_ms);
    }
}
