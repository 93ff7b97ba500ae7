//! The job queue. It is not part of the change log, because no recall reads it.
//!
//! One `UPDATE` claims a job and gives it a lease. If the worker dies, another worker can claim the job when the lease ends,
//! not before. A job is identified by kind and subject and is in the queue once: enqueuing a waiting job adds no row, and
//! enqueuing a running job lets it run again. The kind that was served longest ago comes first, so that no kind starves.

use rusqlite::{Connection, OptionalExtension, Row};

use super::WriteTx;
use crate::error::Result;

/// Attempts after which a job is dead.
pub const MOST_ATTEMPTS: i64 = 8;
/// Pause after the first failure; it doubles with each further one.
const FIRST_PAUSE_MS: i64 = 5_000;
const LONGEST_PAUSE_MS: i64 = 3_600_000;

/// A job as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its number, never reused.
    pub id: i64,
    /// The kind of work.
    pub kind: String,
    /// The object of the work; empty if the kind is enough.
    pub subject: String,
    /// Further arguments, JSON.
    pub payload: String,
    /// Number of times that it was claimed.
    pub attempts: i64,
    /// The earliest time to run it.
    pub run_at: i64,
    /// The end of its lease.
    pub lease_until: Option<i64>,
    /// The worker that has it.
    pub worker: Option<String>,
    /// The time since when it is not retried any more.
    pub dead_at: Option<i64>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// The time it was first enqueued.
    pub created_at: i64,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The job is done; a recurring job is due again at this time.
    Done(Option<i64>),
    /// The attempt failed; retry after so many milliseconds, or after a growing pause.
    Failed(String, Option<i64>),
    /// The attempt failed, and a retry cannot help.
    Hopeless(String),
}

const COLUMNS: &str = "id, kind, subject, payload, attempts, run_at, lease_until, worker, dead_at, error, created_at";

fn from_row(row: &Row<'_>) -> rusqlite::Result<Job> {
    Ok(Job {
        id: row.get(0)?,
        kind: row.get(1)?,
        subject: row.get(2)?,
        payload: row.get(3)?,
        attempts: row.get(4)?,
        run_at: row.get(5)?,
        lease_until: row.get(6)?,
        worker: row.get(7)?,
        dead_at: row.get(8)?,
        error: row.get(9)?,
        created_at: row.get(10)?,
    })
}

