//! The history of changes, from which undo and "as of" are computed.
//!
//! A row keeps the memory as it was *before* the change. The state after it is the next row's before, or the current row.

use rusqlite::{Connection, OptionalExtension, Row};
use rustc_hash::FxHashSet;

use super::{WriteTx, memory};
use crate::error::{Error, Result};
use crate::model::report::HistoryEntry;
use crate::model::{Memory, Status, Trust};

/// One row.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Its place in the order of all changes.
    pub seq: i64,
    /// Changes made together share it.
    pub operation: i64,
    /// The memory.
    pub id: String,
    /// When.
    pub at: i64,
    /// The kind of change.
    pub kind: String,
    /// The writer.
    pub actor: Trust,
    /// The operation that took it back.
    pub undone_by: Option<i64>,
    /// The memory before the change; `None` if the change created it.
    pub before: Option<Memory>,
}

/// Text and source of one version of a memory.
#[derive(Debug, Clone)]
pub struct Said {
    /// Its text.
    pub content: Option<String>,
    /// Its session, and that of its source.
    pub sessions: [Option<String>; 2],
    /// The message of its source.
    pub message: Option<String>,
}

/// An import notes that it created a memory, so that it can be undone. Where it brought the memory's past too, that tells
/// how the memory came to be, and the note is no part of it.
const IS_NOTE: &str = "kind = 'create' AND operation > 0 \
     AND EXISTS (SELECT 1 FROM history past WHERE past.memory = history.memory AND past.operation < 0)";

/// Changes that take back others, or bring them back.
const IS_TURN: &str = "kind IN ('undo', 'redo')";

/// The kind of a change by which the program puts memories away by itself; a reason follows it.
pub const UPKEEP: &str = "upkeep";

/// Changes by a comparison of vectors, whose operations only supersede. An operation of the user also records the
/// statement that replaces others. If the history of that one was purged, the author of the change is unknown.
macro_rules! is_comparison {
    () => {
        "(kind = 'supersede' AND operation > 0 AND NOT EXISTS (\
             SELECT 1 FROM history other WHERE other.operation = history.operation AND other.kind <> 'supersede') \
         AND NOT EXISTS (SELECT 1 FROM memory past WHERE past.id = history.memory AND past.superseded_by IS NOT NULL \
             AND NOT EXISTS (SELECT 1 FROM history known WHERE known.memory = past.superseded_by)))"
    };
}
pub(super) const IS_COMPARISON: &str = is_comparison!();

/// Changes that the program made by itself: ageing, removal of duplicates, and comparison of vectors. Otherwise they
/// would stop the undo of what people did before. Earlier versions archived old memories with the two reasons.
pub(super) const IS_UPKEEP: &str = concat!(
    "(kind LIKE 'upkeep:%' \
     OR kind IN ('archive: older than 180 days', 'archive: resolved more than 90 days ago') OR ",
    is_comparison!(),
    ")"
);

pub(super) const SELECT: &str = "SELECT seq, operation, memory, at, kind, actor, undone_by, before FROM history";

/// Columns as they are stored, before numbers and JSON are read.
type Columns = (i64, i64, String, i64, String, i64, Option<i64>, Option<String>);

fn from_row(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?))
}

fn parse_row((seq, operation, id, at, kind, actor, undone_by, before): Columns) -> Result<Recorded> {
    let damaged = |what: String| Error::CorruptStore {
        path: std::path::PathBuf::new(),
        message: format!("the history of {id} contains {what}; run `opencode-memory verify` for details"),
    };
    let actor = Trust::from_number(actor).ok_or_else(|| damaged(format!("an unknown actor {actor}")))?;
    let before = before
        .map(|json| serde_json::from_str(&json))
        .transpose()
        .map_err(|error| damaged(format!("an unreadable version ({error})")))?;
    Ok(Recorded { seq, operation, id, at, kind, actor, undone_by, before })
}

pub(super) fn collect(connection: &Connection, tail: &str, params: impl rusqlite::Params) -> Result<Vec<Recorded>> {
    let mut statement = connection.prepare_cached(&format!("{SELECT} {tail}"))?;
    let rows = statement.query_map(params, from_row)?;
    rows.map(|row| parse_row(row?)).collect()
}

