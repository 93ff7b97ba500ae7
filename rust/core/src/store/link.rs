//! Links between memories. They refer to ids, so they survive edits; a link to a deleted memory is not shown.

use rusqlite::{Connection, Row};

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

impl WriteTx<'_> {
    /// Delete the links that comparing a changed text had found. Links that a caller set have another reason, and a
    /// superseded memory stays superseded.
    pub fn forget_found_links(&self, id: &str) -> Result<()> {
        self.prepare_cached(
            "DELETE FROM link WHERE (source = ?1 OR target = ?1) AND kind <> 'supersedes' AND \
             (reason LIKE '%cosine _.___%' OR reason LIKE '%, found by its words')",
        )?
        .execute([id])?;
        Ok(())
    }
}

/// Links of a memory, both ways.
pub fn of(connection: &Connection, id: &str) -> Result<Vec<Link>> {
    collect(connection, "WHERE source = ?1 OR target = ?1 ORDER BY weight DESC, created_at DESC", [id])
}

/// Links to the statements on a memory's subject, both ways: `contradicts` and `supersedes`.
pub fn of_subject(connection: &Connection, id: &str) -> Result<Vec<Link>> {
    let mut statement = connection.prepare_cached(&subject_links())?;
    let rows = statement.query_map([id], from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn subject_links() -> String {
    format!(
        "{SELECT} INDEXED BY subject_link_by_source \
            WHERE source = ?1 AND (kind = 'contradicts' OR kind = 'supersedes') \
         UNION ALL {SELECT} INDEXED BY subject_link_by_target \
            WHERE target = ?1 AND (kind = 'contradicts' OR kind = 'supersedes') \
         ORDER BY weight DESC, created_at DESC"
    )
}

/// Ids of the memories that a memory contradicts, in either direction.
pub fn contradicting(connection: &Connection, id: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached(CONTRADICTING)?;
    let rows = statement.query_map([id], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

const CONTRADICTING: &str = "SELECT target FROM link INDEXED BY subject_link_by_source \
        WHERE source = ?1 AND kind = 'contradicts' \
     UNION ALL SELECT source FROM link INDEXED BY subject_link_by_target WHERE target = ?1 AND kind = 'contradicts'";

/// Links after a given one, in order, for exports.
pub fn page(connection: &Connection, offset: usize, limit: usize) -> Result<Vec<Link>> {
    collect(connection, "ORDER BY source, target, kind LIMIT ?1 OFFSET ?2", (limit as i64, offset as i64))
}

/// Links of these kinds whose ends both have a key that is `wanted`, strongest first, at most `limit`
/// of each kind.
pub fn between(
    connection: &Connection,
    kinds: &[String],
    wanted: impl Fn(i64) -> bool,
    limit: usize,
) -> Result<Vec<Link>> {
    let mut statement = connection.prepare_cached(
        "SELECT l.source, l.target, l.kind, l.weight, l.reason, l.created_at, a.key, b.key FROM link l \
         JOIN memory a ON a.id = l.source JOIN memory b ON b.id = l.target \
         WHERE l.kind = ?1 ORDER BY l.weight DESC, l.created_at DESC, l.source, l.target",
    )?;
    let mut found = Vec::new();
    for kind in kinds {
        let mut rows = statement.query([kind])?;
        let most = found.len().saturating_add(limit);
        while let Some(row) = rows.next()?
            && found.len() < most
        {
            if wanted(row.get(6)?) && wanted(row.get(7)?) {
                found.push(from_row(row)?);
            }
        }
    }
    Ok(found)
}

/// Links of some kinds to the memories with these ids, from memories whose keys are wanted.
pub fn towards(
    connection: &Connection,
    targets: &[String],
    kinds: &[String],
    wanted: impl Fn(i64) -> bool,
) -> Result<Vec<Link>> {
    let mut statement = connection.prepare_cached(TOWARDS)?;
    let mut found = Vec::new();
    for target in targets {
        for kind in kinds {
            let mut rows = statement.query((target, kind))?;
            while let Some(row) = rows.next()? {
                if wanted(row.get(6)?) {
                    found.push(from_row(row)?);
                }
            }
        }
    }
    Ok(found)
}

/// Each hit of a recall asks for its links, so the statement must not read those of other memories.
const TOWARDS: &str = "SELECT l.source, l.target, l.kind, l.weight, l.reason, l.created_at, a.key \
     FROM link l INDEXED BY link_by_target JOIN memory a ON a.id = l.source WHERE l.target = ?1 AND l.kind = ?2";

fn from_row(row: &Row<'_>) -> rusqlite::Result<Link> {
    Ok(Link {
        source: row.get(0)?,
        target: row.get(1)?,
        kind: row.get(2)?,
        weight: row.get(3)?,
        reason: row.get(4)?,
        created_at: row.get(5)?,
    })
}

const SELECT: &str = "SELECT source, target, kind, weight, reason, created_at FROM link";

fn collect(connection: &Connection, tail: &str, params: impl rusqlite::Params) -> Result<Vec<Link>> {
    let mut statement = connection.prepare_cached(&format!("{SELECT} {tail}"))?;
    let rows = statement.query_map(params, from_row)?;
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

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::store::schema;

    /// Steps of `SQLite` to find the one memory that a memory contradicts, beside other links of it.
    fn steps(others: usize) -> i32 {
        let connection = Connection::open_in_memory().unwrap();
        schema::create(&connection, 0).unwrap();
        let put = "INSERT INTO link VALUES (?1, ?2, ?3, 1.0, '', 0)";
        connection.execute(put, ["a", "b", "contradicts"]).unwrap();
        for number in 0..others {
            connection.execute(put, ["a", &format!("to {number}"), "related"]).unwrap();
            connection.execute(put, [&format!("from {number}"), "a", "similar"]).unwrap();
        }
        for id in ["a", "b"] {
            assert_eq!(contradicting(&connection, id).unwrap().len(), 1);
            assert_eq!(of_subject(&connection, id).unwrap().len(), 1);
        }
        let statements = [CONTRADICTING, &subject_links()];
        statements.map(|sql| connection.prepare_cached(sql).unwrap().get_status(StatementStatus::VmStep)).iter().sum()
    }

    #[test]
    fn links_of_other_kinds_cost_nothing() {
        assert_eq!(steps(200), steps(0));
    }
}
