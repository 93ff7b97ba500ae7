//! Statistics of the store.

use rusqlite::Connection;

use crate::error::Result;
use crate::model::{Category, Status};

/// Numbers that only the tables know.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Memories by status.
    pub by_status: Vec<(&'static str, usize)>,
    /// Active memories by category, those that there are.
    pub by_category: Vec<(&'static str, usize)>,
    /// Active memories past their life.
    pub expired: usize,
    /// Projects.
    pub projects: usize,
    /// Live values.
    pub kv: usize,
}

/// Compute the statistics.
pub fn counts(connection: &Connection, now_ms: i64) -> Result<Counts> {
    let mut counts =
        Counts { by_status: Status::ALL.iter().map(|status| (status.as_str(), 0)).collect(), ..Counts::default() };
    for (number, count) in pairs(connection, "SELECT status, count(*) FROM memory GROUP BY status")? {
        if let Some(entry) = usize::try_from(number).ok().and_then(|place| counts.by_status.get_mut(place)) {
            entry.1 = count;
        }
    }
    for (number, count) in
        pairs(connection, "SELECT category, count(*) FROM memory WHERE status = 0 GROUP BY category ORDER BY 2 DESC")?
    {
        if let Some(category) = Category::from_number(number) {
            counts.by_category.push((category.as_str(), count));
        }
    }
    let one = |sql: &str| -> Result<usize> {
        Ok(connection.prepare_cached(sql)?.query_row([now_ms], |row| row.get::<_, i64>(0))? as usize)
    };
    counts.expired = one("SELECT count(*) FROM memory WHERE status = 0 AND expires_at <= ?1")?;
    counts.projects = one("SELECT count(*) FROM project WHERE ?1 IS NOT NULL")?;
    counts.kv = one("SELECT count(*) FROM kv WHERE expires_at IS NULL OR expires_at > ?1")?;
    Ok(counts)
}

fn pairs(connection: &Connection, sql: &str) -> Result<Vec<(i64, usize)>> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as usize)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
