//! Methods for maintenance: statistics, verify, rebuild, backup, purge.

use std::path::PathBuf;

use opencode_memory_core::model::report::CatchUpReport;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Engine;
use crate::convert::dict;

#[pymethods]
impl Engine {
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.run(py, || self.core.stats())?;
        Ok(dict!(py,
            "by_status": stats.by_status,
            "by_category": stats.by_category,
            "expired": stats.expired,
            "projects": stats.projects,
            "kv": stats.kv,
            "pending_embeddings": stats.pending_embeddings,
            "model": stats.model.as_ref().map(|model| model.name.as_str()),
            "dimension": stats.model.as_ref().map(|model| model.dimension),
            "lexical_documents": stats.lexical_documents,
            "lexical_tail": stats.lexical_tail,
            "vectors": stats.vectors,
            "graph_vectors": stats.graph_vectors,
            "seq": stats.seq,
            "store_id": stats.store_id,
            "store_bytes": stats.bytes.0,
            "lexical_bytes": stats.bytes.1,
            "graph_bytes": stats.bytes.2,
        ))
    }

    /// Raise `StorageError` if the file of the store was removed, renamed or replaced.
    fn check_place(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, || self.core.check_place())
    }

    /// Rebuild `SQLite`'s own indexes of the store.
    fn rebuild_store_indexes(&self, py: Python<'_>) -> PyResult<()> {
        self.run_interruptible(py, None, |control| self.core.rebuild_store_indexes(control))
    }

    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.run_interruptible(py, None, |control| self.core.verify(control))?;
        Ok(dict!(py,
            "memories": report.memories,
            "lexical_documents": report.lexical_documents,
            "graph_vectors": report.graph_vectors,
            "store_problems": report.store_problems,
            "index_problems": report.index_problems,
        ))
    }

    #[pyo3(signature = (progress=None))]
    fn rebuild_indexes<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.run_interruptible(py, progress.as_ref(), |control| self.core.rebuild_indexes(control))?;
        to_dict(py, report)
    }

    #[pyo3(signature = (progress=None))]
    fn catch_up<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.run_interruptible(py, progress.as_ref(), |control| self.core.catch_up(control))?;
        to_dict(py, report)
    }

    fn catch_up_at_once<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.run_interruptible(py, None, |control| self.core.catch_up_at_once(control))?;
        to_dict(py, report)
    }

    fn backup(&self, py: Python<'_>, target: PathBuf) -> PyResult<()> {
        self.run_interruptible(py, None, |control| self.core.backup(&target, control))
    }

    fn snapshot_copy(&self, py: Python<'_>, target: PathBuf) -> PyResult<()> {
        self.run_interruptible(py, None, |control| self.core.snapshot_copy(&target, control))
    }

    fn restore_backup(&self, py: Python<'_>, source: PathBuf) -> PyResult<usize> {
        self.run_interruptible(py, None, |control| self.core.restore_backup(&source, control))
    }

    fn backups(&self, py: Python<'_>) -> PyResult<Vec<(PathBuf, i64)>> {
        self.run(py, || self.core.backups())
    }

    fn leftovers(&self, py: Python<'_>) -> PyResult<Vec<(PathBuf, &'static str)>> {
        self.run(py, || self.core.leftovers())
    }

    fn purge<'py>(&self, py: Python<'py>, ids: Vec<String>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.run_interruptible(py, None, |control| self.core.purge(&ids, control))?;
        Ok(dict!(py, "memories": report.memories, "backups": report.backups, "problems": report.problems))
    }

    fn maintain(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        self.run(py, || self.core.maintain())
    }
}

fn to_dict(py: Python<'_>, report: CatchUpReport) -> PyResult<Bound<'_, PyDict>> {
    Ok(dict!(py,
        "lexical_added": report.lexical_added,
        "lexical_removed": report.lexical_removed,
        "vectors_added": report.vectors_added,
        "lexical_rebuilt": report.lexical_rebuilt,
        "graph_rebuilt": report.graph_rebuilt,
    ))
}
