//! The ledger: which memories were added to which message of a session, and their outcomes. It is not part of the change log
//! and the history, because no recall reads it.
//!
//! A decision is written once. Afterwards its state may change from offered to shown or late, and a purge may erase it.

use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, Row};

use super::WriteTx;
use crate::error::{Error, Result};
use crate::model::Scope;
use crate::model::enums::{Outcome, State};
use crate::model::ledger::{Decision, Shown, Summary, Usefulness};

const LONGEST_QUEUE_MS: i64 = 24 * 60 * 60 * 1000;
const SELECT: &str = "SELECT i.session, i.message, p.name, i.at, i.state, i.text, i.tokens, i.about FROM injection i \
     LEFT JOIN project p ON p.id = i.project";
const SELECT_SHOWN: &str = "SELECT message, place, memory, key, score, why, outcome FROM injected";

/// The decision on one message.
pub fn of(connection: &Connection, session: &str, message: &str) -> Result<Option<Decision>> {
    let sql = format!("{SELECT} WHERE i.session = ?1 AND i.message = ?2");
    let found = connection.prepare_cached(&sql)?.query_row((session, message), columns).optional()?;
    let Some(mut decision) = found.transpose()? else { return Ok(None) };
    let sql = format!("{SELECT_SHOWN} WHERE session = ?1 AND message = ?2 ORDER BY place");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query((session, message))?;
    while let Some(row) = rows.next()? {
        decision.shown.push(shown(row)?);
    }
    Ok(Some(decision))
}

/// The decisions of a session, ordered by time.
pub fn decisions(connection: &Connection, session: &str) -> Result<Vec<Decision>> {
    let mut statement = connection.prepare_cached(&format!("{SELECT} WHERE i.session = ?1 ORDER BY i.message"))?;
    let mut decisions: Vec<Decision> =
        statement.query_map([session], columns)?.map(|row| row?).collect::<Result<Vec<_>>>()?;
    let sql = format!("{SELECT_SHOWN} WHERE session = ?1 ORDER BY message");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([session])?;
    // Both are read in the order of their keys, so that SQLite does not sort the texts.
    let mut places: Vec<i64> = Vec::new();
    let mut at = 0;
    while let Some(row) = rows.next()? {
        let message = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        while decisions.get(at).is_some_and(|decision| decision.message != message) {
            sort_by_place(&mut decisions[at], &mut places);
            at += 1;
        }
        let Some(decision) = decisions.get_mut(at) else { break };
        places.push(row.get(1)?);
        decision.shown.push(shown(row)?);
    }
    if let Some(decision) = decisions.get_mut(at) {
        sort_by_place(decision, &mut places);
    }
    decisions.sort_by_key(|decision| decision.at);
    Ok(decisions)
}

/// Sort the shown memories by position.
fn sort_by_place(decision: &mut Decision, places: &mut Vec<i64>) {
    let mut rows: Vec<(i64, Shown)> = places.drain(..).zip(std::mem::take(&mut decision.shown)).collect();
    rows.sort_by_key(|(place, _)| *place);
    decision.shown = rows.into_iter().map(|(_, shown)| shown).collect();
}

