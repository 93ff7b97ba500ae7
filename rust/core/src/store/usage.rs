//! Use counters. Written in batches and outside of the change log: a recall is not a write.

use rusqlite::Connection;

use super::WriteTx;
use crate::clock::DAY_MS;
use crate::error::Result;

/// Days that are counted singly.
const DAYS: i64 = 8;

/// Add one use of each memory at `used_at`.
pub fn add(write: &WriteTx<'_>, uses: &[(String, i64)]) -> Result<()> {
    let mut upsert = write.prepare_cached(
        "INSERT INTO use_count(memory, uses, used_at) SELECT ?1, 1, ?2 WHERE EXISTS (SELECT 1 FROM memory WHERE id = ?1) \
         ON CONFLICT(memory) DO UPDATE SET uses = uses + 1, used_at = max(used_at, excluded.used_at)",
    )?;
    let mut daily = write.prepare_cached(
        "INSERT INTO use_day(memory, day, uses) SELECT ?1, ?2, 1 WHERE EXISTS (SELECT 1 FROM memory WHERE id = ?1) \
         ON CONFLICT(memory, day) DO UPDATE SET uses = uses + 1",
    )?;
    for (id, at) in uses {
        upsert.execute((id, at))?;
        daily.execute((id, at.div_euclid(DAY_MS)))?;
    }
    Ok(())
}

/// Delete the counters of days that are not queried any more.
pub fn forget_days(write: &WriteTx<'_>) -> Result<usize> {
    let oldest = write.now_ms.div_euclid(DAY_MS) - DAYS;
    Ok(write.prepare_cached("DELETE FROM use_day WHERE day < ?1")?.execute([oldest])?)
}

/// Memories by how often they were used since the day of `since_ms`, most first.
pub fn most_used(connection: &Connection, since_ms: i64, limit: usize) -> Result<Vec<(String, usize)>> {
    let mut statement = connection.prepare_cached(
        "SELECT memory, sum(uses) AS used FROM use_day WHERE day >= ?1 GROUP BY memory ORDER BY used DESC, memory DESC LIMIT ?2",
    )?;
    let rows = statement.query_map((since_ms.div_euclid(DAY_MS), limit as i64), |row| {
        Ok((row.get(0)?, usize::try_from(row.get::<_, i64>(1)?).unwrap_or(0)))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
