//! Sessions of agents and their claims, as leases. They are not part of the change log, because no recall reads them.
//!
//! A session is alive until it ends or its lease ends. A claim belongs to a session. After the lease the session keeps the
//! claim until another session claims the item, so that an agent that was only slow still has its claims.

use rusqlite::{Connection, OptionalExtension, Row};

use super::WriteTx;
use crate::error::Result;

/// A session and its claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id, as the agent gave it.
    pub name: String,
    /// Its current task.
    pub working_on: Option<String>,
    /// The time it started, or was restarted after its end.
    pub started_at: i64,
    /// The time of its last heartbeat.
    pub seen_at: i64,
    /// The end of its lease.
    pub lease_until: i64,
    /// The time it ended.
    pub ended_at: Option<i64>,
    /// Its claims, oldest first.
    pub claims: Vec<Claim>,
}

/// An item that one session works on exclusively.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The item.
    pub item: String,
    /// The session that claimed it.
    pub session: String,
    /// The time of the claim.
    pub claimed_at: i64,
}

impl Session {
    /// Whether it has not ended and its lease has not.
    pub fn is_alive(&self, now_ms: i64) -> bool {
        self.ended_at.is_none() && self.lease_until > now_ms
    }
}

const COLUMNS: &str = "name, working_on, started_at, seen_at, lease_until, ended_at";

fn from_row(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        name: row.get(0)?,
        working_on: row.get(1)?,
        started_at: row.get(2)?,
        seen_at: row.get(3)?,
        lease_until: row.get(4)?,
        ended_at: row.get(5)?,
        claims: Vec::new(),
    })
}

fn claim_from_row(row: &Row<'_>) -> rusqlite::Result<Claim> {
    Ok(Claim { item: row.get(0)?, session: row.get(1)?, claimed_at: row.get(2)? })
}

/// A session with its claims, alive or not.
pub fn get(connection: &Connection, project: i64, name: &str) -> Result<Option<Session>> {
    let sql = format!("SELECT {COLUMNS} FROM session WHERE project = ?1 AND name = ?2");
    let Some(mut session) = connection.prepare_cached(&sql)?.query_row((project, name), from_row).optional()? else {
        return Ok(None);
    };
    let mut statement = connection.prepare_cached(
        "SELECT item, session, claimed_at FROM claim WHERE project = ?1 AND session = ?2 ORDER BY claimed_at, item",
    )?;
    let claims = statement.query_map((project, name), claim_from_row)?;
    session.claims = claims.collect::<rusqlite::Result<_>>()?;
    Ok(Some(session))
}

/// Sessions that are alive, most recent heartbeat first.
pub fn live(connection: &Connection, project: i64, now_ms: i64) -> Result<Vec<Session>> {
    let mut statement = connection.prepare_cached(
        "SELECT name FROM session WHERE project = ?1 AND ended_at IS NULL AND lease_until > ?2 \
         ORDER BY seen_at DESC, name",
    )?;
    let names: Vec<String> =
        statement.query_map((project, now_ms), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut sessions = Vec::with_capacity(names.len());
    for name in names {
        sessions.extend(get(connection, project, &name)?);
    }
    Ok(sessions)
}

/// Whether a session has a heartbeat in the future, so that its lease is too long.
pub fn has_future_lease(connection: &Connection, project: i64, now_ms: i64) -> Result<bool> {
    Ok(connection
        .prepare_cached(
            "SELECT EXISTS(SELECT 1 FROM session WHERE project = ?1 AND seen_at > ?2 AND ended_at IS NULL)",
        )?
        .query_row((project, now_ms), |row| row.get(0))?)
}

/// The claim of an item, if any.
pub fn claim_of(connection: &Connection, project: i64, item: &str) -> Result<Option<Claim>> {
    Ok(connection
        .prepare_cached("SELECT item, session, claimed_at FROM claim WHERE project = ?1 AND item = ?2")?
        .query_row((project, item), claim_from_row)
        .optional()?)
}

impl WriteTx<'_> {
    /// Start or renew a session; an ended session starts again. Claims are kept.
    pub fn begin_session(&self, project: i64, name: &str, working_on: Option<&str>, lease_until: i64) -> Result<()> {
        self.prepare_cached(
            "INSERT INTO session(project, name, working_on, started_at, seen_at, lease_until) \
             VALUES (?1, ?2, ?3, ?4, ?4, ?5) ON CONFLICT(project, name) DO UPDATE SET \
             working_on = coalesce(excluded.working_on, working_on), seen_at = excluded.seen_at, \
             started_at = iif(ended_at IS NULL, started_at, excluded.started_at), \
             lease_until = excluded.lease_until, ended_at = NULL",
        )?
        .execute((project, name, working_on, self.now_ms, lease_until))?;
        Ok(())
    }

    /// End a session: remove its lease and its claims.
    pub fn end_session(&self, project: i64, name: &str) -> Result<()> {
        self.prepare_cached("UPDATE session SET ended_at = ?3, lease_until = ?3 WHERE project = ?1 AND name = ?2")?
            .execute((project, name, self.now_ms))?;
        self.prepare_cached("DELETE FROM claim WHERE project = ?1 AND session = ?2")?.execute((project, name))?;
        Ok(())
    }

    /// Give an item to a session, regardless of its earlier owner. The item keeps its first spelling.
    pub fn give_claim(&self, project: i64, item: &str, session: &str) -> Result<()> {
        self.prepare_cached(
            "INSERT INTO claim(project, item, session, claimed_at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT(project, item) DO UPDATE SET session = excluded.session, \
             claimed_at = excluded.claimed_at",
        )?
        .execute((project, item, session, self.now_ms))?;
        Ok(())
    }

    /// Remove a claim.
    pub fn drop_claim(&self, project: i64, item: &str) -> Result<()> {
        self.prepare_cached("DELETE FROM claim WHERE project = ?1 AND item = ?2")?.execute((project, item))?;
        Ok(())
    }

    /// Let the leases of a project start now if they start in the future, which the clock of an earlier write was wrong
    /// about. Otherwise a claim made under a clock that was a year ahead would last for a year.
    pub fn correct_leases(&self, project: i64) -> Result<()> {
        self.prepare_cached(
            "UPDATE session SET lease_until = ?2 + (lease_until - seen_at), seen_at = ?2, \
             started_at = min(started_at, ?2) WHERE project = ?1 AND seen_at > ?2 AND ended_at IS NULL",
        )?
        .execute((project, self.now_ms))?;
        self.prepare_cached("UPDATE claim SET claimed_at = ?2 WHERE project = ?1 AND claimed_at > ?2")?
            .execute((project, self.now_ms))?;
        Ok(())
    }

    /// Delete sessions whose last heartbeat is older than a time, and their claims.
    pub fn forget_sessions(&self, before_ms: i64) -> Result<usize> {
        let forgotten = self.execute("DELETE FROM session WHERE seen_at < ?1 AND lease_until < ?1", [before_ms])?;
        self.execute(
            "DELETE FROM claim WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.project = claim.project \
             AND s.name = claim.session)",
            [],
        )?;
        Ok(forgotten)
    }
}
