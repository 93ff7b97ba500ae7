//! Operations: changes that were made together, as people see them in a log.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};

use super::history;
use crate::error::Result;
use crate::model::Trust;
use crate::model::report::Operation;

/// Changes of an operation that a caller gets.
const SHOWN: usize = 10;

/// Whether a change concerns the project ?2, or every project if that is NULL: the memory is of the project, or global,
/// before the change or after it. The latter is the state before its next change, or the present one. The past that an
/// import brought is recorded after the import, but lies before it. Damaged versions are of no project.
///
/// `SQLite` decides it, because most changes of a large store are of other projects, and reading their memories takes long.
const CONCERNS: &str = "(?2 IS NULL \
     OR CASE WHEN json_valid(before) THEN ifnull(before ->> '$.project', ?2) = ?2 ELSE 0 END \
     OR coalesce(\
         (SELECT CASE WHEN json_valid(next.before) THEN ifnull(next.before ->> '$.project', ?2) = ?2 ELSE 0 END \
          FROM history next WHERE next.memory = history.memory AND next.seq > history.seq \
          AND (next.operation > 0 OR history.operation < 0) ORDER BY next.seq LIMIT 1), \
         EXISTS (SELECT 1 FROM memory WHERE id = history.memory AND (project = 0 \
             OR project = (SELECT project.id FROM project WHERE project.name = ?2)))))";

/// A selection of operations.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// A project; operations on global memories are included. `None` means every project.
    pub project: Option<String>,
    /// A writer; `None` means every writer. What the program did by itself in a process of the writer is not wanted.
    pub actor: Option<Trust>,
    /// Whether what the program did by itself is left out, also if every writer is wanted.
    pub without_upkeep: bool,
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
    // A redo finds upkeep that the user has undone.
    let others = if wanted.undone == Some(true) { history::IS_COMPARISON } else { history::IS_UPKEEP };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT operation FROM history WHERE operation > 0 AND operation < ?1 AND kind NOT IN ('undo', 'redo') {state} \
         AND (?2 IS NULL OR actor = ?2) AND (?2 IS NULL AND NOT ?3 OR NOT {others}) GROUP BY operation ORDER BY {order} DESC"
    ))?;
    let before = wanted.before.unwrap_or(i64::MAX);
    let mut rows = statement.query((before, wanted.actor.map(|actor| actor as u8), wanted.without_upkeep))?;
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        found.extend(read(connection, row.get(0)?, wanted.project.as_deref())?);
    }
    Ok(found)
}

/// An operation by its number, with those of its changes that concern the project; `None` if there are none.
pub fn read(connection: &Connection, operation: i64, project: Option<&str>) -> Result<Option<Operation>> {
    let tail = format!("WHERE operation = ?1 AND {CONCERNS} ORDER BY seq LIMIT {SHOWN}");
    let shown = history::collect(connection, &tail, (operation, project))?;
    let Some(first) = shown.first() else { return Ok(None) };
    let (at, actor) = (first.at, first.actor);
    let changes = shown.into_iter().map(|row| history::with_after(connection, row)).collect::<Result<_>>()?;
    let kinds = count_kinds(connection, operation, project)?;
    let left = connection
        .prepare_cached(
            "SELECT count(*) FROM history WHERE operation = ?1 AND undone_by IS NULL AND kind NOT IN ('undo', 'redo')",
        )?
        .query_row([operation], |row| row.get::<_, i64>(0))?;
    Ok(Some(Operation { operation, at, actor, kinds, left: left.unsigned_abs() as usize, changes }))
}

/// The number of changes of each kind in an operation, the most frequent first. An undo takes back all of them, so the
/// changes of other projects count as well, but without the reason that their writer gave.
fn count_kinds(connection: &Connection, operation: i64, project: Option<&str>) -> Result<Vec<(String, usize)>> {
    let mut statement =
        connection.prepare_cached("SELECT kind, count(*) FROM history WHERE operation = ?1 GROUP BY kind")?;
    let rows =
        statement.query_map([operation], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs() as usize)))?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let (kind, count): (String, usize) = row?;
        let shown = match kind.split_once(':') {
            Some((plain, _)) if !is_shown(connection, operation, project, &kind)? => plain.to_owned(),
            _ => kind,
        };
        *counts.entry(shown).or_default() += count;
    }
    let mut kinds: Vec<(String, usize)> = counts.into_iter().collect();
    kinds.sort_by_key(|(_, count)| Reverse(*count));
    Ok(kinds)
}

/// Whether a change of this kind in an operation concerns the project.
fn is_shown(connection: &Connection, operation: i64, project: Option<&str>, kind: &str) -> Result<bool> {
    let sql = format!("SELECT 1 FROM history WHERE operation = ?1 AND kind = ?3 AND {CONCERNS} LIMIT 1");
    Ok(connection.prepare_cached(&sql)?.query_row((operation, project, kind), |_| Ok(())).optional()?.is_some())
}
