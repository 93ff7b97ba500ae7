//! The key-value store: JSON values in a namespace per project, with an expiry that is exact at read time (I7).

use rusqlite::{Connection, OptionalExtension, Row};

use super::WriteTx;
use crate::error::Result;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Its key.
    pub name: String,
    /// JSON.
    pub value: String,
    /// When the key was first set.
    pub created_at: i64,
    /// When the value was last set.
    pub updated_at: i64,
    /// From when on it is gone.
    pub expires_at: Option<i64>,
}

const LIVE: &str = "(expires_at IS NULL OR expires_at > ?2)";

fn from_row(row: &Row<'_>) -> rusqlite::Result<Value> {
    Ok(Value {
        name: row.get(0)?,
        value: row.get(1)?,
        created_at: row.get(2)?,
        updated_at: row.get(3)?,
        expires_at: row.get(4)?,
    })
}

impl WriteTx<'_> {
    /// Set a value; `expires_at` in UTC milliseconds.
    pub fn kv_set(&self, project: i64, name: &str, value: &str, expires_at: Option<i64>) -> Result<()> {
        // An expired value is gone: setting its key again begins a new life.
        self.prepare_cached("DELETE FROM kv WHERE project = ?1 AND name = ?2 AND expires_at <= ?3")?.execute((
            project,
            name,
            self.now_ms,
        ))?;
        self.prepare_cached(
            "INSERT INTO kv(project, name, value, created_at, updated_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?4, ?5) \
             ON CONFLICT(project, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at, \
             expires_at = excluded.expires_at",
        )?
        .execute((project, name, value, self.now_ms, expires_at))?;
        Ok(())
    }

    /// Delete a value; whether there was a live one. The undo of a merge of projects does not bring it back.
    pub fn kv_delete(&self, project: i64, name: &str) -> Result<bool> {
        let live: bool = get(self, project, name, self.now_ms)?.is_some();
        let created_at: Option<i64> = self
            .prepare_cached("DELETE FROM kv WHERE project = ?1 AND name = ?2 RETURNING created_at")?
            .query_row((project, name), |row| row.get(0))
            .optional()?;
        if let Some(created_at) = created_at {
            self.forget_merged_value(project, name, created_at)?;
        }
        Ok(live)
    }

    /// Delete expired values, also those that an undo of a merge of projects would bring back.
    pub fn kv_purge_expired(&self) -> Result<usize> {
        self.forget_expired_merged_values()?;
        Ok(self.execute("DELETE FROM kv WHERE expires_at <= ?1", [self.now_ms])?)
    }
}

/// A live value.
pub fn get(connection: &Connection, project: i64, name: &str, now_ms: i64) -> Result<Option<Value>> {
    let sql = format!(
        "SELECT name, value, created_at, updated_at, expires_at FROM kv WHERE project = ?1 AND name = ?3 AND {LIVE}"
    );
    Ok(connection.prepare_cached(&sql)?.query_row((project, now_ms, name), from_row).optional()?)
}

/// Live values whose key starts with `prefix`, ordered by key.
pub fn list(connection: &Connection, project: i64, prefix: &str, now_ms: i64) -> Result<Vec<Value>> {
    let sql = format!(
        "SELECT name, value, created_at, updated_at, expires_at FROM kv \
         WHERE project = ?1 AND name >= ?3 AND substr(name, 1, length(?3)) = ?3 AND {LIVE} ORDER BY name"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map((project, now_ms, prefix), from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Live values of every namespace, for exports.
pub fn all(connection: &Connection, now_ms: i64) -> Result<Vec<(i64, Value)>> {
    let mut statement = connection.prepare_cached(
        "SELECT name, value, created_at, updated_at, expires_at, project FROM kv \
         WHERE expires_at IS NULL OR expires_at > ?1 ORDER BY project, name",
    )?;
    let rows = statement.query_map([now_ms], |row| Ok((row.get(5)?, from_row(row)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl WriteTx<'_> {
    /// Put back a value of an export unless a newer one is here; 1 if it was written.
    pub fn kv_restore(&self, project: i64, value: &Value) -> Result<usize> {
        Ok(self
            .prepare_cached(
                "INSERT INTO kv(project, name, value, created_at, updated_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                 ON CONFLICT(project, name) DO UPDATE SET value = excluded.value, created_at = excluded.created_at, \
                 updated_at = excluded.updated_at, expires_at = excluded.expires_at WHERE excluded.updated_at > kv.updated_at",
            )?
            .execute((project, &value.name, &value.value, value.created_at, value.updated_at, value.expires_at))?)
    }
}
