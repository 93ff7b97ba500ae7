//! Methods of documents: JSON with a version.

use opencode_memory_core::store::document::{Action, Change, Document};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Engine;
use crate::convert::dict;

/// Kind, name, project, expected version, whether to delete the document, its new body. Without a body, a document that is
/// not deleted is only required to have the version.
type Given = (String, String, Option<String>, i64, bool, Option<String>);

#[pymethods]
impl Engine {
    fn write_documents(&self, py: Python<'_>, changes: Vec<Given>) -> PyResult<Vec<i64>> {
        let changes: Vec<Change> = changes.into_iter().map(change).collect();
        self.run(py, || self.core.write_documents(&changes))
    }

    fn document<'py>(&self, py: Python<'py>, kind: &str, name: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        let found = self.run(py, || self.core.document(kind, name))?;
        found.map(|document| to_dict(py, &document)).transpose()
    }

    #[pyo3(signature = (kind, prefix, project))]
    fn documents<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        prefix: &str,
        project: Option<String>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let found = self.run(py, || self.core.documents(kind, prefix, project.as_deref()))?;
        found.iter().map(|document| to_dict(py, document)).collect()
    }
}

fn change((kind, name, project, expected, deletes, body): Given) -> Change {
    let action = match body {
        _ if deletes => Action::Delete,
        Some(body) => Action::Put(body),
        None => Action::Require,
    };
    Change { kind, name, project, expected, action }
}

fn to_dict<'py>(py: Python<'py>, document: &Document) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "kind": &document.kind,
        "name": &document.name,
        "project": &document.project,
        "version": document.version,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "body": &document.body,
    ))
}
