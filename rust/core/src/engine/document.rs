//! Operations of documents. Their bodies come from Python, which has redacted the secrets in the texts of people and models.

use super::Engine;
use crate::error::{Error, Result};
use crate::model::validate;
use crate::store::document::{self, Action, Change, Document};
use crate::store::project;

/// Most changes in one call.
const MOST_CHANGES: usize = 1000;

impl Engine {
    /// Write several documents or none; returns their new versions.
    ///
    /// # Errors
    /// [`Error::Conflict`] if a document has another version than its change expects.
    pub fn write_documents(&self, changes: &[Change]) -> Result<Vec<i64>> {
        if changes.len() > MOST_CHANGES {
            let message = format!("has {} changes; at most {MOST_CHANGES} are written at once", changes.len());
            return Err(Error::over_limit("changes", message, MOST_CHANGES));
        }
        for Change { kind, name, project, action, .. } in changes {
            let body = if let Action::Put(body) = action { body } else { "" };
            check(kind, name, project.as_deref(), body)?;
        }
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| write.write_documents(changes))
    }

    /// A document.
    pub fn document(&self, kind: &str, name: &str) -> Result<Option<Document>> {
        let shared = self.enter()?;
        let at = shared.store.read()?;
        document::get(&at, kind, name)
    }

    /// Documents of a kind whose name starts with `prefix`, ordered by name; of one project, or of all for `None`.
    pub fn documents(&self, kind: &str, prefix: &str, project: Option<&str>) -> Result<Vec<Document>> {
        let shared = self.enter()?;
        let at = shared.store.read()?;
        let Some(name) = project else { return document::list(&at, kind, prefix, None) };
        match project::id_of(&at, Some(name))? {
            Some(id) => document::list(&at, kind, prefix, Some(id)),
            None => Ok(Vec::new()),
        }
    }
}

/// Refuse a document whose names are invalid, or whose body is too long.
pub(super) fn check(kind: &str, name: &str, project: Option<&str>, body: &str) -> Result<()> {
    validate::name("kind", kind)?;
    validate::name("name", name)?;
    project.map_or(Ok(()), validate::project_name)?;
    validate::json_value("body", body)
}
