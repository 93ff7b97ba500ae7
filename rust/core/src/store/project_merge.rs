//! Merges of projects: what moves besides memories, and the record from which an undo puts it back.

use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::{WriteTx, project};
use crate::error::{Error, Result};

/// A key that both projects had. The target keeps its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// The key.
    pub name: String,
    /// Value of the target, as JSON.
    pub kept: String,
    /// Value of the source, as JSON; only an undo brings it back.
    pub dropped: String,
}

/// A row of a session without its project: name, work, start, last sign, end of the lease, end.
type SessionRow = (String, Option<String>, i64, i64, i64, Option<i64>);

/// Rows of the merged project, as they were before.
#[derive(Debug, Serialize, Deserialize)]
struct Rows {
    project: i64,
    created_at: i64,
    /// Kind and value of each mark, and whether the target had it too.
    marks: Vec<(String, String, bool)>,
    values: Vec<(String, String, i64, i64, Option<i64>)>,
    sessions: Vec<SessionRow>,
    claims: Vec<(String, String, i64)>,
    sightings: Vec<(String, String, i64, i64)>,
    /// Statement and session of each sighting that the target had too. Records of earlier versions have none.
    #[serde(default)]
    shared_sightings: Vec<(String, String)>,
    /// Sessions with messages beside which memories were shown.
    shown_in: Vec<String>,
    /// Kind and name of each document. Records of format 2 have none.
    #[serde(default)]
    documents: Vec<(String, String)>,
}

/// Tables whose rows carry a project, with the column that names a row in it.
const KEYED: [(&str, &str); 4] =
    [("kv", "name"), ("session", "name"), ("claim", "item"), ("sighting", "what, session")];

