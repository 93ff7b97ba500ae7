//! Conversion between Python and the core: dictionaries in; memories, hits and dictionaries out. Times are UTC
//! milliseconds, and enums are names, except in memories.

mod given;
mod memory;

use opencode_memory_core::model::Signal;
use opencode_memory_core::model::report::{HistoryEntry, Operation, Related, Remembered};
use opencode_memory_core::store::history::Recorded;
use opencode_memory_core::store::kv;
use opencode_memory_core::store::project::Project;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub use given::{GivenMemory, GivenRelocation, GivenSelection, patch};
pub use memory::{hit, memories, memory};

/// The result of a write: id, outcome, kinds of redacted secrets, ids of replaced memories.
pub type Written = (String, &'static str, Vec<&'static str>, Vec<String>);

/// Convert the result of a write.
pub fn written(result: Remembered) -> Written {
    (result.id, result.outcome.as_str(), result.redactions, result.replaced)
}

macro_rules! dict {
    ($py:expr, $($name:literal : $value:expr),+ $(,)?) => {{
        let dict = PyDict::new($py);
        $(dict.set_item(pyo3::intern!($py, $name), $value)?;)+
        dict
    }};
}
pub(crate) use dict;

/// Convert a contribution to a score.
pub fn signal<'py>(py: Python<'py>, signal: &Signal) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "name": signal.name,
        "raw": signal.raw,
        "rank": signal.rank,
        "contribution": signal.contribution,
        "detail": &signal.detail,
    ))
}

/// Convert a neighbour to a dictionary.
pub fn related<'py>(py: Python<'py>, related: &Related) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "memory": memory(py, &related.memory)?,
        "kind": &related.kind,
        "direction": related.direction,
        "weight": related.weight,
        "reason": &related.reason,
    ))
}

/// Convert a change to a dictionary.
pub fn history_entry<'py>(py: Python<'py>, entry: &HistoryEntry) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "operation": entry.operation,
        "id": &entry.id,
        "at": entry.at,
        "kind": &entry.kind,
        "actor": entry.actor.as_str(),
        "undone": entry.undone,
        "before": entry.before.as_ref().map(|before| memory(py, before)).transpose()?,
        "after": entry.after.as_ref().map(|after| memory(py, after)).transpose()?,
    ))
}

/// Convert an operation to a dictionary.
pub fn operation<'py>(py: Python<'py>, operation: &Operation) -> PyResult<Bound<'py, PyDict>> {
    let changes = operation.changes.iter().map(|change| history_entry(py, change)).collect::<PyResult<Vec<_>>>()?;
    Ok(dict!(py,
        "operation": operation.operation,
        "at": operation.at,
        "actor": operation.actor.as_str(),
        "kinds": operation.kinds.clone(),
        "left": operation.left,
        "changes": changes,
    ))
}

/// Convert an undone change to a dictionary. The memory before the change is the current one again.
pub fn undone_change<'py>(py: Python<'py>, change: &Recorded) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "operation": change.operation,
        "id": &change.id,
        "at": change.at,
        "kind": &change.kind,
        "actor": change.actor.as_str(),
        "undone": true,
        "before": change.before.as_ref().map(|before| memory(py, before)).transpose()?,
        "after": py.None(),
    ))
}

/// Convert a value of the key-value store to a dictionary.
pub fn kv_value<'py>(py: Python<'py>, value: &kv::Value) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "key": &value.name,
        "value": &value.value,
        "created_at": value.created_at,
        "updated_at": value.updated_at,
        "expires_at": value.expires_at,
    ))
}

/// Convert a project to a dictionary.
pub fn project<'py>(py: Python<'py>, project: &Project) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "name": &project.name,
        "memories": project.memories,
        "remotes": &project.remotes,
        "root_commits": &project.root_commits,
        "folders": &project.folders,
    ))
}
