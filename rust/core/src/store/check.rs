//! Integrity checks of the store: `SQLite`'s own check, and rules between its tables.

use std::path::Path;

use rusqlite::Connection;

use super::interrupt::interruptible;
use super::{Store, columns, connection};
use crate::control::Control;
use crate::error::Result;
use crate::model::{Category, Status, Trust};
use crate::text;

/// All problems of the store, as text; empty if there are none.
pub fn problems(connection: &Connection, control: &Control<'_>) -> Result<Vec<String>> {
    interruptible(connection, control, || find_problems(connection))
}

/// The first damage that `pragma`, a check of the pages of `file`, finds; `None` if there is none.
pub fn first_damage(
    connection: &Connection,
    pragma: &str,
    file: &Path,
    control: &Control<'_>,
) -> Result<Option<String>> {
    let said: String = interruptible(connection, control, || {
        connection
            .query_row(&format!("PRAGMA {pragma}(1)"), [], |row| row.get(0))
            .map_err(|error| connection::describe("check", file, error))
    })?;
    Ok((said != "ok").then_some(said))
}

impl Store {
    /// Rebuild `SQLite`'s own indexes from the rows, all of them or, if it fails, none.
    pub fn reindex(&self, control: &Control<'_>) -> Result<()> {
        self.exclusively(|connection| interruptible(connection, control, || Ok(connection.execute_batch("REINDEX")?)))
    }
}

fn find_problems(connection: &Connection) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut statement = connection.prepare("PRAGMA integrity_check(20)")?;
    let said: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    found.extend(said.into_iter().filter(|line| line != "ok").map(|line| format!("SQLite: {line}")));
    if !found.is_empty() {
        return Ok(found); // further checks would only repeat it
    }
    for (sql, what) in [
        (
            "SELECT count(*) FROM memory WHERE project <> 0 AND project NOT IN (SELECT id FROM project)",
            "memories belong to a project that does not exist",
        ),
        (
            "SELECT count(*) FROM chunk WHERE memory NOT IN (SELECT key FROM memory)",
            "chunks belong to a text that does not exist",
        ),
        (
            "SELECT count(*) FROM chunk WHERE embedding NOT IN (SELECT key FROM embedding)",
            "chunks have lost their vector",
        ),
        (
            "SELECT count(*) FROM memory m WHERE embedded_by <> 0 AND NOT EXISTS (SELECT 1 FROM chunk WHERE memory = m.key AND ordinal >= 0)",
            "memories are marked as embedded but have no vectors",
        ),
        (
            "SELECT count(*) FROM embedding e JOIN model m ON m.id = e.model WHERE length(e.vector) <> 2 * m.dimension",
            "vectors have the wrong length",
        ),
        (
            "SELECT count(*) FROM memory WHERE key > (SELECT seq FROM sqlite_sequence WHERE name = 'memory')",
            "keys lie beyond the highest that was given out",
        ),
        (
            "SELECT count(*) FROM memory WHERE status = 2 AND superseded_by IS NULL",
            "memories are superseded by nothing",
        ),
        (
            "SELECT count(*) FROM memory WHERE NOT (json_valid(metadata) AND json_valid(source) AND json_valid(entities) \
             AND json_valid(tags))",
            "memories have metadata, labels or a source that cannot be read",
        ),
        ("SELECT count(*) FROM history WHERE NOT json_valid(before)", "versions in the history cannot be read"),
        (
            "SELECT count(*) FROM injection WHERE NOT json_valid(about) \
             OR state NOT IN ('offered', 'shown', 'nothing', 'late', 'erased')",
            "decisions of the ledger cannot be read",
        ),
        (
            "SELECT count(*) FROM injected d WHERE NOT EXISTS \
             (SELECT 1 FROM injection i WHERE i.session = d.session AND i.message = d.message)",
            "memories are noted as shown by a decision that does not exist",
        ),
        (
            "SELECT count(*) FROM injected WHERE outcome NOT IN ('used', 'contradicted')",
            "memories of the ledger have an unknown outcome",
        ),
        ("SELECT count(*) FROM kv WHERE NOT json_valid(value)", "values of the key-value store cannot be read"),
    ] {
        let number: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        if number > 0 {
            found.push(format!("{number} {what}"));
        }
    }
    found.extend(unreadable_documents(connection)?);
    found.extend(unreadable(connection)?);
    Ok(found)
}

/// Documents of plans and loops that are no JSON.
fn unreadable_documents(connection: &Connection) -> Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT kind, name FROM document WHERE NOT json_valid(body)")?;
    let rows = statement.query_map([], |row| {
        let (kind, name): (String, String) = (row.get(0)?, row.get(1)?);
        Ok(format!("the {kind} {name} cannot be read; `opencode-memory doctor` says what helps"))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Rows with invalid enums or hashes.
fn unreadable(connection: &Connection) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut writers = connection.prepare("SELECT actor, count(*) FROM history GROUP BY actor")?;
    let mut rows = writers.query([])?;
    while let Some(row) = rows.next()? {
        let (actor, changes): (i64, i64) = (row.get(0)?, row.get(1)?);
        if Trust::from_number(actor).is_none() {
            found.push(format!("{changes} changes in the history have the unknown writer {actor}"));
        }
    }
    let mut statement = connection.prepare("SELECT id, category, status, trust, content_hash, content FROM memory")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let (category, status, trust): (i64, i64, i64) = (row.get(1)?, row.get(2)?, row.get(3)?);
        for (name, number, is_known) in [
            ("category", category, Category::from_number(category).is_some()),
            ("status", status, Status::from_number(status).is_some()),
            ("trust", trust, Trust::from_number(trust).is_some()),
        ] {
            if !is_known {
                found.push(format!("memory {id} has the unknown {name} {number}"));
            }
        }
        let hash: Vec<u8> = row.get(4)?;
        let content = columns::read_damaged_too(row, 5)?;
        if hash != text::content_hash(&content).to_be_bytes() {
            found.push(format!("the text of memory {id} is not the one that was written (its hash differs)"));
        }
    }
    Ok(found)
}