impl WriteTx<'_> {
    /// Let `target` take over marks, values and sessions of `source`, whose memories have moved, and remove `source`.
    pub fn absorb_project(&self, source: i64, source_name: &str, target: i64) -> Result<Vec<Clash>> {
        for project in [source, target] {
            self.execute("DELETE FROM kv WHERE project = ?1 AND expires_at <= ?2", (project, self.now_ms))?;
        }
        let rows = read_rows(self, source, target)?;
        if let Some(operation) = self.operation.get() {
            let json = to_json(&rows)?;
            self.execute(
                "INSERT INTO project_merge(operation, source, target, rows) VALUES (?1, ?2, ?3, ?4)",
                (operation, source_name, target, json),
            )?;
        }
        let clashes = clashes(self, source, target)?;
        for (table, _) in KEYED {
            self.execute(&format!("UPDATE OR IGNORE {table} SET project = ?2 WHERE project = ?1"), (source, target))?;
            self.execute(&format!("DELETE FROM {table} WHERE project = ?1"), [source])?;
        }
        for table in ["injection", "document"] {
            self.execute(&format!("UPDATE {table} SET project = ?2 WHERE project = ?1"), (source, target))?;
        }
        self.execute("UPDATE OR IGNORE project_mark SET project = ?2 WHERE project = ?1", (source, target))?;
        self.execute("DELETE FROM project_mark WHERE project = ?1", [source])?;
        self.execute("DELETE FROM project WHERE id = ?1", [source])?;
        Ok(clashes)
    }

    /// Bring back the project that an operation merged into another, with all but its memories; nothing if the operation
    /// was no merge.
    pub fn part_projects(&self, operation: i64) -> Result<()> {
        let Some((name, target, json)) = record(self, operation)? else { return Ok(()) };
        let rows: Rows = serde_json::from_str(&json).map_err(|error| Error::CorruptStore {
            path: std::path::PathBuf::new(),
            message: format!("the record of the merge of project {name:?} is unreadable ({error})"),
        })?;
        let source = rows.project;
        if project::id_of(self, Some(&name))?.is_some() {
            return Err(Error::Conflict(format!("a project {name:?} exists again; rename it, then undo the merge")));
        }
        self.execute(
            "INSERT INTO project(id, name, created_at) VALUES (?1, ?2, ?3)",
            (source, &name, rows.created_at),
        )?;
        for (kind, value, shared) in &rows.marks {
            // A mark that another project has taken since stays there.
            let held = "kind = ?1 AND value = ?2 AND project = ?3";
            if *shared {
                self.execute("INSERT OR IGNORE INTO project_mark VALUES (?1, ?2, ?3)", (kind, value, source))?;
            } else {
                self.execute(
                    &format!("UPDATE project_mark SET project = ?4 WHERE {held}"),
                    (kind, value, target, source),
                )?;
            }
        }
        self.return_rows(target, &rows)?;
        // Without its rows, the record says that the merge was undone.
        self.execute("UPDATE project_merge SET rows = '' WHERE operation = ?1", [operation])?;
        Ok(())
    }

    /// Remove a value that was deleted from the records of the merges that had moved it into a project.
    pub fn forget_merged_value(&self, project: i64, name: &str, created_at: i64) -> Result<()> {
        let mut targets = vec![project];
        while let Some(target) = targets.pop() {
            for (operation, mut rows) in self.records("target = ?1", target)? {
                let before = rows.values.len();
                // A value that the target had under the same key is another one, with another time.
                rows.values.retain(|(key, _, created, ..)| key != name || *created != created_at);
                if rows.values.len() < before {
                    self.rewrite(operation, &rows)?;
                    // An earlier merge may have moved the value into the merged project.
                    targets.push(rows.project);
                }
            }
        }
        Ok(())
    }

    /// Remove expired values from the records of merges.
    pub fn forget_expired_merged_values(&self) -> Result<()> {
        let has_expired = "EXISTS (SELECT 1 FROM json_each(rows, '$.values') WHERE value ->> '$[4]' <= ?1)";
        for (operation, mut rows) in self.records(has_expired, self.now_ms)? {
            rows.values.retain(|(.., expires_at)| expires_at.is_none_or(|end| end > self.now_ms));
            self.rewrite(operation, &rows)?;
        }
        Ok(())
    }

    /// The merges that a condition with the parameter ?1 selects. Damaged records are left out, because nothing can be
    /// brought back from them.
    fn records(&self, condition: &str, parameter: i64) -> Result<Vec<(i64, Rows)>> {
        let mut statement = self.prepare_cached(&format!(
            "SELECT operation, rows FROM project_merge WHERE CASE WHEN json_valid(rows) THEN {condition} ELSE 0 END"
        ))?;
        let found = statement.query_map([parameter], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let found = found.collect::<rusqlite::Result<Vec<(i64, String)>>>()?;
        Ok(found
            .into_iter()
            .filter_map(|(operation, json)| Some((operation, serde_json::from_str(&json).ok()?)))
            .collect())
    }

    fn rewrite(&self, operation: i64, rows: &Rows) -> Result<()> {
        let json = to_json(rows)?;
        self.execute("UPDATE project_merge SET rows = ?2 WHERE operation = ?1", (operation, json))?;
        Ok(())
    }

    /// Move rows back that the target did not have before. A row that was changed since keeps its change.
    fn return_rows(&self, target: i64, rows: &Rows) -> Result<()> {
        let source = rows.project;
        for (name, value, created_at, updated_at, expires_at) in &rows.values {
            self.execute(
                "DELETE FROM kv WHERE project = ?1 AND name = ?2 AND value = ?3 AND created_at = ?4 AND updated_at = ?5",
                (target, name, value, created_at, updated_at),
            )?;
            self.execute(
                "INSERT OR IGNORE INTO kv VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                (source, name, value, created_at, updated_at, expires_at),
            )?;
        }
        for (name, working_on, started_at, seen_at, lease_until, ended_at) in &rows.sessions {
            self.execute(
                "UPDATE session SET project = ?1 WHERE project = ?2 AND name = ?3 AND started_at = ?4",
                (source, target, name, started_at),
            )?;
            self.execute(
                "INSERT OR IGNORE INTO session VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                (source, name, working_on, started_at, seen_at, lease_until, ended_at),
            )?;
        }
        for (item, session, claimed_at) in &rows.claims {
            // A claim that was given up since stays given up.
            self.execute(
                "UPDATE OR IGNORE claim SET project = ?1 WHERE project = ?2 AND item = ?3 AND session = ?4 AND claimed_at = ?5",
                (source, target, item, session, claimed_at),
            )?;
        }
        let shared: FxHashSet<(&String, &String)> =
            rows.shared_sightings.iter().map(|(what, session)| (what, session)).collect();
        for (what, session, times, seen_at) in &rows.sightings {
            // A sighting that was taken back since, for example a withdrawn rejection, stays taken back.
            let held = "FROM sighting WHERE project = ?1 AND what = ?2 AND session = ?3";
            if shared.contains(&(what, session)) {
                self.execute(
                    &format!("INSERT OR IGNORE INTO sighting SELECT ?4, what, session, ?5, ?6 {held}"),
                    (target, what, session, source, times, seen_at),
                )?;
            } else {
                self.execute(
                    "UPDATE OR IGNORE sighting SET project = ?4 WHERE project = ?1 AND what = ?2 AND session = ?3",
                    (target, what, session, source),
                )?;
            }
        }
        for session in &rows.shown_in {
            self.execute(
                "UPDATE injection SET project = ?1 WHERE project = ?2 AND session = ?3",
                (source, target, session),
            )?;
        }
        for (kind, name) in &rows.documents {
            self.execute(
                "UPDATE document SET project = ?1 WHERE project = ?2 AND kind = ?3 AND name = ?4",
                (source, target, kind, name),
            )?;
        }
        Ok(())
    }
}

