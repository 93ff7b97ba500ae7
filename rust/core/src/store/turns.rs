//! Rows of the session index: where each turn stands, its vectors, and how far each session was read. No text.
//!
//! The index is derived from the databases of coding agents, so it has a file of its own beside the store. It can be
//! deleted at any time, and is then built again.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use half::f16;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, TransactionBehavior};

use super::busy;
use super::change::Head;
use super::connection::{Access, describe, uri};
use super::files::{create_file, create_folder, remove_if_there};
use super::memory::{FilterRow, MirrorRow};
use super::open;
use crate::error::Result;
use crate::ids;
use crate::model::{Category, Status, Trust};
use crate::text::Traits;

/// Name of the folder in the data directory.
pub const FOLDER: &str = "sessions";
/// Name of the file in that folder.
const FILE: &str = "turns.db";
/// Version of the tables and of what is computed from texts. An index of another version is built again.
const LAYOUT: i64 = 3;
/// Number of changes kept for processes whose mirror is behind. A mirror that is further behind is loaded again.
const KEPT_CHANGES: i64 = 20_000;

const TABLES: &str = "
    CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE project(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE session(
        id INTEGER PRIMARY KEY AUTOINCREMENT, database TEXT NOT NULL, name TEXT NOT NULL, project INTEGER NOT NULL,
        mark TEXT NOT NULL, cursor TEXT, UNIQUE(database, name)
    ) STRICT;
    CREATE TABLE turn(
        key INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, message TEXT NOT NULL,
        position INTEGER NOT NULL, speaker TEXT NOT NULL, time INTEGER NOT NULL, digest BLOB NOT NULL,
        words INTEGER NOT NULL, traits INTEGER NOT NULL, announces INTEGER NOT NULL, vectors BLOB NOT NULL,
        UNIQUE(session, message)
    ) STRICT;
    CREATE INDEX turn_message ON turn(message);
    CREATE INDEX turn_place ON turn(session, position);
    CREATE TABLE change(seq INTEGER PRIMARY KEY AUTOINCREMENT, key INTEGER NOT NULL) STRICT;
    CREATE TABLE gone(key INTEGER PRIMARY KEY) STRICT;
";

/// A session with the turns to add.
#[derive(Debug, Clone)]
pub struct Page<'a> {
    /// Path of the database that holds the session.
    pub database: String,
    /// Id of the session.
    pub session: String,
    /// Its project.
    pub project: Option<String>,
    /// Version of the session that was read.
    pub mark: String,
    /// The position at which reading continues.
    pub cursor: Option<String>,
    /// Whether the turns that the index has of this session are dropped first.
    pub restart: bool,
    /// The turns, in order.
    pub turns: Vec<NewTurn<'a>>,
}

/// A turn to add.
#[derive(Debug, Clone)]
pub struct NewTurn<'a> {
    /// Id of its message.
    pub message: String,
    /// The speaker: `user` or `assistant`.
    pub speaker: String,
    /// When it was said, in UTC milliseconds.
    pub time: i64,
    /// Its text, which is searched but not stored.
    pub text: String,
    /// Identifies the text.
    pub digest: Vec<u8>,
    /// Whether the text announces a change of an earlier decision.
    pub announces: bool,
    /// Vectors of its chunks, one after the other, each of unit length.
    pub vectors: Cow<'a, [f32]>,
}

/// The place of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Path of the database.
    pub database: String,
    /// Id of the session.
    pub session: String,
    /// Id of the message.
    pub message: String,
    /// The project of the session.
    pub project: Option<String>,
    /// The speaker.
    pub speaker: String,
    /// When it was said.
    pub time: i64,
    /// Place in the session, from 0.
    pub position: i64,
    /// Identifies the text.
    pub digest: Vec<u8>,
}

/// The progress of reading a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Id of the session.
    pub session: String,
    /// Its project.
    pub project: Option<String>,
    /// Version that was read.
    pub mark: String,
    /// The position at which reading continues.
    pub cursor: Option<String>,
}

/// The open session index.
#[derive(Debug)]
pub struct TurnStore {
    file: PathBuf,
    connection: Mutex<Connection>,
}

