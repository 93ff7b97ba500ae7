//! State of session learning: the position of each feed, the extraction state of each session, the processed messages, and
//! the sessions in which a statement was seen. It is not part of the change log, because no recall reads it.

use rusqlite::{Connection, OptionalExtension};

use super::WriteTx;
use super::quoted::Quoted;
use crate::error::{Error, Result};

/// A table whose rows may quote a memory. A row has a part of its key, a session, and a JSON object.
struct Quoting {
    find: &'static str,
    replace: &'static str,
    /// Whether the object is the extraction state of the session.
    is_state: bool,
}

const QUOTING: [Quoting; 3] = [
    Quoting {
        find: "SELECT '', session, state FROM learning WHERE state <> '{}'",
        replace: "UPDATE learning SET state = ?3, version = version + 1 WHERE session = ?2",
        is_state: true,
    },
    Quoting {
        find: "SELECT feed, session, mark FROM feed WHERE mark LIKE '{%'",
        replace: "UPDATE feed SET mark = ?3 WHERE feed = ?1 AND session = ?2",
        is_state: false,
    },
    Quoting {
        find: "SELECT kind, subject, payload FROM job WHERE payload <> '{}'",
        replace: "UPDATE job SET payload = ?3 WHERE kind = ?1 AND subject = ?2",
        is_state: false,
    },
];

/// The extraction state of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learning {
    /// Raised by every write.
    pub version: i64,
    /// JSON of the extraction. A purge erases texts from it.
    pub state: String,
}

/// The position of a feed in one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The session.
    pub session: String,
    /// The feed's version of the session at the last read; if it differs, there are new messages.
    pub mark: String,
    /// The position at which reading continues.
    pub cursor: Option<String>,
}

/// The extraction state of a session; `None` before its first message.
pub fn of(connection: &Connection, session: &str) -> Result<Option<Learning>> {
    Ok(connection
        .prepare_cached("SELECT version, state FROM learning WHERE session = ?1")?
        .query_row([session], |row| Ok(Learning { version: row.get(0)?, state: row.get(1)? }))
        .optional()?)
}

/// The position of a feed in each session.
pub fn progress(connection: &Connection, feed: &str) -> Result<Vec<Progress>> {
    let mut statement = connection.prepare_cached("SELECT session, mark, cursor FROM feed WHERE feed = ?1")?;
    let rows = statement
        .query_map([feed], |row| Ok(Progress { session: row.get(0)?, mark: row.get(1)?, cursor: row.get(2)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether each of these messages was processed.
pub fn processed(connection: &Connection, messages: &[Vec<u8>]) -> Result<Vec<bool>> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM counted WHERE message = ?1")?;
    messages.iter().map(|message| Ok(statement.exists([message])?)).collect()
}

/// In how many other sessions each of these statements was seen.
pub fn seen_elsewhere(connection: &Connection, project: i64, what: &[String], session: &str) -> Result<Vec<usize>> {
    let sql = "SELECT count(*) FROM sighting WHERE project = ?1 AND what = ?2 AND session <> ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let count = |one: &String| statement.query_row((project, one, session), |row| row.get::<_, i64>(0));
    what.iter().map(count).map(|count| Ok(usize::try_from(count?).unwrap_or(0))).collect()
}

impl WriteTx<'_> {
    /// Set the extraction state of a session.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another process has processed the session since `version`.
    pub fn set_learning(&self, session: &str, version: i64, state: &str) -> Result<()> {
        let found = of(self, session)?.map_or(0, |learning| learning.version);
        if found != version {
            return Err(Error::Conflict(format!("session {session:?} was read by another process meanwhile")));
        }
        self.prepare_cached(
            "INSERT INTO learning(session, version, state, updated_at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT(session) DO UPDATE SET version = excluded.version, state = excluded.state, \
             updated_at = excluded.updated_at",
        )?
        .execute((session, version + 1, state, self.now_ms))?;
        Ok(())
    }

    /// Set the position of a feed.
    pub fn set_progress(&self, feed: &str, progress: &Progress) -> Result<()> {
        self.prepare_cached(
            "INSERT INTO feed(feed, session, mark, cursor) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT(feed, session) DO UPDATE SET mark = excluded.mark, cursor = excluded.cursor",
        )?
        .execute((feed, &progress.session, &progress.mark, &progress.cursor))?;
        Ok(())
    }

    /// Mark a message as processed.
    ///
    /// # Errors
    /// [`Error::Conflict`] if it was processed meanwhile, in this session or in a copy of it.
    pub fn count_message(&self, message: &[u8]) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO counted(message) VALUES (?1)";
        if self.prepare_cached(sql)?.execute([message])? == 1 {
            return Ok(());
        }
        Err(Error::Conflict("a message was read by another process meanwhile".into()))
    }

    /// Record that a statement was seen in a session. A negative number takes sightings back.
    pub fn note_sighting(&self, project: i64, what: &str, session: &str, times: i64) -> Result<()> {
        self.prepare_cached(
            "INSERT INTO sighting(project, what, session, times, seen_at) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT(project, what, session) DO UPDATE SET times = times + excluded.times, \
             seen_at = excluded.seen_at",
        )?
        .execute((project, what, session, times, self.now_ms))?;
        if times <= 0 {
            self.prepare_cached(
                "DELETE FROM sighting WHERE project = ?1 AND what = ?2 AND session = ?3 AND times <= 0",
            )?
            .execute((project, what, session))?;
        }
        Ok(())
    }

    /// Erase texts from the states of all sessions, the marks of feeds and the arguments of jobs. Other sessions may have
    /// said the same, forks copy messages, and the mark of a digest holds the summary of its session.
    pub fn erase_from_states(&self, quoted: &Quoted) -> Result<()> {
        for Quoting { find, replace, is_state } in QUOTING {
            let mut changed: Vec<(String, String, String)> = Vec::new();
            {
                let mut statement = self.prepare_cached(find)?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let (part, session, text): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                    if let Some(left) = quoted.erase_from(if is_state { &session } else { "" }, &text) {
                        changed.push((part, session, left));
                    }
                }
            }
            for change in changed {
                self.prepare_cached(replace)?.execute(change)?;
            }
        }
        Ok(())
    }

    /// Delete statements that were not seen again.
    pub fn forget_sightings(&self, before_ms: i64) -> Result<()> {
        // Decisions of the user are kept.
        self.execute("DELETE FROM sighting WHERE seen_at < ?1 AND what NOT LIKE 'settled:%'", [before_ms])?;
        Ok(())
    }
}
