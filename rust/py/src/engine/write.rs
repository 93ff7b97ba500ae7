//! Methods that change memories, values and projects.

use opencode_memory_core::Result;
use opencode_memory_core::model::Memory;
use opencode_memory_core::store::project::Identity;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Engine;
use crate::convert::{self, GivenMemory, GivenRelocation};

/// Key, kept value and dropped value of each clash.
type Clashes = Vec<(String, String, String)>;
type Dicts<'py> = Vec<Bound<'py, PyDict>>;
type Objects<'py> = Vec<Bound<'py, PyAny>>;

#[pymethods]
impl Engine {
    fn remember_many(&self, py: Python<'_>, memories: Vec<GivenMemory>) -> PyResult<Vec<convert::Written>> {
        let memories = memories.into_iter().map(|given| given.0).collect();
        let results = self.run(py, || self.core.remember_many(memories))?;
        Ok(results.into_iter().map(convert::written).collect())
    }

    fn edit<'py>(&self, py: Python<'py>, id: &str, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let patch = convert::patch(fields)?;
        let memory = self.run(py, || self.core.edit(id, patch))?;
        convert::memory(py, &memory)
    }

    fn relocate(
        &self,
        py: Python<'_>,
        project: Option<String>,
        relocations: Vec<GivenRelocation>,
    ) -> PyResult<Vec<bool>> {
        self.run(py, || {
            let relocations = relocations.into_iter().map(GivenRelocation::into_core).collect::<Result<_>>()?;
            self.core.relocate(project.as_deref(), relocations)
        })
    }

    fn merge<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<String>,
        fields: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let patch = convert::patch(fields)?;
        let memory = self.run(py, || self.core.merge(&ids, patch))?;
        convert::memory(py, &memory)
    }

    #[pyo3(signature = (ids, reason=None))]
    fn archive<'py>(&self, py: Python<'py>, ids: Vec<String>, reason: Option<String>) -> PyResult<Objects<'py>> {
        self.run_change(py, || self.core.archive(&ids, reason.as_deref()))
    }

    fn archive_in_upkeep<'py>(&self, py: Python<'py>, ids: Vec<String>, reason: &str) -> PyResult<Objects<'py>> {
        self.run_change(py, || self.core.archive_in_upkeep(&ids, reason))
    }

    fn restore<'py>(&self, py: Python<'py>, ids: Vec<String>) -> PyResult<Objects<'py>> {
        self.run_change(py, || self.core.restore(&ids))
    }

    fn pin<'py>(&self, py: Python<'py>, ids: Vec<String>, pinned: bool) -> PyResult<Objects<'py>> {
        self.run_change(py, || self.core.pin(&ids, pinned))
    }

    fn delete(&self, py: Python<'_>, ids: Vec<String>) -> PyResult<Vec<String>> {
        self.run(py, || self.core.delete(&ids))
    }

    fn link(&self, py: Python<'_>, source: &str, target: &str, kind: &str, weight: f64, reason: &str) -> PyResult<()> {
        self.run(py, || self.core.link(source, target, kind, weight, reason))
    }

    #[pyo3(signature = (ids=None, operation=None))]
    fn undo<'py>(&self, py: Python<'py>, ids: Option<Vec<String>>, operation: Option<i64>) -> PyResult<Dicts<'py>> {
        let changes = self.run(py, || match &ids {
            Some(ids) => self.core.undo_each(ids, operation),
            None => self.core.undo(None),
        })?;
        changes.iter().map(|change| convert::undone_change(py, change)).collect()
    }

    fn undo_operation<'py>(&self, py: Python<'py>, operation: i64) -> PyResult<Dicts<'py>> {
        let changes = self.run(py, || self.core.undo_operation(operation))?;
        changes.iter().map(|change| convert::undone_change(py, change)).collect()
    }

    fn redo<'py>(&self, py: Python<'py>, operation: i64, id: Option<&str>) -> PyResult<Dicts<'py>> {
        let changes = self.run(py, || self.core.redo(operation, id))?;
        changes.iter().map(|change| convert::undone_change(py, change)).collect()
    }

    #[pyo3(signature = (project, key, value, ttl_ms))]
    fn kv_set(
        &self,
        py: Python<'_>,
        project: Option<String>,
        key: &str,
        value: &str,
        ttl_ms: Option<i64>,
    ) -> PyResult<Vec<&'static str>> {
        self.run(py, || self.core.kv_set(project.as_deref(), key, value, ttl_ms))
    }

    fn kv_delete(&self, py: Python<'_>, project: Option<String>, key: &str) -> PyResult<bool> {
        self.run(py, || self.core.kv_delete(project.as_deref(), key))
    }

    fn resolve_project(
        &self,
        py: Python<'_>,
        remotes: Vec<String>,
        root_commits: Vec<String>,
        folder: Option<String>,
        create: bool,
    ) -> PyResult<Option<String>> {
        let identity = Identity { remotes, root_commits, folder };
        self.run(py, || self.core.resolve_project(&identity, create))
    }

    fn project_name(
        &self,
        py: Python<'_>,
        remotes: Vec<String>,
        root_commits: Vec<String>,
        folder: Option<String>,
    ) -> PyResult<String> {
        let identity = Identity { remotes, root_commits, folder };
        self.run(py, || self.core.project_name(&identity))
    }

    fn needs_root_commits(
        &self,
        py: Python<'_>,
        remotes: Vec<String>,
        root_commits: Vec<String>,
        folder: Option<String>,
    ) -> PyResult<bool> {
        let identity = Identity { remotes, root_commits, folder };
        self.run(py, || self.core.needs_root_commits(&identity))
    }

    fn folders_without_remotes(
        &self,
        py: Python<'_>,
        remotes: Vec<String>,
        root_commits: Vec<String>,
        folder: Option<String>,
    ) -> PyResult<Vec<String>> {
        let identity = Identity { remotes, root_commits, folder };
        self.run(py, || self.core.folders_without_remotes(&identity))
    }

    fn rename_project(&self, py: Python<'_>, old: &str, new: &str) -> PyResult<()> {
        self.run(py, || self.core.rename_project(old, new))
    }

    fn merge_projects(&self, py: Python<'_>, source: &str, target: &str) -> PyResult<(usize, Clashes)> {
        let merged = self.run(py, || self.core.merge_projects(source, target))?;
        let clashes = merged.clashes.into_iter().map(|clash| (clash.name, clash.kept, clash.dropped)).collect();
        Ok((merged.memories, clashes))
    }

    fn advance_reminder<'py>(&self, py: Python<'py>, id: &str, next_ms: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        let memory = self.run(py, || self.core.advance_reminder(id, next_ms))?;
        convert::memory(py, &memory)
    }

    fn load(&self, py: Python<'_>, kind: &str, rows: Vec<String>) -> PyResult<(usize, usize)> {
        let loaded = self.run(py, || self.core.load(kind, &rows))?;
        Ok((loaded.added, loaded.known))
    }
}

impl Engine {
    fn run_change<'py>(
        &self,
        py: Python<'py>,
        work: impl FnOnce() -> Result<Vec<Memory>> + Send,
    ) -> PyResult<Objects<'py>> {
        let memories = self.run(py, work)?;
        convert::memories(py, &memories)
    }
}
