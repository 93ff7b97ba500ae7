//! Links between memories. They refer to ids, so they survive edits; a link whose end was deleted is not shown.

use rusqlite::Connection;

use super::WriteTx;
use crate::error::Result;

/// A link as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// From.
    pub source: String,
    /// To.
    pub target: String,
    /// `similar`, `supersedes`, `contradicts`, `related` ….
    pub kind: String,
    /// 0 to 1.
    pub weight: f64,
    /// Why.
    pub reason: String,
    /// When.
    pub created_at: i64,
}

impl WriteTx<'_> {
    /// Set a link; the same pair and kind is replaced.
    pub fn link(&self, source: &str, target: &str, kind: &str, weight: f64, reason: &str) -> Result<()> {
        self.prepare_cached(
            "INSERT INTO link(source, target, kind, weight, reason, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
             ON CONFLICT(source, target, kind) DO UPDATE SET weight = excluded.weight, reason = excluded.reason",
        )?
        .execute((source, target, kind, weight, reason, self.now_ms))?;
        Ok(())
    }
}

/// Links of a memory, both ways.
pub fn of(connection: &Connection, id: &str) -> Result<Vec<Link>> {
    collect(connection, "WHERE source = ?1 OR target = ?1 ORDER BY weight DESC, created_at DESC", [id])
}

/// All links, in order, after a given one: what an export reads.
pub fn page(connection: &Connection, offset: usize, limit: usize) -> Result<Vec<Link>> {
    collect(connection, "ORDER BY source, target, kind LIMIT ?1 OFFSET ?2", (limit as i64, offset as i64))
}

fn collect(connection: &Connection, tail: &str, params: impl rusqlite::Params) -> Result<Vec<Link>> {
    let sql = format!("SELECT source, target, kind, weight, reason, created_at FROM link {tail}");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params, |row| {
        Ok(Link {
            source: row.get(0)?,
            target: row.get(1)?,
            kind: row.get(2)?,
            weight: row.get(3)?,
            reason: row.get(4)?,
            created_at: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl WriteTx<'_> {
    /// Put back a link of an export; 1 if it was new here.
    pub fn restore_link(&self, link: &Link) -> Result<usize> {
        Ok(self
            .prepare_cached("INSERT OR IGNORE INTO link(source, target, kind, weight, reason, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute((&link.source, &link.target, &link.kind, link.weight, &link.reason, link.created_at))?)
    }
}