impl TurnStore {
    /// Open the index under `folder`; `None` if it does not exist, or has another layout.
    pub fn open(folder: &Path, access: Access) -> Result<Option<Self>> {
        let file = folder.join(FILE);
        if !file.exists() {
            return Ok(None);
        }
        let access = if access == Access::ReadWrite { access } else { open::read_access(&file)? };
        let flags = OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | if access == Access::ReadWrite {
                OpenFlags::SQLITE_OPEN_READ_WRITE
            } else {
                OpenFlags::SQLITE_OPEN_READ_ONLY
            };
        let fail = |error| describe("open", &file, error);
        let connection = Connection::open_with_flags(uri(&file, access), flags).map_err(fail)?;
        busy::configure(&connection).map_err(fail)?;
        let layout: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(fail)?;
        Ok((layout == LAYOUT).then(|| Self { file, connection: Mutex::new(connection) }))
    }

    /// Create an empty index under `folder`, which must not have one.
    pub fn create(folder: &Path) -> Result<Self> {
        create_folder(folder)?;
        let file = folder.join(FILE);
        create_file(&file)?;
        let fail = |error| describe("create", &file, error);
        let mut connection = Connection::open(&file).map_err(fail)?;
        busy::configure(&connection).map_err(fail)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(fail)?;
        // A commit that a power cut takes back is read again from the session.
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(fail)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
        let layout: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(fail)?;
        if layout != LAYOUT {
            transaction.execute_batch(TABLES).map_err(fail)?;
            transaction
                .execute("INSERT INTO meta(name, value) VALUES ('id', ?1)", [ids::new_store_id()])
                .map_err(fail)?;
            transaction.pragma_update(None, "user_version", LAYOUT).map_err(fail)?;
        }
        transaction.commit().map_err(fail)?;
        Ok(Self { file, connection: Mutex::new(connection) })
    }

    /// Delete the index under `folder`. Some of its files may be gone already, if a process was killed in between.
    ///
    /// The file goes first. Otherwise a process that opens it between two steps would make a new log for it, which
    /// `SQLite` would then apply to the next index.
    pub fn remove(folder: &Path) -> Result<()> {
        remove_if_there(&folder.join(FILE))?;
        crate::crash::point("turns:removing");
        remove_if_there(&folder.join(format!("{FILE}-wal")))?;
        remove_if_there(&folder.join(format!("{FILE}-shm")))
    }

    /// The file of the index.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Run queries that see one state.
    pub fn read<T>(&self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let mut guard = self.lock();
        let transaction = guard.transaction().map_err(|error| describe("read", &self.file, error))?;
        body(&transaction).map_err(|error| error.located(&self.file))
    }

    /// Run `body` in one transaction.
    pub fn write<T>(&self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let mut guard = self.lock();
        let fail = |error| describe("write to", &self.file, error);
        let transaction = guard.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
        let value = body(&transaction).map_err(|error| error.located(&self.file))?;
        crate::crash::point("turns:before-commit");
        transaction.commit().map_err(fail)?;
        Ok(value)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock()
    }
}

/// The position of the index in its history.
pub fn head(at: &Connection) -> Result<Head> {
    let mut statement =
        at.prepare_cached("SELECT value, (SELECT coalesce(max(seq), 0) FROM change) FROM meta WHERE name = 'id'")?;
    Ok(statement.query_row([], |row| Ok(Head { store_id: row.get(0)?, seq: row.get(1)?, nonce: 0 }))?)
}

/// Keys of the turns that changed after `seq`; `None` if the log does not reach back so far.
pub fn changed_since(at: &Connection, seq: i64) -> Result<Option<Vec<i64>>> {
    let first: Option<i64> = at.prepare_cached("SELECT min(seq) FROM change")?.query_row([], |row| row.get(0))?;
    if first.is_some_and(|first| first > seq + 1) {
        return Ok(None);
    }
    let mut statement = at.prepare_cached("SELECT DISTINCT key FROM change WHERE seq > ?1")?;
    let keys = statement.query_map([seq], |row| row.get(0))?;
    Ok(Some(keys.collect::<rusqlite::Result<_>>()?))
}

const MIRRORED: &str = "SELECT t.key, s.project, t.time, s.database || char(10) || s.name, t.position, t.speaker, \
    t.words, t.traits, t.vectors FROM turn t JOIN session s ON s.id = t.session";