impl WriteTx<'_> {
    /// Record that `id` is about to change from `before`.
    pub fn record(&self, id: &str, kind: &str, before: Option<&Memory>) -> Result<i64> {
        let json = before
            .map(serde_json::to_string)
            .transpose()
            .map_err(|error| Error::invalid("memory", format!("cannot be written as JSON: {error}")))?;
        self.prepare_cached(
            "INSERT INTO history(operation, memory, at, kind, actor, before) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((self.operation.get().unwrap_or(0), id, self.now_ms, kind, self.actor as u8, json))?;
        let seq = self.last_insert_rowid();
        if self.operation.get().is_none() {
            // The first change names the operation that the transaction's other changes belong to.
            self.operation.set(Some(seq));
            self.prepare_cached("UPDATE history SET operation = ?1 WHERE seq = ?1")?.execute([seq])?;
        }
        Ok(seq)
    }

    /// Record that a memory was said again, unless this operation has recorded a change of it.
    pub fn record_repetition(&self, repeated: &Memory) -> Result<()> {
        let is_recorded: bool = self
            .prepare_cached("SELECT EXISTS(SELECT 1 FROM history WHERE memory = ?1 AND operation = ?2)")?
            .query_row((&repeated.id, self.operation.get()), |row| row.get(0))?;
        if !is_recorded {
            self.record(&repeated.id, "merge", Some(repeated))?;
        }
        Ok(())
    }

    /// Mark the change that `undo` took back as done again.
    pub fn mark_redone(&self, undo: &Recorded) -> Result<()> {
        // By its memory, which has an index. Otherwise each change of a large operation would read the whole history.
        self.prepare_cached("UPDATE history SET undone_by = NULL WHERE memory = ?1 AND undone_by = ?2")?
            .execute((&undo.id, undo.seq))?;
        Ok(())
    }

    /// Mark a change as taken back by the change `by`.
    pub fn mark_undone(&self, seq: i64, by: i64) -> Result<()> {
        self.prepare_cached("UPDATE history SET undone_by = ?2 WHERE seq = ?1")?.execute((seq, by))?;
        Ok(())
    }
}

/// The changes of the last operation that was not taken back and that the program did not make by itself, newest first.
pub fn last_operation(connection: &Connection) -> Result<Vec<Recorded>> {
    let operation: Option<i64> = connection
        .query_row(
            // Operations that an import brought have negative numbers: they are the past of another store.
            &format!(
                "SELECT operation FROM history WHERE undone_by IS NULL AND NOT {IS_TURN} AND operation > 0 \
                 AND NOT {IS_UPKEEP} ORDER BY seq DESC LIMIT 1"
            ),
            [],
            |row| row.get(0),
        )
        .optional()?;
    operation.map_or_else(|| Ok(Vec::new()), |operation| of_operation(connection, operation))
}

/// The changes of an operation that were not taken back, newest first.
pub fn of_operation(connection: &Connection, operation: i64) -> Result<Vec<Recorded>> {
    let tail = format!("WHERE operation = ?1 AND undone_by IS NULL AND NOT {IS_TURN} ORDER BY seq DESC");
    collect(connection, &tail, [operation])
}

/// The changes by which the last undo took an operation back, newest first. A redo turns them.
///
/// They include the changes that brought back memories which the operation had replaced. What was undone on its own
/// before the last undo is not among them, so it stays undone. If an id is given, the last undo is that of this memory.
pub fn undos_of(connection: &Connection, operation: i64, id: Option<&str>) -> Result<Vec<Recorded>> {
    let own = "WHERE kind = 'undo' AND undone_by IS NULL \
               AND seq IN (SELECT undone_by FROM history WHERE operation = ?1)";
    let mut found = collect(connection, own, [operation])?;
    let brought_back = "WHERE kind = 'undo' AND undone_by IS NULL AND operation IN (\
             SELECT operation FROM history WHERE seq IN (\
                 SELECT undone_by FROM history WHERE operation = ?1 AND before IS NULL)) \
         AND CASE WHEN json_valid(before) THEN before ->> '$.superseded_by' IN (\
                 SELECT memory FROM history WHERE operation = ?1 AND before IS NULL) ELSE 0 END";
    let known: FxHashSet<i64> = found.iter().map(|undo| undo.seq).collect();
    found.extend(collect(connection, brought_back, [operation])?.into_iter().filter(|undo| !known.contains(&undo.seq)));
    found.sort_by_key(|undo| std::cmp::Reverse(undo.seq));
    let last = found.iter().find(|undo| id.is_none_or(|id| undo.id == id)).map(|undo| undo.operation);
    found.retain(|undo| Some(undo.operation) == last);
    Ok(found)
}

