//! Rows of the table `memory`: read, insert, replace, remove. Every change is logged in the same transaction.

use rusqlite::{Connection, OptionalExtension, Row};
use rustc_hash::FxHashSet;

use super::WriteTx;
use super::change::Op;
use super::columns::{self, SELECT, from_row};
use crate::error::{Error, Result};
use crate::model::Memory;
use crate::text::Traits;

/// The memory with this key.
pub fn by_key(connection: &Connection, key: i64) -> Result<Option<Memory>> {
    Ok(connection.prepare_cached(&format!("{SELECT} WHERE m.key = ?1"))?.query_row([key], from_row).optional()?)
}

/// The memory with this full id.
pub fn by_id(connection: &Connection, id: &str) -> Result<Option<Memory>> {
    Ok(connection.prepare_cached(&format!("{SELECT} WHERE m.id = ?1"))?.query_row([id], from_row).optional()?)
}

/// The memory with this full id, or a not-found error.
pub fn existing(connection: &Connection, id: &str) -> Result<Memory> {
    by_id(connection, id)?.ok_or_else(|| Error::not_found("memory", id))
}

/// Memories in order of their keys, after `key`, at most `limit`.
pub fn page(connection: &Connection, after_key: i64, limit: usize) -> Result<Vec<Memory>> {
    let mut statement = connection.prepare_cached(&format!("{SELECT} WHERE m.key > ?1 ORDER BY m.key LIMIT ?2"))?;
    let rows = statement.query_map((after_key, limit as i64), from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The active memory that holds `topic` in a scope, expired or not.
pub fn by_topic(connection: &Connection, project_id: i64, topic: &str) -> Result<Option<Memory>> {
    let sql = format!("{SELECT} WHERE m.project = ?1 AND m.topic = ?2 AND m.status = 0");
    Ok(connection.prepare_cached(&sql)?.query_row((project_id, topic), from_row).optional()?)
}

/// Memories of a scope with the same normalised text, active ones and candidates. If a topic is given, only those with
/// it. `place` is the position in a conversation and its session; without it, only memories without a position.
pub fn by_text(
    connection: &Connection,
    project_id: i64,
    hash: u128,
    topic: Option<&str>,
    place: Option<(i64, Option<&str>)>,
) -> Result<Vec<Memory>> {
    let sql = format!(
        "{SELECT} WHERE m.content_hash = ?1 AND m.project = ?2 AND m.status IN (0, 1) AND (?3 IS NULL OR m.topic = ?3) \
         AND m.position IS ?4 AND (?4 IS NULL OR m.session IS ?5) ORDER BY m.status, m.key"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let (position, session) = place.map_or((None, None), |(position, session)| (Some(position), session));
    let rows = statement.query_map((hash.to_be_bytes(), project_id, topic, position, session), from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The topics of the memories that `by_text` finds.
pub fn topics_of_text(connection: &Connection, project_id: i64, hash: u128) -> Result<FxHashSet<String>> {
    let mut statement = connection.prepare_cached(
        "SELECT topic FROM memory WHERE content_hash = ?1 AND project = ?2 AND status IN (0, 1) AND topic IS NOT NULL",
    )?;
    let rows = statement.query_map((hash.to_be_bytes(), project_id), |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// At most two ids that start or end with `part`, so that callers can detect an ambiguous part.
pub fn ids_like(connection: &Connection, part: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM memory WHERE substr(id, 1, length(?1)) = ?1 OR substr(id, -length(?1)) = ?1 LIMIT 2",
    )?;
    let rows = statement.query_map([part], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Active memories whose reminder or review is due, the longest due first.
pub fn due(connection: &Connection, now_ms: i64) -> Result<Vec<Memory>> {
    let sql = format!(
        "{SELECT} WHERE m.status = 0 AND m.key IN (SELECT key FROM memory WHERE remind_at <= ?1 \
         UNION SELECT key FROM memory WHERE review_after <= ?1) \
         ORDER BY min(coalesce(m.remind_at, m.review_after), coalesce(m.review_after, m.remind_at)), m.key"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([now_ms], from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Ids of the active and waiting memories whose source is one of these messages of a session, or one from `since` on, in
/// order of their keys.
pub fn ids_from_messages(
    connection: &Connection,
    session: &str,
    messages: &[String],
    since: Option<&str>,
) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM memory WHERE status IN (0, 1) AND json_extract(source, '$.session') = ?1 \
         AND (json_extract(source, '$.message') IN (SELECT value FROM json_each(?2)) \
             OR json_extract(source, '$.message') >= ?3) ORDER BY key",
    )?;
    let rows = statement.query_map((session, serde_json::json!(messages).to_string(), since), |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Keys of the memories that mention an entity.
pub fn keys_mentioning(connection: &Connection, entity: &str) -> Result<Vec<i64>> {
    let mut statement =
        connection.prepare_cached("SELECT m.key FROM mention e JOIN memory m ON m.id = e.memory WHERE e.name = ?1")?;
    let rows = statement.query_map([entity.trim()], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Keys of the memories with a tag.
pub fn keys_tagged(connection: &Connection, tag: &str) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT key FROM memory WHERE tags <> '[]' AND EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?1 COLLATE NOCASE)",
    )?;
    let rows = statement.query_map([tag.trim()], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl WriteTx<'_> {
    /// Insert a memory under a new key, which is returned; `memory.key` is ignored.
    pub fn insert(&self, memory: &Memory) -> Result<i64> {
        columns::insert(self, memory)?;
        let key = self.last_insert_rowid();
        let mut mention = self.prepare_cached("INSERT OR IGNORE INTO mention(name, memory) VALUES (?1, ?2)")?;
        for entity in &memory.entities {
            mention.execute((entity.trim(), &memory.id))?;
        }
        self.log(key, Op::Put)?;
        Ok(key)
    }

    /// Replace a memory by its next version. A changed text gets a new key; other changes keep the key.
    pub fn replace(&self, before: &Memory, after: &Memory) -> Result<i64> {
        if searched_text_differs(before, after) {
            // Links are found by what a memory says. Another topic or label says nothing else.
            if before.content != after.content || before.speaker != after.speaker {
                self.forget_found_links(&before.id)?;
            }
            self.remove(before)?;
            return self.insert(after);
        }
        columns::update(self, before.key, after)?;
        self.log(before.key, Op::Touch)?;
        Ok(before.key)
    }

    /// Remove a memory; its history stays.
    pub fn remove(&self, memory: &Memory) -> Result<()> {
        self.prepare_cached("DELETE FROM memory WHERE key = ?1")?.execute([memory.key])?; // and its chunks
        self.prepare_cached("DELETE FROM mention WHERE memory = ?1")?.execute([&memory.id])?;
        self.log(memory.key, Op::Delete)
    }
}

/// Whether the text for the indexes differs; see `Memory::searched_text`.
fn searched_text_differs(before: &Memory, after: &Memory) -> bool {
    before.content != after.content
        || before.speaker != after.speaker
        || before.topic != after.topic
        || before.tags != after.tags
        || before.entities != after.entities
}

/// Ids of a project's memories, of every status.
pub fn ids_in_project(connection: &Connection, project: i64) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT id FROM memory WHERE project = ?1 ORDER BY key")?;
    let rows = statement.query_map([project], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The number of memories with a key after this one.
pub fn count_after(connection: &Connection, key: i64) -> Result<usize> {
    Ok(connection
        .prepare_cached("SELECT count(*) FROM memory WHERE key > ?1")?
        .query_row([key], |row| row.get::<_, i64>(0))? as usize)
}

/// The highest key that was ever assigned.
pub fn last_key_given(connection: &Connection) -> Result<i64> {
    let mut statement = connection.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'memory'")?;
    Ok(statement.query_row([], |row| row.get(0)).optional()?.unwrap_or(0))
}

/// The columns that filters read.
#[derive(Debug, Clone, Copy)]
pub struct FilterRow {
    /// The memory's key.
    pub key: i64,
    /// Row of its project; 0 is global.
    pub project: i64,
    /// The time that it is about.
    pub time: i64,
    /// When it was first written.
    pub created_at: i64,
    /// When it was last changed.
    pub updated_at: i64,
    /// When it stops being returned; `i64::MAX` for never.
    pub expires_at: i64,
    /// [`crate::model::Category`] as its number.
    pub category: u8,
    /// [`crate::model::Status`] as its number.
    pub status: u8,
    /// [`crate::model::Trust`] as its number.
    pub trust: u8,
    /// Pinned by the user.
    pub pinned: bool,
}

impl FilterRow {
    /// The columns of an unused slot.
    pub const NOTHING: Self = Self {
        key: 0,
        project: 0,
        time: 0,
        created_at: 0,
        updated_at: 0,
        expires_at: 0,
        category: 0,
        status: 0,
        trust: 0,
        pinned: false,
    };
}

fn filter_row_from(row: &Row<'_>) -> rusqlite::Result<FilterRow> {
    Ok(FilterRow {
        key: row.get(0)?,
        project: row.get(1)?,
        category: row.get(2)?,
        status: row.get(3)?,
        trust: row.get(4)?,
        pinned: row.get(5)?,
        time: row.get(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
        expires_at: row.get::<_, Option<i64>>(9)?.unwrap_or(i64::MAX),
    })
}

/// The values of a memory that recalls need without reading its text: filter columns, and the place in a conversation.
#[derive(Debug)]
pub struct MirrorRow<'a> {
    /// The columns that filters read.
    pub columns: FilterRow,
    /// Conversation that it comes from.
    pub session: Option<&'a str>,
    /// Place in that conversation.
    pub position: Option<i64>,
    /// The speaker.
    pub speaker: Option<&'a str>,
    /// Properties of the text.
    pub traits: Traits,
}

const MIRROR_COLUMNS: &str = "key, project, category, status, trust, pinned, time, created_at, updated_at, expires_at, \
     session, position, speaker, words, traits";

fn mirror_row_from<'a>(row: &'a Row<'_>) -> rusqlite::Result<MirrorRow<'a>> {
    Ok(MirrorRow {
        columns: filter_row_from(row)?,
        session: row.get_ref(10)?.as_str_or_null()?,
        position: row.get(11)?,
        speaker: row.get_ref(12)?.as_str_or_null()?,
        traits: Traits::from_bits(row.get(13)?, row.get(14)?),
    })
}

/// Call `each` with the mirror row of a memory; whether the memory exists.
pub fn mirror_row(connection: &Connection, key: i64, each: impl FnOnce(&MirrorRow<'_>)) -> Result<bool> {
    let sql = format!("SELECT {MIRROR_COLUMNS} FROM memory WHERE key = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([key])?;
    let Some(row) = rows.next()? else { return Ok(false) };
    each(&mirror_row_from(row)?);
    Ok(true)
}

/// Call `each` with the mirror row of every memory, in order of keys.
pub fn for_each_mirror_row(connection: &Connection, mut each: impl FnMut(&MirrorRow<'_>)) -> Result<()> {
    let mut statement = connection.prepare_cached(&format!("SELECT {MIRROR_COLUMNS} FROM memory ORDER BY key"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(&mirror_row_from(row)?);
    }
    Ok(())
}

/// Memories that have vectors of the active model and are not compared with their neighbours yet.
pub fn not_compared(connection: &Connection, limit: usize) -> Result<Vec<Memory>> {
    let mut keys = connection.prepare_cached(NOT_COMPARED)?;
    let keys: Vec<i64> = keys.query_map([limit as i64], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    keys.into_iter().filter_map(|key| by_key(connection, key).transpose()).collect()
}

// Without the name of the index, SQLite would take the one on embedded_by, and read all memories of the active model.
pub(super) const NOT_COMPARED: &str = "SELECT key FROM memory INDEXED BY memory_not_compared \
     WHERE compared = 0 AND embedded_by <> 0 \
     AND embedded_by = (SELECT value FROM meta WHERE name = 'active_model') ORDER BY key LIMIT ?1";

impl WriteTx<'_> {
    /// Record that a memory was compared with its neighbours.
    pub fn mark_compared(&self, key: i64) -> Result<()> {
        self.prepare_cached("UPDATE memory SET compared = 1 WHERE key = ?1")?.execute([key])?;
        Ok(())
    }
}
