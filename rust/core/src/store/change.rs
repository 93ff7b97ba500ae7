//! The change log: outbox for the indexes, tombstones, and the feed that tells processes of each other's writes.
//!
//! I6: `seq` is AUTOINCREMENT and never reused. A [`Head`] names a point of one history: store, number and the random
//! mark of its transaction; a mark that does not match means another history (a restored backup).

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use super::WriteTx;
use crate::error::Result;

/// The kind of change of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Op {
    /// A new key with a new text.
    Put = 1,
    /// The key is gone.
    Delete = 2,
    /// Filter columns changed; the text did not.
    Touch = 3,
    /// Its vectors changed.
    Embed = 4,
}

impl Op {
    fn from_number(number: i64) -> Option<Self> {
        match number {
            1 => Some(Self::Put),
            2 => Some(Self::Delete),
            3 => Some(Self::Touch),
            4 => Some(Self::Embed),
            _ => None,
        }
    }
}

/// A row of the log.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    /// The memory's key.
    pub key: i64,
    /// The kind of change.
    pub op: Op,
}

/// A point of a store's history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Id of the store.
    pub store_id: String,
    /// Last change, 0 before the first.
    pub seq: i64,
    /// Mark of that change's transaction.
    pub nonce: i64,
}

impl WriteTx<'_> {
    /// Log a change of `key`.
    pub fn log(&self, key: i64, op: Op) -> Result<()> {
        self.prepare_cached("INSERT INTO change(key, op, nonce) VALUES (?1, ?2, ?3)")?
            .execute((key, op as u8, self.nonce))?;
        Ok(())
    }
}

/// The position of the store in its history.
pub fn head(connection: &Connection) -> Result<Head> {
    let mut statement = connection.prepare_cached(
        "SELECT (SELECT value FROM meta WHERE name = 'store_id'), seq, nonce FROM change ORDER BY seq DESC LIMIT 1",
    )?;
    let found = statement
        .query_row([], |row| Ok(Head { store_id: row.get(0)?, seq: row.get(1)?, nonce: row.get(2)? }))
        .optional()?;
    match found {
        Some(head) => Ok(head),
        None => Ok(Head { store_id: store_id(connection)?, seq: 0, nonce: 0 }),
    }
}

/// The store's id.
pub fn store_id(connection: &Connection) -> Result<String> {
    Ok(connection.prepare_cached("SELECT value FROM meta WHERE name = 'store_id'")?.query_row([], |row| row.get(0))?)
}

/// Whether `mark` lies on this store's history, so that later changes can be read from the log.
pub fn is_on_history(connection: &Connection, mark: &Head) -> Result<bool> {
    if mark.store_id != store_id(connection)? {
        return Ok(false);
    }
    if mark.seq == 0 {
        // Before the first change; readable until the log is trimmed.
        return Ok(trimmed_seq(connection)? == 0);
    }
    let nonce: Option<i64> = connection
        .prepare_cached("SELECT nonce FROM change WHERE seq = ?1")?
        .query_row([mark.seq], |row| row.get(0))
        .optional()?;
    Ok(nonce == Some(mark.nonce))
}

/// Changes after `seq`, oldest first.
pub fn since(connection: &Connection, seq: i64) -> Result<Vec<Change>> {
    let mut statement = connection.prepare_cached("SELECT key, op FROM change WHERE seq > ?1 ORDER BY seq")?;
    let rows = statement.query_map([seq], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
    let mut changes = Vec::new();
    for row in rows {
        let (key, number) = row?;
        if let Some(op) = Op::from_number(number) {
            changes.push(Change { key, op });
        }
    }
    Ok(changes)
}

/// Whether the log has changes before `seq`.
pub fn has_before(connection: &Connection, seq: i64) -> Result<bool> {
    let mut statement = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM change WHERE seq < ?1)")?;
    Ok(statement.query_row([seq], |row| row.get(0))?)
}

/// Drop the log before `seq`; the row of `seq` itself stays, so that marks at it can still be checked.
pub fn trim(write: &WriteTx<'_>, seq: i64) -> Result<usize> {
    let removed = write.execute("DELETE FROM change WHERE seq < ?1", [seq])?;
    if removed > 0 {
        write.execute("UPDATE meta SET value = ?1 WHERE name = 'trimmed_seq'", [seq])?;
    }
    Ok(removed)
}

fn trimmed_seq(connection: &Connection) -> Result<i64> {
    Ok(connection.query_row("SELECT value FROM meta WHERE name = 'trimmed_seq'", [], |row| row.get(0))?)
}

/// Whether `mark` may lie on this store's history: its change is gone from the log, or matches.
///
/// This is enough for reading an index: missing texts are in the overlay, and the mirror drops deleted ones.
pub fn could_be_on_history(connection: &Connection, mark: &Head) -> Result<bool> {
    if mark.store_id != store_id(connection)? {
        return Ok(false);
    }
    let nonce: Option<i64> = connection
        .prepare_cached("SELECT nonce FROM change WHERE seq = ?1")?
        .query_row([mark.seq], |row| row.get(0))
        .optional()?;
    Ok(nonce.is_none_or(|nonce| nonce == mark.nonce) && mark.seq <= head(connection)?.seq)
}
