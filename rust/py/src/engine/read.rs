//! Methods that read.

use opencode_memory_core::engine::{Cursor, Earlier};
use opencode_memory_core::model::{RecallRequest, Trust};
use opencode_memory_core::store::link::Link;
use opencode_memory_core::store::operation::Wanted;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Engine;
use crate::convert::{self, GivenSelection};
use crate::errors::to_exception;
use crate::vectors::{GivenQueryVector, query_vector};

type Dicts<'py> = Vec<Bound<'py, PyDict>>;
type Objects<'py> = Vec<Bound<'py, PyAny>>;
/// The memory, and whether a later one takes its place.
type EarlierParts<'py> = (Bound<'py, PyAny>, bool);
/// Source, target, kind, weight and reason.
type LinkParts = (String, String, String, f64, String);

fn parts_of(link: Link) -> LinkParts {
    (link.source, link.target, link.kind, link.weight, link.reason)
}

#[pymethods]
impl Engine {
    #[pyo3(signature = (query, vector, selection, limit, as_of, explain, unasked, nearest))]
    #[allow(clippy::too_many_arguments)] // the arguments of one recall
    fn recall<'py>(
        &self,
        py: Python<'py>,
        query: String,
        vector: Option<GivenQueryVector>,
        selection: GivenSelection,
        limit: usize,
        as_of: Option<i64>,
        explain: bool,
        unasked: bool,
        nearest: bool,
    ) -> PyResult<Objects<'py>> {
        let hits = self.run(py, || {
            let (vector, selection) = (query_vector(vector)?, selection.into_core()?);
            self.core.recall(RecallRequest { query, vector, selection, limit, as_of, explain, unasked, nearest })
        })?;
        hits.iter().map(|hit| convert::hit(py, hit, explain)).collect()
    }

    fn note_uses(&self, py: Python<'_>, ids: Vec<String>) -> PyResult<()> {
        self.run(py, || self.core.note_uses(ids))
    }

    fn get<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let memory = self.run(py, || self.core.get(id))?;
        convert::memory(py, &memory)
    }

    fn select<'py>(
        &self,
        py: Python<'py>,
        selection: GivenSelection,
        limit: usize,
        offset: usize,
        as_of: Option<i64>,
    ) -> PyResult<Objects<'py>> {
        let memories = self.run(py, || self.core.list(&selection.into_core()?, limit, offset, as_of))?;
        convert::memories(py, &memories)
    }

    fn page<'py>(
        &self,
        py: Python<'py>,
        selection: GivenSelection,
        limit: usize,
        after: Option<Cursor>,
    ) -> PyResult<(Objects<'py>, Option<Cursor>)> {
        let (memories, next) = self.run(py, || self.core.page(&selection.into_core()?, limit, after))?;
        Ok((convert::memories(py, &memories)?, next))
    }

    fn due<'py>(&self, py: Python<'py>, selection: GivenSelection, limit: usize) -> PyResult<Objects<'py>> {
        let found = self.run(py, || self.core.due(&selection.into_core()?.scope, limit))?;
        convert::memories(py, &found)
    }

    fn count(&self, py: Python<'_>, selection: GivenSelection) -> PyResult<usize> {
        self.run(py, || self.core.count(&selection.into_core()?))
    }

    fn history<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Dicts<'py>> {
        let entries = self.run(py, || self.core.history(id))?;
        entries.iter().map(|entry| convert::history_entry(py, entry)).collect()
    }

    #[allow(clippy::too_many_arguments)] // the filters of one list
    fn operations<'py>(
        &self,
        py: Python<'py>,
        project: Option<String>,
        actor: Option<&str>,
        without_upkeep: bool,
        undone: Option<bool>,
        before: Option<i64>,
        limit: usize,
    ) -> PyResult<Dicts<'py>> {
        let actor = actor.map(Trust::parse).transpose().map_err(|error| to_exception(py, &error))?;
        let wanted = Wanted { project, actor, without_upkeep, undone, before };
        let found = self.run(py, || self.core.operations(&wanted, limit))?;
        found.iter().map(|operation| convert::operation(py, operation)).collect()
    }

    fn spread(
        &self,
        py: Python<'_>,
        query: &str,
        vector: Option<GivenQueryVector>,
        memories: Vec<(i64, String)>,
        known: Vec<usize>,
    ) -> PyResult<Vec<f64>> {
        self.run(py, || self.core.spread(query, query_vector(vector)?.as_ref(), &memories, &known))
    }

    fn related<'py>(&self, py: Python<'py>, id: &str, limit: usize) -> PyResult<Dicts<'py>> {
        let related = self.run(py, || self.core.related(id, limit))?;
        related.iter().map(|related| convert::related(py, related)).collect()
    }

    /// For each memory the earlier statements on its subject, and whether it takes their place.
    fn earlier<'py>(&self, py: Python<'py>, ids: Vec<String>) -> PyResult<Vec<Vec<EarlierParts<'py>>>> {
        let found = self.run(py, || self.core.earlier(&ids))?;
        let convert = |one: &Earlier| Ok((convert::memory(py, &one.memory)?, one.is_replaced));
        found.iter().map(|earlier| earlier.iter().map(convert).collect()).collect()
    }

    fn later<'py>(&self, py: Python<'py>, ids: Vec<String>) -> PyResult<Objects<'py>> {
        let found = self.run(py, || self.core.later(&ids))?;
        convert::memories(py, &found)
    }

    fn most_used<'py>(
        &self,
        py: Python<'py>,
        selection: GivenSelection,
        since_ms: i64,
        limit: usize,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, usize)>> {
        let found = self.run(py, || self.core.most_used(&selection.into_core()?, since_ms, limit))?;
        found.iter().map(|(memory, uses)| Ok((convert::memory(py, memory)?, *uses))).collect()
    }

    fn links(
        &self,
        py: Python<'_>,
        selection: GivenSelection,
        kinds: Vec<String>,
        limit: usize,
    ) -> PyResult<Vec<LinkParts>> {
        let found = self.run(py, || self.core.links(&selection.into_core()?, &kinds, limit))?;
        Ok(found.into_iter().map(parts_of).collect())
    }

    fn links_to(
        &self,
        py: Python<'_>,
        selection: GivenSelection,
        targets: Vec<String>,
        kinds: Vec<String>,
    ) -> PyResult<Vec<LinkParts>> {
        let found = self.run(py, || self.core.links_to(&selection.into_core()?, &targets, &kinds))?;
        Ok(found.into_iter().map(parts_of).collect())
    }

    fn kv_get<'py>(&self, py: Python<'py>, project: Option<String>, key: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        let value = self.run(py, || self.core.kv_get(project.as_deref(), key))?;
        value.map(|value| convert::kv_value(py, &value)).transpose()
    }

    fn kv_list<'py>(&self, py: Python<'py>, project: Option<String>, prefix: &str) -> PyResult<Dicts<'py>> {
        let values = self.run(py, || self.core.kv_list(project.as_deref(), prefix))?;
        values.iter().map(|value| convert::kv_value(py, value)).collect()
    }

    fn project_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.run(py, || self.core.project_names())
    }

    fn projects<'py>(&self, py: Python<'py>) -> PyResult<Dicts<'py>> {
        let projects = self.run(py, || self.core.projects())?;
        projects.iter().map(|project| convert::project(py, project)).collect()
    }

    fn dump(&self, py: Python<'_>, kind: &str, cursor: i64, limit: usize) -> PyResult<(Vec<String>, Option<i64>)> {
        let page = self.run(py, || self.core.dump(kind, cursor, limit))?;
        Ok((page.rows, page.next))
    }
}
