//! Operations: changes that were made together, as people see them in a log.

use rusqlite::{Connection, OptionalExtension};

use super::history;
use crate::error::Result;
use crate::model::Trust;
use crate::model::report::Operation;

/// Changes of an operation that are read to find its projects and to show it.
const SAMPLE: usize = 50;
/// Changes of an operation that a caller gets.
const SHOWN: usize = 10;

/// Which operations are wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// A project; operations on global memories are included. `None` means every project.
    pub project: Option<String>,
    /// A writer; `None` means every writer.
    pub actor: Option<Trust>,
    /// Whether operations that were taken back are wanted (`true`), or the others (`false`); `None` means all.
    pub undone: Option<bool>,
    /// Only operations with a lower number, for pages.
    pub before: Option<i64>,
}

/// At most `limit` operations, the newest first. Those that were taken back are in the order in which that happened, if
/// only they are wanted. Restored history of an import is left out.
pub fn list(connection: &Connection, wanted: &Wanted, limit: usize) -> Result<Vec<Operation>> {
    let state = match wanted.undone {
        Some(true) => "AND undone_by IS NOT NULL",
        Some(false) => "AND undone_by IS NULL",
        None => "",
    };
    let order = if wanted.undone == Some(true) { "max(undone_by)" } else { "operation" };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT operation FROM history WHERE operation > 0 AND operation < ?1 AND kind NOT IN ('undo', 'redo') {state} \
         AND (?2 IS NULL OR actor = ?2) GROUP BY operation ORDER BY {order} DESC"
    ))?;
    let before = wanted.before.unwrap_or(i64::MAX);
    let mut rows = statement.query((before, wanted.actor.map(|actor| actor as u8)))?;
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        found.extend(read(connection, row.get(0)?, wanted.project.as_deref())?);
    }
    Ok(found)
}

/// An operation by its number; `None` if there is none, or if it concerns another project.
pub fn read(connection: &Connection, operation: i64, project: Option<&str>) -> Result<Option<Operation>> {
    let sample =
        history::collect(connection, &format!("WHERE operation = ?1 ORDER BY seq LIMIT {SAMPLE}"), [operation])?;
    let Some(first) = sample.first() else { return Ok(None) };
    let (at, actor) = (first.at, first.actor);
    let mut changes = Vec::new();
    let mut concerns = project.is_none();
    for row in sample {
        let change = history::with_after(connection, row)?;
        let places = [&change.before, &change.after].into_iter().flatten().map(|memory| memory.project.as_deref());
        concerns |= places.into_iter().any(|place| place.is_none() || place == project);
        changes.push(change);
    }
    if !concerns {
        return Ok(None);
    }
    changes.truncate(SHOWN);
    let mut statement = connection.prepare_cached(
        "SELECT kind, count(*) FROM history WHERE operation = ?1 GROUP BY kind ORDER BY count(*) DESC, kind",
    )?;
    let kinds = statement
        .query_map([operation], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs() as usize)))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let undone = connection
        .prepare_cached("SELECT 1 FROM history WHERE operation = ?1 AND undone_by IS NULL LIMIT 1")?
        .query_row([operation], |_| Ok(()))
        .optional()?
        .is_none();
    Ok(Some(Operation { operation, at, actor, kinds, undone, changes }))
}
