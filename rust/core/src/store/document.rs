//! Documents: JSON with a version, written several at a time or not at all. Plans and loops are made of them.
//!
//! Each change names the version that its writer has read. If one of them is another by now, nothing is written: the
//! writer has lost a race, or its lease.

use rusqlite::{Connection, OptionalExtension, Row};

use super::WriteTx;
use crate::error::{Error, Result};

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its kind, for example `plan`.
    pub kind: String,
    /// Its name, unique in its kind.
    pub name: String,
    /// Its project, if it has one.
    pub project: Option<String>,
    /// 1 when it is created, and one more with each change.
    pub version: i64,
    /// When it was created.
    pub created_at: i64,
    /// When it was last changed.
    pub updated_at: i64,
    /// JSON; empty if it is damaged so that it is no text.
    pub body: String,
}

/// The effect of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Write a body; create the document if the expected version is 0.
    Put(String),
    /// Only require the expected version.
    Require,
    /// Delete the document.
    Delete,
}

/// A change of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Kind of the document.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its project; only a new document takes it.
    pub project: Option<String>,
    /// The version that the writer has read; 0 if there was no document.
    pub expected: i64,
    /// The change to make.
    pub action: Action,
}

const SELECT: &str = "SELECT d.kind, d.name, p.name, d.version, d.created_at, d.updated_at, d.body FROM document d \
     LEFT JOIN project p ON p.id = d.project";

fn from_row(row: &Row<'_>) -> rusqlite::Result<Document> {
    Ok(Document {
        kind: row.get(0)?,
        name: row.get(1)?,
        project: row.get(2)?,
        version: row.get(3)?,
        created_at: row.get(4)?,
        updated_at: row.get(5)?,
        // An error would hide all other documents of its kind. The reader of an empty text reports the damage.
        body: row.get_ref(6)?.as_str().unwrap_or_default().to_owned(),
    })
}

/// A document.
pub fn get(connection: &Connection, kind: &str, name: &str) -> Result<Option<Document>> {
    let sql = format!("{SELECT} WHERE d.kind = ?1 AND d.name = ?2");
    Ok(connection.prepare_cached(&sql)?.query_row((kind, name), from_row).optional()?)
}

/// Documents of a kind whose name starts with `prefix`, ordered by name; of one project, or of all.
pub fn list(connection: &Connection, kind: &str, prefix: &str, project: Option<i64>) -> Result<Vec<Document>> {
    let sql = format!(
        "{SELECT} WHERE d.kind = ?1 AND d.name >= ?2 AND substr(d.name, 1, length(?2)) = ?2 \
         AND (?3 IS NULL OR d.project = ?3) ORDER BY d.name"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map((kind, prefix, project), from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Documents of all kinds, ordered by kind and name.
pub fn page(connection: &Connection, offset: usize, limit: usize) -> Result<Vec<Document>> {
    let sql = format!("{SELECT} ORDER BY d.kind, d.name LIMIT ?1 OFFSET ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map((limit as i64, offset as i64), from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl WriteTx<'_> {
    /// Add a document of an export with its times, unless there is one of its name; returns how many were added.
    pub fn restore_document(&self, document: &Document) -> Result<usize> {
        let project = self.project_named(document.project.as_deref())?;
        let Document { kind, name, created_at, updated_at, body, .. } = document;
        Ok(self
            .prepare_cached(
                "INSERT INTO document(kind, name, project, version, created_at, updated_at, body) \
                 VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
            )?
            .execute((kind, name, project, created_at, updated_at, body))?)
    }

    /// Apply changes; returns the new version of each document, 0 for a deleted one.
    ///
    /// # Errors
    /// [`Error::Conflict`] if a document has another version than its change expects. Then nothing is written.
    pub fn write_documents(&self, changes: &[Change]) -> Result<Vec<i64>> {
        changes.iter().map(|change| self.write_document(change)).collect()
    }

    fn write_document(&self, change: &Change) -> Result<i64> {
        let Change { kind, name, expected, .. } = change;
        let found: i64 = self
            .prepare_cached("SELECT version FROM document WHERE kind = ?1 AND name = ?2")?
            .query_row((kind, name), |row| row.get(0))
            .optional()?
            .unwrap_or(0);
        if found != *expected {
            return Err(Error::Conflict(match found {
                0 => format!("the {kind} {name:?} does not exist any more"),
                _ if *expected == 0 => format!("there is already a {kind} {name:?}"),
                _ => format!("the {kind} {name:?} was changed meanwhile"),
            }));
        }
        match &change.action {
            Action::Require => Ok(found),
            Action::Delete => {
                self.prepare_cached("DELETE FROM document WHERE kind = ?1 AND name = ?2")?.execute((kind, name))?;
                Ok(0)
            }
            Action::Put(body) if found == 0 => {
                let project = self.project_named(change.project.as_deref())?;
                self.prepare_cached(
                    "INSERT INTO document(kind, name, project, version, created_at, updated_at, body) \
                     VALUES (?1, ?2, ?3, 1, ?4, ?4, ?5)",
                )?
                .execute((kind, name, project, self.now_ms, body))?;
                Ok(1)
            }
            Action::Put(body) => {
                self.prepare_cached(
                    "UPDATE document SET version = ?3, updated_at = ?4, body = ?5 WHERE kind = ?1 AND name = ?2",
                )?
                .execute((kind, name, found + 1, self.now_ms, body))?;
                Ok(found + 1)
            }
        }
    }
}