/// Jobs, dead jobs first, then in the order in which they are due.
pub fn list(connection: &Connection, limit: usize) -> Result<Vec<Job>> {
    let sql = format!("SELECT {COLUMNS} FROM job ORDER BY dead_at IS NULL, dead_at DESC, run_at, id LIMIT ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([limit as i64], from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Numbers and subjects of all jobs of a kind, in any state, sorted by subject.
pub fn subjects(connection: &Connection, kind: &str) -> Result<Vec<(i64, String)>> {
    let mut statement = connection.prepare_cached("SELECT id, subject FROM job WHERE kind = ?1 ORDER BY subject")?;
    let rows = statement.query_map([kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Numbers of waiting, running and dead jobs of each kind.
pub fn counts(connection: &Connection, now_ms: i64) -> Result<Vec<(String, usize, usize, usize)>> {
    let mut statement = connection.prepare_cached(
        "SELECT kind, count(*) FILTER (WHERE dead_at IS NULL AND coalesce(lease_until, 0) <= ?1), \
         count(*) FILTER (WHERE dead_at IS NULL AND lease_until > ?1), count(*) FILTER (WHERE dead_at IS NOT NULL) \
         FROM job GROUP BY kind ORDER BY kind",
    )?;
    let rows = statement.query_map([now_ms], |row| {
        let number = |at| row.get::<_, i64>(at).map(|count| usize::try_from(count).unwrap_or(0));
        Ok((row.get(0)?, number(1)?, number(2)?, number(3)?))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether a job is in the queue, in any state.
pub fn is_known(connection: &Connection, kind: &str, subject: &str) -> Result<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM job WHERE kind = ?1 AND subject = ?2")?.exists((kind, subject))?)
}

/// The time at which the next job is due, which may have passed; `None` if no job waits.
pub fn next_due(connection: &Connection) -> Result<Option<i64>> {
    let sql = "SELECT min(max(run_at, coalesce(lease_until, 0))) FROM job WHERE dead_at IS NULL";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

impl WriteTx<'_> {
    /// Add a job. A waiting job becomes due at the earlier time; a running job runs again; a dead job stays dead unless
    /// its arguments changed.
    pub fn enqueue(&self, kind: &str, subject: &str, payload: &str, run_at: i64) -> Result<i64> {
        Ok(self
            .prepare_cached(
                "INSERT INTO job(kind, subject, payload, run_at, created_at) VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT(kind, subject) DO UPDATE SET \
                 again = max(again, coalesce(lease_until, 0) > ?5), \
                 run_at = iif(coalesce(lease_until, 0) > ?5, run_at, min(run_at, excluded.run_at)), \
                 attempts = iif(dead_at IS NOT NULL AND payload <> excluded.payload, 0, attempts), \
                 dead_at = iif(payload <> excluded.payload, NULL, dead_at), payload = excluded.payload \
                 RETURNING id",
            )?
            .query_row((kind, subject, payload, run_at, self.now_ms), |row| row.get(0))?)
    }

    /// Claim the next due job of these kinds, or of all kinds.
    pub fn claim_job(&self, worker: &str, kinds: &[String], lease_ms: i64) -> Result<Option<Job>> {
        // A worker that is killed by a job cannot report the failure, so attempts are counted at the claim.
        self.execute(
            "UPDATE job SET dead_at = ?1, error = coalesce(error, 'every worker that had it died') \
             WHERE dead_at IS NULL AND attempts >= ?2 AND lease_until <= ?1",
            (self.now_ms, MOST_ATTEMPTS),
        )?;
        let wanted = serde_json::Value::from(kinds).to_string();
        let sql = format!(
            "UPDATE job SET lease_until = ?1 + ?2, worker = ?3, attempts = attempts + 1, again = 0 WHERE id = (\
             SELECT j.id FROM job j LEFT JOIN job_turn t ON t.kind = j.kind \
             WHERE j.dead_at IS NULL AND j.run_at <= ?1 AND coalesce(j.lease_until, 0) <= ?1 \
             AND (?4 = '[]' OR j.kind IN (SELECT value FROM json_each(?4))) \
             ORDER BY coalesce(t.turn, 0), j.run_at, j.id LIMIT 1) RETURNING {COLUMNS}"
        );
        let claimed =
            self.prepare_cached(&sql)?.query_row((self.now_ms, lease_ms, worker, wanted), from_row).optional()?;
        if let Some(job) = &claimed {
            self.prepare_cached(
                "INSERT INTO job_turn(kind, turn) VALUES (?1, (SELECT coalesce(max(turn), 0) + 1 FROM job_turn)) \
                 ON CONFLICT(kind) DO UPDATE SET turn = excluded.turn",
            )?
            .execute([&job.kind])?;
        }
        Ok(claimed)
    }

    /// Renew a lease; false if another worker has the job by now.
    pub fn renew_job(&self, id: i64, worker: &str, lease_ms: i64) -> Result<bool> {
        let sql = "UPDATE job SET lease_until = ?3 WHERE id = ?1 AND worker = ?2 AND dead_at IS NULL";
        Ok(self.prepare_cached(sql)?.execute((id, worker, self.now_ms + lease_ms))? == 1)
    }

    /// Record the result of an attempt; false, without a change, if another worker has the job by now.
    pub fn end_job(&self, id: i64, worker: &str, ending: &Ending) -> Result<bool> {
        let sql = format!("SELECT {COLUMNS}, again FROM job WHERE id = ?1 AND worker = ?2 AND dead_at IS NULL");
        let held = self
            .prepare_cached(&sql)?
            .query_row((id, worker), |row| Ok((from_row(row)?, row.get::<_, bool>(11)?)))
            .optional()?;
        let Some((job, again)) = held else { return Ok(false) };
        let free = "lease_until = NULL, worker = NULL";
        match ending {
            Ending::Done(None) if !again => self.execute("DELETE FROM job WHERE id = ?1", [id])?,
            Ending::Done(next) => {
                let due = if again { self.now_ms } else { next.unwrap_or(self.now_ms) };
                let sql = format!("UPDATE job SET {free}, attempts = 0, error = NULL, run_at = ?2 WHERE id = ?1");
                self.execute(&sql, (id, due))?
            }
            Ending::Failed(error, after_ms) if job.attempts < MOST_ATTEMPTS => {
                let due = self.now_ms.saturating_add(after_ms.unwrap_or_else(|| pause_after(job.attempts)));
                let sql = format!("UPDATE job SET {free}, error = ?2, run_at = ?3 WHERE id = ?1");
                self.execute(&sql, (id, error, due))?
            }
            Ending::Failed(error, _) | Ending::Hopeless(error) => {
                let sql = format!("UPDATE job SET {free}, error = ?2, dead_at = ?3 WHERE id = ?1");
                self.execute(&sql, (id, error, self.now_ms))?
            }
        };
        Ok(true)
    }

    /// Remove a job from the queue in any state; whether it was there.
    pub fn drop_job(&self, id: i64) -> Result<bool> {
        Ok(self.prepare_cached("DELETE FROM job WHERE id = ?1")?.execute([id])? == 1)
    }

    /// Revive one dead job or all of them; returns how many. If `once` is set, each is dead again after one failure.
    pub fn revive_jobs(&self, id: Option<i64>, once: bool) -> Result<usize> {
        let attempts = if once { MOST_ATTEMPTS - 1 } else { 0 };
        Ok(self.execute(
            "UPDATE job SET dead_at = NULL, attempts = ?3, run_at = ?1 WHERE dead_at IS NOT NULL AND (?2 IS NULL OR id = ?2)",
            (self.now_ms, id, attempts),
        )?)
    }
}

fn pause_after(attempts: i64) -> i64 {
    let doublings = u32::try_from(attempts.clamp(1, 20) - 1).unwrap_or(0);
    (FIRST_PAUSE_MS << doublings).min(LONGEST_PAUSE_MS)
}
