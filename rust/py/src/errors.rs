//! Conversion of the core's errors to Python exceptions. Each kind has its class in `opencode_memory.errors`.

use opencode_memory_core::store::schema::FORMAT;
use opencode_memory_core::{Error, ErrorKind};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Convert an error of the core to a Python exception.
pub fn to_exception(py: Python<'_>, error: &Error) -> PyErr {
    build(py, error).unwrap_or_else(|failure| failure)
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let class = match error.kind() {
        ErrorKind::InvalidInput => "InvalidInputError",
        ErrorKind::DimensionMismatch => "DimensionMismatchError",
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::Conflict => "ConflictError",
        ErrorKind::Busy => "BusyError",
        ErrorKind::Closed => "ClosedError",
        ErrorKind::Storage => "StorageError",
        ErrorKind::CorruptStore => "CorruptStoreError",
        ErrorKind::FormatVersion => "FormatVersionError",
        ErrorKind::Interrupted => return Ok(PyKeyboardInterrupt::new_err(())),
    };
    let data = PyDict::new(py);
    match error {
        Error::InvalidInput { field, limit, .. } => {
            data.set_item("field", field)?;
            data.set_item("limit", limit)?;
        }
        Error::DimensionMismatch { expected, received } => {
            data.set_item("expected", expected)?;
            data.set_item("received", received)?;
        }
        Error::NotFound { id, .. } => data.set_item("id", id)?,
        Error::Storage { path, .. } => data.set_item("path", path.to_string_lossy())?,
        Error::FormatVersion { found, supported, .. } => {
            data.set_item("found", found)?;
            data.set_item("supported", supported)?;
        }
        Error::OlderFormat { found, .. } => {
            data.set_item("found", found)?;
            data.set_item("supported", FORMAT)?;
        }
        _ => {}
    }
    let class = py.import("opencode_memory.errors")?.getattr(class)?;
    let exception = class.call((error.to_string(),), Some(&data))?;
    Ok(PyErr::from_value(exception))
}

/// Run `work` without the interpreter's lock and raise its error.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| to_exception(py, &error))
}