/// Whether a memory was changed after a change, except by the program itself. An undo that was redone since leaves no
/// change.
pub fn has_later(connection: &Connection, change: &Recorded) -> Result<bool> {
    let sql = format!(
        "SELECT EXISTS(SELECT 1 FROM history WHERE memory = ?1 AND seq > ?2 \
         AND undone_by IS NULL AND kind <> 'redo' AND NOT {IS_UPKEEP})"
    );
    Ok(connection.prepare_cached(&sql)?.query_row((&change.id, change.seq), |row| row.get(0))?)
}

/// Texts and sources of the versions of a memory before its changes, without damaged versions.
pub fn said(connection: &Connection, id: &str) -> Result<Vec<Said>> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT before ->> '$.content', before ->> '$.session', before ->> '$.source.session', \
         before ->> '$.source.message' FROM history WHERE memory = ?1 AND json_valid(before)",
    )?;
    let rows = statement.query_map([id], |row| {
        let sessions = [row.get::<_, Option<String>>(1)?, row.get(2)?];
        Ok(Said { content: row.get::<_, Option<String>>(0)?, sessions, message: row.get(3)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether a memory was active before, with the same text and category.
///
/// The state that an undo took back does not count. Damaged versions are left out.
pub fn was_active(connection: &Connection, memory: &Memory) -> Result<bool> {
    let sql = "SELECT EXISTS(SELECT 1 FROM history WHERE memory = ?1 AND kind <> 'undo' AND json_valid(before) \
               AND before ->> '$.status' = ?2 AND before ->> '$.category' = ?3 AND before ->> '$.content' = ?4)";
    let values = (&memory.id, Status::Active.as_str(), memory.category.as_str(), &memory.content);
    Ok(connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
}

/// Whether a memory was a candidate before.
pub fn has_waited(connection: &Connection, id: &str) -> Result<bool> {
    let sql = "SELECT EXISTS(SELECT 1 FROM history WHERE memory = ?1 AND json_valid(before) \
               AND before ->> '$.status' = ?2)";
    Ok(connection.prepare_cached(sql)?.query_row((id, Status::Candidate.as_str()), |row| row.get(0))?)
}

/// The last change of one memory that was not taken back.
pub fn last_of(connection: &Connection, id: &str) -> Result<Option<Recorded>> {
    let tail = format!("WHERE memory = ?1 AND undone_by IS NULL AND NOT {IS_TURN} ORDER BY seq DESC LIMIT 1");
    Ok(collect(connection, &tail, [id])?.into_iter().next())
}

/// The last change of one memory that was not taken back and that the program did not make by itself.
pub fn last_but_upkeep(connection: &Connection, id: &str) -> Result<Option<Recorded>> {
    let tail = format!(
        "WHERE memory = ?1 AND undone_by IS NULL AND NOT {IS_TURN} AND NOT {IS_UPKEEP} ORDER BY seq DESC LIMIT 1"
    );
    Ok(collect(connection, &tail, [id])?.into_iter().next())
}

/// Whether the program made a change by itself.
pub fn is_upkeep(connection: &Connection, change: &Recorded) -> Result<bool> {
    let sql = format!("SELECT EXISTS(SELECT 1 FROM history WHERE seq = ?1 AND {IS_UPKEEP})");
    Ok(connection.prepare_cached(&sql)?.query_row([change.seq], |row| row.get(0))?)
}

/// The changes that the program made to a memory by itself after a change, newest first, without those taken back.
pub fn upkeep_after(connection: &Connection, change: &Recorded) -> Result<Vec<Recorded>> {
    let tail = format!(
        "WHERE memory = ?1 AND seq > ?2 AND undone_by IS NULL AND operation > 0 AND {IS_UPKEEP} ORDER BY seq DESC"
    );
    collect(connection, &tail, (&change.id, change.seq))
}

/// The next change of a memory after a change, if any, without undone changes, the undo itself, and what the program did
/// by itself.
pub fn changed_after(connection: &Connection, change: &Recorded) -> Result<Option<String>> {
    // The past that an import brought is recorded after the import, but lies before it.
    Ok(connection
        .prepare_cached(&format!(
            "SELECT kind FROM history WHERE memory = ?1 AND seq > ?2 AND undone_by IS NULL AND NOT {IS_TURN} \
             AND NOT {IS_UPKEEP} AND (operation > 0 OR ?3 < 0) ORDER BY seq LIMIT 1"
        ))?
        .query_row((&change.id, change.seq, change.operation), |row| row.get(0))
        .optional()?)
}

/// A change together with the memory after it.
pub(super) fn with_after(connection: &Connection, row: Recorded) -> Result<HistoryEntry> {
    // The past that an import brought is recorded after the import, but lies before it. Its first row would say that the
    // memory did not exist after the import.
    let next = collect(
        connection,
        "WHERE memory = ?1 AND seq > ?2 AND (operation > 0 OR ?3 < 0) ORDER BY seq LIMIT 1",
        (&row.id, row.seq, row.operation),
    )?;
    let after = match next.into_iter().next() {
        Some(next) => next.before,
        None => memory::by_id(connection, &row.id)?,
    };
    let undone = row.undone_by.is_some();
    let Recorded { operation, id, at, kind, actor, before, .. } = row;
    Ok(HistoryEntry { operation, id, at, kind, actor, undone, before, after })
}

/// All changes of a memory, oldest first.
pub fn of(connection: &Connection, id: &str) -> Result<Vec<HistoryEntry>> {
    let rows = collect(connection, &format!("WHERE memory = ?1 AND NOT ({IS_NOTE}) ORDER BY seq"), [id])?;
    let present = memory::by_id(connection, id)?;
    let mut entries = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let after = match rows.get(at + 1) {
            Some(next) => next.before.clone(),
            None => present.clone(),
        };
        entries.push(HistoryEntry {
            operation: row.operation,
            id: row.id.clone(),
            at: row.at,
            kind: row.kind.clone(),
            actor: row.actor,
            undone: row.undone_by.is_some(),
            before: row.before.clone(),
            after,
        });
    }
    Ok(entries)
}

/// The memories that were changed after `at`, as they were then: the first change after `at` holds them.
pub fn states_before_changes_after(connection: &Connection, at: i64) -> Result<Vec<(String, Option<Memory>)>> {
    let first = format!("SELECT min(seq) FROM history WHERE at > ?1 AND NOT ({IS_NOTE}) GROUP BY memory");
    let rows = collect(connection, &format!("WHERE seq IN ({first})"), [at])?;
    Ok(rows.into_iter().map(|row| (row.id, row.before)).collect())
}

/// At most `limit` rows after `seq`, in order, for exports.
pub fn page(connection: &Connection, after_seq: i64, limit: usize) -> Result<Vec<Recorded>> {
    let tail = format!("WHERE seq > ?1 AND NOT ({IS_NOTE}) ORDER BY seq LIMIT ?2");
    collect(connection, &tail, (after_seq, limit as i64))
}

/// Put back rows of an export for memories that have no history of their own here but the import's note. Restored
/// operations have negative numbers.
pub fn restore_rows(write: &WriteTx<'_>, rows: &[Recorded]) -> Result<usize> {
    let mut added = 0;
    let mut insert = write.prepare_cached(
        "INSERT INTO history(operation, memory, at, kind, actor, undone_by, before) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 \
         WHERE NOT EXISTS (SELECT 1 FROM history WHERE memory = ?2 AND at = ?3 AND kind = ?4 AND operation IN (?1, -?1)) \
         AND NOT EXISTS (SELECT 1 FROM history WHERE memory = ?2 AND operation > 0 AND (kind <> 'create' OR undone_by IS NOT NULL))",
    )?;
    for row in rows {
        let json = row
            .before
            .as_ref()
            .map(serde_json::to_string)
            .transpose()
            .map_err(|error| Error::invalid("history", format!("cannot be written as JSON: {error}")))?;
        let operation = -row.operation.abs();
        let undone_by = row.undone_by.map(|by| -by.abs());
        added += insert.execute((operation, &row.id, row.at, &row.kind, row.actor as u8, undone_by, json))?;
    }
    Ok(added)
}

/// Delete the versions of memories that were deleted before `before_ms`.
pub fn forget_deleted(write: &WriteTx<'_>, before_ms: i64) -> Result<usize> {
    Ok(write.execute(
        "DELETE FROM history WHERE memory NOT IN (SELECT id FROM memory) \
         AND memory IN (SELECT memory FROM history GROUP BY memory HAVING max(at) < ?1)",
        [before_ms],
    )?)
}

/// Ids in the history that start or end with `part`; at most two.
pub fn ids_like(connection: &Connection, part: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT memory FROM history WHERE substr(memory, 1, length(?1)) = ?1 OR substr(memory, -length(?1)) = ?1 LIMIT 2",
    )?;
    let rows = statement.query_map([part], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