/// Sessions with decisions, newest first.
pub fn sessions(connection: &Connection, scope: &Scope, limit: usize) -> Result<Vec<Summary>> {
    let (all, name) = match scope {
        Scope::Everything => ("1", None),
        Scope::EveryProject => ("project <> 0", None),
        Scope::Global => ("project = 0", None),
        Scope::Project { name, .. } => ("project = (SELECT id FROM project WHERE name = ?2)", Some(name)),
    };
    let mut statement = connection.prepare_cached(&format!(
        "WITH recent AS MATERIALIZED (SELECT session, project, count(*) AS messages, max(at) AS last_at \
         FROM injection INDEXED BY injection_by_time WHERE {all} AND ?2 IS ?2 \
         GROUP BY session ORDER BY last_at DESC, session LIMIT ?1) \
         SELECT session, (SELECT name FROM project WHERE id = recent.project), messages, \
         (SELECT count(DISTINCT d.memory) FROM injected d JOIN injection i ON i.session = d.session \
         AND i.message = d.message WHERE d.session = recent.session AND i.state = 'shown'), last_at \
         FROM recent ORDER BY last_at DESC, session"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map((limit, name), |row| {
        Ok(Summary {
            session: row.get(0)?,
            project: row.get(1)?,
            messages: number(row, 2)?,
            shown: number(row, 3)?,
            last_at: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Sessions whose id starts or ends with `part`, newest first; only the session with this id, if there is one.
pub fn sessions_like(connection: &Connection, part: &str) -> Result<Vec<String>> {
    if connection.prepare_cached("SELECT 1 FROM injection WHERE session = ?1")?.exists([part])? {
        return Ok(vec![part.to_owned()]);
    }
    let mut statement = connection.prepare_cached(
        "SELECT session FROM injection INDEXED BY injection_by_time \
         WHERE substr(session, 1, length(?1)) = ?1 OR substr(session, -length(?1)) = ?1 \
         GROUP BY session ORDER BY max(at) DESC, session",
    )?;
    let rows = statement.query_map([part], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The session of a project that was shown memories beside a message that was created at one of these times, in a block
/// or by a slash command; the one with the newest decision if there are several.
pub fn shown_at(connection: &Connection, project: Option<&str>, created: &[i64]) -> Result<Option<String>> {
    let (Some(first), Some(last)) = (created.iter().min(), created.iter().max()) else { return Ok(None) };
    // A decision follows its message. Messages that wait in a queue are decided when the turn before them ends.
    let until = last.saturating_add(LONGEST_QUEUE_MS);
    let times = serde_json::to_string(created).map_err(|error| Error::invalid("created", error.to_string()))?;
    let mut statement = connection.prepare_cached(
        "SELECT session FROM injection INDEXED BY injection_by_time WHERE at BETWEEN ?1 AND ?2 \
         AND project = iif(?3 IS NULL, 0, (SELECT id FROM project WHERE name = ?3)) \
         AND ((state = 'shown' AND text <> '') OR json_extract(about, '$.in_command') IS NOT NULL) \
         AND json_extract(about, '$.created') IN (SELECT value FROM json_each(?4)) ORDER BY at DESC LIMIT 1",
    )?;
    Ok(statement.query_row((first, until, project, times), |row| row.get(0)).optional()?)
}

/// The usefulness of each memory.
pub fn usefulness(connection: &Connection, memories: &[String]) -> Result<Vec<Usefulness>> {
    // A session that contradicted a memory does not count as a use, even if it used the memory before.
    let mut statement = connection.prepare_cached(
        "SELECT count(*), count(*) FILTER (WHERE found = 1), count(*) FILTER (WHERE found = 2) FROM \
         (SELECT max(CASE d.outcome WHEN 'contradicted' THEN 2 WHEN 'used' THEN 1 ELSE 0 END) AS found \
         FROM injected d JOIN injection i ON i.session = d.session AND i.message = d.message \
         WHERE d.memory = ?1 AND i.state = 'shown' GROUP BY d.session)",
    )?;
    let count = |memory: &String| {
        statement.query_row([memory], |row| {
            Ok(Usefulness { shown: number(row, 0)?, used: number(row, 1)?, contradicted: number(row, 2)? })
        })
    };
    Ok(memories.iter().map(count).collect::<rusqlite::Result<_>>()?)
}

/// Ids that start or end with `part`, of memories that a decision quotes; at most two.
pub fn ids_like(connection: &Connection, part: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT memory FROM injected WHERE substr(memory, 1, length(?1)) = ?1 OR substr(memory, -length(?1)) = ?1 LIMIT 2",
    )?;
    let rows = statement.query_map([part], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl WriteTx<'_> {
    /// Write a decision unless the message has one already; returns the stored decision.
    ///
    /// # Errors
    /// [`Error::Conflict`] if a memory in it does not exist any more; otherwise the decision would outlive a purge.
    pub fn decide(&self, decision: &Decision) -> Result<Decision> {
        let Decision { session, message, .. } = decision;
        if let Some(found) = of(self, session, message)? {
            return Ok(found);
        }
        let project = self.project_named(decision.project.as_deref())?;
        self.prepare_cached(
            "INSERT INTO injection(session, message, project, at, state, text, tokens, about) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            session,
            message,
            project,
            self.now_ms,
            decision.state.as_str(),
            &decision.text,
            decision.tokens,
            &decision.about,
        ))?;
        let mut known = self.prepare_cached("SELECT 1 FROM memory WHERE id = ?1")?;
        let mut insert = self.prepare_cached(
            "INSERT OR IGNORE INTO injected(session, message, memory, key, place, score, why) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for (place, shown) in decision.shown.iter().enumerate() {
            if !known.exists([&shown.memory])? {
                return Err(Error::Conflict(format!("memory {} was removed meanwhile; recall again", shown.memory)));
            }
            let place = i64::try_from(place).unwrap_or(i64::MAX);
            if insert.execute((session, message, &shown.memory, shown.key, place, shown.score, &shown.why))? == 0 {
                return Err(Error::invalid("shown", format!("memory {} is in it twice", shown.memory)));
            }
        }
        of(self, session, message)?.ok_or_else(|| Error::not_found("decision", message))
    }

    /// Change the state of an offered decision; whether it changed. A late text was not shown, so it is removed.
    pub fn settle(&self, session: &str, message: &str, state: State) -> Result<bool> {
        let sql = "UPDATE injection SET state = ?3, text = iif(?3 = 'late', '', text), tokens = iif(?3 = 'late', 0, tokens) \
             WHERE session = ?1 AND message = ?2 AND state = 'offered'";
        Ok(self.prepare_cached(sql)?.execute((session, message, state.as_str()))? == 1)
    }

    /// Record the outcome of memories that a session was shown; returns how many outcomes changed. Used may become
    /// contradicted, never the reverse.
    pub fn note_outcome(&self, session: &str, memories: &[String], outcome: Outcome) -> Result<usize> {
        let mut update = self.prepare_cached(
            "UPDATE injected SET outcome = ?3 WHERE memory = ?2 AND session = ?1 \
             AND (outcome IS NULL OR (outcome = 'used' AND ?3 = 'contradicted')) AND EXISTS (SELECT 1 FROM injection i \
             WHERE i.session = injected.session AND i.message = injected.message AND i.state = 'shown')",
        )?;
        let mut changed = 0;
        for memory in memories {
            changed += usize::from(update.execute((session, memory, outcome.as_str()))? > 0);
        }
        Ok(changed)
    }

    /// Erase the decisions that quote a memory, and its outcomes; returns how many decisions there were.
    pub fn erase_decisions(&self, memory: &str) -> Result<usize> {
        self.execute(
            "UPDATE injection SET state = 'erased', text = '', tokens = 0, about = '{}' \
             WHERE (session, message) IN (SELECT session, message FROM injected WHERE memory = ?1)",
            [memory],
        )?;
        Ok(self.execute("DELETE FROM injected WHERE memory = ?1", [memory])?)
    }

    /// Delete sessions whose last decision is older than this. A session in use needs all of its decisions.
    pub fn forget_decisions(&self, before_ms: i64) -> Result<()> {
        let old = "SELECT session FROM injection INDEXED BY injection_by_time GROUP BY session HAVING max(at) < ?1";
        self.execute(&format!("DELETE FROM injected WHERE session IN ({old})"), [before_ms])?;
        self.execute(&format!("DELETE FROM injection WHERE session IN ({old})"), [before_ms])?;
        Ok(())
    }
}

fn columns(row: &Row<'_>) -> rusqlite::Result<Result<Decision>> {
    let (session, message): (String, String) = (row.get(0)?, row.get(1)?);
    let state = match parse_stored(row.get_ref(4)?.as_str()?, State::parse) {
        Ok(state) => state,
        Err(error) => return Ok(Err(error)),
    };
    Ok(Ok(Decision {
        session,
        message,
        project: row.get(2)?,
        at: row.get(3)?,
        state,
        text: row.get(5)?,
        tokens: row.get(6)?,
        about: row.get(7)?,
        shown: Vec::new(),
    }))
}

fn shown(row: &Row<'_>) -> Result<Shown> {
    let outcome = row.get_ref(6)?.as_str_or_null().map_err(rusqlite::Error::from)?;
    Ok(Shown {
        memory: row.get(2)?,
        key: row.get(3)?,
        score: row.get(4)?,
        why: row.get(5)?,
        outcome: outcome.map(|name| parse_stored(name, Outcome::parse)).transpose()?,
    })
}

/// Parse a stored name; an unknown name is damage.
fn parse_stored<T>(name: &str, parse: fn(&str) -> Result<T>) -> Result<T> {
    parse(name).map_err(|_| Error::CorruptStore {
        path: PathBuf::new(),
        message: format!("the ledger contains the unknown word {name:?}; run `opencode-memory verify` for details"),
    })
}

fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<usize> {
    row.get::<_, i64>(at).map(|count| usize::try_from(count).unwrap_or(0))
}