fn to_json(rows: &Rows) -> Result<String> {
    serde_json::to_string(rows)
        .map_err(|error| Error::invalid("project", format!("cannot be written as JSON: {error}")))
}

/// The name of the project that an operation merged into another, if it did.
pub fn merged_by(connection: &Connection, operation: i64) -> Result<Option<String>> {
    Ok(record(connection, operation)?.map(|(name, ..)| name))
}

/// The name of the project that an operation merged into another, if that was undone.
pub fn parted_by(connection: &Connection, operation: i64) -> Result<Option<String>> {
    Ok(connection
        .prepare_cached("SELECT source FROM project_merge WHERE operation = ?1 AND rows = ''")?
        .query_row([operation], |row| row.get(0))
        .optional()?)
}

fn record(connection: &Connection, operation: i64) -> Result<Option<(String, i64, String)>> {
    Ok(connection
        .prepare_cached("SELECT source, target, rows FROM project_merge WHERE operation = ?1 AND rows <> ''")?
        .query_row([operation], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?)
}

fn clashes(connection: &Connection, source: i64, target: i64) -> Result<Vec<Clash>> {
    let mut statement = connection.prepare_cached(
        "SELECT t.name, t.value, s.value FROM kv s JOIN kv t ON t.name = s.name \
         WHERE s.project = ?1 AND t.project = ?2 ORDER BY t.name",
    )?;
    let rows = statement
        .query_map((source, target), |row| Ok(Clash { name: row.get(0)?, kept: row.get(1)?, dropped: row.get(2)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn read_rows(connection: &Connection, source: i64, target: i64) -> Result<Rows> {
    macro_rules! rows {
        ($sql:literal, $($column:literal),+) => {{
            let mut statement = connection.prepare_cached($sql)?;
            let found = statement.query_map([source], |row| Ok(($(row.get($column)?,)+)))?;
            found.collect::<rusqlite::Result<Vec<_>>>()?
        }};
    }
    let created_at =
        connection.query_row("SELECT created_at FROM project WHERE id = ?1", [source], |row| row.get(0))?;
    let mut shared_sightings = connection.prepare_cached(
        "SELECT s.what, s.session FROM sighting s JOIN sighting t ON t.what = s.what AND t.session = s.session \
         WHERE s.project = ?1 AND t.project = ?2",
    )?;
    let shared_sightings = shared_sightings.query_map((source, target), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut statement = connection.prepare_cached(
        "SELECT kind, value, EXISTS (SELECT 1 FROM project_mark t WHERE t.project = ?2 AND t.kind = s.kind AND t.value = s.value) \
         FROM project_mark s WHERE project = ?1",
    )?;
    let marks = statement.query_map([source, target], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let shown = rows!("SELECT DISTINCT session FROM injection WHERE project = ?1", 0);
    Ok(Rows {
        project: source,
        created_at,
        marks: marks.collect::<rusqlite::Result<_>>()?,
        values: rows!(
            "SELECT name, value, created_at, updated_at, expires_at FROM kv WHERE project = ?1",
            0,
            1,
            2,
            3,
            4
        ),
        sessions: rows!(
            "SELECT name, working_on, started_at, seen_at, lease_until, ended_at FROM session WHERE project = ?1",
            0,
            1,
            2,
            3,
            4,
            5
        ),
        claims: rows!("SELECT item, session, claimed_at FROM claim WHERE project = ?1", 0, 1, 2),
        sightings: rows!("SELECT what, session, times, seen_at FROM sighting WHERE project = ?1", 0, 1, 2, 3),
        shared_sightings: shared_sightings.collect::<rusqlite::Result<_>>()?,
        documents: rows!("SELECT kind, name FROM document WHERE project = ?1", 0, 1),
        shown_in: shown.into_iter().map(|(session,): (String,)| session).collect(),
    })
}