/// Call `each` with a turn and its vectors; whether the turn exists.
pub fn mirrored(at: &Connection, key: i64, each: impl FnOnce(&MirrorRow<'_>, &[u8])) -> Result<bool> {
    let mut statement = at.prepare_cached(&format!("{MIRRORED} WHERE t.key = ?1"))?;
    let mut rows = statement.query([key])?;
    let Some(row) = rows.next()? else { return Ok(false) };
    give(row, each)?;
    Ok(true)
}

/// Call `each` with every turn and its vectors, in order of keys.
pub fn for_each_mirrored(at: &Connection, mut each: impl FnMut(&MirrorRow<'_>, &[u8])) -> Result<()> {
    let mut statement = at.prepare_cached(&format!("{MIRRORED} ORDER BY t.key"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        give(row, &mut each)?;
    }
    Ok(())
}

fn give(row: &Row<'_>, each: impl FnOnce(&MirrorRow<'_>, &[u8])) -> Result<()> {
    let time = row.get(2)?;
    let columns = FilterRow {
        key: row.get(0)?,
        project: row.get(1)?,
        time,
        created_at: time,
        updated_at: time,
        expires_at: i64::MAX,
        category: Category::Event as u8,
        status: Status::Active as u8,
        trust: Trust::Extracted as u8,
        pinned: false,
    };
    let mirrored = MirrorRow {
        columns,
        session: Some(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?),
        position: Some(row.get(4)?),
        speaker: Some(row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)?),
        traits: Traits::from_bits(row.get(6)?, row.get(7)?),
    };
    each(&mirrored, row.get_ref(8)?.as_blob().map_err(rusqlite::Error::from)?);
    Ok(())
}

/// Row of a project; 0 for none, `None` for a project without sessions.
pub fn project_id(at: &Connection, name: Option<&str>) -> Result<Option<i64>> {
    let Some(name) = name else { return Ok(Some(0)) };
    Ok(at.prepare_cached("SELECT id FROM project WHERE name = ?1")?.query_row([name], |row| row.get(0)).optional()?)
}

const TURN: &str = "SELECT s.database, s.name, t.message, p.name, t.speaker, t.time, t.position, t.digest \
    FROM turn t JOIN session s ON s.id = t.session LEFT JOIN project p ON p.id = s.project";

fn turn_from(row: &Row<'_>) -> rusqlite::Result<Turn> {
    Ok(Turn {
        database: row.get(0)?,
        session: row.get(1)?,
        message: row.get(2)?,
        project: row.get(3)?,
        speaker: row.get(4)?,
        time: row.get(5)?,
        position: row.get(6)?,
        digest: row.get(7)?,
    })
}

/// The turn with this key.
pub fn by_key(at: &Connection, key: i64) -> Result<Option<Turn>> {
    Ok(at.prepare_cached(&format!("{TURN} WHERE t.key = ?1"))?.query_row([key], turn_from).optional()?)
}

/// Whether the first turn of a speaker, among the first `count` turns of a session, announces a change.
pub fn opening_announces(at: &Connection, database: &str, session: &str, speaker: &str, count: i64) -> Result<bool> {
    let statement = "SELECT t.announces FROM session s JOIN turn t ON t.session = s.id \
        WHERE s.database = ?1 AND s.name = ?2 AND t.position < ?4 AND t.speaker = ?3 ORDER BY t.position LIMIT 1";
    let mut statement = at.prepare_cached(statement)?;
    let found = statement.query_row((database, session, speaker, count), |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(false))
}

/// Turns whose message has this id, at most `limit`. Copies of a session have messages of their own.
pub fn by_message(at: &Connection, message: &str, limit: usize) -> Result<Vec<Turn>> {
    let mut statement = at.prepare_cached(&format!("{TURN} WHERE t.message = ?1 ORDER BY t.key LIMIT ?2"))?;
    let found = statement.query_map((message, limit as i64), turn_from)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// Turns of a session between two positions, in order.
pub fn of_session(at: &Connection, session: &str, from: i64, upto: i64) -> Result<Vec<Turn>> {
    let mut statement = at.prepare_cached(&turns_between())?;
    let found = statement.query_map((session, from, upto), turn_from)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn turns_between() -> String {
    // Sessions are indexed by database and name. Few databases are visited, in place of all sessions.
    format!(
        "WITH RECURSIVE known(name) AS (
            SELECT min(database) FROM session
            UNION ALL
            SELECT (SELECT min(database) FROM session WHERE database > known.name) FROM known WHERE known.name NOT NULL
        )
        {TURN} WHERE s.id IN (SELECT o.id FROM known JOIN session o ON o.database = known.name AND o.name = ?1)
            AND t.position BETWEEN ?2 AND ?3 ORDER BY s.id, t.position"
    )
}

/// Ids of the messages of a session that have turns.
pub fn messages(at: &Connection, database: &str, session: &str) -> Result<Vec<String>> {
    let mut statement = at.prepare_cached(
        "SELECT t.message FROM turn t JOIN session s ON s.id = t.session WHERE s.database = ?1 AND s.name = ?2",
    )?;
    Ok(statement.query_map((database, session), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// The progress of reading the sessions of a database.
pub fn progress(at: &Connection, database: &str) -> Result<Vec<Progress>> {
    let mut statement = at.prepare_cached(
        "SELECT s.name, p.name, s.mark, s.cursor FROM session s LEFT JOIN project p ON p.id = s.project \
         WHERE s.database = ?1 ORDER BY s.id",
    )?;
    let found = statement.query_map([database], |row| {
        Ok(Progress { session: row.get(0)?, project: row.get(1)?, mark: row.get(2)?, cursor: row.get(3)? })
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// Paths of the databases with sessions in the index.
pub fn databases(at: &Connection) -> Result<Vec<String>> {
    let mut statement = at.prepare_cached("SELECT DISTINCT database FROM session ORDER BY database")?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Number of sessions and turns.
pub fn counts(at: &Connection) -> Result<(usize, usize)> {
    let count = |sql: &str| at.query_row(sql, [], |row| row.get::<_, i64>(0)).map(|count| count as usize);
    Ok((count("SELECT count(*) FROM session")?, count("SELECT count(*) FROM turn")?))
}

/// The model of the vectors; `None` before the first turn.
pub fn model(at: &Connection) -> Result<Option<(String, usize)>> {
    let value: Option<String> =
        at.query_row("SELECT value FROM meta WHERE name = 'model'", [], |row| row.get(0)).optional()?;
    Ok(value.and_then(|value| {
        let (dimension, name) = value.split_once(' ')?;
        Some((name.to_owned(), dimension.parse().ok()?))
    }))
}

/// Note the model of the vectors.
pub fn set_model(write: &Connection, name: &str, dimension: usize) -> Result<()> {
    let value = format!("{dimension} {name}");
    write.execute(
        "INSERT INTO meta(name, value) VALUES ('model', ?1) ON CONFLICT(name) DO UPDATE SET value = ?1",
        [value],
    )?;
    Ok(())
}

/// Add the index that the first versions did not make. Without it, a step in a long session reads all its turns.
pub fn complete_indexes(write: &Connection) -> Result<()> {
    Ok(write.execute_batch("CREATE INDEX IF NOT EXISTS turn_place ON turn(session, position)")?)
}

/// Note the state of a session; returns its row. A session that moved to another project takes its turns along.
pub fn put_session(write: &Connection, page: &Page<'_>) -> Result<i64> {
    let project = match &page.project {
        None => 0,
        Some(name) => {
            write.prepare_cached("INSERT INTO project(name) VALUES (?1) ON CONFLICT DO NOTHING")?.execute([name])?;
            write.prepare_cached("SELECT id FROM project WHERE name = ?1")?.query_row([name], |row| row.get(0))?
        }
    };
    let known: Option<(i64, i64)> = write
        .prepare_cached("SELECT id, project FROM session WHERE database = ?1 AND name = ?2")?
        .query_row((&page.database, &page.session), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((id, before)) = known else {
        write
            .prepare_cached("INSERT INTO session(database, name, project, mark, cursor) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute((&page.database, &page.session, project, &page.mark, &page.cursor))?;
        return Ok(write.last_insert_rowid());
    };
    write.prepare_cached("UPDATE session SET project = ?2, mark = ?3, cursor = ?4 WHERE id = ?1")?.execute((
        id,
        project,
        &page.mark,
        &page.cursor,
    ))?;
    if before != project {
        write.prepare_cached("INSERT INTO change(key) SELECT key FROM turn WHERE session = ?1")?.execute([id])?;
    }
    Ok(id)
}

/// Add a turn at the end of a session; returns its key. A turn of the same message is replaced.
pub fn add(write: &Connection, session: i64, turn: &NewTurn<'_>) -> Result<i64> {
    drop_where(write, "session = ?1 AND message = ?2", (session, &turn.message))?;
    let traits = Traits::of(&turn.text);
    let vectors: Vec<u8> = turn.vectors.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect();
    write
        .prepare_cached(
            "INSERT INTO turn(session, message, position, speaker, time, digest, words, traits, announces, vectors) \
             VALUES (?1, ?2, (SELECT coalesce(max(position) + 1, 0) FROM turn WHERE session = ?1), \
             ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            session,
            &turn.message,
            &turn.speaker,
            turn.time,
            &turn.digest,
            traits.words,
            traits.bits(),
            turn.announces,
            vectors,
        ))?;
    let key = write.last_insert_rowid();
    write.prepare_cached("INSERT INTO change(key) VALUES (?1)")?.execute([key])?;
    Ok(key)
}

/// Drop the turns of a session.
pub fn drop_turns(write: &Connection, session: i64) -> Result<()> {
    drop_where(write, "session = ?1", (session,))
}

/// Drop a session with its turns.
pub fn drop_session(write: &Connection, database: &str, name: &str) -> Result<()> {
    let id: Option<i64> = write
        .prepare_cached("SELECT id FROM session WHERE database = ?1 AND name = ?2")?
        .query_row((database, name), |row| row.get(0))
        .optional()?;
    if let Some(id) = id {
        drop_turns(write, id)?;
        write.prepare_cached("DELETE FROM session WHERE id = ?1")?.execute([id])?;
    }
    Ok(())
}

fn drop_where(write: &Connection, condition: &str, values: impl rusqlite::Params + Copy) -> Result<()> {
    for target in ["gone", "change"] {
        write
            .prepare_cached(&format!("INSERT INTO {target}(key) SELECT key FROM turn WHERE {condition}"))?
            .execute(values)?;
    }
    write.prepare_cached(&format!("DELETE FROM turn WHERE {condition}"))?.execute(values)?;
    Ok(())
}

/// Keys of dropped turns whose words may still be in the full-text index.
pub fn gone(at: &Connection) -> Result<Vec<i64>> {
    let mut statement = at.prepare_cached("SELECT key FROM gone")?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Note that the full-text index has no words of the turns that were dropped up to a key, and trim the log.
pub fn forget_gone(write: &Connection, keys: &[i64]) -> Result<()> {
    for key in keys {
        write.prepare_cached("DELETE FROM gone WHERE key = ?1")?.execute([key])?;
    }
    write.execute("DELETE FROM change WHERE seq <= (SELECT max(seq) FROM change) - ?1", [KEPT_CHANGES])?;
    Ok(())
}

/// The greatest key that was ever given.
pub fn last_key_given(at: &Connection) -> Result<i64> {
    let mut statement = at.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'turn'")?;
    Ok(statement.query_row([], |row| row.get(0)).optional()?.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// Steps of `SQLite` to read the first three turns of a session of `count` turns, in an index without `turn_place`.
    fn steps(count: usize) -> i32 {
        let folder = tempfile::tempdir().unwrap();
        let store = TurnStore::create(folder.path()).unwrap();
        let turn = |number: usize| NewTurn {
            message: format!("msg_{number}"),
            speaker: "user".to_owned(),
            time: 0,
            text: format!("turn {number}"),
            digest: Vec::new(),
            announces: false,
            vectors: vec![1.0, 0.0].into(),
        };
        let page = Page {
            database: "/agent.db".to_owned(),
            session: "ses_1".to_owned(),
            project: None,
            mark: String::new(),
            cursor: None,
            restart: false,
            turns: Vec::new(),
        };
        store.write(|write| Ok(write.execute_batch("DROP INDEX turn_place")?)).unwrap();
        store
            .write(|write| {
                complete_indexes(write)?;
                let session = put_session(write, &page)?;
                (0..count).try_for_each(|number| add(write, session, &turn(number)).map(drop))
            })
            .unwrap();
        store
            .read(|at| {
                assert_eq!(of_session(at, "ses_1", 0, 2)?.len(), 3);
                Ok(at.prepare_cached(&turns_between())?.get_status(StatementStatus::VmStep))
            })
            .unwrap()
    }

    #[test]
    fn beginning_of_a_long_session_is_read_without_its_other_turns() {
        let (short, long) = (steps(10), steps(500));
        assert!(short > 0 && long < 2 * short, "{short} steps in 10 turns, {long} in 500");
    }
}
